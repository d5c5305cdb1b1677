"""PCN Fig. 18: throughput of two links and two flows against the interval between bursts."""

from __future__ import annotations

from matplotlib.figure import Figure

from unpause.figures.registry import draws
from unpause.figures.swept import Panel, draw_panels
from unpause.result import Result

COLUMN = "interval_us"
_WINDOW_MS = (20.0, 100.0)
_PANELS = (
    Panel("S0->S1", "link_gbps", {"links": ["S0->S1"]}),
    Panel("S1->R1", "link_gbps", {"links": ["S1->R1"]}),
    Panel("F0", "goodput_gbps", {"flow": "F0"}),
    Panel("F1", "goodput_gbps", {"flow": "F1"}),
)


@draws("pcn-f18", "PCN Fig. 18: adversarial traffic")
def draw(result: Result) -> Figure:
    """Gb/s over the interval in us (log): links on the wire, flows as goodput."""
    figure, axes = draw_panels(result, COLUMN, _PANELS, _WINDOW_MS)
    for ax in axes:
        ax.set_xscale("log")
        ax.set_ylim(0, 42)
    for ax in axes[2:]:
        ax.set_xlabel("interval between bursts (us)")
    axes[0].set_ylabel("on the wire (Gb/s)")
    axes[2].set_ylabel("goodput (Gb/s)")
    return figure
