"""ECN#: flow completion times, normalised to one scheme as in the paper, and absolute."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import metrics
from unpause.data import schemes
from unpause.data.result import Result, Run
from unpause.figures.registry import draws
from unpause.figures.seeds import spread
from unpause.figures.style import (
    DASHES,
    LINES,
    WIDTH,
    NothingToDraw,
    at_least,
    from_zero,
    legend,
    note,
)

_MARKERS = ("o", "s", "^", "D", "v", "P")
#: Sizes below which a flow is short, and above which it is large, in bytes.
SHORT, LARGE = 100e3, 10e6


@dataclass(frozen=True)
class Measure:
    """FCT of the flows of some size."""

    title: str
    statistic: Literal["mean", "p99"]
    above: float = 0
    below: float = math.inf

    def __call__(self, run: Run) -> float:
        """In ms."""
        return metrics.fct_of_size_ms(run, self.statistic, self.above, self.below)


MEASURES = (
    Measure("all, mean", "mean"),
    Measure("short, mean", "mean", below=SHORT),
    Measure("short, p99", "p99", below=SHORT),
    Measure("large, mean", "mean", above=LARGE),
)


@draws("ecn-sharp-fct", "ECN#: FCT by size and load")
def draw(result: Result) -> Figure:
    """FCT over load: over that of a reference scheme above, in ms below. Median of the seeds."""
    _need(result, "load")
    reference = _reference(result)
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.subplots(2, len(MEASURES), sharex=True)
    for column, measure in enumerate(MEASURES):
        relative, absolute = axes[0][column], axes[1][column]
        _lines(relative, result, lambda r, m=measure: m(r) / m(_twin(r, reference)))
        _lines(absolute, result, measure)
        relative.set_title(measure.title, fontweight="bold")
        relative.tick_params(labelbottom=False)
        # Not even 1 % is to fill a panel.
        at_least(relative, 0.95, 1.05)
        from_zero(absolute)
        absolute.set_xlabel("load")
    axes[0][0].set_ylabel(f"FCT over that of {reference}")
    axes[1][0].set_ylabel("FCT (ms)")
    legend(figure, list(np.ravel(axes)))
    _say(figure, result)
    return figure


@draws("ecn-sharp-t2", "ECN# Fig. 2: FCT by threshold")
def draw_t2(result: Result) -> Figure:
    """Fig. 2: FCT over the threshold K, over that at the smallest K."""
    thresholds = [k for k in range(10, 1000, 10) if f"RED {k} KB" in result.schemes]
    if not thresholds:
        raise NothingToDraw("There are no schemes such as RED 50 KB.")
    smallest = f"RED {thresholds[0]} KB"
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for i, measure in enumerate(MEASURES):
        for ax, scaled in zip(axes, (True, False), strict=True):
            points = [
                (
                    k,
                    *spread(
                        result.runs_of(f"RED {k} KB"),
                        lambda r, m=measure, s=scaled: m(r) / (m(_twin(r, smallest)) if s else 1),
                    ),
                )
                for k in thresholds
            ]
            _line(ax, points, i, measure.title)
    for ax in axes:
        ax.set_xlabel("threshold K (KB)")
    axes[0].set_ylabel(f"FCT over that at {thresholds[0]} KB")
    axes[1].set_ylabel("FCT (ms)")
    from_zero(axes[1])
    legend(figure, list(axes))
    _say(figure, result)
    return figure


@draws("ecn-sharp-t3", "ECN# Fig. 3: FCT by spread of the RTTs")
def draw_t3(result: Result) -> Figure:
    """Fig. 3: what RED-Tail's threshold costs and gains over RED-AVG's, by spread of the RTTs."""
    spreads = _spreads(result, "RED-Tail", "RED-AVG")
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots(1, 2)
    for i, measure in enumerate((MEASURES[0], MEASURES[2])):
        ratio = [
            spread(
                result.runs_of(f"RED-Tail {k}x"),
                lambda r, m=measure, k=k: m(r) / m(_twin(r, f"RED-AVG {k}x")),
            )
            for k in spreads
        ]
        _line(axes[0], [(k, *r) for k, r in zip(spreads, ratio, strict=True)], i, measure.title)
        for name, style in (("RED-AVG", "o--"), ("RED-Tail", "s-")):
            value = [spread(result.runs_of(f"{name} {k}x"), measure)[0] for k in spreads]
            axes[1].plot(
                spreads,
                value,
                style,
                markersize=3,
                color=axes[0].lines[-1].get_color(),
                label=f"{name}, {measure.title}",
            )
    axes[0].axhline(1, color="#9A9A9A", linewidth=0.8)
    axes[0].set_ylabel("RED-Tail over RED-AVG")
    axes[1].set_ylabel("FCT (ms)")
    from_zero(axes[1])
    for ax in axes:
        ax.set_xlabel("largest RTT over smallest")
        ax.set_xticks(spreads)
    legend(figure, list(axes))
    _say(figure, result)
    return figure


@draws("ecn-sharp-t7", "ECN# Fig. 11: FCT by spread of the RTTs")
def draw_t7(result: Result) -> Figure:
    """Fig. 11: ECN# over RED-Tail, by load, for each spread of the RTTs."""
    _need(result, "load")
    spreads = _spreads(result, "ECN#", "RED-Tail")
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, measure in zip(axes, (MEASURES[0], MEASURES[1], MEASURES[2]), strict=True):
        for i, k in enumerate(spreads):
            points = _by_value(
                result.runs_of(f"ECN# {k}x"),
                "load",
                lambda r, m=measure, k=k: m(r) / m(_twin(r, f"RED-Tail {k}x")),
            )
            _line(ax, points, i, f"RTTs differ {k}x")
        ax.axhline(1, color="#9A9A9A", linewidth=0.8)
        ax.set_title(measure.title, fontweight="bold")
        ax.set_xlabel("load")
    axes[0].set_ylabel("FCT of ECN# over RED-Tail")
    legend(figure, list(axes))
    _say(figure, result)
    return figure


