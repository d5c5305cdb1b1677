"""Questions of operators, with answers computed by hand: tables, warnings and words give them."""

from __future__ import annotations

from typing import Any

import pytest

import scenarios
import unpause
from scenarios import CAUSES, PFC, burst, explicit, flow, link, scheme
from unpause.commands import explain
from unpause.data.result import Result, Run
from unpause.explanation import account, advice, sentences
from unpause.explanation.trees import Tree
from unpause.text import time

#: A frame of the defaults on the wire: 1000 B of payload, 48 B of headers.
FRAME = 1_048
PAYLOAD = 1_000


def star(hosts: int, *parts: str, delay: str = "200ns", **settings: Any) -> str:
    """Hosts at one switch."""
    ended = (f"{part}\n" for part in parts)
    return scenarios.star(hosts, *ended, delay=delay, probes=CAUSES, **settings)


def run_of(scenario: str) -> tuple[Result, Run]:
    result = unpause.run(scenario, progress=False)
    return result, result.runs_of(result.schemes[0])[0]


def rows(run: Run, table: str, **wanted: Any) -> list[dict[str, Any]]:
    """The rows of a table that have these values."""
    every = run.table(table).to_pylist()
    return [row for row in every if all(row[key] == value for key, value in wanted.items())]


def port(run: Run, node: str, peer: str, priority: int = 3) -> dict[str, Any]:
    [row] = rows(run, "ports", node=node, peer=peer, priority=priority)
    return row


def gbps(number: float, ns: float) -> float:
    return 8 * number / ns


def warned(result: Result) -> str:
    return "\n".join(f"{it['message']} ({it['help']})" for it in result.manifest["warnings"])


def advised(result: Result, run: Run, tree: Tree) -> str:
    return advice.of_run(result, run)(tree)


def told(result: Result, run: Run) -> str:
    return " ".join(" ".join(explain.lines(result, [run], 1_000, None)).split())


def sentence(result: Result) -> str:
    return dict(sentences.of_result(result))[result.schemes[0]]


@pytest.mark.parametrize("headroom", ["0B", "7160B"])
def test_how_much_headroom_a_short_link_needs(headroom: str) -> None:
    # Two frames, a PFC frame, and 12.5 B/ns for 400 ns there and back: 2 x 1048 + 64 + 5000.
    assert 2 * FRAME + 64 + 12.5 * 400 == 7_160
    pfc = f'[pfc]\nxoff = "100KB"\nheadroom = "{headroom}"'
    result, run = run_of(star(3, pfc, PFC, flow("in", "H1..H2", "H0"), duration="1ms"))
    lost = sum(row["headroom_dropped_packets"] for row in rows(run, "ports"))
    if headroom == "0B":
        assert lost > 0
        assert "headroom 0 B is too small" in warned(result)
        assert "7.2 KB" in warned(result)
        assert "Headroom too small" in told(result, run)
    else:
        assert lost == 0
        assert "headroom" not in warned(result)
        assert "Headroom too small" not in told(result, run)


@pytest.mark.parametrize("shift", [0, 1, 4])
def test_where_dynamic_thresholds_stop_four_ports(shift: int) -> None:
    # Each of n ports stops at alpha x B / (1 + n alpha), with B what headroom leaves.
    alpha, shared = 2.0**-shift, 4_164_000 - 9 * 20_000
    threshold = alpha * shared / (1 + 4 * alpha)
    blocked = '[slow_receiver]\nhosts = "H0"\ndrain_rate = "0Gbps"\nstart = "0s"'
    scenario = star(
        9,
        '[switch]\nbuffer = "4164KB"',
        f'[pfc]\ndynamic_shift = {shift}\nheadroom = "20KB"',
        blocked,
        PFC,
        flow("in", "H1..H4", "H0"),
        duration="1ms",
    )
    result, run = run_of(scenario)
    for host in ("H1", "H2", "H3", "H4"):
        held = port(run, "S0", host)["max_ingress_bytes"]
        # Bytes in flight, and a frame that was started.
        assert threshold < held < threshold + 7_160, host
    assert all(row["dropped_packets"] == 0 for row in rows(run, "ports"))
    assert 4 * threshold < port(run, "S0", "H0")["max_queue_bytes"] < 4 * (threshold + 7_160)
    for tree in account.trees(run):
        assert advised(result, run, tree).startswith("look at H0")


