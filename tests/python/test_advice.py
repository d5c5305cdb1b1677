"""Advice about congestion trees has read the scenario, and helps when it is followed."""

from __future__ import annotations

from typing import Any

import pytest

import scenarios
import unpause
from scenarios import CAUSES, PFC, entry, explicit, flow, leaf_spine, link, scheme
from unpause.data.result import Result
from unpause.explanation import advice, causes, equal_links
from unpause.explanation.trees import Tree
from unpause.text import size


def single_switch(hosts: int, *parts: str, **settings: Any) -> str:
    ended = (f"{part}\n" for part in parts)
    return scenarios.star(hosts, *ended, probes=CAUSES, **settings)


TWO = flow("two", "H1..H2", "H0")


def told(source: str) -> tuple[Result, str, Tree]:
    """The result, the advice about its worst tree, and that tree."""
    result = unpause.run(source, progress=False)
    run = result.runs_of(result.schemes[0])[0]
    worst = causes.of_run(run)[0]
    return result, advice.of_run(result, run)(worst), worst


def harm(source: str) -> tuple[int, int]:
    """PAUSEs that were sent, and frames that were dropped."""
    runs = unpause.run(source, progress=False).runs.to_pylist()
    return runs[0]["pause_frames"], runs[0]["dropped_packets"]


def test_headroom_is_named_where_it_is_set() -> None:
    small = single_switch(3, '[pfc]\nxoff = "100KB"\nheadroom = "2KB"', PFC, TWO)
    _, text, tree = told(small)
    assert tree.lost
    assert text.startswith("[pfc] headroom (2KB) is too small: set pfc.headroom to ")
    assert harm(small)[1] > 0
    assert harm(small.replace('headroom = "2KB"', ""))[1] == 0


def test_headroom_that_a_scheme_sets_by_rate_is_named() -> None:
    by_rate = scheme("PFC", set={"pfc.headroom": {"100Gbps": "2KB"}})
    _, text, _ = told(single_switch(3, '[pfc]\nxoff = "100KB"', by_rate, TWO))
    assert text.startswith("[pfc] headroom (100Gbps: 2KB) is too small")


def test_headroom_by_delays_is_named() -> None:
    delays = '[pfc]\nxoff = "100KB"\nheadroom_delays = 1'
    _, text, _ = told(single_switch(3, delays, PFC, TWO))
    assert text.startswith("[pfc] headroom_delays (1) is too small")


def test_without_losses_headroom_is_not_spoken_of() -> None:
    _, text, tree = told(single_switch(3, '[pfc]\nxoff = "100KB"', PFC, TWO))
    assert not tree.lost
    assert "headroom" not in text
    assert text.startswith("add a congestion_control")


def test_a_congestion_control_helps() -> None:
    alone = single_switch(3, '[pfc]\nxoff = "100KB"', PFC, TWO, duration="3ms")
    followed = alone.replace(PFC, scheme("PFC", "dcqcn"))
    assert harm(followed)[0] < harm(alone)[0] / 2


MARKED = scheme("PFC", marking="red") + '\n[scheme.red]\nkmin = "100KB"\nkmax = "400KB"\npmax = 0.2'


def test_marks_that_nobody_answers() -> None:
    source = single_switch(9, MARKED, flow("incast", "H1..H8", "H0"), duration="2ms")
    result, text, _ = told(source)
    assert result.runs.to_pylist()[0]["marked_packets"] > 0
    assert "no sender reacts to marks" in text
    own = '\n[scheme.dcqcn]\nkmin = "100KB"\nkmax = "400KB"\npmax = 0.2'
    followed = source.replace(MARKED, scheme("PFC", "dcqcn") + own)
    assert harm(followed)[0] < harm(source)[0]


def with_kmin(kmin: str, kmax: str) -> str:
    law = scheme("PFC", "dcqcn")
    table = f'[scheme.dcqcn]\nkmin = "{kmin}"\nkmax = "{kmax}"\npmax = 0.2'
    return single_switch(3, '[pfc]\nxoff = "100KB"', law, table, TWO, duration="2ms")


def test_marking_that_begins_beyond_pause() -> None:
    _, text, tree = told(with_kmin("1MB", "4MB"))
    assert text.startswith("dcqcn did not act: PAUSE held 2 ingress ports")
    assert "kmin = 1.00 MB; lower kmin below 200 KB" in text
    assert 200_000 <= tree.queue_bytes < 202_000
    assert harm(with_kmin("50KB", "100KB"))[0] < harm(with_kmin("1MB", "4MB"))[0]


def test_marking_that_acts_is_not_called_out_of_reach() -> None:
    _, text, _ = told(with_kmin("190KB", "400KB"))
    assert "no part" not in text
    assert "faster than dcqcn could slow them" in text


