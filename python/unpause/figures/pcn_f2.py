"""PCN Fig. 2: PAUSE on three links and throughput of F0 and F1, a row for each scheme."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import series
from unpause.figures.registry import draws
from unpause.figures.style import (
    DASHES,
    LINES,
    WIDTH,
    NothingToDraw,
    burst_origin_ns,
    legend,
    single_runs,
)
from unpause.result import Result, Run
from unpause.series import Unavailable

LINKS = ("S1->S0", "S0->H0", "S0->H1")
FLOWS = ("F0", "F1")
_PAUSE_BIN_NS = 0.5e6
_GOODPUT_BIN_NS = 0.25e6
_LONGEST_TREE_MS = 20.0


@draws("pcn-f2", "PCN Fig. 2: PAUSE and throughput around the burst")
def draw(result: Result) -> Figure:
    """PAUSE in force, PAUSE frames per ms, goodput in Gb/s; over ms from the burst start."""
    runs = single_runs(result)
    figure = Figure(figsize=(WIDTH, 1.3 * len(runs) + 0.9), layout="constrained")
    axes = figure.subplots(len(runs), 3, sharex="col", sharey="col", squeeze=False)
    last = 3.0
    try:
        for (left, middle, right), run in zip(axes, runs, strict=True):
            left.set_title(run.scheme, fontweight="bold")
            last = max(last, _draw_pauses(left, run), _draw_pause_rate(middle, run))
            _draw_goodput(right, run)
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    for ax in axes[0, :2]:
        ax.set_xlim(-0.5, last + 0.3)
    axes[0, 0].set_ylim(len(LINKS) - 0.4, -0.6)
    axes[0, 0].set_yticks(range(len(LINKS)), LINKS)
    axes[0, 1].set_ylim(bottom=0)
    axes[0, 2].set_ylim(bottom=0)
    axes[0, 2].margins(x=0)
    half = len(runs) // 2
    axes[half, 1].set_ylabel("PAUSE frames per ms")
    axes[half, 2].set_ylabel("goodput (Gb/s)")
    axes[0, 0].set_title("PAUSE in force", loc="right")
    axes[0, 1].set_title("PAUSE rate")
    axes[0, 2].set_title("throughput")
    for ax in axes[-1]:
        ax.set_xlabel("ms from the burst's start")
    legend(figure, [*axes[0, 1:]])
    return figure


def _draw_pauses(ax: Axes, run: Run) -> float:
    """A lane for each link, filled while PAUSE is in force; answers the last end, ms."""
    origin = burst_origin_ns(run)
    last = 0.0
    for lane, (link, colour) in enumerate(zip(LINKS, LINES, strict=False)):
        pauses = (series.pauses_ns(run, (link,), origin) - origin) / 1e6
        pauses = pauses[pauses[:, 0] < _LONGEST_TREE_MS]
        if len(pauses):
            spans = [(start, end - start) for start, end in pauses]
            ax.broken_barh(spans, (lane - 0.38, 0.76), facecolor=colour, linewidth=0)
            last = max(last, float(pauses[:, 1].max()))
    if last == 0.0:
        ax.text(0.5, 0.5, "no PAUSE", transform=ax.transAxes, ha="center", va="center",
                color="#777777")  # fmt: skip
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    return min(last, _LONGEST_TREE_MS)


def _draw_pause_rate(ax: Axes, run: Run) -> float:
    """PAUSE frames per ms of each link; answers the end of the last busy bin, ms."""
    origin = burst_origin_ns(run)
    last = 0.0
    for link, colour, dash in zip(LINKS, LINES, DASHES, strict=False):
        data = series.port(run, link)
        start = max(0.0, origin - 2 * _PAUSE_BIN_NS)
        time, rate = series.binned_per_ms(data.time_ns, data.pause_frames, start, _PAUSE_BIN_NS)
        time = (time - origin) / 1e6
        edges = np.append(time, time[-1] + _PAUSE_BIN_NS / 1e6)
        ax.stairs(rate, edges, color=colour, linestyle=dash, label=f"PAUSE {link}", linewidth=1.2)
        busy = np.flatnonzero(rate[time < _LONGEST_TREE_MS])
        if len(busy):
            last = max(last, float(edges[busy[-1] + 1]))
    return last


def _draw_goodput(ax: Axes, run: Run) -> None:
    origin = burst_origin_ns(run)
    for flow, colour, dash in zip(FLOWS, LINES[3:], DASHES, strict=False):
        data = series.flow(run, flow)
        start = max(0.0, origin - 5e6)
        time, rate = series.binned_per_ms(
            data.time_ns, data.delivered_bytes, start, _GOODPUT_BIN_NS
        )
        middle = (time + _GOODPUT_BIN_NS / 2 - origin) / 1e6
        ax.plot(
            middle,
            rate * series.GBPS,
            color=colour,
            linestyle=dash,
            label=f"goodput {flow}",
            linewidth=1.0,
        )
