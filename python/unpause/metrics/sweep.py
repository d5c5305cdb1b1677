"""A metric over the runs of a sweep: at one value of it, of two, or over many.

A check of a claims file says which by ``sweep``, a table of these keys; exactly one of `at`,
`pick`, `best` and `first_above` is there:

========================== ================================================================
``column``                 the swept column; with `pick` and no range it may be left out
``at``                     the number at this value of it, or at its ``"smallest"`` or ``"largest"``
``against``                with `at`: over the number at this value
``pick``                   ``"min"``, ``"max"``, ``"mean"`` or ``"sum"`` of the numbers, or their
                           ``"spread"``: largest over smallest, minus 1
``best``                   the number where the median of its seeds is smallest, ``"min"``, or
                           largest, ``"max"``: what "up to" says of a ratio to another scheme
``first_above``            not a number of the metric, but the smallest value of the column where
                           the metric is larger than this; infinity if there is none
``above``, ``upto``        only runs with `above` < `column` <= `upto`
========================== ================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from unpause.data.result import Run
from unpause.data.series import Unavailable

_PICKS: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "mean": lambda values: float(np.mean(values)),
    "sum": sum,
    "spread": lambda values: max(values) / min(values) - 1,
}
_ENDS: dict[str, Callable[..., Run]] = {"smallest": min, "largest": max}
_BEST: dict[str, Callable[..., Mapping[int, float]]] = {"min": min, "max": max}


@dataclass(frozen=True)
class Sweep:
    """How numbers of single runs become one of a sweep; keys as in :mod:`unpause.metrics.sweep`."""

    column: str = ""
    at: float | str | None = None
    against: float | str | None = None
    pick: str | None = None
    best: str | None = None
    first_above: float | None = None
    above: float | None = None
    upto: float | None = None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Sweep:
        """The sweep that a table states.

        Raises:
            ValueError: it states none.
        """
        known = [f.name for f in fields(cls)]
        for key in data:
            if key not in known:
                raise ValueError(f"unknown key {key!r} (known: {', '.join(known)})")
        ways = [key for key in ("at", "pick", "best", "first_above") if key in data]
        if len(ways) != 1:
            raise ValueError(f"expected one of at, pick, best, first_above, found {ways}")
        if "column" not in data and (ways != ["pick"] or {"above", "upto"} & set(data)):
            raise ValueError("column is missing")
        if "against" in data and ways != ["at"]:
            raise ValueError("against goes with at")
        if data.get("pick", "min") not in _PICKS:
            raise ValueError(f"pick is one of {', '.join(_PICKS)}, found {data['pick']!r}")
        if data.get("best", "min") not in _BEST:
            raise ValueError(f"best is one of {', '.join(_BEST)}, found {data['best']!r}")
        for key in ("at", "against", "first_above", "above", "upto"):
            value = data.get(key, 0)
            if key in ("at", "against") and value in _ENDS:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                ends = f", {' or '.join(map(repr, _ENDS))}" if key in ("at", "against") else ""
                raise ValueError(f"{key} is a number{ends}, found {value!r}")
        if not isinstance(data.get("column", ""), str):
            raise ValueError(f"column is the name of a column, found {data['column']!r}")
        return cls(**data)

    def unit(self, unit: str) -> str:
        """The number's unit, if the metric's is `unit`: a ratio and a swept value have none."""
        plain = self.against is None and self.pick != "spread" and self.first_above is None
        return unit if plain else ""

    def __str__(self) -> str:
        """Such as ``load = 0.5`` or ``max, flows > 64``."""
        bounds = [f"> {self.above:g}"] if self.above is not None else []
        bounds += [f"<= {self.upto:g}"] if self.upto is not None else []
        some = ", ".join(f"{self.column} {b}" for b in bounds) or self.column
        if self.pick is not None:
            return f"{self.pick}, {some}" if some else self.pick
        if self.best is not None:
            return f"best ({self.best}), {some}"
        if self.first_above is not None:
            return f"first {some} above {self.first_above:g}"
        text = f"{self.column} = {_text(self.at)}"
        if self.against is not None:
            text += f" over {_text(self.against)}"
        return ", ".join([text, *(f"{self.column} {b}" for b in bounds)])

    def measure(self, runs: Sequence[Run], metric: Callable[[Run], float]) -> float:
        """The number of the sweep.

        Raises:
            Unavailable: the column or a value is not there, or a ratio has no denominator.
        """
        chosen = self._chosen(runs)
        if self.pick is not None:
            return float(_PICKS[self.pick]([metric(run) for run in chosen]))
        if self.first_above is not None:
            found = [run.row[self.column] for run in chosen if metric(run) > self.first_above]
            return float(min(found, default=math.inf))
        value = metric(self._run(chosen, self.at))
        if self.against is None:
            return value
        other = self._run(chosen, self.against)
        divisor = metric(other)
        if divisor in (0, math.inf):
            raise Unavailable(
                f"There is no ratio to {divisor:g} where {self.column} is "
                f"{other.row[self.column]:g} under {other.scheme}."
            )
        return value / divisor

    def measure_best(
        self, runs: Sequence[Run], measure: Callable[[Sweep], Mapping[int, float]]
    ) -> Mapping[int, float]:
        """The numbers by seed at the value of the column where their median is best.

        Args:
            runs: Those of the scheme that is judged.
            measure: The numbers by seed at one value.

        Raises:
            Unavailable: the column is not there, or no run has a number.
        """
        values = sorted({swept_value(run, self.column) for run in self._chosen(runs)})
        each = [found for value in values if (found := measure(Sweep(self.column, at=value)))]
        if not each:
            raise Unavailable(f"No run over '{self.column}' has what is measured.")
        return _BEST[self.best or "min"](each, key=lambda found: np.median(list(found.values())))

    def _chosen(self, runs: Sequence[Run]) -> list[Run]:
        """The runs with `above` < `column` <= `upto`."""
        if not self.column:
            return list(runs)
        chosen = [
            run
            for run in runs
            if (self.above is None or swept_value(run, self.column) > self.above)
            and (self.upto is None or swept_value(run, self.column) <= self.upto)
        ]
        if not chosen:
            raise Unavailable(f"No run has '{self.column}' in the range asked for.")
        swept_value(chosen[0], self.column)
        return chosen

    def _run(self, runs: Sequence[Run], at: float | str | None) -> Run:
        if at in _ENDS:
            return _ENDS[at](runs, key=lambda run: swept_value(run, self.column))
        found = [r for r in runs if math.isclose(swept_value(r, self.column), at, rel_tol=1e-9)]
        if not found:
            raise Unavailable(f"There is no run with {self.column} = {at:g}.")
        return found[0]


def _text(at: float | str | None) -> str:
    return at if isinstance(at, str) else f"{at:g}"


def swept_value(run: Run, column: str) -> float:
    """The value of the swept `column` in a run.

    Raises:
        Unavailable: the result has no such column.
    """
    if column not in run.row:
        raise Unavailable(f"The result has no swept column '{column}'.")
    return run.row[column]
