"""PCN Fig. 2: PAUSE rate on three links and throughput of F0 and F1, a row for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import series
from unpause.figures.style import (
    DASHES,
    LINES,
    WIDTH,
    NothingToDraw,
    burst_origin_ns,
    legend,
    single_runs,
)
from unpause.result import Result
from unpause.series import Unavailable

LINKS = ("S1->S0", "S0->H0", "S0->H1")
FLOWS = ("F0", "F1")
_BIN_NS = 0.1e6
_GOODPUT_BIN_NS = 0.25e6


def draw(result: Result) -> Figure:
    """PAUSE frames per ms (left) and goodput in Gb/s (right) over ms from the burst start."""
    runs = single_runs(result)
    try:
        origins = [burst_origin_ns(run) for run in runs]
        figure = Figure(figsize=(WIDTH, 1.35 * len(runs) + 0.8), layout="constrained")
        axes = figure.subplots(len(runs), 2, sharex="col", sharey="col", squeeze=False)
        last_pause = 3.0
        for (left, right), run, origin in zip(axes, runs, origins, strict=True):
            left.set_title(run.scheme, fontweight="bold")
            for link, colour, dash in zip(LINKS, LINES, DASHES, strict=False):
                data = series.port(run, link)
                start, per_ms = series.binned_per_ms(
                    data.time_ns, data.pause_frames, max(0.0, origin - 1e6), _BIN_NS
                )
                time = (start - origin) / 1e6
                left.stairs(
                    per_ms,
                    np.append(time, time[-1] + _BIN_NS / 1e6),
                    color=colour,
                    linestyle=dash,
                    label=f"PAUSE {link}",
                    baseline=None,
                )
                busy = np.flatnonzero(per_ms[time < 20])
                if len(busy):
                    last_pause = max(last_pause, float(time[busy[-1]]))
            for flow, colour, dash in zip(FLOWS, LINES[3:], DASHES, strict=False):
                data = series.flow(run, flow)
                start, rate = series.binned_per_ms(
                    data.time_ns, data.delivered_bytes, max(0.0, origin - 5e6), _GOODPUT_BIN_NS
                )
                right.plot(
                    (start + _GOODPUT_BIN_NS / 2 - origin) / 1e6,
                    rate * series.GBPS,
                    color=colour,
                    linestyle=dash,
                    label=f"goodput {flow}",
                    linewidth=1.0,
                )
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    axes[0, 0].set_xlim(-0.5, last_pause + 0.5)
    axes[0, 0].set_ylim(bottom=0)
    axes[0, 1].set_ylim(bottom=0)
    axes[0, 1].margins(x=0)
    middle = axes[len(runs) // 2]
    middle[0].set_ylabel("PAUSE frames per ms")
    middle[1].set_ylabel("goodput (Gb/s)")
    for ax in axes[-1]:
        ax.set_xlabel("time from the burst's start (ms)")
    legend(figure, list(axes[0]))
    return figure
