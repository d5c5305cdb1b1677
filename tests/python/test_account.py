"""Sentences, ``explain`` and the page tell one story: same victims, same root, deadlock first."""

from __future__ import annotations

import re
from typing import Any

import pytest

import unpause
from scenarios import (
    CAUSES,
    DCQCN,
    PFC,
    burst,
    entry,
    explicit,
    flow,
    leaf_spine,
    link,
    scenario,
    scheme,
    star,
)
from unpause.commands import explain
from unpause.data.result import Result, Run
from unpause.explanation import account, sentences, story, trees_json, victims
from unpause.pages import explored

MIXED = scenario(
    explicit(
        ["A", "B", "slow", "fast"],
        ["S0", "S1"],
        "A-S0",
        "B-S0",
        "S0-S1",
        link("slow-S1", rate="25Gbps"),
        "fast-S1",
        delay="500ns",
    ),
    PFC,
    flow("to-slow", "A", "slow"),
    flow("to-fast", "B", "fast"),
    title="A slow receiver holds up the flow to a fast one",
    duration="5ms",
    probes=CAUSES,
)

LOSSY = star(
    8,
    PFC,
    flow("lossy", "H3..H5", "H1", priority=0),
    flow("lossless", "H6..H7", "H0", priority=3),
    delay="200ns",
    title="A lossy queue is the longest, PAUSE is of another priority",
    duration="2ms",
    switch={"lossless": [3], "lossy_queue": "2MB"},
    pfc={"xoff": "100KB"},
    probes=CAUSES,
)

TWO_PRIORITIES = star(
    5,
    PFC,
    flow("three", "H1..H2", "H0", priority=3),
    flow("four", "H3..H4", "H0", priority=4),
    delay="200ns",
    duration="3ms",
    switch={"lossless": [3, 4]},
    pfc={"xoff": "100KB"},
    probes=CAUSES,
)

#: A Clos that has lost two links: some routes go up again after they came down.
DEADLOCK = scenario(
    explicit(
        "H0..H15",
        ["L0", "L1", "L2", "L3", "S0", "S1"],
        *(f"H{host}-L{host // 4}" for host in range(16)),
        *("L0-S1", "L1-S0", "L2-S0", "L2-S1", "L3-S0", "L3-S1"),
        delay="500ns",
    ),
    PFC,
    flow("L0-L1", "H0..H3", ["H4", "H5"]),
    flow("L1-L0", "H4..H7", ["H0", "H1"]),
    flow("L2-L3", "H8..H11", ["H12", "H13"]),
    flow("L3-L2", "H12..H15", ["H8", "H9"]),
    title="Deadlock after two link failures",
    duration="20ms",
    pfc={"xoff": "100KB"},
    probes={"causes": True, "deadlock": "1ms"},
)

SIXTY_FOUR = scenario(
    leaf_spine(4, 4, 16, fabric_rate="400Gbps", delay="500ns"),
    PFC,
    DCQCN,
    scheme("PFC+PCN", "pcn"),
    entry("traffic", name="background", kind="poisson", cdf="websearch", load=0.5),
    burst("incast", "H16..H47", "H0", size="100KB", start="300us"),
    title="Web search and an incast on 64 hosts",
    pfc={"xoff": "128KB"},
    probes=CAUSES,
)

ONCE = star(
    5,
    PFC,
    flow("in", "H1..H4", "H0"),
    delay="200ns",
    duration="4ms",
    pfc={"mode": "MODE", "pause_quanta": 100},
    slow_receiver={"hosts": "H0", "drain_rate": "1Gbps", "start": "0s"},
    probes=CAUSES,
)


def _run(scenario: str, **options: Any) -> Result:
    return unpause.run(scenario, progress=False, **options)


def _agree(result: Result, run: Run) -> int:
    """Sentence, `explain` and page name the same victims and root; returns how many victims."""
    trees = trees_json.trees_as_json(result, run, None)
    there = {row["flow_id"] for row in run.table("victims").to_pylist()}
    assert {victim["flow_id"] for tree in trees for victim in tree["victims"]} == there
    (told,) = story.of_result(result)[run.scheme]
    assert told.victims is not None
    assert len(told.victims) == len(there)
    sentence = dict(sentences.of_result(result))[run.scheme]
    if there:
        at_least = "at least " if told.maybe_more else ""
        assert re.search(rf"; {at_least}{len(there):,} victim flows?[:,]", sentence), sentence
    elif told.pauses:
        assert ("no victim" in sentence) == (not told.maybe_more)
    said = "\n".join(explain.lines(result, [run], 1_000, None))
    if trees:
        assert f", {len(there):,} victim flow" in said
        assert str(told.began[0]) == trees[0]["root"] or trees[0]["kind"] in ("nic", "switch")
    shown = explored._trees(run, [])
    assert [tree["title"] for tree in shown] == [tree["title"] for tree in trees[: len(shown)]]
    assert [it["victim_count"] for it in shown] == [len(it["victims"]) for it in trees[:30]]
    return len(there)


