"""Rates of several flows together, from the start to the steady state."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS, settled_ms, window_ns


def _aggregate_bytes(run: Run, flows: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Sampling instants (ns) and all bytes that `flows` have put on the wire by then."""
    instants, total = np.zeros(0), np.zeros(0)
    for name in flows:
        data = series.flow(run, name)
        if len(total) and not np.array_equal(instants, data.time_ns):
            raise Unavailable(f"Flow '{name}' was sampled at other instants than '{flows[0]}'.")
        instants = data.time_ns
        total = total + data.sent_bytes if len(total) else data.sent_bytes
    return instants, total


@metric("ms")
def aggregate_settled_ms(
    run: Run,
    flows: list[str],
    capacity_gbps: float,
    tolerance: float = 0.1,
    average_ms: float = 1.0,
    hold_ms: float = 10.0,
) -> float:
    """From the run's start until `flows` together send at the capacity.

    What they put on the wire is added up and averaged over the `average_ms` before each sample.
    The answer is the first sample from which that stays within `tolerance` of `capacity_gbps` for
    `hold_ms`; infinity if it never does.
    """
    time, total = _aggregate_bytes(run, flows)
    late = time[time >= time[0] + average_ms * MS - 1]
    if len(late) < 2:
        raise Unavailable(f"The run is shorter than {average_ms:g} ms.")
    sent = np.interp(late, time, total) - np.interp(late - average_ms * MS, time, total)
    rate = sent / average_ms * series.GBPS
    good = np.abs(rate / capacity_gbps - 1) <= tolerance
    step_ms = (late[1] - late[0]) / MS
    settled = settled_ms(good, step_ms, hold_ms)
    return settled if math.isinf(settled) else late[0] / MS + settled


@metric("")
def aggregate_mean_ratio(
    run: Run, flows: list[str], capacity_gbps: float, window_ms: Sequence[float]
) -> float:
    """Rate of `flows` together on the wire in the window, over the capacity."""
    time, total = _aggregate_bytes(run, flows)
    start, end = window_ns(run, None, window_ms)
    return series.mean_per_ms(time, total, start, end) * series.GBPS / capacity_gbps


@metric("")
def aggregate_swing(
    run: Run,
    flows: list[str],
    capacity_gbps: float,
    window_ms: Sequence[float],
    bin_ms: float = 1.0,
) -> float:
    """Largest less smallest rate of `flows` together in bins of `bin_ms`, over the capacity."""
    return float(np.ptp(_binned_gbps(run, flows, window_ms, bin_ms)) / capacity_gbps)


@metric("")
def aggregate_deviation(
    run: Run,
    flows: list[str],
    capacity_gbps: float,
    window_ms: Sequence[float],
    bin_ms: float = 1.0,
) -> float:
    """Standard deviation of what `flows` together send in bins of `bin_ms`, over the capacity."""
    return float(np.std(_binned_gbps(run, flows, window_ms, bin_ms)) / capacity_gbps)


def _binned_gbps(
    run: Run, flows: list[str], window_ms: Sequence[float], bin_ms: float
) -> np.ndarray:
    """What `flows` together send in each bin that lies in the window."""
    time, total = _aggregate_bytes(run, flows)
    start, end = window_ns(run, None, window_ms)
    begins, rate = series.binned_per_ms(time, total, start, bin_ms * MS)
    inside = rate[begins + bin_ms * MS <= end + 1] * series.GBPS
    if len(inside) < 2:
        raise Unavailable(f"The window has fewer than two bins of {bin_ms:g} ms.")
    return inside
