"""Coroutines of a session that start others, wait for them, and give up."""

from __future__ import annotations

import runpy
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import unpause
from scenarios import PFC, star

EXAMPLES = Path(__file__).parents[2] / "examples"
FABRIC = star(4, PFC, duration="10ms")


def run(program: Callable[[unpause.Session], Awaitable[Any]]) -> tuple[Any, unpause.Session]:
    """The answer of a program in a session of its own, and that session."""
    session = unpause.Session(FABRIC)
    (answer,) = session.run(program(session))
    return answer, session


async def after(session: unpause.Session, delay_ns: float, answer: Any = None) -> Any:
    await session.sleep(delay_ns)
    return answer


def test_a_task_runs_beside_the_one_that_spawned_it() -> None:
    async def program(session: unpause.Session) -> list[Any]:
        first = session.spawn(after(session, 300, "first"))
        second = session.spawn(after(session, 100, "second"))
        await session.sleep(200)
        assert (first.done, second.done) == (False, True)
        return [await second, session.now_ns, await first, session.now_ns, await first]

    assert run(program)[0] == ["second", 200, "first", 300, "first"]


def test_tasks_that_are_left_are_cancelled() -> None:
    closed = []

    async def program(session: unpause.Session) -> None:
        async def endless() -> None:
            try:
                while True:
                    await session.sleep(70)
            finally:
                closed.append(session.now_ns)

        session.spawn(endless())
        await session.sleep(200)

    _, session = run(program)
    assert closed == [200]
    # Nothing of it is left: not even the timer.
    assert session.advance() is None


def test_an_event_wakes_all_who_wait_for_it() -> None:
    async def program(session: unpause.Session) -> list[Any]:
        event = session.event()
        woken: list[Any] = []

        async def waits(name: str) -> None:
            await event
            woken.append((name, session.now_ns))

        tasks = [session.spawn(waits(name)) for name in "ab"]
        await session.sleep(50)
        event.set()
        await session.gather(*tasks)
        await event  # it is set
        event.clear()
        late = session.spawn(waits("c"))
        await session.sleep(50)
        assert not late.done
        event.set()
        await late
        return woken

    assert run(program)[0] == [("a", 50), ("b", 50), ("c", 100)]


def test_gather_answers_in_order_and_cancels_the_rest_of_a_failure() -> None:
    async def fails(session: unpause.Session) -> None:
        await session.sleep(100)
        raise KeyError("planted")

    async def program(session: unpause.Session) -> list[Any]:
        assert await session.gather() == []
        message = session.send("H0", "H1", 1000)
        both = await session.gather(after(session, 30, "a"), session.delivered(message))
        slow = session.spawn(after(session, 5_000))
        start = session.now_ns
        with pytest.raises(KeyError, match="planted"):
            await session.gather(slow, fails(session))
        return [*both, message, session.now_ns - start, slow.cancelled]

    first, delivered, message, took, cancelled = run(program)[0]
    assert (first, delivered) == ("a", message)
    assert took == pytest.approx(100)
    assert cancelled


def test_a_timeout_is_exact_and_leaves_nothing() -> None:
    async def program(session: unpause.Session) -> list[Any]:
        in_time = await session.wait_for(after(session, 99, "in time"), 100)
        start = session.now_ns
        with pytest.raises(TimeoutError, match="after took longer than 100 ns"):
            await session.wait_for(after(session, 5_000), 100)
        message = session.send("H0", "H1", 1_000_000)
        with pytest.raises(TimeoutError):
            await session.wait_for(session.receive("H1", "H0"), 10)
        assert await session.receive("H1", "H0") is message
        return [in_time, start, message.start_ns]

    answer, session = run(program)
    assert answer == ["in time", 99, 199]
    assert session.advance() is None or session.advance() is None


def test_errors_of_tasks_are_raised() -> None:
    async def fails() -> None:
        raise ValueError("planted")

    async def nobody_asks(session: unpause.Session) -> None:
        session.spawn(fails())
        await session.sleep(10)

    async def asks(session: unpause.Session) -> str:
        try:
            await session.spawn(fails())
        except ValueError as error:
            return str(error)
        return "none"

    async def waits_for_it(session: unpause.Session) -> None:
        event = session.event()

        async def sets() -> None:
            await fails()
            event.set()

        session.spawn(sets())
        await event

    with pytest.raises(ValueError, match="planted"):
        run(nobody_asks)
    assert run(asks)[0] == "planted"
    with pytest.raises(unpause.SessionError, match="wait for event") as stuck:
        run(waits_for_it)
    assert isinstance(stuck.value.__cause__, ValueError)
    with pytest.raises(TypeError, match="cannot be awaited"):
        run(lambda session: session.gather(fails))  # type: ignore[arg-type]


def test_a_cancelled_timer_is_not_reported() -> None:
    with unpause.Session(FABRIC) as session:
        soon, late = session.schedule(100, "soon"), session.schedule(200, "late")
        session.cancel(soon)
        assert [it.tag for it in session] == ["late"]
        session.cancel(late)
        assert session.advance() is None


def test_the_scheduler_moves_a_job_off_a_failed_nic(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "scheduler.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "A lost 1 host, 2 iterations left" in out
    assert "A goes on with hosts [0, 1, 2, 4, 5, 6, 7, 12]" in out
    assert [line.split()[2] for line in out.splitlines() if line.endswith("ends")] == [
        "B",
        "C",
        "A",
    ]
    # Two iterations, then 2 ms without an end, and two probes of 10 us that nobody answers.
    (lost,) = [float(line.split()[0]) for line in out.splitlines() if "A lost" in line]
    waited = lost - (2 * iteration(8, 4_000_000) + 2_000_000) / 1e3
    assert 20 < waited < 30


def iteration(ranks: int, size: int) -> float:
    """Nanoseconds of an iteration of the example, from a session of its own."""
    module = runpy.run_path(str(EXAMPLES / "scheduler.py"))
    with unpause.Session(module["FABRIC"], tell=("delivered",)) as session:
        scheduler = module["Scheduler"](session)
        session.run(scheduler.iteration("alone", list(range(ranks)), size))
        return session.now_ns
