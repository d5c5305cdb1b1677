"""Parts of all figures: fonts, sizes, legends, and what is shown without data."""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogFormatter,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from unpause.data import series
from unpause.data.result import Result, Run

#: Width of a figure, inches: two columns of a paper.
WIDTH = 7.2
#: Most panels in one figure; a note below it names the others.
MOST_PANELS = 8
#: How a number is drawn of which only a lower bound is known.
BOUND_MARKER = {"marker": "^", "markerfacecolor": "white", "markersize": 6, "linestyle": ""}
#: Colours of things that are not schemes: links and flows.
LINES = ("#0072B2", "#CC79A7", "#8C6D1F", "#7A4FBF", "#000000", "#5B8C5A")
#: Their line styles, so that they also differ in grey.
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


class NothingToDraw(Exception):
    """A figure has nothing to show; the message is a sentence for the reader."""


@cache
def _families() -> list[str]:
    """The figures' font, then what this machine has for scripts that it lacks."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _OTHER_SCRIPTS if name in installed)]


_OTHER_SCRIPTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Microsoft YaHei",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
)


def style() -> AbstractContextManager[None]:
    """The figures' matplotlib settings; output is the same bytes every time."""
    return mpl.rc_context(
        {
            "font.family": _families(),
            # A scheme may be called "$5 and $6".
            "text.parse_math": False,
            "font.size": 8,
            "axes.titlesize": 8.5,
            "axes.titlelocation": "left",
            "axes.labelsize": 8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#E3E3E3",
            "grid.linewidth": 0.6,
            "lines.linewidth": 1.2,
            "legend.frameon": False,
            "legend.fontsize": 8,
            "xtick.labelsize": 7.5,
            "ytick.labelsize": 7.5,
            "figure.constrained_layout.use": True,
            "svg.hashsalt": "unpause",
            "svg.fonttype": "path",
            "pdf.fonttype": 42,  # journals refuse Type 3
            "savefig.facecolor": "white",
        }
    )


