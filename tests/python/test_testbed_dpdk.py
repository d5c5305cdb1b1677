"""Input and verdicts of `make testbed-dpdk`; the programs themselves need root and DPDK."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import unpause

FOLDER = Path(__file__).parents[2] / "testbed/dpdk"
sys.path.insert(0, str(FOLDER))

import compare  # noqa: E402
import run  # noqa: E402
from scenario import Scenario  # noqa: E402

BURST, CHAIN = FOLDER / "burst.toml", FOLDER / "chain.toml"


def told(file: Path) -> dict[str, list[str]]:
    return run.commands(Scenario.read(file), Path("bin"), Path("out"), stamps=False, marking=[])


def test_programs_are_told_what_the_file_says() -> None:
    nodes = told(BURST)
    assert list(nodes) == ["S0", "H0", "H1", "H2"]
    wanted = {"--rate=200000000", "--delay=6250000000", "--xoff=512000", "--no-stamps"}
    assert wanted <= set(nodes["S0"])
    assert "--flow=3:500000000:40000" in nodes["H1"]
    assert "--notification-point=pcn:period=25000000000" in nodes["H2"]
    assert not any(it.startswith("--flow") for it in nodes["H2"])
    unpause.validate(BURST)


def test_two_switches_know_the_way() -> None:
    nodes = told(CHAIN)
    routes = {
        node: [int(it.removeprefix("--route=")) for it in nodes[node] if "--route" in it]
        for node in ("S0", "S1")
    }
    # Hosts H0, H1, R0, R1, B; ports in the order of the topology.
    assert routes == {"S0": [0, 1, 2, 2, 2], "S1": [0, 0, 1, 2, 3]}
    links = Scenario.read(CHAIN).fabric.links()
    assert len(links) == 6
    assert ("S0", "port2", "S1", "port0") in links
    unpause.validate(CHAIN)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('builder = "single-switch"', 'builder = "dumbbell"', "is expected"),
        ('congestion_control = "pcn"', 'congestion_control = "timely"', "one scheme of PCN"),
        ('header = "62B"', 'header = "48B"', "header 62B"),
        ('delay = "6.25ms"', 'delay = "6.25min"', "expected a number and one of"),
    ],
)
def test_what_the_programs_cannot_do_is_refused(
    tmp_path: Path, was: str, now: str, said: str
) -> None:
    text = BURST.read_text("utf-8")
    assert was in text
    file = tmp_path / "other.toml"
    file.write_text(text.replace(was, now), "utf-8")
    with pytest.raises(SystemExit, match=said):
        Scenario.read(file)


def seen() -> compare.Seen:
    """A run in which both flows do what they should."""
    time = np.arange(0.05, 8, 0.025)
    cnps = compare.Cnps(time, time < 4, np.full(len(time), 100_000))
    rate = (time, np.where(time < 4.1, 1e8, 2e8))
    arrivals = np.arange(0.5, 4, 86.56e-6)
    return compare.Seen(
        {0: arrivals, 1: arrivals + 43.28e-6},
        {0: cnps, 1: cnps},
        1_230_858,
        64_151,
        2,
        {0: rate, 1: rate},
    )


def test_the_same_is_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Scenario.read(BURST)
    assert compare.table(scenario, seen(), [seen()]) == 0
    assert compare.same(scenario, seen(), seen())
    assert "BEYOND" not in capsys.readouterr().out


def test_what_is_beyond_its_tolerance_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = Scenario.read(BURST)
    other = replace(seen(), peak_bytes=1_400_000, pauses=5)
    assert compare.table(scenario, other, [seen()]) == 2
    beyond = [line for line in capsys.readouterr().out.splitlines() if "BEYOND" in line]
    assert [line.split(",")[0].split("  ")[0] for line in beyond] == [
        "longest queue",
        "PAUSE frames",
    ]


def test_one_other_cnp_or_packet_is_seen() -> None:
    scenario = Scenario.read(BURST)
    for change in ("rate", "time", "arrival", "lost"):
        other = seen()
        if change == "rate":
            other.cnps[1].rec_rate[7] += 1
        elif change == "time":
            other.cnps[0].time_s[7] += 1e-12
        elif change == "arrival":
            other.arrivals_s[1][-1] += 1e-12
        else:
            other.arrivals_s[0] = np.delete(other.arrivals_s[0], 5)
        assert not compare.same(scenario, other, seen()), change
