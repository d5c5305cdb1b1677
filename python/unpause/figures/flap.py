"""Links that fail and return: flows, losses, PAUSE and the links that take over, over time."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from unpause.data import capacity, lives, series
from unpause.data.fabric import Fabric
from unpause.data.result import Result, Run
from unpause.explanation import flaps
from unpause.explanation.flaps import PLACES, Flaps, Outage
from unpause.figures import overtime, pause
from unpause.figures.registry import draws
from unpause.figures.style import DASHES, LINES, WIDTH, NothingToDraw, from_zero, legend, note
from unpause.text import count, rate_unit, time, time_unit

#: Schemes side by side.
_MOST_SCHEMES = 3
_MOST_PAUSED = 6
_MOST_LINKS = 3
_POINTS = 150
#: Stretches of a row of PAUSE, each of which shows its share.
_SHADES = 90
#: A link takes over if its utilisation (%) grows by this much after the first failure.
_MORE_PERCENT = 5.0
#: Flows have recovered at this share of their goodput before the first failure.
_RECOVERED = 0.9
#: Samples that a mean needs.
_LEAST = 5

_LOST, _PAUSE, _FAILED = "#B2182B", "#555555", "#000000"
_DOWN, _BLIND = "#FBEAE6", "#F2C6BC"
#: Label, colour and line of each kind of instant.
_INSTANTS = {
    "down": ("link down", "#B2182B", "-"),
    "ends": ("ends rerouted", "#B2182B", ":"),
    "moved": ("all rerouted", "#B2182B", "--"),
    "up": ("link up", "#1B7837", "-"),
    "back": ("routes back", "#1B7837", "--"),
}


@dataclass(frozen=True)
class _Kind:
    """A kind of flow: its name in the legend and beside a number of such flows, and its line."""

    label: str
    several: str
    colour: str
    dash: str


_HIT = _Kind("flows hit", "hit", "#D55E00", "-")
_STOPPED = _Kind("flows that stopped", "stopped", "#7A4FBF", ":")
_OTHERS = _Kind("other flows", "others", "#0072B2", "--")

#: Middle of each bin (ns), and a value.
_Line = tuple[np.ndarray, np.ndarray]


@dataclass
class _Story:
    """A run with its outages, and the stretch of time that is shown."""

    run: Run
    flaps: Flaps
    span: tuple[float, float] = (0.0, 0.0)

    @property
    def whole(self) -> float:
        return float(self.run.row["simulated_ns"])

    @property
    def first(self) -> float:
        return self.flaps.outages[0].down_ns

    @property
    def last(self) -> float:
        return max(it.until_ns(self.whole) for it in self.flaps.outages)


@draws("flap", "Links that failed", place=-0.5, table="link_changes")
def draw(result: Result) -> Figure:
    """Around the failures of links: goodput, lost packets, PAUSE, and use of links (%).

    A column for each scheme. Goodput is that of recorded flows, use that of probed ports.
    """
    shown = overtime.shown(result)
    told = [_Story(run, found) for run in shown.runs if (found := flaps.of_run(run))]
    if not told:
        raise NothingToDraw("No link failed.")
    stories = told[:_MOST_SCHEMES]
    span = min(_from(it) for it in stories), max(_until(it) for it in stories)
    span = (0.0 if span[0] < 0.1 * span[1] else span[0], span[1])
    for story in stories:
        story.span = span
    goodput = [_goodput(it) for it in stories]
    use = [_use(it) for it in stories]
    links = _taking_over(stories, use)
    highest = max(
        (np.nanmax(it[1], initial=0.0) for of in goodput for it in of.values()), default=0
    )
    factor, unit = rate_unit(highest)
    label = f"goodput of a flow\n({unit})"
    panels = [_Panel(1.35, label, _draw_goodput(goodput, factor))] * any(goodput)
    lanes = _Lanes.of(stories)
    panels.append(_Panel(0.17 * len(lanes.names) + 0.12, "", lanes.draw))
    if links:
        panels.append(_Panel(1.2, "use (%)", _draw_use(use, links)))
    figure, axes = _grid(panels, stories)
    for panel, row in zip(panels, axes, strict=True):
        for number, (ax, story) in enumerate(zip(row, stories, strict=True)):
            _mark(ax, story)
            panel.draw(ax, number, story)
        row[0].set_ylabel(panel.label)
    notes = [shown.note, _cut(span, stories), *_notes(goodput, links, lanes, stories)]
    if len(told) > len(stories):
        notes.append(f"The first {len(stories)} of {len(told)} schemes.")
    legend(figure, [ax for row in axes for ax in row])
    note(figure, *notes)
    return figure


@dataclass(frozen=True)
class _Panel:
    height: float
    label: str
    #: Draws the panel of a scheme, by its number.
    draw: Callable[[Axes, int, _Story], None]


def _grid(panels: Sequence[_Panel], stories: Sequence[_Story]) -> tuple[Figure, list[list[Axes]]]:
    heights = [panel.height for panel in panels]
    figure = Figure(figsize=(WIDTH, sum(heights) + 1.35), layout="constrained")
    axes = figure.subplots(
        len(panels), len(stories), sharex=True, sharey="row", squeeze=False, height_ratios=heights
    )
    size, unit = time_unit(stories[0].span[1])
    for ax, story in zip(axes[0], stories, strict=True):
        ax.set_title(textwrap.fill(story.run.scheme, 78 // len(stories)), fontweight="bold", pad=13)
        ax.set_xlim(story.span[0] / size, story.span[1] / size)
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    for ax in axes[-1]:
        ax.set_xlabel(f"time ({unit})")
    return figure, [list(row) for row in axes]


def _scaled(story: _Story, time_ns: np.ndarray) -> np.ndarray:
    """Times in the unit of the axis."""
    return np.asarray(time_ns, float) / time_unit(story.span[1])[0]


def _from(story: _Story) -> float:
    return max(0.0, story.first - 0.3 * (story.last - story.first))


def _until(story: _Story) -> float:
    """The end of what is shown: as long again after the last outage, until flows recovered."""
    until = story.last + (story.last - story.first)
    back = _recovered(story)
    if back is not None:
        until = max(until, back + 0.1 * (back - story.first))
    # A little more than half of the run may as well be all of it.
    return until if until - _from(story) < 0.5 * (story.whole - _from(story)) else story.whole


def _recovered(story: _Story) -> float | None:
    """When recorded flows that were hit had recovered; the end of the run if they did not.

    None if that cannot be told: no such flow was recorded before the failure.
    """
    flows = _recorded(story.run)
    ours = [flows[number] for number in flows if number in story.flaps.hit]
    if not ours:
        return None
    instants = np.unique(np.concatenate([time_ns for time_ns, _ in ours]))
    total = sum(np.interp(instants, *it, left=0.0) for it in ours)
    step = float(np.median(np.diff(instants))) if len(instants) > 1 else 0.0
    if not step or story.first - instants[0] < _LEAST * step:
        return None

    def mean(start: float, end: float) -> float:
        low, high = np.interp([start, end], instants, total)
        return (high - low) / (end - start)

    wide = max(_LEAST * step, 0.1 * (story.last - story.first))
    before = mean(max(float(instants[0]), story.first - wide), story.first)
    for at in [story.last, *instants[instants > story.last]]:
        if at + wide <= story.whole and mean(at, at + wide) >= _RECOVERED * before:
            return float(at)
    return story.whole


def _recorded(run: Run) -> dict[int, _Line]:
    """By number of a recorded flow its times and delivered bytes."""
    table = run.columns("flow_series", ["time_ns", "flow_id", "delivered_bytes"])
    if not table.num_rows:
        return {}
    time_ns, delivered = (series.column(table, it) for it in ("time_ns", "delivered_bytes"))
    return {key: (time_ns[rows], delivered[rows])
            for (key,), rows in series.groups(table, ["flow_id"])}  # fmt: skip


def _edges(story: _Story, instants: np.ndarray) -> np.ndarray:
    """Edges of bins of whole sampling intervals in the stretch that is shown; none if too few."""
    if len(instants) < 2:
        return np.empty(0)
    step = float(np.median(np.diff(instants)))
    wide = step * max(1, round((story.span[1] - story.span[0]) / _POINTS / step))
    start = max(float(instants[0]), story.span[0] // step * step)
    end = min(float(instants[-1]), story.span[1] + wide)
    return start + wide * np.arange(max(0, int((end - start) / wide + 1e-9)) + 1)


def _goodput(story: _Story) -> dict[_Kind, tuple[np.ndarray, np.ndarray, int]]:
    """Goodput (bit/s) of a flow, as a mean over those under way, for each kind of flow.

    With it how many of them were recorded.
    """
    flows = _recorded(story.run)
    if not flows:
        return {}
    edges = _edges(story, np.unique(np.concatenate([time_ns for time_ns, _ in flows.values()])))
    if len(edges) < 3:
        return {}
    table = story.run.columns("flows", ["flow_id", "traffic", "start_ns", "fct_ns"])
    start, end = series.column(table, "start_ns"), lives.ends_ns(story.run, table)
    life = dict(zip(table["flow_id"].to_pylist(), zip(start, end, strict=True), strict=True))
    kinds = {it: _kind(story, it, flows[it], life[it]) for it in flows}
    found = {}
    for kind in (_HIT, _STOPPED, _OTHERS):
        ours = [it for it in flows if kinds[it] == kind]
        total, active = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
        for number in ours:
            total += np.diff(np.interp(edges, *flows[number], left=0.0))
            begun, ended = life[number]
            active += (edges[1:] > begun) & (edges[:-1] < ended)
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = np.where(active > 0, 8e9 * total / np.diff(edges) / active, np.nan)
        if ours:
            found[kind] = (edges[:-1] + np.diff(edges) / 2, rate, len(ours))
    return found


def _kind(story: _Story, number: int, flow: _Line, life: tuple[float, float]) -> _Kind:
    """Whether a recorded flow was hit, got nothing more after a failure, or neither."""
    if number in story.flaps.hit:
        return _HIT
    time_ns, delivered = flow
    if life[0] >= story.first or life[1] < story.whole or len(time_ns) < 2:
        return _OTHERS
    grew = time_ns[1:][np.diff(delivered) > 0]
    before = grew[grew <= story.first]
    # A slow flow is silent for a while after each packet.
    usual = max(np.diff(before).max(initial=0.0), _LEAST * float(np.median(np.diff(time_ns))))
    silent = story.whole - (grew[-1] if len(grew) else story.whole)
    stopped = silent > 2 * usual and grew[-1] > story.first - usual
    return _STOPPED if stopped else _OTHERS


def _draw_goodput(
    goodput: Sequence[Mapping[_Kind, tuple[np.ndarray, np.ndarray, int]]], factor: float
) -> Callable[[Axes, int, _Story], None]:
    places = {_HIT: ("left", 0.0, 2), _STOPPED: ("center", 0.5, 0), _OTHERS: ("right", 1.0, -2)}

    def draw(ax: Axes, number: int, story: _Story) -> None:
        for kind, (time_ns, rate, flows) in goodput[number].items():
            ax.plot(_scaled(story, time_ns), rate / factor, color=kind.colour, linestyle=kind.dash,
                    label=kind.label)  # fmt: skip
            side, x, offset = places[kind]
            ax.annotate(
                f"{flows} {'other' if kind == _OTHERS and flows == 1 else kind.several}",
                (x, 1.0), (offset, 1), xycoords="axes fraction", textcoords="offset points",
                color=kind.colour, fontsize=6.5, va="bottom", ha=side,
            )  # fmt: skip
        from_zero(ax)
        _with_zero(ax)

    return draw


@dataclass(frozen=True)
class _Lanes:
    """A row for each place of losses and for each paused neighbour."""

    places: list[str]
    links: list[str]
    #: Links that were paused, but have no row.
    more: int

    @classmethod
    def of(cls, stories: Sequence[_Story]) -> _Lanes:
        places = [it for it in PLACES if any(story.flaps.packets[it] for story in stories)]
        longest: dict[str, float] = {}
        for story in stories:
            for link, paused in story.flaps.paused.items():
                whole = paused.during_ns + paused.after_ns
                longest[link] = max(longest.get(link, 0.0), whole)
        links = sorted((it for it in longest if longest[it] > 0), key=lambda it: -longest[it])
        kept = [it for it in longest if it in links[:_MOST_PAUSED]]
        return cls(places, kept, len(links) - len(kept))

    @property
    def names(self) -> list[str]:
        if not self.places and not self.links:
            return ["nothing lost"]
        lost = [f"lost {PLACES[place]}" for place in self.places]
        return [*(lost or ["nothing lost"]), *(_who(link) for link in self.links)]

    def draw(self, ax: Axes, number: int, story: _Story) -> None:
        names = self.names
        ax.set_yticks(range(len(names)), names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0, labelsize=7)
        ax.grid(visible=False, axis="y")
        for row, place in enumerate(self.places):
            for outage in story.flaps.outages:
                self._lost(ax, story, outage, row, place)
            self._total(ax, row, count(story.flaps.packets[place]), _LOST)
        first = len(names) - len(self.links)
        every = series.pauses_by_link(story.run, story.span)
        for row, link in enumerate(self.links, first):
            paused = story.flaps.paused.get(link)
            if link in every:
                inside = np.clip(every[link], *story.span)
                _shaded(ax, row, inside, story)
            whole = paused.during_ns + paused.after_ns if paused else 0.0
            self._total(ax, row, time(whole), _PAUSE)
        if self.links:
            ax.axhline(first - 0.5, color="#BBBBBB", linewidth=0.6)

    @staticmethod
    def _lost(ax: Axes, story: _Story, outage: Outage, row: int, place: str) -> None:
        loss = outage.lost[place]
        for start, end in loss.spans if loss.packets else ():
            x = _scaled(story, np.array([start, end]))
            ax.plot(x, [row, row], color=_LOST, linewidth=5, solid_capstyle="butt")
            if start == end:
                ax.plot(x[:1], [row], color=_LOST, marker="D", markersize=3.5)

    @staticmethod
    def _total(ax: Axes, row: int, text: str, colour: str) -> None:
        ax.text(1.01, row, text, color=colour, fontsize=6.5, va="center",
                transform=ax.get_yaxis_transform())  # fmt: skip


def _who(link: str) -> str:
    sender, stopped = series.ends(link)
    return f"{sender} paused {stopped}"


def _shaded(ax: Axes, row: int, every: np.ndarray, story: _Story) -> None:
    """PAUSE in a row: the darker, the larger its share of that stretch."""
    size = time_unit(story.span[1])[0]
    for shade, boxes in pause.lane(row, every, story.span, size, _SHADES, most=0):
        path = Path.make_compound_path_from_polys(boxes)
        ax.add_patch(PathPatch(path, facecolor=_PAUSE, alpha=shade, linewidth=0))


def _use(story: _Story) -> dict[str, _Line]:
    """Share of its rate in force (%) that each probed port sent."""
    found = {}
    steps = capacity.rates(story.run)
    probed = series.probed(story.run)
    for port, totals in Fabric.of(story.run).ports.items():
        data = probed.get(str(port))
        if data is None or not totals.rate_bps or not len(edges := _edges(story, data.time_ns)):
            continue
        sent = np.diff(np.interp(edges, data.time_ns, data.tx_bytes))
        most = capacity.carried_most(steps.get((port.node, port.port)), totals.rate_bps, edges)
        if len(sent):
            found[str(port)] = edges[:-1] + np.diff(edges) / 2, 800 * sent / np.diff(most)
    return found


def _taking_over(
    stories: Sequence[_Story], use: Sequence[Mapping[str, _Line]]
) -> dict[str, tuple[str, object, float]]:
    """Colour, dash and width of the links that are drawn: those that failed, and took over."""
    failed = [end for it in stories for outage in it.flaps.outages for end in outage.ends]
    gained: dict[str, float] = {}
    for story, lines in zip(stories, use, strict=True):
        during = flaps.spans(story.flaps.outages, story.whole)
        for link, (time_ns, percent) in lines.items():
            inside = np.searchsorted(during.ravel(), time_ns, side="right") % 2 == 1
            before = percent[time_ns < story.first]
            if link not in failed and len(before) and inside.any():
                more = float(percent[inside].mean() - before.mean())
                gained[link] = max(gained.get(link, 0.0), more)
    over = [it for it in sorted(gained, key=lambda it: -gained[it]) if gained[it] >= _MORE_PERCENT]
    looks = {
        link: (LINES[number], DASHES[number], 1.3) for number, link in enumerate(over[:_MOST_LINKS])
    }
    drawn = [it for it in dict.fromkeys(failed) if any(it in lines for lines in use)]
    return looks | {link: (_FAILED, DASHES[3], 1.0) for link in drawn[:1]}


def _draw_use(
    use: Sequence[Mapping[str, _Line]], links: Mapping[str, tuple[str, object, float]]
) -> Callable[[Axes, int, _Story], None]:
    def draw(ax: Axes, number: int, story: _Story) -> None:
        for link, (colour, dash, width) in links.items():
            if link in use[number]:
                time_ns, percent = use[number][link]
                label = f"{link} (failed)" if colour == _FAILED else link
                ax.plot(_scaled(story, time_ns), percent, color=colour, linestyle=dash,
                        linewidth=width, label=label)  # fmt: skip
        ax.set_ylim(0, 105)
        _with_zero(ax)

    return draw


def _with_zero(ax: Axes) -> None:
    """A line at 0 is seen above the axis."""
    ax.set_ylim(bottom=-0.04 * ax.get_ylim()[1])


def _mark(ax: Axes, story: _Story) -> None:
    """The time in which links were down, and the instants at which anything changed."""
    for outage in story.flaps.outages:
        down, until = outage.down_ns, outage.up_ns
        blind = min(outage.all_moved_ns or np.inf, until or np.inf, story.whole)
        end = story.whole if until is None else until
        for start, stop, colour, label in (
            (down, blind, _BLIND, "not yet rerouted"),
            (blind, end, _DOWN, "down, rerouted"),
        ):
            if stop > start:
                x = _scaled(story, np.array([start, stop]))
                ax.axvspan(*x, color=colour, linewidth=0, label=label, zorder=0)
        for kind, at in _instants(outage):
            label, colour, dash = _INSTANTS[kind]
            ax.axvline(_scaled(story, np.array([at]))[0], color=colour, linestyle=dash,
                       linewidth=0.8, label=label, zorder=1)  # fmt: skip


def _instants(outage: Outage) -> list[tuple[str, float]]:
    ends = outage.ends_moved_ns
    found = [
        ("down", outage.down_ns),
        ("ends", ends if ends != outage.all_moved_ns else None),
        ("moved", outage.all_moved_ns),
        ("up", outage.up_ns),
        ("back", outage.back_ns),
    ]
    return [(kind, at) for kind, at in found if at is not None]


def _cut(span: tuple[float, float], stories: Sequence[_Story]) -> str:
    whole = max(it.whole for it in stories)
    size, unit = time_unit(span[1])
    return f"The run lasts {whole / size:g} {unit}." if span[1] - span[0] < 0.9 * whole else ""


def _notes(
    goodput: Sequence[Mapping[_Kind, object]],
    links: Mapping[str, object],
    lanes: _Lanes,
    stories: Sequence[_Story],
) -> list[str]:
    notes = ["Right: lost packets of all kinds, and time paused from the first failure on."]
    if any(goodput):
        stopped = any(_STOPPED in it for it in goodput)
        notes.append("Flows hit sent packets again or gave up; goodput is the mean of a flow.")
        notes.append("Flows that stopped delivered nothing more until the end." if stopped else "")
    if not any(goodput):
        notes.append("No flow was recorded around the failure: set record = true.")
    elif deaf := max(it.flaps.deaf for it in stories):
        notes.append(f"Other flows: {deaf} of them are UDP, which never sends packets again.")
    if not links:
        notes.append("No probed port failed or took over: name some in [probes] ports.")
    if not lanes.links:
        notes.append("Nobody was paused.")
    else:
        notes.append("PAUSE: the darker, the larger its share of the time.")
    if lanes.more > 0:
        links_are = "link was" if lanes.more == 1 else "links were"
        notes.append(f"{lanes.more} more {links_are} paused: see table ports.")
    return notes