def test_a_receiver_that_takes_all_is_not_looked_at() -> None:
    pfc = '[pfc]\ndynamic_shift = 0\nheadroom = "20KB"'
    scenario = star(
        9, '[switch]\nbuffer = "4164KB"', pfc, PFC, flow("in", "H1..H4", "H0"), duration="1ms"
    )
    result, run = run_of(scenario)
    [tree] = account.trees(run)
    assert tree.kind == "incast"
    assert "look at" not in advised(result, run, tree)


def long_haul(*parts: str) -> str:
    """100 Gb/s over 40 km, a receiver behind 50 Gb/s."""
    far, slow = link("S0-S1", delay="200us"), link("B-S1", rate="50Gbps")
    return scenarios.scenario(
        explicit(["A", "B"], ["S0", "S1"], "A-S0", far, slow, delay="200ns"),
        *(f"{part}\n" for part in parts),
        flow("t", "A", "B"),
        duration="20ms",
        host={"retransmit_timeout": "10ms"},
        probes=CAUSES,
    )


@pytest.mark.parametrize(
    ("xoff", "xon", "use"), [("512KB", None, 0.75), ("3MB", "2600KB", 0.99), ("3MB", "2MB", 0.9)]
)
def test_what_pfc_carries_over_40_km(xoff: str, xon: str | None, use: float) -> None:
    # In a round trip of 400 us S0 sends 5 MB after XOFF, at half of which S1->B drains the first
    # 2.5 MB; after XON it drains 2.5 MB before anything comes. A cycle of 1.28 ms carries 0.96 ms.
    pfc = f'[pfc]\nxoff = "{xoff}"' + (f'\nxon = "{xon}"' if xon else "")
    result, run = run_of(long_haul(pfc, PFC))
    assert port(run, "S1", "S0")["headroom_dropped_packets"] == 0
    share = gbps(port(run, "S1", "B")["tx_bytes"], 20e6) / 50
    if use == 0.9:
        assert 0.85 < share < 0.99
    else:
        assert share == pytest.approx(use, abs=0.01)
    assert ("set pfc.xon to 2.5 MB or more" in warned(result)) == (use < 0.99)


def test_the_key_of_the_headroom_of_a_rate_is_named() -> None:
    pfc = '[pfc]\nheadroom = { "100Gbps" = "1MB", "50Gbps" = "10KB" }'
    result, run = run_of(long_haul(pfc, PFC))
    assert port(run, "S1", "S0")["headroom_dropped_packets"] > 20_000
    assert "5 MB" in warned(result)
    assert 'raise pfc.headroom."' in warned(result)
    assert "buffer" not in warned(result)
    [tree] = account.trees(run)
    assert advised(result, run, tree).startswith("[pfc] headroom (100Gbps: 1MB, 50Gbps: 10KB)")


