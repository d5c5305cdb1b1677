"""Coroutines of a session: tasks, events, and what they wait for.

A task runs until it awaits something that has not happened. The session advances, and tasks that
are woken at one instant continue in the order in which they began to wait. Nothing runs at the same
time as anything else, so no locks are needed. :class:`~unpause.Session` is the interface.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from unpause.completions import Completion, Message


class Driven(Protocol):
    """A session, as far as its tasks need it."""

    @property
    def now_ns(self) -> float:
        """Where the run is, in nanoseconds."""

    @property
    def over(self) -> bool:
        """True when the run has ended."""

    def advance(self) -> Completion | None:
        """The next completion; None if nothing is left to wait for."""


class SessionError(RuntimeError):
    """A program waits for what will never happen, or asks for what cannot be."""


@dataclass(frozen=True)
class Wait:
    """What a coroutine awaits; `done` is the answer if it has happened already."""

    key: tuple[Hashable, ...]
    done: Any = None

    def __await__(self) -> Generator[Wait, Any, Any]:
        if self.done is not None:
            return self.done
        return (yield self)


@dataclass(eq=False)
class Task:
    """A coroutine that runs beside others. To await it is to wait for what it returns.

    An exception that it raises is raised where it is awaited; if nobody awaits it,
    :meth:`Session.run` raises it at its end.

    Attributes:
        name: That of its coroutine, for messages.
        done: It has returned, failed or been cancelled.
        cancelled: It was cancelled.
    """

    name: str
    _tasks: Tasks
    _program: Coroutine[Wait, Any, Any]
    done: bool = False
    cancelled: bool = False
    _key: tuple[Hashable, ...] | None = None
    _result: Any = None
    _error: BaseException | None = None
    _awaited: bool = False
    #: Woken when it ends.
    _watched_by: list[tuple[Hashable, ...]] = field(default_factory=list)

    def __await__(self) -> Generator[Wait, Any, Any]:
        self._awaited = True
        if not self.done:
            yield Wait(("the end of", self))
        return self.result()

    def result(self) -> Any:
        """What it has returned.

        Raises:
            SessionError: it is not done, or was cancelled.
        """
        self._awaited = True
        if not self.done or self.cancelled:
            raise SessionError(f"{self} {'was cancelled' if self.done else 'is not done'}")
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        """End it where it waits, as if its coroutine were closed; nothing if it is done."""
        self._tasks.cancel(self)

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Event:
    """Something that tasks wait for until a task sets it. To await it is to wait for that.

    Attributes:
        is_set: It has been set, and not cleared since: who awaits it does not wait.
    """

    _tasks: Tasks
    is_set: bool = False

    def set(self) -> None:
        """Wake all tasks that wait for it; they continue at this instant."""
        self.is_set = True
        self._tasks.wake(("event", self))

    def clear(self) -> None:
        """Whoever awaits it from now on waits until it is set again."""
        self.is_set = False

    def __await__(self) -> Generator[Wait, Any, None]:
        if not self.is_set:
            yield Wait(("event", self))

    def __repr__(self) -> str:
        return "set"


@dataclass
class Tasks:
    """The tasks of a session, and what they wait for."""

    #: Cancels a timer of the session.
    cancel_timer: Callable[[int], None]
    waiting: dict[tuple[Hashable, ...], deque[Task]] = field(default_factory=dict)
    #: Tasks that continue at this instant, and what they are told.
    ready: deque[tuple[Task, Any]] = field(default_factory=deque)
    #: Delivered messages that were not received yet.
    arrived: dict[tuple[Hashable, ...], deque[Message]] = field(default_factory=dict)
    #: All that are not done.
    alive: dict[Task, None] = field(default_factory=dict)
    #: Those that failed before anybody awaited them.
    failed: list[Task] = field(default_factory=list)
    running: bool = False

    def take(self, key: tuple[Hashable, ...]) -> Message | None:
        """A message that has arrived."""
        messages = self.arrived.get(key)
        if not messages:
            return None
        message = messages.popleft()
        if not messages:
            del self.arrived[key]
        return message

    def spawn(self, program: Awaitable[Any]) -> Task:
        """A task of this coroutine, or of what else can be awaited; it begins at this instant."""
        if isinstance(program, Task):
            return program
        if not isinstance(program, Coroutine):
            if not hasattr(program, "__await__"):
                raise TypeError(f"{program!r} cannot be awaited; call the coroutine function")
            program = _awaited(program)
        task = Task(getattr(program, "__name__", "a coroutine"), self, program)
        self.alive[task] = None
        self.ready.append((task, None))
        return task

    def first_of(self, tasks: Iterable[Task], key: tuple[Hashable, ...]) -> Wait:
        """To be awaited: one of the tasks ends, or what `key` says happens."""
        for task in tasks:
            task._awaited = True
            if key not in task._watched_by:
                task._watched_by.append(key)
        return Wait(key)

    def cancel(self, task: Task) -> None:
        """Ends a task where it waits."""
        if task.done:
            return
        if task._key is not None:
            if task._key[0] == "timer":
                self.cancel_timer(task._key[1])
            tasks = self.waiting[task._key]
            tasks.remove(task)
            if not tasks:
                del self.waiting[task._key]
        self.ready = deque(each for each in self.ready if each[0] is not task)
        task.cancelled = True
        self._end(task)
        task._program.close()

    def run(self, session: Driven, programs: Iterable[Awaitable[Any]]) -> list[Any]:
        """Runs programs until they are done; those that they have spawned are cancelled then."""
        if self.running:
            raise SessionError("the coroutines of a session are running already")
        self.running = True
        try:
            mains = [self.spawn(program) for program in programs]
            for main in mains:
                main._awaited = True
            while not all(main.done for main in mains):
                if self.ready:
                    self._continue(*self.ready.popleft())
                elif (completion := session.advance()) is not None:
                    self._report(completion)
                else:
                    raise SessionError(self._stuck(session)) from self._first_failure()
                for main in mains:
                    if main._error is not None:
                        raise main._error
            if (failure := self._first_failure()) is not None:
                raise failure
            return [main._result for main in mains]
        finally:
            self.running = False
            for task in list(self.alive):
                task.cancel()
            self.failed.clear()

    def wake(self, key: tuple[Hashable, ...], answer: Any = None) -> None:
        """Lets the tasks that wait for `key` continue at this instant."""
        for task in self.waiting.pop(key, ()):
            task._key = None
            self.ready.append((task, answer))

    def _continue(self, task: Task, answer: Any) -> None:
        try:
            wait = task._program.send(answer)
        except StopIteration as end:
            task._result = end.value
            self._end(task)
            return
        except (Exception, KeyboardInterrupt) as error:
            task._error = error
            if not task._awaited:
                self.failed.append(task)
            self._end(task)
            return
        if not isinstance(wait, Wait):
            raise SessionError(f"{task.name} awaits {wait!r}, which no session reports")
        task._key = wait.key
        self.waiting.setdefault(wait.key, deque()).append(task)

    def _end(self, task: Task) -> None:
        task.done, task._key = True, None
        del self.alive[task]
        self.wake(("the end of", task))
        for key in task._watched_by:
            self.wake(key)

    def _report(self, completion: Completion) -> None:
        message = completion.message
        number = completion.timer if message is None else message.number
        self.wake((completion.kind, number), message)
        if message is None or completion.kind != "delivered":
            return
        key = (message.src, message.dst, message.tag)
        if tasks := self.waiting.get(("receive", *key)):
            task = tasks.popleft()
            if not tasks:
                del self.waiting["receive", *key]
            task._key = None
            self.ready.append((task, message))
        else:
            self.arrived.setdefault(key, deque()).append(message)

    def _first_failure(self) -> BaseException | None:
        """The error of a task that nobody has awaited."""
        errors = (task._error for task in self.failed if not task._awaited)
        return next(errors, None)

    def _stuck(self, session: Driven) -> str:
        keys = list(self.waiting)
        what = ", ".join(" ".join(str(part) for part in key) for key in keys[:3])
        more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
        why = "the run is over" if session.over else "nothing is in flight"
        return f"coroutines wait for {what}{more}, and {why} at {session.now_ns:.0f} ns"


async def _awaited(what: Awaitable[Any]) -> Any:
    return await what
