"""The picture of a search: the goal against a limit, and how much each parameter matters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause.figures.style import WIDTH, style
from unpause.text import plural
from unpause.tuning import answer
from unpause.tuning.space import key_of

if TYPE_CHECKING:
    from unpause.tuning.answered import Answered
    from unpause.tuning.outcome import Outcome

_TRIED, _MISSED = "#7F9DB9", "#C9C9C9"
_MARKS = {
    "best": ("*", "#009E73", 190),
    "best found": ("*", "#009E73", 190),
    "as it is": ("s", "#D55E00", 60),
    "literature": ("D", "#6A3D9A", 52),
}


def save(tuning: Answered, path: Path) -> None:
    """Writes the picture as SVG and as PNG."""
    with style():
        figure = draw(tuning)
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(path.with_suffix(".png"), dpi=180, metadata={"Software": None})


def draw(tuning: Answered) -> Figure:
    """The picture; inside of :func:`unpause.figures.style.style`."""
    figure = Figure(figsize=(WIDTH, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.75, 1))
    _trade_off(left, tuning)
    _influence(right, tuning)
    verdict = "a better setting was found" if tuning.recommended else "nothing is better"
    title = f"{tuning.title}, {tuning.scheme}: {verdict}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def _across(tuning: Answered, outcome: Outcome) -> float | None:
    """The x of a setting: the worst of the first limit's statistic, or the longest queue."""
    if tuning.aim.limits:
        at, limit = _limit_across(tuning)
        found = [run.limits[at] for run in outcome.runs.values()]
        numbers = [each.at_least for each in found if each]
        pick = min if limit.sign in (">", ">=") else max
        return pick(numbers) if numbers else None
    queues = [run.row.get("max_queue_bytes") for run in outcome.runs.values()]
    return max((each for each in queues if each is not None), default=None)


def _limit_across(tuning: Answered) -> tuple[int, Any]:
    """The limit that is drawn: the first that settings differ in."""
    for at, limit in enumerate(tuning.aim.limits):
        values = {
            run.limits[at].at_least
            for outcome in tuning.found.outcomes
            for run in outcome.runs.values()
            if run.limits[at]
        }
        if len(values) > 1:
            return at, limit
    return 0, tuning.aim.limits[0]


def _trade_off(ax: Axes, tuning: Answered) -> None:
    goal = tuning.aim.goal
    across = _limit_across(tuning)[1].statistic if tuning.aim.limits else None
    tried = [each for each in tuning.found.outcomes if each.runs]
    scaled = len(tuning.conditions) > 1
    sign = tuning.aim.sign
    points = [
        (x, sign * tuning.scale.loss(tuning.aim, each), each.violation(tuning.aim) == 0)
        for each in tried
        if (x := _across(tuning, each)) is not None
        and math.isfinite(tuning.scale.loss(tuning.aim, each))
    ]
    compared = [
        (name, _across(tuning, each), sign * tuning.scale.loss(tuning.aim, each))
        for name, each in _marked(tuning).items()
        if each.runs
    ]
    xs = [x for x, _, _ in points] + [x for _, x, _ in compared if x is not None]
    ys = [y for _, y, _ in points] + [y for _, _, y in compared]
    x_by, x_unit = across.format.unit(max(xs, default=1)) if across else _bytes(max(xs, default=1))
    y_by, y_unit = (1.0, "") if scaled else goal.format.unit(max(ys, default=1))
    for meets, colour, label in (
        (False, _MISSED, "tried, misses a limit"),
        (True, _TRIED, "tried"),
    ):
        mine = [(x / x_by, y / y_by) for x, y, ok in points if ok == meets]
        if mine:
            face = colour if meets else "none"
            ax.scatter(*zip(*mine, strict=True), s=22, c=face, edgecolors=colour, label=label)
    if front := _front(tuning, [(x, y) for x, y, meets in points if meets]):
        ends = [(x / x_by, y / y_by) for x, y in front]
        ax.plot(*zip(*ends, strict=True), color=_TRIED, linewidth=0.8, label="best trade-offs")
    for name, x, y in compared:
        if x is not None:
            mark, colour, size = _MARKS[name]
            ax.scatter(
                [x / x_by],
                [y / y_by],
                s=size,
                marker=mark,
                c=colour,
                zorder=5,
                label=name,
                edgecolors="white",
                linewidths=0.7,
            )
    if across:
        limit = _limit_across(tuning)[1]
        ax.axvline(limit.value / x_by, color="#444444", linestyle="--", linewidth=0.9)
        ax.annotate(
            f"{limit.text} ",
            (limit.value / x_by, 1),
            xycoords=("data", "axes fraction"),
            va="top",
            ha="right",
            fontsize=7,
            color="#444444",
            rotation=90,
        )
    what = across.text if across else "longest queue"
    ax.set_xlabel(f"{what}, worst run{f' ({x_unit})' if x_unit else ''}")
    unit = " (as it is: 1)" if scaled else f" ({y_unit})" if y_unit else ""
    ax.set_ylabel(f"{goal.text}{unit}")
    if ys and min(ys) > 0 and max(ys) / min(ys) > 20:
        ax.set_yscale("log")
    better = "up" if goal.more_is_better else "down"
    seeds = plural(len(tuning.searched["as it is"].seeds), "seed")
    ax.set_title(f"Each setting of the search, {seeds}; better is {better}")
    ax.legend(fontsize=7, loc="best", frameon=True, framealpha=0.85, edgecolor="none")


def _front(tuning: Answered, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The settings of which no other one is better in both directions, by x."""
    limits = tuning.aim.limits
    down = limits and _limit_across(tuning)[1].sign in (">", ">=")
    front: list[tuple[float, float]] = []
    for x, y in sorted(points, key=lambda each: -each[0] if down else each[0]):
        if not front or tuning.aim.sign * (front[-1][1] - y) > 0:
            front.append((x, y))
    return front if len(front) > 1 else []


def _marked(tuning: Answered) -> dict[str, Outcome]:
    """The settings that stand out, as the search has seen them."""
    marked = dict(tuning.searched)
    if tuning.best:
        name = "best" if tuning.recommended else "best found"
        every = (*tuning.searched.values(), *tuning.found.outcomes)
        best = tuning.best.setting
        marked[name] = next(each for each in every if key_of(each.setting) == key_of(best))
    return marked


def _bytes(largest: float) -> tuple[float, str]:
    from unpause.text import byte_unit

    return byte_unit(largest)


def _influence(ax: Axes, tuning: Answered) -> None:
    short = answer.short_keys([each.key for each in tuning.parameters])
    base = answer.base_loss(tuning)
    known = [each for each in tuning.influences if math.isfinite(each.effect)]
    order = sorted(known, key=lambda each: each.effect)
    names = [short[each.key] for each in order]
    ax.barh(names, [100 * each.effect / base for each in order], color="#0072B2", height=0.55)
    noise = 100 * answer.noise(tuning) / base
    if noise > 0:
        ax.axvspan(
            0, noise, color="#999999", alpha=0.35, linewidth=0, zorder=0, label="noise of seeds"
        )
        ax.legend(fontsize=7, loc="lower right", frameon=True, framealpha=0.85, edgecolor="none")
    ax.set_xlabel("mean change of the goal over\nmost of the range (%)")
    ax.set_title("What matters")
    ax.grid(axis="y", visible=False)
