"""One figure of a paper's claims: every number of the paper against what was measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from unpause.claims.claim import Claim, Counted, Finding
from unpause.claims.judges import Verdict
from unpause.figures.style import NothingToDraw

#: By verdict, told apart with any common colour vision deficiency; the page's badges are alike.
COLOURS = {
    Verdict.REPRODUCED: "#0072B2",
    Verdict.ORDER: "#E69F00",
    Verdict.NOT_JUDGED: "#8a8a8a",
    Verdict.NOT_EVALUATED: "#c4c4c4",
    Verdict.NOT_REPRODUCED: "#D55E00",
}
_MOST = 20.0  # times the paper's number, or its reciprocal, at the figure's edges
_TICKS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
_ROW, _WIDTH = 0.235, 10.0  # inches
_TEXT = 78  # characters of a statement


@dataclass(frozen=True)
class Point:
    """A measured number over the paper's, with the ends of its seeds.

    Attributes:
        bound: "<" if it may be at most the paper's number, ">" if at least, "" if it is a value.
    """

    ratio: float
    low: float
    high: float
    bound: str
    verdict: Verdict


def points(finding: Finding) -> list[Point]:
    """The points of a check; none where the paper has no number but "none at all"."""
    bound = {"at_least": ">", "at_most": "<", "above_scheme": ">", "below_scheme": "<"}
    found = []
    for scheme, expected in finding.expected.items():
        value = finding.measured.get(scheme)
        if value is None or not expected or math.isinf(expected) or expected < 0:
            continue
        ends = finding.spread.get(scheme, (value, value))
        ratios = [it / expected for it in (value, *ends)]
        found.append(Point(*ratios, bound.get(finding.judge, ""), finding.verdict))
    return found


def draw(claims: Sequence[Claim]) -> Figure:
    """The paper's own claims in their order, a row each.

    Raises:
        NothingToDraw: none of them is the paper's own.
    """
    rows = [claim for claim in claims if claim.counted is Counted.PAPER]
    if not rows:
        raise NothingToDraw("No claim is the paper's own.")
    figure = Figure(figsize=(_WIDTH, _ROW * len(rows) + 1.1), layout="constrained")
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_xlim(1 / (1.3 * _MOST), 1.3 * _MOST)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.axvspan(0.75, 1.25, color="#000000", alpha=0.06, linewidth=0)
    ax.axvline(1, color="#000000", linewidth=0.8)
    for y, claim in enumerate(rows):
        _row(ax, y, claim)
    ax.set_yticks(range(len(rows)), [_name(claim) for claim in rows], fontsize=6.8)
    for y, label in enumerate(ax.get_yticklabels()):
        label.set_color("#000000" if rows[y].verdict is Verdict.REPRODUCED else "#3c3c3c")
    ax.tick_params(axis="y", length=0, pad=12)
    ax.xaxis.set_major_locator(FixedLocator(_TICKS))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    ax.set_xlabel("measured / the paper's number (bars: range of the seeds; grey: within 25 %)")
    ax.grid(axis="y", visible=False)
    _legend(figure, rows)
    return figure


def _row(ax: Axes, y: int, claim: Claim) -> None:
    beside = ax.get_yaxis_transform()
    ax.plot(-0.012, y, marker="s", markersize=5, color=COLOURS[claim.verdict], transform=beside,
            clip_on=False)  # fmt: skip
    every = [point for finding in claim.findings for point in points(finding)]
    step = min(0.16, 0.6 / max(1, len(every)))
    for at, point in enumerate(every):
        height = y + (at - (len(every) - 1) / 2) * step
        colour = COLOURS[point.verdict]
        shown = [min(max(it, 1 / _MOST), _MOST) for it in (point.low, point.high)]
        ax.plot(shown, [height] * 2, color=colour, linewidth=2.2, alpha=0.55, solid_capstyle="butt")
        x = min(max(point.ratio, 1 / _MOST), _MOST)
        beyond = "$→$" if point.ratio > _MOST else "$←$" if point.ratio < 1 / _MOST else ""
        ax.plot(x, height, color=colour, markersize=4, linestyle="none",
                marker={"<": "<", ">": ">"}.get(point.bound, "o"))  # fmt: skip
        if beyond:
            ends = {"$→$": (1.12, "left"), "$←$": (1 / 1.12, "right")}[beyond]
            ax.text(x * ends[0], height, beyond.strip("$"), color=colour, fontsize=6, va="center",
                    ha=ends[1])  # fmt: skip


def _name(claim: Claim) -> str:
    text = textwrap.shorten(f"{claim.id.partition('-')[2]}  {claim.text}", _TEXT, placeholder=" …")
    return text


def _legend(figure: Figure, rows: Sequence[Claim]) -> None:
    there = {claim.verdict for claim in rows} | {f.verdict for c in rows for f in c.findings}
    handles = [
        Line2D([], [], marker="s", linestyle="none", color=COLOURS[v], label=v.value)
        for v in Verdict
        if v in there
    ]
    black = {"linestyle": "none", "color": "#000000", "markersize": 4}
    handles += [
        Line2D([], [], marker="o", label="a value", **black),
        Line2D([], [], marker=">", label="at least", **black),
        Line2D([], [], marker="<", label="at most", **black),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=8, frameon=False, fontsize=7)
