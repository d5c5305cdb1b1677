"""Many variants of schemes: a row for each, a panel for each measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from unpause.data import schemes
from unpause.data.result import Result
from unpause.figures.panels import measure
from unpause.figures.registry import kind
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import WIDTH


@kind("variants")
def draw(result: Result, panel: Sequence[Mapping[str, Any]]) -> Figure:
    """Median and range of each panel's metric, schemes in the order of the file.

    What stands before a comma in a scheme's name decides its colour: "QCN, 40 Gb/s" has QCN's. A
    panel has a title, a `metric` with `args`, and a logarithmic axis unless it is `linear`; 0 is
    written, ∞ too.
    """
    names = list(dict.fromkeys(result.runs.column("scheme").to_pylist()))
    figure = Figure(figsize=(WIDTH, 0.2 * len(names) + 1.2), layout="constrained")
    axes = list(figure.subplots(1, len(panel), sharey=True))
    bases = [schemes.canonical(name).partition(",")[0] for name in names]
    colour = schemes.colours(bases)
    for ax, each in zip(axes, panel, strict=True):
        metric, linear = measure(each), each.get("linear", False)
        for y, (name, base) in enumerate(zip(names, bases, strict=True)):
            median, low, high = spread(result.runs_of(name), metric)
            inside = ax.get_yaxis_transform()  # x as a share of the panel, y as data
            if median == float("inf"):
                ax.text(0.99, y, "∞", color=colour[base], ha="right", va="center", transform=inside)
            elif median == 0 and not linear:
                ax.text(0.02, y, "0", color=colour[base], va="center", transform=inside)
            else:
                shown = [low if low > 0 or linear else median, high]
                ax.plot(shown, [y, y], color=colour[base], linewidth=1.5)
                ax.plot([median], [y], color=colour[base], marker="o", markersize=4)
        if linear:
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))
        else:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(each["title"], fontweight="bold")
        ax.margins(x=0.12)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), [schemes.canonical(n) for n in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    say_seeds(figure, result)
    return figure
