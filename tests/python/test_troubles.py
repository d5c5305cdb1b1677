"""Operators' troubles with marks, classes, chance and deadlock: tables, warnings and advice."""

from __future__ import annotations

import pytest

import unpause
from scenarios import PFC, burst, explicit, flow, scenario
from test_operators import advised, gbps, port, rows, run_of, star, told, warned
from unpause.commands import explain
from unpause.data.result import Result
from unpause.explanation import account, sentences

MARKS = 'kmin = "100KB"\nkmax = "400KB"\npmax = 0.2'


def test_marks_that_the_nic_does_not_answer() -> None:
    scheme = f'{PFC}\nmarking = "red"\n[scheme.red]\n{MARKS}'
    result, run = run_of(star(9, scheme, flow("in", "H1..H8", "H0"), duration="2ms"))
    assert port(run, "S0", "H0")["marked_packets"] > 10_000
    assert run.row["notifications"] == 0
    assert run.row["pause_frames"] > 100
    [tree] = account.trees(run)
    assert "no sender reacts to marks" in advised(result, run, tree)
    answered = f'{PFC}\ncongestion_control = "dcqcn"\n[scheme.dcqcn]\n{MARKS}'
    _, run = run_of(star(9, answered, flow("in", "H1..H8", "H0"), duration="2ms"))
    assert run.row["notifications"] > 0
    assert run.row["pause_frames"] == 0


@pytest.mark.parametrize("kmin", ["1MB", "50KB"])
def test_marks_that_begin_beyond_what_pause_lets_wait(kmin: str) -> None:
    # Two ingress ports stop at 100 KB each; headroom of each is what a link of 200 ns needs.
    scheme = f'{PFC}\ncongestion_control = "dcqcn"\n[scheme.dcqcn]\nkmin = "{kmin}"'
    scheme += '\nkmax = "4MB"\npmax = 0.2' if kmin == "1MB" else '\nkmax = "100KB"\npmax = 0.2'
    pfc = '[pfc]\nxoff = "100KB"'
    result, run = run_of(star(3, pfc, scheme, flow("two", "H1..H2", "H0"), duration="2ms"))
    marked = port(run, "S0", "H0")["marked_packets"]
    if kmin == "50KB":
        assert marked > 0
        assert "no queue reaches" not in warned(result)
        assert run.row["pause_frames"] == 0
        return
    assert marked == 0
    assert "no queue reaches kmin 1 MB: with all 2 ingress ports of S0 at XOFF (100 KB)" in warned(
        result
    )
    assert "lower kmin below 200 KB, what two ingress ports hold at XOFF" in warned(result)
    [tree] = account.trees(run)
    assert "lower kmin below 200 KB" in advised(result, run, tree)
    assert "had slowed" not in told(result, run)


@pytest.mark.parametrize(
    ("lossless", "priority", "is_told"), [("3", 0, True), ("", 0, False), ("3", 3, False)]
)
def test_roce_in_a_class_that_pfc_does_not_protect(
    lossless: str, priority: int, *, is_told: bool
) -> None:
    sent = burst("nccl", "H1..H4", "H0", size="1MB", priority=priority)
    switch = f"[switch]\nlossless = [{lossless}]"
    result, run = run_of(star(5, switch, PFC, sent, delay="1us", duration="1ms"))
    lost = sum(row["dropped_packets"] for row in rows(run, "ports"))
    assert (lost > 0) == (priority == 0)
    said = "`nccl` has priority 0, which is not in switch.lossless [3]: no traffic is under PFC"
    assert (said in warned(result)) == is_told
    assert ("no ingress held more than 0B" in warned(result)) is False


PHASES = ((0, 0, 0, 0), (0, 17, 41, 66), (66, 41, 17, 0))


def test_66_ns_decide_who_loses_at_a_full_queue_and_it_is_said() -> None:
    ends = []
    for starts in PHASES:
        flows = [
            flow(f"n{host}", f"H{host}", "H0", size="4MB", start=f"{start}ns")
            for host, start in enumerate(starts, 1)
        ]
        switch = '[switch]\nlossless = []\n[host]\nretransmit_timeout = "4194us"'
        result, run = run_of(star(5, switch, PFC, *flows, delay="1us", duration="20ms"))
        ends.append(max(row["fct_ns"] + row["start_ns"] for row in rows(run, "flows")))
        assert "nanoseconds of phase decide which flow loses" in warned(result)
    assert max(ends) > 2 * min(ends)
    # Seeds draw nothing here, and are no sample of it.
    same = unpause.run(star(5, switch, PFC, *flows, duration="1ms"), seeds=2, progress=False)
    assert any(it["kind"] == "same-seeds" for it in same.manifest["warnings"])


