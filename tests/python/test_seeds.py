"""Runs that differ in their seed only are grouped, whatever the sweep over seeds is called."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unpause
from unpause.commands import compare
from unpause.commands import sweep as command
from unpause.data.result import Result
from unpause.statistics import intervals
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Runs, cell, read

_FILE = """
title = "Seeds in the file"
duration = "500us"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[scheme]]
name = "HPCC"
congestion_control = "hpcc"
[[traffic]]
name = "web"
kind = "poisson"
cdf = "pcn_w1"
load = 0.3
stop = "300us"
"""
_SEEDS = '[[sweep]]\nname = "repetition"\nkey = "seed"\nvalues = [1, 2, 3]\n'
_LOADS = {"traffic.web.load": [0.2, 0.4]}


def _swept(more: str, vary: dict[str, Any] | None = None) -> pa.Table:
    return unpause.sweep(_FILE + more, vary if vary is not None else _LOADS, progress=False)


def _groups(runs: Runs) -> list[tuple[str, tuple[Any, ...], list[float]]]:
    """Scheme, values, and a number of each seed."""
    return [(g.scheme, g.values, [row["fct_mean_ns"] for row in g.rows]) for g in runs.groups]


def _ran(more: str, **options: Any) -> Result:
    return unpause.run(_FILE + more, progress=False, **options)


def test_seeds_of_the_file_and_of_the_command_line_are_the_same_seeds() -> None:
    of_file, of_line = _swept(_SEEDS), _swept("", {**_LOADS, "seed": [1, 2, 3]})
    ours = Runs.of_sweep(of_file)
    assert ours.axes == ["traffic.web.load"]
    assert ours.seeds == 3
    assert _groups(ours) == _groups(Runs.of_sweep(of_line))


@pytest.mark.parametrize(
    "sweep",
    [
        _SEEDS.replace("repetition", "again"),
        _SEEDS.replace('"seed"', "'\"seed\"'"),
        _SEEDS.replace("values = [1, 2, 3]", "from = 1\nto = 3\nstep = 1"),
    ],
)
def test_a_sweep_over_seeds_has_any_name_and_form(sweep: str) -> None:
    runs = Runs.of_sweep(_swept(sweep))
    assert (runs.axes, runs.seeds) == (["traffic.web.load"], 3)
    assert _ran(sweep).axes == []


def test_a_mapping_has_seeds_too() -> None:
    document = tomllib.loads(_FILE + _SEEDS)
    runs = Runs.of_sweep(unpause.sweep(document, _LOADS, progress=False))
    assert (runs.axes, runs.seeds) == (["traffic.web.load"], 3)


@pytest.mark.parametrize(
    "sweep",
    [
        # Of the name, but not of the key.
        '[[sweep]]\nname = "repetition"\nkey = "traffic.web.load"\nvalues = [0.2, 0.3, 0.4]\n',
        # The seed, and something else.
        _SEEDS.replace("repetition", "with_load")
        + 'with = [{ key = "traffic.web.load", values = [0.2, 0.3, 0.4] }]\n',
        # Its values are the seeds, and something else.
        '[[sweep]]\nname = "hosts"\nkey = "topology.hosts"\nvalues = [3, 4, 5]\n'
        'with = [{ key = "seed", values = [3, 4, 5] }]\n',
    ],
)
def test_what_changes_more_than_the_seed_is_no_repetition(sweep: str) -> None:
    name = tomllib.loads(sweep)["sweep"][0]["name"]
    runs = Runs.of_sweep(_swept(sweep, {"duration": ["400us", "500us"]}))
    assert runs.axes == ["duration_ns", name]
    assert runs.seeds == 1
    assert _ran(sweep).axes == [name]


def test_a_seed_that_ran_twice_counts_once() -> None:
    table = _swept("", {"seed": [1, 2, 3]})
    twice = Runs.of_sweep(pa.concat_tables([table, table]))
    assert twice.seeds == 3
    assert _groups(twice) == _groups(Runs.of_sweep(table))


def test_a_directory_of_an_older_version_has_its_seeds(tmp_path: Path) -> None:
    table = _swept(_SEEDS)
    # The older version wrote no keys.
    old = table.replace_schema_metadata(None)
    old = pa.table({name: pa.array(old.column(name).to_pylist()) for name in old.column_names})
    runs = Runs.of_sweep(old)
    assert (runs.axes, runs.seeds) == (["traffic.web.load"], 3)
    # One seed says nothing: the column may be of anything.
    one = pa.table({**{n: old.column(n) for n in old.column_names}, "n": old.column("seed")})
    one = one.filter(pa.array([seed == 1 for seed in one.column("seed").to_pylist()]))
    assert "n" in Runs.of_sweep(one).axes


def test_the_command_aggregates_the_seeds_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(_FILE + _SEEDS)
    out = tmp_path / "out"
    asked = [str(file), "--vary", "traffic.web.load=0.2,0.4", "--out", str(out)]
    assert command.main(asked) == 0
    said = capsys.readouterr().out
    assert "3 seeds" in said
    assert "One seed" not in said
    assert "repetition" not in said
    runs = read(out)
    assert (runs.axes, runs.seeds) == (["traffic.web.load"], 3)


def test_results_with_seeds_of_either_kind_are_compared(tmp_path: Path) -> None:
    of_file, of_option = Runs.of_result(_ran(_SEEDS)), Runs.of_result(_ran("", seeds=3))
    of_sweep = Runs.of_sweep(_swept("", {"seed": [1, 2, 3]}))
    for other in (of_option, of_sweep):
        summary = compare.compared(["a", "b"], [of_file, other])
        assert summary.heads[:3] == ["scheme", "result", "seeds"]
        assert all(row[2] == "3" for row in summary.rows)
        assert not any(summary.apart)


def test_two_seeds_have_a_range_in_every_writing() -> None:
    assert intervals.written([1.0, 3.0], str) == "1.0 to 3.0"
    assert intervals.written([5.5, 18.5, 17.4], str) == "5.5 to 18.5"
    assert intervals.written([2.0, 2.0], str) == "2.0"
    assert intervals.written([7.0], str) == "7.0"
    assert intervals.written([9.9, 10.0, 10.1], lambda value: f"{value:.1f}") == "10.0 ± 2.5 %"


def test_a_bound_of_two_seeds_stays_a_bound() -> None:
    row = {"scheme": "A", "flows_sized": 8, "slowdown_max": None}
    rows = [row | {"seed": seed, "slowdown_max_at_least": 10.0 * seed} for seed in (1, 2)]
    [group] = Runs("", [], rows).groups
    measure = next(it for it in recorded.measures(rows) if it.name == "slowdown max")
    assert cell(group, measure) == "≥ 15"
