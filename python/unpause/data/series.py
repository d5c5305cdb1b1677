"""Time series and PAUSE intervals out of a run's tables, as numpy arrays.

Links are named by direction, ``"S1->S0"``. A PAUSE **on** S1->S0 is a PAUSE frame that S1 sends to
S0, which stops S0's egress toward S1: it counts in the row (node S1, peer S0) of `port_series` and
`ports`, and its duration stands in the rows (node S0, peer S1) of `pauses`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data.result import Run

#: Gb/s in one byte per ms.
GBPS = 8e-6
#: Samples of whole runs that are kept for the next question.
_KEPT_SAMPLES = 1_000_000


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


def column(table: pa.Table | pa.RecordBatch, name: str) -> np.ndarray:
    """A column as float64, missing values as NaN."""
    values = pc.cast(table.column(name), pa.float64(), safe=False)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    return np.concatenate([np.empty(0), *(with_nan(chunk) for chunk in chunks)])


def rows_of(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Rows of `flow_id`s in the table's column of them, which ascends, not always by 1."""
    rows = np.searchsorted(ids, wanted)
    assert np.array_equal(ids[rows], wanted), "every number has a row"
    return rows


def with_nan(values: pa.DoubleArray) -> np.ndarray:
    """An array with NaN for missing values; pyarrow would import pandas for that."""
    validity, data = values.buffers()
    part = slice(values.offset, values.offset + len(values))
    found = np.frombuffer(data, np.float64)[part].copy()
    if validity is not None:
        bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
        found[bits[part] == 0] = np.nan
    return found


def coded(table: pa.Table, name: str) -> tuple[np.ndarray, list[Any]]:
    """A column of names as numbers, and the name of each; None is one of them."""
    values = table.column(name)
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    array = values.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    names = array.dictionary.to_pylist()
    indices = with_nan(array.indices.cast(pa.float64()))
    return np.nan_to_num(indices, nan=len(names)).astype(int), [*names, None]


def flow_starts_ns(run: Run, traffic: str) -> np.ndarray:
    """Start times of the flows of one traffic entry, sorted."""
    return _kept("_starts_by_run", run, traffic, _flow_starts_ns, len)


def _kept(name: str, run: Run, key: str, read: Callable[[Run, str], Any], size: Callable) -> Any:
    """The answers of `read`, kept for the next call while they are small."""
    cache = run.result.__dict__.setdefault(name, {})
    found = cache.pop((run.run, key), None)
    cache[run.run, key] = found = read(run, key) if found is None else found
    while len(cache) > 1 and sum(map(size, cache.values())) > _KEPT_SAMPLES:
        cache.pop(next(iter(cache)))  # the latest used is the last to go
    return found


def _flow_starts_ns(run: Run, traffic: str) -> np.ndarray:
    rows = run.table("flows").filter(pc.field("traffic") == traffic)
    if rows.num_rows == 0:
        raise Unavailable(f"No flow of traffic '{traffic}' started under {run.scheme}.")
    return np.sort(column(rows, "start_ns"))


def recorded(run: Run) -> list[str]:
    """Names of the traffic entries whose flows were recorded, in order of flow."""
    table = run.columns("flow_series", ["traffic"])
    return pc.unique(table.column("traffic")).to_pylist() if table.num_rows else []


def flow(run: Run, traffic: str) -> FlowSeries:
    """The recorded flow of traffic entry `traffic` (its first one, should there be more)."""
    return _kept("_flows_by_run", run, traffic, _flow, lambda it: len(it.time_ns))


def _flow(run: Run, traffic: str) -> FlowSeries:
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
    ends(link)
    found = probed(run).get(link.replace(" ", ""))
    if found is None:
        raise Unavailable(f"Port {link} was not probed under {run.scheme} (probes.ports).")
    return found


def probed(run: Run) -> dict[str, PortSeries]:
    """By link the probed ports of a run, whose table is gone through once."""
    return _kept("_ports_by_run", run, "", lambda run, _: _grouped(run), _samples)


def _samples(ports: dict[str, PortSeries]) -> int:
    return sum(len(data.time_ns) for data in ports.values())


def _grouped(run: Run) -> dict[str, PortSeries]:
    """By link the samples of a run.

    One column is read after the other: all of a long run at once would take several times the
    memory.
    """
    table = run.columns("port_series", ["node", "peer"])
    rows = {f"{node}->{peer}": each for (node, peer), each in groups(table, ["node", "peer"])}
    del table
    time = column(run.columns("port_series", ["time_ns"]), "time_ns")
    sums = {link: _Instants(time[each]) for link, each in rows.items()}
    del time
    found: dict[str, dict[str, np.ndarray]] = {link: {} for link in rows}
    for name in ("queue_bytes", "tx_bytes", "pause_frames", "paused_ns"):
        values = column(run.columns("port_series", [name]), name)
        for link, each in rows.items():
            found[link][name] = sums[link].add_up(values[each])
    return {link: PortSeries(sums[link].time_ns, **each) for link, each in found.items()}


class _Instants:
    """The sampling instants of a port, each with a sample of one or several priorities."""

    def __init__(self, time_ns: np.ndarray) -> None:
        self.time_ns, self._of = time_ns, None
        if not np.all(time_ns[1:] > time_ns[:-1]):
            self.time_ns, of = np.unique(time_ns, return_inverse=True)
            self._of = of.astype(np.int32)

    def add_up(self, values: np.ndarray) -> np.ndarray:
        """Those of one instant."""
        if self._of is None:
            return values
        return np.bincount(self._of, weights=values, minlength=len(self.time_ns))


