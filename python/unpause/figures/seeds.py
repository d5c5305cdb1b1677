"""What figures of several seeds share: median and range of a measure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from unpause.figures.style import NothingToDraw, note
from unpause.result import Result, Run
from unpause.series import Unavailable


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


def say_seeds(figure: Figure, result: Result) -> None:
    """Below the panels, what dots and bars are, if there are several seeds."""
    seeds = len(set(result.runs.column("seed").to_pylist()))
    if seeds > 1:
        note(figure, f"Median of {seeds} seeds; bars from the lowest to the highest.")
