"""Goodput over time, one panel for each recorded flow, one line for each scheme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.figure import Figure

from unpause.data import drawn, series
from unpause.data.result import Result, Run
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, NothingToDraw, from_zero, grid, legend, note
from unpause.text import rate_unit, value_text

_POINTS = 300


@draws("throughput", "Throughput of recorded flows", place=0)
def draw(result: Result) -> Figure:
    """Rate of payload delivered of every recorded flow over time."""
    shown = overtime.shown(result)
    recorded = {run.scheme: drawn.flows(run) for run in shown.runs}
    flows = list(dict.fromkeys(name for flows in recorded.values() for name in flows))
    if not flows:
        raise NothingToDraw("No flow was recorded; set record = true in a [[traffic]] entry.")
    step = overtime.step_of(data.time_ns for of in recorded.values() for data in of.values())
    counters = {
        (name, run.scheme): counter
        for run in shown.runs
        for name, counter in _counters(run, recorded[run.scheme], step)
    }
    flows = [name for name in flows if any(name == of for of, _ in counters)]
    if step is None or not flows:
        raise NothingToDraw(
            "No recorded flow has two samples; a shorter probes.interval gives more of them."
        )
    panels = flows[:MOST_PANELS]
    counters = {key: counter for key, counter in counters.items() if key[0] in panels}
    bin_ns = overtime.bin_of(counters.values(), step, _POINTS)
    grown = {key: overtime.binned(*counter, bin_ns) for key, counter in counters.items()}
    factor, unit = rate_unit(max(float(_bps(it).values.max()) for it in grown.values()))
    lines = {key: _bps(it).over(factor) for key, it in grown.items()}
    spans = [line.span for line in lines.values()]
    size = overtime.unit_of(shown.runs, spans)
    figure, axes = grid(len(panels), 1 if len(panels) <= 4 else 2, sharey=True)
    looks, widths = shown.looks, shown.widths
    for ax, name in zip(axes, panels, strict=True):
        several = max(drawn.flow_counts(run)[name] for run in shown.runs)
        ax.set_title(f"{name} (first of {several:,} flows)" if several > 1 else name)
        for run in shown.runs:
            if (name, run.scheme) in lines:
                time, rate = lines[name, run.scheme].line
                ax.plot(
                    time / size,
                    rate,
                    color=looks[run.scheme].colour,
                    label=run.scheme,
                    linewidth=widths[run.scheme],
                )
        from_zero(ax)
        ax.set_ylabel(f"goodput ({unit})")
    rest = overtime.limit(axes, spans, shown.runs)
    legend(figure, axes)
    notes = [shown.note, rest, f"Means over {value_text('bin_ns', bin_ns)}."]
    if len(flows) > len(panels):
        notes.append(f"{len(flows) - len(panels)} more recorded flows are in table flow_series.")
    note(figure, *notes)
    return figure


def _bps(grown: overtime.Binned) -> overtime.Binned:
    return grown.over(grown.lengths / 8e9)


def _counters(
    run: Run, flows: Mapping[str, drawn.Flow], step: float | None
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Times (ns) and delivered bytes of each flow, from its start if it is sampled from there."""
    table = run.columns("flows", ["flow_id", "start_ns"])
    numbers, starts = table["flow_id"].to_numpy(), series.column(table, "start_ns")
    for name, data in flows.items():
        counter = data.time_ns, data.delivered_bytes
        started = starts[numbers == data.flow_id]
        if step is not None and len(started):
            counter = overtime.with_beginning(*counter, float(started[0]), step)
        if len(counter[0]) > 1:
            yield name, counter