def grid(
    panels: int, columns: int, panel_height: float = 1.75, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes in `columns` columns, time or another x axis shared."""
    figure, axes = panel_axes(panels, columns, panel_height, 0.7, sharex=True, sharey=sharey)
    for index, ax in enumerate(axes):
        # The lowest visible panel of each column has the labels of the x axis.
        ax.tick_params(labelbottom=index + min(columns, panels) >= panels)
    return figure, axes


def panel_axes(
    panels: int,
    columns: int,
    panel_height: float,
    more_height: float = 0.0,
    *,
    sharex: bool = False,
    sharey: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes in `columns` columns, each with an x axis of its own.

    Rows are `panel_height` inches high; `more_height` is that of legend and notes.
    """
    if not panels:
        raise NothingToDraw("There is nothing in the tables to draw panels of.")
    columns = min(columns, panels)
    rows = math.ceil(panels / columns)
    # A figure of its own, outside pyplot's list: nothing to close, no display needed.
    figure = Figure(figsize=(WIDTH, rows * panel_height + more_height), layout="constrained")
    every = figure.subplots(rows, columns, sharex=sharex, sharey=sharey, squeeze=False)
    axes = list(np.ravel(every))
    for spare in axes[panels:]:
        spare.set_visible(False)
    return figure, axes[:panels]


#: Names that Matplotlib gives to artists without a label.
_NAMELESS = re.compile(r"_(child|container|nolegend_)\d*")
_LEGEND_COLUMN_PT = 42  # handle, its distance to the text, distance to the next column
_CHARACTER_PT = 5.0


def legend(figure: Figure, ax: Axes | Sequence[Axes], title: str | None = None) -> None:
    """One legend above all panels, with each label once, in rows from left to right."""
    found = labelled([ax] if isinstance(ax, Axes) else ax)
    if not found:
        return
    names = list(found)
    width = figure.get_figwidth() * 72 - 10
    columns = next(n for n in range(len(names), 0, -1) if n == 1 or _legend_width(names, n) < width)
    rows = math.ceil(len(names) / columns)
    # Matplotlib fills column by column, so entries are reordered to read row by row.
    order = [r * columns + c for c in range(columns) for r in range(rows)]
    names = [names[i] for i in order if i < len(names)] if rows > 1 else names
    # A name that is longer than the figure is wide has several lines.
    most = int((width - _LEGEND_COLUMN_PT) / _CHARACTER_PT)
    texts = [textwrap.fill(name, most) if _wide(name) > most else name for name in names]
    lines = rows + sum(text.count("\n") for text in texts)
    figure.set_figheight(figure.get_figheight() + 0.17 * (lines - 1))
    figure.legend(
        [found[name] for name in names],
        # matplotlib leaves out what begins with an underscore.
        [f"\u200b{text}" if text.startswith("_") else text for text in texts],
        loc="outside upper left",
        ncols=columns,
        handlelength=2.2,
        title=title,
        alignment="left",
    )


def own_legends(axes: Sequence[Axes], columns: int) -> None:
    """A legend above each of `axes`, which have no titles and are in this many columns."""
    rows = 0
    for ax in axes:
        names = [f"{line.get_label()}" for line in ax.get_lines()]
        width = ax.figure.get_figwidth() * 72 / columns - 40
        fits = (n for n in range(len(names), 0, -1) if _legend_width(names, n) < width)
        across = next(fits, 1)
        rows = max(rows, math.ceil(len(names) / across))
        ax.legend(
            fontsize=6.5, ncols=across, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.1
        )
    figure = axes[0].figure
    figure.set_figheight(figure.get_figheight() + 0.14 * rows * math.ceil(len(axes) / columns))


def labelled(axes: Sequence[Axes]) -> dict[str, Any]:
    """Artists with a label in any of `axes`, the first of each label."""
    found: dict[str, Any] = {}
    for ax in axes:
        inner = {id(part) for c in ax.containers for part in c.get_children()}
        artists = [*ax.lines, *ax.patches, *ax.collections]
        for artist in [*(a for a in artists if id(a) not in inner), *ax.containers]:
            name = str(artist.get_label())
            if name and not _NAMELESS.fullmatch(name):
                found.setdefault(name, artist)
    return found


def _legend_width(names: Sequence[str], columns: int) -> float:
    """Width in points of a legend that is filled row by row."""
    widest = [0.0] * columns
    for i, name in enumerate(names):
        widest[i % columns] = max(widest[i % columns], _wide(name) * _CHARACTER_PT)
    return sum(widest) + columns * _LEGEND_COLUMN_PT


def _wide(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


_NOTE_CHARACTERS = 122


def note(figure: Figure, *sentences: str) -> None:
    """Small sentences below the panels, in as many lines as they need."""
    text = " ".join(s for s in sentences if s)
    if not text:
        return
    lines = textwrap.wrap(text, _NOTE_CHARACTERS * figure.get_figwidth() / WIDTH)
    if len(lines) > _MOST_NOTE_LINES:
        lines = [*lines[: _MOST_NOTE_LINES - 1], lines[_MOST_NOTE_LINES - 1] + " …"]
    figure.set_figheight(figure.get_figheight() + 0.12 * (len(lines) - 1))
    figure.supxlabel("\n".join(lines), fontsize=7, color="#555555", x=0.01, ha="left")


_MOST_NOTE_LINES = 4


def log_ticks(axis: Axis) -> None:
    """At least three labels on an axis, logarithmic if that says more; call it at the end.

    An axis whose ends are less than 4 times apart becomes linear.
    """
    low, high = sorted(axis.get_view_interval())
    if low <= 0 or high / low < 4:
        axis.axes.set(**{f"{axis.axis_name}scale": "linear"})
        axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
        return
    ticks = _ticks(low, high)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.set_minor_locator(NullLocator())


def _ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for digits in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        ticks = [
            d * 10.0**e
            for e in range(first, last + 1)
            for d in digits
            if low <= d * 10.0**e <= high
        ]
        if len(ticks) >= 4:
            break
    return ticks[:: math.ceil(len(ticks) / 9)]


def plain_powers(figure: Figure) -> None:
    """Powers of ten as numbers: names may have dollar signs, so nothing is read as mathematics."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                axis.set_major_formatter(FuncFormatter(_power))
                axis.set_minor_formatter(NullFormatter())


def _power(value: float, _: int) -> str:
    return f"{value:,.0f}" if abs(value) >= 1 else f"{value:g}"


def from_zero(ax: Axes) -> None:
    """The y axis from 0 to above all that is drawn, whatever margins there were."""
    _, highest = _drawn(ax)
    ax.set_ylim(0, max(ax.get_ylim()[1], 1.06 * highest))


def log_with_zero(ax: Axes) -> None:
    """The y axis linear up to 1 and logarithmic above, with all that is drawn inside."""
    _, highest = _drawn(ax)
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(-0.2, 3 * max(highest, 1))


def at_least(ax: Axes, low: float, high: float) -> None:
    """The y axis from `low` to `high`, and further if something is drawn there."""
    lowest, highest = _drawn(ax)
    if ax.get_yscale() == "log" and lowest <= 0:
        lowest = low
    ax.set_ylim(min(low, lowest), high if highest <= high else 1.04 * highest)


def _drawn(ax: Axes) -> tuple[float, float]:
    """Least and largest y of what is drawn in an axes or in one that shares its y axis."""
    every = ax.get_shared_y_axes().get_siblings(ax)
    ends = [y for each in every for y in (each.dataLim.y0, each.dataLim.y1) if np.isfinite(y)]
    return min(ends, default=0.0), max(ends, default=0.0)


def widths(count: int) -> list[float]:
    """Line widths for `count` lines, so that one below another of the same course is seen."""
    return list(np.linspace(2.4, 0.8, count)) if count > 1 else [1.1]


def side_by_side(count: int) -> np.ndarray:
    """How far beside a category's place each of these schemes stands."""
    return 0.5 * (np.arange(count) - (count - 1) / 2) / max(count, 1)


def single_runs(result: Result) -> list[Run]:
    """The one run of each scheme, for figures over time.

    Raises:
        NothingToDraw: the result is a sweep.
    """
    found = [result.runs_of(s) for s in result.schemes]
    if any(len(runs) > 1 for runs in found):
        swept = ", ".join(result.axes) or "several seeds"
        raise NothingToDraw(
            f"This result has {result.runs.num_rows} runs over {swept}; figures over time show "
            "one run for each scheme."
        )
    return [runs[0] for runs in found]


def burst_origin_ns(run: Run, burst: str = "burst") -> float:
    """Start of the burst, the origin of the paper's time axis."""
    return float(series.flow_starts_ns(run, burst)[0])


def thousands(value: float) -> str:
    """A number of bytes as people write it: 950 B, 12 KB, 3.4 MB."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} B"


__all__ = [
    "DASHES",
    "LINES",
    "MOST_PANELS",
    "WIDTH",
    "NothingToDraw",
    "at_least",
    "burst_origin_ns",
    "from_zero",
    "grid",
    "labelled",
    "legend",
    "log_ticks",
    "note",
    "own_legends",
    "plain_powers",
    "single_runs",
    "style",
    "thousands",
    "widths",
]
