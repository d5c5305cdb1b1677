"""Rate of a flow relative to the rate that the swept value gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from unpause.data import series
from unpause.data.result import Run
from unpause.metrics.registry import metric
from unpause.metrics.sweep import swept_value
from unpause.metrics.throughput import link_gbps, wire_rate_gbps
from unpause.metrics.windows import window_ns


@metric("")
def share_error(
    run: Run,
    column: str,
    flow: str,
    share_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
) -> float:
    """Relative error of `flow`'s wire rate against min(`column`, `share_gbps`)."""
    expected = min(swept_value(run, column), share_gbps)
    rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
    return abs(rate / expected - 1)


@metric("runs")
def pause_exception(
    run: Run, column: str, links: list[str], share_gbps: float, window_ms: Sequence[float]
) -> float:
    """1 for a run that breaks "PAUSE on `links` exactly where `column` > `share_gbps`", else 0."""
    start, end = window_ns(run, None, window_ms)
    pauses = series.pauses_ns(run, tuple(links), start)
    in_force = bool(len(pauses)) and bool((pauses[:, 0] < end).any())
    return float(in_force != (swept_value(run, column) > share_gbps))


@metric("")
def crossing_ratio(
    run: Run,
    column: str,
    flow: str,
    capacity_gbps: float,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
    reference: Literal["proportional", "half"] = "proportional",
) -> float:
    """Rate of a flow that crosses N = `column` bottlenecks, over its expected rate.

    "proportional" is C/(N+1), the proportionally fair share where each bottleneck carries one flow
    more; "half" is C/2, the max-min fair one. C is `capacity_gbps`, on the wire.
    """
    others = 1 if reference == "half" else swept_value(run, column)
    rate = wire_rate_gbps(run, flow, window_ms, frame_bytes, payload_bytes)
    return rate / (capacity_gbps / (others + 1))


@metric("")
def swept_use(run: Run, column: str, link: str, window_ms: Sequence[float]) -> float:
    """Share of the swept rate `column`, Gb/s, that the egress port of `link` sends."""
    return link_gbps(run, [link], window_ms) / swept_value(run, column)
