"""Queue length over time, one panel for each probed port, one line for each scheme."""

from __future__ import annotations

from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.style import MOST_PANELS, NothingToDraw, grid, legend, note, single_runs
from unpause.result import Result


def draw(result: Result) -> Figure:
    """Backlog of every probed egress port (KB) over time (ms)."""
    runs = single_runs(result)
    links = list(dict.fromkeys(link for run in runs for link in series.probed(run)))
    if not links:
        raise NothingToDraw("No port was probed; name some in [probes] ports.")
    colour = schemes.colours(result.schemes)
    shown = links[:MOST_PANELS]
    figure, axes = grid(len(shown), 2)
    for ax, link in zip(axes, shown, strict=True):
        ax.set_title(link)
        for run in runs:
            data = series.port(run, link)
            ax.plot(
                data.time_ns / 1e6,
                data.queue_bytes / 1e3,
                color=colour[run.scheme],
                label=run.scheme,
                linewidth=0.9,
            )
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
    for ax in axes[::2]:
        ax.set_ylabel("queue (KB)")
    for ax in axes[-2:]:
        ax.set_xlabel("time (ms)")
    legend(figure, axes)
    if len(links) > len(shown):
        note(figure, f"{len(links) - len(shown)} more probed ports are in table port_series.")
    return figure
