"""PCN Figs. 2 (and what its warm-up decides), 3, 5 and 19."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import metrics
from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.registry import draws
from unpause.figures.seeds import first_seed, say_seed, spread
from unpause.figures.style import (
    DASHES,
    LINES,
    WIDTH,
    NothingToDraw,
    at_least,
    burst_origin_ns,
    from_zero,
    legend,
    note,
)
from unpause.figures.swept import draw_panels, need

LINKS = ("S1->S0", "S0->H0", "S0->H1")
FLOWS = ("F0", "F1")
_PAUSE_BIN_NS = 0.5e6
_GOODPUT_BIN_NS = 0.25e6
_LONGEST_TREE_MS = 20.0


@draws("pcn-f2", "PCN Fig. 2: PAUSE and throughput around the burst")
def draw_f2(result: Result) -> Figure:
    """PAUSE in force, PAUSE frames per ms, goodput in Gb/s; over ms from the burst start."""
    runs = first_seed(result)
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
    from_zero(axes[0, 1])
    from_zero(axes[0, 2])
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
    say_seed(figure, result, runs[0])
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


_WARM_UP = "warm_up_ms"


@draws("pcn-f2-warm-up", "PCN Fig. 2: what the warm-up decides")
def draw_f2_warm_up(result: Result) -> Figure:
    """Length of the tree and loss of throughput (ms) over the warm-up (ms), median and range."""
    need(result, _WARM_UP)
    values = sorted(set(result.runs.column(_WARM_UP).to_pylist()))
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    axes = figure.subplots(1, 2)
    panels = (
        ("tree of PAUSEs", lambda run: metrics.tree_duration_ms(run, list(LINKS), "burst")),
        ("throughput lost for", _lost_ms),
    )
    for ax, (title, metric) in zip(axes, panels, strict=True):
        for i, scheme in enumerate(result.schemes):
            runs = result.runs_of(scheme)
            found = [spread([r for r in runs if r.row[_WARM_UP] == v], metric) for v in values]
            low, high = [f[1] for f in found], [f[2] for f in found]
            ax.fill_between(values, low, high, color=colour[scheme], alpha=0.2, linewidth=0)
            style = {"color": colour[scheme], "linestyle": DASHES[i % len(DASHES)], "marker": "o"}
            median = [f[0] for f in found]
            ax.plot(values, median, markersize=3, label=schemes.canonical(scheme), **style)
        ax.set_title(title, fontweight="bold")
        ax.set_ylabel("ms")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("warm-up (ms)")
    legend(figure, list(axes))
    every = len(set(result.runs.column("seed").to_pylist()))
    if every > 1:
        note(figure, f"Median of {every} seeds; shaded from the lowest to the highest.")
    return figure


def _lost_ms(run: Run) -> float:
    lost = metrics.throughput_loss_ms(run, list(FLOWS), "burst", fair_goodput_gbps=19.08)
    return lost if np.isfinite(lost) else np.nan


_F3_UNTIL_MS = 6.0


@draws("pcn-f3", "PCN Fig. 3: rate set against rate sent")
def draw_f3(result: Result) -> Figure:
    """Controller rate and sent rate (Gb/s) over ms from the burst start, a row for each scheme."""
    runs = [r for r in first_seed(result) if _controlled(result, r.scheme)]
    if not runs:
        raise NothingToDraw("No scheme has a congestion control, so no controller sets a rate.")
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 1.35 * len(runs) + 0.8), layout="constrained")
    axes = figure.subplots(len(runs), 2, sharex=True, sharey=True, squeeze=False)
    try:
        for row, run in zip(axes, runs, strict=True):
            origin = burst_origin_ns(run)
            for ax, flow in zip(row, FLOWS, strict=True):
                data = series.flow(run, flow)
                time, sent = series.rate_per_ms(data.time_ns, data.sent_bytes)
                ax.plot(
                    (time - origin) / 1e6,
                    sent * series.GBPS,
                    color="#9A9A9A",
                    linewidth=0.9,
                    label="really sent",
                )
                ax.plot(
                    (data.time_ns - origin) / 1e6,
                    data.controller_bps / 1e9,
                    color=colour[run.scheme],
                    drawstyle="steps-post",
                    label=f"set by {schemes.canonical(run.scheme)}",
                )
                ax.set_title(f"{run.scheme}: {flow}", fontweight="bold")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    axes[0, 0].set_xlim(-0.5, _F3_UNTIL_MS)
    from_zero(axes[0, 0])
    axes[len(runs) // 2, 0].set_ylabel("rate on the wire (Gb/s)")
    for ax in axes[-1]:
        ax.set_xlabel("time from the burst's start (ms)")
    legend(figure, list(axes[:, 0]))
    say_seed(figure, result, runs[0])
    return figure


def _controlled(result: Result, scheme: str) -> bool:
    """Whether the scenario gives `scheme` a congestion control; true if it does not say."""
    for entry in result.scenario.get("scheme", []):
        if entry.get("name") == scheme:
            return entry.get("congestion_control", "none") != "none"
    return True


_F5_COLUMN = "f1_limit_gbps"
_F5_LINK = "S1->S0"
_F5_WINDOW_MS = (5.0, 10.0)


@draws("pcn-f5", "PCN Fig. 5: F1's limiter swept")
def draw_f5(result: Result) -> Figure:
    """Goodput in Gb/s (above) and PAUSE frames per ms (below) over F1's limiter in Gb/s."""
    need(result, _F5_COLUMN)
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    scheme = result.schemes[0]
    runs = sorted(result.runs_of(scheme), key=lambda r: r.row[_F5_COLUMN])
    limit = np.array([r.row[_F5_COLUMN] for r in runs])
    try:
        for flow, colour, dash in zip(FLOWS, LINES[3:], DASHES, strict=False):
            rate = [metrics.goodput_gbps(r, flow, _F5_WINDOW_MS) for r in runs]
            above.plot(
                limit,
                rate,
                color=colour,
                linestyle=dash,
                marker="o",
                markersize=2.5,
                label=f"goodput {flow}",
            )
        frames = [_pause_frames_per_ms(r) for r in runs]
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    label = f"PAUSE {_F5_LINK} ({scheme})"
    below.plot(limit, frames, color=LINES[0], marker="o", markersize=2.5, label=label)
    from_zero(above)
    from_zero(below)
    above.set_ylabel("goodput (Gb/s)")
    below.set_ylabel("PAUSE frames per ms")
    below.set_xlabel("F1's rate limiter (Gb/s)")
    legend(figure, [above, below])
    return figure


