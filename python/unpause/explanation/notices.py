"""Warnings of runs for people: grouped, and what is only worth knowing apart from what is amiss.

The rules are those by which ``unpause run`` groups them on the terminal, without the package, too
(``crates/unpause-cli/src/warnings.rs``): what several runs say is said once, with the swept values
and seeds at which they say it; of each kind and scheme the first three are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unpause.data.result import Result
from unpause.text import key_text, value_text

#: The most warnings of a kind and scheme that are shown.
_MOST_OF_A_KIND = 3
#: The most points that are named.
_MOST_POINTS = 4
#: File and line at the start of a message.
_PLACE = re.compile(r".*?:\d+: ")


@dataclass(frozen=True)
class Said:
    """A warning or a note of some runs.

    Attributes:
        where: The schemes, and at which points; empty if no run is named.
        message: What happened.
        help: What to do about it; may be empty.
        note: Whether it may be intended.
    """

    where: str
    message: str
    help: str = ""
    note: bool = False

    @property
    def sentence(self) -> str:
        """In one line."""
        remedy = f" ({self.help})" if self.help else ""
        text = f"{f'{self.where}: ' if self.where else ''}{self.message}{remedy}"
        return text if text.endswith(".") else f"{text}."

    @property
    def lines(self) -> list[str]:
        """As the terminal shows it."""
        word = "note" if self.note else "warning"
        where = f"{self.where}: " if self.where else ""
        told = [f"{word}: {where}{self.message}"]
        return [*told, f"   hint: {self.help}"] if self.help else told


@dataclass(frozen=True)
class Notices:
    """Warnings, behind them notes."""

    said: tuple[Said, ...] = ()

    @property
    def warnings(self) -> list[str]:
        """A sentence for each warning."""
        return [it.sentence for it in self.said if not it.note]

    @property
    def notes(self) -> list[str]:
        """A sentence for each note."""
        return [it.sentence for it in self.said if it.note]


@dataclass
class _Group:
    """What runs say alike: of one scheme at first, then of all that say it at the same points."""

    warning: Mapping[str, Any]
    #: What they have in common.
    message: str
    runs: list[int]
    schemes: list[str]
    who: str = ""
    at: str = ""


def of_result(result: Result) -> Notices:
    """The warnings of a result, with the swept values and seeds of their runs."""
    rows = [result.named(row) for row in result.runs.to_pylist()]
    warnings = result.manifest.get("warnings", [])
    return grouped(warnings, rows, result.axes, "see manifest.json")


def grouped(
    warnings: Iterable[Any], rows: Sequence[Mapping[str, Any]], axes: Sequence[str], rest: str
) -> Notices:
    """Warnings, those that say the same of several runs as one.

    Args:
        warnings: As in a manifest.
        rows: A row for each run, with `run`, `scheme`, `seed` and the swept values.
        axes: The columns of the swept values.
        rest: Where those are that are not shown.
    """
    plain = [Said("", str(it)) for it in warnings if not isinstance(it, Mapping)]
    points = _Points(rows, axes)
    every = _merged(_by_scheme(warnings), points)
    of_kind: dict[tuple[str, str], int] = {}
    for group in every:
        kind = _kind(group)
        of_kind[kind] = of_kind.get(kind, 0) + 1
    found, seen = plain, dict.fromkeys(of_kind, 0)
    for group in every:
        kind, note = _kind(group), _is_note(group.warning)
        seen[kind] += 1
        if seen[kind] <= _MOST_OF_A_KIND:
            found.append(
                Said(group.who + group.at, group.message, group.warning.get("help") or "", note)
            )
        elif seen[kind] == _MOST_OF_A_KIND + 1:
            more = f"{of_kind[kind] - _MOST_OF_A_KIND} more of kind {kind[1]}"
            found.append(Said(kind[0], f"{more}: {rest}", "", note))
    return Notices(tuple(sorted(found, key=lambda it: it.note)))


def _by_scheme(warnings: Iterable[Any]) -> list[_Group]:
    groups: dict[tuple[Any, ...], _Group] = {}
    for it in warnings:
        if not isinstance(it, Mapping):
            continue
        note, scheme = _is_note(it), it.get("scheme", "")
        message = str(it.get("message", ""))
        alike = (it.get("kind"), _begin(message)) if note else (message, it.get("help"))
        group = groups.setdefault((scheme, note, *alike), _Group(it, message, [], [scheme]))
        group.runs.append(it.get("run", -1))
        # Details of notes are each run's own.
        if group.message != message:
            group.message = _begin(message)
    return sorted(groups.values(), key=lambda group: _is_note(group.warning))


def _merged(groups: Iterable[_Group], points: _Points) -> list[_Group]:
    """What several schemes say at the same points as one."""
    found: dict[tuple[Any, ...], _Group] = {}
    for group in groups:
        it, group.at = group.warning, points.text(group.schemes[0], group.runs)
        key = _is_note(it), it.get("kind"), group.message, it.get("help"), group.at
        if key in found:
            found[key].schemes.append(group.schemes[0])
        else:
            found[key] = group
    for group in found.values():
        group.who = points.schemes(group.schemes)
    return list(found.values())


def _kind(group: _Group) -> tuple[str, str]:
    return group.who, str(group.warning.get("kind", ""))


def _begin(message: str) -> str:
    """What happened, behind the place in the file if there is one; the measurement follows."""
    behind = without_place(message)
    return message[: len(message) - len(behind)] + behind.partition(": ")[0]


def without_place(message: str) -> str:
    """A message without the file and the line that it may start with."""
    place = _PLACE.match(message)
    return message[place.end() :] if place else message


def _is_note(warning: Mapping[str, Any]) -> bool:
    return bool(warning.get("note"))


class _Points:
    """The runs by scheme, and how they are named."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> None:
        self._axes = list(axes)
        self._of: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            self._of.setdefault(row["scheme"], []).append(row)
        if len({row["seed"] for row in rows}) > 1 and "seed" not in self._axes:
            self._axes.append("seed")

    def schemes(self, names: Sequence[str]) -> str:
        """The schemes by name, those of all runs together."""
        if len(names) > 1 and set(names) >= set(self._of):
            return "all schemes"
        # A name may have a comma itself.
        return ("; " if any("," in name for name in names) else ", ").join(names)

    def text(self, scheme: str, runs: Sequence[int]) -> str:
        """Such as " at place=packed seed=1"; nothing if it is the scheme's only run."""
        every = self._of.get(scheme, [])
        if len(every) <= 1:
            return ""
        if len(runs) >= len(every):
            return f" in all {len(every)} runs"
        named = list(self._settings(every, set(runs)))
        more = f" and {len(named) - _MOST_POINTS} more" if len(named) > _MOST_POINTS else ""
        return f" at {', '.join(named[:_MOST_POINTS])}{more}" if named else ""

    def _settings(self, every: Sequence[Mapping[str, Any]], wanted: set[int]) -> Iterator[str]:
        """The settings of these runs, without the seed where all seeds are meant."""
        axes = [name for name in self._axes if name != "seed"]
        of: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
        for row in every:
            of.setdefault(tuple(row[name] for name in axes), []).append(row)
        for rows in of.values():
            meant = [row for row in rows if row["run"] in wanted]
            if axes and len(meant) == len(rows):
                yield _named(meant[0], axes)
            else:
                yield from (_named(row, self._axes) for row in meant)


def _named(row: Mapping[str, Any], axes: Iterable[str]) -> str:
    return " ".join(f"{key_text(name)}={value_text(name, row[name])}" for name in axes)
