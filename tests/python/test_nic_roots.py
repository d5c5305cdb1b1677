"""PAUSE from one of several NICs of a host, as `unpause explain` reports it."""

from __future__ import annotations

from pathlib import Path

import pytest

import unpause
from scenarios import CAUSES, PFC, explicit, flow, link, scenario
from unpause.commands import explain
from unpause.data.fabric import Fabric
from unpause.explanation import account, advice, causes
from unpause.explanation.trees import Egress

#: H0 sends to H1, which has a NIC at S1 and one at S2, by 16 flows that share them.
SCENARIO = scenario(
    explicit(
        "H0..H1",
        "S0..S2",
        link("H0-S0", rate="100Gbps"),
        "S0-S1",
        "S0-S2",
        "H1-S1",
        "H1-S2",
        rate="10Gbps",
    ),
    PFC,
    pfc={"xoff": "40KB"},
    probes=CAUSES,
)

FLOWS = "".join(
    flow(f"f{number}", "H0", "H1", rate_limit="500Mbps", source_port=1000 + 131 * number)
    for number in range(16)
)


def _storm(keys: str) -> unpause.Result:
    event = f'\n[[event]]\nkind = "pause-storm"\n{keys}\nat = "100us"\nuntil = "600us"\n'
    return unpause.run(SCENARIO + FLOWS + event, progress=False)


@pytest.mark.parametrize("switch", ["S1", "S2"])
def test_a_storm_of_one_nic_is_told_with_its_link(
    switch: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = _storm(f'link = "H1->{switch}"')
    [run] = result.runs_of("PFC")
    [tree] = causes.of_run(run)
    assert (tree.kind, tree.root) == ("nic", Egress("H1", switch))
    assert [(it.pauser, it.stopped) for it in tree.stops] == [("H1", switch)]
    assert account.titles(run, [tree]) == [f"PAUSE from the NIC H1->{switch}"]
    [port] = {(it.node, it.peer) for it in account.roots(Fabric.of(run), [tree])}
    assert port == (switch, "H1")
    # Those that come by the other NIC wait for it, in the queue of their host.
    other = "S1" if switch == "S2" else "S2"
    waited = {it.traffic for it in tree.victims}
    assert 0 < len(waited) < 16
    assert f"look at H1: its NIC H1->{switch} " in advice.of_run(result, run)(tree)

    result.write(tmp_path / "storm")
    assert explain.main([str(tmp_path / "storm")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"PAUSE from the NIC H1->{switch}" in said
    assert f"NIC H1->{other}" not in said


def test_a_storm_of_all_nics_has_a_tree_for_each() -> None:
    [run] = _storm('node = "H1"').runs_of("PFC")
    trees = causes.of_run(run)
    assert {it.root for it in trees} == {Egress("H1", "S1"), Egress("H1", "S2")}
    # A packet comes by either NIC.
    [first, second] = [{it.traffic for it in tree.victims} for tree in trees]
    assert not first & second


def test_bytes_that_a_slow_nic_holds_are_told_by_entry() -> None:
    slow = '\n[slow_receiver]\nhosts = "H1"\ndrain_rate = "1Gbps"\nxoff = "20KB"\n'
    [run] = unpause.run(SCENARIO + FLOWS + slow, progress=False).runs_of("PFC")
    trees = causes.of_run(run)
    assert {it.root for it in trees} == {Egress("H1", "S1"), Egress("H1", "S2")}
    [first, second] = [{it.traffic for it in tree.culprits} for tree in trees]
    assert first
    assert second
    assert not first & second
    assert all(sum(it.share for it in tree.culprits) > 0.5 for tree in trees)


SENT = 'sent PAUSE without need ([[event]] kind = "pause-storm")'
SLOW = '\n[slow_receiver]\nhosts = "H1"\ndrain_rate = "1Gbps"\nxoff = "20KB"\n'
STORM = '\n[[event]]\nkind = "pause-storm"\nnode = "H1"\nat = "100us"\nuntil = "{}"\n'
#: So long a pause time that no watchdog is proposed.
LONG = SCENARIO.replace("[pfc]", '[pfc]\npause_time = "500us"')


def _advised(whole: str) -> set[str]:
    """The advice about trees of NICs, without their names."""
    result = unpause.run(whole, progress=False)
    [run] = result.runs_of("PFC")
    trees = [it for it in causes.of_run(run) if it.kind == "nic"]
    of_tree = advice.of_run(result, run)
    return {of_tree(it).replace(str(it.root), "NIC") for it in trees}


@pytest.mark.parametrize("place", ['link = "H1->S1"', 'node = "H1"'])
def test_a_nic_with_a_storm_is_not_called_slow(place: str) -> None:
    event = STORM.format("600us").replace('node = "H1"', place)
    said = f"look at H1: its NIC NIC {SENT}, while it accepted packets at the rate of its link"
    assert _advised(LONG + FLOWS + event) == {said}


def test_a_storm_without_end_lasts_for_the_run() -> None:
    event = STORM.replace('until = "{}"\n', "")
    assert all(SENT in it for it in _advised(LONG + FLOWS + event))


def test_a_slow_nic_is_not_reported_as_a_storm() -> None:
    other = STORM.format("110us").replace("H1", "H0")
    for event in ("", other):
        said = _advised(LONG + FLOWS + SLOW + event)
        assert "look at H1: its NIC NIC accepts less than its link delivers" in said
        assert not any(SENT in it for it in said if "H1" in it)
