"""One order, colour and line for each scheme, the same in every figure and table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
# Okabe and Ito's others, then of Paul Tol's muted palette what differs from them in lightness.
_SPARE_COLOURS = (
    "#0072B2",
    "#CC79A7",
    "#8C6D1F",
    "#7A4FBF",
    "#882255",
    "#B8C425",
    "#117733",
    "#A9A9A9",
    "#F4A6B7",
    "#000000",
)
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
_MARKERS = ("o", "s", "^", "D", "v", "P")

#: More schemes than this in one panel cannot be told apart.
MOST_TOGETHER = 10


@dataclass(frozen=True)
class Look:
    """How a scheme is drawn: no other one in the same figure has the same colour and line."""

    colour: str
    dash: str | tuple[int, tuple[int, ...]]
    marker: str


class TooMany(Exception):
    """There are more schemes than colours; the message is a sentence for the reader."""


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
    """Colour of each of `names`; a scheme of the paper has the same colour everywhere.

    Raises:
        TooMany: there are not as many colours.
    """
    chosen: dict[str, str] = {}
    spare = iter(_SPARE_COLOURS)
    for name in ordered(names):
        colour = _COLOURS.get(canonical(name))
        if colour is None or colour in chosen.values():
            colour = next(spare, None)
            if colour is None:
                raise TooMany(f"There are more schemes than the {len(chosen)} colours.")
        chosen[name] = colour
    return chosen


def looks(names: Sequence[str]) -> dict[str, Look]:
    """Colour, dashes and marker of each of `names`, of which no two are alike in both.

    Raises:
        TooMany: there are not as many colours.
    """
    colour = colours(names)
    return {
        name: Look(colour[name], _DASHES[i % len(_DASHES)], _MARKERS[i % len(_MARKERS)])
        for i, name in enumerate(colour)
    }


def together(names: Sequence[str]) -> list[list[str]]:
    """`names` in groups of at most :data:`MOST_TOGETHER`, of equal size if that can be."""
    names = ordered(names)
    groups = -(-len(names) // MOST_TOGETHER)
    size = -(-len(names) // max(1, groups))
    return [names[i : i + size] for i in range(0, len(names), size)]