def test_which_of_four_priorities_are_paused_where_120_meet_100() -> None:
    sends = [("H1", 3), ("H1", 0), ("H2", 4), ("H2", 1)]
    flows = [
        flow(f"p{priority}", host, "H0", priority=priority, rate_limit="30Gbps")
        for host, priority in sends
    ]
    turns = '[switch.scheduler]\nkind = "dwrr"\nweights = { 0 = 1, 1 = 1, 3 = 1, 4 = 1 }'
    scenario = star(
        3,
        '[host]\nretransmit_timeout = "1ms"',
        f"[switch]\nlossless = [3, 4]\n{turns}",
        PFC,
        *flows,
        duration="10ms",
    )
    result, run = run_of(scenario)
    paused = {row["priority"] for row in rows(run, "ports") if row["pause_events"]}
    assert paused == {3, 4}
    for priority in (0, 1, 3, 4):
        row = port(run, "S0", "H0", priority)
        # Equal shares of 100 Gb/s, but for the first ms, in which queues fill.
        assert gbps(row["tx_bytes"], 10e6) == pytest.approx(25, abs=0.3), priority
        assert (row["dropped_packets"] > 0) == (priority < 3)
    trees = account.trees(run)
    assert {tree.priority for tree in trees} == {3, 4}
    for tree in trees:
        said = advised(result, run, tree)
        assert f"raise the share of priority {tree.priority} (weights of [switch.scheduler]" in said
        assert 'kind = "dwrr"' not in said


@pytest.mark.parametrize("lossless", ["", "3"])
def test_two_writers_into_one_port_with_and_without_pfc(lossless: str) -> None:
    scenario = star(
        3,
        f'[switch]\nlossless = [{lossless}]\nlossy_queue = "200KB"',
        '[host]\nretransmit_timeout = "4194us"',
        PFC,
        flow("write", "H1..H2", "H0", record=True),
        rate="25Gbps",
        delay="500ns",
        duration="20ms",
    )
    result, run = run_of(scenario)
    got = [row["delivered_bytes"] for row in rows(run, "flows")]
    if lossless:
        half = 25 * PAYLOAD / FRAME / 2
        assert [gbps(it, 20e6) for it in got] == pytest.approx([half, half], rel=0.01)
        assert "shared their link fairly from the start" in sentence(result)
        assert "phase" not in warned(result)
    else:
        # Nobody slows down: every other packet is lost, and what follows a loss is sent again.
        assert port(run, "S0", "H0")["dropped_packets"] > 20_000
        assert max(got) > 20 * min(got)
        assert "did not converge to fair shares" in sentence(result)


def one_burst(duration: str, lossless: list[int]) -> str:
    return scenarios.scenario(
        explicit(["in", "out"], ["S0"], "in-S0", link("out-S0", rate="10Gbps"), delay="500ns"),
        scheme("RoCE"),
        burst("burst", "in", "out", size="1MB"),
        duration=duration,
        switch={"lossless": lossless, "lossy_queue": "300KB"},
        host={"retransmit_timeout": "1s"},
    )


def test_what_a_burst_loses_at_a_slower_port() -> None:
    # 1000 frames come in 83.84 us, in which 10 Gb/s send 100 of them and 300 KB wait. The first gap
    # reaches the receiver behind 240 us of queue: at 200 us nothing has been sent again.
    _, run = run_of(one_burst("200us", lossless=[]))
    lost = 1_000 - 100 - 300_000 / FRAME
    assert port(run, "S0", "out")["dropped_packets"] == pytest.approx(lost, abs=2)
    # With PFC all of them pass at 10 Gb/s: 1000 x 838.4 ns, the first over 100 Gb/s, two links.
    result, run = run_of(one_burst("2ms", lossless=[3]))
    [done] = rows(run, "flows")
    assert done["fct_ns"] == pytest.approx(1_000 * 838.4 + 83.84 + 2 * 500)
    assert "dropped" not in sentence(result)


def test_a_lossy_class_takes_what_a_lossless_one_leaves() -> None:
    # DWRR 1:1 is a guarantee on demand: DCQCN asks for less than its half, TCP takes the rest.
    dcqcn = '[scheme.dcqcn]\nkmin = "150000B"\nkmax = "1501500B"\npmax = 1'
    scenario = star(
        9,
        "[host]\ncontrol_priority = 6",
        '[switch]\nlossy_queue = "2MB"',
        '[switch.scheduler]\nkind = "dwrr"\nweights = { 0 = 1, 3 = 1 }',
        f'{PFC}\ncongestion_control = "dcqcn"\ntcp = "cubic"\n{dcqcn}',
        flow("storage", "H1..H4", "H0", priority=3),
        flow("tcp", "H5..H8", "H0", priority=0, transport="tcp"),
        delay="500ns",
        duration="20ms",
    )
    _, run = run_of(scenario)
    roce, tcp = (port(run, "S0", "H0", priority)["tx_bytes"] for priority in (3, 0))
    assert gbps(roce + tcp, 20e6) == pytest.approx(100, rel=0.03)
    assert gbps(roce, 20e6) < 45
    assert gbps(tcp, 20e6) > 55
    assert port(run, "S0", "H0", 3)["dropped_packets"] == 0


