"""What a sweep varies: keys of the scenario file, each with a list of values.

Keys are addressed as in `[[sweep]]` and `set`: ``pfc.xoff``, ``traffic.F0.rate_limit``,
``scheme.PCN.pcn.w_max``, ``seed``. As a column, values with units become numbers in a base unit
that ends the column's name: ``pfc.xoff_bytes``, ``traffic.F0.rate_limit_bps``, ``duration_ns``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import pyarrow as pa

from unpause.errors import SweepError

#: More points than this are a mistake.
MOST_POINTS = 1_000_000

_RANGE = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*")


@dataclass(frozen=True)
class Axis:
    """A key and the values that it takes, as they stand in a scenario file."""

    key: str
    values: tuple[Any, ...]

    @property
    def steps(self) -> list[str]:
        """The key taken apart at its dots."""
        return split_key(self.key)

    def column(self) -> tuple[str, list[Any], pa.DataType]:
        """Name of the column, its entry for each value, and its type."""
        if all(isinstance(v, bool) for v in self.values):
            return self.key, list(self.values), pa.bool_()
        if self.steps == ["seed"]:
            return "seed", list(self.values), pa.uint64()
        found = [quantity(v) for v in self.values]
        suffixes = {f[0] for f in found if f is not None}
        if None in found or len(suffixes) > 1:
            return self.key, [_text(v) for v in self.values], pa.string()
        suffix, numbers = suffixes.pop(), [f[1] for f in found if f is not None]
        if suffix in ("_bytes", "_bps") and all(n.denominator == 1 for n in numbers):
            return self.key + suffix, [int(n) for n in numbers], pa.uint64()
        if all(isinstance(v, int) for v in self.values):
            return self.key, [int(n) for n in numbers], pa.int64()
        return self.key + suffix, [float(n) for n in numbers], pa.float64()


def parse_all(texts: Iterable[str], option: str = "--vary") -> list[Axis]:
    """The axes of a command line: ``["pfc.xoff=64KB,128KB", "seed=1..100"]``.

    Raises:
        SweepError: one of them cannot be read.
    """
    return read(split_all(texts, option, "KEY=VALUE,VALUE or KEY=1..100"))


def split_all(texts: Iterable[str], option: str, form: str) -> dict[str, str]:
    """The values of each key of an option, as texts. `form`: how they are written.

    Raises:
        SweepError: a key has no values, or is given twice.
    """
    given: dict[str, str] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        key = key.strip()
        if not equals:
            raise SweepError(f"{option} {text}: no values; write {form}")
        if key in given:
            raise SweepError(f"{option} {key} is given twice; write all values after one {key}=")
        given[key] = values
    return given


def read(vary: Mapping[str, Any]) -> list[Axis]:
    """The axes of a mapping from keys to values.

    Values are a sequence, or a text such as ``"64KB,128KB"`` or ``"1..100"``.

    Raises:
        SweepError: a key or its values make no sense.
    """
    axes = [Axis(key, tuple(_values(key, values))) for key, values in vary.items()]
    points = 1
    names: dict[tuple[str, ...], str] = {}
    for axis in axes:
        steps = tuple(axis.steps)
        if steps in names:
            raise SweepError(f"{axis.key} is varied twice")
        names[steps] = axis.key
        if steps == ("seed",):
            wrong = [v for v in axis.values if type(v) is not int or not 0 <= v < 2**63]
            if wrong:
                raise SweepError(f"seed={wrong[0]}: a seed is a whole number from 0")
        points *= len(axis.values)
    if points > MOST_POINTS:
        raise SweepError(
            f"{points:,} points; more than {MOST_POINTS:,} are assumed to be a mistake"
        )
    return axes


def points(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """Every combination, as an index into the values of each axis; the last axis is fastest."""
    return list(product(*(range(len(axis.values)) for axis in axes)))


def split_key(key: str) -> list[str]:
    """Split at dots outside of double quotes, as the scenario file does.

    Raises:
        SweepError: it is not the path of a key.
    """
    from unpause import _native

    steps = _native.split_path(key)
    if steps is None:
        raise SweepError(
            f"{key!r} is not the path of a key; write it as pfc.xoff or traffic.F0.rate_limit"
        )
    return steps


def _values(key: str, given: Any) -> list[Any]:
    split_key(key)
    if isinstance(given, str):
        values = [v for part in _split_values(given) for v in _read_value(key, part)]
    elif isinstance(given, Iterable) and not isinstance(given, Mapping | bytes):
        values = [v.item() if hasattr(v, "item") else v for v in given]
    else:
        raise SweepError(f"{key}: a list of values is expected, not {given!r}")
    if not values:
        raise SweepError(f"{key}: no values; write {key}=VALUE,VALUE or {key}=1..100")
    seen = set()
    for value in values:
        if not isinstance(value, str | int | float | list | dict):
            raise SweepError(f"{key}: {value!r} cannot be written in a scenario file")
        if repr(value) in seen:
            raise SweepError(f"{key}: the value {_text(value)} occurs twice")
        seen.add(repr(value))
    return values


def _split_values(text: str) -> list[str]:
    """Split at commas outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        else:
            depth += (c in "[{") - (c in "]}")
        if c == "," and not quote and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [] if parts == [""] else parts


def _read_value(key: str, text: str) -> list[Any]:
    text = text.strip()
    if not text:
        raise SweepError(f"{key}: an empty value (a comma too many?)")
    if found := _RANGE.fullmatch(text):
        first, last = int(found[1]), int(found[2])
        if last < first:
            raise SweepError(
                f"{key}: the range {text} is empty; write it in ascending order: {last}..{first}"
            )
        if last - first >= MOST_POINTS:
            raise SweepError(
                f"{key}: {text}: more than {MOST_POINTS:,} points are assumed to be a mistake"
            )
        return list(range(first, last + 1))
    try:
        parsed = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return [text]
    value = parsed.get("value")
    plain = isinstance(value, str | int | float | list | dict) and len(parsed) == 1
    return [value if plain else text]


def quantity(value: Any) -> tuple[str, Fraction] | None:
    """Suffix of the base unit and the number in it; None if `value` is not a number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return "", Fraction(value)
        except (ValueError, OverflowError):  # nan, inf
            return None
    if not isinstance(value, str):
        return None
    from unpause import _native

    if (found := _native.in_base_unit(value)) is None:
        return None
    suffix, numerator, denominator = found
    return suffix, Fraction(numerator, denominator)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
