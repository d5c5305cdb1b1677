"""No count of victims is complete where flows may have waited in a way that is not recorded."""

from __future__ import annotations

from typing import Any

import pytest

import unpause
from scenarios import CAUSES, burst, entry, explicit, flow, scenario, scheme, star
from unpause.commands import explain
from unpause.data.result import Result
from unpause.explanation import account, chosen, sentences, story
from unpause.pages import overview

CREDITS = star(
    5,
    scheme("x"),
    burst("a", "{senders}", "H0", size="300KB"),
    flow("v", "H1", "H4", size="300KB"),
    seed=1,
    link={"flow_control": "cbfc"},
)


#: H1 is paused because of H0; `a` leads to it, and its ACKs leave by that link.
def _run(ack_priority: str, to: str = "H1", size: str = "1MB", **probes: bool) -> Result:
    text = star(
        4,
        scheme("x"),
        flow("f", "H1", "H0", size=size),
        flow("a", "H2", to, size=size),
        entry("event", kind="pause-storm", node="H0", at="50us", until="400us"),
        seed=1,
        duration="3ms" if size == "4MB" else "1ms",
        host={"window": "100KB", "ack_priority": ack_priority},
        pfc={"xoff": "50KB"},
        probes=CAUSES | probes,
    )
    return unpause.run(text, progress=False)


def test_the_count_is_open_without_a_record_of_pauses() -> None:
    result = _run("flow", pauses=False)
    assert not result.tables["pauses"].num_rows
    assert _victims(result) == "?"


def _victims(result: Result) -> str:
    table = overview.of_result(result)
    return table.rows[0][[head[0] for head in table.heads].index("victim")].value


@pytest.mark.parametrize("causes", [True, False])
def test_paused_acks_leave_the_count_open(causes: bool) -> None:
    result = _run("flow", causes=causes)
    [slowdown] = [it["slowdown"] for it in result.flows.to_pylist() if it["traffic"] == "a"]
    assert slowdown > 2
    [told] = story.of_result(result)["x"]
    assert told.maybe_more
    assert "no victim" not in sentences.of_run(told, None)
    assert _victims(result) == "?"
    said = overview.of_result(result).scope
    assert ("flows whose ACKs were paused" if causes else "causes = true") in said


def test_explain_says_that_acks_are_not_counted() -> None:
    [text, *_] = explain.lines(paused := _run("flow"), chosen.the_runs(paused), 100, None)
    assert "0 victim flows (flows whose ACKs were paused are not counted)" in " ".join(text.split())
    [text, *_] = explain.lines(calm := _run("control"), chosen.the_runs(calm), 100, None)
    assert text.endswith("0 victim flows")


@pytest.mark.parametrize(("ack_priority", "to"), [("control", "H1"), ("flow", "H3")])
def test_the_count_is_complete_where_no_acks_were_paused(ack_priority: str, to: str) -> None:
    result = _run(ack_priority, to)
    [told] = story.of_result(result)["x"]
    assert not told.maybe_more
    assert "no victim" in sentences.of_run(told, None)
    assert _victims(result) == "0"


def test_acks_in_a_queue_are_not_bytes_of_their_receiver() -> None:
    """ACKs of `f` wait at the port to H1, which sends `f` and receives `a`."""
    [run] = _run("flow", size="4MB").runs_of("x")
    shares = {it.traffic: it for tree in account.trees(run) for it in tree.culprits}
    assert shares["ACKs of f"].sources == ("H0",)
    assert all(it.sources != ("H1",) for tree in account.trees(run) for it in tree.culprits)


def test_credits_leave_the_count_open() -> None:
    waiting = unpause.run(CREDITS.format(senders="H1..H3"), progress=False)
    assert any(it["credit_wait_ns"] for it in waiting.tables["ports"].to_pylist())
    assert _victims(waiting) == "?"
    assert "which flows waited for credits" in overview.of_result(waiting).scope
    calm = unpause.run(CREDITS.format(senders="H2"), progress=False)
    assert not any(it["credit_wait_ns"] for it in calm.tables["ports"].to_pylist())
    assert _victims(calm) == "0"


@pytest.mark.parametrize(
    ("host", "storm", "complete"),
    [
        ({"spraying": "oblivious"}, "C", False),
        ({"spraying": "oblivious"}, "B", False),
        ({"ack_every": 4}, "A", True),
    ],
)
def test_sprayed_flows_may_have_lost_a_nic(
    host: dict[str, Any], storm: str, complete: bool
) -> None:
    links = [f"{end}-{switch}" for end in "ABC" for switch in "ST"]
    text = scenario(
        explicit(["A", "B", "C"], ["S", "T"], *links),
        scheme("x", loss_recovery="selective-repeat"),
        flow("v", "A", "B"),
        flow("other", "A", "C", size="5MB"),
        entry("event", kind="pause-storm", link=f"{storm}->S", at="100us", until="600us"),
        seed=1,
        host=host,
        pfc={"xoff": "64KB"},
        probes=CAUSES,
    )
    result = unpause.run(text, progress=False)
    [[told]] = story.of_result(result).values()
    assert told.maybe_more == (not complete)
    [(_, sentence)] = sentences.of_result(result)
    assert ("no victim" in sentence) == complete
    said = overview.of_result(result).scope
    assert ("sprayed flows that could not use all NICs" in said) != complete
