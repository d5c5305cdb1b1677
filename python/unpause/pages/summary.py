"""A few numbers for each scheme, and for each priority of it: what a report shows in tables."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import text
from unpause.data import series
from unpause.data.result import Result, Run
from unpause.statistics.percentiles import percentiles
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
        "FCT p50",
        "FCT p99",
    ]
    rows = []
    for run in (run for scheme in result.schemes for run in result.runs_of(scheme)):
        priorities = pc.unique(run.table("ports").column("priority")).to_pylist()
        # One is that of control packets.
        if len(priorities) > 2:
            rows += [_row_of(run, swept, p) for p in sorted(priorities, reverse=True)]
    return Summary(heads, rows)


def _row_of(run: Run, swept: list[str], priority: int) -> list[str]:
    ports, flows = (_with_priority(run.table(name), priority) for name in ("ports", "flows"))
    return [
        run.scheme,
        *(value_text(name, run.row[name]) for name in swept),
        str(priority),
        *(f"{_sum(ports, name):,}" for name in ("tx_packets", "pause_frames")),
        text.time(_sum(ports, "paused_ns")),
        text.size(pc.max(ports.column("max_queue_bytes")).as_py() or 0),
        *(f"{_sum(ports, name):,}" for name in ("marked_packets", "dropped_packets")),
        *_done_and_fct(flows),
    ]


def _with_priority(table: pa.Table, priority: int) -> pa.Table:
    return table.filter(pc.equal(table.column("priority"), priority))


def _sum(table: pa.Table, column: str) -> float:
    return pc.sum(table.column(column)).as_py() or 0


def _done_and_fct(flows: pa.Table) -> tuple[str, str, str]:
    """How many of the flows that have a size were completed; median and p99 of their FCT."""
    sized = flows.num_rows - flows.column("size_bytes").null_count
    fct = series.column(flows, "fct_ns")
    fct = fct[~np.isnan(fct)]
    done = f"{len(fct):,} of {sized:,}" if sized else "-"
    if not len(fct):
        return done, "-", "-"
    p50, p99 = percentiles(fct, [50, 99])
    return done, text.time(p50), text.time(p99)
