"""PCN Figs. 14 and 20: PAUSE and flow completion times of a workload in a Clos."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause import metrics
from unpause.figures.dots import dots
from unpause.figures.registry import draws
from unpause.figures.seeds import say_seeds
from unpause.figures.style import WIDTH, legend
from unpause.figures.variants import draw_variants
from unpause.result import Result, Run

_Measures = dict[str, Callable[[Run], float]]

_LAYERS = {"all": "", "ToRs": "tor", "leaves": "leaf", "spines": "spine"}
#: Sizes of Table 1: more than, up to.
_SIZES = {
    "S": (0, 10_000),
    "M": (10_000, 100_000),
    "L": (100_000, 1_000_000),
    "XL": (1_000_000, None),
}
#: Priorities of `scenarios/pcn/t3.toml`.
_PRIORITIES = {"S": 4, "M": 3, "L": 2, "XL": 1}


@draws("pcn-f14", "PCN Fig. 14: realistic workload")
def draw(result: Result) -> Figure:
    """Fig. 14: PAUSE rate by layer, flow completion rate (above); FCT by size (below)."""
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    (pause, rate), (mean, p99) = figure.subplots(2, 2)
    _panel(
        pause,
        result,
        {
            layer: partial(metrics.workload_pause_kps, nodes=nodes)
            for layer, nodes in _LAYERS.items()
        },
        "PAUSE frames, by the layer that sends them",
        "Kp/s",
    )
    _panel(
        rate,
        result,
        {
            "to the last start": partial(metrics.completion_rate, until="last-start"),
            "to the last end": partial(metrics.completion_rate, until="last-end"),
        },
        "flow completion rate",
        "flows/ms",
    )
    rate.set_yscale("linear")
    rate.set_ylim(bottom=0)
    _fct_panels(mean, p99, result)
    legend(figure, [pause])
    say_seeds(figure, result)
    return figure


@draws("pcn-f14-readings", "PCN Fig. 14: readings of the schemes")
def draw_readings(result: Result) -> Figure:
    """PAUSE and FCT of many variants of the schemes."""
    measures: _Measures = {
        "PAUSE frames\n(Kp/s)": metrics.workload_pause_kps,
        "egress queues\npaused, mean": metrics.workload_paused,
        "mean FCT\n(ms)": partial(metrics.fct_ms, statistic="mean"),
        "mean FCT of S\n(ms)": partial(metrics.sized_fct_ms, statistic="mean", upto_bytes=10_000),
    }
    return draw_variants(result, measures, linear=("mean FCT\n(ms)",))


@draws("pcn-f20", "PCN Table 3, Fig. 20: priorities")
def draw_priorities(result: Result) -> Figure:
    """Table 3 and Fig. 20: PAUSE rate by priority (above); FCT by size, so by priority (below)."""
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    panels = figure.subplot_mosaic([["pause", "pause"], ["mean", "p99"]])
    _panel(
        panels["pause"],
        result,
        {
            f"{size} (priority {priority})": partial(metrics.workload_pause_kps, priority=priority)
            for size, priority in _PRIORITIES.items()
        },
        "PAUSE frames, by priority",
        "Kp/s",
    )
    _fct_panels(panels["mean"], panels["p99"], result)
    legend(figure, [panels["pause"]])
    say_seeds(figure, result)
    return figure


def _fct_panels(mean: Axes, p99: Axes, result: Result) -> None:
    for ax, statistic in ((mean, "mean"), (p99, "p99")):
        measures: _Measures = {"all": partial(metrics.fct_ms, statistic=statistic)}
        for size, (above, upto) in _SIZES.items():
            measures[size] = partial(
                metrics.sized_fct_ms, statistic=statistic, above_bytes=above, upto_bytes=upto
            )
        _panel(ax, result, measures, f"{statistic} FCT, by size", "ms")


def _panel(ax: Axes, result: Result, measures: _Measures, title: str, unit: str) -> None:
    dots(ax, result, measures)
    ax.set_title(title, fontweight="bold")
    ax.set_ylabel(unit)