def test_a_flow_that_a_slow_receiver_holds_up() -> None:
    result = _run(MIXED)
    (run,) = result.runs_of("PFC")
    assert _agree(result, run) == 1
    (told,) = story.of_result(result)["PFC"]
    (victim,) = told.victims or []
    assert victim.flow == "to-fast (B -> fast)"
    assert 0.5 < victim.stopped_ns / victim.life_ns < 0.8
    assert str(told.began[0]) == "S1->slow"
    (sentence,) = dict(sentences.of_result(result)).values()
    assert "because of congestion off its path" in sentence


def test_without_causes_nobody_says_that_there_was_no_victim() -> None:
    result = _run(MIXED.replace("causes = true", "pauses = true"))
    (sentence,) = dict(sentences.of_result(result)).values()
    assert "no victim" not in sentence


@pytest.mark.parametrize("causes", ["causes = true", "pauses = true"])
def test_a_lossy_queue_is_not_what_another_priority_paused_for(causes: str) -> None:
    result = _run(LOSSY.replace("causes = true", causes))
    (told,) = story.of_result(result)["PFC"]
    assert [str(port) for port in told.began] == ["S0->H0"]
    assert told.victims == []
    assert told.maybe_more == (causes != "causes = true")


def test_the_priority_is_named_where_there_are_several() -> None:
    result = _run(TWO_PRIORITIES)
    (run,) = result.runs_of("PFC")
    titles = account.titles(run, account.trees(run))
    assert sorted(titles) == ["Incast at S0->H0, priority 3", "Incast at S0->H0, priority 4"]


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("xoff", ["50KB", "100KB", "200KB", "400KB"])
def test_a_deadlock_comes_first(xoff: str, seed: int) -> None:
    result = _run(DEADLOCK.replace('xoff = "100KB"', f'xoff = "{xoff}"'), seed=seed)
    (run,) = result.runs_of("PFC")
    ended = run.row["deadlock_began_ns"] is not None
    assert ended == any(tree.kind == "cycle" for tree in account.trees(run))
    if not ended:
        return
    _agree(result, run)
    first, *others = trees_json.trees_as_json(result, run, None)
    nodes = [egress.split("->")[0] for egress in first["cycle"]]
    assert sorted(nodes) == ["L2", "L3", "S0", "S1"]
    ring = "->".join([*nodes, nodes[0]])
    assert ring in ("L2->S0->L3->S1->L2", "L2->S1->L3->S0->L2")
    assert first["title"] == f"Deadlock {ring}"
    assert all(tree["kind"] != "cycle" for tree in others)
    said = list(explain.lines(result, [run], 200, None))
    assert said[0].startswith(f"Deadlock {ring} since ")
    sentence = dict(sentences.of_result(result))["PFC"]
    assert sentence.startswith(f"PFC deadlock {ring} after ")


def test_64_hosts_have_one_account() -> None:
    result = _run(SIXTY_FOUR)
    counts = {scheme: _agree(result, result.runs_of(scheme)[0]) for scheme in result.schemes}
    assert counts["PFC"] > 0


def test_a_pause_that_ran_out_is_not_too_little_headroom() -> None:
    for mode in ("once", "standard"):
        result = _run(ONCE.replace("MODE", mode))
        (run,) = result.runs_of("PFC")
        trees = account.trees(run)
        said = " ".join(" ".join(explain.lines(result, [run], 200, None)).split())
        assert any(tree.expired for tree in trees) == (mode == "once")
        assert ("expired while the ingress was still full" in said) == (mode == "once")
        assert "Headroom too small" not in said


#: `H1` loses its link, so that its flow of `then` never starts: `then` has a number without a row.
NEVER_STARTED = scenario(
    leaf_spine(3, 1, 4, fabric_rate="100Gbps"),
    entry("event", at="1us", kind="down", link="leaf0-H1"),
    burst("first", ["H0", "H1", "H2"], "H8", flows_per_host=1, size="1MB"),
    flow("then", ["H0", "H1", "H2"], "H8", size="1MB", after="first", after_end="acknowledged"),
    burst("incast", ["H3", "H4", "H5", "H6"], "H8", flows_per_host=1, size="2MB", start="200us"),
    flow("early", "H7", "H0", size="1MB", start="150us"),
    flow("innocent", "H7", "H0", size="2MB", after="early", after_end="acknowledged"),
    scheme("PFC", "none"),
    duration="3ms",
    seed=1,
    probes=CAUSES,
)


def test_flows_after_one_that_never_started_keep_their_names() -> None:
    result = unpause.run(NEVER_STARTED, progress=False)
    [run] = result.runs_of("PFC")
    flows = {row["flow_id"]: row for row in run.table("flows").to_pylist()}
    assert 9 not in flows
    assert {it: flows[it]["traffic"] for it in (10, 11)} == {10: "then", 11: "innocent"}
    trees = account.trees(run)
    waits = {it.flow_id: it for tree in trees for it in tree.victims}
    assert set(waits) == {3, 11}
    assert (waits[11].traffic, waits[11].src, waits[11].dst) == ("innocent", "H7", "H0")
    shares = {flow: share for it in trees[0].culprits for flow, share in it.of_flow.items()}
    assert {8, 10} <= set(shares) <= set(flows)
    told = victims.recorded(run, run.table("flows"))
    assert [it.flow for it in told] == ["innocent (H7 -> H0)", "early (H7 -> H0)"]
