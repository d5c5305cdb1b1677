"""What a claim's number does in other settings: ``[[claim.tried]]`` of a claims file.

Each names an experiment of the same paper. The claim's checks are measured of every point of that
experiment's sweep and every variant of the claim's schemes, and drawn beside the paper's number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from unpause.claims import measuring, wording
from unpause.claims.judges import Check, Numbers
from unpause.claims.stated import Stated, Tried
from unpause.data import schemes
from unpause.data.series import Unavailable
from unpause.figures.style import NothingToDraw
from unpause.text import value_text

if TYPE_CHECKING:
    from unpause.data.result import Result, Run

_MOST_PANELS = 3


@dataclass(frozen=True)
class Row:
    """A setting, and what the check measures there of each scheme that has it."""

    setting: str
    numbers: Mapping[str, Numbers]


class _Part:
    """The runs of a result at one point of its sweep."""

    def __init__(self, result: Result, at: Mapping[str, Any]) -> None:
        self._result, self._at = result, at
        self.schemes = result.schemes

    def runs_of(self, scheme: str) -> list[Run]:
        """The runs of one scheme at that point."""
        runs = self._result.runs_of(scheme)
        return [run for run in runs if all(run.row[k] == v for k, v in self._at.items())]


def rows(stated: Stated, check: Check, results: Mapping[str, Result]) -> list[Row]:
    """Every setting that was tried, in the order of the claim and of the experiments.

    Args:
        stated: The claim.
        check: One of its checks.
        results: By experiment what was run; one that is not there is left out.
    """
    found = []
    for tried in stated.tried:
        result = results.get(tried.experiment)
        if result is None:
            continue
        axes = [a for a in result.axes if not check.sweep or a != check.sweep.column]
        points = {
            tuple(row[a] for a in axes): row for row in map(result.named, result.runs.to_pylist())
        }
        for values in points:
            at = dict(zip(axes, values, strict=True))
            where = ", ".join(f"{k} = {value_text(k, v)}" for k, v in at.items())
            for variant, numbers in _variants(_Part(result, at), check, tried):
                setting = wording.listed(part for part in (where, variant) if part)
                name = f"{tried.experiment}: {setting}" if setting else tried.experiment
                found.append(Row(name, numbers))
    return found


def _variants(part: _Part, check: Check, tried: Tried) -> list[tuple[str, dict[str, Numbers]]]:
    """Each variant of the check's schemes with its numbers; those without any are left out."""
    of: dict[str, dict[str, Numbers]] = {}
    overs = dict(_standing(part, check.over, tried)) if check.over else {}
    for scheme in check.schemes:
        for variant, name in _standing(part, scheme, tried):
            over = overs.get(variant, overs.get("", check.over))
            args = {**check.args, **tried.args}
            known = {"schemes": (name,), "over": over, "args": args}
            try:
                numbers = measuring.measure(part, replace(check, **known), name)
            except Unavailable:
                continue
            of.setdefault(variant, {})[scheme] = numbers
    return list(of.items())


def _standing(part: _Part, scheme: str, tried: Tried) -> list[tuple[str, str]]:
    """Which schemes of an experiment stand for one of the claim: (variant, name)."""
    if scheme in tried.schemes:
        return [(name.partition(", ")[2], name) for name in tried.schemes[scheme]]
    short = [(schemes.canonical(name), name) for name in part.schemes]
    own = schemes.canonical(scheme)
    return [
        (base.partition(", ")[2], name) for base, name in short if base.partition(", ")[0] == own
    ]


def draw(stated: Stated, results: Mapping[str, Result], own: Result | None) -> Figure:
    """A dot for each setting, with the range of its seeds; the paper's number is a line.

    Args:
        stated: The claim.
        results: By experiment what was run.
        own: The result by which the claim is judged, as the first row.

    Raises:
        NothingToDraw: nothing of it was run.
    """
    panels = []
    for check in stated.checks:
        if check.judge in ("expect", "at_least", "at_most") and check.metric.scope != "model":
            here = [Row("as judged", _judged(check, own))]
            panels.append((check, [*here, *rows(stated, check, results)]))
    panels = [(check, found) for check, found in panels if len(found) > 1][:_MOST_PANELS]
    if not panels:
        raise NothingToDraw(f"No setting with which {stated.id} was tried has been run.")
    settings = list(dict.fromkeys(row.setting for _, found in panels for row in found))
    figure = Figure(figsize=(10, 0.21 * len(settings) + 1.1), layout="constrained")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for ax, (check, found) in zip(axes, panels, strict=True):
        _panel(ax, check, found, settings)
    axes[0].set_yticks(range(len(settings)), settings)
    axes[0].set_ylim(len(settings) - 0.5, -0.5)
    return figure


def _judged(check: Check, own: Result | None) -> dict[str, Numbers]:
    numbers = {}
    for scheme in check.schemes:
        try:
            numbers[scheme] = measuring.measure(own, check, scheme)
        except Unavailable:
            continue
    return numbers


def _panel(ax: Axes, check: Check, found: Sequence[Row], settings: Sequence[str]) -> None:
    colours = schemes.colours(list(check.schemes))
    limits = measuring.limits(check, {})
    for scheme, limit in limits.items():
        ax.axvline(limit, color=colours[scheme], linewidth=1, linestyle="--")
    positive = [limit for limit in limits.values() if limit]
    count = len(check.schemes)
    for row in found:
        for at, scheme in enumerate(check.schemes):
            if scheme not in row.numbers:
                continue
            y = settings.index(row.setting) + 0.5 * (at - (count - 1) / 2) / count
            numbers = row.numbers[scheme]
            if math.isinf(numbers.median):
                inside = ax.get_yaxis_transform()
                ax.text(0.99, y, "∞", ha="right", va="center", transform=inside)
                continue
            ends = [end for end in numbers.ends if not math.isinf(end)]
            ax.plot(ends, [y] * len(ends), color=colours[scheme], linewidth=2, alpha=0.6)
            ax.plot(numbers.median, y, "o", color=colours[scheme], markersize=4)
            positive.append(numbers.median)
    if positive and min(positive) > 0 and max(positive) > 10 * min(positive):
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: wording.number(v)))
        ax.xaxis.set_minor_formatter(NullFormatter())
    title = check.label or check.metric.name
    ax.set_title(title if count > 1 else f"{check.schemes[0]}: {title}", fontsize=7.5)
    if count > 1:
        handles = [
            Line2D([], [], marker="o", markersize=4, color=colours[s], label=s)
            for s in check.schemes
        ]
        ax.legend(handles=handles, fontsize=6.5, loc="best")
    ax.set_xlabel(wording.unit_text(check.unit))
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.08)
