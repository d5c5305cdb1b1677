"""Several runs of a scheme, over a swept value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from unpause import series
from unpause.metrics.fct import fct_ms
from unpause.metrics.pause import pause_count, pause_rate_kps
from unpause.metrics.registry import metric
from unpause.metrics.throughput import goodput_gbps, link_gbps, wire_rate_gbps
from unpause.metrics.windows import window_ns
from unpause.result import Run
from unpause.series import Unavailable


@metric("Gb/s", scope="sweep")
def swept_goodput_gbps(
    runs: Sequence[Run],
    column: str,
    flow: str,
    window_ms: Sequence[float],
    pick: Literal["min", "max"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest or largest goodput of `flow` over the runs with `above` < `column` <= `upto`."""
    rates = [goodput_gbps(r, flow, window_ms) for r in swept(runs, column, above, upto)]
    return min(rates) if pick == "min" else max(rates)


@metric("PAUSEs", scope="sweep")
def swept_pause_count(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    window_ms: Sequence[float],
    pick: Literal["min", "max"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Fewest or most PAUSEs that begin on `links` in the window, over the runs chosen."""
    counts = [pause_count(r, links, window_ms=window_ms) for r in swept(runs, column, above, upto)]
    return min(counts) if pick == "min" else max(counts)


@metric("", scope="sweep")
def swept_share_error(
    runs: Sequence[Run],
    column: str,
    flow: str,
    share_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Largest relative error of `flow`'s wire rate against min(`column`, `share_gbps`)."""
    worst = 0.0
    for run in swept(runs, column, None, None):
        expected = min(run.row[column], share_gbps)
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        worst = max(worst, abs(rate / expected - 1))
    return worst


@metric("", scope="sweep")
def swept_victim_error(
    runs: Sequence[Run],
    column: str,
    flow: str,
    limit_gbps: float,
    share_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Largest relative error of a victim's wire rate against FIFO sharing with the culprit.

    `flow` offers `limit_gbps` and shares a FIFO with a flow that offers `column` and gets at most
    `share_gbps`. The FIFO passes both in proportion to what they offer, so `flow` gets
    min(`limit_gbps`, `share_gbps` * `limit_gbps` / `column`).
    """
    worst = 0.0
    for run in swept(runs, column, None, None):
        expected = min(limit_gbps, share_gbps * limit_gbps / run.row[column])
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        worst = max(worst, abs(rate / expected - 1))
    return worst


@metric("runs", scope="sweep")
def swept_pause_exceptions(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    share_gbps: float,
    window_ms: Sequence[float],
) -> float:
    """Number of runs that break "PAUSE on `links` exactly where `column` > `share_gbps`"."""
    broken = 0
    for run in swept(runs, column, None, None):
        start, end = window_ns(run, None, window_ms)
        pauses = series.pauses_ns(run, tuple(links), start)
        in_force = bool(len(pauses)) and bool((pauses[:, 0] < end).any())
        broken += in_force != (run.row[column] > share_gbps)
    return float(broken)


@metric("Gb/s", scope="sweep")
def swept_link_gbps(
    runs: Sequence[Run],
    column: str,
    links: list[str],
    window_ms: Sequence[float],
    pick: Literal["min", "max", "mean"],
    above: float | None = None,
    upto: float | None = None,
) -> float:
    """Smallest, largest or mean :func:`link_gbps` where `above` < `column` <= `upto`."""
    return picked([link_gbps(r, links, window_ms) for r in swept(runs, column, above, upto)], pick)


@metric("", scope="sweep")
def swept_link_trend(
    runs: Sequence[Run], column: str, links: list[str], window_ms: Sequence[float]
) -> float:
    """:func:`link_gbps` in the run of the smallest `column` over that in the run of the largest."""
    chosen = sorted(swept(runs, column, None, None), key=lambda r: r.row[column])
    return link_gbps(chosen[0], links, window_ms) / link_gbps(chosen[-1], links, window_ms)


@metric("", scope="sweep")
def swept_goodput_trend(
    runs: Sequence[Run], column: str, flow: str, window_ms: Sequence[float]
) -> float:
    """Goodput of `flow` in the run of the smallest `column` over that in the run of the largest."""
    chosen = sorted(swept(runs, column, None, None), key=lambda r: r.row[column])
    return goodput_gbps(chosen[0], flow, window_ms) / goodput_gbps(chosen[-1], flow, window_ms)


@metric("", scope="sweep")
def swept_crossing_ratio(
    runs: Sequence[Run],
    column: str,
    flow: str,
    capacity_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
    pick: Literal["min", "max", "mean"],
    reference: Literal["proportional", "half"] = "proportional",
) -> float:
    """What a flow that crosses N = `column` bottlenecks gets, over what it should; over the runs.

    "proportional" is C/(N+1), the proportionally fair share where each bottleneck carries one flow
    more; "half" is C/2, the max-min fair one. C is `capacity_gbps`, on the wire.
    """
    ratios = []
    for run in swept(runs, column, None, None):
        share = capacity_gbps / (2 if reference == "half" else run.row[column] + 1)
        rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
        ratios.append(rate / share)
    return picked(ratios, pick)


@metric("", scope="sweep")
def swept_pause_rate_trend(
    runs: Sequence[Run],
    column: str,
    over_ms: float,
    links: list[str] | None = None,
) -> float:
    """:func:`pause_rate_kps` in the run of the smallest `column` over that of the largest."""
    chosen = sorted(swept(runs, column, None, None), key=lambda r: r.row[column])
    least, most = (pause_rate_kps(r, over_ms, links) for r in (chosen[0], chosen[-1]))
    if most == 0:
        raise Unavailable(f"Nothing was paused at the largest '{column}' under {runs[0].scheme}.")
    return least / most


@metric("", scope="sweep")
def swept_fct_trend(
    runs: Sequence[Run], column: str, statistic: Literal["mean", "p50", "p99"]
) -> float:
    """:func:`fct_ms` in the run of the smallest `column` over that in the run of the largest."""
    chosen = sorted(swept(runs, column, None, None), key=lambda r: r.row[column])
    return fct_ms(chosen[0], statistic) / fct_ms(chosen[-1], statistic)


def swept(runs: Sequence[Run], column: str, above: float | None, upto: float | None) -> list[Run]:
    """The runs with `above` < `column` <= `upto`."""
    if not runs or column not in runs[0].row:
        raise Unavailable(f"The result has no swept column '{column}'.")
    chosen = [
        r
        for r in runs
        if (above is None or r.row[column] > above) and (upto is None or r.row[column] <= upto)
    ]
    if not chosen:
        raise Unavailable(f"No run has '{column}' in the range asked for.")
    return chosen


def picked(values: Sequence[float], pick: str) -> float:
    """The smallest, largest or mean of `values`."""
    if pick == "mean":
        return float(np.mean(values))
    return min(values) if pick == "min" else max(values)
