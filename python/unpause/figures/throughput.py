"""Goodput over time, one panel for each recorded flow, one line for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.data import drawn, series
from unpause.data.result import Result
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, NothingToDraw, from_zero, grid, legend, note

_POINTS = 300


@draws("throughput", "Throughput of recorded flows", place=0)
def draw(result: Result) -> Figure:
    """Payload delivered (Gb/s) of every recorded flow over time."""
    shown = overtime.shown(result)
    recorded = {run.scheme: drawn.flows(run) for run in shown.runs}
    flows = list(dict.fromkeys(name for flows in recorded.values() for name in flows))
    if not flows:
        raise NothingToDraw("No flow was recorded; set record = true in a [[traffic]] entry.")
    lines = {
        (name, scheme): line
        for scheme, of_scheme in recorded.items()
        for name, data in of_scheme.items()
        if (line := _line(data)) is not None
    }
    flows = [name for name in flows if any(name == of for of, _ in lines)]
    if not flows:
        raise NothingToDraw(
            "No recorded flow has two samples; a shorter probes.interval gives more of them."
        )
    panels = flows[:MOST_PANELS]
    lines = {key: line for key, line in lines.items() if key[0] in panels}
    bins = {line[2] for line in lines.values()}
    spans = [overtime.span_of(time, rate > 0) for time, rate, _ in lines.values()]
    size = overtime.unit_of(shown.runs, spans)
    figure, axes = grid(len(panels), 1 if len(panels) <= 4 else 2, sharey=True)
    looks, widths = shown.looks, shown.widths
    for ax, name in zip(axes, panels, strict=True):
        several = max(drawn.flow_counts(run)[name] for run in shown.runs)
        ax.set_title(f"{name} (first of {several:,} flows)" if several > 1 else name)
        for run in shown.runs:
            if (name, run.scheme) in lines:
                time, rate, _ = lines[name, run.scheme]
                ax.plot(
                    time / size,
                    rate,
                    color=looks[run.scheme].colour,
                    label=run.scheme,
                    linewidth=widths[run.scheme],
                )
        from_zero(ax)
        ax.set_ylabel("goodput (Gb/s)")
    rest = overtime.limit(axes, spans, shown.runs)
    legend(figure, axes)
    notes = [shown.note, rest]
    if bins:
        notes.append(f"Means over {max(bins) / 1e3:g} us.")
    if len(flows) > len(panels):
        notes.append(f"{len(flows) - len(panels)} more recorded flows are in table flow_series.")
    note(figure, *notes)
    return figure


def _line(data: drawn.Flow) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Middle of each bin (ns), goodput (Gb/s), and length of a bin (ns)."""
    if len(data.time_ns) < 2:
        return None
    span = data.time_ns[-1] - data.time_ns[0]
    step = float(np.min(np.diff(data.time_ns)))
    # With more points than pixels, a line shows the noise of single packets.
    bin_ns = step * max(1, round(span / _POINTS / step))
    start = float(data.time_ns[0])
    time, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ns)
    if not len(time):
        return None
    return time + bin_ns / 2, rate * series.GBPS, bin_ns
