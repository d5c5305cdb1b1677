"""A few numbers for each scheme, and for each priority of it: what a report shows in tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from unpause import text
from unpause.data import completion
from unpause.data.result import Result, Run
from unpause.statistics import censored
from unpause.statistics.censored import Estimate, Sample
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Runs, cell
from unpause.text import value_text


@dataclass(frozen=True)
class Summary:
    """A table of text.

    Attributes:
        heads: What stands in the columns.
        rows: Their cells.
        noise: By row the columns whose numbers do not differ from the first scheme's, or by chance
            only.
        apart: By row the columns whose numbers differ by more than seeds explain, where that is
            what the table is about.
    """

    heads: list[str]
    rows: list[list[str]]
    noise: list[set[int]] = field(default_factory=list)
    apart: list[set[int]] = field(default_factory=list)


def summarise(runs: Runs) -> Summary:
    """Mean and interval over the seeds, a row for each scheme at each combination of values.

    Columns that are 0 in all rows are left out.
    """
    measures = runs.telling()
    several = runs.seeds > 1
    heads = ["scheme", *runs.axes, *(["seeds"] if several else []), *(m.name for m in measures)]
    first = {group.values: group for group in runs.of_scheme(runs.schemes[0])}
    rows, noise = [], []
    for group in runs.groups:
        values = zip(runs.axes, group.values, strict=True)
        row = [group.scheme, *(value_text(name, value) for name, value in values)]
        row += [str(len(group.rows))] if several else []
        base = first.get(group.values)
        apart = [group.against(base, m) if base and base is not group else None for m in measures]
        within = [d is not None and d.known and (d.noise or d.same) for d in apart]
        noise.append({len(row) + i for i, alike in enumerate(within) if alike})
        rows.append([*row, *(cell(group, m) for m in measures)])
    return Summary(heads, rows, noise)


def by_priority(result: Result) -> Summary:
    """A row for each priority of each run, none if all but control packets are of one priority."""
    swept = result.sweep_columns
    found = [
        (run, priority, _fct(run, priority))
        for run in (run for scheme in result.schemes for run in result.runs_of(scheme))
        for priority in _priorities(run)
    ]
    percent = censored.common_tail(fct for *_, fct in found)
    heads = [
        "scheme",
        *swept,
        "priority",
        "frames sent",
        "PAUSE frames",
        "time paused",
        "longest queue",
        "marked",
        "dropped",
        "flows done",
        "FCT mean",
        f"FCT {censored.name(percent)}",
    ]
    rows = [
        [*_row_of(run, swept, priority), *_done_and_fct(fct, percent)]
        for run, priority, fct in found
    ]
    return Summary(heads, rows)


def _priorities(run: Run) -> list[int]:
    """The priorities of a run, the highest first; none if it has only one beside control."""
    priorities = pc.unique(run.table("ports").column("priority")).to_pylist()
    return sorted(priorities, reverse=True) if len(priorities) > 2 else []


def _fct(run: Run, priority: int) -> Sample:
    return completion.fct_ns(_with_priority(run.counted_flows(), priority), run.row)


def _row_of(run: Run, swept: list[str], priority: int) -> list[str]:
    ports = _with_priority(run.table("ports"), priority)
    return [
        run.scheme,
        *(value_text(name, run.row[name]) for name in swept),
        str(priority),
        *(f"{_sum(ports, name):,}" for name in ("tx_packets", "pause_frames")),
        text.time(_sum(ports, "paused_ns")),
        text.size(pc.max(ports.column("max_queue_bytes")).as_py() or 0),
        *(f"{_sum(ports, name):,}" for name in ("marked_packets", "dropped_packets")),
    ]


def _with_priority(table: pa.Table, priority: int) -> pa.Table:
    return table.filter(pc.equal(table.column("priority"), priority))


def _sum(table: pa.Table, column: str) -> float:
    return pc.sum(table.column(column)).as_py() or 0


def _done_and_fct(fct: Sample, percent: float) -> tuple[str, str, str]:
    """How many of the flows were completed; the mean and a percentile of their FCT."""
    done = f"{len(fct.known):,} of {len(fct):,}" if len(fct) else "-"
    return done, _written(fct.mean()), _written(fct.percentile(percent))


def _written(estimate: Estimate | None) -> str:
    if estimate is None:
        return "-"
    sign = "" if estimate.is_exact else f"{recorded.AT_LEAST} "
    return f"{sign}{text.time(estimate.at_least)}"
