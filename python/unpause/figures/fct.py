"""Flow completion time: slowdown by flow size, and the distribution."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, legend, note, thousands
from unpause.result import Result

_BINS = 20  # 5 % of the flows each
_PERCENTILES = (50, 95, 99)
_FEWEST_FLOWS = 100


def size_bins(size: np.ndarray, bins: int = _BINS) -> list[np.ndarray]:
    """Indices of the flows, sorted by size, in `bins` groups of equal number (5 % for 20)."""
    return np.array_split(np.argsort(size, kind="stable"), bins)


@draws("fct-slowdown", "FCT slowdown by flow size", place=4)
def draw_slowdown(result: Result) -> Figure:
    """p50, p95 and p99 of FCT over ideal FCT, flows sorted by size in bins of 5 %."""
    done = result.flows.filter(pc.is_valid(pc.field("slowdown")))
    count = {s: done.filter(pc.field("scheme") == s).num_rows for s in result.schemes}
    if max(count.values()) < _FEWEST_FLOWS:
        raise NothingToDraw(
            f"At most {max(count.values())} flows of a scheme completed; percentiles by size need "
            f"{_FEWEST_FLOWS}."
        )
    sizes = np.unique(series.column(done, "size_bytes"))
    if len(sizes) < _BINS:
        raise NothingToDraw(
            f"The completed flows have only {len(sizes)} "
            f"size{'s' if len(sizes) > 1 else ''} ({', '.join(thousands(s) for s in sizes[:4])}"
            f"{', …' if len(sizes) > 4 else ''}); see the distribution of FCT instead."
        )
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 6.4), layout="constrained")
    axes = figure.subplots(len(_PERCENTILES), 1, sharex=True)
    x = (np.arange(_BINS) + 1) * 100 / _BINS
    few = [scheme for scheme in result.schemes if count[scheme] < _FEWEST_FLOWS]
    for scheme in result.schemes:
        if scheme in few:
            continue
        rows = done.filter(pc.field("scheme") == scheme)
        slowdown = series.column(rows, "slowdown")
        groups = size_bins(series.column(rows, "size_bytes"))
        for ax, percentile in zip(axes, _PERCENTILES, strict=True):
            y = [np.percentile(slowdown[g], percentile) for g in groups]
            ax.plot(x, y, color=colour[scheme], label=scheme, marker="o", markersize=2.5)
    every = np.sort(series.column(done, "size_bytes"))
    ticks = x[1::2]
    labels = [thousands(every[min(len(every) - 1, int(len(every) * t / 100) - 1)]) for t in ticks]
    for ax, percentile in zip(axes, _PERCENTILES, strict=True):
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        if ax.get_ylim()[1] / ax.get_ylim()[0] > 30:
            ax.yaxis.set_minor_formatter(FuncFormatter(lambda v, _: ""))
        else:
            ax.yaxis.set_minor_formatter(
                FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
            )
        ax.set_ylabel(f"p{percentile} slowdown")
    axes[-1].xaxis.set_major_locator(FixedLocator(list(ticks)))
    axes[-1].set_xticklabels(labels)
    axes[-1].set_xlabel("flow size (up to; each point is 5 % of the flows)")
    legend(figure, list(axes))
    if few:
        note(figure, f"Too few completed flows: {', '.join(few)}.")
    return figure


@draws("fct-cdf", "Distribution of flow completion time", place=5)
def draw_cdf(result: Result) -> Figure:
    """Cumulative distribution of FCT (ms) of completed flows, all traffic of a scheme."""
    done = result.flows.filter(pc.is_valid(pc.field("fct_ns")))
    if done.num_rows < 2:
        raise NothingToDraw("No flow completed.")
    colour = schemes.colours(result.schemes)
    figure = Figure(figsize=(WIDTH, 3.1), layout="constrained")
    ax = figure.subplots()
    for scheme in result.schemes:
        fct = np.sort(series.column(done.filter(pc.field("scheme") == scheme), "fct_ns")) / 1e6
        if len(fct):
            share = np.arange(1, len(fct) + 1) / len(fct) * 100
            ax.step(fct, share, where="post", color=colour[scheme], label=scheme)
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    low, high = ax.get_xlim()
    if high / low < 30:
        ax.xaxis.set_minor_formatter(
            FuncFormatter(lambda v, _: f"{v:g}" if f"{v:e}"[0] in "25" else "")
        )
    ax.set_ylim(0, 100)
    ax.set_xlabel("flow completion time (ms)")
    ax.set_ylabel("share of completed flows (%)")
    legend(figure, ax)
    started, completed = result.flows.num_rows, done.num_rows
    if completed < started:
        note(figure, f"{started - completed} of {started} flows had not completed at the end.")
    return figure
