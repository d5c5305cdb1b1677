"""The figures by name, and how a function or an entry of a paper becomes one of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unpause.data.result import Result


@dataclass(frozen=True)
class Drawing:
    """A figure in the registry.

    Attributes:
        name: Such as ``pcn-f2``: what scenario files call it.
        title: What a report writes above it.
        function: Draws it from a result.
        place: Of a figure that is drawn for every result: its place among those.
        table: It is drawn only for results that have rows in this table.
    """

    name: str
    title: str
    function: Callable[[Result], Figure]
    place: float | None = None
    table: str | None = None


#: Every figure by name.
FIGURES: dict[str, Drawing] = {}
#: Kinds of figures for entries of papers: functions of a result and the keys of the entry.
KINDS: dict[str, Callable[..., Figure]] = {}


def draws(name: str, title: str, place: float | None = None, table: str | None = None):
    """Register a function as the figure `name`; one with a `place` is drawn for every result.

    With a `table`, for every result that has rows in it.

    Raises:
        ValueError: there is another one of that name.
    """

    def register(function: Callable[[Result], Figure]) -> Callable[[Result], Figure]:
        if name in FIGURES:
            raise ValueError(f"there are two figures {name}")
        FIGURES[name] = Drawing(name, title, function, place, table)
        return function

    return register


def kind(name: str):
    """Register a function as a kind of figure; papers' entries have its keyword arguments."""

    def register(function: Callable[..., Figure]) -> Callable[..., Figure]:
        KINDS[name] = function
        return function

    return register


def add(entry: Mapping[str, Any]) -> None:
    """Register the figure that a ``[[figure]]`` of a ``paper.toml`` states.

    Raises:
        ValueError: there is no such kind, or it takes other keys.
    """
    stated = dict(entry)
    try:
        name, title, of_kind = (stated.pop(key) for key in ("name", "title", "kind"))
        function = KINDS[of_kind]
        inspect.signature(function).bind(None, **stated)
    except KeyError as error:
        named = entry.get("name", "without a name")
        raise ValueError(f"figure {named}: no {error} (kinds: {', '.join(KINDS)})") from None
    except TypeError as error:
        raise ValueError(f"figure {name} of kind {of_kind}: {error}") from None
    draws(name, title)(partial(function, **stated))
