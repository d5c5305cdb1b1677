"""Utilisation of links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.figure import Figure

from unpause.data import capacity, drawn, series
from unpause.data.fabric import Fabric
from unpause.data.result import Result, Run
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, grid, legend, note
from unpause.text import are, plural, value_text

_MOST_LINKS = 14
#: Links that carry little more than acknowledgements are left out.
_LEAST_PERCENT = 5
_MOST_PANELS = 6
_POINTS = 250


@draws("link-use", "Link utilisation", place=3)
def draw(result: Result) -> Figure:
    """Share of its rate that each link carried (%), from the first start to the last end of a flow.

    Where the rate changes, it is that in force.
    From the totals that are always recorded. Links that any scheme used most.
    """
    shown = overtime.shown(result)
    use = {run.scheme: _use_percent(run) for run in shown.runs}
    most: dict[str, float] = {}
    for by_link in use.values():
        for link, percent in by_link.items():
            most[link] = max(most.get(link, 0.0), percent)
    if not most:
        raise NothingToDraw("No link carried anything.")
    links = sorted(most, key=lambda link: (-most[link], link))
    panels = [link for link in links if most[link] >= _LEAST_PERCENT][:_MOST_LINKS] or links[:4]
    schemes = len(shown.runs)
    # Dots of schemes lie side by side, so that equal values are all seen.
    row = 0.12 + 0.06 * schemes
    figure = Figure(figsize=(WIDTH, 0.9 + row * len(panels)), layout="constrained")
    ax = figure.subplots()
    looks = shown.looks
    for index, run in enumerate(shown.runs):
        y = np.arange(len(panels)) + (index - (schemes - 1) / 2) * 0.8 / schemes
        x = [use[run.scheme].get(link, 0.0) for link in panels]
        look = looks[run.scheme]
        ax.plot(
            x, y, linestyle="none", marker=look.marker, markersize=4, color=look.colour,
            label=run.scheme,
        )  # fmt: skip
    ax.set_yticks(range(len(panels)), panels)
    ax.set_ylim(len(panels) - 0.5, -0.5)
    for line in np.arange(0.5, len(panels) - 1):
        ax.axhline(line, color="#E3E3E3", linewidth=0.6)
    ax.grid(visible=False, axis="y")
    ax.set_xlim(0, 101)
    ax.set_xlabel("mean link utilisation while flows were active (%)")
    legend(figure, ax)
    rest = len(links) - len(panels)
    note(
        figure,
        shown.note,
        "From the first flow's start to the last one's end.",
        f"The {len(panels)} most used; {plural(rest, 'more link')} {are(rest)} in table ports."
        if rest
        else "",
    )
    return figure


def _use_percent(run: Run) -> dict[str, float]:
    """Mean use of each link that carried data, while there were flows."""
    flows = run.columns("flows", ["start_ns", "fct_ns"])
    if flows.num_rows == 0:
        return {}
    start, fct = series.column(flows, "start_ns"), series.column(flows, "fct_ns")
    whole = float(run.row["simulated_ns"])
    end = whole if np.isnan(fct).any() else min(whole, float(np.max(start + fct)))
    span = np.array([[float(np.min(start)), end]])
    found: dict[str, float] = {}
    most: dict[str, float] = {}
    steps = capacity.rates(run)
    sent: dict[str, int] = {}
    for port, totals in Fabric.of(run).ports.items():
        link = str(port)
        bits = capacity.bits_between(steps.get((port.node, port.port)), totals.rate_bps, span)
        most[link] = most.get(link, 0.0) + bits
        sent[link] = sent.get(link, 0) + totals.tx_bytes
    for link, bits in most.items():
        if bits > 0 and sent[link]:
            found[link] = min(100.0, 100 * sent[link] * 8 / bits)
    return found


@draws("link-use-over-time", "Utilisation of probed links over time", place=3.5)
def draw_over_time(result: Result) -> Figure:
    """Share of its rate in force (%) that each probed port sent, over time; the most used first."""
    shown = overtime.shown(result)
    ports = {run.scheme: drawn.ports(run) for run in shown.runs}
    step = overtime.step_of(data.time_ns for of in ports.values() for data in of.values())
    counters: dict[tuple[str, str], tuple[np.ndarray, np.ndarray]] = {}
    for scheme, of_scheme in ports.items():
        for link, data in of_scheme.items():
            if step is not None and data.tx_bytes[-1] and len(data.time_ns) > 1:
                counter = overtime.with_beginning(data.time_ns, data.tx_bytes, 0.0, step)
                counters[link, scheme] = counter
    if step is None or not counters:
        raise NothingToDraw("No port was probed that sent anything; name some in [probes] ports.")
    bin_ns = overtime.bin_of(counters.values(), step, _POINTS)
    lines: dict[str, dict[str, overtime.Binned]] = {}
    for run in shown.runs:
        for link, percent in _percent(run, counters, bin_ns):
            lines.setdefault(link, {})[run.scheme] = percent
    most = {link: max(it.mean for it in each.values()) for link, each in lines.items()}
    links = sorted(lines, key=lambda link: (-most[link], link))
    panels = links[:_MOST_PANELS]
    spans = [it.span for link in panels for it in lines[link].values()]
    size = overtime.unit_of(shown.runs, spans)
    figure, axes = grid(len(panels), 2, sharey=True)
    looks, widths = shown.looks, shown.widths
    for ax, link in zip(axes, panels, strict=True):
        ax.set_title(link)
        for scheme, percent in lines[link].items():
            time, use = percent.line
            ax.plot(
                time / size,
                use,
                color=looks[scheme].colour,
                linewidth=widths[scheme],
                label=scheme,
            )
        ax.set_ylim(0, 104)
    for ax in axes[::2]:
        ax.set_ylabel("use (%)")
    rest = overtime.limit(axes, spans, shown.runs)
    legend(figure, axes)
    more = len(links) - len(panels)
    note(
        figure,
        shown.note,
        rest,
        f"Means over {value_text('bin_ns', bin_ns)}.",
        f"The {len(panels)} most used; {more} more are in table port_series." if more else "",
    )
    return figure


def _percent(
    run: Run, counters: Mapping[tuple[str, str], tuple[np.ndarray, np.ndarray]], bin_ns: float
) -> Iterator[tuple[str, overtime.Binned]]:
    """Share of its rate in force (%) that each port of a run sent, in bins."""
    steps = capacity.rates(run)
    for port, totals in Fabric.of(run).ports.items():
        counter = counters.get((str(port), run.scheme))
        if counter is None or not totals.rate_bps:
            continue
        sent = overtime.binned(*counter, bin_ns)
        of_port = steps.get((port.node, port.port))
        most = capacity.carried_most(of_port, totals.rate_bps, sent.edges)
        yield str(port), sent.over(np.diff(most) / 800)
