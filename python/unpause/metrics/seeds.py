"""Fairness, shares and notifications over runs with different seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.throughput import goodput_gbps
from unpause.metrics.windows import window_ns


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


@metric("")
def max_over_min(run: Run, flows: list[str], window_ms: Sequence[float]) -> float:
    """Goodput of the fastest of `flows` over that of the slowest in the window."""
    rates = [goodput_gbps(run, flow, window_ms) for flow in flows]
    return max(rates) / min(rates)


@metric("")
def goodput_over(run: Run, flow: str, over: str, window_ms: Sequence[float]) -> float:
    """Goodput of `flow` over that of `over` in the window."""
    return goodput_gbps(run, flow, window_ms) / goodput_gbps(run, over, window_ms)


@metric("%")
def largest_change_percent(
    run: Run, flows: list[str], window_ms: Sequence[float], before_ms: Sequence[float]
) -> float:
    """Largest change of the goodput of one of `flows` from the window `before_ms`, up or down."""
    changes = [
        abs(goodput_gbps(run, flow, window_ms) / goodput_gbps(run, flow, before_ms) - 1)
        for flow in flows
    ]
    return 100 * max(changes)


@metric("", "share")
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


def _firsts_ns(run: Run, flows: Sequence[str]) -> list[float]:
    """When the first notification reached the sender of each flow, by the series."""
    firsts = []
    for flow in flows:
        data = series.flow(run, flow)
        if not data.notifications[-1]:
            raise Unavailable(f"No notification reached '{flow}' under {run.scheme}.")
        firsts.append(float(data.time_ns[np.argmax(data.notifications > 0)]))
    return firsts


@metric("us")
def first_notifications_us(run: Run, flows: Sequence[str]) -> float:
    """From the first notification of any of `flows` until all have had one, by the series."""
    firsts = _firsts_ns(run, flows)
    return (max(firsts) - min(firsts)) / 1e3


@metric("CNMs")
def notifications_before_all(run: Run, flows: Sequence[str]) -> float:
    """Most CNPs or CNMs that one of `flows` has had when the last of them gets its first."""
    last = max(_firsts_ns(run, flows))
    return max(_notifications(run, flow, (0.0, last / 1e6)) for flow in flows)


@metric("frames")
def frames_between_notifications(run: Run, flow: str, frame_bytes: float) -> float:
    """Fewest frames that `flow` sends from one CNP or CNM to the next, by the series."""
    data = series.flow(run, flow)
    at = np.flatnonzero(np.diff(data.notifications, prepend=0.0))
    if len(at) < 2:
        raise Unavailable(f"Fewer than two notifications reached '{flow}' under {run.scheme}.")
    return float(np.min(np.diff(data.sent_bytes[at]))) / frame_bytes


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
