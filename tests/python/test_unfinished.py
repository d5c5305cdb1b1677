"""Flows that did not finish are part of every statistic, as lower bounds.

With ``UNPAUSE_UNFINISHED=2000`` that many random scenarios are run instead of twenty.
"""

import json
import os
import random
import re
import tempfile
from pathlib import Path

import pytest

import unpause
from unpause import _native
from unpause.explanation import story
from unpause.pages import overview
from unpause.pages.summary import summarise
from unpause.statistics import censored
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Runs

SCHEMES = ("pfc", "dcqcn", "timely", "swift", "hpcc", "pcn")
COUNT = int(os.environ.get("UNPAUSE_UNFINISHED", "20"))
PART = 20


def scenario(seed: int) -> tuple[str, float]:
    """Random traffic in a small fabric, and until when flows start, us."""
    dice = random.Random(seed)
    stop = dice.choice((40, 100, 200))
    names = dice.sample(SCHEMES, 2)
    schemes = "".join(
        f'[[scheme]]\nname = "{name}"\n'
        + ("" if name == "pfc" else f'congestion_control = "{name}"\n')
        for name in names
    )
    hosts = dice.randint(4, 8)
    size = dice.choice(('cdf = "websearch"', 'size = "20KB"', 'cdf = "fb_hadoop"'))
    burst = f"""
[[traffic]]
name = "burst"
kind = "burst"
from = "H1..H{hosts - 1}"
to = "H0"
size = "{dice.choice((5, 50, 500))}KB"
start = "{dice.randint(0, stop)}us"
"""
    # Of several iterations, later ones may be shorter, and the mean with them.
    job = f"""
[[job]]
name = "ring"
ranks = {dice.randint(2, 4)}
collective = "all-reduce"
size = "{dice.choice((50, 500, 2000))}KB"
"""
    text = f"""
seed = {seed}
[topology]
builder = "single-switch"
hosts = {hosts}
rate = "{dice.choice((25, 100))}Gbps"
delay = "1us"
{schemes}
[[traffic]]
name = "web"
kind = "poisson"
{size}
load = {dice.choice((0.3, 0.7, 1.1))}
stop = "{stop}us"
{burst if dice.random() < 0.5 else ""}
{job if dice.random() < 0.5 else ""}
"""
    return text, stop * dice.uniform(1.0, 1.6)


def rows(text: str, duration: str, out: Path) -> list[dict]:
    result = unpause.run(f'duration = "{duration}"\n{text}', progress=False)
    result.write(out)
    return Runs.of_result(result).rows


