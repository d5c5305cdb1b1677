"""Rows of the overview, which of them compete, and the answer to what they compete for.

Schemes, values of a key and results are options; traffic and the fabric are given
(:mod:`unpause.data.workload`). Rows compete where everything given is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unpause.pages import answer
from unpause.pages.answer import Options
from unpause.pages.column import MOST_COMPARED, Column
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Group
from unpause.text import joined, key_text, listed, percent, value_text

#: First words of answers that are no names.
_OPENINGS = ("At", "Choose", "Everywhere:", "Neither", "None", "Nothing", "Take", "Values")
#: Stands for all values of a key that changes nothing.
ANY = "any"
#: The axis of a comparison of results.
RESULT = "result"
#: At most this many schemes, or points, have a verdict of their own.
_MOST_VERDICTS = 3


@dataclass(frozen=True)
class Row:
    """A row of the overview.

    Attributes:
        group: Its runs.
        values: Of each axis; :data:`ANY` where the row is about all values.
    """

    group: Group
    values: tuple[Any, ...]

    @property
    def scheme(self) -> str:
        """The scheme that it is about."""
        return self.group.scheme


@dataclass
class Rows:
    """The rows of a table.

    Attributes:
        axes: Keys that are swept, and :data:`RESULT`.
        given: Those of them that say what traffic and fabric are.
        rows: From top to bottom.
        unlike: By scheme or result how its traffic differs from that of the first one.
        unchanged: By axis the schemes that it does not change.
    """

    axes: list[str]
    given: set[str]
    rows: list[Row]
    unlike: Mapping[str, str] = field(default_factory=dict)
    unchanged: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for at, axis in enumerate(self.axes):
            self._merge(at, axis)

    def _merge(self, at: int, axis: str) -> None:
        """Makes one row of those of a scheme that an axis does not change."""
        for scheme in dict.fromkeys(row.scheme for row in self.rows):
            points: dict[tuple[Any, ...], list[Row]] = {}
            for row in self.rows:
                if row.scheme == scheme:
                    others = row.values[:at] + row.values[at + 1 :]
                    points.setdefault(others, []).append(row)
            if not all(len(each) > 1 and _are_same(each) for each in points.values()):
                continue
            merged = {
                id(each[0]): replace(each[0], values=(*other[:at], ANY, *other[at:]))
                for other, each in points.items()
            }
            self.rows = [
                merged.get(id(row), row)
                for row in self.rows
                if row.scheme != scheme or id(row) in merged
            ]
            self.unchanged.setdefault(axis, []).append(scheme)

    def texts(self, row: Row) -> tuple[str, ...]:
        """What a row is about, in the columns of its names."""
        each = zip(self.axes, row.values, strict=True)
        every = {RESULT: "all"}
        texts = (every.get(a, ANY) if v is ANY else value_text(a, v) for a, v in each)
        return (row.scheme, *texts)

    @property
    def sets(self) -> list[list[int]]:
        """The rows that compete with each other; none where the traffic is not the same."""
        return [] if self.unlike else list(self.by_given.values())

    @property
    def by_given(self) -> dict[tuple[Any, ...], list[int]]:
        """The rows at each combination of what is given."""
        at = [i for i, axis in enumerate(self.axes) if axis in self.given]
        points = list(dict.fromkeys(tuple(row.values[i] for i in at) for row in self.rows))
        return {
            point: [
                i
                for i, row in enumerate(self.rows)
                if all(
                    row.values[axis] in (value, ANY) for axis, value in zip(at, point, strict=True)
                )
            ]
            for point in points
            if ANY not in point or len(points) == 1
        }

    def names(self, rows: Sequence[int]) -> list[str]:
        """What sentences call each row, beside those that are `rows`."""
        several = len({self.rows[i].scheme for i in rows}) > 1
        return [self._name(row, several) for row in self.rows]

    def name_of(self, row: Row) -> str:
        """What a sentence about the whole table calls a row."""
        return self._name(row, True)

    def _name(self, row: Row, with_scheme: bool) -> str:
        told = []
        for axis, value in zip(self.axes, row.values, strict=True):
            if axis in self.given or value is ANY:
                continue
            word = "" if axis == RESULT else f"{_word(axis)} "
            told.append(f"{word}{value_text(axis, value)}")
        if not told:
            return row.scheme
        return f"{row.scheme} with {listed(told)}" if with_scheme else " and ".join(told)

    def point(self, given: tuple[Any, ...]) -> str:
        """What is given, in words."""
        axes = [axis for axis in self.axes if axis in self.given]
        each = zip(axes, given, strict=True)
        return ", ".join(f"{_word(axis)} {value_text(axis, value)}" for axis, value in each)


def _word(axis: str) -> str:
    return key_text(axis.rpartition(".")[2])


def _are_same(rows: Sequence[Row]) -> bool:
    """Whether rows have the same numbers, seed by seed."""
    return all(_numbers(row.group) == _numbers(rows[0].group) for row in rows[1:])


def _numbers(group: Group) -> dict[int, list[Any]]:
    names = [each.name for each in recorded.STATISTICS]
    names += sorted(name for row in group.rows[:1] for name in row if name.startswith("job."))
    return {row["seed"]: [row.get(name) for name in names] for row in group.rows}


def sentences(rows: Rows, columns: Sequence[Column]) -> list[str]:
    """The answer that a table gives, and what it rests on."""
    if len(rows.rows) < 2:
        return []
    if rows.unlike:
        return [
            f"No comparison: {joined(rows.unlike)} "
            f"{'has' if len(rows.unlike) == 1 else 'have'} other traffic "
            f"({'; '.join(dict.fromkeys(rows.unlike.values()))})."
        ]
    every = rows.by_given
    if any(len(each) > MOST_COMPARED for each in every.values()):
        return [f"More than {MOST_COMPARED} rows are not compared with each other: see the figure."]
    told = [f"{joined(who)}: {_changes_nothing(axis)}." for axis, who in rows.unchanged.items()]
    if len(every) == 1:
        [each] = every.values()
        found = [*_of_values(rows, columns, each), *_of_all(rows, columns, each)]
    else:
        found = _of_points(rows, columns, every)
    if found and (why := _doubt(rows, columns, every.values())):
        first, *rest = found[0].split(" ")
        # Names keep their capital.
        word = first.lower() if first in _OPENINGS else first
        found[0] = f"{why}, {' '.join([word, *rest])}"
    return [*found, *told, *_not_done(rows)]


def _doubt(rows: Rows, columns: Sequence[Column], every: Iterable[Sequence[int]]) -> str:
    """Why the answer may be chance; empty if it is not."""
    if not all(column.sure for column in columns):
        return "By one seed (noise unknown)"
    if all(answer.is_proven(_options(rows, columns, each)) for each in every):
        return ""
    seeds = min(len(row.group.rows) for row in rows.rows)
    return f"By {seeds} seeds (noise not ruled out)"


def _changes_nothing(axis: str) -> str:
    return "the same in all results" if axis == RESULT else f"{_word(axis)} changes nothing"


def _options(rows: Rows, columns: Sequence[Column], each: Sequence[int]) -> Options:
    several = len({rows.rows[i].scheme for i in each}) > 1
    return Options(columns, rows.names(each), each, "scheme" if several else "value")


def _of_all(rows: Rows, columns: Sequence[Column], each: Sequence[int]) -> list[str]:
    return answer.sentences(_options(rows, columns, each))


def _of_values(rows: Rows, columns: Sequence[Column], each: Sequence[int]) -> list[str]:
    """Of several schemes with several values each, which value to take."""
    schemes = dict.fromkeys(rows.rows[i].scheme for i in each)
    if len(schemes) < 2:
        return []
    found = []
    for scheme in schemes:
        own = [i for i in each if rows.rows[i].scheme == scheme]
        if len(own) > 1:
            verdict = answer.short(_options(rows, columns, own))
            found.append(f"{scheme}: {verdict}.")
    return found[:_MOST_VERDICTS]


def _of_points(
    rows: Rows, columns: Sequence[Column], every: Mapping[tuple[Any, ...], Sequence[int]]
) -> list[str]:
    """At which points of what is given which row is the one to take."""
    verdicts: dict[str, list[str]] = {}
    for point, each in every.items():
        if len(each) > 1:
            verdict = answer.short(_options(rows, columns, each))
            verdicts.setdefault(verdict, []).append(rows.point(point))
    if not verdicts:
        axes = ", ".join(_word(axis) for axis in rows.axes if axis in rows.given)
        return [f"Values of {axes} are not options: they change what the network has to do."]
    first = list(verdicts.items())[:_MOST_VERDICTS]
    parts = [f"at {listed(at)} {verdict}" for verdict, at in first]
    if len(verdicts) == 1:
        return [f"Everywhere: {next(iter(verdicts))}."]
    more = len(verdicts) - len(parts)
    rest = f"; {more} more verdicts in the table" if more else ""
    text = f"{'; '.join(parts)}{rest}."
    return [text[:1].upper() + text[1:]]


def _not_done(rows: Rows) -> list[str]:
    """Which rows have flows, or jobs with iterations, that did not finish."""
    return [
        *_unfinished(rows, "flows", recorded.FLOWS_DONE),
        *_unfinished(rows, "iterations", recorded.ITERATIONS_DONE),
    ]


def _unfinished(rows: Rows, what: str, columns: tuple[str, str]) -> list[str]:
    shares: dict[str, float] = {}
    for row in rows.rows:
        done, due = (sum(each.get(name) or 0 for each in row.group.rows) for name in columns)
        if due > done:
            shares[rows.name_of(row)] = 100 * (due - done) / due
    if not shares:
        return []
    first = list(shares)[:_MOST_VERDICTS]
    more = len(shares) - len(first)
    who = listed([*first, f"{more} more"]) if more else listed(first)
    least, most = (percent(end(shares.values())) for end in (min, max))
    some = most if least == most else f"{least.removesuffix(' %')} to {most}"
    return [f"Not finished: {some} of the {what} under {who}; a longer duration says more."]
