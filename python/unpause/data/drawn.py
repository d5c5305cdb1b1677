"""Series as a drawing needs them, thinned while their table is read.

A line in a drawing covers some hundred pixels, however many samples it has. Of each line and pixel
the first sample and those with the least and the largest value are kept: a line through them covers
the same pixels. Tables of long runs are read batch by batch and are never whole in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unpause.data.files import NO_BOUNDS, Bounds
from unpause.data.result import Run
from unpause.data.series import codes_of, column

#: Pixels of a line in a drawing, from where anything changes to where nothing does any more.
PIXELS = 300
#: Pixels of a whole run while it is read: where something changes is not known yet.
_PIXELS_READ = 2400


@dataclass(frozen=True)
class Port:
    """A probed egress port over time, priorities added up; the extremes of its queue are kept."""

    time_ns: np.ndarray
    queue_bytes: np.ndarray
    tx_bytes: np.ndarray


@dataclass(frozen=True)
class Flow:
    """A recorded flow over time."""

    flow_id: int
    time_ns: np.ndarray
    delivered_bytes: np.ndarray


def ports(run: Run) -> dict[str, Port]:
    """By link the probed ports."""
    lines = kept(run, "port_series", ("node", "peer"), ("queue_bytes", "tx_bytes"))
    return {f"{node}->{peer}": Port(*line) for (node, peer), line in lines.items()}


def flows(run: Run) -> dict[str, Flow]:
    """By traffic entry its first recorded flow."""
    lines = kept(run, "flow_series", ("traffic", "flow_id"), ("delivered_bytes",))
    found: dict[str, Flow] = {}
    for (traffic, flow_id), line in sorted(lines.items(), key=lambda it: it[0][1]):
        found.setdefault(traffic, Flow(flow_id, *line))
    return found


def flow_counts(run: Run) -> Counter[str]:
    """By traffic entry how many of its flows are recorded."""
    lines = kept(run, "flow_series", ("traffic", "flow_id"), ("delivered_bytes",))
    return Counter(traffic for traffic, _ in lines)


def kept(
    run: Run, table: str, keys: Sequence[str], counters: Sequence[str]
) -> dict[tuple[Any, ...], list[np.ndarray]]:
    """The lines of a run, told apart by `keys`: times, and a value of each counter at each."""
    known = run.result.__dict__.setdefault("_drawn", {})
    what = table, run.run, tuple(counters)
    if what not in known:
        known[what] = _read(run, table, keys, counters)
    return known[what]


def within(
    run: Run,
    table: str,
    line: Mapping[str, Any],
    counters: Sequence[str],
    span_ns: tuple[float, float],
    pixels: int,
) -> list[np.ndarray]:
    """The line with these keys in a window of time, as many points as the pixels need.

    Half of a window more is there on both sides.
    """
    names: dict[tuple[Any, ...], int] = {}
    wide = span_ns[1] - span_ns[0]
    start, end = span_ns[0] - wide / 2, span_ns[1] + wide / 2
    bounds = {"time_ns": (start, end)}
    parts = [np.empty((1 + len(counters), 0))]
    for of, samples in _instants(_batches(run, table, list(line), counters, names, bounds)):
        wanted = of == names.get(tuple(line.values()), -1)
        wanted &= (samples[0] >= start) & (samples[0] <= end)
        ours = samples[:, wanted]
        pixel = ((ours[0] - start) / max(wide / pixels, 1e-3)).astype(np.int32)
        parts.append(_thinned(of[wanted], pixel, ours)[1] if ours.size else ours)
    return list(np.concatenate(parts, axis=1))


def _read(
    run: Run, table: str, keys: Sequence[str], counters: Sequence[str]
) -> dict[tuple[Any, ...], list[np.ndarray]]:
    names: dict[tuple[Any, ...], int] = {}
    pixel_ns = max(float(run.row["simulated_ns"]) / _PIXELS_READ, 1e-3)
    parts = [
        _thinned(line, (samples[0] / pixel_ns).astype(np.int32), samples)
        for line, samples in _instants(_batches(run, table, keys, counters, names))
    ]
    if not parts:
        return {}
    line = np.concatenate([line for line, _ in parts])
    samples = np.concatenate([samples for _, samples in parts], axis=1)
    order = np.argsort(line, kind="stable")
    ends = np.cumsum(np.bincount(line, minlength=len(names)))[:-1]
    each = np.split(samples[:, order], ends, axis=1)
    return {name: list(_where_busy(each[number])) for name, number in names.items()}


def _batches(
    run: Run,
    table: str,
    keys: Sequence[str],
    counters: Sequence[str],
    names: dict[tuple[Any, ...], int],
    bounds: Bounds = NO_BOUNDS,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each batch, the numbers of the lines of its samples, and an array of the samples.

    `names` gets the numbers. The first row of the array is the time.
    """
    for batch in run.batches(table, [*keys, "time_ns", *counters], bounds):
        yield (
            _lines(batch, keys, names),
            np.stack([column(batch, name) for name in ("time_ns", *counters)]),
        )


