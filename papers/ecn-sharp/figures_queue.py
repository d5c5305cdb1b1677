"""ECN#: queues and bursts at one bottleneck, shares of a scheduler, division on a Tofino."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import mechanisms, metrics
from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.registry import draws
from unpause.figures.seeds import spread
from unpause.figures.style import DASHES, LINES, WIDTH, NothingToDraw, from_zero, grid, legend, note
from unpause.statistics import censored

#: A full packet on the wire: 1400 B of payload.
PACKET = 1454
_LINK = "S0->H0"
_MARKERS = ("o", "s", "^", "D", "v", "P")


@draws("ecn-sharp-s3", "ECN# Fig. 16: queue of the bottleneck")
def draw_s3(result: Result) -> Figure:
    """Fig. 16: the bottleneck's queue (packets) over time, around the burst where there is one."""
    figure, axes = grid(len(result.schemes), 2, sharey=True)
    seed = min(result.runs.column("seed").to_pylist())
    colour = schemes.colours(result.schemes)
    for ax, scheme in zip(axes, result.schemes, strict=True):
        run = next(r for r in result.runs_of(scheme) if r.row["seed"] == seed)
        data = _port(run)
        origin = _burst_ns(run)
        time, queue = (data.time_ns - origin) / 1e6, data.queue_bytes / PACKET
        if origin:
            inside = (time >= -5) & (time <= 10)
            time, queue = time[inside], queue[inside]
        ax.plot(time, queue, color=colour[scheme], linewidth=0.8)
        ax.set_title(scheme, fontweight="bold")
    for ax in axes[-2:]:
        ax.set_xlabel("time from the burst (ms)" if _burst_ns(run) else "time (ms)")
    for ax in axes[::2]:
        ax.set_ylabel("queue (packets)")
    many = len(set(result.runs.column("seed").to_pylist())) > 1
    if many:
        note(figure, f"Seed {seed}.")
    return figure


@draws("ecn-sharp-s4", "ECN# Fig. 17: bursts of queries")
def draw_s4(result: Result) -> Figure:
    """Fig. 17: query completion time and drops over the number of queries. Median of the seeds."""
    column = "queries"
    if column not in result.sweep_columns:
        raise NothingToDraw(f"The result has no swept column '{column}'.")
    measures = {
        "mean FCT of queries (ms)": lambda r: metrics.fct_ms(r, "mean", ["queries"]),
        "last query done (ms)": _last_ms,
        "packets dropped": metrics.dropped_packets,
    }
    figure = Figure(figsize=(WIDTH, 2.7), layout="constrained")
    axes = figure.subplots(1, 3)
    colour = schemes.colours(result.schemes)
    for ax, (title, measure) in zip(axes, measures.items(), strict=True):
        for i, scheme in enumerate(result.schemes):
            runs = result.runs_of(scheme)
            counts = sorted({r.row[column] for r in runs})
            found = [spread([r for r in runs if r.row[column] == n], measure) for n in counts]
            median, low, high = np.array(found).T
            ax.fill_between(counts, low, high, color=colour[scheme], alpha=0.12, linewidth=0)
            ax.plot(
                counts,
                median,
                color=colour[scheme],
                linestyle=DASHES[i % len(DASHES)],
                marker=_MARKERS[i % len(_MARKERS)],
                markersize=3,
                label=scheme,
            )
        ax.set_title(title, fontweight="bold")
        ax.set_xlabel("queries at once")
        from_zero(ax)
    legend(figure, list(axes))
    note(figure, "Median of the seeds; bands from the lowest to the highest.")
    return figure


@draws("ecn-sharp-s6", "ECN# Fig. 20: packet scheduling")
def draw_s6(result: Result) -> Figure:
    """Fig. 20: goodput of three classes over time, and the FCT of short flows."""
    names = ["long0", "long1", "long2"]
    seed = min(result.runs.column("seed").to_pylist())
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    rows = figure.subfigures(2, 1)
    axes = rows[0].subplots(1, len(result.schemes), sharey=True, squeeze=False)[0]
    colour = schemes.colours(result.schemes)
    below = rows[1].subplots(1, 1)
    for ax, scheme in zip(axes, result.schemes, strict=True):
        runs = result.runs_of(scheme)
        run = next(r for r in runs if r.row["seed"] == seed)
        for i, name in enumerate(names):
            data = _flow(run, name)
            time = np.concatenate([[data.time_ns[0] - 20e6], data.time_ns])
            rate = np.diff(np.concatenate([[0], data.delivered_bytes])) / np.diff(time) * 8
            inside = data.time_ns <= 400e6
            ax.plot(
                data.time_ns[inside] / 1e6,
                rate[inside],
                color=LINES[i],
                linestyle=DASHES[i],
                label=f"class {i}, weight {2 if i == 0 else 1}",
            )
        ax.set_title(scheme, fontweight="bold")
        ax.set_xlabel("time (ms)")
        fct = censored.joined([_short_ms(r) for r in runs])
        mean = fct.mean()
        below.plot(
            *fct.distribution(),
            color=colour[scheme],
            label=f"{scheme}: mean {'' if mean.is_exact else '≥ '}{mean.at_least:.2f} ms",
        )
    axes[0].set_ylabel("goodput (Gb/s)")
    axes[0].set_ylim(0, 12)  # room for the legend
    axes[-1].legend(loc="upper right")
    below.set_xlabel("FCT of short flows (ms), all seeds")
    below.set_ylabel("share of flows")
    below.legend(loc="lower right")
    return figure


@draws("ecn-sharp-t4", "ECN# Fig. 6: division on a Tofino")
def draw_t4(_result: Result | None = None) -> Figure:
    """Fig. 6: division by table and shift beside the exact quotient."""
    dividend, upto = 1000, 400
    divisors = np.arange(1, upto + 1)
    exact = dividend / divisors
    approximate = mechanisms.tofino_division(dividend, divisors.tolist())
    figure = Figure(figsize=(WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(divisors, exact, color=LINES[4], label="exact")
    left.plot(divisors, approximate, color=LINES[0], linestyle="--", label="table and shift")
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_ylabel(f"{dividend} / count")
    left.legend(loc="lower left")
    right.plot(divisors, (approximate / exact - 1) * 100, color=LINES[0])
    right.set_ylabel("error (%)")
    for ax in (left, right):
        ax.set_xlabel("count of marks")
    return figure


def _port(run: Run) -> series.PortSeries:
    try:
        return series.port(run, _LINK)
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error


def _flow(run: Run, name: str) -> series.FlowSeries:
    try:
        return series.flow(run, name)
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error


def _burst_ns(run: Run) -> float:
    """Start of the queries, 0 if there are none."""
    try:
        return float(series.flow_starts_ns(run, "queries")[0])
    except Unavailable:
        return 0.0


def _last_ms(run: Run) -> float:
    """When the last query is done; infinite, and not drawn, if one is not."""
    return metrics.fct_ms(run, "max", ["queries"])


def _short_ms(run: Run) -> censored.Sample:
    return metrics.fct.sample_ms(run, traffic=["short0", "short1", "short2"])