def test_how_long_eight_targets_take_to_answer_one_initiator() -> None:
    links = [link("H0-S0", rate="25Gbps"), *(f"H{host}-S0" for host in range(1, 9))]
    scenario = scenarios.scenario(
        explicit("H0..H8", ["S0"], *links, delay="500ns"),
        PFC,
        burst("read", "H1..H8", "H0", size="128KB"),
        flow("bystander", "H2", "H3"),
        duration="2ms",
    )
    result, run = run_of(scenario)
    # 8 x 128 frames at 25 Gb/s: 343.4 us; two links and the first frame of 100 Gb/s come before.
    last = max(row["fct_ns"] for row in rows(run, "flows", traffic="read"))
    assert last == pytest.approx(8 * 128 * FRAME * 8 / 25 + 1_000 + 84, rel=0.005)
    # No ingress holds more than its own 128 frames: nobody is paused, and the bystander has all of
    # its link that these leave.
    assert "no PAUSE" in sentence(result)
    [beside] = rows(run, "flows", traffic="bystander")
    sent = 128 * FRAME + beside["delivered_bytes"] * FRAME / PAYLOAD
    assert gbps(sent, 2e6) == pytest.approx(100, rel=0.01)


def test_a_lossless_incast_beside_a_longer_lossy_queue() -> None:
    scenario = star(
        8,
        '[switch]\nlossy_queue = "2MB"',
        '[pfc]\nxoff = "100KB"',
        PFC,
        flow("lossy", "H3..H5", "H1", priority=0),
        flow("lossless", "H6..H7", "H0"),
        duration="2ms",
    )
    result, run = run_of(scenario)
    assert (
        port(run, "S0", "H1", 0)["max_queue_bytes"] > 9 * port(run, "S0", "H0")["max_queue_bytes"]
    )
    said = told(result, run)
    assert "Incast at S0->H0" in said
    assert "Incast at S0->H1" not in said
    assert "0 victim flows" in said
    assert "no victim" in sentence(result)
    assert "S0->H0 was 100 % utilised" in sentence(result)


def test_a_slow_receiver_and_what_is_left_to_a_flow_beside_it() -> None:
    links = ["A-S0", "B-S0", "S0-S1", link("slow-S1", rate="25Gbps"), "fast-S1"]
    scenario = scenarios.scenario(
        explicit(["A", "B", "slow", "fast"], ["S0", "S1"], *links, delay="500ns"),
        PFC,
        flow("to-slow", "A", "slow"),
        flow("to-fast", "B", "fast"),
        duration="10ms",
        probes=CAUSES,
    )
    result, run = run_of(scenario)
    # A and B take turns at S0->S1: to-fast gets as much as to-slow, 25 Gb/s where 75 are left.
    for name in ("to-slow", "to-fast"):
        [row] = rows(run, "flows", traffic=name)
        assert gbps(row["delivered_bytes"], 10e6) == pytest.approx(25 * PAYLOAD / FRAME, rel=0.03)
    assert "1 victim flow: to-fast (B -> fast)" in sentence(result)
    assert "to-fast, which does not use that link, averaged 24" in sentence(result)
    said = told(result, run)
    assert "Slow link S1->slow" in said
    assert "1 victim: to-fast (B -> fast)" in said


