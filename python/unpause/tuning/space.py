"""The parameters of a search: their ranges or choices, as they stand in a scenario file.

The search itself sees each parameter as a number from 0 to 1.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unpause.errors import SweepError
from unpause.sweeps import axes
from unpause.sweeps.axes import Axis

_RANGE = re.compile(r"(?P<low>[^,\[\]{}\"']+?)\s*\.\.\s*(?P<high>[^,\[\]{}\"']+)")
_UNIT = re.compile(r"[\d.eE+_/-]+\s*(?P<unit>[A-Za-z]*|%)")
#: From this ratio of its ends on, a range is searched by factors instead of differences.
_WIDE = 8
#: A neighbour is this part of a range away.
STEP = 0.1
#: Digits of the values that are tried.
_DIGITS = 3

#: A value for each parameter, by key, as it stands in a scenario file.
Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Choices:
    """A parameter with a list of values, in the order of the list."""

    key: str
    values: tuple[Any, ...]

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values that are checked before the search."""
        return self.values

    def at(self, position: float) -> Any:
        """The value at a position from 0 to 1."""
        return self.values[min(len(self.values) - 1, int(position * len(self.values)))]

    def position(self, value: Any) -> float | None:
        """Where a value is; None if it is not in the list."""
        places = (i for i, each in enumerate(self.values) if same(each, value))
        found = next(places, None)
        return None if found is None else (found + 0.5) / len(self.values)

    def neighbours(self, value: Any) -> list[Any]:
        """The values before and after one; all others where they have no order."""
        if not all(quantity(each) for each in self.values):
            return [each for each in self.values if not same(each, value)]
        here = next(i for i, each in enumerate(self.values) if same(each, value))
        return [self.values[i] for i in (here - 1, here + 1) if 0 <= i < len(self.values)]


@dataclass(frozen=True)
class Range:
    """A parameter that can have any value between two.

    Attributes:
        key: Of the scenario.
        ends: The least and the largest value, as they are written.
        low: The least, in the base unit.
        high: The largest.
        unit: The unit in which values are written.
        factor: How many base units it has.
        is_whole: Whether it counts something.
    """

    key: str
    ends: tuple[Any, Any]
    low: float
    high: float
    unit: str
    factor: float
    is_whole: bool

    @property
    def by_factors(self) -> bool:
        """Whether equal steps are equal factors."""
        return self.low > 0 and self.high / self.low >= _WIDE

    def at(self, position: float) -> Any:
        """The value at a position from 0 to 1, in three digits."""
        if position <= 0 or position >= 1:
            return self.ends[position >= 1]
        if self.by_factors:
            number = self.low * (self.high / self.low) ** position
        else:
            number = self.low + position * (self.high - self.low)
        return self._written(number / self.factor)

    def _written(self, number: float) -> Any:
        if self.is_whole:
            return round(number)
        spread = max(abs(self.low), abs(self.high)) / self.factor
        size = number if self.by_factors else spread
        places = _DIGITS - 1 - math.floor(math.log10(abs(size))) if size else 0
        rounded = round(number, places)
        if not self.unit:
            return float(f"{rounded:.12g}")
        return f"{rounded:.12g}{self.unit}"

    def position(self, value: Any) -> float | None:
        """Where a value is; None if it is outside, or no quantity of this kind."""
        found = quantity(value)
        mine = quantity(self.ends[0])
        if found is None or mine is None or found[0] != mine[0]:
            return None
        number = float(found[1])
        if not self.low <= number <= self.high:
            return None
        if self.by_factors:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def neighbours(self, value: Any) -> list[Any]:
        """The values a tenth of the range below and above."""
        here = self.position(value)
        assert here is not None
        near = (self.at(each) for each in (here - STEP, here + STEP) if -STEP < each < 1 + STEP)
        return [each for each in dict.fromkeys(near) if not same(each, value)]


Parameter = Range | Choices


