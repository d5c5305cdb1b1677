"""Jobs: how much others slow them down, by scheme and placement, and how long their ranks wait."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unpause.data import schemes, series
from unpause.data.result import Result, Run
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import (
    MOST_PANELS,
    NothingToDraw,
    from_zero,
    grid,
    legend,
    note,
    panel_axes,
)
from unpause.statistics.intervals import mean_interval
from unpause.text import are, plural, time_unit, value_text

_MOST_ROWS = 24
_MOST_COLUMNS = 8
_COLOURS = "Oranges"
_DARK = 0.6
#: In a cell of a job that completed no iteration.
_NOTHING = "-"


@draws("job-slowdowns", "Slowdown of jobs", place=-0.85, table="jobs")
def draw_slowdowns(result: Result) -> Figure:
    """How many times as long iterations take as alone: schemes down, placements across.

    A panel for each job. The value of a sweep over one is across instead of the placement.
    """
    cells, named, jobs = _slowdowns(result)
    rows = [scheme for scheme in result.schemes if any(it[1] == scheme for it in cells)]
    columns = list(dict.fromkeys(it[2] for it in cells))
    unfinished = [it for it, each in cells.items() if not each]
    panels, shown, across = jobs[:MOST_PANELS], rows[:_MOST_ROWS], columns[:_MOST_COLUMNS]
    values = {it: mean_interval(each).mean for it, each in cells.items() if each}
    figure, axes = panel_axes(len(panels), 2, 0.9 + 0.24 * len(shown), 0.3)
    highest = max(max(values.values()), 1.01)
    image = None
    for ax, job in zip(axes, panels, strict=True):
        matrix = [[values.get((job, it, at), math.nan) for at in across] for it in shown]
        image = ax.imshow(matrix, cmap=_COLOURS, vmin=1.0, vmax=highest, aspect="auto")
        for y, line in enumerate(matrix):
            for x, value in enumerate(line):
                if (job, shown[y], across[x]) in unfinished:
                    ax.text(x, y, _NOTHING, ha="center", va="center", fontsize=8)
                elif not math.isnan(value):
                    dark = (value - 1) / (highest - 1) > _DARK
                    colour = "#FFFFFF" if dark else "#000000"
                    ax.text(
                        x, y, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8
                    )
        ax.set_xticks(range(len(across)), across)
        ax.set_yticks(range(len(shown)), shown)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.set_title(job, fontweight="bold")
        ax.set_xlabel(named)
    for ax in axes[1:]:
        ax.set_yticklabels([])
    figure.colorbar(image, ax=axes, label="slowdown", shrink=0.9)
    counts = {len(each) for each in cells.values() if each}
    left = [
        f"{len(all_) - len(some)} more {what}"
        for what, all_, some in (
            ("jobs", jobs, panels),
            ("schemes", rows, shown),
            ("columns", columns, across),
        )
        if len(all_) > len(some)
    ]
    note(
        figure,
        "Mean time of an iteration over that of the same job alone on the same hosts.",
        _means(counts, result),
        f"{_NOTHING}: no iteration after the warm-up was complete." if unfinished else "",
        f"Not shown, but in table jobs: {', '.join(left)}." if left else "",
    )
    return figure


def _means(counts: set[int], result: Result) -> str:
    """Of how many runs cells are means, and of which."""
    if max(counts) == 1:
        return ""
    several = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
    axes = f", over all values of {' and '.join(result.axes)}" if len(result.axes) > 1 else ""
    return f"Means over {several} runs{axes}."


def _slowdowns(
    result: Result,
) -> tuple[dict[tuple[str, str, str], list[float]], str, list[str]]:
    """Slowdowns by job, scheme and column; what columns are; and the jobs.

    Those that completed no iteration after the warm-up have none.
    """
    rows = [
        (run, row)
        for scheme in result.schemes
        for run in result.runs_of(scheme)
        for row in run.table("jobs").to_pylist()
        if row["slowdown"] is not None or row["mean_ns"] is None
    ]
    known = [row for _, row in rows if row["slowdown"] is not None]
    if not known:
        raise NothingToDraw("No job has a slowdown: alone = false, or no iteration was complete.")
    if all(row["slowdown"] == 1 for row in known) and len(known) == len(rows):
        raise NothingToDraw("No job has anything beside it that slows it down.")
    axis = result.axes[0] if len(result.axes) == 1 else None
    cells: dict[tuple[str, str, str], list[float]] = {}
    for run, row in rows:
        column = row["placement"] if axis is None else value_text(axis, run.row[axis])
        cell = cells.setdefault((row["job"], run.scheme, column), [])
        if row["slowdown"] is not None:
            cell.append(row["slowdown"])
    jobs = list(dict.fromkeys(row["job"] for _, row in rows))
    return cells, axis or "placement", jobs


@draws("job-stragglers", "Wait of ranks", place=-0.72, table="ranks")
def draw_stragglers(result: Result) -> Figure:
    """How long each rank waits in an iteration, sorted: those at the end let others wait."""
    shown = overtime.first(result)
    found: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for run in shown.runs:
        for job, waits in _waits(run).items():
            found.setdefault(job, {})[run.scheme] = waits
    if not found:
        raise NothingToDraw("No rank ended an iteration after the warm-up.")
    jobs = list(found)
    panels = jobs[:MOST_PANELS]
    looks = schemes.looks(list(dict.fromkeys(it for of in found.values() for it in of)))
    figure, axes = grid(len(panels), 2)
    least = []
    for ax, job in zip(axes, panels, strict=True):
        factor, unit = time_unit(max(waits[0][0] for waits in found[job].values()) or 1.0)
        for scheme, waits in found[job].items():
            look = looks[scheme]
            ax.step(
                range(len(waits) + 1), [wait / factor for wait, _ in [*waits, waits[-1]]],
                where="post", color=look.colour, linestyle=look.dash, label=scheme,
            )  # fmt: skip
            least.append(f"{job}, {scheme}: {waits[-1][1]}")
        ax.set_xlim(0, max(len(waits) for waits in found[job].values()))
        ax.tick_params(labelbottom=True)
        ax.set_title(job, fontweight="bold")
        ax.set_xlabel("ranks, sorted")
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_ylabel(f"wait ({unit})")
        from_zero(ax)
    legend(figure, axes)
    rest = len(jobs) - len(panels)
    note(
        figure,
        shown.note,
        "Mean time in an iteration after the warm-up in which the rank did not compute.",
        _first(least, "The rank that waits least: "),
        f"{plural(rest, 'more job')} {are(rest)} in table ranks." if rest else "",
    )  # fmt: skip
    return figure


def _first(all_: list[str], before: str) -> str:
    """Some of them as a sentence."""
    some = all_[:4]
    return f"{before}{'; '.join(some)}{'; …' if len(all_) > len(some) else '.'}"


def _waits(run: Run) -> dict[str, list[tuple[float, str]]]:
    """By job, the mean wait of each rank, ns, and the rank; the longest first."""
    table = run.table("ranks")
    rows: Iterable[dict[str, Any]] = run.table("jobs").to_pylist()
    warmup = {row["job"]: row["warmup"] for row in rows}
    names = table.column("job").to_pylist()
    late = np.array([warmup.get(it, 0) for it in names], dtype=float)
    counts = series.column(table, "iteration") >= late
    waits = series.column(table, "wait_ns")
    ranks, hosts = table.column("rank").to_pylist(), table.column("host").to_pylist()
    found: dict[str, dict[int, list[float]]] = {}
    host: dict[tuple[str, int], str] = {}
    for at in np.flatnonzero(counts):
        job, rank = names[at], ranks[at]
        found.setdefault(job, {}).setdefault(rank, []).append(float(waits[at]))
        host[job, rank] = f"rank {rank} on {hosts[at]}"
    return {
        job: sorted(
            ((sum(each) / len(each), host[job, rank]) for rank, each in of.items()), reverse=True
        )
        for job, of in found.items()
    }
