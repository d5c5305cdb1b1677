"""How many runs deadlock."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from unpause import metrics
from unpause.data import schemes
from unpause.data.result import Result
from unpause.data.series import Unavailable
from unpause.figures.registry import kind
from unpause.figures.style import NothingToDraw, legend, note
from unpause.statistics.counting import as_often


@kind("deadlocks")
def draw(result: Result, paper: Mapping[str, int], paper_runs: int) -> Figure:
    """Share of deadlocked runs of each scheme, with its exact 95 % interval.

    Beside it the paper's: `paper` has its deadlocked runs by scheme, of `paper_runs`.
    """
    figure = Figure(figsize=(4.6, 0.42 * len(result.schemes) + 1.2), layout="constrained")
    ax = figure.subplots()
    names = [schemes.canonical(s) for s in result.schemes]
    # A variant, "PCN, XOFF 128 KB", has its scheme's colour.
    bases = [name.partition(",")[0] for name in names]
    colour = schemes.colours(bases)
    for y, (scheme, name, base) in enumerate(zip(result.schemes, names, bases, strict=True)):
        runs = result.runs_of(scheme)
        try:
            share = metrics.deadlocked_share(runs)
        except Unavailable as error:
            raise NothingToDraw(str(error)) from error
        count = as_often(share, len(runs))
        low, high = count.interval
        error = [[(share - low) * 100], [(high - share) * 100]]
        ax.errorbar([share * 100], [y], xerr=error, color=colour[base], marker="o", capsize=2)
        ax.text(1.02, y, str(count), va="center", transform=ax.get_yaxis_transform())
        if name in paper:
            ax.plot(
                [paper[name] * 100 / paper_runs],
                [y],
                color="#555555",
                marker="|",
                markersize=11,
                linestyle="none",
                label=f"the paper's, of {paper_runs} runs",
            )
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(-2, 102)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("deadlocked runs (%)")
    legend(figure, ax)
    note(figure, "Bars: exact 95 % interval (Clopper-Pearson).")
    return figure
