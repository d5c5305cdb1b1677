"""Tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from unpause import printed
from unpause.pages.overview import Cell, Overview
from unpause.pages.summary import Summary
from unpause.text import plural


def table(summary: Summary, columns: int) -> str:
    """An aligned table at most `columns` wide, first and left as names, the rest as numbers.

    What has no room goes into a second table below, and so on, under the same names. Numbers that
    differ from the first scheme's by chance only stand in brackets.
    """
    if not summary.rows:
        return ""
    rows = [_marked(row, noise) for row, noise in _with_noise(summary)]
    names = _names(summary)
    wide = [
        max(_wide(text) for text in (head, *(row[i] for row in rows)))
        for i, head in enumerate(summary.heads)
    ]
    left = sum(w + 2 for w in wide[:names])
    blocks: list[list[int]] = [[]]
    room = columns - left
    for i in range(names, len(summary.heads)):
        if blocks[-1] and room < wide[i] + 2:
            blocks.append([])
            room = columns - left
        blocks[-1].append(i)
        room -= wide[i] + 2
    return "\n\n".join(_block(summary.heads, rows, wide, names, block) for block in blocks)


def overview(found: Overview, columns: int, most_rows: int = 40, whole: bool = False) -> str:
    """The overview of runs, at most `columns` wide: its table, the answer, what marks mean.

    Of columns that only say why or at what price, those without room are left out. With `whole` all
    are there, in tables one below the other, and every line of the overview. A scheme that is alone
    needs no answer, but its lines.
    """
    rows = found.rows[:most_rows]
    names = _aligned([tuple(found.name_heads), *found.names[:most_rows]], columns // 2)
    left = _wide(names[0])
    wide = [_column_width(found, rows, i) for i in range(len(found.heads))]
    shown = list(range(len(wide)))
    while not whole and left + sum(wide[i] + 2 for i in shown) > columns:
        aside = [i for i in shown if found.aside[i]]
        if not aside:
            break
        shown.remove(aside[-1])
    blocks: list[list[int]] = [[]]
    room = columns - left
    for i in shown:
        if blocks[-1] and room < wide[i] + 2:
            blocks.append([])
            room = columns - left
        blocks[-1].append(i)
        room -= wide[i] + 2
    tables = [_overview_block(found, rows, names, left, wide, block) for block in blocks]
    parts = ["\n\n".join(tables) if rows and shown else ""]
    if len(found.rows) > len(rows):
        parts.append(f"... {plural(len(found.rows) - len(rows), 'more row')}: in the report")
    if found.legend:
        parts.append(printed.wrapped(found.legend, columns))
    lines = [" ".join(found.answer)]
    if whole or not found.answer:
        lines += found.told
    if whole:
        lines += [*found.notes, found.scope]
    below = [printed.wrapped(line, columns) for line in lines if line]
    # What one reads first stands apart.
    return "\n".join([*filter(None, parts), *[""] * bool(found.answer), *below])


def _aligned(names: Sequence[tuple[str, ...]], most: int) -> list[str]:
    """Names in columns, together at most `most` characters wide."""
    wide = [max(map(_wide, column)) for column in zip(*names, strict=True)]
    each = max(3, (most - 2 * len(wide)) // len(wide))
    if sum(wide) + 2 * (len(wide) - 1) > most:
        wide = [min(width, each) for width in wide]
    rows = [
        "  ".join(_pad(_cut(name, to), to, right=at > 0) for at, (name, to) in
                  enumerate(zip(row, wide, strict=True)))
        for row in names
    ]  # fmt: skip
    return rows


def _cut(name: str, most: int) -> str:
    return name if _wide(name) <= most else name[: max(0, most - 3)] + "..."


def _column_width(found: Overview, rows: Sequence[Sequence[Cell]], column: int) -> int:
    """Width of a column; marks have two characters of their own behind the numbers."""
    cells = [row[column] for row in rows]
    marks = 2 * any(cell.mark for cell in cells)
    numbers = max((_wide(text) for cell in cells for text in (cell.value, cell.half)), default=0)
    return max(*map(_wide, found.heads[column]), numbers + marks)


def _overview_block(
    found: Overview,
    rows: Sequence[Sequence[Cell]],
    names: Sequence[str],
    left: int,
    wide: Sequence[int],
    block: Sequence[int],
) -> str:
    marked = [any(row[i].mark for row in rows) for i in range(len(found.heads))]

    def line(name: str, cells: Sequence[str]) -> str:
        return "  ".join([_pad(name, left, right=False), *cells]).rstrip()

    def number(i: int, text: str, mark: str = "") -> str:
        with_mark = f"{text} {mark or ' '}" if marked[i] else text
        return _coloured(_pad(with_mark, wide[i], right=True), mark)

    lines = []
    for part, name in enumerate(("", "", names[0])):
        heads = [_pad(found.heads[i][part], wide[i], right=True) for i in block]
        lines.append(line(name, heads))
    lines.append("─" * max(map(_wide, lines)))
    for name, row in zip(names[1:], rows, strict=True):
        lines.append(line(name, [number(i, row[i].value, row[i].mark) for i in block]))
        if any(row[i].half for i in block):
            lines.append(line("", [number(i, row[i].half) for i in block]))
    return "\n".join(lines)


def _coloured(text: str, mark: str) -> str:
    """The best in green and the worst in red, where there is colour."""
    colour = {"*": "32", "!": "31"}.get(mark)
    return printed.painted(text, colour) if colour else text


def _with_noise(summary: Summary) -> list[tuple[list[str], set[int]]]:
    noise = summary.noise or [set() for _ in summary.rows]
    return list(zip(summary.rows, noise, strict=True))


def _marked(row: list[str], noise: set[int]) -> list[str]:
    return [f"({text})" if i in noise else text for i, text in enumerate(row)]


def _names(summary: Summary) -> int:
    """Columns that say which row it is: up to the first measure."""
    known = {"flows done", "frames sent", "FCT mean", "PAUSEs"}
    return next((i for i, head in enumerate(summary.heads) if head in known), 1)


def _block(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    wide: Sequence[int],
    names: int,
    block: Sequence[int],
) -> str:
    lines = []
    for row in (heads, *rows):
        cells = [_pad(row[i], wide[i], right=i > 0) for i in range(names)]
        cells += [_pad(row[i], wide[i], right=True) for i in block]
        lines.append("  ".join(cells).rstrip())
    rule = "  ".join("─" * wide[i] for i in [*range(names), *block])
    return "\n".join([lines[0], rule, *lines[1:]])


def _wide(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, to: int, right: bool) -> str:
    space = " " * (to - _wide(text))
    return space + text if right else text + space
