"""Where the time of flows went, by scheme and size."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from unpause.data import series
from unpause.data.result import Result, Run
from unpause.explanation import delays
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, legend, note
from unpause.text import size, time, time_unit

#: What bars are made of: names, colours, and columns of table `delays`.
_STACK = (
    ("other packets at the NIC", "#B8B8B8", ("turn_ns",)),
    ("rate of the sender", "#56B4E9", ("rate_ns", "limit_ns", "credit_ns")),
    ("window of the sender", "#0072B2", ("window_ns",)),
    ("PAUSE", "#D55E00", ("pause_ns",)),
    ("queues", "#E69F00", ("queue_ns", "own_queue_ns", "switch_ns", "retry_ns")),
    ("lost packets", "#CC79A7", ("loss_ns",)),
    ("timeouts", "#7A4FBF", ("timeout_ns",)),
    ("out of order, other", "#5B8C5A", ("receiver_ns", "open_ns", "other_ns")),
)
#: Flows of as many sizes stand in a panel of their own, if each has enough of them.
_MOST_PANELS = 3
_LEAST_FLOWS = 20
#: Parts of less than this share of the longest bar are not drawn.
_LEAST_WIDTH = 0.002
#: Flows above this percentile of the slowdown are the slowest.
_TAIL = 99


@draws("delays", "Where the time of flows went", place=4.5, table="delays")
def draw(result: Result) -> Figure:
    """Mean time beyond that of each flow alone, by cause, in a bar for each scheme.

    All flows, and those with the largest slowdowns (one in 100), in groups of equal number by size.
    """
    if result.axes:
        raise NothingToDraw(f"This result is a sweep over {', '.join(result.axes)}.")
    schemes = [scheme for scheme in result.schemes if _joined(result.runs_of(scheme)).num_rows]
    if not schemes:
        raise NothingToDraw("No flow with a size is complete.")
    every = {scheme: _joined(result.runs_of(scheme)) for scheme in schemes}
    limits = _size_limits(np.concatenate([series.column(t, "size_bytes") for t in every.values()]))
    panels = len(limits) - 1
    height = 0.9 + panels * (0.35 + 0.34 * len(schemes))
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    for panel, ax in enumerate(axes):
        low, high = limits[panel : panel + 2]
        of_size = {scheme: _between(table, low, high) for scheme, table in every.items()}
        _draw_panel(ax, of_size)
        if panels > 1:
            ax.set_title(f"flows of {size(low)} to {size(high)}")
    legend(figure, list(axes))
    note(
        figure,
        "Mean of the flows that finished, of all seeds; hatched: of the slowest, one in 100.",
        "Parts of a flow add up to its FCT less that of the flow alone.",
    )
    return figure


def _joined(runs: list[Run]) -> pa.Table:
    """The delays of completed flows, with size and slowdown."""
    tables = []
    for run in runs:
        flows = run.counted_flows(["flow_id", "size_bytes", "slowdown", "fct_ns"])
        flows = flows.filter(pc.is_valid(flows.column("fct_ns")))
        tables.append(delays.of_flows(run).join(flows, "flow_id", join_type="inner"))
    return pa.concat_tables(tables)


def _size_limits(sizes: np.ndarray) -> list[float]:
    """The limits of groups of equal number by size: one group if sizes or flows are few."""
    panels = min(_MOST_PANELS, len(np.unique(sizes)), max(1, len(sizes) // _LEAST_FLOWS))
    limits = np.unique(np.quantile(sizes, np.linspace(0, 1, panels + 1), method="nearest"))
    return limits.tolist() if len(limits) > 1 else [limits[0], limits[0]]


def _between(table: pa.Table, low: float, high: float) -> pa.Table:
    """The flows above `low`, or of the least size, up to `high`."""
    sizes = series.column(table, "size_bytes")
    least = low == sizes.min(initial=np.inf)
    inside = (sizes <= high) & ((sizes >= low) if least else (sizes > low))
    return table.filter(pa.array(inside))


def _draw_panel(ax, of_size: dict[str, pa.Table]) -> None:
    """Two bars for each scheme: all flows, and the slowest."""
    means = []
    for table in of_size.values():
        slow = max(1, table.num_rows * (100 - _TAIL) // 100)
        order = pc.sort_indices(table, [("slowdown", "descending"), ("flow_id", "ascending")])
        means += [_means(table), _means(table.take(order[:slow]))]
    largest = max((sum(mean) for mean in means), default=0.0)
    factor, unit = time_unit(largest)
    y = np.array([row + at for row in range(len(of_size)) for at in (-0.2, 0.2)])
    left = np.zeros(len(y))
    hatches = [None, "///"] * len(of_size)
    for number, (name, colour, _) in enumerate(_STACK):
        width = np.array([mean[number] / factor for mean in means])
        if (width < _LEAST_WIDTH * largest / factor).all():
            continue
        bars = ax.barh(y, width, 0.36, left=left, color=colour, label=name)
        for bar, hatch in zip(bars, hatches, strict=True):
            bar.set_hatch(hatch)
            bar.set_edgecolor("white")
            bar.set_linewidth(0.3)
        left += width
    for row, mean in enumerate(means):
        whose = "slowest" if row % 2 else "all"
        ax.annotate(
            f"{whose}: {time(sum(mean))}",
            (sum(mean) / factor, y[row]),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
        )
    ax.set_xlim(0, 1.18 * largest / factor or 1)
    ax.set_yticks(range(len(of_size)), list(of_size))
    ax.set_ylim(len(of_size) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(f"mean delay ({unit})")


def _means(table: pa.Table) -> list[float]:
    """The mean of each part of the stack, ns."""
    rows = max(1, table.num_rows)
    return [
        sum(float(series.column(table, column).sum()) for column in columns) / rows
        for _, _, columns in _STACK
    ]
