"""Numbers of claims as a reader would write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

# Units that are counted, and written without the s of one.
_COUNTED = {
    *("CNMs", "PAUSEs", "comparisons", "counters", "flows", "loops", "packets", "periods"),
    *("runs", "stops"),
}


# An infinite number of these means that it did not end.
_TIMES = {"ns", "us", "ms", "s", "RTT", "loops", "periods"}


def number(value: float) -> str:
    """Three significant digits, all of them from 1000 on, without an exponent if readable."""
    if math.isinf(value):
        return "∞"
    if value != 0 and not 1e-3 <= abs(value) < 1e9:
        return f"{value:.2e}"
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit; "× PCN" is "times PCN's", of which there is something."""
    if value is None:
        return "—"
    if math.isinf(value):
        of = unit.removeprefix("× ")
        if of != unit:
            return f"more than the 0 of {named(of)}"
        return "never within the run" if unit in _TIMES else "infinite"
    return f"{number(value)} {unit_text(unit, value)}".rstrip()


def unit_text(unit: str, value: float | None = None) -> str:
    """A unit behind a number, which is `value` if it is only one."""
    if unit.startswith("× "):
        name = named(unit.removeprefix("× "))
        return f"times that of {name}" if " " in name or name.endswith("s") else f"times {name}'s"
    if unit == "-":
        return ""
    if value is not None and number(value) == "1" and unit in _COUNTED:
        return unit.removesuffix("s")
    return unit


def listed(parts: Iterable[str]) -> str:
    """`parts` as one text."""
    return ", ".join(parts)


def named(scheme: str) -> str:
    """A scheme's name in a list: in quotation marks if it has a comma itself."""
    return f"“{scheme}”" if "," in scheme else scheme


def labelled(label: str, text: str) -> str:
    """A text with its subject in front."""
    return f"{label}: {text}" if label else text


def spread(value: float | None, ends: tuple[float, float] | None) -> str:
    """A number with the range of the seeds behind it, where that is wider than what is written."""
    if value is None:
        return "—"
    text = number(value)
    if ends is None or {number(end) for end in ends} == {text}:
        return text
    return f"{text} ({number(ends[0])} to {number(ends[1])})"


def numbers(texts: Mapping[str, str], values: Sequence[float | None], unit: str) -> str:
    """Such as "QCN 0.5, DCQCN 1.8 ms": by scheme a number as text; without a name if it is "".

    `values` are the numbers, by which one that stands for a word is known.
    """
    odd = any(v is None or math.isinf(v) for v in values)
    parts = []
    for (scheme, text), value in zip(texts.items(), values, strict=True):
        name = f"{named(scheme)} " if scheme else ""
        if odd:
            infinite = value is not None and math.isinf(value)
            end = f" {unit_text(unit)}".rstrip() if value is not None and not infinite else ""
            text = quantity(value, unit) if infinite else f"{text}{end}"
        parts.append(f"{name}{text}")
    only = values[0] if len(values) == 1 else None
    return listed(parts) if odd else f"{listed(parts)} {unit_text(unit, only)}".rstrip()