def overload(scheduler: str, low: str = "60Gbps") -> str:
    flows = [
        flow("low", "H1", "H0", priority=3, rate_limit=low),
        flow("high", "H2", "H0", priority=4, rate_limit="80Gbps"),
    ]
    return single_switch(
        3, f"[switch]\nlossless = [3, 4]\n{scheduler}", '[pfc]\nxoff = "50KB"', PFC, *flows
    )


DWRR = '[switch.scheduler]\nkind = "dwrr"\nweights = { 3 = 1, 4 = 1 }'


def advice_of_priority(source: str, priority: int) -> str:
    result = unpause.run(source, progress=False)
    run = result.runs_of("PFC")[0]
    tree = next(it for it in causes.of_run(run) if it.priority == priority)
    return advice.of_run(result, run)(tree)


def test_turns_are_advised_where_priorities_are_strict() -> None:
    text = advice_of_priority(overload(""), 3)
    assert text.startswith("priority 4 filled S0->H0, where priorities are served strictly")


def test_turns_that_are_there_are_not_advised() -> None:
    text = advice_of_priority(overload(DWRR, "40Gbps"), 4)
    assert "priorities 3 and 4 together demand more than S0->H0 carries" in text
    assert "raise the share of priority 4 (weights of [switch.scheduler], now 1)" in text


def test_no_share_is_advised_that_stops_the_other_priority() -> None:
    """Both have more than their half: whose share is raised, the other has less."""
    for one, other in ((3, 4), (4, 3)):
        text = advice_of_priority(overload(DWRR), one)
        assert "priorities 3 and 4 together demand more than S0->H0 carries" in text
        assert f"PAUSE stopped the senders of priority {other} as well" in text
        assert text.endswith("only changes who is stopped; send less")


POOL = single_switch(
    8,
    '[switch]\nlossless = [3]\nbuffer = "2MB"\nlossy_queue = "2MB"',
    '[pfc]\nheadroom = "20KB"\ndynamic_shift = 0',
    PFC,
    flow("lossy", "H3..H5", "H1", priority=0),
    flow("lossless", "H6..H7", "H0", priority=3, start="500us"),
    duration="2ms",
)


def test_a_lossy_queue_that_took_the_pool() -> None:
    _, text, _ = told(POOL)
    assert "dynamic threshold fell because lossy priority 0 held 1.8" in text
    assert "at S0->H1: lower [switch] lossy_queue (2MB)" in text
    assert harm(POOL.replace('lossy_queue = "2MB"', 'lossy_queue = "200KB"'))[0] < harm(POOL)[0]


def test_alpha_is_a_dynamic_threshold() -> None:
    """It is another way to write `dynamic_shift`."""
    with_alpha = POOL.replace("dynamic_shift = 0", 'alpha = "1"')
    assert harm(with_alpha) == harm(POOL)
    assert told(with_alpha)[1] == told(POOL)[1]
    # Without a lossy queue nothing else is advised than a key that may stand beside it.
    quick = scheme("PFC", "dcqcn")
    table = '[scheme.dcqcn]\nkmin = "5KB"\nkmax = "200KB"\npmax = 0.01'
    burst = flow("five", "H1..H5", "H0", size="300KB")
    part = 'buffer = "1MB"\n[pfc]\nalpha = "1/8"'
    _, text, _ = told(single_switch(6, f"[switch]\n{part}", quick, table, burst))
    assert "faster than dcqcn could slow them" in text
    assert "xoff" not in text


@pytest.mark.parametrize("law", ["dcqcn", "none"])
def test_udp_obeys_no_congestion_control(law: str) -> None:
    burst = flow("five", "H1..H5", "H0", size="100KB", transport="udp")
    pfc = '[pfc]\nxoff = "50KB"'
    source = single_switch(6, pfc, scheme("PFC", law), burst)
    _, text, _ = told(source)
    assert text.startswith("five (100 % of the queue) is UDP, which obeys no congestion control")
    assert "add a" not in text
    limited = source.replace('"udp"', '"udp"\nrate_limit = "20Gbps"')
    assert harm(limited)[0] < harm(source)[0]


def test_a_dynamic_threshold_without_a_lossy_queue() -> None:
    quiet = POOL.replace("H3..H5", "H3")
    _, text, _ = told(quiet)
    assert "lossy" not in text


def two_paths(seed: int) -> str:
    return scenarios.scenario(
        leaf_spine(2, 2, 2),
        PFC,
        flow("pair", "H0", "H2"),
        flow("other", "H1", "H3"),
        seed=seed,
        duration="500us",
        probes=CAUSES,
        pfc={"xoff": "50KB"},
    )


