"""Rates of the flows over time, a panel for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.data import series
from unpause.data.result import Result
from unpause.figures.registry import kind
from unpause.figures.style import DASHES, LINES, NothingToDraw, at_least, grid, legend, note


@kind("rates")
def draw(
    result: Result, frame_bytes: float, payload_bytes: float, limit_gbps: float, bin_ms: float
) -> Figure:
    """Rate on the wire (Gb/s) of every recorded flow over time (ms), first run of each scheme.

    Frames of `frame_bytes` carry `payload_bytes`; rates are means of bins of `bin_ms`, and the y
    axis ends at `limit_gbps` if all are below.
    """
    raw, bin_ns = frame_bytes / payload_bytes, bin_ms * 1e6
    runs = [result.runs_of(scheme)[0] for scheme in result.schemes]
    names = sorted({name for run in runs for name in series.recorded(run)})
    if not names:
        raise NothingToDraw("No flow is recorded (record = true in its [[traffic]]).")
    figure, axes = grid(len(runs), 2, sharey=True)
    for ax, run in zip(axes, runs, strict=True):
        ax.set_title(run.scheme, fontweight="bold")
        for number, name in enumerate(names):
            data = series.flow(run, name)
            # A flow that starts or stops is at zero before and after.
            start, end = data.time_ns[0], data.time_ns[-1]
            time, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, bin_ns)
            time = np.concatenate([[start], time + bin_ns / 2, [end]])
            rate = np.concatenate([rate[:1], rate, rate[-1:]]) * series.GBPS * raw
            ax.plot(
                time / 1e6,
                rate,
                label=name,
                color=LINES[number % len(LINES)],
                linestyle=DASHES[number % len(DASHES)],
                linewidth=1.1,
            )
        at_least(ax, 0, limit_gbps)
        ax.margins(x=0)
    for ax in axes[::2]:
        ax.set_ylabel("rate (Gb/s)")
    for ax in axes[-2:]:
        ax.set_xlabel("time (ms)")
    legend(figure, axes)
    seeds = result.runs.num_rows // max(1, len(runs))
    which = f"The first of {seeds} runs of each scheme. " if seeds > 1 else ""
    note(figure, which + f"Rates count frames with preamble and gap; mean over {bin_ms:g} ms.")
    return figure
