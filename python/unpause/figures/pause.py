"""PAUSE: frames over time for each probed link, and how long each egress was stopped."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause import schemes, series
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, grid, legend, note, single_runs
from unpause.result import Result

_MOST_LINKS = 12


@draws("pause-frames", "PAUSE frames over time", place=2)
def draw_frames(result: Result) -> Figure:
    """PAUSE frames per ms that each probed port sends, over time (ms)."""
    runs = single_runs(result)
    found: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    bin_ns = 0.0
    for run in runs:
        for link in series.probed(run):
            data = series.port(run, link)
            if len(data.time_ns) < 2 or data.pause_frames[-1] == 0:
                continue
            span, step = data.time_ns[-1] - data.time_ns[0], data.time_ns[1] - data.time_ns[0]
            bin_ns = step * max(1, round(span / 300 / step))
            start, rate = series.binned_per_ms(
                data.time_ns, data.pause_frames, float(data.time_ns[0]), bin_ns
            )
            found.setdefault(link, {})[run.scheme] = start + bin_ns / 2, rate
    if not found:
        raise NothingToDraw("No probed port sent a PAUSE frame.")
    colour = schemes.colours(result.schemes)
    shown = list(found)[:_MOST_LINKS]
    figure, axes = grid(len(shown), 2 if len(shown) > 3 else 1)
    for ax, link in zip(axes, shown, strict=True):
        ax.set_title(f"PAUSE on {link}")
        for scheme in schemes.ordered(found[link]):
            time, rate = found[link][scheme]
            ax.plot(time / 1e6, rate, color=colour[scheme], label=scheme, linewidth=1.0)
        ax.set_ylim(bottom=0)
        ax.margins(x=0)
        ax.set_ylabel("frames per ms")
    for ax in axes[-2:] if len(shown) > 3 else axes[-1:]:
        ax.set_xlabel("time (ms)")
    legend(figure, axes)
    note(figure, f"Mean over {bin_ns / 1e3:g} µs; refreshes included.")
    return figure


@draws("paused-time", "Time paused", place=3)
def draw_time(result: Result) -> Figure:
    """Time that egress ports were stopped by their peers (ms), for each scheme."""
    single_runs(result)
    table = result.ports.select(["scheme", "node", "peer", "paused_ns"])
    total = table.group_by(["scheme", "node", "peer"]).aggregate([("paused_ns", "sum")])
    paused: dict[str, dict[str, float]] = {}
    for row in total.to_pylist():
        link = f"{row['peer']}->{row['node']}"
        paused.setdefault(link, {})[row["scheme"]] = row["paused_ns_sum"] / 1e6
    links = [name for name, times in paused.items() if max(times.values()) > 0]
    if not links:
        raise NothingToDraw("No egress port was paused.")
    links.sort(key=lambda name: (-max(paused[name].values()), name))
    shown = links[:_MOST_LINKS]
    colour = schemes.colours(result.schemes)
    names = result.schemes
    height = 0.8 / len(names)
    rows = np.arange(len(shown))
    figure = Figure(
        figsize=(WIDTH, 0.9 + 0.12 * len(shown) * (len(names) + 1)), layout="constrained"
    )
    ax = figure.subplots()
    for index, scheme in enumerate(names):
        values = [paused[link].get(scheme, 0.0) for link in shown]
        place = rows + (index - (len(names) - 1) / 2) * height
        ax.barh(place, values, height=height * 0.9, color=colour[scheme], label=scheme)
    ax.set_yticks(rows, shown)
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("time paused (ms)")
    ax.set_ylabel("PAUSE from → to")
    legend(figure, ax)
    if len(links) > len(shown):
        note(figure, f"The longest; {len(links) - len(shown)} more links are in table ports.")
    return figure
