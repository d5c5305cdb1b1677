"""HPCC: slowdown by the size of flows, as in Fig. 10 and 11, and the incast of Fig. 13."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, WIDTH, NothingToDraw, from_zero, grid, legend, note
from unpause.metrics.slowdown import slowdowns
from unpause.statistics.percentiles import percentile

#: Buckets of equally many flows, and the percentiles that are drawn of each.
BUCKETS = 20
PERCENTILES = (50, 95, 99)


def by_size(
    runs: list[Run], traffic: str, ideal_of: str | None = None
) -> tuple[list[float], list[list[float]]]:
    """Largest size of each bucket, and the percentiles of its flows, of all runs together.

    Slowdowns are as in :func:`unpause.metrics.slowdown.slowdowns`.

    Raises:
        NothingToDraw: there are fewer flows than buckets.
    """
    size, slow = np.zeros(0), np.zeros(0)
    for run in runs:
        flows = run.table("flows")
        ours = np.array(flows.column("traffic").to_pylist()) == traffic
        size = np.concatenate([size, series.column(flows, "size_bytes")[ours]])
        slow = np.concatenate([slow, slowdowns(run, flows, ideal_of)[ours]])
    if len(size) < BUCKETS:
        raise NothingToDraw(f"There are fewer than {BUCKETS} flows of {traffic}.")
    order = np.argsort(size, kind="stable")
    parts = np.array_split(order, BUCKETS)
    return (
        [float(size[part[-1]]) for part in parts],
        [[percentile(slow[part], percent) for part in parts] for percent in PERCENTILES],
    )


def _written(size: float) -> str:
    for unit, factor in (("M", 1e6), ("K", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g}{unit}"
    return f"{size:g}"


@draws("hpcc-sizes", "HPCC: slowdown by the size of flows")
def draw_sizes(result: Result) -> Figure:
    """Slowdown over the flows' sizes, a row of panels for each load, a panel a percentile."""
    names = result.schemes
    basic = next((name for name in names if name.startswith("DCQCN")), None)
    entry = result.runs_of(names[0])[0].table("flows").column("traffic")
    traffic = "websearch" if "websearch" in entry.unique().to_pylist() else "flows"
    swept = "load" in result.sweep_columns
    loads = sorted(set(result.runs.column("load").to_pylist())) if swept else [None]
    look = schemes.looks(names)
    figure = Figure(figsize=(WIDTH, 2.4 * len(loads)), layout="constrained")
    axes = figure.subplots(len(loads), len(PERCENTILES), sharey="row", squeeze=False)
    for row, load in zip(axes, loads, strict=True):
        for scheme in names:
            runs = [r for r in result.runs_of(scheme) if load is None or r.row["load"] == load]
            sizes, lines = by_size(runs, traffic, basic)
            for ax, line in zip(row, lines, strict=True):
                known = [value if np.isfinite(value) else np.nan for value in line]
                ax.plot(
                    range(BUCKETS),
                    known,
                    color=look[scheme].colour,
                    linestyle=look[scheme].dash,
                    label=scheme,
                )
        for ax, percent in zip(row, PERCENTILES, strict=True):
            ax.set_yscale("log")
            ax.set_title(f"p{percent}" + (f", load {load:g}" if load else ""), fontweight="bold")
            ticks = range(3, BUCKETS, 4)
            ax.set_xticks(ticks, [_written(sizes[at]) for at in ticks])
            ax.minorticks_off()
        row[0].set_ylabel("slowdown")
    for ax in axes[-1]:
        ax.set_xlabel("size up to (B)")
    legend(figure, list(np.ravel(axes)))
    note(figure, f"Each of {BUCKETS} points has 5 % of the flows; those of all seeds together.")
    return figure


@draws("hpcc-f13", "HPCC Fig. 13: per ACK and per RTT")
def draw_f13(result: Result) -> Figure:
    """What the receiver's link carries in bins of 10 us, and its queue."""
    colour = schemes.colours(result.schemes)
    figure, (rates, queues) = grid(2, 2, panel_height=2.3)
    try:
        for number, scheme in enumerate(result.schemes):
            port = series.port(result.runs_of(scheme)[0], "S0->H16")
            style = {"color": colour[scheme], "linestyle": DASHES[number], "label": scheme}
            at, rate = series.binned_per_ms(port.time_ns, port.tx_bytes, 0.0, 10e3)
            rates.plot(at / 1e3 + 5, rate * series.GBPS, **style)
            queues.plot(port.time_ns / 1e3, port.queue_bytes / 1e3, **style)
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    for ax, label in ((rates, "throughput (Gb/s)"), (queues, "queue (KB)")):
        from_zero(ax)
        ax.set_xlabel("time (us)")
        ax.set_ylabel(label)
    legend(figure, [rates, queues])
    return figure
