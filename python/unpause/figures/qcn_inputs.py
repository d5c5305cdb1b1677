"""QCN at inputs, Figs. 2 and 3: rates of the flows over time, a panel for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import series
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, LINES, grid, legend, note
from unpause.result import Result

# 1474 B of payload take 1542 B on the wire; the paper's rates are "raw".
_RAW = 1542 / 1474
_BIN_NS = 2e6


@draws("qcn-f2", "QCN at inputs, Fig. 2: fan-in fairness")
@draws("qcn-f3", "QCN at inputs, Fig. 3: culprit selection")
def draw(result: Result) -> Figure:
    """Rate on the wire (Gb/s) of every recorded flow over time (ms), first run of each scheme."""
    runs = [result.runs_of(scheme)[0] for scheme in result.schemes]
    names = sorted({name for run in runs for name in series.recorded(run)})
    figure, axes = grid(len(runs), 2, sharey=True)
    for ax, run in zip(axes, runs, strict=True):
        ax.set_title(run.scheme, fontweight="bold")
        for number, name in enumerate(names):
            data = series.flow(run, name)
            # A flow that starts or stops is at zero before and after.
            start, end = data.time_ns[0], data.time_ns[-1]
            time, rate = series.binned_per_ms(data.time_ns, data.delivered_bytes, start, _BIN_NS)
            time = np.concatenate([[start], time + _BIN_NS / 2, [end]])
            rate = np.concatenate([rate[:1], rate, rate[-1:]]) * series.GBPS * _RAW
            ax.plot(
                time / 1e6,
                rate,
                label=name,
                color=LINES[number % len(LINES)],
                linestyle=DASHES[number % len(DASHES)],
                linewidth=1.1,
            )
        ax.set_ylim(0, 10.3)
        ax.margins(x=0)
    for ax in axes[::2]:
        ax.set_ylabel("rate (Gb/s)")
    for ax in axes[-2:]:
        ax.set_xlabel("time (ms)")
    legend(figure, axes)
    seeds = result.runs.num_rows // max(1, len(runs))
    which = f"The first of {seeds} runs of each scheme. " if seeds > 1 else ""
    note(figure, which + "Rates count frames with preamble and gap; mean over 2 ms.")
    return figure
