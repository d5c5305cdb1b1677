"""PCN Figs. 10, 15 and 16, which need no simulation, and the fluid model against packets."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import fluid, mechanisms
from unpause.data import series
from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, LINES, WIDTH, NothingToDraw, from_zero, legend, note

#: The setting of Figs. 15 and 16: 10 Gb/s, the largest T in use, w_min by the guideline 0.1 / N.
CAPACITY_BPS, PERIOD_S, SOURCES, W_MIN = 10e9, 500e-6, 4, 0.1 / 4
#: That of papers/pcn/scenarios/fluid.toml.
PACKETS_CAPACITY_BPS, PACKETS_PERIOD_S = 10e9, 50e-6
COLUMN = "flows"
LINK = "S0->H0"
_MODEL = "#000000"


@draws("pcn-f10", "PCN Fig. 10: increases in a row")
def draw_f10(_result: Result | None = None) -> Figure:
    """Rate (% of line rate) after each increase in a row, from the integer state machine."""
    line_rate, steps = 10_000_000_000, 20
    figure = Figure(figsize=(WIDTH, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    curve = mechanisms.pcn_increase(steps, line_rate_bps=line_rate)
    share = curve.rate_bps / line_rate * 100
    cnps = np.arange(steps + 1)
    left.plot(cnps, share, color=LINES[0], marker="o", markersize=3)
    for k, ha, offset in ((5, "left", (6, -5)), (15, "right", (-2, 7))):
        left.annotate(
            f"{share[k]:.2f} % after {k}",
            (k, share[k]),
            xytext=offset,
            textcoords="offset points",
            ha=ha,
            fontsize=7.5,
        )
    left.set_ylabel("rate (% of line rate)")
    left.set_ylim(0, 105)
    right.plot(cnps, curve.weight_q32 / 2**32, color=LINES[1], marker="o", markersize=3)
    right.axhline(0.5, color="#9A9A9A", linewidth=0.8, linestyle="--")
    right.text(0, 0.49, "w_max", va="top", fontsize=7.5, color="#555555")
    right.set_ylim(0, 0.53)
    right.set_ylabel("weight w of the next increase")
    for ax in (left, right):
        ax.set_xlim(-0.5, steps + 0.5)
        ax.set_xticks(range(0, steps + 1, 5))
        ax.set_xlabel("CNPs of no congestion in a row")
    note(figure, "w_min 1/128, w_max 1/2, from rate 0; the state machine of the simulator.")
    return figure


@draws("pcn-f15", "PCN Fig. 15: rate and queue of the fluid model")
def draw_f15(_result: Result | None = None) -> Figure:
    """Fig. 15: aggregate rate (% of C) and queue (MB) over loops, from overload and underload."""
    over = fluid.simulate(
        np.array([0.7, 0.2, 0.2, 0.2]) * CAPACITY_BPS * 3 / 1.3,
        capacity_bps=CAPACITY_BPS,
        period_s=PERIOD_S,
        w_min=W_MIN,
        loops=100,
    )
    under = fluid.simulate(
        np.zeros(SOURCES), capacity_bps=CAPACITY_BPS, period_s=PERIOD_S, w_min=W_MIN, loops=30
    )
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    axes = figure.subplots(2, 2, sharex="col")
    _loops(axes[:, 0], over, "(a) from an overload of 3 C")
    _loops(axes[:, 1], under, "(b) from rate 0")
    empty = over.first_empty_loop()
    if empty is not None:
        axes[1, 0].annotate(
            f"empty in loop {empty}",
            (empty, 0),
            xytext=(0, 22),
            textcoords="offset points",
            ha="center",
            fontsize=7.5,
            arrowprops={"arrowstyle": "-", "linewidth": 0.7},
        )
    axes[0, 0].set_ylabel("rate (% of C)")
    axes[1, 0].set_ylabel("queue (KB)")
    legend(figure, axes[0, 0])
    _model_note(figure)
    return figure


@draws("pcn-f16", "PCN Fig. 16: the fluid model's sawtooth")
def draw_f16(_result: Result | None = None) -> Figure:
    """Fig. 16: the sawtooth of N loops, the rates and the queue; and how shares become fair."""
    run = fluid.simulate(
        np.array([0.7, 0.2, 0.2, 0.2]) * CAPACITY_BPS,
        capacity_bps=CAPACITY_BPS,
        period_s=PERIOD_S,
        w_min=W_MIN,
        loops=400,
    )
    empty = run.first_empty_loop()
    assert empty is not None
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    (rate, share), (queue, error) = figure.subplots(2, 2, sharex="col")
    steady = slice(empty - 3, empty + 22)
    loop = np.arange(len(run.queue_bytes))
    rate.step(loop[steady], run.aggregate_bps[steady] / CAPACITY_BPS * 100, where="post",
              color=LINES[0])  # fmt: skip
    rate.axhline(100, color="#9A9A9A", linewidth=0.8, linestyle="--")
    rate.set_title("one increase, then N - 1 decreases")
    rate.set_ylabel("aggregate rate (% of C)")
    queue.plot(loop[steady], run.queue_bytes[steady] / 1e3, color=LINES[0], marker="o",
               markersize=2.5)  # fmt: skip
    swing = fluid.queue_swing_bytes(
        SOURCES, capacity_bps=CAPACITY_BPS, period_s=PERIOD_S, w_min=W_MIN
    )
    queue.axhline(swing / 1e3, color="#9A9A9A", linewidth=0.8, linestyle="--")
    queue.text(
        loop[steady][-1], swing / 1e3 * 1.01, f"ΔQ = {swing / 1e3:.2f} KB", ha="right",
        va="bottom", fontsize=7.5, color="#555555",
    )  # fmt: skip
    queue.set_ylabel("queue (KB)")
    from_zero(queue)
    cycles = np.arange(0, 60)
    peaks = empty + cycles * SOURCES
    eta = run.share[peaks]
    for source, (colour, dash) in enumerate(zip(LINES[:2], DASHES, strict=False)):
        name = "source 0" if source == 0 else "sources 1 to 3"
        share.plot(peaks, eta[:, source] * 100, color=colour, linestyle=dash, label=name)
    share.axhline(100 / SOURCES, color="#9A9A9A", linewidth=0.8, linestyle="--")
    share.set_ylabel("share of all rates (%)")
    share.set_title("shares, one point a cycle of N loops")
    predicted = [
        fluid.share_after(eta[0, 0], int(c), sources=SOURCES, w_min=W_MIN) - 1 / SOURCES
        for c in cycles
    ]
    error.semilogy(peaks, (eta[:, 0] - 1 / SOURCES) * 100, color=LINES[0], label="source 0")
    error.semilogy(
        peaks[::4], np.array(predicted[::4]) * 100, color=_MODEL, linestyle="none", marker="x",
        markersize=4, label="closed form, a^k",
    )  # fmt: skip
    error.set_ylabel("share above 1/N (% points)")
    for ax in (queue, error):
        ax.set_xlabel("loop")
    legend(figure, [rate, queue, share, error])
    _model_note(figure)
    return figure


def _loops(axes: np.ndarray, run: fluid.Fluid, title: str) -> None:
    above, below = axes
    loop = np.arange(len(run.queue_bytes))
    above.set_title(title)
    aggregate = run.aggregate_bps / run.capacity_bps * 100
    above.step(loop, aggregate, where="post", color=LINES[0], label="all sources")
    first = run.rate_bps[:, 0] / run.capacity_bps * 100
    above.step(
        loop, first, where="post", color=LINES[1], linestyle=DASHES[1], label="source 0 alone"
    )
    above.axhline(100, color="#9A9A9A", linewidth=0.8, linestyle="--")
    above.set_ylim(0, 160)
    if aggregate[0] > 160:
        above.annotate(
            f"{aggregate[0]:.0f} % in loop 0",
            (0.6, 150),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    below.plot(loop, run.queue_bytes / 1e3, color=LINES[0])
    from_zero(below)
    below.set_xlabel("loop")
    for ax in axes:
        ax.margins(x=0.01)


def _model_note(figure: Figure) -> None:
    note(
        figure,
        f"Fluid model: N = {SOURCES}, C = {CAPACITY_BPS / 1e9:g} Gb/s, "
        f"T = {PERIOD_S * 1e6:g} µs, w_min = {W_MIN:g}, w_max = 1/2.",
    )


# --- The packet simulation over the fluid prediction --------------------------------------------


_MOST_GBPS = 14


@draws("pcn-fluid", "PCN's fluid model against packets")
def draw_packets(result: Result) -> Figure:
    """Sum of all rates set (Gb/s) and queue (KB) over ms, packets and fluid, a row for each N."""
    if COLUMN not in result.sweep_columns:
        raise NothingToDraw(f"The result has no swept column '{COLUMN}'.")
    rows = sorted({int(run.row[COLUMN]) for s in result.schemes for run in result.runs_of(s)})
    figure = Figure(figsize=(WIDTH, 1.55 * len(rows) + 0.9), layout="constrained")
    axes = figure.subplots(len(rows), 2, sharex=True, squeeze=False)
    last_ns = 0.0
    try:
        for (rate, queue), flows in zip(axes, rows, strict=True):
            for index, scheme in enumerate(result.schemes):
                for run in result.runs_of(scheme):
                    if int(run.row[COLUMN]) == flows:
                        last_ns = max(last_ns, _packets(rate, queue, run, index))
            _prediction(rate, queue, flows, last_ns)
            rate.set_title(f"N = {flows}")
            rate.set_ylim(0, _MOST_GBPS)
            from_zero(queue)
            rate.set_ylabel("rates set (Gb/s)")
            queue.set_ylabel("queue (KB)")
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xlim(PACKETS_PERIOD_S * 1e3, last_ns / 1e6)
    for ax in axes[-1]:
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.set_xlabel("time (ms)")
    legend(figure, list(axes[0]))
    note(
        figure,
        f"C = {PACKETS_CAPACITY_BPS / 1e9:g} Gb/s, T = {PACKETS_PERIOD_S * 1e6:g} µs, w_min 1/128; "
        "all flows start at line rate. Means over 1/30 of a decade. Rates, up to N x C at first, "
        f"are cut at {_MOST_GBPS} Gb/s.",
    )
    return figure


def rates_set(run: Run) -> tuple[np.ndarray, np.ndarray]:
    """Instants (ns) and the sum of the rates that all recorded flows may send at (bit/s)."""
    table = run.table("flow_series")
    if table.num_rows == 0:
        raise Unavailable(f"No flow was recorded under {run.scheme} (record = true in its entry).")
    time, index = np.unique(series.column(table, "time_ns"), return_inverse=True)
    return time, np.bincount(index, weights=series.column(table, "controller_rate_bps"))


def _packets(rate: Axes, queue: Axes, run: Run, index: int) -> float:
    """Draw one run; answers its end, ns. Every second scheme is dashed, to show the one below."""
    look = {
        "color": LINES[(0, 5, 1, 3, 2, 4)[index % 6]],
        "linestyle": "-" if index % 2 == 0 else (0, (4, 3)),
        "linewidth": 1.6 if index % 2 == 0 else 1.1,
    }
    time, total = rates_set(run)
    rate.plot(*_thinned(time / 1e6, total / 1e9), label=run.scheme, **look)
    port = series.port(run, LINK)
    queue.plot(*_thinned(port.time_ns / 1e6, port.queue_bytes / 1e3), **look)
    return float(port.time_ns[-1])


def _prediction(rate: Axes, queue: Axes, flows: int, last_ns: float) -> None:
    run = fluid.simulate(
        np.full(flows, PACKETS_CAPACITY_BPS),
        capacity_bps=PACKETS_CAPACITY_BPS,
        period_s=PACKETS_PERIOD_S,
        loops=round(last_ns / 1e9 / PACKETS_PERIOD_S),
    )
    time = run.time_s[1:] * 1e3
    look = {"color": _MODEL, "linestyle": ":", "linewidth": 1.4}
    rate.plot(*_thinned(time, run.aggregate_bps[1:] / 1e9), label="fluid", **look)
    queue.plot(*_thinned(time, run.queue_bytes[1:] / 1e3), **look)


def _thinned(time: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over intervals of 1/30 of a decade, without those that hold no sample."""
    bins = np.round(np.log10(time) * 30).astype(int)
    bins -= bins.min()
    count = np.bincount(bins)
    held = count > 0
    return (
        np.bincount(bins, weights=time)[held] / count[held],
        np.bincount(bins, weights=value)[held] / count[held],
    )
