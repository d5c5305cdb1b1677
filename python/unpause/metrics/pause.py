"""PAUSE and the congestion tree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS, US, burst_start_ns, window_ns


def first_episode_ns(
    run: Run, links: Sequence[str], since_ns: float, gap_us: float
) -> tuple[float, float] | None:
    """First PAUSEs on `links` since an instant, joined where they are at most `gap_us` apart."""
    joined = series.merged(series.pauses_ns(run, tuple(links), since_ns), gap_us * US)
    return (float(joined[0, 0]), float(joined[0, 1])) if len(joined) else None


@metric("ms")
def tree_duration_ms(run: Run, links: list[str], burst: str, gap_us: float = 500.0) -> float:
    """How long the congestion tree lasts.

    From the first to the last moment after the burst start at which a PAUSE is in force on any of
    `links`. PAUSEs switch on and off around the threshold, so PAUSEs at most `gap_us` apart belong
    to one tree; the first tree counts, later ones do not. 0 without any PAUSE.
    """
    episode = first_episode_ns(run, links, burst_start_ns(run, burst), gap_us)
    return (episode[1] - episode[0]) / MS if episode else 0.0


@metric("RTT")
def tree_duration_rtt(
    run: Run, links: list[str], burst: str, base_rtt_us: float, gap_us: float = 500.0
) -> float:
    """:func:`tree_duration_ms` in base round-trip times of `base_rtt_us`."""
    return tree_duration_ms(run, links, burst, gap_us) * MS / US / base_rtt_us


@metric("PAUSEs")
def pause_count(
    run: Run, links: list[str], burst: str | None = None, window_ms: Sequence[float] | None = None
) -> float:
    """Number of PAUSEs (intervals, not frames) that begin on `links` in a window.

    The window is in ms from the burst start, or from the run's start without `burst`; without
    `window_ms` it reaches from that instant to the end of the run.
    """
    start, end = window_ns(run, burst, window_ms or (0.0, math.inf))
    pauses = series.pauses_ns(run, tuple(links), start)
    # Intervals in force at the start of the window are cut there: they began before it.
    begun = pauses[(pauses[:, 0] > start) & (pauses[:, 0] < end)]
    return float(len(begun))


@metric("us")
def first_pause_us(run: Run, link: str, burst: str, offset_us: float = 0.0) -> float:
    """From the burst start plus `offset_us` to the first PAUSE in force on `link`."""
    since = burst_start_ns(run, burst)
    pauses = series.pauses_ns(run, (link,), since)
    if len(pauses) == 0:
        raise Unavailable(f"Nothing was paused on {link} under {run.scheme}.")
    return (pauses[0, 0] - since) / US - offset_us


@metric("us")
def pause_lag_us(run: Run, first: str, then: str, burst: str) -> float:
    """From the first PAUSE in force on link `first` to the first one on link `then`."""
    return first_pause_us(run, then, burst) - first_pause_us(run, first, burst)


@metric("Kp/s")
def pause_rate_kps(
    run: Run,
    over_ms: float,
    links: list[str] | None = None,
    count: Literal["frames", "events"] = "frames",
) -> float:
    """XOFF frames sent on `links`, all links by default, over `over_ms`, in 1000 per second.

    For runs whose arrivals end after `over_ms`; what is sent afterwards counts as well. `count` =
    "events" counts the times that an ingress went to XOFF, without repeated frames.
    """
    table = run.table("ports")
    if links is not None:
        rows = [
            table.filter((pc.field("node") == sender) & (pc.field("peer") == stopped))
            for sender, stopped in map(series.ends, links)
        ]
        return sum(float(series.column(r, f"pause_{count}").sum()) for r in rows) / over_ms
    return float(series.column(table, f"pause_{count}").sum()) / over_ms


@metric("ms")
def paused_ms(run: Run) -> float:
    """Total time that egresses were paused, over all ports and priorities."""
    return float(series.column(run.table("ports"), "paused_ns").sum()) / MS
