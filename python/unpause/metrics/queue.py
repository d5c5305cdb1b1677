"""Queues at egress ports, and bytes held for ingress ports."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS, settled_ms, window_ns
from unpause.statistics.percentiles import percentile


@metric("ms")
def queue_drained_ms(run: Run, link: str, below_bytes: float, hold_ms: float = 1.0) -> float:
    """From the run's start until the queue of `link` has drained.

    After its first sample at or above `below_bytes`: the first sample from which it stays below
    for `hold_ms`. 0 if it is never at or above, infinity if it does not drain.
    """
    data = series.port(run, link)
    good = data.queue_bytes < below_bytes
    if good.all():
        return 0.0
    first = int(np.argmin(good))
    step_ms = (data.time_ns[1] - data.time_ns[0]) / MS
    return data.time_ns[first] / MS + settled_ms(good[first:], step_ms, hold_ms)


@metric("KB")
def mean_queue_kb(
    run: Run, link: str, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Mean of the samples of the queue of `link` in the window."""
    return float(np.mean(_queue_kb(run, link, window_ms, burst)))


@metric("KB")
def largest_queue_kb(
    run: Run, link: str, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Largest sample of the queue of `link` in the window."""
    return float(np.max(_queue_kb(run, link, window_ms, burst)))


@metric("KB")
def smallest_queue_kb(
    run: Run, link: str, window_ms: Sequence[float], burst: str | None = None
) -> float:
    """Smallest sample of the queue of `link` in the window."""
    return float(np.min(_queue_kb(run, link, window_ms, burst)))


@metric("")
def short_queue_share(run: Run, link: str, window_ms: Sequence[float], below_bytes: float) -> float:
    """Share of the samples of the queue of `link` in the window that are below `below_bytes`."""
    return float(np.mean(_queue_kb(run, link, window_ms) < below_bytes / 1e3))


@metric("KB")
def queue_percentile_kb(run: Run, percent: float, window_ms: Sequence[float]) -> float:
    """Percentile of the samples in the window, those of all probed ports together."""
    start, end = window_ns(run, None, window_ms)
    samples = [
        port.queue_bytes[(port.time_ns >= start) & (port.time_ns <= end)]
        for port in series.probed(run).values()
    ]
    together = np.concatenate([np.zeros(0), *samples])
    if not len(together):
        raise Unavailable(f"No port was sampled in the window under {run.scheme}.")
    return percentile(together, percent) / 1e3


def _queue_kb(
    run: Run, link: str, window_ms: Sequence[float], burst: str | None = None
) -> np.ndarray:
    """Samples of the queue of `link` in a window from the burst's start, or from the run's."""
    data = series.port(run, link)
    start, end = window_ns(run, burst, window_ms)
    inside = data.queue_bytes[(data.time_ns >= start) & (data.time_ns <= end)]
    if not len(inside):
        raise Unavailable(f"Port {link} was not sampled in the window under {run.scheme}.")
    return inside / 1e3


@metric("packets")
def mean_queue_packets(
    run: Run, link: str, window_ms: Sequence[float], packet_bytes: float
) -> float:
    """Mean of the samples of the queue of `link` in the window, in packets of `packet_bytes`."""
    return float(np.mean(_queue_kb(run, link, window_ms))) * 1e3 / packet_bytes


@metric("KB")
def largest_ingress_kb(run: Run, links: list[str]) -> float:
    """Most bytes ever held for an ingress port and priority, largest over `links`.

    Link ``A1->S0`` names the ingress of S0 from A1.
    """
    table = run.table("ports")
    largest = 0.0
    for link in links:
        sender, receiver = series.ends(link)
        rows = table.filter((pc.field("node") == receiver) & (pc.field("peer") == sender))
        if rows.num_rows == 0:
            raise Unavailable(f"There is no link {link}.")
        largest = max(largest, float(series.column(rows, "max_ingress_bytes").max()))
    return largest / 1e3
