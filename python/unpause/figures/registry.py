"""The figures by name, and how a function becomes one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unpause.result import Result


@dataclass(frozen=True)
class Drawing:
    """A figure in the registry.

    Attributes:
        name: Such as ``pcn-f2``: what scenario files call it.
        title: What a report writes above it.
        function: Draws it from a result.
        place: Of a figure that is drawn for every result: its place among those.
    """

    name: str
    title: str
    function: Callable[[Result], Figure]
    place: int | None = None


#: Every figure by name.
FIGURES: dict[str, Drawing] = {}


def draws(name: str, title: str, place: int | None = None):
    """Register a function as the figure `name`; one with a `place` is drawn for every result.

    Raises:
        ValueError: there is another one of that name.
    """

    def register(function: Callable[[Result], Figure]) -> Callable[[Result], Figure]:
        if name in FIGURES:
            raise ValueError(f"figure {name} is there in {FIGURES[name].function.__module__}")
        FIGURES[name] = Drawing(name, title, function, place)
        return function

    return register
