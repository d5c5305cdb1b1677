"""Flow completion time: slowdown by flow size, and the distribution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from unpause.data import completion, schemes, series
from unpause.data.result import Result, Run
from unpause.figures.registry import draws
from unpause.figures.style import (
    BOUND_MARKER,
    WIDTH,
    NothingToDraw,
    grid,
    legend,
    log_ticks,
    note,
    own_legends,
    thousands,
    widths,
)
from unpause.statistics.censored import BEYOND, Sample, joined, needed
from unpause.text import plural, time_unit

_MOST_BINS = 20  # 5 % of the flows each
_PERCENTILES = (50, 95, 99)
_FEWEST_BINS = 3
_STEPS = 1000


def size_bins(size: np.ndarray, bins: int = _MOST_BINS) -> list[np.ndarray]:
    """Indices of the flows, sorted by size, in `bins` groups of equal number (5 % for 20)."""
    return np.array_split(np.argsort(size, kind="stable"), bins)


def bins_for(percentile: float, flows: int) -> int:
    """Bins so large that ten flows of each lie beyond `percentile`; 20 at most."""
    return min(_MOST_BINS, flows // needed(percentile))


@dataclass(frozen=True)
class _Flows:
    """Flows of all seeds of a scheme: slowdown, or its lower bound, and which of them finished."""

    size: np.ndarray
    slowdown: np.ndarray
    finished: np.ndarray

    def of(self, flows: np.ndarray) -> Sample:
        """The slowdown of some of them."""
        known = self.finished[flows]
        return Sample(self.slowdown[flows[known]], self.slowdown[flows[~known]])


@draws("fct-slowdown", "FCT slowdown by flow size", place=4)
def draw_slowdown(result: Result) -> Figure:
    """p50, p95 and p99 of FCT over ideal FCT, flows sorted by size in equal bins.

    Flows that did not finish count with their lower bound. Bins hold enough flows that ten lie
    beyond the percentile. Flows of several seeds are taken together: a seed alone has too few of
    them for a percentile of a bin.
    """
    if result.axes:
        raise NothingToDraw(f"This result is a sweep over {', '.join(result.axes)}.")
    found = {scheme: _flows(result.runs_of(scheme)) for scheme in result.schemes}
    counts = {scheme: len(flows.size) for scheme, flows in found.items()}
    least = _FEWEST_BINS * needed(50)
    enough = [scheme for scheme in result.schemes if counts[scheme] >= least]
    if not enough:
        raise NothingToDraw(
            f"A scheme has at most {plural(max(counts.values()), 'flow')}; percentiles by size "
            f"need {least}."
        )
    every = np.sort(np.concatenate([flows.size for flows in found.values()]))
    sizes = np.unique(every)
    if len(sizes) < _MOST_BINS:
        raise NothingToDraw(
            f"The flows have only {len(sizes)} "
            f"size{'s' if len(sizes) > 1 else ''} ({', '.join(thousands(s) for s in sizes[:4])}"
            f"{', …' if len(sizes) > 4 else ''}); see the distribution of FCT instead."
        )
    groups = schemes.together(enough)
    shown = [p for p in _PERCENTILES if any(_bins(found[s], p) for s in enough)]
    figure = Figure(figsize=(WIDTH, 2.0 * len(shown) * len(groups) + 0.6), layout="constrained")
    axes = figure.subplots(len(shown) * len(groups), 1, sharex=True, squeeze=False)[:, 0]
    for row, ax in enumerate(axes):
        group, at = groups[row // len(shown)], shown[row % len(shown)]
        look = schemes.looks(group)
        for scheme, width in zip(group, widths(len(group)), strict=True):
            if bins := _bins(found[scheme], at):
                x = (np.arange(bins) + 0.5) * 100 / bins
                _line(ax, x, found[scheme], at, bins, look[scheme], scheme, width)
        ax.set_yscale("log")
        log_ticks(ax.yaxis)
        ax.set_ylabel(f"p{at} slowdown")
    axes[0].set_xlim(0, 100)
    ticks = np.arange(10, 101, 10)
    labels = [thousands(every[int(len(every) * t / 100) - 1]) for t in ticks]
    axes[-1].xaxis.set_major_locator(FixedLocator(list(ticks)))
    axes[-1].set_xticklabels(labels)
    axes[-1].set_xlabel("flow size at this percentile of all flows (10 %, 20 %, …)")
    if len(groups) == 1:
        legend(figure, list(axes))
    else:
        own_legends(axes[:: len(shown)], 1)
    few = [scheme for scheme in result.schemes if scheme not in enough]
    left_out = [f"p{p}" for p in _PERCENTILES if p not in shown]
    seeds = max(len(result.runs_of(scheme)) for scheme in result.schemes)
    unfinished = [f"{s}: {_unfinished(found[s].finished)}"
                  for s in enough if not found[s].finished.all()]  # fmt: skip
    note(
        figure,
        f"At least {BEYOND} flows beyond the percentile at each point.",
        f"Flows of {seeds} seeds together." if seeds > 1 else "One seed.",
        f"Too few flows for {' and '.join(left_out)}." if left_out else "",
        f"Too few flows: {', '.join(few)}." if few else "",
        f"Triangles: lower bounds, because flows did not finish ({'; '.join(unfinished[:10])})."
        if unfinished
        else "",
    )
    return figure


def _unfinished(finished: np.ndarray) -> str:
    return f"{np.sum(~finished):,} of {len(finished):,}"


def _flows(runs: Iterable[Run]) -> _Flows:
    sizes, slowdowns, ended = [np.empty(0)], [np.empty(0)], [np.empty(0, dtype=bool)]
    for run in runs:
        table = run.counted_flows(completion.COLUMNS)
        table = table.filter(pc.is_valid(pc.field("size_bytes")))
        slowdown = completion.slowdown_or_bound(table, run.row)
        known = ~np.isnan(slowdown)
        sizes.append(series.column(table, "size_bytes")[known])
        slowdowns.append(slowdown[known])
        ended.append(completion.finished(table)[known])
    return _Flows(np.concatenate(sizes), np.concatenate(slowdowns), np.concatenate(ended))


def _bins(flows: _Flows, percentile: float) -> int:
    """How many bins a scheme has; none if that were less than three."""
    bins = bins_for(percentile, len(flows.size))
    return bins if bins >= _FEWEST_BINS else 0


def _line(ax, x, flows, at, bins, look, label, width) -> None:
    found = [flows.of(ours).percentile(at) for ours in size_bins(flows.size, bins)]
    y = np.array([each.at_least for each in found])
    bounds = np.array([not each.is_exact for each in found])
    ax.plot(x, y, color=look.colour, label=label, linewidth=width, marker=look.marker, markersize=3)
    if bounds.any():
        ax.plot(x[bounds], y[bounds], color=look.colour, **BOUND_MARKER)


@draws("fct-cdf", "Distribution of flow completion time", place=5)
def draw_cdf(result: Result) -> Figure:
    """Share of all flows with a size that are complete within a time, all traffic of a scheme."""
    if result.axes:
        raise NothingToDraw(f"This result is a sweep over {', '.join(result.axes)}.")
    found = {s: joined([_fct_ns(run) for run in result.runs_of(s)]) for s in result.schemes}
    done = {s: np.sort(sample.known) for s, sample in found.items()}
    if not any(len(fct) for fct in done.values()):
        raise NothingToDraw("No flow completed.")
    size, unit = time_unit(max(fct[-1] for fct in done.values() if len(fct)))
    groups = schemes.together(result.schemes)
    figure, axes = grid(len(groups), 1 if len(groups) == 1 else 2, panel_height=2.5, sharey=True)
    last = max(fct[-1] for fct in done.values() if len(fct)) / size
    for ax, group in zip(axes, groups, strict=True):
        look = schemes.looks(group)
        for scheme, width in zip(group, widths(len(group)), strict=True):
            if len(done[scheme]):
                x, share = _distribution(found[scheme], last, size)
                ax.step(
                    x, share, where="post", color=look[scheme].colour, label=scheme, linewidth=width
                )
        ax.set_xscale("log")
        log_ticks(ax.xaxis)
        ax.set_ylim(0, 101)
        ax.set_xlabel(f"flow completion time ({unit})")
        ax.set_ylabel("share of all flows (%)")
    if len(groups) == 1:
        legend(figure, axes)
    else:
        own_legends(axes, 2)
    seeds = max(len(result.runs_of(scheme)) for scheme in result.schemes)
    unfinished = [
        f"{s}: {len(f.bounds):,} of {len(f):,}" for s, f in found.items() if len(f.bounds)
    ]
    told = "; ".join(unfinished[:10])
    note(
        figure,
        "Of all flows that have a size.",
        f"{seeds} seeds together." if seeds > 1 else "",
        f"Not complete at the end: {told}." if unfinished else "All were complete at the end.",
    )
    return figure


def _fct_ns(run: Run) -> Sample:
    return completion.fct_ns(run.counted_flows(completion.COLUMNS), run.row)


def _distribution(flows: Sample, last: float, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """The steps of the distribution (%), as many as can be seen, up to the figure's end."""
    fct, share = flows.distribution()
    fct, share = fct / unit, 100 * share
    if len(fct) > _STEPS:
        kept = np.unique(np.linspace(0, len(fct) - 1, _STEPS).astype(int))
        fct, share = fct[kept], share[kept]
    # It begins at nothing, and stays where it ends.
    return np.concatenate([fct[:1], fct, [last]]), np.concatenate([[0.0], share, share[-1:]])
