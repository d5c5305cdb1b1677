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
from unpause.text import joined, listed, percent

#: At most this many columns are named for a row.
_MOST_COLUMNS = 3
#: A row that is further behind the best in some column is no compromise.
_MOST_BEHIND = 1 / 3
#: Rows that are up to so many times as far behind as the nearest one are as near.
_AS_NEAR = 1.5
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
    better = any((one, other) in column.leads for column in columns)
    return better and not any(column.is_behind(one, other) for column in columns)


def _apart(columns: Sequence[Column], rows: Sequence[int]) -> list[Column]:
    """The columns in which rows differ."""
    return [c for c in columns if any((i, j) in c.leads for i in rows for j in rows)]


def sentences(options: Options) -> list[str]:
    """The answer in words."""
    if len(options.rows) < 2:
        return []
    found = choose(options)
    if not _apart(options.deciding, options.rows):
        return [*filter(None, [_no_difference(options), _uncertain(options)])]
    if not found.apart:
        told = [_take(options, found)]
    elif alone := _leads(found):
        told = [_take_as_known(options, found, alone)]
    elif near := _near_all(options, found):
        told = _compromise(options, found, *near)
    else:
        told = _trade(options, found)
    if uncertain := _uncertain(options):
        told.append(uncertain)
    return told


def short(options: Options) -> str:
    """The answer in a few words, such as "take A" or "choose between A and B (x against y)"."""
    if not _apart(options.deciding, options.rows):
        return f"nothing tells the {options.noun}s apart"
    found = choose(options)
    if not found.apart:
        ahead = _unlike(_columns_ahead(options, options.deciding, found.front))[:_MOST_COLUMNS]
        why = f" for {listed([column.name for column in ahead])}" if ahead else ""
        return f"take {options.listed(found.front, 'or')}{why}"
    if alone := _leads(found):
        return f"take {options.listed(alone, 'or')} as far as is known"
    if near := _near_all(options, found):
        rows, part = near
        return f"take {options.listed(rows, 'or')} (at most {_part(part)} behind the best)"
    columns = _unlike(_by_gap(found.apart, found.front))[:_MOST_COLUMNS]
    names = " against ".join(column.name for column in columns)
    return f"choose between {options.listed(found.front)} ({names})"


def is_proven(options: Options) -> bool:
    """Whether what tells the rows apart is beyond noise."""
    return all(
        pair in column.better
        for column in options.deciding
        for pair in column.leads
        if set(pair) <= set(options.rows)
    )


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
        for column in options.deciding
        if any((i, j) in column.leads for i in found.front for j in found.beaten)
    ]
    if parts := _ahead(options, better, [first]):
        text += f" {_capital(joined(parts))}."
    return f"{text}{_price(options, found)}"


def _leads(found: Choice) -> list[int]:
    """The rows of the front that are the best in all by which it differs; bounds may hide more."""
    best = [column.best(found.front) for column in found.apart]
    return [i for i in found.front if all(i in each for each in best)]


def _take_as_known(options: Options, found: Choice, rows: Sequence[int]) -> str:
    """Of what no known number speaks against."""
    text = f"Take {options.listed(rows, 'or')} as far as is known"
    parts = _ahead(options, found.apart, rows)
    return f"{text}: {joined(parts)}."


def _ahead(options: Options, columns: Sequence[Column], rows: Sequence[int]) -> list[str]:
    """The columns in which `rows` are ahead of the others, with numbers."""
    ahead = _unlike(_columns_ahead(options, columns, rows))
    return [_against(options, column, rows) for column in ahead[:_MOST_COLUMNS]]


def _columns_ahead(
    options: Options, columns: Sequence[Column], rows: Sequence[int]
) -> list[Column]:
    """The columns in which no other row is better than one of `rows`, and each of them than one."""
    others = [i for i in options.rows if i not in rows]
    return [
        column
        for column in _by_gap(columns, options.rows)
        if not any((j, i) in column.leads for i in rows for j in others)
        and all(any((i, j) in column.leads for j in others) for i in rows)
    ]


