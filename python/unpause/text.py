"""Numbers as people write them: three digits and a unit."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any


def nearest(name: str, known: Iterable[str]) -> str:
    """The name that may have been meant, as the end of a message; empty if none is near."""
    by_letters = {it.lower(): it for it in known}
    near = difflib.get_close_matches(name.lower(), by_letters, n=1)
    return f"; did you mean {by_letters[near[0]]!r}?" if near else ""


def beside(missing: Path) -> str:
    """The name beside a missing file or directory that may be meant, as :func:`nearest`."""
    try:
        names = [it.name for it in missing.parent.iterdir() if not it.name.startswith(".")]
    except OSError:
        return ""
    return nearest(missing.name, names)


def time(ns: float) -> str:
    """Three digits and a unit: 2.77 ms."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= factor:
            return f"{_digits(ns / factor)} {unit}"
    if ns >= 1:
        return f"{_digits(ns)} ns"
    return f"{ns * 1e3:.0f} ps" if ns else "0"


def size(number: float) -> str:
    """Three digits and a unit: 512 KB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if number >= factor:
            return f"{_digits(number / factor)} {unit}"
    return f"{number:.0f} B"


def _digits(number: float) -> str:
    if number >= 99.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if number >= 9.995 else f"{number:.2f}"


def rate(bps: float) -> str:
    """40 Gb/s."""
    if bps >= 1e12:
        return f"{bps / 1e12:.3g} Tb/s"
    factor, unit = rate_unit(bps)
    return f"{bps / factor:.3g} {unit}"


def count(number: float) -> str:
    """1,234,567; of a mean one decimal while it is small."""
    if number == round(number) or number >= 100:
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 10 else f"{number:.2g}"


def plural(number: float, noun: str) -> str:
    """Such as "1 packet", "0 packets", "1,234 packets"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def were(number: float) -> str:
    """The verb after :func:`plural`: one packet was lost, others were."""
    return "was" if number == 1 else "were"


def are(number: float) -> str:
    """The verb after :func:`plural`: one is left out, others are."""
    return "is" if number == 1 else "are"


def span(values: Sequence[float], write: Callable[[float], str]) -> str:
    """From the least to the most, the unit once: "600 to 700 us"; one text if they are alike."""
    low, high = write(min(values)), write(max(values))
    if low == high:
        return high
    number, _, unit = low.partition(" ")
    return f"{number if unit and high.endswith(f' {unit}') else low} to {high}"


def percent(number: float) -> str:
    """4.1 %, and no fractions of large ones."""
    return f"{number:.0f} %" if abs(number) >= 10 else f"{number:.2g} %"


def byte_unit(largest: float) -> tuple[float, str]:
    """Bytes in the unit for values up to `largest`, and its name."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if largest >= 2 * factor:
            return factor, unit
    return (1e3, "KB") if largest >= 1e3 else (1.0, "B")


def time_unit(largest_ns: float) -> tuple[float, str]:
    """Nanoseconds in the unit for times up to `largest_ns`, and its name."""
    for factor, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if largest_ns >= 2 * factor:
            return factor, unit
    return 1.0, "ns"


def rate_unit(largest_bps: float) -> tuple[float, str]:
    """Bit/s in the unit for rates up to `largest_bps`, and its name."""
    if largest_bps >= 2e8 or largest_bps <= 0:
        return 1e9, "Gb/s"
    return (1e6, "Mb/s") if largest_bps >= 2e5 else (1e3, "kb/s")


def digits(number: float, significant: int = 3) -> str:
    """So many significant digits, no exponent; whole numbers are written out."""
    if number == 0:
        return "0"
    if number == round(number) and abs(number) < 1e6:
        return f"{number:.0f}"
    places = max(0, significant - 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{min(places, 6)}f}"


def digits_range(least: float, most: float) -> str:
    """Two numbers with the places that the larger one has: "5.5 to 18.5"."""
    larger = max(abs(least), abs(most))
    places = 0 if larger == 0 else max(0, 2 - math.floor(math.log10(larger)))
    if all(number == round(number) for number in (least, most)):
        places = 0
    ends = [f"{number:.{min(places, 6)}f}" for number in (least, most)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a list in a sentence; semicolons divide it if a name has a comma itself."""
    if len(names) < 2:
        return "".join(names)
    if any("," in name for name in names):
        return f"{'; '.join(names[:-1])}; {last} {names[-1]}"
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def joined(names: Iterable[str]) -> str:
    """Names with commas between them, or with semicolons if a name has a comma itself."""
    every = list(names)
    return ("; " if any("," in name for name in every) else ", ").join(every)


def key_text(name: str) -> str:
    """The key of a swept column, without the unit, which its values have."""
    return name.removesuffix("_bytes").removesuffix("_bps").removesuffix("_ns")


def value_text(name: str, value: Any) -> str:
    """A swept value as people write it; the end of its column's name says the unit."""
    if isinstance(value, str | bool):
        return str(value)
    units = (("_bytes", byte_unit), ("_ns", time_unit), ("_bps", rate_unit))
    for end, unit_of in units:
        if name.endswith(end) and value:
            factor, unit = unit_of(2 * value)  # 1.5 MB, not 1500 KB
            return f"{value / factor:g} {unit}"
    if value == round(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:g}".replace("e-0", "e-")
