"""Queue length over time, one panel for each probed port, one line for each scheme."""

from __future__ import annotations

from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, NothingToDraw, grid, legend, note, single_runs
from unpause.result import Result


@draws("queue", "Queue length of probed ports", place=1)
def draw(result: Result) -> Figure:
    """Backlog of every probed egress port (KB) over time (ms)."""
    runs = single_runs(result)
    links = list(dict.fromkeys(link for run in runs for link in series.probed(run)))
    if not links:
        raise NothingToDraw("No port was probed; name some in [probes] ports.")
    queues = {link: [(run.scheme, series.port(run, link)) for run in runs] for link in links}
    empty = [n for n, lines in queues.items() if not any(d.queue_bytes.any() for _, d in lines)]
    queued = [link for link in links if link not in empty]
    if not queued:
        raise NothingToDraw("The queue of every probed port was empty at every sample.")
    colour = schemes.colours(result.schemes)
    shown = queued[:MOST_PANELS]
    figure, axes = grid(len(shown), 2)
    for ax, link in zip(axes, shown, strict=True):
        ax.set_title(link)
        for scheme, data in queues[link]:
            ax.plot(
                data.time_ns / 1e6,
                data.queue_bytes / 1e3,
                color=colour[scheme],
                label=scheme,
                linewidth=0.9,
            )
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
    for ax in axes[::2]:
        ax.set_ylabel("queue (KB)")
    for ax in axes[-2:]:  # the lowest of each column
        ax.set_xlabel("time (ms)")
    legend(figure, axes)
    notes = []
    if empty:
        notes.append(f"Empty at every sample: {', '.join(empty)}.")
    if len(queued) > len(shown):
        notes.append(f"{len(queued) - len(shown)} more probed ports are in table port_series.")
    if notes:
        note(figure, " ".join(notes))
    return figure
