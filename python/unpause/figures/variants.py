"""Many variants of schemes: a row for each, a panel for each measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from unpause import schemes
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import WIDTH
from unpause.result import Result, Run


def draw_variants(
    result: Result, measures: Mapping[str, Callable[[Run], float]], linear: tuple[str, ...] = ()
) -> Figure:
    """Median and range of each measure, schemes in the order of the file.

    What stands before a comma in a scheme's name decides its colour: "QCN, 40 Gb/s" has QCN's. Axes
    are logarithmic except for the measures in `linear`; 0 is written, ∞ too.
    """
    names = list(dict.fromkeys(result.runs.column("scheme").to_pylist()))
    figure = Figure(figsize=(WIDTH, 0.2 * len(names) + 1.2), layout="constrained")
    axes = list(figure.subplots(1, len(measures), sharey=True))
    bases = [schemes.canonical(name).partition(",")[0] for name in names]
    colour = schemes.colours(bases)
    for ax, (title, measure) in zip(axes, measures.items(), strict=True):
        for y, (name, base) in enumerate(zip(names, bases, strict=True)):
            median, low, high = spread(result.runs_of(name), measure)
            inside = ax.get_yaxis_transform()  # x as a share of the panel, y as data
            if median == float("inf"):
                ax.text(0.99, y, "∞", color=colour[base], ha="right", va="center", transform=inside)
            elif median == 0 and title not in linear:
                ax.text(0.02, y, "0", color=colour[base], va="center", transform=inside)
            else:
                shown = [low if low > 0 or title in linear else median, high]
                ax.plot(shown, [y, y], color=colour[base], linewidth=1.5)
                ax.plot([median], [y], color=colour[base], marker="o", markersize=4)
        if title not in linear:
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(title, fontweight="bold")
        ax.margins(x=0.12)
        ax.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(names)), [schemes.canonical(n) for n in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    say_seeds(figure, result)
    return figure
