"""One row of numbers for each run: what the terminal and the report show first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from unpause import series
from unpause.result import Result, Run


@dataclass(frozen=True)
class Summary:
    """A table of text: heads with units, and a row for each run."""

    heads: list[str]
    rows: list[list[str]]


def summarise(result: Result) -> Summary:
    """Summary of every run, schemes in their fixed order."""
    swept = result.sweep_columns
    heads = [
        "scheme",
        *swept,
        "PAUSE frames",
        "paused, all ports (ms)",
        "longest queue (KB)",
        "marked packets",
        "notifications",
        "dropped packets",
        "flows completed",
        "FCT p50 (ms)",
        "FCT p99 (ms)",
    ]
    rows = [_row(run, swept) for scheme in result.schemes for run in result.runs_of(scheme)]
    return Summary(heads, rows)


def _row(run: Run, swept: list[str]) -> list[str]:
    ports = run.table("ports")
    fct = series.column(run.table("flows").filter(pc.is_valid(pc.field("fct_ns"))), "fct_ns") / 1e6
    row = run.row
    p50, p99 = np.percentile(fct, (50, 99)) if len(fct) else (None, None)
    longest = pc.max(ports.column("max_queue_bytes")).as_py() or 0
    return [
        run.scheme,
        *(f"{row[name]:g}" for name in swept),
        f"{row['pause_frames']:,}",
        f"{(pc.sum(ports.column('paused_ns')).as_py() or 0) / 1e6:,.2f}",
        f"{longest / 1e3:,.0f}",
        f"{row['marked_packets']:,}",
        f"{row['notifications']:,}",
        f"{row['dropped_packets']:,}",
        f"{row['flows_completed']:,} of {row['flows_started']:,}",
        "—" if p50 is None else f"{p50:.3g}",
        "—" if p99 is None else f"{p99:.3g}",
    ]
