"""Panels over a swept value: one metric each, a line for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import schemes
from unpause.figures.style import DASHES, NothingToDraw, grid, legend
from unpause.metrics import METRICS
from unpause.result import Result
from unpause.series import Unavailable

_MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True)
class Panel:
    """One panel: a metric of a run with a window, and its arguments."""

    title: str
    metric: str
    args: Mapping[str, Any] = field(default_factory=dict)


def draw_panels(
    result: Result,
    column: str,
    panels: Sequence[Panel],
    window_ms: tuple[float, float],
    columns: int = 2,
) -> tuple[Figure, list[Axes]]:
    """Draw every panel over `column`, averaged over `window_ms`.

    Raises:
        NothingToDraw: the result is not a sweep over `column`, or lacks what a panel shows.
    """
    if column not in result.sweep_columns:
        raise NothingToDraw(f"The result has no swept column '{column}'.")
    colour = schemes.colours(result.schemes)
    figure, axes = grid(len(panels), columns)
    try:
        for ax, panel in zip(axes, panels, strict=True):
            function = METRICS[panel.metric].function
            for i, scheme in enumerate(result.schemes):
                runs = sorted(result.runs_of(scheme), key=lambda r: r.row[column])
                ax.plot(
                    [r.row[column] for r in runs],
                    [function(r, window_ms=window_ms, **panel.args) for r in runs],
                    color=colour[scheme],
                    linestyle=DASHES[i % len(DASHES)],
                    marker=_MARKERS[i % len(_MARKERS)],
                    markersize=3,
                    label=scheme,
                )
            ax.set_title(panel.title, fontweight="bold")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    legend(figure, axes)
    return figure, axes
