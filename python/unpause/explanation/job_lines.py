"""A sentence for each job: how long its iterations took under each scheme, and beside it alone.

Numbers are those of table `jobs`: medians, and the largest where it is another, averaged over the
seeds. A job that failed or is stuck is named first, with the link that is down. Which scheme is the
shortest and which the longest on average is said only where the difference between the two is
beyond noise, as in the overview. Of a result with swept values the least and the most of each
scheme are said, and at which values. Schemes and values without a complete iteration are named, and
how many iterations were complete where the run ended before all were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unpause import text
from unpause.data import iterations
from unpause.data.result import Result
from unpause.statistics.intervals import difference, mean_interval, written
from unpause.text import value_text

#: At most this many jobs and schemes are named.
_MOST_JOBS = 8
_MOST_SCHEMES = 8
#: The most swept values without a complete iteration that are named for a scheme.
_MOST_VALUES = 4
#: Slowdowns nearer to 1 than this are none.
_NOTHING = 0.005

_Row = Mapping[str, Any]


@dataclass(frozen=True)
class _Point:
    """A job under a scheme at some swept values.

    Attributes:
        rows: A row of `jobs` for each seed.
    """

    scheme: str
    values: tuple[Any, ...]
    rows: dict[int, _Row]

    def of(self, column: str) -> dict[int, float]:
        """The numbers of a column by seed, without those that are null."""
        found = {seed: row[column] for seed, row in self.rows.items()}
        return {seed: float(value) for seed, value in found.items() if value is not None}

    def mean(self, column: str) -> float | None:
        """Mean over the seeds; None if there is no number."""
        values = list(self.of(column).values())
        return mean_interval(values).mean if values else None

    @property
    def is_stuck(self) -> bool:
        """Whether no iteration after the warm-up was complete with any seed."""
        return not self.of("mean_ns")

    @property
    def incomplete(self) -> str:
        """Such as "2 of 3 iterations", which the mean is of; empty if all were complete."""
        if all(map(iterations.is_finished, self.rows.values())):
            return ""
        counts = [max(0, row["iterations"] - row["warmup"]) for row in self.rows.values()]
        planned = max(row["iterations_planned"] - row["warmup"] for row in self.rows.values())
        return f"{text.span(counts, str)} of {planned} iterations"

    @property
    def ending(self) -> str:
        """Why it did not come to its end, such as "stuck since 3.00 ms: H5-leaf0 down"."""
        found = {seed: why for seed, row in self.rows.items() if (why := iterations.ending(row))}
        if not found:
            return ""
        seed, first = min(found.items())
        if len(found) == len(self.rows) and len(set(found.values())) == 1:
            return first
        return f"{first} (seed {seed}; {len(found)} of {len(self.rows)} seeds do not end)"

    def common(self, column: str) -> Any:
        """The value of all rows, None if they differ."""
        found = {row[column] for row in self.rows.values()}
        return found.pop() if len(found) == 1 else None


class _Axes:
    """The swept values, as they are written."""

    def __init__(self, result: Result) -> None:
        self._units = {axis: unit_of(result, axis) for axis in result.axes}

    def at(self, point: _Point) -> str:
        """Such as "size 64 KB"."""
        swept = zip(self._units.items(), point.values, strict=True)
        each = [
            f"{axis.rpartition('.')[2]} {value_text(axis, value)} {unit}".strip()
            for (axis, unit), value in swept
        ]
        return ", ".join(each)


def unit_of(result: Result, axis: str) -> str:
    """The unit of a [[sweep]] of the scenario; of a command's sweep it is in the axis' name."""
    sweeps = [it for it in result.scenario.get("sweep", []) if it.get("name") == axis]
    return str(sweeps[0].get("unit", "")) if sweeps else ""


def of_result(result: Result) -> list[str]:
    """A sentence for each job of a result, none if it has no jobs."""
    jobs = _jobs(result)
    shared = len(jobs) > 1 or bool(result.scenario.get("traffic"))
    found = [
        _of_job(name, points, _Axes(result), shared)
        for name, points in list(jobs.items())[:_MOST_JOBS]
    ]
    more = len(jobs) - len(found)
    return [*found, f"{text.plural(more, 'more job')}: table jobs."] if more > 0 else found


def _jobs(result: Result) -> dict[str, list[_Point]]:
    jobs: dict[str, list[_Point]] = {}
    for scheme in result.schemes:
        for run in result.runs_of(scheme):
            values = tuple(run.row[axis] for axis in result.axes)
            for row in run.table("jobs").to_pylist():
                points = jobs.setdefault(row["job"], [])
                at = next((it for it in points if (it.scheme, it.values) == (scheme, values)), None)
                if at is None:
                    at = _Point(scheme, values, {})
                    points.append(at)
                at.rows[run.row["seed"]] = row
    return jobs


def _of_job(name: str, points: Sequence[_Point], axes: _Axes, shared: bool) -> str:
    rows = [row for point in points for row in point.rows.values()]
    placement = _same(row["placement"] for row in rows)
    head = f"{name} ({_ranks(rows)}{f', {placement}' if placement else ''})"
    ended_early = _ended_early(points, axes)
    if all(row["mean_ns"] is None for row in rows):
        return f"{head}: {_then(ended_early, 'no iteration after the warm-up was complete.')}"
    known = [point for point in points if not point.is_stuck]
    schemes = list(dict.fromkeys(point.scheme for point in known))
    parts = []
    for scheme in schemes[:_MOST_SCHEMES]:
        ours = [point for point in known if point.scheme == scheme]
        if len(ours) > 1:
            parts.append(_over(ours, axes))
        else:
            parts.append(_of_point(ours[0], placement is None, shared))
    more = len(schemes) - len(parts)
    rest = f"; {text.plural(more, 'more scheme')}" if more > 0 else ""
    rest += _best_and_worst(points)
    if without := _without(points, axes):
        rest += f"; no iteration after the warm-up was complete under {without}"
    took = f"{_took(rows)} {', '.join(parts)}{rest}."
    return f"{head}: {_then(ended_early, took)}"


def _then(first: str, sentence: str) -> str:
    """A sentence, and before it another one without its full stop, if there is one."""
    return f"{first}. {sentence[:1].upper()}{sentence[1:]}" if first else sentence


def _ended_early(points: Sequence[_Point], axes: _Axes) -> str:
    """Which schemes made the job fail or leave it stuck, without a full stop."""
    found = [point for point in points if point.ending]
    each = [
        f"{point.incomplete} under {point.scheme}"
        f"{f' ({axes.at(point)})' if point.values else ''}, {point.ending}"
        for point in found[:_MOST_VALUES]
    ]
    more = len(found) - len(each)
    return "; ".join([*each, *[f"{more} more end early"] * (more > 0)])


def _without(points: Sequence[_Point], axes: _Axes) -> str:
    """Under which schemes no iteration was complete, such as "DCQCN (place spread)"."""
    parts = []
    for scheme in dict.fromkeys(point.scheme for point in points if point.is_stuck):
        ours = [point for point in points if point.scheme == scheme]
        stuck = [axes.at(point) for point in ours if point.is_stuck]
        at = [*stuck[:_MOST_VALUES], *["others"] * (len(stuck) > _MOST_VALUES)]
        parts.append(scheme if len(stuck) == len(ours) else f"{scheme} ({'; '.join(at)})")
    more = len(parts) - _MOST_SCHEMES
    return ", ".join([*parts[:_MOST_SCHEMES], *[text.plural(more, "more scheme")] * (more > 0)])


def _took(rows: Sequence[_Row]) -> str:
    """How many iterations the times are of, if that is the same in all rows that have one."""
    counted = _same(row["iterations"] - row["warmup"] for row in rows if row["mean_ns"] is not None)
    if counted == 1:
        return "an iteration took"
    return f"{f'{counted} ' if counted else ''}iterations took in the median"


def _same(values: Iterable[Any]) -> Any:
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _ranks(rows: Sequence[_Row]) -> str:
    counts = sorted({row["ranks"] for row in rows})
    few = text.plural(counts[0], "rank")
    return few if len(counts) == 1 else f"{counts[0]} to {counts[-1]} ranks"


def _of_point(point: _Point, with_placement: bool, shared: bool) -> str:
    """Such as "4.20 ms under PFC (1.31 times as long as alone, slowest rank 3 on H3)"."""
    placement = point.common("placement") if with_placement else None
    parts = [
        f"placement {placement}" if placement else "",
        *_tail(point),
        _beside_alone(point) if shared else "",
        _bandwidth(point),
        _straggler(point),
        "" if point.ending else point.incomplete,
    ]
    inside = ", ".join(filter(None, parts))
    took = written(list(point.of("p50_ns").values()), text.time)
    return f"{took} under {point.scheme}{f' ({inside})' if inside else ''}"


def _tail(point: _Point) -> list[str]:
    """The 99th percentile and the largest, if they are not the median."""
    median = text.time(point.mean("p50_ns") or 0.0)
    tail = {"p99": point.mean("p99_ns"), "largest": point.mean("max_ns")}
    written_out = {name: text.time(value) for name, value in tail.items() if value is not None}
    return [f"{name} {value}" for name, value in written_out.items() if value != median]


def _beside_alone(point: _Point) -> str:
    slowdown = point.mean("slowdown")
    if slowdown is None:
        return ""
    if abs(slowdown - 1) < _NOTHING:
        return "as long as alone"
    mean, median = point.mean("mean_ns") or 0.0, point.mean("p50_ns") or 0.0
    average = "" if abs(mean - median) <= _NOTHING * mean else " on average"
    return f"{slowdown:.3g} times as long as alone{average}"


def _bandwidth(point: _Point) -> str:
    bandwidth = point.mean("busbw_gbytes_s")
    return "" if bandwidth is None else f"bus bandwidth {bandwidth:.3g} GB/s"


def _straggler(point: _Point) -> str:
    rank, host = point.common("straggler"), point.common("straggler_host")
    return "" if rank is None or host is None else f"slowest rank {rank} on {host}"


def _over(points: Sequence[_Point], axes: _Axes) -> str:
    """The least and the most of a scheme over swept values."""
    medians = [(point.mean("p50_ns") or 0.0, point) for point in points]
    least, most = (of(medians, key=lambda it: it[0]) for of in (min, max))
    if least[0] == most[0] and not any(point.incomplete for point in points):
        return f"{text.time(least[0])} under {points[0].scheme}"

    def at(median: float, point: _Point) -> str:
        incomplete = "" if point.ending else point.incomplete
        inside = ", ".join(filter(None, [axes.at(point), *_tail(point), incomplete]))
        return f"{text.time(median)} ({inside})"

    low, high = at(*least), at(*most)
    return f"{low} to {high} under {points[0].scheme}"


def _best_and_worst(points: Sequence[_Point]) -> str:
    """Which of several schemes is the shortest, which the longest, if that is not noise.

    Nothing where a run has no mean: its job would take longer than any.
    """
    if len(points) < 2 or len({point.values for point in points}) > 1:
        return ""
    if any(len(point.of("mean_ns")) < len(point.rows) for point in points):
        return ""
    best, worst = (of(points, key=lambda it: it.mean("mean_ns") or 0.0) for of in (min, max))
    apart = difference(worst.of("mean_ns"), best.of("mean_ns"))
    if not apart.known or apart.noise or apart.same or not math.isfinite(apart.percent):
        return ""
    longer = text.percent(apart.percent)
    return f"; shortest under {best.scheme}, longest under {worst.scheme} (by {longer} on average)"