def _lines(batch: pa.RecordBatch, keys: Sequence[str], names: dict) -> np.ndarray:
    coded = [codes_of(batch.column(name)) for name in keys]
    key = np.zeros(batch.num_rows, dtype=np.int64)
    for codes, values in coded:
        key = key * len(values) + codes
    line, found = codes_of(pa.array(key))
    numbers = []
    for combined in found:
        name = []
        for _, values in reversed(coded):
            combined, code = divmod(combined, len(values))
            name.append(values[code])
        numbers.append(names.setdefault(tuple(reversed(name)), len(names)))
    # Numbers of 16 bit are sorted fastest.
    return np.array(numbers, dtype=np.uint16 if len(names) < 1 << 16 else np.int64)[line]


def _instants(
    batches: Iterator[tuple[np.ndarray, np.ndarray]],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches sorted by line, what was sampled of it in one instant added up.

    A port has a sample for each of its priorities; they may stand in two batches.
    """
    held: tuple[np.ndarray, np.ndarray] | None = None
    for line, samples in batches:
        if held is not None:
            line = np.concatenate([held[0], line])
            samples = np.concatenate([held[1], samples], axis=1)
        time = samples[0]
        others = np.flatnonzero(time != time[-1])
        cut = others[-1] + 1 if len(others) else 0
        held = line[cut:], samples[:, cut:]
        if cut:
            yield _added_up(line[:cut], samples[:, :cut])
    if held is not None:
        yield _added_up(*held)


def _added_up(line: np.ndarray, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(line, kind="stable")
    line, samples = line[order], samples[:, order]
    starts = _starts(line, samples[0])
    if len(starts) == len(line):
        return line, samples
    added = np.add.reduceat(samples, starts, axis=1)
    added[0] = samples[0][starts]
    return line[starts], added


def _where_busy(samples: np.ndarray) -> np.ndarray:
    """One line, thinned to :data:`PIXELS` from its first change to its last."""
    time = samples[0]
    changes = np.flatnonzero(np.any(samples[1:, 1:] != samples[1:, :-1], axis=0))
    if not len(changes):
        return samples[:, [0, -1]] if len(time) > 1 else samples
    first, last = time[changes[0]], time[changes[-1] + 1]
    pixel = np.clip((time - first) / (last - first) * PIXELS, -1, PIXELS).astype(np.int32)
    return _thinned(np.zeros(len(time), np.int32), pixel, samples)[1]


def _thinned(
    line: np.ndarray, pixel: np.ndarray, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each pixel of a line, the first and last sample and those with the extremes of row 1."""
    starts = _starts(line, pixel)
    lengths = np.diff(np.append(starts, len(line)))
    if np.all(lengths <= 3):
        return line, samples
    group = np.repeat(np.arange(len(starts)), lengths)
    kept = [np.flatnonzero(lengths[group] <= 3), starts]
    kept.append(np.flatnonzero(np.append(line[1:] != line[:-1], True)))
    for extreme in (np.fmin, np.fmax):
        at = np.flatnonzero(samples[1] == extreme.reduceat(samples[1], starts)[group])
        kept.append(at[np.append(True, group[at[1:]] != group[at[:-1]])[: len(at)]])
    index = np.unique(np.concatenate(kept))
    return line[index], samples[:, index]


def _starts(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Where a stretch of equal pairs begins."""
    differs = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return np.flatnonzero(np.append(True, differs))
