"""No count of victims is complete where flows may have waited in a way that is not recorded."""

from __future__ import annotations

import pytest

import unpause
from unpause.commands import explain
from unpause.data.result import Result
from unpause.explanation import account, sentences, story
from unpause.pages import overview

#: H1 is paused because of H0; `a` leads to it, and its ACKs leave by that link.
SCENARIO = """
seed = 1
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[host]
window = "100KB"
{host}
[pfc]
xoff = "50KB"
[probes]
causes = {causes}
[[scheme]]
name = "x"
[[traffic]]
name = "f"
kind = "flow"
from = "H1"
to = "H0"
size = "1MB"
[[traffic]]
name = "a"
kind = "flow"
from = "H2"
to = "{to}"
size = "1MB"
[[event]]
kind = "pause-storm"
node = "H0"
at = "50us"
until = "400us"
"""
CREDITS = """
seed = 1
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 5
rate = "100Gbps"
delay = "1us"
[link]
flow_control = "cbfc"
[[scheme]]
name = "x"
[[traffic]]
name = "a"
kind = "burst"
from = "{senders}"
to = "H0"
size = "300KB"
[[traffic]]
name = "v"
kind = "flow"
from = "H1"
to = "H4"
size = "300KB"
"""


def _run(ack_priority: str, to: str = "H1", causes: bool = True) -> Result:
    text = SCENARIO.format(
        host=f'ack_priority = "{ack_priority}"', to=to, causes=str(causes).lower()
    )
    return unpause.run(text, progress=False)


def test_the_count_is_open_without_a_record_of_pauses() -> None:
    text = SCENARIO.format(host='ack_priority = "flow"', to="H1", causes="true\npauses = false")
    result = unpause.run(text, progress=False)
    assert not result.tables["pauses"].num_rows
    assert _victims(result) == "?"


def _victims(result: Result) -> str:
    table = overview.of_result(result)
    return table.rows[0][[head[0] for head in table.heads].index("victim")].value


@pytest.mark.parametrize("causes", [True, False])
def test_paused_acks_leave_the_count_open(causes: bool) -> None:
    result = _run("flow", causes=causes)
    flow = next(it for it in result.flows.to_pylist() if it["traffic"] == "a")
    assert flow["slowdown"] > 2
    [told] = story.of_result(result)["x"]
    assert told.maybe_more
    assert "no victim" not in sentences.of_run(told, None)
    assert _victims(result) == "?"
    said = overview.of_result(result).scope
    assert ("flows whose ACKs were paused" if causes else "causes = true") in said


def test_explain_says_that_acks_are_not_counted() -> None:
    [text, *_] = explain.lines(paused := _run("flow"), explain.the_runs(paused), 100, None)
    assert "0 victim flows (flows whose ACKs were paused are not counted)" in " ".join(text.split())
    [text, *_] = explain.lines(calm := _run("control"), explain.the_runs(calm), 100, None)
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
    text = SCENARIO.format(host='ack_priority = "flow"', to="H1", causes="true")
    result = unpause.run(text.replace("1MB", "4MB"), duration="3ms", progress=False)
    [run] = result.runs_of("x")
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


SPRAYED = """
seed = 1
duration = "1ms"
[topology]
builder = "explicit"
hosts = ["A", "B", "C"]
switches = ["S", "T"]
rate = "100Gbps"
delay = "1us"
{links}
[host]
{spraying}
[pfc]
xoff = "64KB"
[probes]
causes = true
[[scheme]]
name = "x"
loss_recovery = "selective-repeat"
[[traffic]]
name = "v"
kind = "flow"
from = "A"
to = "B"
[[traffic]]
name = "other"
kind = "flow"
from = "A"
to = "C"
size = "5MB"
[[event]]
kind = "pause-storm"
link = "{storm}->S"
at = "100us"
until = "600us"
"""


@pytest.mark.parametrize(
    ("spraying", "storm", "complete"),
    [('spraying = "oblivious"', "C", False), ('spraying = "oblivious"', "B", False),
     ('ack_every = 4', "A", True)],
)  # fmt: skip
def test_sprayed_flows_may_have_lost_a_nic(spraying: str, storm: str, complete: bool) -> None:
    links = "".join(
        f'[[topology.link]]\na = "{host}"\nb = "{switch}"\n' for host in "ABC" for switch in "ST"
    )
    text = SPRAYED.format(links=links, spraying=spraying, storm=storm)
    result = unpause.run(text, progress=False)
    [[told]] = story.of_result(result).values()
    assert told.maybe_more == (not complete)
    [(_, sentence)] = sentences.of_result(result)
    assert ("no victim" in sentence) == complete
    said = overview.of_result(result).scope
    assert ("sprayed flows that could not use all NICs" in said) != complete
