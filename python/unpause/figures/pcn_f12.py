"""PCN Fig. 12: PAUSE rate and flow completion times, of five schemes or of variants of them."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.figure import Figure

from unpause import metrics
from unpause.figures.dots import dots
from unpause.figures.registry import draws
from unpause.figures.seeds import say_seeds
from unpause.figures.style import WIDTH, legend
from unpause.figures.variants import draw_variants
from unpause.result import Result, Run

#: Duration of the arrivals.
ARRIVALS_MS = 2000.0
_LINKS = {
    "all": None,
    "S1->S0": ["S1->S0"],
    "S0->H0": ["S0->H0"],
    "S0->H1": ["S0->H1"],
    "S1->H2…H15": [f"S1->H{i}" for i in range(2, 16)],
}
_GROUPS = {"ALL": None, "H0": ["H0"], "H1": ["H1"], "H2-H15": ["H2-H15"]}


@draws("pcn-f12", "PCN Fig. 12: PAUSE rate and flow completion times")
def draw(result: Result) -> Figure:
    """PAUSE rate by link, mean and p99 FCT by group, on log axes. Median and range of the seeds."""
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    rows = figure.subplot_mosaic([["pause", "pause"], ["mean", "p99"]])
    dots(
        rows["pause"],
        result,
        {name: lambda r, k=links: _kps(r, k) for name, links in _LINKS.items()},
    )
    rows["pause"].set_title("PAUSE frames, by the link on which they are sent", fontweight="bold")
    rows["pause"].set_ylabel("Kp/s")
    # The same in every variant; the paper's axes are 0.1 to 1000 Kp/s and 0.1 to 100 ms.
    rows["pause"].set_ylim(0.0002, 3000)
    for statistic in ("mean", "p99"):
        ax = rows[statistic]
        measures = {
            name: lambda r, g=group, s=statistic: metrics.fct_ms(r, s, g)
            for name, group in _GROUPS.items()
        }
        dots(ax, result, measures)
        ax.set_title(f"{statistic} FCT", fontweight="bold")
        ax.set_ylim(0.1, 400)
    rows["mean"].set_ylabel("ms")
    legend(figure, list(rows.values()))
    say_seeds(figure, result)
    return figure


@draws("pcn-f12-readings", "PCN Fig. 12: readings of the schemes")
def draw_readings(result: Result) -> Figure:
    """The same of many variants of the schemes."""
    measures: dict[str, Callable[[Run], float]] = {
        "PAUSE frames\n(Kp/s)": lambda r: _kps(r, None),
        "mean FCT of H0\n(ms)": lambda r: metrics.fct_ms(r, "mean", ["H0"]),
        "mean FCT of H1\n(ms)": lambda r: metrics.fct_ms(r, "mean", ["H1"]),
        "p99 FCT of H2-H15\n(ms)": lambda r: metrics.fct_ms(r, "p99", ["H2-H15"]),
    }
    return draw_variants(result, measures)


def _kps(run: Run, links: list[str] | None) -> float:
    return metrics.pause_rate_kps(run, ARRIVALS_MS, links)
