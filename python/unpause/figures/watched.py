"""Flows that the scenario watches, around a burst: one row for each scheme, with the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause.data import series
from unpause.data.result import Result
from unpause.explanation import story, watched, watched_lines
from unpause.explanation.story import Story
from unpause.explanation.watched import Around, Watched
from unpause.figures.registry import draws
from unpause.figures.style import MOST_PANELS, WIDTH, NothingToDraw, from_zero, legend, note
from unpause.text import are, plural, rate, rate_unit

_WATCHED = ("#7A4FBF", "#0072B2", "#8C6D1F")
_OTHERS = ("#000000", "#777777")
#: Characters that fit above a left panel: of its scheme and its numbers.
_MOST_TITLE = 42
#: Points of a line at most.
_POINTS = 400
#: Shown after the burst if all have recovered: at least this many times its length.
_AFTER = 4
#: A mean that differs by no more is not shown beside the number of the seed that is drawn.
_NEAR = 0.05


@draws("watched", "Watched flows around the burst", place=-1.1)
def draw(result: Result) -> Figure:
    """Goodput of watched and of other recorded flows: during the burst, and afterwards."""
    told = _told(result)
    seed = typical_seed(told)
    shown = list(told)[:MOST_PANELS]
    runs = {scheme: next(it for it in told[scheme] if it.run.row["seed"] == seed)
            for scheme in shown}  # fmt: skip
    figure = Figure(figsize=(WIDTH, 1.05 * len(runs) + 0.9), layout="constrained")
    axes = figure.subplots(
        len(runs), 2, sharex="col", sharey=True, squeeze=False, width_ratios=[3, 4]
    )
    until = max(_shown_until(it) for it in runs.values())
    length = max((_first(it).end_ns - _first(it).start_ns) / 1e6 for it in runs.values())
    who = watched_lines.who(told)
    crowded = False
    for (left, right), (scheme, it) in zip(axes, runs.items(), strict=True):
        first = _first(it)
        for ax in (left, right):
            ax.axvspan(0, (first.end_ns - first.start_ns) / 1e6, color="#F0E6D6", label="burst")
            _lines(ax, it, 2 if ax is left else until / length, who)
            ax.margins(x=0)
        _paused(left, it)
        each = _of_each(it, told[scheme])
        got = ", ".join(_got(one, ours) for one, ours in each)
        # A name that leaves no room for the numbers stands above them.
        crowded = crowded or len(scheme) + len(got) > _MOST_TITLE
        left.set_title(got, loc="right")
        right.set_title(", ".join(filter(None, (_back(*them) for them in each))), loc="right")
    for (left, _), scheme in zip(axes, runs, strict=True):
        left.set_title(f"{scheme}\n" if crowded else scheme, fontweight="bold")
    figure.set_figheight(figure.get_figheight() + 0.16 * len(runs) * crowded)
    begun = min(-_first(it).start_ns for it in runs.values()) / 1e6
    ended = max(it.run.row["simulated_ns"] - _first(it).start_ns for it in runs.values()) / 1e6
    for ax, start, end in ((axes[0, 0], -0.3, 1.4), (axes[0, 1], -1.0, until / length)):
        ax.set_xlim(max(begun, start * length), min(ended, end * length))
    from_zero(axes[0, 0])
    factor, unit = rate_unit(1e9 * axes[0, 0].get_ylim()[1])
    axes[0, 0].yaxis.set_major_formatter(lambda gbps, _: f"{1e9 * gbps / factor:g}")
    axes[len(runs) // 2, 0].set_ylabel(f"goodput ({unit})")
    for ax in axes[-1]:
        ax.set_xlabel("ms from the start of the burst")
    legend(figure, list(axes.flat))
    note(figure, *_notes(told, seed, len(told) - len(shown)))
    return figure


def _told(result: Result) -> dict[str, list[Story]]:
    """By scheme the runs, in which every watched entry has a burst to be looked at."""
    if result.axes or result.runs.num_rows > story.MOST_RUNS:
        raise NothingToDraw("This result sweeps values; this figure shows one workload.")
    told = story.of_result(result)
    every = [it for stories in told.values() for it in stories]
    if not any(it.watched for it in every):
        raise NothingToDraw("No flow is watched; set watch = true in a [[traffic]] entry.")
    if not all(it.watched and all(w.around for w in it.watched) for it in every):
        raise NothingToDraw(
            "No watched flow without a size ran before, during and after a burst of other flows."
        )
    return told


def typical_seed(told: Mapping[str, Sequence[Story]]) -> int:
    """The seed whose goodput in the burst is nearest to the mean: summed over schemes, relative."""
    far: dict[int, float] = {}
    for stories in told.values():
        got = {it.run.row["seed"]: _during_bps(it) for it in stories}
        mean = sum(got.values()) / len(got)
        for seed, value in got.items():
            far[seed] = far.get(seed, 0.0) + abs(value - mean) / max(mean, 1.0)
    common = [
        seed
        for seed in far
        if all(any(it.run.row["seed"] == seed for it in stories) for stories in told.values())
    ]
    if not common:
        raise NothingToDraw("No seed ran under all schemes.")
    return min(common, key=lambda seed: (round(far[seed], 9), seed))


def _during_bps(told: Story) -> float:
    return sum(it.around.during_bps for it in told.watched if it.around)


def _first(told: Story) -> Around:
    around = told.watched[0].around
    assert around is not None
    return around


def _of_each(drawn: Story, stories: Sequence[Story]) -> list[tuple[Watched, list[Watched]]]:
    """Each watched entry of the run that is drawn, with its measurements of all seeds."""
    return [
        (it, [w for each in stories for w in each.watched if w.name == it.name])
        for it in drawn.watched
    ]


def _got(drawn: Watched, ours: Sequence[Watched]) -> str:
    """Goodput of an entry in the run that is drawn, and the mean, if that differs much."""
    around = [it.around.during_bps for it in ours if it.around is not None]
    own = drawn.around.during_bps if drawn.around is not None else 0.0
    mean = sum(around) / len(around)
    text = watched_lines.got(drawn.name, [drawn])
    return text if abs(own - mean) <= _NEAR * mean else f"{text} (mean {rate(mean)})"


def _back(drawn: Watched, ours: Sequence[Watched]) -> str:
    """When it had recovered, and the mean."""
    own, mean = (watched_lines.recovery(it) for it in ([drawn], ours))
    if own is None or mean is None:
        return ""
    return f"recovered {own}" + (f" (mean {mean.mean})" if str(own) != str(mean) else "")


def _shown_until(told: Story) -> float:
    """The end of the right panel, ms from the start of the burst."""
    found = 0.0
    for it in told.watched:
        around = it.around
        assert around is not None
        length = around.end_ns - around.start_ns
        after = around.looked_ns or length
        if around.recovery_ns is not None:
            after = min(after, max(1.2 * around.recovery_ns, _AFTER * length))
        found = max(found, (length + after) / 1e6)
    return found


def _lines(ax: Axes, told: Story, lengths: float, who: Mapping[str, str]) -> None:
    """The recorded flows over `lengths` of the burst, with `who` in the legend."""
    run = told.run
    names = [it.name for it in told.watched]
    origin = _first(told).start_ns
    others = [name for name in series.recorded(run) if name not in names]
    styles = [(name, _WATCHED[i % 3], "-", 1.6, "watched") for i, name in enumerate(names)]
    styles += [(name, _OTHERS[i % 2], "--", 0.9, "") for i, name in enumerate(others[:2])]
    for name, colour, dash, width, kind in styles:
        table = run.table("flow_series").filter(pc.field("traffic") == name)
        at_ns, delivered = watched.together(table)
        if len(at_ns) < 2:
            continue
        step = float(np.median(np.diff(at_ns)))
        length = _first(told).end_ns - origin
        wide = step * max(1, round(lengths * length / _POINTS / step))
        start = max(float(at_ns[0]), origin - length)
        time, grown = series.binned_per_ms(at_ns, delivered, start, wide)
        middle = (time + wide / 2 - origin) / 1e6
        flows = len(pc.unique(table.column("flow_id")))
        what = [f"{flows} flows together" if flows > 1 else "", kind, who.get(name, "")]
        label = f"{name} ({', '.join(filter(None, what))})" if any(what) else name
        ax.plot(middle, grown * series.GBPS, color=colour, linestyle=dash, linewidth=width,
                label=label)  # fmt: skip


def _paused(ax: Axes, told: Story) -> None:
    """Below the lines, when the senders of watched flows were paused."""
    flows = told.run.columns("flows", ["traffic", "src"])
    names = [it.name for it in told.watched]
    ours = flows.filter(pc.is_in(flows.column("traffic"), pa.array(names)))
    senders = set(pc.unique(ours.column("src")).to_pylist())
    origin = _first(told).start_ns
    spans = [
        (float(start - origin) / 1e6, float(end - start) / 1e6)
        for link, every in series.pauses_by_link(told.run).items()
        if link.partition("->")[2] in senders
        for start, end in every
    ]
    ax.broken_barh(spans, (0, 0.05), transform=ax.get_xaxis_transform(), facecolor="#D55E00",
                   linewidth=0, label="its sender paused")  # fmt: skip


def _notes(told: Mapping[str, Sequence[Story]], seed: int, left_out: int) -> list[str]:
    seeds = max(len(stories) for stories in told.values())
    notes = []
    if seeds > 1:
        notes.append(
            f"Seed {seed} of {seeds}, in which the goodput of watched flows is nearest to the mean "
            "over the seeds; in brackets that mean, if it differs."
        )
    if left_out > 0:
        notes.append(f"{plural(left_out, 'more scheme')} {are(left_out)} not drawn.")
    return notes
