"""What a statistic of a run is: how it is computed, written, judged, and where it appears."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from unpause import text
from unpause.schema import Column
from unpause.sweeps.facts import Facts

Row = Mapping[str, Any]
#: Before a number that is a lower bound.
AT_LEAST = "≥"
Number = Callable[[Row], float | None]


def _plain(_: float) -> tuple[float, str]:
    return 1.0, ""


def _percent(_: float) -> tuple[float, str]:
    return 1.0, "%"


def column(name: str) -> Number:
    """Reads the column `name` of a row; None where an older sweep lacks it."""
    return lambda row: row.get(name)


@dataclass(frozen=True)
class Measure:
    """A number of each run.

    Attributes:
        name: What a column or an axis is called.
        of: The number in a row, None if there is none.
        written: The number as people write it.
        of_one: What stands in a table for a single run, where that says more.
        unit: For axes: factor and unit, by the largest value.
        needs: A column that an older sweep may lack.
        bound: The sign before the mean of rows if that is a bound.
        least: The least that it can be.
        most: The most that it can be.
    """

    name: str
    of: Number
    written: Callable[[float], str]
    unit: Callable[[float], tuple[float, str]]
    of_one: Callable[[Row], str] | None = None
    needs: str = ""
    bound: Callable[[Sequence[Row]], str] = lambda _: ""
    least: float = 0.0
    most: float = math.inf


@dataclass(frozen=True)
class Kind:
    """A column of the overview: its number of a run, its head, and which numbers are better."""

    head: tuple[str, str]
    of: Number
    unit: Callable[[float], tuple[float, str]]
    less_is_better: bool = True
    #: The sign before the mean of rows if that is a bound.
    bound: Callable[[Sequence[Row]], str] = lambda _: ""
    #: Whether bounds can be compared all the same.
    bounds_count: bool = False
    #: Whether it appears although it is 0 in every row.
    always: bool = False
    #: Whether the best mean may be marked: not if rows reached it at the expense of another column.
    earned: Callable[[Sequence[Row]], bool] = lambda _: True
    #: What the number of a run is of: rows about different things are not compared.
    about: Callable[[Row], Any] = lambda _: None
    #: Whether a row without a number is worse than any.
    missing_is_worst: bool = False
    #: Its name in a sentence, where the head alone does not say it.
    spoken: str = ""
    #: Whether one chooses by it, in a table of rows: else it only says why, or at what price.
    decides: Callable[[Sequence[Row]], bool] = lambda _: True
    #: A column that an older sweep may lack.
    needs: str = ""


@dataclass(frozen=True)
class Format:
    """How people write a statistic.

    Attributes:
        written: One number.
        unit: Factor and unit of a column of numbers, by the largest.
    """

    written: Callable[[float], str]
    unit: Callable[[float], tuple[float, str]]


TIME = Format(text.time, text.time_unit)
SIZE = Format(text.size, text.byte_unit)
RATE = Format(text.rate, text.rate_unit)
COUNT = Format(text.count, _plain)
RATIO = Format(lambda value: f"{value:.3g}", _plain)
SHARE = Format(lambda value: f"{value:.4g} %", _percent)


@dataclass(frozen=True)
class Statistic:
    """One statistic of a run.

    Attributes:
        name: Of its column, with the unit as suffix.
        text: What it holds.
        of: Computes it; None for a column of table `runs`.
        type: Arrow type.
        unit: Of the column, empty for names and ratios.
        nullable: Whether it can be unknown: `of` says when, with None.
        format: How people write it.
        shown: Computes what tables show, where that is not the column itself.
        of_one: What a table shows of a single run, where that says more.
        means: Its name in tables of means, and its place there; nothing: not in them.
        head: Its head in the overview, and its place there; nothing: not in it.
        percent: Of a percentile of flows: it is shown where flows are enough for it.
        least: The least that it can be.
        judged: More on how the overview judges it, by the attributes of :class:`Kind`.
    """

    name: str
    text: str
    of: Callable[[Facts], Any] | None = None
    type: pa.DataType = field(default_factory=pa.float64)
    unit: str = ""
    nullable: bool = True
    format: Format = RATIO
    shown: Number | None = None
    of_one: Callable[[Row], str] | None = None
    means: tuple[int, str] | None = None
    head: tuple[int, str, str] | None = None
    percent: float | None = None
    least: float = 0.0
    judged: Mapping[str, Any] = field(default_factory=dict)

    @property
    def column(self) -> Column:
        """Its column in a sweep's table."""
        return Column(self.name, self.type, self.unit, self.text, self.nullable)

    @cached_property
    def measure(self) -> Measure:
        """It in tables of means."""
        assert self.means is not None
        shown = self.shown or column(self.name)
        needs = self.name if self.of else ""
        bound = self.judged.get("bound", Measure.bound)
        written, unit = self.format.written, self.format.unit
        most = 100.0 if self.format is SHARE else math.inf
        return Measure(
            self.means[1], shown, written, unit, self.of_one, needs, bound, self.least, most
        )

    def kind(self, **names: str) -> Kind:
        """It in the overview, `names` in the place of those in its head."""
        assert self.head is not None
        _, above, below = self.head
        shown = self.shown or column(self.name)
        needs = self.name if self.of else ""
        head = (above.format(**names), below)
        judged = {**self.judged, "spoken": str(self.judged.get("spoken", "")).format(**names)}
        return Kind(head, shown, self.format.unit, needs=needs, **judged)
