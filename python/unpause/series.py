"""Time series and PAUSE intervals out of a run's tables, as numpy arrays.

Links are named by direction, ``"S1->S0"``. A PAUSE **on** S1->S0 is a PAUSE frame that S1 sends to
S0, which stops S0's egress toward S1: it counts in the row (node S1, peer S0) of `port_series` and
`ports`, and its duration stands in the rows (node S0, peer S1) of `pauses`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.result import Run

#: Gb/s in one byte per ms.
GBPS = 8e-6


class Unavailable(Exception):
    """The result lacks what is asked for; the message is a sentence for the reader."""


@dataclass(frozen=True)
class FlowSeries:
    """A recorded flow over time. Arrays of the same length, one value for each sample."""

    time_ns: np.ndarray
    controller_bps: np.ndarray
    sent_bytes: np.ndarray
    delivered_bytes: np.ndarray
    notifications: np.ndarray


@dataclass(frozen=True)
class PortSeries:
    """A probed egress port over time, priorities added up. One value for each sample."""

    time_ns: np.ndarray
    queue_bytes: np.ndarray
    tx_bytes: np.ndarray
    pause_frames: np.ndarray
    paused_ns: np.ndarray


def ends(link: str) -> tuple[str, str]:
    """Sender and receiver of a link such as ``"S1->S0"``."""
    node, arrow, peer = link.partition("->")
    if not arrow or not node.strip() or not peer.strip():
        raise Unavailable(f"{link!r} is not a link such as 'S1->S0'.")
    return node.strip(), peer.strip()


def column(table: pa.Table, name: str) -> np.ndarray:
    """A column as float64, missing values as NaN."""
    return np.asarray(pc.cast(table.column(name), pa.float64(), safe=False).to_numpy())


def flow_starts_ns(run: Run, traffic: str) -> np.ndarray:
    """Start times of the flows of one traffic entry, sorted."""
    rows = run.table("flows").filter(pc.field("traffic") == traffic)
    if rows.num_rows == 0:
        raise Unavailable(f"No flow of traffic '{traffic}' started under {run.scheme}.")
    return np.sort(column(rows, "start_ns"))


def recorded(run: Run) -> list[str]:
    """Names of the traffic entries whose flows were recorded, in order of flow."""
    table = run.table("flow_series")
    return list(dict.fromkeys(table.column("traffic").to_pylist())) if table.num_rows else []


def flow(run: Run, traffic: str) -> FlowSeries:
    """The recorded flow of traffic entry `traffic` (its first one, should there be more)."""
    rows = run.table("flow_series").filter(pc.field("traffic") == traffic)
    if rows.num_rows == 0:
        raise Unavailable(
            f"Flow '{traffic}' was not recorded under {run.scheme} (record = true in its entry)."
        )
    first = pc.min(rows.column("flow_id")).as_py()
    rows = rows.filter(pc.field("flow_id") == first)
    return FlowSeries(
        column(rows, "time_ns"),
        column(rows, "controller_rate_bps"),
        column(rows, "sent_bytes"),
        column(rows, "delivered_bytes"),
        column(rows, "notifications"),
    )


def port(run: Run, link: str) -> PortSeries:
    """The probed egress port of link `link`."""
    node, peer = ends(link)
    rows = run.table("port_series").filter((pc.field("node") == node) & (pc.field("peer") == peer))
    if rows.num_rows == 0:
        raise Unavailable(f"Port {link} was not probed under {run.scheme} (probes.ports).")
    time = column(rows, "time_ns")
    instants, index = np.unique(time, return_inverse=True)

    def total(name: str) -> np.ndarray:
        return np.bincount(index, weights=column(rows, name), minlength=len(instants))

    return PortSeries(
        instants,
        total("queue_bytes"),
        total("tx_bytes"),
        total("pause_frames"),
        total("paused_ns"),
    )


def probed(run: Run) -> list[str]:
    """Links of the probed ports, as the scenario lists them, else by name."""
    table = run.table("port_series").select(["node", "peer"]).group_by(["node", "peer"])
    found = [f"{r['node']}->{r['peer']}" for r in table.aggregate([]).to_pylist()]
    asked = run.result.scenario.get("probes", {}).get("ports", [])
    listed = [p for p in asked if p in found]
    return listed + sorted(set(found) - set(listed))


def pauses_ns(run: Run, links: list[str] | tuple[str, ...], since_ns: float = 0.0) -> np.ndarray:
    """PAUSE intervals on any of `links` that end after `since_ns`: array (n, 2), by start.

    Intervals begin no earlier than `since_ns`.
    """
    table = run.table("pauses")
    found = []
    for link in links:
        sender, stopped = ends(link)
        rows = table.filter((pc.field("node") == stopped) & (pc.field("peer") == sender))
        found.append(np.column_stack([column(rows, "start_ns"), column(rows, "end_ns")]))
    every = np.concatenate(found) if found else np.empty((0, 2))
    every = every[every[:, 1] > since_ns]
    every[:, 0] = np.maximum(every[:, 0], since_ns)
    return every[np.argsort(every[:, 0], kind="stable")]


def merged(intervals: np.ndarray, gap_ns: float = 0.0) -> np.ndarray:
    """Join intervals (n, 2), sorted by start, that overlap or lie at most `gap_ns` apart."""
    joined: list[list[float]] = []
    for start, end in intervals:
        if joined and start - joined[-1][1] <= gap_ns:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([start, end])
    return np.array(joined, dtype=float).reshape(-1, 2)


def rate_per_ms(time_ns: np.ndarray, counter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Growth of a counter between samples: middle of each interval (ns), growth per ms.

    For a counter of bytes, times :data:`GBPS` is Gb/s.
    """
    step = np.diff(time_ns)
    return time_ns[:-1] + step / 2, np.diff(counter) * 1e6 / step


def mean_per_ms(time_ns: np.ndarray, counter: np.ndarray, start_ns: float, end_ns: float) -> float:
    """Mean growth per ms of a counter between two instants, interpolated between samples.

    An instant up to one sampling interval outside the series is moved to its nearest sample.
    """
    if len(time_ns) > 1:
        step = time_ns[1] - time_ns[0]
        if time_ns[0] - step <= start_ns < time_ns[0]:
            start_ns = time_ns[0]
        if time_ns[-1] < end_ns <= time_ns[-1] + step:
            end_ns = time_ns[-1]
    if end_ns <= start_ns:
        raise Unavailable("The interval to average over is empty.")
    if len(time_ns) < 2 or start_ns < time_ns[0] or end_ns > time_ns[-1]:
        raise Unavailable(
            f"The series does not cover {start_ns / 1e6:g} to {end_ns / 1e6:g} ms of the run."
        )
    first, last = np.interp([start_ns, end_ns], time_ns, counter)
    return float((last - first) * 1e6 / (end_ns - start_ns))


def binned_per_ms(
    time_ns: np.ndarray, counter: np.ndarray, start_ns: float, bin_ns: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean growth per ms of a counter in whole bins from `start_ns` to the end.

    Answers the start of each bin (ns) and its mean.
    """
    bins = int(np.floor((time_ns[-1] - start_ns) / bin_ns + 1e-9)) if len(time_ns) else 0
    if bins < 1:
        raise Unavailable(f"The series ends before {(start_ns + bin_ns) / 1e6:g} ms.")
    edges = start_ns + bin_ns * np.arange(bins + 1)
    totals = np.interp(edges, time_ns, counter)
    return edges[:-1], np.diff(totals) * 1e6 / bin_ns