def clos(*links: str) -> str:
    """Four leaves with four hosts each and two spines, with these links between them."""
    hosts = [f"H{host}-L{host // 4}" for host in range(16)]
    ends = [f"{link[:2]}-{link[2:]}" for link in links]
    flows = [
        flow(f"L{a}-L{b}", f"H{4 * a}..H{4 * a + 3}", [f"H{4 * b}", f"H{4 * b + 1}"])
        for a, b in ((0, 1), (1, 0), (2, 3), (3, 2))
    ]
    return scenario(
        explicit("H0..H15", ["L0", "L1", "L2", "L3", "S0", "S1"], *hosts, *ends, delay="500ns"),
        PFC,
        *flows,
        duration="3ms",
        pfc={"xoff": "100KB"},
        probes={"causes": True, "deadlock": "1ms", "deadlock_hold": "1ms"},
    )


CYCLE = "L2->S0->L3->S1->L2"


def first_line(result: Result) -> str:
    run = result.runs_of("PFC")[0]
    return " ".join(explain.lines(result, [run], 1_000, None)).split(". ")[0]


def test_a_deadlock_after_two_links_have_failed_comes_first() -> None:
    # L0 has lost S0 and L1 has lost S1: what goes from one to the other bounces off L2 or L3.
    result, run = run_of(clos("L0S1", "L1S0", "L2S0", "L2S1", "L3S0", "L3S1"))
    assert first_line(result).startswith(f"Deadlock {CYCLE} since ")
    assert dict(sentences.of_result(result))["PFC"].startswith(f"PFC deadlock {CYCLE} after ")
    assert "L2->S0 -> S0->L3 -> L3->S1 -> S1->L2 -> L2->S0" in warned(result)
    trees = account.trees(run)
    assert trees[0].kind == "cycle"
    assert advised(result, run, trees[0]).startswith("break the cycle: let no route go up again")
    for tree in trees[1:]:
        assert advised(result, run, tree).startswith("break the deadlock that ended this run first")
    assert "congestion_control" not in told(result, run)


def test_with_all_links_no_route_goes_up_again_and_no_deadlock_is_reported() -> None:
    every = [f"L{leaf}S{spine}" for leaf in range(4) for spine in range(2)]
    result, run = run_of(clos(*every))
    assert run.row["deadlock_began_ns"] is None
    assert run.row["pause_frames"] > 0
    assert "eadlock" not in told(result, run)
    assert "cycle" not in warned(result)
    assert "break" not in told(result, run)


@pytest.mark.parametrize("source", ["H3", "H4", "H3 with ETS"])
def test_a_priority_that_its_own_host_starves_is_named(source: str) -> None:
    turns = '[switch.scheduler]\nkind = "dwrr"\nweights = { 0 = 1, 1 = 1, 3 = 2, 4 = 1 }'
    source_text = star(
        5,
        f'[switch]\nlossless = [3, 4]\nlossy_queue = "2MB"\n{turns}',
        "[host]\nets = { 0 = 1, 1 = 1 }" if source == "H3 with ETS" else "",
        PFC,
        flow("f1", "H1", "H0", priority=3),
        flow("f2", "H2", "H0", priority=4),
        flow("f3", source[:2], "H0", priority=0),
        flow("f4", "H3", "H0", priority=1),
        delay="25ns",
        duration="10ms",
    )
    result, run = run_of(source_text)
    shares = [gbps(row["tx_bytes"], 10e6) for row in rows(run, "ports", node="S0", peer="H0")]
    # Priority 0 has its share of 40 : 20 : 20 : 20 where another host sends it, or the host shares.
    wanted = [50, 25, 25] if source == "H3" else [40, 20, 20, 20]
    assert sorted(it for it in shares if it > 1) == pytest.approx(sorted(wanted), rel=0.03)
    starved = "H3 sent nothing of priority 0 (traffic `f3`)"
    assert (starved in warned(result)) == (source == "H3")
