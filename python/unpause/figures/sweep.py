"""A sweep: each measure over the swept value, or as a heat map over two of them."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure

from unpause.data import schemes
from unpause.data.result import Result
from unpause.figures.registry import draws
from unpause.figures.style import (
    BOUND_MARKER,
    NothingToDraw,
    grid,
    legend,
    log_ticks,
    note,
    panel_axes,
    side_by_side,
    widths,
)
from unpause.statistics.intervals import CONFIDENCE, Interval, is_range
from unpause.sweeps.grouped import Group, Runs
from unpause.sweeps.recorded import AT_LEAST, Measure, done_percent
from unpause.text import value_text

_MOST_PANELS = 8
_MOST_MAPS = 12
#: A longer key does not fit beside a heat map, characters.
_LONG_NAME = 24
#: Height of a character of a label beside a heat map, inches.
_CHARACTER = 0.062
#: A scale is logarithmic if its largest value is more than this many times its smallest.
_WIDE = 30
#: A heat map shows the first measure that differs between runs and begins so.
_MAPPED = ("slowdown p9", "slowdown max", "FCT p9", "FCT max", "FCT mean", "time paused")
#: What bands and bars are.
_SPREAD = f"{100 * CONFIDENCE:.0f} % intervals, or the least and the most where seeds differ much"
#: What a note says about lower bounds.
_OF_BOUNDS = "lower bounds, because flows or iterations did not finish"


@draws("sweep", "Results over swept values", place=-1)
def draw(result: Result) -> Figure:
    """Mean of each measure over the swept value, seeds as a band, or a heat map over two values."""
    if result.runs.num_rows == len(result.schemes):
        raise NothingToDraw("Each scheme has one run; nothing is swept.")
    return draw_runs(Runs.of_result(result))


def draw_runs(runs: Runs) -> Figure:
    """The figure of a sweep's runs.

    Raises:
        NothingToDraw: nothing differs from run to run.
    """
    swept = [axis for axis in range(len(runs.axes)) if len(runs.values(axis)) > 1]
    measures = runs.varying() if swept else runs.telling()
    if not measures:
        raise NothingToDraw("All runs gave the same result.")
    if len(swept) == 2:
        first = [m for name in _MAPPED for m in measures if m.name.startswith(name)] or measures
        return _maps(runs, swept, first[0])
    if len(swept) > 2:
        raise NothingToDraw(f"{len(swept)} values are swept; figures show one or two of them.")
    if not swept:
        return _dots(runs, measures[:_MOST_PANELS])
    return _lines(runs, swept[0], measures[:_MOST_PANELS])


def _lines(runs: Runs, axis: int, measures: list[Measure]) -> Figure:
    groups = schemes.together(runs.schemes)
    figure, panels = grid(len(measures) * len(groups), 2, panel_height=1.9)
    values = runs.values(axis)
    x = _positions(values)
    for ax, (group, measure) in zip(
        panels, [(g, m) for g in groups for m in measures], strict=True
    ):
        look = schemes.looks(group)
        found = {
            scheme: [(g.values[axis], _ends(g, measure)) for g in runs.of_scheme(scheme)]
            for scheme in group
        }
        most = max(
            (i.high for line in found.values() for _, i in line if not math.isnan(i.mean)),
            default=0.0,
        )  # fmt: skip
        factor, unit = measure.unit(most)
        # Nothing lies between names: no lines, and schemes stand side by side.
        beside = np.zeros(len(group)) if _numbers(values) else side_by_side(len(group))
        for scheme, width, aside in zip(group, widths(len(group)), beside, strict=True):
            line = [(x[value] + aside, i) for value, i in found[scheme] if not math.isnan(i.mean)]
            line.sort(key=lambda point: point[0])
            at = [place for place, _ in line]
            ax.plot(
                at,
                [i.mean / factor for _, i in line],
                color=look[scheme].colour,
                marker=look[scheme].marker,
                markersize=3.5,
                linestyle="-" if _numbers(values) else "none",
                linewidth=width,
                label=scheme,
                clip_on=False,
            )
            if any(i.low < i.high for _, i in line):
                low = [i.low / factor for _, i in line]
                high = [i.high / factor for _, i in line]
                if _numbers(values):
                    ax.fill_between(
                        at, low, high, color=look[scheme].colour, alpha=0.18, linewidth=0
                    )
                else:
                    ax.vlines(at, low, high, color=look[scheme].colour, linewidth=1)
            for bound in (g for g in runs.of_scheme(scheme) if g.bound(measure)):
                at_least = bound.interval(measure).mean / factor
                place = x[bound.values[axis]] + aside
                ax.plot(place, at_least, color=look[scheme].colour, **BOUND_MARKER)
        ax.set_title(f"{measure.name}{f' ({unit})' if unit else ''}", fontweight="bold")
        ax.set_ylim(measure.least / factor, 101 if unit == "%" else None)
        _label(ax, runs.axes[axis], values)
        if len(groups) > 1:
            ax.legend(fontsize=6)
    if len(groups) == 1:
        legend(figure, panels)
    seeds = (
        f"Means of {runs.seeds} seeds; {'bands' if _numbers(values) else 'bars'}: {_SPREAD}."
        if runs.seeds > 1
        else "One seed: noise cannot be estimated."
    )
    note(figure, seeds, _note_on_bounds(runs, measures))
    return figure


def _ends(group: Group, measure: Measure) -> Interval:
    """The mean, and between which ends it is drawn: of one seed and of a bound, none.

    Those of its interval where such a number can be; where that says little, those of the seeds.
    """
    interval, values = group.interval(measure), list(group.by_seed(measure).values())
    if group.bound(measure) or interval.count < 2:
        return Interval(interval.mean, interval.mean, interval.mean, 1)
    if is_range(values):
        return Interval(interval.mean, min(values), max(values), interval.count)
    least, most = min(measure.least, *values), max(measure.most, *values)
    return Interval(
        interval.mean, max(interval.low, least), min(interval.high, most), interval.count
    )


def _note_on_bounds(runs: Runs, measures: list[Measure], marker: str = "Triangles") -> str:
    """What bounds among the numbers are, and which share of flows finished."""
    groups = [g for g in runs.groups if any(map(g.bound, measures))]
    if not groups:
        return ""
    done = [done_percent(row) for group in groups for row in group.rows]
    least = min((percent for percent in done if percent is not None), default=None)
    finished = "" if least is None else f"; at worst {_below(least)} finished"
    return f"{marker}: {_OF_BOUNDS}{finished}."


def _below(share: float) -> str:
    """A share of flows that is not all of them, and does not look so: 99.96 %, 91 %."""
    digits = next(n for n in range(1, 9) if n == 8 or round(share, n) < 100) if share > 99 else 0
    return f"{share:.{digits}f} %"


def _positions(values: list) -> dict:
    """The positions of values: as numbers, or one beside the other."""
    if _numbers(values):
        return {value: float(value) for value in values}
    return {value: float(place) for place, value in enumerate(values)}


def _numbers(values: list) -> bool:
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _label(ax, name: str, values: list) -> None:
    if ax.xaxis.get_tick_params().get("labelbottom", True):
        ax.set_xlabel(name)
    if not _numbers(values):
        ax.set_xticks(range(len(values)), [str(value) for value in values])
        return
    if len(values) > 2 and min(values) > 0 and max(values) / min(values) > _WIDE:
        ax.set_xscale("log")
        log_ticks(ax.xaxis)
    shown = values if len(values) <= 7 else list(ax.get_xticks())
    low, high = ax.get_xlim()
    shown = [value for value in shown if low <= value <= high]
    ax.set_xticks(shown, [value_text(name, value) for value in shown])
    ax.minorticks_off()


def _dots(runs: Runs, measures: list[Measure]) -> Figure:
    """No swept value but seeds: a row for each scheme, its mean and interval."""
    names = runs.schemes
    figure, axes = panel_axes(len(measures), 3, 0.17 * len(names) + 0.9, sharey=True)
    for ax, measure in zip(axes, measures, strict=True):
        found = {g.scheme: _ends(g, measure) for g in runs.groups}
        bounds = {g.scheme for g in runs.groups if g.bound(measure)}
        most = max((abs(i.mean) for i in found.values() if not math.isnan(i.mean)), default=0.0)
        factor, unit = measure.unit(most)
        for y, scheme in enumerate(names):
            interval = found[scheme]
            if math.isnan(interval.mean):
                ax.text(0.02, y, "-", va="center", transform=ax.get_yaxis_transform())
                continue
            down, up = interval.mean - interval.low, interval.high - interval.mean
            ax.errorbar(
                [interval.mean / factor], [y], xerr=[[down / factor], [up / factor]],
                marker=">" if scheme in bounds else "o", markersize=4,
                color="#0072B2", capsize=2, clip_on=False,
            )  # fmt: skip
        ax.set_title(f"{measure.name}{f' ({unit})' if unit else ''}", fontweight="bold")
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.5, -0.5)
        ax.margins(x=0.1)
        left, right = ax.get_xlim()
        ax.set_xlim(max(left, measure.least / factor), min(right, measure.most / factor))
    note(
        figure,
        f"Means of {runs.seeds} seeds; bars: {_SPREAD}.",
        _note_on_bounds(runs, measures),
    )
    return figure


def _maps(runs: Runs, swept: list[int], measure: Measure) -> Figure:
    """A heat map for each scheme, all with one scale."""
    across, down = swept
    if len(runs.values(across)) < len(runs.values(down)):
        across, down = down, across
    xs, ys = runs.values(across), runs.values(down)
    names = runs.schemes[:_MOST_MAPS]
    maps, bounds = {}, {}
    for scheme in names:
        cells = np.full((len(ys), len(xs)), np.nan)
        signs = np.full(cells.shape, "", dtype=object)
        for group in runs.of_scheme(scheme):
            place = ys.index(group.values[down]), xs.index(group.values[across])
            cells[place] = group.interval(measure).mean
            signs[place] = group.bound(measure)
        maps[scheme], bounds[scheme] = cells, signs
    every = np.concatenate([cells.ravel() for cells in maps.values()])
    least, most = float(np.nanmin(every)), float(np.nanmax(every))
    short = _shortened(runs.axes)
    height = max(0.26 * len(ys), _CHARACTER * len(short[down])) + 0.7
    figure, axes = panel_axes(len(names), 3 if len(xs) <= 4 else 2, height, 0.5)
    factor, unit = measure.unit(most)
    norm = _scale(least / factor, most / factor)
    image = None
    for ax, scheme in zip(axes, names, strict=True):
        image = ax.imshow(maps[scheme] / factor, cmap="cividis_r", norm=norm, aspect="auto")
        ax.set_title(scheme, fontweight="bold")
        ax.set_xticks(range(len(xs)), [value_text(runs.axes[across], v) for v in xs], rotation=45)
        ax.set_yticks(range(len(ys)), [value_text(runs.axes[down], v) for v in ys])
        ax.set_xlabel(short[across])
        ax.set_ylabel(short[down])
        ax.grid(visible=False)
        if len(xs) <= 12:
            _write(ax, maps[scheme] / factor, bounds[scheme], norm)
    bar = figure.colorbar(
        image, ax=figure.axes, label=f"{measure.name}{f' ({unit})' if unit else ''}"
    )
    if isinstance(norm, LogNorm):
        log_ticks(bar.ax.yaxis)
    note(
        figure,
        f"Means of {runs.seeds} seeds." if runs.seeds > 1 else "One seed.",
        _note_on_bounds(runs, [measure], AT_LEAST),
        f"The first {len(names)} of {len(runs.schemes)} schemes."
        if len(names) < len(runs.schemes)
        else "",
    )
    return figure


def _shortened(axes: list[str]) -> list[str]:
    """Names of axes, of a long key its last two parts unless another axis has the same."""
    parts = [name if len(name) <= _LONG_NAME else ".".join(name.split(".")[-2:]) for name in axes]
    return parts if len(set(parts)) == len(parts) else list(axes)


def _scale(least: float, most: float) -> Normalize:
    """Colours over values that span more than a decade and a half are logarithmic."""
    if least > 0 and most / least > _WIDE:
        return LogNorm(least, most)
    return Normalize(least, most)


def _write(ax, cells: np.ndarray, signs: np.ndarray, norm: Normalize) -> None:
    for (y, x), value in np.ndenumerate(cells):
        dark = not math.isnan(value) and norm(value) > 0.5
        text = f"{signs[y, x]}{_cell(value)}"
        ax.text(x, y, text, ha="center", va="center", fontsize=6.5, color="wk"[not dark])


def _cell(value: float) -> str:
    """Three digits, without an exponent from a thousandth to a million."""
    if math.isnan(value):
        return "-"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
