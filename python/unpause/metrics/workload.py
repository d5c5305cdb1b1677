"""Measures of workloads with many flows: PAUSE by layer and priority, FCT by size, flows per ms.

Rates are over the arrivals, from the first to the last start of a flow: schemes get the same flows,
so this time is the same for all.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.fct import of_flows_ms
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS


def arrivals_ms(run: Run) -> float:
    """From the first to the last start of a flow, those in the warm-up included as PAUSEs are."""
    return _arrivals_ms(run, series.column(run.table("flows"), "start_ns"))


def _arrivals_ms(run: Run, start: np.ndarray) -> float:
    if not len(start) or start.max() <= start.min():
        raise Unavailable(f"All flows start at one time under {run.scheme}.")
    return float(start.max() - start.min()) / MS


@metric("Kp/s")
def workload_pause_kps(
    run: Run,
    nodes: str = "",
    priority: int | None = None,
    count: Literal["frames", "events"] = "frames",
) -> float:
    """XOFF frames of nodes whose names begin with `nodes`, over the time of arrivals.

    What is sent after the last start counts as well. With `priority`, only frames for that
    priority; with `count` = "events", transitions to XOFF without repeated frames.
    """
    return _total(run, f"pause_{count}", "node", nodes, priority) / arrivals_ms(run)


@metric("")
def workload_paused(run: Run, nodes: str = "", priority: int | None = None) -> float:
    """Mean number of egress queues paused by nodes of these names, over the time of arrivals."""
    return _total(run, "paused_ns", "peer", nodes, priority) / MS / arrivals_ms(run)


@metric("")
def pause_ratio(run: Run, nodes: str, to: str) -> float:
    """XOFF frames of nodes whose names begin with `nodes` over those of nodes with `to`."""
    if _total(run, "pause_frames", "node", "", None) == 0:
        raise Unavailable(f"Nothing was paused under {run.scheme}.")
    ours, theirs = (_total(run, "pause_frames", "node", n, None) for n in (nodes, to))
    if ours == theirs == 0:
        raise Unavailable(f"Neither {nodes} nor {to} paused anything under {run.scheme}.")
    return ours / theirs if theirs else math.inf


@metric("flows/ms")
def completion_rate(run: Run, until: Literal["last-start", "last-end"]) -> float:
    """Flow completion rate: flows that ended over the time in which they did.

    From the first start to the last start, of the flows that ended by then; or to the last end, of
    all flows: 0 if one did not end.
    """
    flows = run.counted_flows()
    start = series.column(flows, "start_ns")
    end = start + series.column(flows, "fct_ns")
    if until == "last-start":
        return float((end <= start.max()).sum()) / _arrivals_ms(run, start)
    if np.isnan(end).any():
        return 0.0
    return len(end) / float(end.max() - start.min()) * MS


@metric("ms")
def sized_fct_ms(
    run: Run,
    statistic: Literal["mean", "p99"],
    above_bytes: int = 0,
    upto_bytes: int | None = None,
) -> float:
    """:func:`fct_ms` of the flows with `above_bytes` < size <= `upto_bytes`."""
    rows = pc.field("size_bytes") > above_bytes
    if upto_bytes is not None:
        rows = rows & (pc.field("size_bytes") <= upto_bytes)
    flows = run.counted_flows().filter(rows)
    if flows.num_rows == 0:
        raise Unavailable(f"No flow of such a size started under {run.scheme}.")
    return of_flows_ms(flows, statistic)


def _total(run: Run, column: str, end: str, nodes: str, priority: int | None) -> float:
    """Sum of `column` over the ports whose `end`, "node" or "peer", has such a name."""
    rows = pc.starts_with(pc.field(end), nodes)
    if priority is not None:
        rows = rows & (pc.field("priority") == priority)
    return float(series.column(run.table("ports").filter(rows), column).sum())
