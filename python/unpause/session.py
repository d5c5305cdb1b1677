"""Driving a fabric from Python: send messages, and advance to their completions."""

from __future__ import annotations

import json
import numbers
import operator
from collections.abc import Awaitable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa

from unpause import schema
from unpause.api import Result
from unpause.completions import Completion, Message
from unpause.running import optional, whole
from unpause.tasks import Event, SessionError, Task, Tasks, Wait


class Session:
    """A fabric that a program drives.

    A completion is reported at its simulated time: a message sent in response starts at that time.
    The tables are those of a scenario that lists the same messages as flows. A session runs on the
    thread that calls it; to run several sessions, use several processes.

        >>> with unpause.Session("fabric.toml") as session:
        ...     session.send("H0", "H1", 1_000_000)
        ...     for completion in session:
        ...         print(completion.kind, completion.time_ns)
        >>> session.result.flows

    Args:
        scenario: Path of a scenario file, or TOML text (anything with a line break), or a mapping
            with the same keys. It has a topology and schemes, and need not have traffic; what it
            has continues beside the messages.
        scheme: Which of its schemes; can be left out if there is one.
        seed: Instead of the scenario's seed.
        duration: Instead of the scenario's duration, at which the session ends at the latest.
        priority: Of all messages; 3 by default.
        record: Sample messages into table ``flow_series``.
        tell: Which completions of messages are told. Each costs time.
        force: Open it even if the estimate exceeds the memory of this machine, and do not stop at
            nine tenths of it.

    Raises:
        ScenarioError: a mistake in the scenario, with file, line and what to do about it.
        TooLargeError: it needs more memory than there is.
    """

    def __init__(
        self,
        scenario: str | PathLike[str] | Mapping[str, Any],
        *,
        scheme: str | None = None,
        seed: int | None = None,
        duration: str | None = None,
        priority: int | None = None,
        record: bool = False,
        tell: tuple[Literal["sent", "delivered"], ...] = ("delivered", "sent"),
        force: bool = False,
    ) -> None:
        from unpause import _native

        if unknown := set(tell) - {"sent", "delivered"}:
            raise ValueError(f"tell: {sorted(unknown)}; 'sent' and 'delivered' are possible")
        path, source = _read(scenario)
        self._native = _native.Session(
            path,
            source=source,
            scheme=scheme,
            seed=optional("seed", seed, 2**64 - 1),
            duration=duration,
            priority=optional("priority", priority, 7),
            record=record,
            sent="sent" in tell,
            delivered="delivered" in tell,
            force=force,
        )
        self._tell = tell
        self.hosts: list[str] = self._native.hosts
        self._numbers = {name: number for number, name in enumerate(self.hosts)}
        self._messages: dict[int, tuple[Message, int]] = {}
        self._timers: dict[int, Any] = {}
        self._cancelled: set[int] = set()
        self._tasks = Tasks(self.cancel)
        self._result: Result | None = None

    @property
    def now_ns(self) -> float:
        """Where the run is, in nanoseconds."""
        return self._native.now_ps / 1000

    @property
    def over(self) -> bool:
        """True when the run has reached the scenario's duration, or a deadlock."""
        return self._native.over

    @property
    def result(self) -> Result:
        """What was measured, once the session is closed."""
        if self._result is None:
            raise SessionError("the session is open: its result is available when it is closed")
        return self._result

    def send(
        self,
        src: str | int,
        dst: str | int,
        size: int,
        *,
        tag: Any = None,
        connection: int | None = 0,
    ) -> Message:
        """Send `size` bytes from one host to another, now.

        Args:
            src: Sender, by name or by its place in :attr:`hosts`.
            dst: Receiver.
            size: Payload bytes.
            tag: The caller's own; completions have it.
            connection: Messages of one connection take one path where there are several. None:
                the path is drawn anew for each message. Congestion control starts anew with each.

        Raises:
            ScenarioError: it cannot be sent; the session continues.
        """
        ends = self._number(src, "src"), self._number(dst, "dst")
        size = whole("size", size, 2**64 - 1)
        connection = optional("connection", connection, 2**32 - 1)
        start = self.now_ns
        number = self._native.send(*ends, size, connection)
        names = (self.hosts[end] for end in ends)
        message = Message(number, *names, size, tag, start)
        if self._tell:
            self._messages[number] = (message, len(self._tell))
        return message

    def schedule(self, delay_ns: float, tag: Any = None) -> int:
        """Set a timer, for `delay_ns` from now; zero is possible. Answers its number."""
        timer = self._native.schedule(_ps(delay_ns, "delay_ns"))
        self._timers[timer] = tag
        return timer

    def advance(self, until_ns: float | None = None) -> Completion | None:
        """Go on to the next completion.

        Answers None at `until_ns` if there is none up to then, that instant included; and where
        there is nothing left to wait for, or the run is :attr:`over`.

        Raises:
            KeyboardInterrupt: Ctrl-C; the session can continue.
        """
        until = None if until_ns is None else _ps(until_ns, "until_ns")
        while True:
            told = self._native.advance(until)
            if told is None:
                return None
            kind, time_ps, number, _ = told
            if kind != "timer" or number not in self._cancelled:
                break
            self._cancelled.remove(number)
        if kind == "timer":
            return Completion(kind, time_ps / 1000, None, number, self._timers.pop(number))
        message, left = self._messages.pop(number)
        if left > 1:
            self._messages[number] = (message, left - 1)
        if kind == "sent":
            message.sent_ns = time_ps / 1000
        else:
            message.delivered_ns = time_ps / 1000
        return Completion(kind, time_ps / 1000, message, None, message.tag)

    def __iter__(self) -> Iterator[Completion]:
        """All completions, until there is nothing left to wait for."""
        while (completion := self.advance()) is not None:
            yield completion

    def cancel(self, timer: int) -> None:
        """Cancel a timer: it is not reported. Nothing if it has been reported already."""
        if self._timers.pop(timer, self) is not self:
            self._cancelled.add(timer)

    def run(self, *programs: Awaitable[Any]) -> list[Any]:
        """Run coroutines that await what the session tells; answers what they return.

        They may await :meth:`sleep`, :meth:`delivered`, :meth:`sent`, :meth:`receive`, what they
        have started by :meth:`spawn`, :meth:`event`, :meth:`gather` and :meth:`wait_for`. Those
        that are woken at one instant go on in the order in which they began to wait. When all of
        `programs` have returned, tasks that they have spawned and that still wait are cancelled.

        Raises:
            SessionError: some of them wait for what will not happen.
        """
        return self._tasks.run(self, programs)

    def spawn(self, program: Awaitable[Any]) -> Task:
        """Run a coroutine beside those that run: a job that arrives, a rank of it.

        It begins at this instant, after what is due before it. Await the task to wait for what the
        coroutine returns.
        """
        return self._tasks.spawn(program)

    def event(self) -> Event:
        """Something that tasks await until another sets it."""
        return Event(self._tasks)

    async def gather(self, *programs: Awaitable[Any]) -> list[Any]:
        """Run several at the same time; answers what they return, in their order.

        If one fails, the others are cancelled, and its exception is raised.
        """
        tasks = [self.spawn(program) for program in programs]
        key = ("the end of one of", tuple(tasks))
        try:
            while not all(task.done for task in tasks):
                await self._tasks.first_of(tasks, key)
                for task in tasks:
                    if task.done:
                        task.result()
            return [task.result() for task in tasks]
        finally:
            for task in tasks:
                task.cancel()

    async def wait_for(self, program: Awaitable[Any], delay_ns: float) -> Any:
        """Await something for `delay_ns` at most; answers what it returns.

        Raises:
            TimeoutError: it has not happened by then. A coroutine or a task is cancelled.
        """
        task, timer = self.spawn(program), self.schedule(delay_ns)
        try:
            if not task.done:
                await self._tasks.first_of([task], ("timer", timer))
            if not task.done:
                raise TimeoutError(f"{task} took longer than {delay_ns} ns")
            return task.result()
        finally:
            self.cancel(timer)
            task.cancel()

    def sleep(self, delay_ns: float) -> Wait:
        """To be awaited: a time from now."""
        return Wait(("timer", self.schedule(delay_ns)), None)

    def delivered(self, message: Message) -> Wait:
        """To be awaited: the last byte of the message has arrived."""
        self._must_tell("delivered")
        return Wait(("delivered", message.number), message if message.delivered_ns else None)

    def sent(self, message: Message) -> Wait:
        """To be awaited: the sender of the message has the acknowledgement of all of it."""
        self._must_tell("sent")
        return Wait(("sent", message.number), message if message.sent_ns else None)

    def receive(self, dst: str | int, src: str | int, tag: Any = None) -> Wait:
        """To be awaited: the next message of that tag from `src` to `dst`, which it answers.

        Messages of the same hosts and tag are received in the order in which they arrive, each
        once, whether somebody has waited for them or not.
        """
        self._must_tell("delivered")
        ends = self._number(src, "src"), self._number(dst, "dst")
        key = (*(self.hosts[end] for end in ends), tag)
        return Wait(("receive", *key), self._tasks.take(key))

    def close(self, at_ns: float | None = None) -> Result:
        """Close the run at `at_ns`, or as soon as possible; answers what was measured.

        That soon is one link beyond :attr:`now_ns`, with the frames that are on their way:
        ``simulated_ns`` of table ``runs`` says when. Until then no completion is reported.
        """
        if self._result is None:
            source = self._native.source
            at = None if at_ns is None else _ps(at_ns, "at_ns")
            outcome = self._native.finish(at)
            tables = {name: pa.table(outcome.table(name)) for name in schema.TABLES}
            manifest = json.loads(outcome.manifest)
            self._result = Result(tables, source=source, manifest=manifest, _native=outcome)
        return self._result

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()

    def _number(self, host: str | int, argument: str) -> int:
        if isinstance(host, str):
            if host not in self._numbers:
                raise SessionError(f"{argument}: there is no host {host!r}: {_some(self.hosts)}")
            return self._numbers[host]
        try:
            number = operator.index(host)
        except TypeError:
            raise TypeError(f"{argument} is {host!r}; a name or a number is needed") from None
        if not 0 <= number < len(self.hosts):
            raise SessionError(
                f"{argument}: there is no host {number}: "
                f"{len(self.hosts)} hosts are numbered from 0"
            )
        return number

    def _must_tell(self, kind: Literal["sent", "delivered"]) -> None:
        if kind not in self._tell:
            raise SessionError(f"this session was opened without {kind!r} in `tell`")


def _some(names: list[str]) -> str:
    if len(names) <= 8:
        return ", ".join(names)
    return f"{', '.join(names[:3])} to {names[-1]}"


def _ps(time_ns: float, name: str) -> int:
    """Whole picoseconds; an integer of nanoseconds stays exact whatever its size."""
    if not isinstance(time_ns, numbers.Real):
        raise TypeError(f"{name} is {time_ns!r}; a number is needed")
    if time_ns < 0:
        raise ValueError(f"{name} is {time_ns}; times cannot be negative")
    if not time_ns * 1000 < 2**64:
        raise ValueError(f"{name} is {time_ns}; times are below 2^64 picoseconds")
    return time_ns * 1000 if isinstance(time_ns, int) else round(time_ns * 1000)


def _read(
    scenario: str | PathLike[str] | Mapping[str, Any],
) -> tuple[Path, str | None]:
    if isinstance(scenario, Mapping):
        import tomli_w

        return Path("<mapping>"), tomli_w.dumps(scenario)
    if isinstance(scenario, str) and "\n" in scenario:
        return Path("<string>"), scenario
    return Path(scenario), None
