"""Panels over a swept value: one metric each, a line for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpause.data import schemes
from unpause.data.result import Result
from unpause.data.series import Unavailable
from unpause.figures.panels import measure
from unpause.figures.registry import kind
from unpause.figures.seeds import say_seeds, spread
from unpause.figures.style import (
    LINES,
    NothingToDraw,
    at_least,
    from_zero,
    grid,
    legend,
    log_with_zero,
)


@kind("swept")
def draw(
    result: Result,
    column: str,
    panel: Sequence[Mapping[str, Any]],
    args: Mapping[str, Any] | None = None,
    columns: int = 2,
    label: str = "",
    log: bool = False,
    ticks_times: float | None = None,
) -> Figure:
    """A line for each scheme over the swept `column`, a panel for each metric.

    Of several seeds the median is shown, with bars from the lowest to the highest. `args` are
    those of all panels. The x axis has `label`, is logarithmic with `log`, and with `ticks_times`
    has a tick at each value, which is written times that. A panel has a title, a `metric` with
    `args` of its own, a `unit` for its y axis, and maybe its `limits`, a `line` at some value, or
    `symlog`: linear up to 1, logarithmic above.

    Raises:
        NothingToDraw: the result is not a sweep over `column`, or lacks what a panel shows.
    """
    figure, axes = draw_panels(result, column, panel, args or {}, columns)
    values = np.unique(result.runs.column(column).to_numpy())
    for ax in axes:
        if log:
            ax.set_xscale("log")
        if ticks_times is not None:
            ax.set_xticks(values, [f"{ticks_times * value:g}" for value in values])
            ax.minorticks_off()
    for ax in axes[-columns:]:
        ax.set_xlabel(label)
    legend(figure, axes)
    return figure


def draw_panels(
    result: Result,
    column: str,
    panels: Sequence[Mapping[str, Any]],
    args: Mapping[str, Any],
    columns: int,
) -> tuple[Figure, list[Axes]]:
    """The panels of :func:`draw` without a legend, with x axes as matplotlib makes them."""
    need(result, column)
    looks = schemes.looks(result.schemes)
    figure, axes = grid(len(panels), columns)
    try:
        for ax, panel in zip(axes, panels, strict=True):
            metric = measure(panel, args)
            for scheme in result.schemes:
                look = looks[scheme]
                runs = result.runs_of(scheme)
                values = sorted({r.row[column] for r in runs})
                found = [spread([r for r in runs if r.row[column] == v], metric) for v in values]
                ax.errorbar(
                    values,
                    [median for median, _, _ in found],
                    [[m - low for m, low, _ in found], [high - m for m, _, high in found]],
                    color=look.colour,
                    linestyle=look.dash,
                    marker=look.marker,
                    markersize=3,
                    elinewidth=0.7,
                    label=scheme,
                )
            _finish(ax, panel)
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    say_seeds(figure, result)
    return figure, axes


def need(result: Result, *columns: str) -> str:
    """The first of `columns` that the result is a sweep over.

    Raises:
        NothingToDraw: it is one over none of them.
    """
    for column in columns:
        if column in result.sweep_columns:
            return column
    names = " or ".join(f"'{column}'" for column in columns)
    raise NothingToDraw(f"The result has no swept column {names}.")


def _finish(ax: Axes, panel: Mapping[str, Any]) -> None:
    ax.set_title(panel["title"], fontweight="bold")
    ax.set_ylabel(panel.get("unit", ""))
    if "limits" in panel:
        at_least(ax, *panel["limits"])
    else:
        from_zero(ax)
    if panel.get("symlog"):
        log_with_zero(ax)
    if "line" in panel:
        ax.axhline(panel["line"], color=LINES[4], linestyle=":", linewidth=0.7, zorder=0)


@kind("swept-seeds")
def draw_seeds(
    result: Result, columns: Sequence[str], panel: Sequence[Mapping[str, Any]]
) -> Figure:
    """Median and range of the seeds at each value of whichever of `columns` is swept.

    The values stand at equal distances. A panel has a title and a `metric` with `args`.

    Raises:
        NothingToDraw: none of `columns` is swept, or the result lacks what a panel shows.
    """
    column = need(result, *columns)
    values = sorted(set(result.runs.column(column).to_pylist()))
    looks = schemes.looks(result.schemes)
    figure, axes = grid(len(panel), 2)
    for ax, each in zip(axes, panel, strict=True):
        metric = measure(each)
        for scheme in result.schemes:
            runs = result.runs_of(scheme)
            found = [spread([r for r in runs if r.row[column] == v], metric) for v in values]
            ax.errorbar(
                range(len(values)),
                [median for median, _, _ in found],
                [[m - low for m, low, _ in found], [high - m for m, _, high in found]],
                color=looks[scheme].colour,
                linestyle=looks[scheme].dash,
                marker=looks[scheme].marker,
                markersize=4,
                label=scheme if len(result.schemes) > 1 else None,
            )
        ax.set_title(each["title"], fontweight="bold")
        from_zero(ax)
        ax.set_xticks(range(len(values)), [_written(v) for v in values])
        ax.set_xlabel(column)
    legend(figure, axes)
    say_seeds(figure, result)
    return figure


def _written(value: float) -> str:
    """1/128 as a paper writes it, unless the value is a short decimal."""
    return f"{value:g}" if value >= 0.1 else str(Fraction(value).limit_denominator(10_000))