def test_flows_hashed_onto_one_of_two_links() -> None:
    pauses = {seed: harm(two_paths(seed))[0] for seed in range(1, 9)}
    collided = next(seed for seed, number in pauses.items() if number)
    assert 0 in pauses.values(), "another seed helps"
    _, text, tree = told(two_paths(collided))
    assert text.startswith(f"{tree.root} is one of 2 equal links")
    assert "congestion_control" not in text


def test_an_only_link_is_not_one_of_several() -> None:
    source = single_switch(3, '[pfc]\nxoff = "100KB"', PFC, TWO)
    _, text, _ = told(source)
    assert "equal links" not in text


def two_nics(
    port: int, *links: Any, senders: str = "H1..H3", switches: str = "S0..S1", **settings: Any
) -> str:
    """Senders at both switches, or as in `links`; H0 has a NIC at each."""
    both = [f"H{host}-S{switch}" for host in range(4) for switch in range(2)]
    return scenarios.scenario(
        explicit("H0..H3", switches, *(links or both)),
        PFC,
        flow("three", senders, "H0", source_port=port),
        duration="300us",
        probes=CAUSES,
        host={"spraying": "none"},
        pfc={"xoff": "50KB"},
        **settings,
    )


def used(source: str) -> list[int]:
    """Bytes that went to H0 over each of its NICs, the busiest first."""
    ports = unpause.run(source, progress=False).ports.to_pylist()
    return sorted((it["tx_bytes"] for it in ports if it["peer"] == "H0"), reverse=True)


@pytest.fixture(scope="module")
def alone() -> int:
    """A source port with which the hash puts all three flows on one NIC of H0."""
    return next(port for port in range(64) if sum(map(bool, used(two_nics(port)))) == 1)


def test_flows_hashed_onto_one_of_two_nics(alone: int) -> None:
    source = two_nics(alone)
    result, text, tree = told(source)
    carried = sum(it["tx_bytes"] for it in result.ports.to_pylist() if it["peer"] == "H0")
    other = {"S0": "S1", "S1": "S0"}[tree.root.node]
    assert text == (
        f"{tree.root} carried {size(carried)} of data, and H0's other NIC at {other} nothing: "
        "the hash put none of these flows there; give them other source ports (source_port of "
        "[[traffic]]), or split each into several flows"
    )
    # Followed, both carry something, and together more.
    followed = next(found for port in range(64) if all(found := used(two_nics(port))[:2]))
    assert sum(followed) > 1.5 * carried


def test_nics_that_are_used_are_not_called_idle() -> None:
    both = next(port for port in range(64) if len([it for it in used(two_nics(port)) if it]) == 2)
    _, text, tree = told(two_nics(both))
    assert tree.root.peer == "H0"
    assert "NIC" not in text


def test_an_only_nic_has_no_other() -> None:
    _, text, tree = told(two_nics(0, "H0-S0", "H1-S0", "H2-S0", "H3-S0", "H3-S1"))
    assert tree.root == ("S0", "H0")
    assert "NIC" not in text


def test_a_nic_that_is_farther_away_is_not_advised() -> None:
    _, text, tree = told(two_nics(0, "H0-S0", "H0-S1", "S0-S1", "H1-S0", "H2-S0", "H3-S0"))
    assert tree.root == ("S0", "H0")
    assert "NIC" not in text


def test_no_hash_is_blamed_for_a_nic_that_flowlets_missed() -> None:
    """S2 chooses between H0's NICs, by the hash unless it balances."""
    links = ["H0-S0", "H0-S1"]
    links += [link(f"{end}-S2", rate="400Gbps") for end in ("S0", "S1", "H1", "H2", "H3")]
    for switch, is_hashed in (({}, True), ({"balancing": "flowlet"}, False)):
        keys = {"senders": "H1..H2", "switches": "S0..S2", "switch": switch}
        sources = (two_nics(0, *links, seed=seed, **keys) for seed in range(1, 33))
        texts = [told(it)[1] for it in sources if sum(map(bool, used(it))) == 1]
        assert texts
        assert all(("H0's other NIC" in text) == is_hashed for text in texts)


@pytest.mark.parametrize(("hosts", "found"), [("H0..H3", {"S0"}), ("H0..H2", {"S0", "S1"})])
def test_hosts_are_no_path_to_another_nic(hosts: str, found: set[str]) -> None:
    """H3 is at two switches, but forwards only if it is a switch."""
    links = ["H0-S0", "H0-S1", "S0-S3", "S3-S2", "H1-S2", "H2-S2", "H3-S2", "H3-S1"]
    tables = [dict(zip("ab", link.split("-"), strict=True)) for link in links]
    topology = {"builder": "explicit", "hosts": hosts, "link": tables}
    assert set(equal_links.nics(topology, "S0", "H0", ["H1", "H2"])) == found


