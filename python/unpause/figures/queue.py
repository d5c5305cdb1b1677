"""Queue length over time, one panel for each probed port, one line for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.data import drawn
from unpause.data.result import Result
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, NothingToDraw, from_zero, grid, legend, note
from unpause.text import byte_unit

#: A port without a queue still holds this: a frame that waits for its turn.
_A_FRAME = 2_000


@draws("queue", "Queue length of probed ports", place=1)
def draw(result: Result) -> Figure:
    """Backlog of the probed egress ports (KB or MB) over time, the longest queues first."""
    shown = overtime.shown(result)
    ports = {run.scheme: drawn.ports(run) for run in shown.runs}
    step = overtime.step_of(data.time_ns for of in ports.values() for data in of.values())
    queues: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    for scheme, of_scheme in ports.items():
        for link, data in of_scheme.items():
            # Queues are empty at the start.
            samples = overtime.with_beginning(data.time_ns, data.queue_bytes, 0.0, step or 0.0)
            queues.setdefault(link, {})[scheme] = samples
    if not queues:
        raise NothingToDraw("No port was probed; name some in [probes] ports.")
    longest = {
        link: overtime.scale({s: queue for s, (_, queue) in lines.items()})
        for link, lines in queues.items()
    }
    empty = [link for link, most in longest.items() if most <= _A_FRAME]
    queued = sorted((n for n in queues if n not in empty), key=lambda n: -longest[n])
    if not queued:
        raise NothingToDraw("No probed port held more than a frame at any sample.")
    links = queued[:MOST_PANELS]
    spans = [
        overtime.span_of(time, queue > 0) for link in links for time, queue in queues[link].values()
    ]
    size = overtime.unit_of(shown.runs, spans)
    figure, axes = grid(len(links), 2)
    looks, widths = shown.looks, shown.widths
    for ax, link in zip(axes, links, strict=True):
        divisor, unit = byte_unit(longest[link])
        for scheme, (time, queue) in queues[link].items():
            ax.plot(
                time / size,
                queue / divisor,
                color=looks[scheme].colour,
                label=scheme,
                linewidth=widths[scheme],
            )
        ax.set_title(link)
        ax.set_ylabel(f"queue ({unit})")
        from_zero(ax)
    rest = overtime.limit(axes, spans, shown.runs)
    legend(figure, axes)
    notes = [shown.note, rest]
    if empty:
        notes.append(f"Not shown (never more than one frame): {', '.join(empty)}.")
    if len(queued) > len(links):
        notes.append(
            f"The longest {len(links)}; {len(queued) - len(links)} more probed ports are in "
            "table port_series."
        )
    note(figure, *notes)
    return figure
