"""Goodput over time, one panel for each recorded flow, one line for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, NothingToDraw, grid, legend, note, single_runs
from unpause.result import Result


@draws("throughput", "Throughput of recorded flows", place=0)
def draw(result: Result) -> Figure:
    """Payload delivered (Gb/s) of every recorded flow over time (ms)."""
    runs = single_runs(result)
    flows = list(dict.fromkeys(name for run in runs for name in series.recorded(run)))
    if not flows:
        raise NothingToDraw("No flow was recorded; set record = true in a [[traffic]] entry.")
    colour = schemes.colours(result.schemes)
    shown = flows[:MOST_PANELS]
    figure, axes = grid(len(shown), 1 if len(shown) <= 4 else 2, sharey=True)
    bin_ns = 0.0
    for ax, name in zip(axes, shown, strict=True):
        ax.set_title(name)
        for run in runs:
            if name not in series.recorded(run):
                continue
            data = series.flow(run, name)
            span = data.time_ns[-1] - data.time_ns[0]
            # About 300 points a line: more is noise of single packets.
            step = float(np.median(np.diff(data.time_ns))) if len(data.time_ns) > 1 else span
            bin_ns = step * max(1, round(span / 300 / step)) if step > 0 else span
            if span <= 0:
                continue
            time, rate = series.binned_per_ms(
                data.time_ns, data.delivered_bytes, float(data.time_ns[0]), bin_ns
            )
            ax.plot(
                (time + bin_ns / 2) / 1e6,
                rate * series.GBPS,
                color=colour[run.scheme],
                label=run.scheme,
                linewidth=1.0,
            )
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        ax.set_ylabel("goodput (Gb/s)")
    for ax in axes[-2:]:
        if ax.xaxis.get_tick_params().get("labelbottom", True):
            ax.set_xlabel("time (ms)")
    legend(figure, axes)
    text = f"Mean over {bin_ns / 1e3:g} µs."
    if len(flows) > len(shown):
        text += f" {len(flows) - len(shown)} more recorded flows are in table flow_series."
    note(figure, text)
    return figure
