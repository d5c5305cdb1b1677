"""PAUSE: when each egress was paused, and for how long in total."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from unpause.data import series
from unpause.data.result import Result
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import WIDTH, NothingToDraw, legend, note
from unpause.text import are, plural, time

_MOST_LINKS = 10
_BINS = 250
_FAINTEST = 0.25
_SHADES = 20
#: The shade of a stretch that is PAUSE from its start to its end.
_WHOLE = 1.0


@draws("pause", "PAUSE over time", place=2)
def draw(result: Result) -> Figure:
    """When each egress was stopped, a lane for each scheme; beside it for how long in all.

    Of every link that was paused, from table `pauses`: it needs no probe. The darker, the larger
    the share of that stretch in which the link was stopped.
    """
    shown = overtime.shown(result)
    found = {run.scheme: series.pauses_by_link(run) for run in shown.runs}
    totals = {run.scheme: series.paused_by_link(run) for run in shown.runs}
    longest: dict[str, float] = {}
    for each in totals.values():
        for link, paused_ns in each.items():
            longest[link] = max(longest.get(link, 0.0), paused_ns)
    if not longest:
        raise NothingToDraw("No egress port was paused.")
    if not any(found.values()):
        raise NothingToDraw("Egresses were paused, but probes.pauses is false: see table ports.")
    links = sorted(longest, key=lambda link: (-longest[link], link))
    panels = links[:_MOST_LINKS]
    spans = [
        (float(every[:, 0].min()), float(every[:, 1].max()))
        for by_link in found.values()
        for link, every in by_link.items()
        if link in panels
    ]
    size = overtime.unit_of(shown.runs, spans)
    span = min(s[0] for s in spans), max(s[1] for s in spans)
    lanes = [run for run in shown.runs if totals[run.scheme]]
    pitch = len(lanes) + 0.8  # of links; a lane is 1 high
    height = 0.115 * pitch * len(panels) + 0.9
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    ax = figure.subplots()
    looks = shown.looks
    shades: dict[tuple[str, float], list[np.ndarray]] = {}
    for row, link in enumerate(panels):
        for place, run in enumerate(lanes):
            colour, y = looks[run.scheme].colour, row * pitch + place
            every = found[run.scheme].get(link)
            if every is not None:
                for shade, boxes in lane(y, every, span, size):
                    shades.setdefault((colour, shade), []).append(boxes)
            if paused := totals[run.scheme].get(link):
                text = f"{time(paused)}, {100 * paused / run.row['simulated_ns']:.2g} %"
                ax.text(
                    1.01, y, text, color=colour, fontsize=6.5, va="center",
                    transform=ax.get_yaxis_transform(),
                )  # fmt: skip
        if row:
            ax.axhline(row * pitch - 0.9, color="#E3E3E3", linewidth=0.6)
    for (colour, shade), boxes in shades.items():
        _fill(ax, colour, shade, np.concatenate(boxes))
    ax.set_yticks([row * pitch + (len(lanes) - 1) / 2 for row in range(len(panels))], panels)
    ax.set_ylim(len(panels) * pitch - 0.9, -0.9)
    ax.tick_params(axis="y", length=0)
    ax.grid(visible=False, axis="y")
    for run in lanes:  # for the legend
        ax.plot([], [], color=looks[run.scheme].colour, linewidth=5, label=run.scheme)
    rest = overtime.limit([ax], spans, shown.runs)
    legend(figure, ax)
    never = [run.scheme for run in shown.runs if not totals[run.scheme]]
    what = "Rows: who paused whom. Right: total pause time and share of the run."
    notes = [shown.note, rest, what]
    if never:
        notes.append(f"Never a PAUSE: {', '.join(never)}.")
    if more := len(links) - len(panels):
        notes.append(f"The longest; {plural(more, 'more link')} {are(more)} in table ports.")
    note(figure, *notes)
    return figure


def lane(
    at: float,
    every: np.ndarray,
    span: tuple[float, float],
    size: float,
    bins: int = _BINS,
    most: int = _BINS,
) -> Iterator[tuple[float, np.ndarray]]:
    """Boxes of stretches with PAUSE by shade; of more than `most`, their share of each bin."""
    merged = series.merged(every)
    if len(merged) <= most:
        yield _WHOLE, _boxes(merged / size, at)
        return
    edges = np.linspace(*span, bins + 1)
    share = np.diff(series.time_within(merged, edges)) / np.diff(edges)
    # A stretch that is all PAUSE is a little more than 1 by rounding.
    shade = np.ceil(np.clip(share, 0, 1) * _SHADES).astype(int)
    first = np.flatnonzero(np.append(True, shade[1:] != shade[:-1]))
    ends = np.column_stack([edges[first], edges[np.append(first[1:], bins)]]) / size
    for level in set(shade[first]) - {0}:
        opaque = _FAINTEST + (1 - _FAINTEST) * level / _SHADES
        yield opaque, _boxes(ends[shade[first] == level], at)


def _fill(ax: Axes, colour: str, shade: float, boxes: np.ndarray) -> None:
    """Boxes of one colour and shade, as one path."""
    path = Path.make_compound_path_from_polys(boxes)
    edge = {"edgecolor": colour, "linewidth": 0.3} if shade == _WHOLE else {"linewidth": 0}
    # Not add_patch, which looks at each corner of a path in turn.
    ax.add_artist(PathPatch(path, facecolor=colour, alpha=shade, **edge))
    ax.update_datalim(boxes.reshape(-1, 2))


def _boxes(stretches: np.ndarray, lane: float) -> np.ndarray:
    """Corners of a box in a lane for each of `stretches` (n, 2): array (n, 4, 2)."""
    x = stretches[:, [0, 0, 1, 1]]
    y = np.broadcast_to(lane + np.array([-0.42, 0.42, 0.42, -0.42]), x.shape)
    return np.stack([x, y], axis=2)
