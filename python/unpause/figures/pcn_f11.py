"""PCN Fig. 11: the bottleneck's queue and the sum of the sending rates, a column a scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import LINES, WIDTH, NothingToDraw, single_runs
from unpause.result import Result, Run
from unpause.series import Unavailable

LINK = "S0->S1"
FLOWS = ("F0", "F1", "F2", "F3")
_BIN_NS = 0.5e6
_CAPACITY_GBPS = 10.0


@draws("pcn-f11", "PCN Fig. 11: queue and sum of the sending rates")
def draw(result: Result) -> Figure:
    """Queue of S0->S1 in KB (above) and sending rate in Gb/s (below) over ms from the start."""
    runs = single_runs(result)
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
    axes = figure.subplots(2, len(runs), sharex=True, sharey="row", squeeze=False)
    try:
        for (above, below), run in zip(axes.T, runs, strict=True):
            port = series.port(run, LINK)
            above.plot(
                port.time_ns / 1e6, port.queue_bytes / 1e3, color=colour[run.scheme], linewidth=0.9
            )
            time, rate = _aggregate(run)
            below.plot(time / 1e6, rate, color=colour[run.scheme], linewidth=0.9)
            below.axhline(_CAPACITY_GBPS, color=LINES[4], linewidth=0.7, linestyle=":")
            name = schemes.canonical(run.scheme)
            above.set_title(name.replace(", ", ",\n"), fontweight="bold")
            below.set_xlabel("time (ms)")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    axes[0, 0].set_ylim(bottom=0)
    axes[1, 0].set_ylim(bottom=0)
    axes[0, 0].margins(x=0)
    axes[0, 0].set_ylabel(f"queue of {LINK} (KB)")
    axes[1, 0].set_ylabel("sum of rates (Gb/s)")
    return figure


def _aggregate(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Middle of each bin (ns), and what all flows put on the wire in it, Gb/s."""
    time, total = np.zeros(0), np.zeros(0)
    for name in FLOWS:
        data = series.flow(run, name)
        time, rate = series.binned_per_ms(data.time_ns, data.sent_bytes, 0.0, _BIN_NS)
        total = total + rate if len(total) else rate
    return time + _BIN_NS / 2, total * series.GBPS
