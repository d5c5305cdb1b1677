"""What `make testbed-dpdk` reads and how it judges; the programs themselves need root and DPDK."""

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

SCENARIO = FOLDER / "burst.toml"


def test_programs_are_told_what_the_file_says() -> None:
    scenario = run.Scenario.read(SCENARIO)
    nodes = run.commands(scenario, Path("bin"), Path("out"), stamps=False, marking=[])
    assert list(nodes) == ["S0", "H0", "H1", "H2"]
    assert {"--rate=200000000", "--delay=6250000000", "--xoff=512000", "--no-stamps"} <= set(
        nodes["S0"]
    )
    assert "--flow=3:500000000:40000" in nodes["H1"]
    assert "--notification-point=pcn:period=25000000000" in nodes["H2"]
    assert not any(it.startswith("--flow") for it in nodes["H2"])
    unpause.validate(SCENARIO)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('builder = "single-switch"', 'builder = "dumbbell"', "a single switch is expected"),
        ('congestion_control = "pcn"', 'congestion_control = "timely"', "one scheme of PCN"),
        ('header = "62B"', 'header = "48B"', "header 62B"),
        ('delay = "6.25ms"', 'delay = "6.25min"', "expected a number and one of"),
    ],
)
def test_what_the_programs_cannot_do_is_refused(
    tmp_path: Path, was: str, now: str, said: str
) -> None:
    text = SCENARIO.read_text("utf-8")
    assert was in text
    file = tmp_path / "other.toml"
    file.write_text(text.replace(was, now), "utf-8")
    with pytest.raises(SystemExit, match=said):
        run.Scenario.read(file)


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
    scenario = run.Scenario.read(SCENARIO)
    assert compare.table(scenario, seen(), [seen()]) == 0
    assert compare.same(seen(), seen())
    assert "BEYOND" not in capsys.readouterr().out


def test_what_is_beyond_its_tolerance_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    scenario = run.Scenario.read(SCENARIO)
    other = replace(seen(), peak_bytes=1_400_000, pauses=5)
    assert compare.table(scenario, other, [seen()]) == 2
    beyond = [line for line in capsys.readouterr().out.splitlines() if "BEYOND" in line]
    assert [line.split(",")[0].split("  ")[0] for line in beyond] == [
        "longest queue",
        "PAUSE frames",
    ]


def test_one_other_cnp_or_packet_is_seen() -> None:
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
        assert not compare.same(other, seen()), change
