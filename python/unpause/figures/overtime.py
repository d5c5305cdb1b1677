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
    """Ends the time axes where nothing happens any more, and labels them.

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
    return f"Axis cut where nothing changes any more; the run lasts {whole / size:g} {unit}."


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


def scale(series: Mapping[str, np.ndarray]) -> float:
    """Largest value of several lines; 0 for none."""
    return max((float(np.max(values)) for values in series.values() if len(values)), default=0.0)
