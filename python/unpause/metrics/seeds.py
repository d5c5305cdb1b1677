"""Fairness, shares and notifications over runs with different seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unpause import series
from unpause.metrics.registry import metric
from unpause.metrics.throughput import goodput_gbps
from unpause.metrics.windows import window_ns
from unpause.result import Run
from unpause.series import Unavailable


def _notifications(run: Run, flow: str, window_ms: Sequence[float]) -> float:
    """CNPs and CNMs that reached the sender of `flow` in the window."""
    data = series.flow(run, flow)
    start, end = window_ns(run, None, window_ms)
    # Before the first sample there were none.
    first, last = np.interp([start, end], data.time_ns, data.notifications, left=0.0)
    return float(last - first)


def _jain(run: Run, flows: Sequence[str], window_ms: Sequence[float]) -> float:
    rates = np.array([goodput_gbps(run, flow, window_ms) for flow in flows])
    return float(rates.sum() ** 2 / (len(rates) * (rates**2).sum()))


@metric("Gb/s", "seeds")
def median_wire_rate_gbps(
    runs: list[Run],
    flow: str,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Rate on the wire of what `flow` delivers in the window, median over the runs."""
    goodput = [goodput_gbps(run, flow, window_ms) for run in runs]
    return float(np.median(goodput)) * frame_bytes / payload_bytes


@metric("", "seeds")
def median_max_over_min(runs: list[Run], flows: list[str], window_ms: Sequence[float]) -> float:
    """Goodput of the fastest of `flows` over that of the slowest, median over the runs."""

    def ratio(run: Run) -> float:
        rates = [goodput_gbps(run, flow, window_ms) for flow in flows]
        return max(rates) / min(rates)

    return float(np.median([ratio(run) for run in runs]))


@metric("", "seeds")
def median_goodput_ratio(
    runs: list[Run], flow: str, over: str, window_ms: Sequence[float]
) -> float:
    """Goodput of `flow` over that of `over` in the window, median over the runs."""
    ratios = [goodput_gbps(r, flow, window_ms) / goodput_gbps(r, over, window_ms) for r in runs]
    return float(np.median(ratios))


@metric("", "seeds")
def fairer_share(runs: list[Run], than: str, flows: list[str], window_ms: Sequence[float]) -> float:
    """Share of the runs in which Jain's index of `flows` is higher than under scheme `than`.

    A run is compared with that of `than` at the same point of the sweep.
    """
    if not runs or than not in runs[0].result.schemes:
        raise Unavailable(f"The result has no scheme {than}.")
    others = runs[0].result.runs_of(than)
    better = [
        _jain(run, flows, window_ms) > _jain(other, flows, window_ms)
        for run, other in zip(runs, others, strict=True)
    ]
    return float(np.mean(better))


@metric("CNMs")
def notifications(run: Run, flows: Sequence[str], window_ms: Sequence[float]) -> float:
    """CNPs and CNMs that reached the senders of `flows` in the window."""
    return sum(_notifications(run, flow, window_ms) for flow in flows)


@metric("CNMs", "seeds")
def most_notifications(runs: list[Run], flow: str, window_ms: Sequence[float]) -> float:
    """CNPs and CNMs that reached the sender of `flow` in the window, most of any run."""
    return max(_notifications(run, flow, window_ms) for run in runs)


@metric("", "seeds")
def notification_ratio(runs: list[Run], flow: str, over: str, window_ms: Sequence[float]) -> float:
    """CNPs and CNMs to `flow` in the window over those to `over`, all runs together."""
    first = sum(_notifications(run, flow, window_ms) for run in runs)
    second = sum(_notifications(run, over, window_ms) for run in runs)
    if second == 0:
        raise Unavailable(f"No notification reached '{over}'.")
    return first / second


@metric("PAUSEs", "seeds")
def most_pauses(runs: list[Run], link: str, window_ms: Sequence[float]) -> float:
    """PAUSE frames sent on a probed `link` in the window, most of any run."""

    def count(run: Run) -> float:
        data = series.port(run, link)
        first, last = np.interp(window_ns(run, None, window_ms), data.time_ns, data.pause_frames)
        return float(last - first)

    return max(count(run) for run in runs)
