"""One order, colour and line for each scheme, the same in every figure and table."""

from __future__ import annotations

from collections.abc import Iterable

#: The PCN paper's schemes in the order in which they are always shown.
ORDER = ("PFC", "QCN", "DCQCN", "TIMELY", "PCN")

# Okabe and Ito's palette, told apart by readers with any common colour vision deficiency.
_COLOURS = {
    "PFC": "#555555",
    "QCN": "#E69F00",
    "DCQCN": "#56B4E9",
    "TIMELY": "#009E73",
    "PCN": "#D55E00",
}
_SPARE_COLOURS = ("#0072B2", "#CC79A7", "#8C6D1F", "#7A4FBF", "#000000")


def canonical(name: str) -> str:
    """Name without the PFC that all share: ``"PFC+QCN"`` is ``"QCN"``."""
    return name.removeprefix("PFC+").strip()


def ordered(names: Iterable[str]) -> list[str]:
    """`names` without repeats: known schemes in their fixed order, then others as they come."""
    unique = list(dict.fromkeys(names))
    known = [n for n in unique if canonical(n) in ORDER]
    known.sort(key=lambda n: ORDER.index(canonical(n)))
    return known + [n for n in unique if canonical(n) not in ORDER]


def colours(names: Iterable[str]) -> dict[str, str]:
    """Colour of each of `names`; a scheme of the paper has the same colour everywhere."""
    chosen: dict[str, str] = {}
    spare = 0
    for name in ordered(names):
        colour = _COLOURS.get(canonical(name))
        if colour is None or colour in chosen.values():
            colour = _SPARE_COLOURS[spare % len(_SPARE_COLOURS)]
            spare += 1
        chosen[name] = colour
    return chosen