def _near_all(options: Options, found: Choice) -> tuple[list[int], float] | None:
    """The rows that are not far behind the best anywhere, and how far the last of them is."""
    # Where each number is a bound nothing can be said.
    columns = [c for c in options.deciding if not c.bounded.issuperset(options.rows)]
    behind = {i: max(c.behind_best(i, options.rows) for c in columns) for i in found.front}
    least = min(behind.values())
    if least > _MOST_BEHIND:
        return None
    rows = [i for i in found.front if behind[i] <= _AS_NEAR * least]
    return (rows, max(behind[i] for i in rows)) if len(rows) < len(found.front) else None


def _compromise(options: Options, found: Choice, rows: list[int], part: float) -> list[str]:
    """Of rows that are near the best everywhere, and where others are better."""
    ahead = _ahead(options, found.apart, rows)
    where = "the rest" if ahead else "every column that decides"
    why = joined([*ahead, f"at most {_part(part)} behind the best in {where}"])
    told = [f"Take {options.listed(rows, 'or')}: {why}."]
    others = [c for c in found.apart if not {*rows}.intersection(c.best(found.front))]
    parts = []
    for column in _unlike(_by_gap(others, found.front))[:_MOST_COLUMNS]:
        best = column.best(found.front)
        compared = _compared(options, column, best, [*best, *rows])
        who = options.listed(best, "or")
        parts.append(f"for {column.name} alone take {who} ({compared})")
    return [*told, f"{_capital('; '.join(parts))}."] if parts else told


def _part(part: float) -> str:
    """A part in percent, rounded up."""
    number = round(100 * part, 6)
    return percent(math.ceil(number) if number >= 10 else math.ceil(round(10 * number, 6)) / 10)


def _against(options: Options, column: Column, rows: Sequence[int]) -> str:
    """Such as "total wait 0 (others 2.74 to 2.98 ms)"."""
    others = [i for i in options.rows if i not in rows]
    others = [j for j in others if any((i, j) in column.leads for i in rows)]
    own = _range(column, sorted(rows, key=column.means.__getitem__))
    return f"{column.name} {own} ({_span(options, column, others, len(rows))})"


def _span(options: Options, column: Column, rows: Sequence[int], apart: int = 1) -> str:
    """The numbers of several rows: of one with its name, of more from the least to the most.

    They are "others" if they are all options but `apart`, which stand before.
    """
    if len(rows) == 1:
        return f"{options.names[rows[0]]} {column.text(rows[0])}"
    numbers = {i: column.means[i] for i in rows if not math.isnan(column.means[i])}
    known = sorted(numbers, key=numbers.__getitem__)
    others = "others" if len(rows) == len(options.rows) - apart else f"{len(rows)} others"
    parts = [_range(column, known)] if known else []
    if len(known) < len(rows):
        parts.append("not finished" if column.unfinished else "not known")
    return f"{others} {' or '.join(parts)}"


def _range(column: Column, rows: Sequence[int]) -> str:
    """The numbers of rows, least first, from the least to the most."""
    least, most = (column.cells[i].value for i in (rows[0], rows[-1]))
    if least == most:
        return column.text(rows[0])
    return f"{least.split(' to ')[0]} to {column.text(rows[-1]).rpartition(' to ')[2]}"


def _price(options: Options, found: Choice) -> str:
    """What the row costs in columns that do not decide."""
    first = found.front[0]
    # More use of a link is no gain where it does not decide.
    aside = [c for c in options.columns if not c.decides and c.less_is_better]
    worse = [c for c in aside if any((i, first) in c.leads for i in options.rows)]
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
    return f"{own}; {_span(options, column, others, len(best))}"


def _values(options: Options, column: Column, rows: Sequence[int]) -> str:
    """Such as "longest queue: A 2.1 MB, B 3 MB"."""
    each = [f"{options.names[i]} {column.text(i)}" for i in rows[:_MOST_NAMES]]
    return f"{column.name}: {joined(each)}"


def _by_gap(columns: Sequence[Column], rows: Sequence[int]) -> list[Column]:
    """The columns in which the rows differ most first."""

    def gap(column: Column) -> float:
        pairs = [pair for pair in column.leads if set(pair) <= set(rows)]
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
    more = " ([probes] causes = true counts victims)" if {*_VICTIMS}.intersection(names) else ""
    return f"Bounds only: {listed(names)}{more}."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