def in_json(*directories: Path) -> list[list[dict]]:
    """The runs of each of these results as the program without Python prints them in JSON."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            command = ["compare", *map(str, directories), "--output", "json"]
            assert _native.main(["unpause", *command]) == 0
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return [result["runs"] for result in json.load(file)]


def check_printed(runs: list[dict], rows: list[dict], whole: list[dict]) -> int:
    """Compares the statistics in JSON with those of Python and of the whole runs.

    Returns how many are bounds only.
    """
    bounds = 0
    for run, row, right in zip(runs, rows, whole, strict=True):
        columns = [name for name in run if name.startswith(("fct_", "slowdown_", "job."))]
        assert set(columns) == {
            name for name in row if name.startswith(("fct_", "slowdown_", "job."))
        }
        for column in columns:
            value = run[column]
            if row[column] is None:
                assert value is None, column
                continue
            assert value == pytest.approx(row[column], rel=1e-12), column
            if "at_least" in column:
                assert value <= right[column] * (1 + 1e-12), column
                bounds += run[column.replace("_at_least", "")] is None
            else:
                assert value == pytest.approx(right[column], rel=1e-12), column
        for column in ("flows_sized", "flows_completed", *recorded.ITERATIONS_DONE):
            assert run[column] == row[column], column
    return bounds


@pytest.mark.parametrize("part", range(max(1, COUNT // PART)))
def test_a_longer_run_has_what_the_short_one_says_or_more(
    part: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Only statistics of flows are compared.
    monkeypatch.setattr(story, "MOST_RUNS", 0)
    counts = {"known": 0, "bounds": 0, "printed bounds": 0, "unfinished": 0}
    for seed in range(PART * part, PART * part + min(PART, COUNT)):
        text, end_us = scenario(seed)
        places = tmp_path / f"{seed}-short", tmp_path / f"{seed}-long"
        durations = f"{round(end_us * 1000)}ns", "400ms"
        short, long = (rows(text, *each) for each in zip(durations, places, strict=True))
        of_short, of_long = in_json(*places)
        counts["printed bounds"] += check_printed(of_short, short, long)
        assert not check_printed(of_long, long, long)
        assert [row["flows_sized"] for row in short] == [row["flows_sized"] for row in long]
        for cut, whole in zip(short, long, strict=True):
            assert whole["flows_completed"] == whole["flows_sized"], seed
            counts["unfinished"] += whole["flows_sized"] - cut["flows_completed"]
            for measure in recorded.measures([cut]):
                if not measure.name.startswith(("FCT", "slowdown")):
                    continue
                printed, right = measure.of(cut), measure.of(whole)
                if printed is None:
                    assert not cut["flows_sized"]
                elif measure.bound([cut]):
                    assert printed <= right * (1 + 1e-12), (seed, measure.name)
                    counts["bounds"] += 1
                else:
                    assert printed == pytest.approx(right, rel=1e-12), (seed, measure.name)
                    counts["known"] += 1
            for column in (each.name for each in recorded.STATISTICS):
                if column.startswith(("fct", "slowdown")) and cut[column] is not None:
                    if "at_least" in column:
                        assert cut[column] <= whole[column] * (1 + 1e-12), (seed, column)
                    else:
                        assert cut[column] == pytest.approx(whole[column], rel=1e-12), seed
    assert counts["bounds"], counts
    assert counts["printed bounds"], counts
    assert counts["known"], counts
    with open(os.environ.get("UNPAUSE_UNFINISHED_LOG", os.devnull), "a", encoding="utf-8") as log:
        log.write(f"{part} {counts}\n")


#: Many flows of few sizes; with 260 us some are cut off, with 20 ms none.
CUT_OFF = """
[topology]
builder = "single-switch"
hosts = 9
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "websearch"
load = 0.7
stop = "2500us"
"""


def test_the_tail_of_survivors_is_a_lower_bound() -> None:
    short, long = (
        unpause.run(f'duration = "{duration}"\n{CUT_OFF}', progress=False)
        for duration in ("3ms", "200ms")
    )
    flows = short.runs.column("flows_started")[0].as_py()
    name = f"slowdown {censored.name(censored.tail(flows))}"
    for result, is_bound in ((short, True), (long, False)):
        found = overview.of_result(result)
        place = [" ".join(head[:2]) for head in found.heads].index(name)
        assert found.rows[0][place].value.startswith("≥") == is_bound
        summary = summarise(Runs.of_result(result))
        cells = dict(zip(summary.heads, summary.rows[0], strict=True))
        for column in ("FCT mean", name):
            assert cells[column].startswith("≥ ") == is_bound, cells
    table = Runs.of_result(short).rows[0]
    assert table["slowdown_p99"] is None
    assert table["fct_mean_ns"] is None
    assert table["fct_mean_at_least_ns"] > 0


EIGHT = """
title = "Eight flows, a p99"
duration = "5ms"
[topology]
builder = "single-switch"
hosts = 9
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[scheme]]
name = "PFC+DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "incast"
kind = "burst"
from = "H1..H8"
to = "H0"
size = "1MB"
"""


def test_the_largest_of_eight_flows_is_no_p99() -> None:
    result = unpause.run(EIGHT, progress=False)
    found = overview.of_result(result)
    heads = [" ".join(head[:2]) for head in found.heads]
    assert "slowdown max" in heads
    assert not any("p99" in head for head in heads)
    place = heads.index("slowdown max")
    assert [row[place].value for row in found.rows] == ["7.83", "34.0"]
    said = " ".join([found.legend, *getattr(found, "notes", [])])
    assert "Slowdown max: of 8 flows a run." in said
    assert not re.search(r"\bp\d", " ".join(summarise(Runs.of_result(result)).heads))


def percentiles(*rows: dict[str, int]) -> list[str]:
    return [it.name for it in recorded.measures(rows) if re.search(r" p\d", it.name)]


def test_a_percentile_is_that_of_the_fewest_flows_of_the_table() -> None:
    few, many = {"flows_sized": 150}, {"flows_sized": 5000}
    assert percentiles(few, many) == ["FCT p90", "slowdown p50", "slowdown p90"]
    assert percentiles(many) == ["FCT p99", "slowdown p50", "slowdown p99"]
