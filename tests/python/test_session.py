"""Fabrics that a program drives."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import unpause
from scenarios import CAUSES, PFC, star
from unpause import schema
from unpause.commands import explain

EXAMPLES = Path(__file__).parents[2] / "examples"

FABRIC = star(
    4,
    PFC,
    duration="10ms",
    host={"ack_every": 100000},
    probes=CAUSES,
    pfc={"xoff": "20KB", "xon": "15KB"},
)


def test_completions_are_told_in_order() -> None:
    with unpause.Session(FABRIC) as session:
        assert session.hosts == ["H0", "H1", "H2", "H3"]
        message = session.send("H0", 1, 50_000, tag="mine")
        timer = session.schedule(2_500, tag="soon")
        told = list(session)
    assert [it.kind for it in told] == ["timer", "delivered", "sent"]
    assert (told[0].timer, told[0].tag, told[0].time_ns) == (timer, "soon", 2_500)
    assert told[1].message is message
    assert told[1].tag == "mine"
    assert (message.src, message.dst, message.start_ns) == ("H0", "H1", 0)
    (flow,) = session.result.flows.to_pylist()
    assert (flow["traffic"], flow["src"], flow["dst"]) == ("session", "H0", "H1")
    assert flow["fct_ns"] == message.delivered_ns == told[1].time_ns
    assert flow["fct_ns"] == flow["ideal_fct_ns"]
    assert message.sent_ns == told[2].time_ns > told[1].time_ns


def test_a_run_goes_no_further_than_it_is_asked_to() -> None:
    with unpause.Session(FABRIC, tell=("delivered",)) as session:
        session.send(0, 1, 50_000)
        assert session.advance(until_ns=1_000.5) is None
        assert session.now_ns == 1_000.5
        session.send(2, 3, 1_000)
        told = list(session)
        assert session.advance() is None
    assert [it.message.src for it in told] == ["H2", "H0"]
    assert session.result.flows["start_ns"].to_pylist() == [0, 1_000.5]


def ring(session: unpause.Session, ranks: int, block: int):
    async def rank(me: int) -> float:
        for _ in range(2 * (ranks - 1)):
            session.send(me, (me + 1) % ranks, block)
            await session.receive(me, src=(me - 1) % ranks)
        return session.now_ns

    return session.run(*(rank(me) for me in range(ranks)))


def test_a_ring_of_coroutines_takes_its_closed_form() -> None:
    with unpause.Session(FABRIC, tell=("delivered",)) as session:
        ends = ring(session, 4, 100_000)
    alone = session.result.flows["ideal_fct_ns"][0].as_py()
    # Before a block leaves, the ACK of the one before does: 66 B at 100 Gb/s.
    ack = 66 * 8 / 100
    assert ends == pytest.approx([6 * alone + 5 * ack] * 4, abs=0.001)
    assert session.result.flows.num_rows == 24


def test_coroutines_wait_for_all_that_is_told() -> None:
    order = []

    async def one(session: unpause.Session) -> str:
        message = session.send("H0", "H1", 1_000, tag=1)
        assert await session.delivered(message) is message
        order.append("delivered")
        await session.sent(message)
        order.append("sent")
        await session.sleep(0)
        order.append("slept")
        await session.delivered(message)  # it has been
        return "one"

    async def other(session: unpause.Session) -> str:
        await session.sleep(100_000)
        received = await session.receive("H1", "H0", tag=1)
        order.append(f"received {received.bytes}")
        return "other"

    with unpause.Session(FABRIC) as session:
        assert session.run(one(session), other(session)) == ["one", "other"]
    assert order == ["delivered", "sent", "slept", "received 1000"]


def test_coroutines_that_wait_for_nothing_are_told() -> None:
    async def lost(session: unpause.Session) -> None:
        await session.receive("H1", "H0", tag="never")

    session = unpause.Session(FABRIC)
    with pytest.raises(unpause.SessionError, match="wait for receive H0 H1 never, and nothing is"):
        session.run(lost(session))


def test_a_result_is_like_any_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with unpause.Session(FABRIC) as session:
        for src in range(3):
            session.send(src, 3, 300_000)
        for completion in session:
            if completion.kind == "delivered" and completion.message.dst == "H3":
                session.send("H3", completion.message.src, 1_000)
    session.result.write(tmp_path / "driven")
    result = unpause.load(tmp_path / "driven")
    for name in schema.TABLES:
        assert getattr(result, name).equals(getattr(session.result, name)), name
    assert result.pauses.num_rows > 0
    assert result.causes.num_rows > 0
    assert explain.main([str(tmp_path / "driven")]) == 0
    assert "H3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda it: it.send("H0", "H9", 1), unpause.SessionError, "no host 'H9': H0, H1, H2, H3"),
        (
            lambda it: it.send(0, 4, 1),
            unpause.SessionError,
            "no host 4: 4 hosts are numbered from 0",
        ),
        (lambda it: it.send(1, 1, 1), unpause.ScenarioError, "H1 cannot send to itself"),
        (lambda it: it.send(0, 1, 0), unpause.ScenarioError, "at least 1 byte"),
        (lambda it: it.schedule(-1), ValueError, "delay_ns is -1"),
        (lambda it: it.result, unpause.SessionError, "the session is open"),
    ],
)
def test_mistakes_are_said(ask, error: type[Exception], said: str) -> None:
    session = unpause.Session(FABRIC)
    with pytest.raises(error, match=said):
        ask(session)


def test_what_cannot_be_opened() -> None:
    two = FABRIC + '[[scheme]]\nname = "other"\n'
    with pytest.raises(unpause.ScenarioError, match="has 2 schemes"):
        unpause.Session(two)
    unpause.Session(two, scheme="other", duration="1ms", priority=1, record=True)
    with pytest.raises(ValueError, match="'received'"):
        unpause.Session(FABRIC, tell=("received",))  # type: ignore[arg-type]


def test_a_closed_session_says_so() -> None:
    session = unpause.Session(FABRIC)
    assert session.close(at_ns=5_000).runs["simulated_ns"].to_pylist() == [5_000]
    with pytest.raises(ValueError, match="the session is closed"):
        session.send(0, 1, 1)


def test_the_example_comes_close_to_the_closed_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert len((EXAMPLES / "training.py").read_text().splitlines()) <= 40
    runpy.run_path(str(EXAMPLES / "training.py"), run_name="__main__")
    ratios = [float(line.rsplit(" ", 1)[1]) for line in capsys.readouterr().out.splitlines()]
    assert len(ratios) == 3
    assert all(1 <= ratio < 1.01 for ratio in ratios), ratios
