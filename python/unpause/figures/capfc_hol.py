"""What a full egress queue of a pipelined switch does to flows that have nothing to do with it."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import metrics, schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, WIDTH, legend, single_runs
from unpause.result import Result, Run

_BYSTANDER, _HOT = "S->P7", "S->P8"
#: Samples are taken every 0.1 ms; a point is the mean of so many.
_BIN = 10


@draws("capfc-hol", "CaPFC: head-of-line blocking")
def draw(result: Result) -> Figure:
    """The bystander's throughput and the hot queue over time; drops, stops and PAUSEs in all."""
    runs = single_runs(result)
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 4.8), layout="constrained")
    panels = figure.subplot_mosaic([["rate"] * 3, ["queue"] * 3, ["drops", "stalled", "pauses"]])
    for run, dash in zip(runs, DASHES, strict=False):
        line = {"color": colour[run.scheme], "linestyle": dash, "label": run.scheme}
        data = series.port(run, _BYSTANDER)
        time, sent = data.time_ns[::_BIN] / 1e6, data.tx_bytes[::_BIN]
        panels["rate"].plot(time[1:], np.diff(sent) * 8e-6 / np.diff(time), **line)
        data = series.port(run, _HOT)
        panels["queue"].plot(data.time_ns / 1e6, data.queue_bytes / 1e3, **line, linewidth=0.8)
    panels["rate"].set_title("Bystander, port 6 to port 7", fontweight="bold")
    panels["rate"].set_ylabel("Gb/s")
    panels["rate"].set_ylim(0, 1.1)
    panels["queue"].set_title("Queue at port 8, to which ports 1 to 5 send", fontweight="bold")
    panels["queue"].set_ylabel("KB")
    panels["queue"].set_ylim(bottom=0)
    panels["queue"].set_xlabel("time (ms)")
    _bars(panels["drops"], "Packets dropped", runs, metrics.dropped_packets, colour)
    _bars(panels["stalled"], "Pipeline stopped (ms)", runs, metrics.stalled_ms, colour)
    _ports(panels["pauses"], runs, colour)
    legend(figure, panels["rate"])
    return figure


def _bars(ax: Axes, title: str, runs: list[Run], measure, colour: dict[str, str]) -> None:
    values = [measure(run) for run in runs]
    bars = ax.bar(range(len(runs)), values, color=[colour[run.scheme] for run in runs])
    ax.bar_label(bars, [f"{v:.0f}" for v in values], fontsize=7)
    ax.set_title(title, fontweight="bold")
    ax.set_xticks([])
    ax.margins(y=0.15)
    ax.grid(axis="x", visible=False)


def _ports(ax: Axes, runs: list[Run], colour: dict[str, str]) -> None:
    """PAUSE events by the port that is paused."""
    width = 0.8 / len(runs)
    for i, run in enumerate(runs):
        events = [metrics.pause_events(run, [f"S->P{port}"]) for port in range(1, 7)]
        at = np.arange(1, 7) + (i - (len(runs) - 1) / 2) * width
        ax.bar(at, events, width, color=colour[run.scheme])
    ax.set_title("PAUSE events, by port", fontweight="bold")
    ax.set_xticks(range(1, 7))
    ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(bottom=0)
    ax.grid(axis="x", visible=False)