def quantity(value: Any) -> tuple[str, Fraction] | None:
    """Suffix of the base unit and the number in it; None of what is no number.

    Unlike that of sweeps it reads numbers and percentages that stand as text, as defaults do.
    """
    if isinstance(value, str):
        text, percent = (value[:-1], 100) if value.endswith("%") else (value, 1)
        try:
            return "", Fraction(text.strip()) / percent
        except (ValueError, ZeroDivisionError):
            pass
    return axes.quantity(value)


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same, however they are written."""
    if a == b and type(a) is type(b):
        return True
    one, other = quantity(a), quantity(b)
    return one is not None and one == other


def read(vary: Mapping[str, Any]) -> list[Parameter]:
    """The parameters of a mapping from keys to ranges or choices.

    Args:
        vary: ``"20KB..800KB"``, a pair of ends, is a range; ``"1,2,4"`` or a list are choices.

    Raises:
        SweepError: a key or a range makes no sense.
    """
    parameters = [
        given if isinstance(given, Parameter) else _parameter(key, given)
        for key, given in vary.items()
    ]
    if not parameters:
        raise SweepError("nothing to tune\nhint: name parameters and ranges with --vary")
    seen: dict[tuple[str, ...], str] = {}
    for each in parameters:
        steps = tuple(axes.split_key(each.key))
        if steps in seen:
            raise SweepError(f"{each.key} is varied twice")
        if steps == ("seed",):
            raise SweepError("seed: a seed is not tuned\nhint: --seeds sets how many are used")
        seen[steps] = each.key
    return parameters


def parse_all(texts: Sequence[str]) -> list[Parameter]:
    """The parameters of a command line: ``["pfc.xoff=64KB..512KB"]``.

    Raises:
        SweepError: one of them cannot be read.
    """
    return read(axes.split_all(texts, "--vary", "KEY=LOW..HIGH or KEY=VALUE,VALUE"))


def _parameter(key: str, given: Any) -> Parameter:
    if isinstance(given, tuple) and len(given) == 2:
        return _range(key, *given)
    if isinstance(given, str) and (found := _RANGE.fullmatch(given.strip())):
        return _range(key, _number(found["low"]), _number(found["high"]))
    [axis] = axes.read({key: given})
    if len(axis.values) < 2:
        raise SweepError(
            f"{key}: a single value leaves nothing to search\n"
            f"hint: write a range, {key}=LOW..HIGH, or choices, {key}=VALUE,VALUE"
        )
    return Choices(key, axis.values)


def _number(text: str) -> Any:
    [axis] = axes.read({"value": text.strip()})
    return axis.values[0]


def _range(key: str, low: Any, high: Any) -> Range:
    Axis(key, (low,)).steps  # noqa: B018 - refuses what is no key
    found = [quantity(each) for each in (low, high)]
    for end, number in zip((low, high), found, strict=True):
        if number is None:
            raise SweepError(
                f"{key}: {end!r} is no number with a unit that is known\n"
                f"hint: write a range as {key}=20KB..800KB, choices as {key}=a,b"
            )
    (first, least), (second, most) = (each for each in found if each is not None)
    if first != second:
        raise SweepError(f"{key}: {low} and {high} have units of different kinds")
    if least >= most:
        raise SweepError(f"{key}: the range {low}..{high} is empty; write it in ascending order")
    whole = isinstance(low, int) and isinstance(high, int)
    if whole and high - low == 1:
        raise SweepError(
            f"{key}: there is no whole number between {low} and {high}\n"
            f"hint: write {key}={low}.0..{high}.0 for a range of fractions, or {key}={low},{high}"
        )
    unit = _UNIT.fullmatch(low.strip()) if isinstance(low, str) else None
    name = unit["unit"] if unit else ""
    one = quantity(f"1{name}") if name else None
    factor = float(one[1]) if one else 1.0
    return Range(key, (low, high), float(least), float(most), name, factor, whole)


def key_of(setting: Setting) -> tuple[tuple[str, str], ...]:
    """What tells settings apart."""
    return tuple((key, repr(value)) for key, value in setting.items())


def written(setting: Setting) -> str:
    """A setting on one line."""
    return ", ".join(f"{key} = {value}" for key, value in setting.items())
