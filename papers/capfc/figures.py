"""CaPFC: tails of FCT by class of traffic (Figs. 8 and 9), and head-of-line blocking."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from unpause import metrics
from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.figures.registry import draws
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import (
    DASHES,
    WIDTH,
    NothingToDraw,
    at_least,
    from_zero,
    legend,
    log_with_zero,
    single_runs,
)

CLASSES = ("query", "short", "long")
#: Flows that start before this are not counted.
WARM_UP_MS = 500.0


@draws("capfc-fct", "CaPFC: tail FCT by class and technique")
def draw_fct(result: Result) -> Figure:
    """Largest FCT and its 99.9th percentile; drops, PAUSEs and stopped time in all."""
    if result.axes:
        raise NothingToDraw(f"This result is a sweep over {', '.join(result.axes)}.")
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    panels = figure.subplot_mosaic([["fct"] * 3, ["drops", "pauses", "stalled"]])
    _tails(panels["fct"], result)
    for name, title, measure in (
        ("drops", "Packets dropped", metrics.dropped_packets),
        ("pauses", "PAUSE events", metrics.pause_events),
        ("stalled", "Pipelines stopped (ms)", metrics.stalled_ms),
    ):
        _totals(panels[name], title, result, measure)
    legend(figure, panels["fct"])
    say_seeds(figure, result)
    return figure


def _tails(ax: Axes, result: Result) -> None:
    colour = schemes.colours(result.schemes)
    width = 0.8 / len(result.schemes)
    at = np.arange(len(CLASSES))
    for i, scheme in enumerate(result.schemes):
        runs = result.runs_of(scheme)
        found = [spread(runs, lambda r, c=c: tail_ms(r, c, "max")) for c in CLASSES]
        median, low, high = np.array(found).T
        p999 = [spread(runs, lambda r, c=c: tail_ms(r, c, "p99.9"))[0] for c in CLASSES]
        x = at + (i - (len(result.schemes) - 1) / 2) * width
        error = np.abs([median - low, high - median]) if len(runs) > 1 else None
        ended = np.isfinite(median)
        bars = {"color": colour[scheme], "label": scheme, "ecolor": "#222"}
        ax.bar(x[ended], median[ended], 0.92 * width, yerr=_of(error, ended), **bars)
        inside = ax.get_xaxis_transform()  # x as data, y as a share of the panel
        for never in x[~ended]:
            ax.bar(
                never, 1, 0.92 * width, color="white", edgecolor=colour[scheme], hatch="////",
                linewidth=0, transform=inside, label="_nolegend_",
            )  # fmt: skip
            ax.text(never, 1.0, "∞", color=colour[scheme], ha="center", transform=inside)
        label = "99.9th percentile" if i == len(result.schemes) - 1 else None
        ax.plot(x, p999, "_", color="white", markeredgewidth=4.5, markersize=11)
        ax.plot(x, p999, "_", color="black", markeredgewidth=1.5, markersize=10, label=label)
    ax.set_title("Largest FCT", fontweight="bold")
    ax.set_ylabel("ms")
    _log(ax)
    ax.set_ylim(bottom=1)
    ax.set_xticks(at, CLASSES)
    ax.grid(axis="x", visible=False)


def _of(error: np.ndarray | None, chosen: np.ndarray) -> np.ndarray | None:
    return None if error is None else error[:, chosen]


def _log(ax: Axes) -> None:
    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _totals(ax: Axes, title: str, result: Result, measure) -> None:
    colour = schemes.colours(result.schemes)
    medians = [spread(result.runs_of(s), measure)[0] for s in result.schemes]
    x = range(len(medians))
    bars = ax.bar(x, medians, color=[colour[s] for s in result.schemes])
    ax.bar_label(bars, [_short(v) for v in medians], fontsize=6.5)
    ax.set_title(title, fontweight="bold")
    ax.set_xticks([])
    ax.margins(y=0.15)
    ax.grid(axis="x", visible=False)


def _short(value: float) -> str:
    """Three digits, thousands as k: bars stand close together."""
    for factor, unit in ((1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


@draws("capfc-sweep", "CaPFC: tail FCT over a swept value")
def draw_sweep(result: Result) -> Figure:
    """Largest FCT of each class over the value that is swept, and packets dropped."""
    if len(result.axes) != 1:
        raise NothingToDraw("This result does not sweep one value.")
    (column,) = result.axes
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = list(np.ravel(figure.subplots(2, 2, sharex=True)))
    colour = schemes.colours(result.schemes)
    for scheme, dash in zip(result.schemes, DASHES, strict=False):
        points: dict[float, list[Run]] = {}
        for run in result.runs_of(scheme):
            points.setdefault(run.row[column], []).append(run)
        line = {"color": colour[scheme], "linestyle": dash, "marker": "o", "markersize": 3}
        x = sorted(points)
        for ax, name in zip(axes, CLASSES, strict=False):
            tails = [spread(points[v], lambda r, c=name: tail_ms(r, c, "max"))[0] for v in x]
            finite = [v if math.isfinite(v) else np.nan for v in tails]
            ax.plot(x, finite, label=scheme, **line)
        axes[3].plot(x, [spread(points[v], metrics.dropped_packets)[0] for v in x], **line)
    for ax, name in zip(axes, CLASSES, strict=False):
        ax.set_title(f"Largest FCT, {name} (ms)", fontweight="bold")
        _log(ax)
    axes[3].set_title("Packets dropped", fontweight="bold")
    log_with_zero(axes[3])
    for ax in axes[2:]:
        ax.set_xlabel(column)
    legend(figure, axes[0])
    say_seeds(figure, result)
    return figure


def tail_ms(run: Run, name: str, statistic: str) -> float:
    """FCT of the flows of class `name` after the warm-up."""
    return metrics.fct_ms(run, statistic, [name], WARM_UP_MS)


_BYSTANDER, _HOT = "S->P7", "S->P8"
#: Samples are taken every 0.1 ms; a point is the mean of so many.
_BIN = 10


@draws("capfc-hol", "CaPFC: head-of-line blocking")
def draw_hol(result: Result) -> Figure:
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
    at_least(panels["rate"], 0, 1.1)
    panels["queue"].set_title("Queue at port 8, to which ports 1 to 5 send", fontweight="bold")
    panels["queue"].set_ylabel("KB")
    from_zero(panels["queue"])
    panels["queue"].set_xlabel("time (ms)")
    for name in ("rate", "queue"):
        panels[name].set_xlim(0, max(float(run.row["simulated_ns"]) for run in runs) / 1e6)
    _bars(panels["drops"], "Packets dropped", runs, metrics.dropped_packets, colour)
    _bars(panels["stalled"], "Pipeline stopped (ms)", runs, metrics.stalled_ms, colour)
    _ports(panels["pauses"], runs, colour)
    legend(figure, panels["rate"])
    return figure


def _bars(ax: Axes, title: str, runs: list[Run], measure, colour: dict[str, str]) -> None:
    values = [measure(run) for run in runs]
    bars = ax.bar(range(len(runs)), values, color=[colour[run.scheme] for run in runs])
    ax.bar_label(bars, [_short(v) for v in values], fontsize=6.5)
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
    log_with_zero(ax)
    ax.set_ylim(bottom=0)
    ax.grid(axis="x", visible=False)
