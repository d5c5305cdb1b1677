"""A column of the overview: its cells, which row is better than which, and the marks.

A row is better than another if the two differ beyond noise, by
:func:`unpause.statistics.intervals.difference` at 5 %, by at least 2 %, and in what is printed.
With one seed noise is unknown; then 2 % are enough for :mod:`unpause.pages.answer`, which says so,
and nothing is marked. There, it is also enough if the seeds of the two do not overlap: of three
seeds a t-test does not tell 0, 0 and 0 from 26, 120 and 204. A lower bound is known to be above
what it exceeds, and no more.

In a column a row is marked as best if none is better and one is worse, and all with a better mean
are; as worst the other way round. An interval that holds the best of another row, or the worst, is
not marked, nor what another column paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from unpause import text
from unpause.statistics.intervals import Interval, is_range, mean_interval
from unpause.sweeps.grouped import NOT_RECORDED, Group
from unpause.sweeps.recorded import Kind, Measure

#: With more rows none is marked.
MOST_COMPARED = 60
#: Means that differ by less of the larger one are as good as each other, and an interval that is
#: narrower is not written.
_LEAST_APART = 0.02


@dataclass(frozen=True)
class Cell:
    """A number as text.

    Attributes:
        value: The mean, or "5.5 to 18.5"; "-" if there is none.
        half: Half of its 95 % interval, empty if that is next to nothing.
        mark: "*" for the best, "!" for the worst, else empty.
    """

    value: str
    half: str = ""
    mark: str = ""


@dataclass
class Column:
    """A column, from top to bottom.

    Attributes:
        head: Two lines, and the unit.
        name: What a sentence calls it.
        cells: What is printed.
        means: The numbers behind it, NaN if there is none.
        decides: Whether one chooses by it.
        less_is_better: Whether the least is the best.
        unfinished: Whether a row without a number did not finish, and is worse than any.
        better: Pairs of rows, the first of which is better than the second.
        behind: Pairs of rows, the first of which is worse than the second, or may be.
        leads: The same, and pairs whose seeds do not overlap although chance is not ruled out.
        bounded: Rows whose number is a bound only.
        sure: Whether all rows have seeds enough to tell noise.
    """

    head: tuple[str, str, str]
    name: str
    cells: list[Cell]
    means: list[float]
    decides: bool = True
    less_is_better: bool = True
    unfinished: bool = False
    better: set[tuple[int, int]] = field(default_factory=set)
    behind: set[tuple[int, int]] = field(default_factory=set)
    leads: set[tuple[int, int]] = field(default_factory=set)
    bounded: set[int] = field(default_factory=set)
    sure: bool = True

    def text(self, row: int) -> str:
        """A number with its unit."""
        value = self.cells[row].value
        if value == "-" and self.unfinished:
            return "not finished"
        return (
            value if value in ("0", "-", "?", NOT_RECORDED) else f"{value} {self.head[2]}".strip()
        )

    def is_behind(self, one: int, other: int) -> bool:
        """Whether a row is worse than another, or may be."""
        return (one, other) in self.behind or (other, one) in self.leads

    def best(self, rows: Sequence[int]) -> list[int]:
        """Those of `rows` that none of them is better than, without bounds if it can be."""
        found = [i for i in rows if not any((j, i) in self.leads for j in rows)]
        numbers = [i for i in found if not math.isnan(self.means[i])] or found
        return [i for i in numbers if i not in self.bounded] or numbers

    def behind_best(self, row: int, rows: Sequence[int]) -> float:
        """By which part of the best of `rows` a row is worse; infinite where that is not known."""
        numbers = {i: self.means[i] for i in rows if not math.isnan(self.means[i])}
        if row in self.bounded or row not in numbers:
            return math.inf
        best = (min if self.less_is_better else max)(numbers.values())
        # A bound below it may be any number above that bound.
        unsure = {*self.bounded}.intersection(i for i in numbers if numbers[i] == best)
        if not unsure and not any((i, row) in self.leads for i in rows):
            return 0.0
        return abs(numbers[row] - best) / best if best else (math.inf if numbers[row] else 0.0)

    def gap(self, one: int, other: int) -> float:
        """By which part of the larger two rows differ; 1 if one has no number."""
        a, b = self.means[one], self.means[other]
        if math.isnan(a) or math.isnan(b):
            return 1.0
        return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0


def of(kind: Kind, groups: Sequence[Group], sets: Sequence[Sequence[int]]) -> Column:
    """The column of `kind`; only the rows of one of `sets` are compared with each other."""
    measure = Measure("", kind.of, str, kind.unit)
    values = [list(group.by_seed(measure).values()) for group in groups]
    intervals = [mean_interval(it) for it in values]
    known = [abs(it.mean) for it in intervals if not math.isnan(it.mean)]
    factor, unit = kind.unit(max(known, default=0.0))
    bounds = [_bound(kind, group) for group in groups]
    cells = [
        _cell(group, kind, interval, numbers, bound, factor)
        for group, interval, numbers, bound in zip(groups, intervals, values, bounds, strict=True)
    ]
    means = [interval.mean for interval in intervals]
    name = kind.spoken or " ".join(filter(None, kind.head))
    decides = kind.decides([row for group in groups for row in group.rows])
    column = Column(
        (*kind.head, unit),
        name,
        cells,
        means,
        decides,
        kind.less_is_better,
        kind.missing_is_worst,
    )
    if not kind.bounds_count:
        column.bounded = {i for i, bound in enumerate(bounds) if bound}
    marks: dict[int, set[str]] = {}
    for rows in sets:
        if not 2 <= len(rows) <= MOST_COMPARED:
            continue
        measured = [row for i in rows for row in groups[i].rows if kind.of(row) is not None]
        if len({kind.about(row) for row in measured}) > 1:
            continue
        _relate(column, kind, groups, measure, rows)
        here = dict(_marks(column, kind, groups, intervals, rows))
        for i in rows:
            marks.setdefault(i, set()).add(here.get(i, ""))
    for i, found in marks.items():
        if len(found) == 1:
            column.cells[i] = Cell(cells[i].value, cells[i].half, found.pop())
    return column


def _bound(kind: Kind, group: Group) -> str:
    return kind.bound([row for row in group.rows if kind.of(row) is not None])


def _cell(
    group: Group,
    kind: Kind,
    interval: Interval,
    values: Sequence[float],
    bound: str,
    factor: float,
) -> Cell:
    if math.isnan(interval.mean):
        return Cell("-" if group.records(kind.needs) else NOT_RECORDED)
    if bound in (">=", "≥") and not interval.mean:
        return Cell("?")  # At least none says nothing.
    if not bound and is_range(values):
        return Cell(text.digits_range(min(values) / factor, max(values) / factor))
    half = ""
    if not bound and interval.count > 1 and interval.half > _LEAST_APART * abs(interval.mean):
        half = f"±{text.digits(interval.half / factor, 2)}"
    return Cell(bound + text.digits(interval.mean / factor), half)


def _relate(
    column: Column, kind: Kind, groups: Sequence[Group], measure: Measure, rows: Sequence[int]
) -> None:
    """Notes which row is better than which, and where that is not known."""
    sign = 1 if kind.less_is_better else -1

    def larger(one: int, other: int) -> bool:
        """Whether the number of a row is known to be above that of another."""
        a, b = column.means[one], column.means[other]
        if other in column.bounded or a - b < _LEAST_APART * max(abs(a), abs(b)) or a == b:
            return False
        if column.cells[one].value == column.cells[other].value:
            return False
        difference = groups[one].against(groups[other], measure)
        if difference is None or not difference.known:
            column.sure = False
            return True
        return not difference.noise

    for one in rows:
        for other in rows:
            if one == other:
                continue
            a, b = column.means[one], column.means[other]
            if math.isnan(a) or math.isnan(b):
                # No number at all: worse than any where that counts, else nothing is known.
                if kind.missing_is_worst and math.isnan(b) and not math.isnan(a):
                    column.better.add((one, other))
                    column.behind.add((other, one))
            elif larger(other, one) if sign > 0 else larger(one, other):
                column.better.add((one, other))
                column.behind.add((other, one))
            elif _may_be_behind(column, sign, one, other):
                column.behind.add((one, other))
            elif _is_apart(column, groups[one], groups[other], measure, sign, (one, other)):
                column.leads.add((one, other))
    column.leads |= column.better


def _is_apart(
    column: Column, ours: Group, theirs: Group, measure: Measure, sign: int, pair: tuple[int, int]
) -> bool:
    """Whether each seed of a row is at least as good as all of another, and the mean better."""
    a, b = ([sign * value for value in group.by_seed(measure).values()] for group in (ours, theirs))
    return column.gap(*pair) >= _LEAST_APART and min(len(a), len(b)) > 1 and max(a) <= min(b)


def _may_be_behind(column: Column, sign: int, one: int, other: int) -> bool:
    """Whether a row may be worse than another because one of the two is a lower bound."""
    higher, lower = (one, other) if sign > 0 else (other, one)
    # What would have to be the larger number for `one` to be behind.
    if higher in column.bounded:
        return True
    ahead = column.means[higher] > column.means[lower] and column.gap(one, other) >= _LEAST_APART
    return lower in column.bounded and ahead


def _marks(
    column: Column,
    kind: Kind,
    groups: Sequence[Group],
    intervals: Sequence[Interval],
    rows: Sequence[int],
) -> list[tuple[int, str]]:
    known = [i for i in rows if not math.isnan(column.means[i])]
    if len(known) < 2 or any(len(groups[i].rows) < 2 for i in known):
        return []
    sign = 1 if kind.less_is_better else -1
    found = []
    # Starting with the worst and with the best, until the first gap.
    for mark, order in (("!", -sign), ("*", sign)):
        if mark == "!" and kind.missing_is_worst and len(known) < len(rows):
            continue
        for one in sorted(known, key=lambda i: order * column.means[i]):
            pairs = [(one, other) if mark == "*" else (other, one) for other in known]
            # Another may be further out, of which only a bound is known.
            if any(pair in column.behind for pair in pairs):
                break
            if not any(pair in column.better for pair in pairs):
                break
            if any(_holds(column, intervals, one, other, order) for other in known):
                continue
            if mark == "!" or kind.earned(groups[one].rows):
                found.append((one, mark))
    return found


def _holds(column: Column, intervals: Sequence[Interval], one: int, other: int, order: int) -> bool:
    """Whether the interval of a row holds the mean of another that is further out than its own."""
    a, b = column.means[one], column.means[other]
    if order * (a - b) <= 0 or column.gap(one, other) < _LEAST_APART:
        return False
    return abs(a - b) <= intervals[one].half
