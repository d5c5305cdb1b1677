"""Runs grouped over their seeds: a mean and its interval for each scheme at each swept value.

What is grouped is the table of a sweep, or a result as one: a row for each run, with the columns of
`runs`, swept values and :data:`unpause.sweeps.recorded.STATISTICS`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from unpause import schema
from unpause.data import beneath, repeated, schemes, seals, shapes
from unpause.data.files import parquet, whole
from unpause.data.result import SCENARIO, Result, load
from unpause.errors import ResultError
from unpause.statistics.intervals import (
    Difference,
    Interval,
    difference,
    mean_interval,
    written,
)
from unpause.sweeps import points, recorded
from unpause.sweeps.recorded import Measure

#: In the place of a number that a sweep of an older version lacks.
NOT_RECORDED = "not recorded"


def _jobs(table: pa.Table) -> list[str]:
    return list(dict.fromkeys(filter(None, map(schema.job_of, table.column_names))))


@dataclass(frozen=True)
class Group:
    """The runs of one scheme at one combination of swept values."""

    scheme: str
    values: tuple[Any, ...]
    rows: list[Mapping[str, Any]]

    def by_seed(self, measure: Measure) -> dict[int, float]:
        """The number of each run, by its seed; without those that have none."""
        found = {row["seed"]: measure.of(row) for row in self.rows}
        return {seed: float(value) for seed, value in found.items() if value is not None}

    def records(self, needs: str) -> bool:
        """Whether the runs have the column `needs`; sweeps of older versions may lack it."""
        return not needs or any(needs in row for row in self.rows)

    def interval(self, measure: Measure) -> Interval:
        """Mean over the seeds, and its interval."""
        return mean_interval(list(self.by_seed(measure).values()))

    def bound(self, measure: Measure) -> str:
        """The sign before its mean if that is a bound, else nothing."""
        return measure.bound([row for row in self.rows if measure.of(row) is not None])

    def against(self, other: Group, measure: Measure) -> Difference | None:
        """How it differs from another group.

        None where one of them has no number, or a bound: except where its own bound is above the
        number of the other beyond noise, for then it is larger by as much at least.
        """
        ours, theirs = self.by_seed(measure), other.by_seed(measure)
        if not ours or not theirs or other.bound(measure):
            return None
        found = difference(ours, theirs)
        if self.bound(measure) and (found.noise or not found.percent > 0):
            return None
        return found


@dataclass(frozen=True)
class Runs:
    """All runs of a sweep or a result.

    Attributes:
        title: Of the scenario.
        axes: What is swept, but the seed.
        rows: The runs.
        jobs: The jobs by name.
        keys: By axis the keys of the scenario that its values replace, where that is known.
        scenario: What ran; empty for sweeps of versions that did not record it.
    """

    title: str
    axes: list[str]
    rows: list[Mapping[str, Any]]
    jobs: list[str] = field(default_factory=list)
    keys: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scenario: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_result(cls, result: Result) -> Runs:
        """The runs of a result, with the statistics of a sweep."""
        table = points.row_of(result)
        keys = repeated.keys_of(result.axes, result.runs, result.scenario)
        rows = table.to_pylist()
        return cls(result.title, result.axes, rows, _jobs(table), keys, result.scenario)

    @classmethod
    def of_sweep(cls, table: pa.Table, scenario: Mapping[str, Any] | None = None) -> Runs:
        """The runs of a sweep's table, and the scenario that ran."""
        known = {c.name for c in (*schema.TABLES["runs"], *recorded.COLUMNS)}
        names = [n for n in table.column_names if n not in known and not schema.job_of(n)]
        axes, keys = repeated.axes(names, table, {}), repeated.keys_of(names, table, {})
        ran = scenario or {}
        return cls(ran.get("title") or "", axes, table.to_pylist(), _jobs(table), keys, ran)

    @cached_property
    def schemes(self) -> list[str]:
        """Names of the schemes, in the order in which they are shown."""
        return schemes.ordered(row["scheme"] for row in self.rows)

    @cached_property
    def groups(self) -> list[Group]:
        """By scheme and swept values, schemes and values in their order.

        A seed that ran twice gave the same numbers twice: it counts once.
        """
        found: dict[tuple[str, tuple[Any, ...]], dict[int, Mapping[str, Any]]] = {}
        for row in self.rows:
            values = tuple(row[name] for name in self.axes)
            found.setdefault((row["scheme"], values), {}).setdefault(row["seed"], row)
        groups = [Group(*key, list(by_seed.values())) for key, by_seed in found.items()]
        place = {scheme: i for i, scheme in enumerate(self.schemes)}
        return sorted(groups, key=lambda group: place[group.scheme])

    def of_scheme(self, scheme: str) -> list[Group]:
        """The groups of one scheme."""
        return [group for group in self.groups if group.scheme == scheme]

    @property
    def seeds(self) -> int:
        """The most runs of a group."""
        return max((len(group.rows) for group in self.groups), default=0)

    def values(self, axis: int) -> list[Any]:
        """The values of an axis, numbers in their order."""
        found = list(dict.fromkeys(group.values[axis] for group in self.groups))
        return found if any(isinstance(v, str) for v in found) else sorted(found)

    def telling(self, among: Sequence[Mapping[str, Any]] | None = None) -> list[Measure]:
        """The measures that some run has, and that are not 0 in all of them.

        Of percentiles those that the flows of every run are enough for, or of the runs `among`.
        """
        jobs = [recorded.of_job(job) for job in self.jobs[: recorded.MOST_JOBS]]
        # First the iteration times of all, then the slowdowns, ….
        every = [measure for each in zip(*jobs, strict=True) for measure in each]
        every += recorded.measures(self.rows if among is None else among)
        return [measure for measure in every if any(map(measure.of, self.rows))]

    def varying(self) -> list[Measure]:
        """The measures that differ from group to group."""
        found = []
        for measure in self.telling():
            means = {round(g.interval(measure).mean, 9) for g in self.groups if g.by_seed(measure)}
            if len(means) > 1:
                found.append(measure)
        return found


