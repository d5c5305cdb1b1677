"""What all figures share: fonts, sizes, legends, and how nothing is said."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import series
from unpause.result import Result, Run

#: Width of a figure, inches: two columns of a paper.
WIDTH = 7.2
#: Most panels in one figure; what is left out is said below it.
MOST_PANELS = 12
#: Colours of things that are not schemes: links and flows.
LINES = ("#0072B2", "#CC79A7", "#8C6D1F", "#7A4FBF", "#000000", "#5B8C5A")
#: Their line styles, so that they can be told apart in grey as well.
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


class NothingToDraw(Exception):
    """A figure has nothing to show; the message is a sentence for the reader."""


def style() -> AbstractContextManager[None]:
    """The figures' matplotlib settings; output is the same bytes every time."""
    return mpl.rc_context(
        {
            "font.family": "DejaVu Sans",
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
            "savefig.facecolor": "white",
        }
    )


def grid(
    panels: int, columns: int, panel_height: float = 1.75, sharey: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure of `panels` axes in `columns` columns, time or another x axis shared."""
    columns = min(columns, panels)
    rows = math.ceil(panels / columns)
    # A figure of its own, outside pyplot's list: nothing to close, no display needed.
    figure = Figure(figsize=(WIDTH, rows * panel_height + 0.7), layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns, sharex=True, sharey=sharey, squeeze=False)))
    for spare in axes[panels:]:
        spare.set_visible(False)
    for index, ax in enumerate(axes[:panels]):
        # The lowest visible panel of each column has the labels of the x axis.
        ax.tick_params(labelbottom=index + columns >= panels)
    return figure, axes[:panels]


def legend(figure: Figure, ax: Axes | Sequence[Axes], columns: int = 6) -> None:
    """One legend above all panels, with each label once."""
    found = {}
    for each in [ax] if isinstance(ax, Axes) else ax:
        handles, labels = each.get_legend_handles_labels()
        for handle, label in zip(handles, labels, strict=True):
            found.setdefault(label, handle)
    if found:
        # A line of the legend holds about 84 characters, a handle takes the room of 8.
        widest = max(len(label) for label in found) + 8
        columns = max(1, min(columns, 84 // widest))
        # More than two lines need room of their own.
        lines = math.ceil(len(found) / columns)
        figure.set_figheight(figure.get_figheight() + 0.18 * max(0, lines - 2))
        figure.legend(
            found.values(),
            found.keys(),
            loc="outside upper left",
            ncols=min(columns, len(found)),
            handlelength=2.2,
        )


def note(figure: Figure, text: str) -> None:
    """A small sentence below the panels."""
    figure.supxlabel(text, fontsize=7, color="#555555", x=0.01, ha="left")


def single_runs(result: Result) -> list[Run]:
    """The one run of each scheme, for figures over time.

    Raises:
        NothingToDraw: the result is a sweep.
    """
    found = [result.runs_of(s) for s in result.schemes]
    if any(len(runs) > 1 for runs in found):
        swept = ", ".join(result.sweep_columns) or "several seeds"
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
    "burst_origin_ns",
    "grid",
    "legend",
    "note",
    "single_runs",
    "style",
    "thousands",
]
