"""The story of runs whose answer is computed by hand, and its sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unpause
from conftest import MS, Builder
from scenarios import PFC, burst, entry, flow, leaf_spine, scenario, scheme, star, two_switch
from unpause.data.fabric import Fabric, Pairs, Port
from unpause.explanation import sentences, story, victims
from unpause.text import time

GBPS_40 = 40_000_000_000


def link(made: Builder, run: int, name: str, **totals: float) -> None:
    """Both directions of a link; totals are those of the first."""
    node, peer = name.split("->")
    scheme = made.rows["runs"][run]["scheme"]
    both = {"run": run, "scheme": scheme, "priority": 3, "rate_bps": GBPS_40, "tx_bytes": 1_000}
    made.add("ports", node=node, peer=peer, **{**both, **totals})
    made.add("ports", node=peer, peer=node, **both)


def two_switches(made: Builder, scheme: str = "PFC", paused: bool = True) -> int:
    """F0 from H0 to R0, F1 from H1 to R1 over S0->S1; a burst of H2 fills S1->R1.

    S1 stops S0 from 1.0 to 1.4 ms and from 2.0 to 2.2 ms, S0 stops its hosts from 1.1 to 1.5 ms.
    """
    run = made.run(scheme)
    made.rows["runs"][run]["simulated_ns"] = 10 * MS
    stops = {"S1->S0": [(1.0, 1.4), (2.0, 2.2)], "S0->H0": [(1.1, 1.5)], "S0->H1": [(1.1, 1.5)]}
    totals: dict[str, dict[str, float]] = {
        "H0->S0": {"paused_ns": 0.4 * MS},
        "H1->S0": {"paused_ns": 0.4 * MS},
        "S0->S1": {"paused_ns": 0.6 * MS, "max_queue_bytes": 300_000},
        "S1->R0": {"max_queue_bytes": 10_000},
        # 20 MB of the 50 MB that fit into 10 ms.
        "S1->R1": {"max_queue_bytes": 8_000_000, "tx_bytes": 20_000_000},
        "H2->S1": {},
    }
    for name, row in totals.items():
        link(made, run, name, **(row if paused else {**row, "paused_ns": 0.0}))
    if paused:
        for name, events in (("S1->S0", 2), ("S0->H0", 1), ("S0->H1", 1)):
            node, peer = name.split("->")
            row = next(
                r
                for r in made.rows["ports"]
                if (r["run"], r["node"], r["peer"]) == (run, node, peer)
            )
            row["pause_events"] = events
        for name, times in stops.items():
            for start, end in times:
                made.pause(run, name, start, end)
    # 20 MB of payload in 10 ms are 16 Gb/s.
    delivered = 20_000_000 if paused else 22_500_000
    made.flow(run, "F0", src="H0", dst="R0", start_ns=0.0, delivered_bytes=delivered)
    made.flow(run, "F1", src="H1", dst="R1", start_ns=0.0)
    made.flow(
        run, "burst", src="H2", dst="R1", size_bytes=8_000_000, start_ns=0.5 * MS, fct_ns=2.5 * MS,
        slowdown=1.6,
    )  # fmt: skip
    return run


def test_who_paused_whom_and_who_was_a_victim(builder: Builder) -> None:
    two_switches(builder)
    told = story.tell(builder.only_run())
    assert [(p.node, p.events) for p in told.pausers] == [("S1", 2), ("S0", 2)]
    assert told.pausers[0].stopped == {"S0": pytest.approx(0.6 * MS)}
    assert told.pausers[1].stopped == {"H0": pytest.approx(0.4 * MS), "H1": pytest.approx(0.4 * MS)}
    # PAUSE began at S1, where R1's port is full; S0 only handed it on.
    assert [str(port) for port in told.began] == ["S1->R1"]
    # Of F0's path, H0->S0 or S0->S1 was stopped from 1.0 to 1.5 and from 2.0 to 2.2 ms.
    assert told.victims is not None
    (victim,) = told.victims
    assert victim.flow == "F0 (H0 -> R0)"
    assert victim.stopped_ns == pytest.approx(0.7 * MS)
    assert victim.life_ns == pytest.approx(10 * MS)
    # F1 waited as well, in part for its own, in part perhaps not: no table says so.
    assert told.maybe_more
    assert told.carried is not None
    assert str(told.carried.port) == "S1->R1"
    assert told.carried.share == pytest.approx(0.4)
    assert told.last_ns == pytest.approx(2.5 * MS)


def test_the_sentences(builder: Builder) -> None:
    two_switches(builder)
    two_switches(builder, "PCN", paused=False)
    (_, pfc), (_, pcn) = sentences.of_result(builder.result())
    assert pfc == (
        "S1 paused S0 for 600 us (2 PAUSEs), S0 paused H0 for 400 us and H1 for 400 us "
        "(2 PAUSEs); at least 1 victim flow: F0 (H0 -> R0), whose path was paused for 700 us of "
        "its 10.0 ms; S1->R1 was 40 % utilised while it had flows (40 Gb/s), its "
        "longest queue 8.00 MB; F0, which does not use that link, averaged 16 Gb/s; the flow (2 "
        "endless flows not counted) was done 2.50 ms after its start."
    )
    assert pcn == (
        "avoids all 4 PAUSEs of PFC; S1->R1 was 40 % utilised while it had flows "
        "(40 Gb/s), its longest queue 8.00 MB; F0, which does not use that link, averaged 18 Gb/s, "
        "12 % more than under PFC; the flow (2 endless flows not counted) was done 2.50 ms after "
        "its start, as long as under PFC."
    )


def test_a_switch_that_fills_up_by_itself_after_a_release_is_where_pause_began() -> None:
    own = np.array([[1.0, 1.4]]) * MS
    handed_on = np.array([[1.1, 1.5]]) * MS
    assert not victims.filled_by_itself(handed_on, own)
    # Its next PAUSE begins at 3 ms, and nobody has stopped it since 1.5 ms.
    assert victims.filled_by_itself(np.array([[1.1, 1.5], [3.0, 3.1]]) * MS, own)
    # It was stopped after its first PAUSE only.
    assert victims.filled_by_itself(np.array([[0.5, 0.8]]) * MS, own)
    assert victims.filled_by_itself(handed_on, np.empty((0, 2)))


def test_where_paths_are_equal_victims_are_counted_by_what_is_on_all_of_them(
    builder: Builder,
) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][run]["simulated_ns"] = 10 * MS
    for leaf, host in (("L0", "A"), ("L0", "B"), ("L1", "C"), ("L1", "D")):
        link(builder, run, f"{host}->{leaf}")
    for spine in ("X", "Y"):
        link(builder, run, f"L0->{spine}")
        link(builder, run, f"{spine}->L1")
    for row in builder.rows["ports"]:
        if (row["node"], row["peer"]) == ("L1", "C"):
            row["max_queue_bytes"] = 500_000
        if (row["node"], row["peer"]) in (("L0", "X"), ("A", "L0")):
            row["paused_ns"] = MS
    builder.pause(run, "L1->X", 1.0, 2.0)
    builder.pause(run, "X->L0", 1.2, 2.2)
    builder.pause(run, "L0->A", 1.4, 1.6)
    builder.flow(run, "to C", src="B", dst="C", start_ns=0.0)
    builder.flow(run, "to D", src="A", dst="D", start_ns=0.0)
    fabric = Fabric.of(builder.only_run())
    assert fabric.must_cross("A", "D", Port("A", 0, "L0"))
    assert fabric.may_cross("A", "D", Port("L0", 0, "X"))
    assert not fabric.must_cross("A", "D", Port("L0", 0, "X"))
    assert not fabric.may_cross("A", "D", Port("L1", 0, "C"))
    told = story.tell(builder.only_run())
    assert [str(port) for port in told.began] == ["L1->C"]
    # A's own link for 0.2 ms; X may or may not be on its path.
    assert [(v.flow, v.stopped_ns) for v in told.victims or []] == [
        ("to D (A -> D)", pytest.approx(0.2 * MS))
    ]
    assert told.maybe_more
    assert "at least 1 victim flow" in sentences.of_run(told)


def test_when_shares_become_even(builder: Builder) -> None:
    run = two_switches(builder)
    time = np.arange(0, 10.001, 0.05)
    slow = np.where(time <= 6, 10.0, 20.0)
    builder.flow_rates(run, "F0", time, slow, flow_id=0)
    builder.flow_rates(run, "F1", time, 40 - slow, flow_id=1)
    fair = story.tell(builder.only_run()).fair
    assert fair is not None
    assert fair.flows == 2
    # The burst ends at 3 ms, the shares are even from 6 ms on; bins are 0.07 ms.
    assert fair.after_ns == pytest.approx(3 * MS, abs=0.08 * MS)
    assert fair.within_ns == pytest.approx(7 * MS)
    assert (fair.recorded, fair.event, fair.since_ns) == (2, "ended", 3 * MS)
    said = sentences.of_run(story.tell(builder.only_run()))
    assert "fairly 3.01 ms after the last other flow ended (3.00 ms, Jain >= 0.95)" in said


def test_shares_that_are_even_after_a_burst_are_not_called_even_from_the_start(
    builder: Builder,
) -> None:
    run = two_switches(builder)
    time = np.arange(0, 10.001, 0.05)
    slow = np.where(time <= 3, 2.0, 20.0)
    builder.flow_rates(run, "F0", time, slow, flow_id=0)
    builder.flow_rates(run, "F1", time, np.full(len(time), 20.0), flow_id=1)
    said = sentences.of_run(story.tell(builder.only_run()))
    assert "shared their link fairly as soon as the last other flow ended (3.00 ms, Jain" in said


def test_flows_that_were_even_all_the_time_are_so_from_the_start(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][run]["simulated_ns"] = 10 * MS
    for name in ("H0->S0", "H1->S0", "H2->S1", "S0->S1", "S1->R0", "S1->R1"):
        link(builder, run, name)
    time = np.arange(0, 10.001, 0.05)
    for number in (0, 1, 2):
        src, dst = ("H2", "R1") if number == 2 else (f"H{number}", "R0")
        builder.flow(run, f"F{number}", src=src, dst=dst, start_ns=0.0)
        builder.flow_rates(run, f"F{number}", time, np.full(len(time), 20.0), flow_id=number)
    said = sentences.of_run(story.tell(builder.only_run()))
    assert "; 2 of the 3 recorded flows shared their link fairly from the start (Jain" in said


def test_a_recorded_flow_that_has_ended_has_no_share_any_more(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][run]["simulated_ns"] = 10 * MS
    for name in ("H0->S0", "H1->S0", "H2->S0", "S0->R0"):
        link(builder, run, name)
    time = np.arange(0, 10.001, 0.05)
    for number, (until, gbps) in enumerate(((10, 10.0), (10, 20.0), (4, 10.0))):
        more = {"size_bytes": 5_000_000, "fct_ns": 4 * MS} if until < 10 else {}
        builder.flow(run, f"F{number}", src=f"H{number}", start_ns=0.0, **more)
        own = time[time <= until]
        builder.flow_rates(run, f"F{number}", own, np.full(len(own), gbps), flow_id=number)
    # Jain's index of 10 and 20 is 30^2 / (2 (10^2 + 20^2)) = 0.9.
    said = sentences.of_run(story.tell(builder.only_run()))
    assert (
        "2 of the 3 recorded flows did not converge to fair shares of their link within 6.00 ms "
        "after the last other flow ended (4.00 ms)"
    ) in said


def test_drops_and_a_deadlock_are_told(builder: Builder) -> None:
    run = two_switches(builder)
    builder.rows["runs"][run] |= {"dropped_packets": 1_234, "deadlock_began_ns": 3 * MS}
    text = sentences.of_run(story.tell(builder.only_run()))
    assert text.startswith("PFC deadlock after 3.00 ms, which ended the run; S1 paused S0")
    assert "; 1,234 data packets were dropped;" in text


def test_shares_that_never_become_even(builder: Builder) -> None:
    run = two_switches(builder)
    time = np.arange(0, 10.001, 0.05)
    builder.flow_rates(run, "F0", time, np.full(len(time), 10.0), flow_id=0)
    builder.flow_rates(run, "F1", time, np.full(len(time), 30.0), flow_id=1)
    told = story.tell(builder.only_run())
    assert told.fair is not None
    assert told.fair.after_ns is None
    assert "did not converge to fair shares of their link within 7.00 ms" in sentences.of_run(told)


SCENARIO = scenario(
    two_switch(["A", "B"], ["C", "D", "E1..E4"], rate="40Gbps"),
    scheme("PFC", set={"traffic.past.rate_limit": "10Gbps", "traffic.into.rate_limit": "20Gbps"}),
    flow("past", "A", "C"),
    flow("into", "B", "D", size="1MB"),
    burst("burst", "E1..E4", "D", size="500KB"),
    title="A burst to one host, and a flow past it",
    duration="2ms",
    pfc={"xoff": "64KB"},
)


def test_of_a_run_that_is_simulated() -> None:
    result = unpause.run(SCENARIO, schemes=["PFC"], progress=False)
    (told,) = story.of_result(result)["PFC"]
    assert [str(port) for port in told.began] == ["S1->D"]
    assert [v.flow for v in told.victims or []] == ["past (A -> C)"]
    ports = result.ports.to_pylist()
    assert told.pauses == sum(row["pause_events"] for row in ports)
    assert told.pausers[0].node == "S1"
    # A waits for S0, and S0 for S1: at least as long as the longer of the two, at most both.
    paused = {(row["node"], row["peer"]): row["paused_ns"] for row in ports if row["paused_ns"]}
    each = [paused.get(("A", "S0"), 0.0), paused["S0", "S1"]]
    assert max(each) <= told.victims[0].stopped_ns <= sum(each)
    # At the end the limited flow is alone, so that D's link is not always full.
    assert told.carried is not None
    (sent,) = [r for r in ports if (r["node"], r["peer"], r["priority"]) == ("S1", "D", 3)]
    assert told.carried.share == pytest.approx(
        sent["tx_bytes"] * 8e9 / sent["rate_bps"] / told.last_ns, rel=0.02
    )
    assert 0.8 < told.carried.share < 1


def test_a_nic_that_sends_pause_is_reported_first() -> None:
    storm = Path(__file__).parents[2] / "scenarios/nic-storm.toml"
    result = unpause.run(storm, schemes=["PFC"], progress=False)
    (told,) = story.of_result(result)["PFC"]
    assert (told.pausers[0].node, told.pausers[0].is_host) == ("H4", True)
    assert not any(pauser.is_host for pauser in told.pausers[1:])
    assert sentences.of_run(told).startswith("the NIC of H4 paused leaf1 for ")


@pytest.mark.parametrize("seed", range(8))
def test_many_pairs_at_once_are_what_each_is_by_itself(builder: Builder, seed: int) -> None:
    rng = np.random.default_rng(seed)
    run = builder.run("PFC")
    names = [f"N{number}" for number in range(9)]
    for at, node in enumerate(names):
        for peer in names[at + 1 :]:
            if rng.random() < 0.3:
                link(builder, run, f"{node}->{peer}")
    fabric = Fabric.of(builder.only_run())
    if not fabric.ports:
        pytest.skip("no links")
    pairs = [(src, dst) for src in names[:5] for dst in names[2:]]
    searched = Pairs(fabric, pairs)
    tried = {pair: shortest(fabric, *pair) for pair in pairs}
    for port in fabric.ports:
        may, must = searched.crossed(port)
        for at, (src, dst) in enumerate(pairs):
            over = [port in path for path in tried[src, dst]]
            assert may[at] == any(over)
            assert must[at] == (bool(over) and all(over))
            assert (may[at], must[at]) == (
                fabric.may_cross(src, dst, port),
                fabric.must_cross(src, dst, port),
            )


def shortest(fabric: Fabric, src: str, dst: str) -> list[list[Port]]:
    """All shortest paths, found by trying all that visit no node twice."""
    paths: list[list[Port]] = [[]]
    while paths and not any((it[-1].peer if it else src) == dst for it in paths):
        paths = [
            [*it, port]
            for it in paths
            for port in fabric.ports
            if port.node == (it[-1].peer if it else src)
            and port.peer not in {src, *(link.peer for link in it)}
        ]
    return [it for it in paths if (it[-1].peer if it else src) == dst]


def test_a_pause_that_held_nothing_back_is_no_absence_of_pause(builder: Builder) -> None:
    run = two_switches(builder, paused=False)
    next(it for it in builder.rows["ports"] if it["run"] == run)["pause_events"] = 3
    [(_, text)] = sentences.of_result(builder.result())
    assert text.startswith("3 PAUSEs, which held no frame back; ")


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0"), (0.308, "308 ps"), (10.24, "10.2 ns"), (328, "328 ns")]
)
def test_short_times_keep_three_digits(ns: float, text: str) -> None:
    assert time(ns) == text


def test_flows_without_a_size_are_not_said_to_be_done() -> None:
    scenario = star(
        3,
        PFC,
        flow("short", "H0", "H2", size="10KB"),
        entry("sweep", name="repetition", key="seed", from_=1, to=2, step=1),
        rate="10Gbps",
        delay="500ns",
        duration="500us",
    )
    endless = '[[traffic]]\nname = "long"\nkind = "flow"\nfrom = "H1"\nto = "H2"\n'
    for text, said in (
        (scenario, "per seed: no PAUSE; the flow was done 10.2 us after its start"),
        (scenario + endless, "the flow (1 endless flow not counted) was done "),
    ):
        [(_, sentence)] = sentences.of_result(unpause.run(text, progress=False))
        assert said in sentence


ONE_SWITCH = star(6, PFC)

INCAST = burst("incast", "H1..H3", "H0", size="300KB")


def said_of(source: str) -> str:
    [(_, sentence)] = sentences.of_result(unpause.run(source, progress=False))
    return sentence


@pytest.mark.parametrize(
    ("keys", "flows"),
    [
        ('kind = "flow"\nstop = "100us"', "elsewhere, which does not use that link,"),
        ('kind = "flow"\nstart = "800us"', "elsewhere, which does not use that link,"),
        ('kind = "on-off"\non = "50us"\noff = "150us"', "5 flows that do not use that link"),
        ('kind = "on-off"\non = "50us"\noff = "950us"\nstop = "40us"', "elsewhere, which"),
    ],
)
def test_goodput_is_of_the_time_in_which_flows_send(keys: str, flows: str) -> None:
    """95.4 Gb/s is the payload of 100 Gb/s."""
    other = f'[[traffic]]\nname = "elsewhere"\nfrom = "H4"\nto = "H5"\n{keys}\n'
    result = unpause.run(ONE_SWITCH + INCAST + other + "watch = true\n", progress=False)
    [(_, sentence)] = sentences.of_result(result)
    assert flows in sentence
    [[told]] = story.of_result(result).values()
    for past in told.past:
        assert past.goodput_bps == pytest.approx(95.4e9, rel=0.02)
    [watched] = told.watched
    assert watched.goodput_bps == pytest.approx(95.4e9, rel=0.02)


def test_flows_with_different_settings_are_not_called_identical() -> None:
    same = ONE_SWITCH + flow("both", ["H1", "H2"], "H0", size="1MB")
    for more in ({}, {"rate_limit": "10Gbps"}, {"priority": 4}, {"extra_delay": "90us"}):
        two = flow("a", "H1", "H0", size="1MB"), flow("b", "H2", "H0", size="1MB", **more)
        assert "identical" not in said_of(star(6, PFC, *two))
    assert "identical" not in said_of(same)
    # A NIC with half of the rate, and a flow that is alike.
    held = entry("event", at="0s", link="H2-S0", kind="rate", rate="20Gbps")
    assert "among 2 identical flows the slowest took " in said_of(same + held)


def test_flows_with_limits_are_not_said_to_share_unfairly() -> None:
    def beside(**more: Any) -> str:
        flows = flow("a", "H1", "H0", record=True), flow("b", "H2", "H0", record=True, **more)
        return said_of(star(6, PFC, *flows, probes={"interval": "10us"}))

    for more in ({"rate_limit": "10Gbps"}, {"offered": "10Gbps"}, {"priority": 5}):
        assert "fair" not in beside(**more)
    assert "the 2 recorded flows shared their link fairly from the start" in beside()


REROUTE = scenario(
    leaf_spine(2, 2, 3), PFC, flow("into", ["H0", "H1"], ["H3", "H4"]), flow("back", "H5", "H2")
)


def test_after_a_reroute_no_flow_is_said_to_avoid_a_link() -> None:
    said = said_of(REROUTE)
    assert "while flows that may use it were active" in said
    assert "use that link" in said
    down = entry("event", at="100us", link="leaf0-spine0", kind="down")
    assert "use that link" not in said_of(REROUTE + down)


def test_pauses_of_several_priorities_are_not_added_up() -> None:
    storm = entry("event", kind="pause-storm", node="H0", at="0s")
    flows = flow("a", "H1", "H0", priority=3), flow("b", "H2", "H0", priority=4)
    said = said_of(star(6, PFC, storm, *flows, switch={"lossless": [3, 4]}))
    assert said.startswith("the NIC of H0 paused S0 for up to 999 us (2 PAUSEs), S0 paused H1 for ")
    alone = ONE_SWITCH + storm + flow("a", "H1", "H0")
    assert said_of(alone).startswith("the NIC of H0 paused S0 for 999 us (")
