"""How a bottleneck fares in a window, and over the runs of a sweep: queue, PAUSE, use, fairness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unpause import series
from unpause.metrics.pause import pause_count
from unpause.metrics.queue import mean_queue_kb
from unpause.metrics.registry import metric
from unpause.metrics.sweep import picked, swept
from unpause.metrics.throughput import utilisation
from unpause.metrics.windows import window_ns
from unpause.result import Run
from unpause.series import Unavailable

Pick = Literal["min", "max", "mean"]


@metric("PAUSEs/s")
def window_pause_rate(run: Run, links: list[str], window_ms: Sequence[float]) -> float:
    """PAUSEs (intervals, not frames) that begin on `links` in the window, per second."""
    return pause_count(run, links, window_ms=window_ms) / (window_ms[1] - window_ms[0]) * 1e3


@metric("")
def jain_index(run: Run, window_ms: Sequence[float]) -> float:
    """Jain's index of the goodputs of all recorded flows, (sum x)^2 / (n sum x^2).

    Of each interval between samples in the window, of which the mean is taken; 1 if all flows get
    the same, 1/n if one has everything.
    """
    samples = run.table("flow_series")
    start, end = window_ns(run, None, window_ms)
    time = series.column(samples, "time_ns")
    inside = (time >= start) & (time <= end)
    instants, row = np.unique(time[inside], return_inverse=True)
    flows, column = np.unique(series.column(samples, "flow_id")[inside], return_inverse=True)
    if len(instants) < 2:
        raise Unavailable(f"Flows were not sampled twice in the window under {run.scheme}.")
    delivered = np.full((len(instants), len(flows)), np.nan)
    delivered[row, column] = series.column(samples, "delivered_bytes")[inside]
    if np.isnan(delivered).any():
        raise Unavailable(f"Not all flows last through the window under {run.scheme}.")
    goodput = np.diff(delivered, axis=0)
    index = goodput.sum(axis=1) ** 2 / (len(flows) * (goodput**2).sum(axis=1))
    return float(index.mean())


@metric("KB", scope="sweep")
def swept_queue_kb(
    runs: Sequence[Run],
    column: str,
    link: str,
    window_ms: Sequence[float],
    pick: Pick,
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`mean_queue_kb` where `above` < `column` <= `upto`."""
    chosen = swept(runs, column, above, upto)
    return picked([mean_queue_kb(r, link, window_ms) for r in chosen], pick)


@metric("", scope="sweep")
def swept_queue_trend(
    runs: Sequence[Run],
    column: str,
    link: str,
    window_ms: Sequence[float],
    upto: float | None = None,
) -> float:
    """:func:`mean_queue_kb` in the run of the largest `column` over that of the smallest."""
    chosen = sorted(swept(runs, column, None, upto), key=lambda r: r.row[column])
    first, last = (mean_queue_kb(r, link, window_ms) for r in (chosen[0], chosen[-1]))
    if first == 0:
        raise Unavailable(f"The queue of {link} is empty under {runs[0].scheme}.")
    return last / first


@metric("PAUSEs/s", scope="sweep")
def swept_pause_rate(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    window_ms: Sequence[float],
    pick: Pick,
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`window_pause_rate` over the runs chosen."""
    chosen = swept(runs, column, above, upto)
    return picked([window_pause_rate(r, links, window_ms) for r in chosen], pick)


@metric("", scope="sweep")
def swept_utilisation(
    runs: Sequence[Run],
    column: str,
    link: str,
    capacity_gbps: float,
    window_ms: Sequence[float],
    pick: Pick,
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`utilisation` over the runs chosen."""
    chosen = swept(runs, column, above, upto)
    return picked([utilisation(r, link, capacity_gbps, window_ms) for r in chosen], pick)


@metric("", scope="sweep")
def swept_jain_index(
    runs: Sequence[Run],
    column: str,
    window_ms: Sequence[float],
    pick: Pick,
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`jain_index` over the runs chosen."""
    return picked([jain_index(r, window_ms) for r in swept(runs, column, above, upto)], pick)
