"""The answer that a table gives: which row to take, at what price, and what decides.

A row is *beaten* if another is at least as good in every column that decides, and better in one.
What remains is the choice: one row, several that cannot be told apart, or a trade. Columns that
only say why or at what price (:attr:`unpause.sweeps.recorded.Kind.decides`) break ties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from unpause.pages.column import Column
from unpause.text import joined, listed

#: At most this many columns are named for a row.
_MOST_COLUMNS = 3
#: Columns about one thing; the second says more.
_VICTIMS = ("victim flows", "wait of victims")
#: More rows than this are counted, not named.
_MOST_NAMES = 4


@dataclass(frozen=True)
class Options:
    """Rows of a table among which one may choose.

    Attributes:
        columns: The table.
        names: What a sentence calls each row.
        rows: Those that are options.
        noun: What they are: "scheme", "value".
    """

    columns: Sequence[Column]
    names: Sequence[str]
    rows: Sequence[int]
    noun: str = "scheme"

    def of(self, rows: Sequence[int]) -> Options:
        """Only some of the rows."""
        return Options(self.columns, self.names, rows, self.noun)

    @property
    def deciding(self) -> list[Column]:
        """The columns by which one chooses."""
        return [column for column in self.columns if column.decides]

    def listed(self, rows: Sequence[int], last: str = "and") -> str:
        """The names of rows in a sentence."""
        if len(rows) <= _MOST_NAMES:
            return listed([self.names[i] for i in rows], last)
        more = len(rows) - _MOST_NAMES + 1
        first = [self.names[i] for i in rows[: _MOST_NAMES - 1]]
        return listed([*first, f"{more} more"], last)


@dataclass
class Choice:
    """What remains of :class:`Options`.

    Attributes:
        front: The rows that no other beats.
        beaten: The others.
        apart: The columns that tell rows of the front apart.
    """

    front: list[int]
    beaten: list[int]
    apart: list[Column] = field(default_factory=list)


def choose(options: Options) -> Choice:
    """The rows that no other beats."""
    rows = list(options.rows)
    for columns in (options.deciding, list(options.columns)):
        rows = [i for i in rows if not any(_beats(columns, j, i) for j in rows if j != i)]
    beaten = [i for i in options.rows if i not in rows]
    return Choice(rows, beaten, _apart(options.deciding, rows))


def _beats(columns: Sequence[Column], one: int, other: int) -> bool:
    better = any((one, other) in column.better for column in columns)
    return better and not any((one, other) in column.behind for column in columns)


def _apart(columns: Sequence[Column], rows: Sequence[int]) -> list[Column]:
    """The columns in which rows differ."""
    return [c for c in columns if any((i, j) in c.better for i in rows for j in rows)]


def sentences(options: Options) -> list[str]:
    """The answer in words."""
    if len(options.rows) < 2:
        return []
    found = choose(options)
    if not _apart(options.deciding, options.rows):
        return [*filter(None, [_no_difference(options), _uncertain(options)])]
    told = [*_trade(options, found)] if found.apart else [_take(options, found)]
    if uncertain := _uncertain(options):
        told.append(uncertain)
    return told


def short(options: Options) -> str:
    """The answer in a few words, such as "take A" or "choose between A and B (x against y)"."""
    if not _apart(options.deciding, options.rows):
        return f"nothing tells the {options.noun}s apart"
    found = choose(options)
    if not found.apart:
        return f"take {options.listed(found.front, 'or')}"
    columns = _unlike(_by_gap(found.apart, found.front))[:_MOST_COLUMNS]
    names = " against ".join(column.name for column in columns)
    return f"choose between {options.listed(found.front)} ({names})"


def is_sure(options: Options) -> bool:
    """Whether all numbers have seeds enough to tell noise."""
    return all(column.sure for column in options.columns)


def _no_difference(options: Options) -> str:
    every = options.listed(options.rows)
    aside = _apart([c for c in options.columns if not c.decides], options.rows)
    if aside:
        found = "; ".join(_values(options, column, options.rows) for column in aside[:2])
        return f"Nothing that decides tells {every} apart. They differ in {found}."
    within = " beyond noise" if is_sure(options) else ""
    return f"Nothing tells {every} apart{within}: take any of them."


def _take(options: Options, found: Choice) -> str:
    """Of one row, or several alike, that no other beats."""
    first = found.front[0]
    if len(found.front) == 1:
        text = f"Take {options.names[first]}: no {options.noun} is better in what decides."
    else:
        every = options.listed(found.front, "or")
        text = f"Take {every}: nothing that decides tells them apart, and no other is better."
    better = [
        column
        for column in _by_gap(options.deciding, options.rows)
        if any((i, j) in column.better for i in found.front for j in found.beaten)
    ]
    ahead = [c for c in better if not any((j, first) in c.better for j in options.rows)]
    parts = [_against(options, column, first) for column in _unlike(ahead)]
    if parts:
        text += f" {_capital(joined(parts[:_MOST_COLUMNS]))}."
    return f"{text}{_price(options, found)}"


def _against(options: Options, column: Column, first: int) -> str:
    """Such as "total wait 0 (others 2.74 to 2.98 ms)"."""
    others = [i for i in options.rows if (first, i) in column.better]
    best = column.text(first)
    return f"{column.name} {best} ({_span(options, column, others)})"


def _span(options: Options, column: Column, rows: Sequence[int]) -> str:
    """The numbers of several rows: of one with its name, of more from the least to the most."""
    if len(rows) == 1:
        return f"{options.names[rows[0]]} {column.text(rows[0])}"
    numbers = {i: column.means[i] for i in rows if not math.isnan(column.means[i])}
    known = sorted(numbers, key=numbers.__getitem__)
    if not known:
        return "others none"
    others = "others" if len(rows) == len(options.rows) - 1 else f"{len(rows)} others"
    return f"{others} {_range(column, known)}"


def _range(column: Column, rows: Sequence[int]) -> str:
    """The numbers of rows, least first, from the least to the most."""
    least, most = (column.cells[i].value for i in (rows[0], rows[-1]))
    if least == most:
        return column.text(rows[0])
    return f"{least.split(' to ')[0]} to {column.text(rows[-1]).rpartition(' to ')[2]}"


def _price(options: Options, found: Choice) -> str:
    """What the row costs in columns that do not decide."""
    first = found.front[0]
    aside = [c for c in options.columns if not c.decides]
    worse = [c for c in aside if any((i, first) in c.better for i in options.rows)]
    if len(found.front) > 1 or not worse:
        return ""
    column = _by_gap(worse, options.rows)[0]
    best = column.best(options.rows)[0]
    instead = f"{column.text(best)} with {options.names[best]}"
    return f" It costs: {column.name} {column.text(first)} instead of {instead}."


def _trade(options: Options, found: Choice) -> list[str]:
    """Several rows, each better than another in something."""
    front, names = found.front, options.listed(found.front)
    if not found.beaten and len(front) == 2:
        a, b = (options.names[i] for i in front)
        first = f"Neither {a} nor {b} beats the other in every column that decides."
    elif not found.beaten:
        first = f"None of {names} beats the others in every column that decides."
    else:
        rest = options.listed(found.beaten)
        verb = "is" if len(found.beaten) == 1 else "are each"
        first = f"Choose between {names}; {rest} {verb} beaten by one of them."
    columns = _unlike(_by_gap(found.apart, front))[:_MOST_COLUMNS]
    parts = []
    for column in columns:
        best = column.best(front)
        who = options.listed(best, "or")
        parts.append(f"for {column.name} take {who} ({_compared(options, column, best, front)})")
    return [first, f"{_capital('; '.join(parts))}."]


def _compared(options: Options, column: Column, best: Sequence[int], front: Sequence[int]) -> str:
    """The number of the best, and of the others of the front."""
    others = [i for i in front if i not in best]
    own = _range(column, sorted(best, key=column.means.__getitem__))
    return f"{own}; {_span(options, column, others)}"


def _values(options: Options, column: Column, rows: Sequence[int]) -> str:
    """Such as "longest queue: A 2.1 MB, B 3 MB"."""
    each = [f"{options.names[i]} {column.text(i)}" for i in rows[:_MOST_NAMES]]
    return f"{column.name}: {joined(each)}"


def _by_gap(columns: Sequence[Column], rows: Sequence[int]) -> list[Column]:
    """The columns in which the rows differ most first."""

    def gap(column: Column) -> float:
        pairs = [pair for pair in column.better if set(pair) <= set(rows)]
        return max((column.gap(*pair) for pair in pairs), default=0.0)

    return sorted(columns, key=gap, reverse=True)


def _unlike(columns: Sequence[Column]) -> list[Column]:
    """Without what says the same in another way: victims and their wait."""
    names = {column.name for column in columns}
    return [c for c in columns if c.name != _VICTIMS[0] or _VICTIMS[1] not in names]


def _uncertain(options: Options) -> str:
    """Of which columns only bounds are known."""
    names = [c.name for c in options.deciding if c.bounded.intersection(options.rows)]
    if not names:
        return ""
    more = " ([probes] causes = true counts them)" if {*_VICTIMS}.intersection(names) else ""
    return f"Bounds only: {listed(names)}{more}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
