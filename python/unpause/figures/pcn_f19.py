"""PCN Fig. 19: throughput of F0, of F1 and of the first link against the number of bottlenecks."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.figures.registry import draws
from unpause.figures.style import LINES
from unpause.figures.swept import Panel, draw_panels
from unpause.result import Result

COLUMN = "bottlenecks"
_CAPACITY_GBPS = 40.0
_GOODPUT = 1000 / 1048
_WINDOW_MS = (100.0, 200.0)
_PANELS = (
    Panel("F0", "goodput_gbps", {"flow": "F0"}),
    Panel("F1", "goodput_gbps", {"flow": "F1"}),
    Panel("F0 + F1: the first link", "flows_gbps", {"flows": ["F0", "F1"]}),
)


@draws("pcn-f19", "PCN Fig. 19: several bottlenecks in a row")
def draw(result: Result) -> Figure:
    """Goodput in Gb/s over N; dotted: the proportionally fair shares."""
    figure, axes = draw_panels(result, COLUMN, _PANELS, _WINDOW_MS, columns=3)
    n = np.unique(result.runs.column(COLUMN).to_numpy())
    fair = _CAPACITY_GBPS * _GOODPUT / (n + 1)
    dotted = {"color": LINES[4], "linestyle": ":", "linewidth": 0.9, "zorder": 0}
    axes[0].plot(n, fair, **dotted)
    axes[1].plot(n, n * fair, **dotted)
    axes[2].plot(n, (n + 1) * fair, **dotted)
    for ax in axes:
        ax.set_ylim(0, 42)
        ax.set_xticks(n)
        ax.set_xlabel("bottlenecks N")
    axes[0].set_ylabel("goodput (Gb/s)")
    return figure
