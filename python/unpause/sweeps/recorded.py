"""The list of a run's statistics: how each is computed, written and judged, and where it appears.

All tables follow from it: ``sweep.parquet`` and ``sweep.csv``, the overview, the tables of means in
the terminal and in reports, `unpause compare`, figures over swept values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from unpause import schema, text
from unpause.data.result import Run
from unpause.schema import Column
from unpause.statistics import censored
from unpause.sweeps import facts
from unpause.sweeps.facts import Facts
from unpause.sweeps.statistic import (
    AT_LEAST,
    COUNT,
    RATE,
    RATIO,
    SHARE,
    SIZE,
    TIME,
    Format,
    Kind,
    Measure,
    Number,
    Row,
    Statistic,
    column,
)


def _part(done: str, of: str) -> Callable[[Row], float | None]:
    """Computes which part of `of` is done, in percent; None where there are none."""

    def percent(row: Row) -> float | None:
        return 100 * row[done] / row[of] if row.get(of) else None

    return percent


def _counts(done: str, of: str) -> Callable[[Row], str]:
    """Writes how many of `of` are done."""
    return lambda row: f"{row[done]:,} of {row[of]:,}" if row.get(of) else "-"


#: The columns of what flows, and jobs, have done, and of all that they were to do.
FLOWS_DONE = ("flows_completed", "flows_sized")
ITERATIONS_DONE = ("iterations_completed", "iterations_planned")


def done_percent(row: Row) -> float | None:
    """The part of the flows that finished or, if it is less, of the iterations of jobs."""
    parts = [_part(*columns)(row) for columns in (FLOWS_DONE, ITERATIONS_DONE)]
    return min((part for part in parts if part is not None), default=None)


def _unfinished_percent(row: Row) -> float | None:
    done = done_percent(row)
    return None if done is None else 100 - done


def _victims(row: Row) -> str:
    victims = row.get("victim_flows")
    if victims is None:
        return "-"
    if row.get("victims_complete"):
        return f"{victims:,}"
    # At least none says nothing.
    return f">= {victims:,}" if victims else "?"


def _share(row: Row) -> float | None:
    share = row.get("congested_share")
    return None if share is None else 100 * share


def _at_least(rows: Sequence[Row]) -> str:
    return "" if all(row.get("victims_complete") for row in rows) else ">="


def _lost(row: Row) -> float:
    return (row.get("dropped_packets") or 0) + (row.get("trimmed_packets") or 0)


def _without_losses(rows: Sequence[Row]) -> bool:
    """Whether links paused, or nothing was lost: no PAUSE is no merit where packets are lost."""
    lost = any(_lost(row) for row in rows)
    return not lost or any(row.get("paused_ns") for row in rows)


def _never(_: Sequence[Row]) -> bool:
    return False


def _has_endless(rows: Sequence[Row]) -> bool:
    """Whether some flow has no size, is none of a job, and is not watched.

    Of others slowdowns, times of iterations and goodput say more than how much a link was used.
    """
    if any(schema.job_of(name) for row in rows for name in row):
        return False
    if any(row.get("watched_bps") is not None for row in rows):
        return False
    return any((row.get("flows_started") or 0) > (row.get("flows_sized") or 0) for row in rows)


def _had_slowed(rows: Sequence[Row]) -> bool:
    """Whether there was anything to recover from after the burst."""
    return any(row.get("recovery_ns") for row in rows)


def _longer(rows: Sequence[Row]) -> str:
    return "" if all(row.get("recovered") for row in rows) else ">"


_U64 = pa.uint64()
#: The statistics of flows: a percentile (None is the mean), its name, and its meaning.
_OF_FLOWS = (
    (None, "mean", "mean"),
    (50, "p50", "median"),
    (90, "p90", "90th percentile of the"),
    (95, "p95", "95th percentile of the"),
    (99, "p99", "99th percentile of the"),
    (censored.LARGEST, "max", "largest"),
)


def _of_flows(
    name: str,
    unit: str,
    label: str,
    format: Format,
    *,
    mean: int | None = None,
    median: int | None = None,
    tail: int,
    head: int | None = None,
    least: float = 0.0,
) -> Iterator[Statistic]:
    """Mean and percentiles of a quantity of flows, each followed by its lower bound.

    Args:
        name: Of its columns, and of its sample in :class:`Facts`.
        unit: Of the columns.
        label: Its name in tables.
        format: How people write it.
        mean: The place of the mean in tables of means, as with the next two.
        median: That of the median.
        tail: That of the highest percentile that flows are enough for.
        head: The place of that percentile in the overview.
        least: The least that the quantity can be.
    """
    for percent, short, meaning in _OF_FLOWS:
        of = facts.mean if percent is None else facts.percentile(percent)
        place = {None: mean, 50: median}.get(percent, tail)
        is_tail = percent is not None and percent > 50
        value, bound = (
            "_".join(filter(None, (name, short, kind, unit))) for kind in ("", "at_least")
        )
        yield Statistic(value, f"{meaning} {label}", facts.value(of, name), unit=unit)
        yield Statistic(
            bound,
            "the same, or a lower bound of it",
            facts.at_least(of, name),
            unit=unit,
            format=format,
            means=(place, f"{label} {short}") if place else None,
            head=(head, label, short) if head and is_tail else None,
            percent=percent,
            least=least,
            judged={"bound": _bound_of(value, bound)},
        )


def _bound_of(value: str, bound: str) -> Callable[[Sequence[Row]], str]:
    """The sign of a mean of which not every row has the value itself."""

    def sign(rows: Sequence[Row]) -> str:
        known = (row.get(value) is not None or row.get(bound) is None for row in rows)
        return "" if all(known) else AT_LEAST

    return sign


#: Every statistic, in the order of the columns of a sweep's table. A new one is an entry here and a
#: row in ``docs/tables.md``. Those without `of` are columns of table `runs`.
STATISTICS: tuple[Statistic, ...] = (
    Statistic(
        "flows_sized",
        "flows started that have a size, so that they can end",
        facts.flows_sized,
        _U64,
        "flows",
        nullable=False,
        format=SHARE,
        shown=_part(*FLOWS_DONE),
        of_one=_counts(*FLOWS_DONE),
        means=(10, "flows done"),
    ),
    Statistic(
        "iterations_planned",
        "iterations that jobs were to do",
        facts.total("jobs", "iterations_planned"),
        _U64,
        "iterations",
        nullable=False,
        format=SHARE,
        shown=_part(*ITERATIONS_DONE),
        of_one=_counts(*ITERATIONS_DONE),
        means=(15, "iterations done"),
    ),
    Statistic(
        "iterations_completed",
        "iterations that they came through",
        facts.total("jobs", "iterations"),
        _U64,
        "iterations",
        nullable=False,
    ),
    *_of_flows("fct", "ns", "FCT", TIME, mean=20, tail=30),
    *_of_flows("slowdown", "", "slowdown", RATIO, median=40, tail=50, head=40, least=1),
    Statistic(
        "delivered_bytes",
        "payload delivered in order, all flows",
        facts.total("flows", "delivered_bytes"),
        _U64,
        "bytes",
        nullable=False,
        format=SIZE,
    ),
    Statistic(
        "goodput_bps",
        "the same over the time in which any flow was active",
        facts.goodput_bps,
        unit="bit/s",
        format=RATE,
        means=(130, "goodput"),
    ),
    Statistic(
        "retransmitted_packets",
        "data packets retransmitted, all flows",
        facts.total("flows", "retransmitted_packets"),
        _U64,
        "packets",
        nullable=False,
        format=COUNT,
        head=(100, "packets", "resent"),
        judged={"decides": _never},
    ),
    Statistic(
        "pause_events",
        "times that any ingress went to XOFF",
        facts.total("ports", "pause_events"),
        _U64,
        "events",
        nullable=False,
        format=COUNT,
        means=(60, "PAUSEs"),
    ),
    Statistic(
        "paused_ns",
        "time that egresses were paused, all ports and priorities",
        facts.paused_ns,
        unit="ns",
        nullable=False,
        format=TIME,
        means=(70, "time paused"),
        head=(30, "links", "paused"),
        judged={"earned": _without_losses, "decides": _never},
    ),
    Statistic(
        "max_queue_bytes",
        "largest backlog of any egress queue",
        facts.max_queue_bytes,
        _U64,
        "bytes",
        nullable=False,
        format=SIZE,
        means=(90, "longest queue"),
        head=(60, "longest", "queue"),
        judged={"decides": _never},
    ),
    Statistic(
        "victim_flows",
        "flows that waited for congestion off their path",
        facts.of_victims(lambda summary: len(summary.victims)),
        _U64,
        "flows",
        format=COUNT,
        of_one=_victims,
        means=(80, "victims"),
        head=(10, "victim", "flows"),
        judged={"bound": _at_least, "always": True, "earned": _without_losses},
    ),
    Statistic(
        "victims_complete",
        "whether these are all victims",
        facts.of_victims(lambda summary: not summary.maybe_more),
        pa.bool_(),
    ),
    Statistic(
        "victim_wait_ns",
        "total time that they waited",
        facts.of_victims(lambda summary: float(sum(each.stopped_ns for each in summary.victims))),
        unit="ns",
        format=TIME,
        head=(20, "total", "wait"),
        judged={"bound": _at_least, "earned": _without_losses, "spoken": "wait of victims"},
    ),
    Statistic(
        "congested_link",
        "most congested link",
        facts.of_link(lambda link: str(link.port)),
        pa.string(),
    ),
    Statistic(
        "congested_share",
        "its utilisation while flows that use it were active",
        facts.of_link(lambda link: link.share),
        format=SHARE,
        shown=_share,
        head=(50, "{link}", "used"),
        judged={
            "less_is_better": False,
            "about": column("congested_link"),
            "spoken": "use of {link}",
            "decides": _has_endless,
        },
    ),
    Statistic(
        "watched_bps",
        "goodput of watched flows in a burst, else mean",
        facts.watched_bps,
        unit="bit/s",
        format=RATE,
        means=(140, "watched goodput"),
        head=(110, "{watched}", "goodput"),
        judged={"less_is_better": False},
    ),
    Statistic(
        "watched_slowdown",
        "largest slowdown of watched flows with a size",
        facts.watched_slowdown,
        head=(45, "{watched}", "slowdown"),
        judged={"missing_is_worst": True},
    ),
    Statistic(
        "recovery_ns",
        "until watched flows recovered, or looked for",
        facts.recovery_ns,
        unit="ns",
        format=TIME,
        head=(120, "recovers", "after"),
        judged={
            "bound": _longer,
            "bounds_count": True,
            "always": True,
            "earned": _had_slowed,
            "spoken": "recovery of {watched}",
        },
    ),
    Statistic("recovered", "whether they did", facts.recovered, pa.bool_()),
    Statistic(
        "flows_completed",
        "flows with a size that ended",
        format=SHARE,
        shown=_unfinished_percent,
        head=(70, "not", "done"),
        judged={"spoken": "work not done"},
    ),
    Statistic("marked_packets", "packets marked", format=COUNT, means=(100, "marked")),
    Statistic("notifications", "CNPs and CNMs", format=COUNT, means=(110, "notified")),
    Statistic(
        "dropped_packets",
        "packets dropped",
        format=COUNT,
        means=(120, "dropped"),
        head=(80, "packets", "dropped"),
        judged={"decides": _never},
    ),
    Statistic(
        "trimmed_packets",
        "packets trimmed",
        format=COUNT,
        head=(90, "packets", "trimmed"),
        judged={"decides": _never},
    ),
)

#: The columns that they have in a sweep's table, after those of `runs`.
COLUMNS: tuple[Column, ...] = tuple(each.column for each in STATISTICS if each.of)


def measures(rows: Sequence[Row]) -> list[Measure]:
    """Those in tables of means, the most important first.

    Of percentiles those that the flows of all `rows` are enough for.
    """
    ordered = sorted(STATISTICS, key=lambda each: each.means or (0, ""))
    return [each.measure for each in ordered if each.means and _is_enough(each, rows)]


def tail(rows: Sequence[Row]) -> int:
    """The percentile that stands for the tail in a table of `rows`: that of the fewest flows."""
    flows = [row["flows_sized"] for row in rows if row.get("flows_sized")]
    return censored.tail(min(flows, default=0))


def note_on_flows(rows: Sequence[Row]) -> str:
    """A sentence on the tail in a table of `rows`: of how many flows it is, and what bounds are."""
    flows = [row["flows_sized"] for row in rows if row.get("flows_sized")]
    if not flows:
        return ""
    shown = next(each for each in STATISTICS if each.head and each.percent == tail(rows)).measure
    bound, some = shown.bound(rows), text.span(flows, text.count)
    meaning = f"; {bound}: at least, because flows did not finish" if bound else ""
    return f"{shown.name.capitalize()}: of {some} flows a run{meaning}."


def _is_enough(each: Statistic, rows: Sequence[Row]) -> bool:
    """Whether a statistic is none of flows, or of enough of them: see :mod:`censored`."""
    if each.percent == 50:
        flows = [row["flows_sized"] for row in rows if row.get("flows_sized")]
        return min(flows, default=0) >= censored.needed(50)
    return each.percent is None or each.percent == tail(rows)


#: At most this many jobs have columns.
MOST_JOBS = 3


@cache
def of_job(job: str) -> tuple[Measure, ...]:
    """The measures of a job, in the order of :data:`unpause.schema.OF_JOBS`."""

    # Another result may not have this job.
    def of(column: str, bound: str, name: str, format: Format) -> Measure:
        value, at_least = (schema.job_column(job, each) for each in (column, bound))
        sign = _bound_of(value, at_least)
        return Measure(
            f"{job} {name}", _first(at_least, value), format.written, format.unit, bound=sign
        )

    time, slowdown, bandwidth = schema.OF_JOBS
    of_time, of_slowdown = schema.JOB_BOUNDS
    return (
        of(time, of_time, "iteration", TIME),
        of(slowdown, of_slowdown, "slowdown", RATIO),
        Measure(
            f"{job} bus bandwidth",
            column(schema.job_column(job, bandwidth)),
            lambda v: f"{v:.3g} GB/s",
            lambda _: (1.0, "GB/s"),
        ),
    )


def _first(*names: str) -> Number:
    """Reads the first of these columns that a row has."""
    return lambda row: next((row[name] for name in names if name in row), None)


def kinds(jobs: Sequence[str], link: str, watched: str, rows: Sequence[Row]) -> list[Kind]:
    """The columns of the overview of `rows`, those of `jobs` first.

    `link` and `watched` head theirs.
    """
    iterations = [
        Kind(
            (job, "iteration"),
            of_job(job)[0].of,
            text.time_unit,
            bound=of_job(job)[0].bound,
            missing_is_worst=True,
        )
        for job in jobs[:MOST_JOBS]
    ]
    ordered = sorted(STATISTICS, key=lambda each: each.head or (0, "", ""))
    shown = [each for each in ordered if each.head and _is_enough(each, rows)]
    return iterations + [each.kind(link=link, watched=watched) for each in shown]


def not_recorded(rows: Sequence[Row]) -> list[str]:
    """The columns that `rows` lack, because the sweep is of an older version."""
    return [each.name for each in COLUMNS if rows and each.name not in rows[0]]


def statistics(run: Run) -> dict[str, Any]:
    """The statistics of one run by column. Percentiles interpolate linearly."""
    read = Facts(run)
    return {each.name: each.of(read) for each in STATISTICS if each.of}
