"""Parts of figures over several seeds: median and range, or the run with the first seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from unpause.data.result import Result, Run
from unpause.data.series import Unavailable
from unpause.figures.style import NothingToDraw, note


def spread(runs: Sequence[Run], measure: Callable[[Run], float]) -> tuple[float, float, float]:
    """Median, lowest and highest of `measure` over `runs`.

    Raises:
        NothingToDraw: a run lacks what is measured.
    """
    try:
        values = [measure(run) for run in runs]
    except Unavailable as error:
        raise NothingToDraw(str(error)) from error
    return float(np.median(values)), min(values), max(values)


def say_seeds(figure: Figure, result: Result, *before: str, marks: str = "bars") -> None:
    """Writes below the panels: the sentences `before`, then how seeds are summarised."""
    seeds = len(set(result.runs.column("seed").to_pylist()))
    said = f"Median of {seeds} seeds; {marks} from the lowest to the highest."
    note(figure, *before, said if seeds > 1 else "")


def first_seed(result: Result) -> list[Run]:
    """The run of each scheme with the lowest seed, for figures over time.

    Raises:
        NothingToDraw: something other than the seed is swept.
    """
    if result.axes:
        raise NothingToDraw(
            f"This result is a sweep over {', '.join(result.axes)}; figures over time show one run "
            "for each scheme."
        )
    return [min(result.runs_of(s), key=lambda run: run.row["seed"]) for s in result.schemes]


def say_seed(figure: Figure, result: Result, shown: Run) -> None:
    """Below the panels, which seed they show, if there are several."""
    every = len(set(result.runs.column("seed").to_pylist()))
    if every > 1:
        note(figure, f"Seed {shown.row['seed']}, one of {every}.")
