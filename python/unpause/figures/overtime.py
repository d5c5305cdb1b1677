"""Parts of figures over time: which runs, which stretch of time, and lines of several schemes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from unpause.data import schemes
from unpause.data.result import Result, Run
from unpause.figures.style import NothingToDraw, widths
from unpause.text import time_unit, value_text


@dataclass(frozen=True)
class Shown:
    """The runs of a figure over time, and a note on those left out."""

    runs: list[Run]
    note: str

    @property
    def looks(self) -> dict[str, schemes.Look]:
        """How each scheme is drawn."""
        return schemes.looks([run.scheme for run in self.runs])

    @property
    def widths(self) -> dict[str, float]:
        """Width of each scheme's line; the first is the widest and lies lowest."""
        wide = widths(len(self.runs))
        return {run.scheme: width for run, width in zip(self.runs, wide, strict=True)}


def shown(result: Result) -> Shown:
    """One run of each scheme, the first of several seeds; as many schemes as have room.

    Raises:
        NothingToDraw: something else than the seed is swept.
    """
    axes = result.axes
    if axes:
        raise NothingToDraw(
            f"This result has {result.runs.num_rows} runs over {', '.join(axes)}; figures over "
            "time show one run for each scheme."
        )
    return first(result)


def first(result: Result) -> Shown:
    """The first run of each scheme that is shown; of a sweep at its first point."""
    runs = [result.runs_of(scheme)[0] for scheme in result.schemes]
    notes = []
    if result.axes:
        point = ", ".join(f"{axis} = {value_text(axis, runs[0].row[axis])}" for axis in result.axes)
        notes.append(f"At {point}, the first of {len(_points(result))} points.")
    elif result.runs.num_rows > len(runs):
        notes.append(f"Seed {runs[0].row['seed']} of {result.runs.num_rows // len(runs)}.")
    if len(runs) > schemes.MOST_TOGETHER:
        notes.append(f"The first {schemes.MOST_TOGETHER} of {len(runs)} schemes.")
    return Shown(runs[: schemes.MOST_TOGETHER], " ".join(notes))


def _points(result: Result) -> set[tuple[float, ...]]:
    rows = result.runs.select(result.axes).to_pylist()
    return {tuple(row.values()) for row in rows}


def limit(axes: Iterable[Axes], spans: Iterable[tuple[float, float]], runs: list[Run]) -> str:
    """Cuts the time axes to where something happens, and labels them.

    `spans` are the first and the last instant (ns) at which something happens in a line. Answers
    a sentence if that is less than 9/10 of the run.
    """
    axes = list(axes)
    whole = max((float(run.row["simulated_ns"]) for run in runs), default=0.0)
    found = [s for s in spans if s[1] > s[0]]
    first = min((s[0] for s in found), default=0.0)
    last = max((s[1] for s in found), default=whole)
    whole = max(whole, last)
    room = 0.05 * (last - first)
    first, last = max(0.0, first - room), min(whole, last + room)
    if first < 0.1 * last:
        first = 0.0
    size, unit = time_unit(last)
    for ax in axes:
        ax.set_xlim(first / size, last / size)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        if ax.xaxis.get_tick_params().get("labelbottom", True):
            ax.set_xlabel(f"time ({unit})")
    if last - first >= 0.9 * whole:
        return ""
    if not first:
        cut = "The axis ends where nothing changes any more"
    elif last >= whole:
        cut = "The axis begins where the first change is"
    else:
        cut = "The axis is cut before the first and after the last change"
    return f"{cut}; the run lasts {value_text('simulated_ns', whole)}."


def unit_of(runs: Iterable[Run], spans: Iterable[tuple[float, float]]) -> float:
    """Nanoseconds in the unit that :func:`limit` will choose."""
    spans = [s for s in spans if s[1] > s[0]]
    whole = max((float(run.row["simulated_ns"]) for run in runs), default=0.0)
    first = min((s[0] for s in spans), default=0.0)
    last = max((s[1] for s in spans), default=whole)
    return time_unit(min(max(whole, last), last + 0.05 * (last - first)))[0]


def span_of(time_ns: np.ndarray, busy: np.ndarray) -> tuple[float, float]:
    """From the first to the last sample at which `busy` is true, one sample more at each end."""
    at = np.flatnonzero(busy)
    if not len(at):
        return 0.0, 0.0
    return float(time_ns[max(0, at[0] - 1)]), float(time_ns[min(len(time_ns) - 1, at[-1] + 1)])


def step_of(times: Iterable[np.ndarray]) -> float | None:
    """The sampling interval (ns): the least distance of two samples of a line; None without two.

    Lines that :mod:`unpause.data.drawn` has thinned lack most samples in which nothing changes.
    """
    return min((float(np.diff(each).min()) for each in times if len(each) > 1), default=None)


def with_beginning(
    time_ns: np.ndarray, values: np.ndarray, begun_ns: float, step_ns: float
) -> tuple[np.ndarray, np.ndarray]:
    """The samples, and the 0 before the first one if that is the first since `begun_ns`."""
    before = float(time_ns[0]) - step_ns
    if before > begun_ns + 1e-3 or time_ns[0] <= 0:
        return time_ns, values
    return np.append(max(0.0, before), time_ns), np.append(0.0, values)


@dataclass(frozen=True)
class Binned:
    """A value for each bin between `edges` (ns)."""

    edges: np.ndarray
    values: np.ndarray

    def over(self, divisors: np.ndarray | float) -> Binned:
        """The values, each divided by its divisor."""
        return Binned(self.edges, self.values / divisors)

    @property
    def lengths(self) -> np.ndarray:
        """Length of each bin (ns)."""
        return np.diff(self.edges)

    @property
    def mean(self) -> float:
        """Mean of the values over time."""
        return float(np.average(self.values, weights=self.lengths))

    @property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """Times (ns) and values as a line from the first edge to the last."""
        middle = self.edges[:-1] + self.lengths / 2
        return (
            np.concatenate([self.edges[:1], middle, self.edges[-1:]]),
            np.concatenate([self.values[:1], self.values, self.values[-1:]]),
        )

    @property
    def span(self) -> tuple[float, float]:
        """From the first to the last bin with a value above 0, one bin more at each end."""
        busy = self.values > 0
        return span_of(self.edges, np.append(busy, False) | np.append(False, busy))


def bin_of(counters: Iterable[tuple[np.ndarray, np.ndarray]], step_ns: float, most: int) -> float:
    """Length (ns) of bins of whole sampling intervals, about `most` while any counter grows.

    With more points than pixels, a line shows the noise of single packets.
    """
    spans = [span_of(time_ns, np.diff(counter, append=counter[-1]) > 0)
             for time_ns, counter in counters]  # fmt: skip
    found = [s for s in spans if s[1] > s[0]]
    span = max((s[1] for s in found), default=0.0) - min((s[0] for s in found), default=0.0)
    return step_ns * max(1, round(span / most / step_ns))


def binned(time_ns: np.ndarray, counter: np.ndarray, bin_ns: float) -> Binned:
    """Growth of a counter in bins of `bin_ns`, of which the last ends with the samples."""
    start, end = float(time_ns[0]), float(time_ns[-1])
    edges = start + bin_ns * np.arange(max(1, round((end - start) / bin_ns)) + 1)
    edges[-1] = end
    return Binned(edges, np.diff(np.interp(edges, time_ns, counter)))


def scale(series: Mapping[str, np.ndarray]) -> float:
    """Largest value of several lines; 0 for none."""
    return max((float(np.max(values)) for values in series.values() if len(values)), default=0.0)
