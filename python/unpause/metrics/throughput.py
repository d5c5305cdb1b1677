"""Throughput of flows and links, and what a burst costs them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS, burst_start_ns, settled_ms, window_ns


@metric("ms")
def burst_duration_ms(run: Run, burst: str) -> float:
    """From the start of the burst's first flow to the arrival of its last byte."""
    rows = run.counted_flows().filter(pc.field("traffic") == burst)
    if not rows.num_rows:
        raise Unavailable(f"No flow of traffic '{burst}' started under {run.scheme}.")
    start = float(np.min(series.column(rows, "start_ns")))
    if rows.column("fct_ns").null_count:
        return math.inf
    end = float(np.max(series.column(rows, "start_ns") + series.column(rows, "fct_ns")))
    return (end - start) / MS


@metric("Gb/s")
def goodput_gbps(
    run: Run, flow: str, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Mean payload delivered for `flow` in a window of ms from the burst (or run) start."""
    data = series.flow(run, flow)
    start, end = window_ns(run, burst, window_ms)
    return series.mean_per_ms(data.time_ns, data.delivered_bytes, start, end) * series.GBPS


@metric("Gb/s")
def wire_rate_gbps(
    run: Run,
    flow: str,
    window_ms: Sequence[float],
    frame_bytes: float,
    payload_bytes: float,
    burst: str | None = None,
) -> float:
    """:func:`goodput_gbps` as the rate its frames take on the wire."""
    return goodput_gbps(run, flow, window_ms, burst) * frame_bytes / payload_bytes


@metric("")
def goodput_ratio(
    run: Run, flows: list[str], window_ms: Sequence[float], before_ms: float, burst: str
) -> float:
    """Goodput in the window over goodput in the `before_ms` before the burst, largest of `flows`.

    0.4 means that every flow of `flows` fell to at most 40 % of what it had.
    """
    return max(
        goodput_gbps(run, f, window_ms, burst) / goodput_gbps(run, f, (-before_ms, 0.0), burst)
        for f in flows
    )


@metric("")
def utilisation(
    run: Run, link: str, capacity_gbps: float, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Mean share of `capacity_gbps` that the egress port of `link` sends in the window."""
    data = series.port(run, link)
    start, end = window_ns(run, burst, window_ms)
    return series.mean_per_ms(data.time_ns, data.tx_bytes, start, end) * series.GBPS / capacity_gbps


@metric("Gb/s")
def flows_gbps(run: Run, flows: list[str], window_ms: Sequence[float]) -> float:
    """Sum of :func:`goodput_gbps` of `flows`."""
    return sum(goodput_gbps(run, flow, window_ms) for flow in flows)


@metric("Gb/s")
def link_gbps(run: Run, links: list[str], window_ms: Sequence[float]) -> float:
    """Mean rate that the egress ports of `links` together send in the window, with headers."""
    start, end = window_ns(run, None, window_ms)
    total = 0.0
    for link in links:
        data = series.port(run, link)
        total += series.mean_per_ms(data.time_ns, data.tx_bytes, start, end) * series.GBPS
    return total


@metric("ms")
def throughput_loss_ms(
    run: Run,
    flows: list[str],
    burst: str,
    fair_goodput_gbps: float,
    fraction: float = 0.95,
    bin_ms: float = 1.0,
    hold_ms: float = 10.0,
) -> float:
    """How long the burst costs `flows`, which share a link, part of their throughput.

    Their goodput is added up and averaged in bins of `bin_ms` from the burst start. The loss
    begins with the first bin below `fraction` of what is fair for all of them, and ends with the
    first bin from which the sum stays at or above that level for `hold_ms`; the answer is that
    bin's distance from the burst start. 0 if no bin is below, infinity if the level is never held.

    The sum, because a flow's own share also moves when the flows divide the link anew between
    them; :func:`time_to_fair_ms` measures that.
    """
    start = burst_start_ns(run, burst)
    total = np.zeros(0)
    for name in flows:
        data = series.flow(run, name)
        _, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ms * MS)
        total = total + rate * series.GBPS if len(total) else rate * series.GBPS
    good = total >= fraction * fair_goodput_gbps * len(flows)
    if good.all():
        return 0.0
    first_low = int(np.argmin(good))
    return first_low * bin_ms + settled_ms(good[first_low:], bin_ms, hold_ms)


@metric("MB")
def lost_megabytes(
    run: Run, flows: list[str], burst: str, window_ms: float, fair_goodput_gbps: float
) -> float:
    """Payload that `flows` together lack of their fair share in `window_ms` from the burst."""
    total = sum(goodput_gbps(run, f, (0.0, window_ms), burst) for f in flows)
    return (len(flows) * fair_goodput_gbps - total) * window_ms / 8


@metric("ms")
def time_to_fair_ms(
    run: Run,
    flows: list[str],
    burst: str,
    from_ms: float,
    fair_goodput_gbps: float,
    tolerance: float = 0.1,
    bin_ms: float = 0.2,
    hold_ms: float = 5.0,
) -> float:
    """From `from_ms` after the burst start until all `flows` have their fair share.

    That is: the first bin of `bin_ms` from which every flow's goodput is within `tolerance` of
    `fair_goodput_gbps` for `hold_ms`. Infinity if that never happens.
    """
    start = burst_start_ns(run, burst) + from_ms * MS
    good = None
    for name in flows:
        data = series.flow(run, name)
        _, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ms * MS)
        near = np.abs(rate * series.GBPS / fair_goodput_gbps - 1) <= tolerance
        good = near if good is None else good & near
    return math.inf if good is None else settled_ms(good, bin_ms, hold_ms)


@metric("ms")
def recovered_ms(
    run: Run, flow: str, burst: str, before_ms: float, fraction: float = 0.9, bin_ms: float = 0.05
) -> float:
    """From the end of the last flow of `burst` until `flow` has its goodput back.

    That is until the first bin of `bin_ms` with `fraction` of the goodput in the `before_ms` before
    the burst started; infinity if there is none.
    """
    rows = run.table("flows").filter(pc.field("traffic") == burst)
    if rows.num_rows == 0 or rows.column("fct_ns").null_count:
        raise Unavailable(f"Flows of {burst} did not end under {run.scheme}.")
    end = float(np.max(series.column(rows, "start_ns") + series.column(rows, "fct_ns")))
    data = series.flow(run, flow)
    _, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, end, bin_ms * MS)
    enough = fraction * goodput_gbps(run, flow, (-before_ms, 0.0), burst)
    back = np.flatnonzero(rate * series.GBPS >= enough)
    return float(back[0]) * bin_ms if len(back) else math.inf


@metric("-")
def delivered_max_over_min(run: Run, traffic: str) -> float:
    """Payload delivered by the end for the flow of `traffic` with most, over that with least."""
    rows = run.counted_flows().filter(pc.field("traffic") == traffic)
    if rows.num_rows == 0:
        raise Unavailable(f"No flow of {traffic} started under {run.scheme}.")
    delivered = series.column(rows, "delivered_bytes")
    return float(delivered.max() / delivered.min()) if delivered.min() else math.inf
