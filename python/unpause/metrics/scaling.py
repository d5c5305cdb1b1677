"""How a bottleneck fares in a window: PAUSE and fairness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.pause import pause_count
from unpause.metrics.registry import metric
from unpause.metrics.windows import window_ns


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
