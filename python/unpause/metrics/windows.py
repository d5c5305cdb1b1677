"""Instants and windows of a run, in ns, and when something has settled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unpause.data import series
from unpause.data.result import Run

MS = 1e6  # ns
US = 1e3  # ns


def burst_start_ns(run: Run, burst: str) -> float:
    """Start of the first flow of traffic entry `burst`."""
    return float(series.flow_starts_ns(run, burst)[0])


def window_ns(run: Run, burst: str | None, window_ms: Sequence[float]) -> tuple[float, float]:
    """A window in ms from the burst's start, or from the run's start without `burst`."""
    origin = 0.0 if burst is None else burst_start_ns(run, burst)
    return origin + window_ms[0] * MS, origin + window_ms[1] * MS


def settled_ms(good: np.ndarray, bin_ms: float, hold_ms: float) -> float:
    """Start (ms) of the first bin from which all bins are good for `hold_ms`, else infinity."""
    hold = max(1, round(hold_ms / bin_ms))
    if len(good) < hold:
        return math.inf
    runs = np.convolve(good, np.ones(hold, dtype=int), mode="valid")
    settled = np.flatnonzero(runs == hold)
    return float(settled[0]) * bin_ms if len(settled) else math.inf
