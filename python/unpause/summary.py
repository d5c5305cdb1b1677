"""A few numbers for each run, and for each priority of it: what the report shows first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import series
from unpause.result import Result, Run


@dataclass(frozen=True)
class Summary:
    """A table of text: heads with units, and rows."""

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
    row = run.row
    return [
        run.scheme,
        *(f"{row[name]:g}" for name in swept),
        f"{row['pause_frames']:,}",
        _paused_ms(ports),
        _longest_kb(ports),
        f"{row['marked_packets']:,}",
        f"{row['notifications']:,}",
        f"{row['dropped_packets']:,}",
        f"{row['flows_completed']:,} of {row['flows_started']:,}",
        *_fct_ms(run.table("flows")),
    ]


def by_priority(result: Result) -> Summary:
    """The same by priority, without rows if all packets but control packets are of one."""
    swept = result.sweep_columns
    heads = [
        "scheme",
        *swept,
        "priority",
        "frames sent",
        "PAUSE frames",
        "paused, all ports (ms)",
        "longest queue (KB)",
        "marked frames",
        "dropped frames",
        "flows completed",
        "FCT p50 (ms)",
        "FCT p99 (ms)",
    ]
    rows = []
    for run in (run for scheme in result.schemes for run in result.runs_of(scheme)):
        priorities = pc.unique(run.table("ports").column("priority")).to_pylist()
        # One is that of control packets.
        if len(priorities) > 2:
            rows += [_row_of(run, swept, p) for p in sorted(priorities, reverse=True)]
    return Summary(heads, rows)


def _row_of(run: Run, swept: list[str], priority: int) -> list[str]:
    ours = pc.field("priority") == priority
    ports, flows = run.table("ports").filter(ours), run.table("flows").filter(ours)
    completed = flows.num_rows - flows.column("fct_ns").null_count
    return [
        run.scheme,
        *(f"{run.row[name]:g}" for name in swept),
        str(priority),
        *(f"{_sum(ports, name):,}" for name in ("tx_packets", "pause_frames")),
        _paused_ms(ports),
        _longest_kb(ports),
        *(f"{_sum(ports, name):,}" for name in ("marked_packets", "dropped_packets")),
        f"{completed:,} of {flows.num_rows:,}" if flows.num_rows else "—",
        *_fct_ms(flows),
    ]


def _sum(table: pa.Table, column: str) -> float:
    return pc.sum(table.column(column)).as_py() or 0


def _paused_ms(ports: pa.Table) -> str:
    return f"{_sum(ports, 'paused_ns') / 1e6:,.2f}"


def _longest_kb(ports: pa.Table) -> str:
    return f"{(pc.max(ports.column('max_queue_bytes')).as_py() or 0) / 1e3:,.0f}"


def _fct_ms(flows: pa.Table) -> tuple[str, str]:
    fct = series.column(flows.filter(pc.is_valid(pc.field("fct_ns"))), "fct_ns") / 1e6
    if not len(fct):
        return "—", "—"
    p50, p99 = np.percentile(fct, (50, 99))
    return f"{p50:.3g}", f"{p99:.3g}"
