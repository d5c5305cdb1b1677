"""PCN Fig. 17: queue, PAUSE, utilisation and fairness against the number of flows."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.figures.registry import draws
from unpause.figures.style import LINES
from unpause.figures.swept import Panel, draw_panels
from unpause.result import Result

COLUMN = "flows_over_4"
_WINDOW_MS = (500.0, 2000.0)
_PANELS = (
    Panel("mean queue of S0->S1", "mean_queue_kb", {"link": "S0->S1"}),
    Panel("PAUSEs on the senders", "window_pause_rate", {"links": ["S0->A1", "S0->A2", "S0->A3"]}),
    Panel("use of S0->S1", "utilisation", {"link": "S0->S1", "capacity_gbps": 10.0}),
    Panel("Jain's index over 500 ms", "jain_index"),
)


@draws("pcn-f17", "PCN Fig. 17: flow scalability")
def draw(result: Result) -> Figure:
    """KB, PAUSEs a second, share of 10 Gb/s and Jain's index over the number of flows (log)."""
    figure, axes = draw_panels(result, COLUMN, _PANELS, _WINDOW_MS)
    flows_over_4 = np.unique(result.runs.column(COLUMN).to_numpy())
    for ax, unit in zip(axes, ("KB", "PAUSEs/s", "", ""), strict=True):
        ax.set_xscale("log")
        ax.set_xticks(flows_over_4, [f"{4 * n:g}" for n in flows_over_4])
        ax.minorticks_off()
        ax.set_ylabel(unit)
        ax.set_ylim(bottom=0)
    axes[1].set_yscale("symlog", linthresh=1)
    axes[1].set_ylim(-0.2, 3 * axes[1].get_ylim()[1])
    for ax in axes[2:]:
        ax.set_ylim(0, 1.05)
        ax.axhline(1, color=LINES[4], linestyle=":", linewidth=0.7, zorder=0)
        ax.set_xlabel("flows")
    return figure