def test_a_lossy_queue_that_takes_the_memory_of_a_lossless_one() -> None:
    scenario = star(
        8,
        '[switch]\nbuffer = "2MB"\nlossy_queue = "2MB"',
        '[host]\nretransmit_timeout = "500us"',
        '[pfc]\nheadroom = "20KB"\ndynamic_shift = 0',
        PFC,
        flow("lossy", "H3..H5", "H1", priority=0),
        flow("lossless", "H6..H7", "H0", start="500us"),
        duration="2ms",
    )
    result, run = run_of(scenario)
    # 2 MB less headroom of 8 ports are 1.84 MB: the lossy queue leaves a threshold of a few frames.
    assert port(run, "S0", "H1", 0)["max_queue_bytes"] == pytest.approx(1_840_000, rel=0.01)
    for host in ("H6", "H7"):
        row = port(run, "S0", host)
        assert row["max_ingress_bytes"] < 10_000
        assert row["pause_events"] > 500
    said = told(result, run)
    assert "Shared buffer taken at S0->H1" in said
    assert "lossy priority 0 held 1.8" in said
    for tree in account.trees(run):
        assert "other priorities" not in advised(result, run, tree)


@pytest.mark.parametrize(
    ("rate", "taken", "keys"),
    [
        (400, 313, ""),
        (100, 50, '[host]\npayload = "9000B"'),
        (100, 50, '[host]\npayload = "9000B"\n[slow_receiver]\nxon = "196KB"'),
    ],
)
def test_paused_and_carried_are_all_of_the_time(rate: int, taken: int, keys: str) -> None:
    """A NIC takes a part of what its link brings; the sender always has something for it."""
    receiver = f'[slow_receiver]\nhosts = "H0"\ndrain_rate = "{taken}Gbps"\nstart = "0s"'
    head, _, more = keys.partition("[slow_receiver]")
    long = flow("t", "H1", "H0")
    scenario = star(2, head, receiver + more, PFC, long, rate=f"{rate}Gbps", duration="10ms")
    result, run = run_of(scenario)
    out = port(run, "S0", "H0")
    carried = gbps(out["tx_bytes"], 10e6) / rate
    paused = out["paused_ns"] / 10e6
    assert carried == pytest.approx(taken / rate, abs=0.01)
    assert carried + paused == pytest.approx(1, abs=0.01)
    [tree] = [tree for tree in account.trees(run) if tree.root.node == "H0"]
    [stop] = [stop for stop in tree.stops if stop.stopped == "S0"]
    assert stop.paused_ns == pytest.approx(out["paused_ns"], abs=1e-3)
    [told] = [line for line in explain.lines(result, [run], 80, None) if "H0 paused S0" in line]
    assert f", {time(out['paused_ns'])}" in told


def test_a_queue_pair_whose_peer_is_gone_gives_up() -> None:
    # The link of H0 fails at 100 us and stays down. Two retries of 200 us: the third one, 600 us
    # after the last progress, ends the flow. The other flow has a path of its own.
    scenario = star(
        4,
        '[host]\nretransmit_timeout = "200us"\nretry_count = 2',
        '[[event]]\nat = "100us"\nlink = "S0-H0"\nkind = "down"',
        PFC,
        flow("gone", "H1", "H0"),
        flow("other", "H2", "H3"),
        duration="2ms",
    )
    result, run = run_of(scenario)
    [gone] = rows(run, "flows", traffic="gone")
    [other] = rows(run, "flows", traffic="other")
    assert (gone["gave_up"], gone["timeouts"]) == (1, 3)
    assert (other["gave_up"], other["timeouts"]) == (0, 0)
    assert gbps(other["delivered_bytes"], 2e6) == pytest.approx(100 * PAYLOAD / FRAME, rel=0.01)
    said = warned(result)
    gave_up = "1 of 1 flows of traffic `gone` gave up after 3 timeouts in a row, first at 70"
    assert gave_up in said
    assert "were not complete at the end" not in said
