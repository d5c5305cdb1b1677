"""Groups of dots, one for each scheme: median and range of the seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from unpause.data import schemes
from unpause.data.result import Result, Run
from unpause.figures.panels import measure
from unpause.figures.registry import kind
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import WIDTH, at_least, from_zero, legend

#: The same in every figure, whether or not PFC alone is there.
_MARKERS = dict(zip(schemes.ORDER, ("o", "s", "^", "D", "v"), strict=True))


@kind("groups")
def draw(
    result: Result,
    layout: Sequence[Sequence[str]],
    panel: Mapping[str, Mapping[str, Any]],
    height: float,
) -> Figure:
    """Panels of groups of dots, placed as in `layout`; `height` in inches.

    A panel has a title, a `metric` with `args`, and `groups`: further arguments by the name of the
    group. Its y axis has a `unit`, maybe `limits`, and is logarithmic unless it is `linear`.
    """
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplot_mosaic([list(row) for row in layout])
    for name, ax in axes.items():
        each = panel[name]
        _dots(ax, result, {n: measure(each, more) for n, more in each["groups"].items()})
        ax.set_title(each["title"], fontweight="bold")
        ax.set_ylabel(each.get("unit", ""))
        if each.get("linear"):
            ax.set_yscale("linear")
            from_zero(ax)
        if "limits" in each:
            at_least(ax, *each["limits"])
    legend(figure, list(axes.values()))
    say_seeds(figure, result)
    return figure


def _dots(ax: Axes, result: Result, measures: Mapping[str, Callable[[Run], float]]) -> None:
    """A group of dots for each measure, on a log axis."""
    colour = schemes.colours(result.schemes)
    width = 0.7 / len(result.schemes)
    for i, scheme in enumerate(result.schemes):
        found = [spread(result.runs_of(scheme), m) for m in measures.values()]
        median, low, high = np.array(found).T
        x = np.arange(len(found)) + (i - (len(result.schemes) - 1) / 2) * width
        seen = (median > 0) & np.isfinite(median)
        # A bar that reaches down to zero, or up without an end, ends at the median.
        low, high = (
            np.where(low > 0, low, median)[seen],
            np.where(np.isinf(high), median, high)[seen],
        )
        ax.errorbar(
            x[seen],
            median[seen],
            [median[seen] - low, high - median[seen]],
            color=colour[scheme],
            linestyle="none",
            marker=_MARKERS.get(schemes.canonical(scheme), "P"),
            markersize=4,
            label=scheme,
        )
        for at, value in zip(x[~seen], median[~seen], strict=True):
            endless = np.isinf(value)
            ax.text(
                at,
                0.98 if endless else 0.02,
                "\N{INFINITY}" if endless else "0",
                color=colour[scheme],
                ha="center",
                va="top" if endless else "baseline",
                transform=ax.get_xaxis_transform(),
            )
    ax.set_xticks(range(len(measures)), list(measures))
    ax.set_xlim(-0.5, len(measures) - 0.5)
    ax.grid(axis="x", visible=False)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
