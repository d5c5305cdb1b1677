"""PCN Fig. 13: PAUSE rate of S1->S0 and p99 FCT against w_min or w_max."""

from __future__ import annotations

from fractions import Fraction

from matplotlib.figure import Figure

from unpause import metrics, schemes
from unpause.figures.pcn_f12 import ARRIVALS_MS
from unpause.figures.registry import draws
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import NothingToDraw, grid
from unpause.result import Result

_COLUMNS = ("w_min", "w_max")


@draws("pcn-f13", "PCN Fig. 13: sensitivity to w_min and w_max")
def draw(result: Result) -> Figure:
    """Both over whichever weight is swept: median and range of the seeds."""
    column = next((c for c in _COLUMNS if c in result.sweep_columns), None)
    if column is None:
        raise NothingToDraw(f"The result has no swept column '{_COLUMNS[0]}' or '{_COLUMNS[1]}'.")
    measures = {
        "PAUSE frames on S1->S0 (Kp/s)": lambda r: metrics.pause_rate_kps(
            r, ARRIVALS_MS, ["S1->S0"]
        ),
        "p99 FCT, all flows (ms)": lambda r: metrics.fct_ms(r, "p99"),
    }
    values = sorted(set(result.runs.column(column).to_pylist()))
    colour = schemes.colours(result.schemes)
    figure, axes = grid(len(measures), 2)
    for ax, (title, measure) in zip(axes, measures.items(), strict=True):
        for scheme in result.schemes:
            runs = result.runs_of(scheme)
            found = [spread([r for r in runs if r.row[column] == v], measure) for v in values]
            ax.errorbar(
                range(len(values)),
                [median for median, _, _ in found],
                [[m - low for m, low, _ in found], [high - m for m, _, high in found]],
                color=colour[scheme],
                marker="o",
                markersize=4,
            )
        ax.set_title(title, fontweight="bold")
        ax.set_ylim(0, None)
        ax.set_xticks(range(len(values)), [_written(v) for v in values])
        ax.set_xlabel(column)
    say_seeds(figure, result)
    return figure


def _written(value: float) -> str:
    """1/128 as in the paper, unless the value is a short decimal."""
    return f"{value:g}" if value >= 0.1 else str(Fraction(value).limit_denominator(10_000))
