"""Storms that PFC watchdogs find, as `unpause explain` reports them."""

from __future__ import annotations

from pathlib import Path

import pytest

import unpause
from scenarios import CAUSES, flow, scenario, scheme, two_switch
from unpause.commands import explain
from unpause.explanation import causes
from unpause.explanation.advice import of_run

#: The NIC of H2 takes nothing from 100 us to 500 us. H0 and H1 send to it, and to H3.
SCENARIO = scenario(
    two_switch("H0..H1", "H2..H3", rate="10Gbps"),
    scheme("no watchdog"),
    scheme(
        "at hosts",
        set={
            "switch.watchdog.ports": "hosts",
            "switch.watchdog.detection_time": "100us",
            "switch.watchdog.restoration_time": "100us",
            "switch.watchdog.poll_interval": "50us",
        },
    ),
    flow("t", "H0..H1", ["H2", "H3"]),
    host={"retransmit_timeout": "300us"},
    slow_receiver={"hosts": "H2", "start": "100us", "stop": "500us", "xoff": "20KB"},
    pfc={"pause_time": "20us", "xoff": "40KB"},
    probes=CAUSES,
)


def test_a_storm_is_told_with_its_victims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = unpause.run(SCENARIO, progress=False)
    [row] = result.storms.to_pylist()
    assert (row["scheme"], row["node"], row["peer"]) == ("at hosts", "S1", "H2")
    assert row["action"] == "drop"
    assert 100_000 <= row["detected_ns"] - row["began_ns"] <= 150_000
    assert 600_000 <= row["restored_ns"] <= 700_000
    dropped = {it["scheme"]: it["dropped_packets"] for it in result.runs.to_pylist()}
    assert dropped == {"no watchdog": 0, "at hosts": row["dropped_data_packets"]}

    def last_wait(scheme: str) -> float:
        rows = result.victims.to_pylist()
        return max(
            it["last_ns"] for it in rows if it["scheme"] == scheme and it["root_node"] == "H2"
        )

    # Those beside it wait until the NIC takes packets again, or the watchdog acts and queues drain.
    assert last_wait("no watchdog") > 500_000
    assert row["detected_ns"] <= last_wait("at hosts") < row["detected_ns"] + 100_000

    result.write(tmp_path / "storm")

    def said(*more: str) -> str:
        assert explain.main([str(tmp_path / "storm"), *more]) == 0
        return " ".join(capsys.readouterr().out.split())

    until = f"{last_wait('at hosts') / 1e3:.0f} us"
    assert (
        f"PFC storm from H2: S1->H2, priority 3, was paused from 134 us. The watchdog "
        f"detected it at 250 us and dropped {row['dropped_packets']:,} packets until 650 us. 2 "
        f"victim flows waited for H2, the last one until {until}."
    ) in said("--scheme", "at hosts")
    # Under a scheme stand its own storms.
    first = said()
    assert first.startswith("no watchdog (seed 1): ")
    assert "PFC storm" not in first
    assert "Storms under other schemes: at hosts (1); --scheme shows them." in first


def advice(source: str, scheme: str) -> str:
    """Advice about the tree whose root is the NIC of H2, in a run of `source`."""
    result = unpause.run(source, progress=False)
    run = result.runs_of(scheme)[0]
    [tree] = [it for it in causes.of_run(run) if it.root.node == "H2" and it.kind == "nic"]
    return of_run(result, run)(tree)


def test_a_storm_without_a_watchdog_is_told_with_what_to_add() -> None:
    said = advice(SCENARIO, "no watchdog")
    assert said.startswith("look at H2: its NIC paused priority 3 for 3")
    assert "without a break" in said
    assert '[switch.watchdog] ports = "hosts"' in said
    assert 'poll_interval = "20us", detection_time = "20us"' in said
    # It helps when it is followed: those who do not send to H2 wait less.
    result = unpause.run(SCENARIO, progress=False)
    waited = {
        scheme: sum(
            it["waited_ns"]
            for it in result.victims.to_pylist()
            if it["scheme"] == scheme and it["root_node"] == "H2"
        )
        for scheme in result.schemes
    }
    assert waited["at hosts"] < waited["no watchdog"] / 1.5


def test_no_watchdog_is_proposed_where_there_is_one() -> None:
    assert "watchdog" not in advice(SCENARIO, "at hosts")


def test_no_watchdog_is_proposed_for_a_short_storm() -> None:
    short = SCENARIO.replace('stop = "500us"', 'stop = "190us"')
    assert short != SCENARIO
    said = advice(short, "no watchdog")
    assert said == "look at H2: its NIC accepts less than its link delivers"


def test_no_watchdog_is_proposed_for_a_nic_that_is_slow() -> None:
    slow = SCENARIO.replace('stop = "500us"', 'drain_rate = "2Gbps"')
    assert slow != SCENARIO
    assert "watchdog" not in advice(slow, "no watchdog")


def test_no_watchdog_is_proposed_for_congestion() -> None:
    begin, end = SCENARIO.index("[slow_receiver]"), SCENARIO.index("[pfc]")
    result = unpause.run(SCENARIO[:begin] + SCENARIO[end:], progress=False)
    run = result.runs_of("no watchdog")[0]
    trees = causes.of_run(run)
    assert trees
    for tree in trees:
        assert "watchdog" not in of_run(result, run)(tree)