def _pause_frames_per_ms(run: Run) -> float:
    data = series.port(run, _F5_LINK)
    start, end = (1e6 * t for t in _F5_WINDOW_MS)
    return series.mean_per_ms(data.time_ns, data.pause_frames, start, end)


_F19_PANELS = (
    {"title": "F0", "metric": "goodput_gbps", "args": {"flow": "F0"}},
    {"title": "F1", "metric": "goodput_gbps", "args": {"flow": "F1"}},
    {"title": "F0 + F1: the first link", "metric": "flows_gbps", "args": {"flows": ["F0", "F1"]}},
)


@draws("pcn-f19", "PCN Fig. 19: several bottlenecks in a row")
def draw_f19(result: Result) -> Figure:
    """Goodput in Gb/s over N; dotted: the proportionally fair shares."""
    column, window = "bottlenecks", {"window_ms": (100.0, 200.0)}
    figure, axes = draw_panels(result, column, _F19_PANELS, window, columns=3)
    n = np.unique(result.runs.column(column).to_numpy())
    # Of 40 Gb/s on the wire, 1000 of 1048 bytes are payload.
    fair = 40.0 * (1000 / 1048) / (n + 1)
    dotted = {"color": LINES[4], "linestyle": ":", "linewidth": 0.9, "zorder": 0}
    axes[0].plot(n, fair, label="proportionally fair", **dotted)
    axes[1].plot(n, n * fair, **dotted)
    axes[2].plot(n, (n + 1) * fair, **dotted)
    for ax in axes:
        at_least(ax, 0, 42)
        ax.set_xticks(n)
        ax.set_xlabel("bottlenecks N")
    axes[0].set_ylabel("goodput (Gb/s)")
    legend(figure, axes)
    return figure