def read(directory: str | Path) -> Runs:
    """The runs of a directory that `unpause run` or `unpause sweep` has written.

    Raises:
        ResultError: it is neither.
    """
    path = Path(directory)
    if is_sweep(path):
        return read_sweep(path)
    return Runs.of_result(load(path))


def is_sweep(directory: Path) -> bool:
    """Whether it is of `unpause sweep`; errors in it are reported when it is read."""
    return os.path.lexists(directory / "sweep.json")


def read_sweep(path: Path) -> Runs:
    """The runs of a sweep's directory."""
    about, table = sweep_table(path)
    return Runs.of_sweep(table, scenario_of(about, path))


def scenario_of(about: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The scenario in the ``sweep.json`` of a directory; only its title in those of old versions.

    Raises:
        ResultError: it is no scenario.
    """
    written = about.get("scenario") or {}
    title = written.get("title")
    try:
        scenario = tomllib.loads(f"{written['text']}") if "text" in written else {"title": title}
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path / 'sweep.json'}: damaged: its scenario: {error}") from error
    if misfit := shapes.misfit(scenario, SCENARIO):
        raise ResultError(f"{path / 'sweep.json'}: damaged: its scenario: {misfit}")
    return scenario


def sweep_table(path: Path) -> tuple[dict[str, Any], pa.Table]:
    """The content of ``sweep.json``, and the table: an older one may lack statistics."""
    try:
        with beneath.open_file(path, "sweep.json") as opened:
            told = opened.read()
        about = json.loads(told)
    except (OSError, ValueError, RecursionError) as error:
        raise ResultError(f"{path / 'sweep.json'}: {error}") from error
    if seals.is_broken(told):
        raise ResultError(
            f"{path / 'sweep.json'}: damaged: its text does not match its field sha256; the "
            "same `unpause sweep` writes it again"
        )
    if not _is_sound(about):
        raise ResultError(f"{path / 'sweep.json'}: damaged: not what a sweep writes")
    file = path / "sweep.parquet"
    try:
        with beneath.open_file(path, file.name) as opened:
            written = opened.read()
    except FileNotFoundError:
        told = f"{file}: not there yet: the same `unpause sweep` resumes it"
        raise ResultError(told) from None
    expected = about.get("files", {}).get(file.name)
    if expected is not None and hashlib.sha256(written).hexdigest() != expected:
        raise ResultError(
            f"{file}: damaged: it is not what the sweep wrote (its SHA-256 differs from that "
            "in sweep.json); the same `unpause sweep` writes it again from its points"
        )
    try:
        table = whole(parquet(io.BytesIO(written)))
    except (pa.ArrowException, OSError) as error:
        raise ResultError(f"{file}: not a readable Parquet file: {error}") from error
    for column in schema.TABLES["runs"]:
        if column.name not in table.column_names:
            raise ResultError(f"{file}: no column {column.name!r}: not the table of a sweep")
    return about, table


def _is_sound(about: Any) -> bool:
    """Whether ``sweep.json`` has the shape that a sweep gives it."""
    if not isinstance(about, dict):
        return False
    tables = [about.get(name) for name in ("scenario", "axes", "failed", "files")]
    return all(table is None or isinstance(table, dict) for table in tables)


def cell(group: Group, measure: Measure) -> str:
    """A mean with half of its interval, "3.2 ms ± 4 %", or the least and the most of the seeds."""
    if not group.records(measure.needs):
        return NOT_RECORDED
    if len(group.rows) == 1 and measure.of_one is not None:
        return measure.of_one(group.rows[0])
    values = list(group.by_seed(measure).values())
    if not values:
        return "-"
    if bound := group.bound(measure):
        return f"{bound} {measure.written(group.interval(measure).mean)}"
    return written(values, measure.written)
