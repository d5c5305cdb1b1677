"""Queues that stand when the congestion that filled them is over."""

from __future__ import annotations

from pathlib import Path

import pytest

import unpause
from scenarios import CAUSES, PFC, burst, flow, leaf_spine, scenario
from unpause.commands import explain
from unpause.data.result import Result
from unpause.explanation import account, causes, trees_json
from unpause.explanation.trees import Egress, Tree

ROOT = Path(__file__).resolve().parents[2]

# H0 sends to H6 at the rate of H6's link all the time. Three more hosts send to it until 0.9 ms.
BURST = scenario(
    leaf_spine(2, 1, 6, fabric_rate="400Gbps", delay="500ns"),
    PFC,
    flow("long", "H0", "H6"),
    flow("bystander", "H1", "H7"),
    flow("other", "H2", "H8"),
    burst("burst", "H9..H11", "H6", size="1MB", start="500us"),
    duration="4ms",
    probes=CAUSES,
)


@pytest.fixture(scope="module")
def burst() -> Result:
    return unpause.run(BURST, progress=False)


def _trees(result: Result) -> list[Tree]:
    return account.trees(result.runs_of(result.schemes[0])[0])


def test_a_queue_that_outlasts_its_incast_is_no_incast(burst: Result) -> None:
    [run] = burst.runs_of("PFC")
    incast, queue = _trees(burst)
    flows = run.table("flows").to_pylist()
    end = max(it["start_ns"] + it["fct_ns"] for it in flows if it["traffic"] == "burst")
    assert (incast.kind, incast.root) == ("incast", Egress("leaf1", "H6"))
    assert incast.episodes[-1][1] == pytest.approx(end, abs=100_000)
    assert (queue.kind, queue.root, queue.left_by) == ("standing", incast.root, incast.root)
    assert queue.episodes[0][0] == pytest.approx(end, abs=100_000)
    assert queue.episodes[-1][1] == pytest.approx(4e6, abs=10_000)
    assert queue.pauses > 4 * incast.pauses
    assert [it.traffic for it in queue.culprits] == ["long"]
    rows = run.table("causes").to_pylist()
    assert incast.pauses + queue.pauses == len({it["cause_id"] for it in rows})


def test_its_victims_are_reported_once(burst: Result) -> None:
    incast, queue = _trees(burst)
    assert {it.traffic for it in incast.victims} == {"bystander", "other"}
    assert incast.left == [queue.root]
    assert not queue.victims


def test_explain_says_what_stands_where_and_since_when(burst: Result) -> None:
    [run] = burst.runs_of("PFC")
    said = " ".join(" ".join(explain.lines(burst, [run], 200, None)).split())
    assert "2. Standing queue at leaf1->H6, left by congestion at leaf1->H6, 100 Gb/s: " in said
    assert "of this and of the queue that it left at leaf1->H6" in said
    assert "which does not drain: about as much arrives as the link carries" in said
    later = " ".join(explain.of_port(run, Egress("leaf0", "spine0"), 1_000, None))
    assert "root: standing queue at leaf1->H6" in later
    _, told = trees_json.trees_as_json(burst, run, None)
    assert (told["left_by"], told["left"], told["kind"]) == ("leaf1->H6", [], "standing")


def test_of_what_was_in_force_then_only_the_queue_is_told(burst: Result) -> None:
    [run] = burst.runs_of("PFC")
    rows = run.table("causes").to_pylist()
    at = next(it["time_ns"] for it in rows if it["time_ns"] > 3e6)
    [tree] = causes.of_run(run, at)
    assert tree.kind == "standing"


def test_a_storm_ends_when_the_nic_takes_packets_again() -> None:
    result = unpause.run(ROOT / "scenarios" / "nic-storm.toml", progress=False)
    storm, queue = _trees(result)
    assert (storm.kind, storm.root) == ("nic", Egress("H4", None))
    assert storm.episodes[-1][1] == pytest.approx(2e6, abs=50_000)
    assert (queue.kind, queue.root, queue.left_by) == (
        "standing",
        Egress("leaf1", "H4"),
        storm.root,
    )
    assert queue.pauses > 700


def test_an_incast_that_goes_on_is_one_tree() -> None:
    for_good = BURST.replace('size = "1MB"\n', "").replace('kind = "burst"', 'kind = "flow"')
    [tree] = _trees(unpause.run(for_good, progress=False))
    assert (tree.kind, tree.left) == ("incast", [])