def test_several_links_to_a_switch_are_several_nics() -> None:
    links = ("H1-S0", "H2-S0", "H3-S1", "S0-S1")

    def at(port: int) -> str:
        return two_nics(port, link("H0-S0", parallel=3), *links)

    once = next(port for port in range(64) if sum(map(bool, used(at(port)))) == 1)
    _, text, _ = told(at(once))
    assert "H0's 2 other NICs nothing: the hash put none" in text
    assert "NIC" not in told(two_nics(once, "H0-S0", *links))[1]


def rails(seed: int, tors: int, traffic: str) -> str:
    topology = {"builder": "rails", "servers": 4, "gpus_per_server": 1, "tors": tors}
    return scenarios.scenario(
        {**topology, "rate": "100Gbps", "delay": "1us"},
        PFC,
        traffic,
        seed=seed,
        duration="300us",
        probes=CAUSES,
        pfc={"xoff": "50KB"},
    )


def test_the_other_leaf_of_a_gpu() -> None:
    three = flow("three", "H1..H3", "H0")
    seed = next(it for it in range(1, 64) if sum(map(bool, used(rails(it, 2, three)))) == 1)
    _, text, tree = told(rails(seed, 2, three))
    other = {"leaf0": "leaf1", "leaf1": "leaf0"}[tree.root.node]
    assert f"and H0's other NIC at {other} nothing" in text
    _, text, _ = told(rails(seed, 1, three))
    assert "NIC" not in text


def test_a_job_with_an_idle_nic_is_advised_channels() -> None:
    job = entry("job", name="moe", ranks=4, collective="all-to-all", size="8MB")
    every = (rails(seed, 2, job) for seed in range(1, 64))
    text = next(text for it in every if "NIC" in (text := told(it)[1]))
    assert text.endswith("none of these flows there; give the job more connections (channels of "
                         "[[job]])")  # fmt: skip


def test_flows_without_control() -> None:
    free = flow("free", "H1..H2", "H0", controlled=False)
    law = scheme("PFC", "dcqcn")
    source = single_switch(3, '[pfc]\nxoff = "100KB"', law, free, TWO.replace("H0", "H2"))
    source = source.replace('H1..H2"\nto = "H2', 'H0"\nto = "H2')
    _, text, _ = told(source)
    assert text.startswith("free (100 % of the queue) does not obey dcqcn")
    assert harm(source.replace("controlled = false", ""))[0] < harm(source)[0]


@pytest.mark.parametrize("law", [None, "dcqcn"])
def test_a_slow_link_is_advised_no_control_that_is_there(law: str | None) -> None:
    source = scenarios.scenario(
        explicit(["A", "B"], ["S0"], "A-S0", link("B-S0", rate="50Gbps")),
        scheme("PFC", law),
        flow("t", "A", "B"),
        duration="300us",
        probes=CAUSES,
        pfc={"xoff": "20KB"},
    )
    _, text, tree = told(source)
    assert tree.kind == "slow-link"
    assert "limit its rate to 50 Gb/s (rate_limit" in text
    assert ("congestion_control" in text) == (not law)
    limited = source + 'rate_limit = "50Gbps"'
    assert harm(limited)[0] == 0


@pytest.mark.parametrize(
    ("senders", "rate", "blamed"),
    [("H1..H4", "99Gbps", False), ("H1..H4", "50Gbps", True), ("H1", "95Gbps", True)],
)
def test_a_link_that_is_hardly_slower_is_not_why_an_incast_paused(
    senders: str, rate: str, blamed: bool
) -> None:
    slower = entry("event", kind="rate", link="S0->H0", rate=rate, at="100us")
    sent = flow("f", senders, "H0", size="3MB")
    text = told(single_switch(5, '[pfc]\nxoff = "64KB"', PFC, sent, slower))[1]
    assert (f"S0->H0 ran at {rate[:-4]} Gb/s of its 100 Gb/s: repair the link" in text) == blamed


def test_a_failed_link_is_to_be_repaired_and_no_congestion_control_is_advised() -> None:
    """Without S0-S1 what it carried goes over S2, beside another flow."""
    links = ["H0-S0", "H1-S0", "H2-S1", "H3-S2", "S0-S1", "S0-S2", "S2-S1"]
    fabric = explicit(["H0", "H1", "H2", "H3"], ["S0", "S1", "S2"], *links)
    flows = flow("a", "H0", "H2") + flow("b", "H1", "H3")
    down = entry("event", at="100us", kind="down", link="S0-S1")
    intact = scenarios.scenario(fabric, PFC, flows, probes=CAUSES)
    source = scenarios.scenario(fabric, PFC, flows, down, probes=CAUSES)
    _, text, tree = told(source)
    assert str(tree.root) == "S0->S2"
    assert text.startswith("repair S0-S1, down since 100 us: ")
    assert "add a congestion_control" not in text
    assert harm(source)[0] > 0
    assert harm(intact)[0] == 0