@draws("ecn-sharp-s5", "ECN# Fig. 18: sensitivity")
def draw_s5(result: Result) -> Figure:
    """Fig. 18: mean FCT of all flows over that at 10 us and 240 us, by pst_target."""
    for column in ("pst_target_us", "pst_interval_us"):
        _need(result, column)
    runs = result.runs_of(result.schemes[0])
    intervals = sorted({r.row["pst_interval_us"] for r in runs})
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, measure in zip(axes, MEASURES[:3], strict=True):
        for i, interval in enumerate(intervals):
            points = _by_value(
                [r for r in runs if r.row["pst_interval_us"] == interval],
                "pst_target_us",
                lambda r, m=measure: m(r) / m(_twin(r, pst_target_us=10, pst_interval_us=240)),
            )
            _line(ax, points, i, f"pst_interval {interval:g} us")
        ax.axhline(1, color="#9A9A9A", linewidth=0.8)
        ax.set_title(measure.title, fontweight="bold")
        ax.set_xlabel("pst_target (us)")
    axes[0].set_ylabel("FCT over that at 10 us, 240 us")
    legend(figure, list(axes))
    return figure


def _say(figure: Figure, result: Result) -> None:
    """Below the panels: which flows are short and large, and what lines and bands are."""
    text = "Short: less than 100 KB; large: more than 10 MB."
    seeds = len(set(result.runs.column("seed").to_pylist()))
    if seeds > 1:
        text += f" Median of {seeds} seeds; bands from the lowest to the highest."
    note(figure, text)


def _need(result: Result, column: str) -> None:
    if column not in result.sweep_columns:
        raise NothingToDraw(f"The result has no swept column '{column}'.")


def _reference(result: Result) -> str:
    """RED-Tail, or the first scheme without ECN#."""
    if "RED-Tail" in result.schemes:
        return "RED-Tail"
    plain = [s for s in result.schemes if "ECN#" not in s]
    if not plain:
        raise NothingToDraw("There is no scheme without ECN# to compare with.")
    return plain[0]


def _twin(run: Run, scheme: str | None = None, **values: float) -> Run:
    """The run that differs from `run` in its scheme, or in these swept values, only."""
    columns = run.result.sweep_columns
    wanted = {c: run.row[c] for c in columns} | values | {"seed": run.row["seed"]}
    for other in run.result.runs_of(scheme or run.scheme):
        if all(other.row[c] == v for c, v in wanted.items()):
            return other
    raise NothingToDraw(f"There is no run of {scheme or run.scheme} to compare with.")


def _spreads(result: Result, *names: str) -> list[int]:
    """The k of the schemes `NAME kx` that all of `names` have."""
    found = [k for k in range(2, 10) if all(f"{n} {k}x" in result.schemes for n in names)]
    if not found:
        raise NothingToDraw(f"There are no schemes such as {names[0]} 3x.")
    return found


def _by_value(
    runs: Sequence[Run], column: str, measure: Callable[[Run], float]
) -> list[tuple[float, float, float, float]]:
    """Swept value, median, lowest and highest, in order of the value."""
    values = sorted({r.row[column] for r in runs})
    return [(v, *spread([r for r in runs if r.row[column] == v], measure)) for v in values]


def _lines(ax: Axes, result: Result, measure: Callable[[Run], float]) -> None:
    colour = schemes.colours(result.schemes)
    for i, scheme in enumerate(result.schemes):
        points = _by_value(result.runs_of(scheme), "load", measure)
        _line(ax, points, i, scheme, colour[scheme])


def _line(
    ax: Axes,
    points: Sequence[tuple[float, float, float, float]],
    index: int,
    label: str,
    color: str | None = None,
) -> None:
    x, median, low, high = np.array(points).T
    color = color or LINES[index % len(LINES)]
    ax.fill_between(x, low, high, color=color, alpha=0.12, linewidth=0)
    ax.plot(
        x,
        median,
        color=color,
        linestyle=DASHES[index % len(DASHES)],
        marker=_MARKERS[index % len(_MARKERS)],
        markersize=3,
        label=label,
    )
