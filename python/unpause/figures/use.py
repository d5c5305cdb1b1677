"""Utilisation of links."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from unpause.data import capacity, drawn, series
from unpause.data.fabric import Fabric
from unpause.data.result import Result, Run
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, grid, legend, note

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
        f"The {len(panels)} most used; {rest} more links are in table ports." if rest else "",
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
    lines: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
    bins = set()
    for run in shown.runs:
        fabric = Fabric.of(run)
        rates = {str(port): t.rate_bps for port, t in fabric.ports.items()}
        others = {str(port): (port.node, port.port) for port in fabric.ports}
        steps = capacity.rates(run)
        for link, data in drawn.ports(run).items():
            if len(data.time_ns) < 2 or not rates.get(link) or not data.tx_bytes[-1]:
                continue
            span = data.time_ns[-1] - data.time_ns[0]
            step = float(np.max(np.diff(data.time_ns)))
            bin_ns = step * max(1, round(span / _POINTS / step))
            start = float(data.time_ns[0])
            time, sent = series.binned_per_ms(data.time_ns, data.tx_bytes, start, bin_ns)
            bins.add(bin_ns)
            of_link = steps.get(others[link])
            most = capacity.carried_most(of_link, rates[link], np.array([time, time + bin_ns]))
            percent = 100 * sent * series.GBPS * bin_ns / (most[1] - most[0])
            lines.setdefault(link, {})[run.scheme] = time + bin_ns / 2, percent
    if not lines:
        raise NothingToDraw("No port was probed that sent anything; name some in [probes] ports.")
    most = {link: max(float(p.mean()) for _, p in each.values()) for link, each in lines.items()}
    links = sorted(lines, key=lambda link: (-most[link], link))
    panels = links[:_MOST_PANELS]
    spans = [overtime.span_of(t, p > 0) for link in panels for t, p in lines[link].values()]
    size = overtime.unit_of(shown.runs, spans)
    figure, axes = grid(len(panels), 2, sharey=True)
    looks, widths = shown.looks, shown.widths
    for ax, link in zip(axes, panels, strict=True):
        ax.set_title(link)
        for scheme, (time, percent) in lines[link].items():
            ax.plot(
                time / size,
                percent,
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
        f"Means over {max(bins) / 1e3:g} us.",
        f"The {len(panels)} most used; {more} more are in table port_series." if more else "",
    )
    return figure