def groups(table: pa.Table, names: list[str]) -> Iterator[tuple[tuple[Any, ...], np.ndarray]]:
    """The rows that are alike in the columns `names`: their values there, and their indices."""
    if table.num_rows == 0:
        return
    coded = [_codes(table, name) for name in names]
    several = np.prod([len(values) for _, values in coded], dtype=float)
    key = np.zeros(table.num_rows, dtype=np.int32 if several < 2**31 else np.int64)
    for codes, values in coded:
        key *= len(values)
        key += codes
    order = np.argsort(key, kind="stable").astype(np.int32)
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    for rows in np.split(order, cuts):
        yield tuple(values[codes[rows[0]]] for codes, values in coded), rows


def codes(table: pa.Table, name: str) -> np.ndarray:
    """A column as numbers that are alike where its values are."""
    return _codes(table, name)[0]


def _codes(table: pa.Table, name: str) -> tuple[np.ndarray, list[Any]]:
    values = table.column(name)
    if pa.types.is_dictionary(values.type):  # maybe others from chunk to chunk
        values = values.unify_dictionaries()
    else:
        values = values.dictionary_encode()
    array = values.combine_chunks()
    return codes_of(array.chunk(0) if isinstance(array, pa.ChunkedArray) else array)


def codes_of(values: pa.Array) -> tuple[np.ndarray, list[Any]]:
    """An array as numbers, and the value of each number."""
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    return values.indices.to_numpy(), values.dictionary.to_pylist()


def pauses_ns(run: Run, links: list[str] | tuple[str, ...], since_ns: float = 0.0) -> np.ndarray:
    """PAUSE intervals on any of `links` that end after `since_ns`: array (n, 2), by start.

    An interval begins when PAUSE takes effect, which may be before it holds its port, and no
    earlier than `since_ns`.
    """
    table = run.table("pauses")
    found = []
    for link in links:
        sender, stopped = ends(link)
        rows = table.filter((pc.field("node") == stopped) & (pc.field("peer") == sender))
        found.append(np.column_stack([column(rows, "obeyed_ns"), column(rows, "end_ns")]))
    every = np.concatenate(found) if found else np.empty((0, 2))
    every = every[every[:, 1] > since_ns]
    every[:, 0] = np.maximum(every[:, 0], since_ns)
    return every[np.argsort(every[:, 0], kind="stable")]


def pauses_by_link(run: Run, span_ns: tuple[float, float] | None = None) -> dict[str, np.ndarray]:
    """By link the PAUSE intervals of a run, of all priorities: arrays (n, 2), by start.

    With a span of time only those that reach into it.
    """
    names = ["node", "peer", "start_ns", "end_ns"]
    if span_ns is None:
        table = run.columns("pauses", names)
    else:
        bounds = {"start_ns": (-np.inf, span_ns[1]), "end_ns": (span_ns[0], np.inf)}
        parts = []
        for batch in run.batches("pauses", names, bounds):
            inside = column(batch, "start_ns") <= span_ns[1]
            inside &= column(batch, "end_ns") >= span_ns[0]
            parts.append(batch.take(pa.array(np.flatnonzero(inside))))
        table = pa.Table.from_batches(parts) if parts else run.columns("pauses", names).slice(0, 0)
    every = np.column_stack([column(table, "start_ns"), column(table, "end_ns")])
    found = {}
    for (node, peer), rows in groups(table, ["node", "peer"]):
        ours = every[rows]
        found[f"{peer}->{node}"] = ours[np.argsort(ours[:, 0], kind="stable")]
    return found


def paused_by_link(run: Run) -> dict[str, float]:
    """By link that was paused for how long (ns), all priorities added up; from the totals."""
    table = run.table("ports").select(["node", "peer", "paused_ns"])
    table = table.filter(pc.field("paused_ns") > 0)
    total = table.group_by(["node", "peer"]).aggregate([("paused_ns", "sum")])
    return {f"{r['peer']}->{r['node']}": r["paused_ns_sum"] for r in total.to_pylist()}


def time_within(intervals: np.ndarray, until_ns: np.ndarray) -> np.ndarray:
    """Time up to each of `until_ns` that lies within `intervals`, which do not overlap (ns)."""
    lengths = np.cumsum(intervals[:, 1] - intervals[:, 0])
    # It is linear between the ends of intervals.
    inside = np.repeat(np.concatenate([[0.0], lengths]), 2)[1:-1]
    return np.interp(until_ns, intervals.ravel(), inside)


def merged(intervals: np.ndarray, gap_ns: float = 0.0) -> np.ndarray:
    """Join intervals (n, 2), sorted by start, that overlap or lie at most `gap_ns` apart."""
    if not len(intervals):
        return np.empty((0, 2))
    start, end = intervals[:, 0], np.maximum.accumulate(intervals[:, 1])
    first = np.flatnonzero(np.concatenate([[True], start[1:] - end[:-1] > gap_ns]))
    last = np.append(first[1:], len(start)) - 1
    return np.column_stack([start[first], end[last]]).astype(float)


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
