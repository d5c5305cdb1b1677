"""When the last flow of each entry of the traffic completed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.figures.registry import draws
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import MOST_PANELS, NothingToDraw, panel_axes
from unpause.metrics.throughput import burst_duration_ms
from unpause.metrics.windows import MS
from unpause.text import digits, time_unit

#: Room at the right of the longest bar for its number, as a share of the panel.
_ROOM = 1.3


@draws("completions", "When the last flow of each traffic entry completed")
def draw(result: Result) -> Figure:
    """A panel for each entry, a row for each scheme; bars are medians over seeds.

    The time is that from the start of an entry's first flow until its last flow is complete. A
    dotted line is the entry's longest ideal FCT.
    """
    if result.axes:
        raise NothingToDraw(f"This result is a sweep over {', '.join(result.axes)}.")
    names = schemes.ordered(result.schemes)
    entries = list(dict.fromkeys(_finite(result.runs_of(names[0])[0])))
    if not entries:
        raise NothingToDraw("No entry of the traffic has flows that can complete.")
    shown = entries[:MOST_PANELS]
    figure, axes = panel_axes(len(shown), 4, 0.2 * len(names) + 0.7, sharey=True)
    looks = schemes.colours(names)
    spreads = {entry: _spreads(result, names, entry) for entry in shown}
    known = [high for each in spreads.values() for *_, high in each if math.isfinite(high)]
    unit = time_unit(max(known, default=1.0))
    for ax, entry in zip(axes, shown, strict=True):
        _panel(ax, spreads[entry], list(looks.values()), unit)
        ax.axvline(_ideal_ns(result, entry) / unit[0], color="#555555", linestyle=":")
        ax.set_title(entry, fontweight="bold")
    axes[0].set_yticks(range(len(names)), [schemes.canonical(name) for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    said = "Dotted: the slowest flow, if each were alone in the fabric."
    if len(shown) < len(entries):
        said += f" Not shown: {', '.join(entries[MOST_PANELS:])}."
    say_seeds(figure, result, said, marks="lines")
    return figure


def _finite(run: Run) -> list[str]:
    """Entries of the traffic whose flows have a size."""
    flows = run.counted_flows(["traffic", "size_bytes"])
    return flows.filter(pc.field("size_bytes").is_valid()).column("traffic").to_pylist()


def _ideal_ns(result: Result, entry: str) -> float:
    rows = pc.field("traffic") == entry
    tables = [run.counted_flows().filter(rows) for run in result.runs_of(result.schemes[0])]
    return max(float(np.nanmax(series.column(each, "ideal_fct_ns"))) for each in tables)


#: Median, lowest and highest.
Spread = tuple[float, float, float]


def _spreads(result: Result, names: Sequence[str], entry: str) -> list[Spread]:
    return [
        spread(result.runs_of(it), lambda run: burst_duration_ms(run, entry) * MS) for it in names
    ]


def _panel(
    ax: Axes, spreads: Sequence[Spread], colours: Sequence[str], unit: tuple[float, str]
) -> None:
    scale, name = unit
    longest = max((it[2] for it in spreads if math.isfinite(it[2])), default=scale)
    for y, (colour, (median, low, high)) in enumerate(zip(colours, spreads, strict=True)):
        if math.isinf(median):
            ax.text(0.0, y, " not complete", va="center", color=colour, fontsize=7)
            continue
        ax.barh(y, median / scale, height=0.62, color=colour)
        end = high if math.isfinite(high) else median
        if low < end:
            ax.plot([low / scale, end / scale], [y, y], color="#222222", linewidth=0.8)
        ax.text(end / scale, y, f" {digits(median / scale)}", va="center", fontsize=7)
    ax.set_xlim(0, longest / scale * _ROOM)
    ax.set_xlabel(f"last flow complete ({name})")
    ax.grid(visible=False, axis="y")
    ax.tick_params(axis="y", length=0)
