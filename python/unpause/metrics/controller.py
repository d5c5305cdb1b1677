"""The rate that a reaction point sets."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.pause import first_episode_ns
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS, US, burst_start_ns, window_ns


def _controller(run: Run, flow: str, burst: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Samples from the burst start on: ms from it, Gb/s; and the rate in force before it."""
    data = series.flow(run, flow)
    start = burst_start_ns(run, burst)
    rate = data.controller_bps / 1e9
    before = rate[data.time_ns <= start]
    after = data.time_ns > start
    if not len(before) or not after.any():
        raise Unavailable(f"Flow '{flow}' was not sampled around the burst under {run.scheme}.")
    return (data.time_ns[after] - start) / MS, rate[after], float(before[-1])


@metric("Gb/s")
def lowest_controller_rate_gbps(
    run: Run, flows: list[str], burst: str, window_ms: Sequence[float]
) -> float:
    """Largest over `flows` of the lowest rate that the controller sets in the window."""
    lowest = []
    for name in flows:
        time, rate, _ = _controller(run, name, burst)
        inside = (time >= window_ms[0]) & (time <= window_ms[1])
        lowest.append(float(rate[inside].min()))
    return max(lowest)


@metric("Gb/s")
def highest_controller_rate_gbps(
    run: Run, flow: str, burst: str, window_ms: Sequence[float]
) -> float:
    """Highest rate that the controller of `flow` sets in the window."""
    time, rate, _ = _controller(run, flow, burst)
    return float(rate[(time >= window_ms[0]) & (time <= window_ms[1])].max())


@metric("Gb/s")
def controller_rise_gbps(run: Run, flow: str, burst: str, window_ms: Sequence[float]) -> float:
    """Sum of all increases that the controller of `flow` makes in the window."""
    time, rate, _ = _controller(run, flow, burst)
    steps = np.diff(rate[(time >= window_ms[0]) & (time <= window_ms[1])])
    return float(steps[steps > 0].sum())


@metric("")
def sent_over_set(run: Run, flows: list[str], burst: str, window_ms: Sequence[float]) -> float:
    """Rate of a flow on the wire in the window over the mean rate that its controller sets.

    The largest of `flows`: 0.4 means that every one of them sends at most 40 % of what it may.
    """
    start, end = window_ns(run, burst, window_ms)
    found = []
    for name in flows:
        data = series.flow(run, name)
        inside = (data.time_ns >= start) & (data.time_ns <= end)
        if not inside.any():
            raise Unavailable(f"Flow '{name}' was not sampled in the window under {run.scheme}.")
        sent = series.mean_per_ms(data.time_ns, data.sent_bytes, start, end) * series.GBPS
        found.append(sent / float(np.mean(data.controller_bps[inside]) / 1e9))
    return max(found)


@metric("Gb/s")
def controller_rate_after_tree_gbps(
    run: Run, flow: str, links: list[str], burst: str, gap_us: float = 500.0
) -> float:
    """Rate that the controller of `flow` sets when the tree on `links` disappears.

    The last sample at or before the end of the tree of :func:`tree_duration_ms`.
    """
    episode = first_episode_ns(run, links, burst_start_ns(run, burst), gap_us)
    if episode is None:
        raise Unavailable(f"There was no PAUSE on {', '.join(links)} under {run.scheme}.")
    data = series.flow(run, flow)
    at = int(np.searchsorted(data.time_ns, episode[1], side="right")) - 1
    if at < 0:
        raise Unavailable(f"Flow '{flow}' was not sampled before the tree's end.")
    return float(data.controller_bps[at] / 1e9)


@metric("periods")
def decrease_periods(
    run: Run, flow: str, burst: str, period_us: float, window_ms: float, depth: float = 0.9
) -> float:
    """Update periods that the controller of `flow` takes to cut its rate.

    Of the total cut, from the rate in force before the burst to the lowest within `window_ms`
    after it: the time from the last sample above the old rate less (1 - `depth`) of the cut to
    the first one below the old rate less `depth` of it, over `period_us`.
    """
    time, rate, before = _controller(run, flow, burst)
    inside = time <= window_ms
    time, rate = time[inside], rate[inside]
    cut = before - rate.min()
    if cut <= 0:
        raise Unavailable(f"The controller of '{flow}' never cut its rate under {run.scheme}.")
    begun = int(np.argmax(rate < before - (1 - depth) * cut))
    done = int(np.argmax(rate <= before - depth * cut))
    since = time[begun - 1] if begun else 0.0
    return float((time[done] - since) * MS / US / period_us)


@metric("periods")
def periods_to_share(
    run: Run, flow: str, burst: str, period_us: float, share_gbps: float, tolerance: float
) -> float:
    """Update periods from the first cut of `flow`'s rate after the burst to its share.

    From the last sample before the first lower one to the first sample within `tolerance` of
    `share_gbps`, over `period_us`. Infinity if no sample is.
    """
    time, rate, before = _controller(run, flow, burst)
    cut = np.flatnonzero(rate < before * (1 - 1e-6))
    if not len(cut):
        raise Unavailable(f"The controller of '{flow}' never cut its rate under {run.scheme}.")
    reached = np.flatnonzero(np.abs(rate / share_gbps - 1) <= tolerance)
    reached = reached[reached >= cut[0]]
    if not len(reached):
        return math.inf
    since = time[cut[0] - 1] if cut[0] else 0.0
    return float((time[reached[0]] - since) * MS / US / period_us)


@metric("Gb/s per ms")
def recovery_slope_gbps_per_ms(
    run: Run, flow: str, burst: str, fair_gbps: float, low: float = 0.25, high: float = 0.75
) -> float:
    """Mean slope of the controller's rate while it recovers.

    From its lowest point after the burst: between the first samples at `low` and at `high` of the
    way to `fair_gbps`. Where the rate does not come to `low`, from its lowest point on; where it
    does not come to `high`, to the end of the run.
    """
    time, rate, _ = _controller(run, flow, burst)
    at = int(np.argmin(rate))
    time, rate = time[at:], rate[at:]
    way = fair_gbps - rate[0]
    if way <= 0 or len(rate) < 2:
        raise Unavailable(
            f"The controller of '{flow}' was never below {fair_gbps:g} Gb/s under {run.scheme}."
        )
    above_low = np.flatnonzero(rate >= rate[0] + low * way)
    above_high = np.flatnonzero(rate >= rate[0] + high * way)
    first = int(above_low[0]) if len(above_low) else 0
    last = int(above_high[0]) if len(above_high) else len(rate) - 1
    if first == last:
        return math.inf
    return float((rate[last] - rate[first]) / (time[last] - time[first]))
