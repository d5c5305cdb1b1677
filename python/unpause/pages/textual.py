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


def overview(found: Overview, columns: int, most_rows: int = 40) -> str:
    """The overview table of a run, at most `columns` wide, and the lines below it."""
    rows = found.rows[:most_rows]
    names = _aligned([tuple(found.name_heads), *found.names[:most_rows]], columns // 2)
    left = _wide(names[0])
    wide = [_column_width(found, rows, i) for i in range(len(found.heads))]
    blocks: list[list[int]] = [[]]
    room = columns - left
    for i, width in enumerate(wide):
        if blocks[-1] and room < width + 2:
            blocks.append([])
            room = columns - left
        blocks[-1].append(i)
        room -= width + 2
    tables = [_overview_block(found, rows, names, left, wide, block) for block in blocks]
    parts = ["\n\n".join(tables) if rows and wide else ""]
    if len(found.rows) > len(rows):
        parts.append(f"... {plural(len(found.rows) - len(rows), 'more row')}: in the report")
    parts += [
        printed.wrapped(line, columns) for line in (*found.told, found.legend, found.scope) if line
    ]
    return "\n".join(part for part in parts if part)


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
    cells = [text for row in rows for text in (row[column].value, row[column].half)]
    return max(_wide(text) for text in (*found.heads[column], *cells))


def _overview_block(
    found: Overview,
    rows: Sequence[Sequence[Cell]],
    names: Sequence[str],
    left: int,
    wide: Sequence[int],
    block: Sequence[int],
) -> str:
    def line(name: str, texts: Sequence[tuple[str, str]]) -> str:
        cells = [_pad(text, wide[i], right=True) + (mark or " ") for i, (text, mark) in
                 zip(block, texts, strict=True)]  # fmt: skip
        return (_pad(name, left, right=False) + " " + " ".join(cells)).rstrip()

    lines = [
        line(names[0] if part == 2 else "", [(found.heads[i][part], "") for i in block])
        for part in range(3)
    ]
    lines.append("─" * max(map(_wide, lines)))
    for name, row in zip(names[1:], rows, strict=True):
        lines.append(line(name, [(row[i].value, row[i].mark) for i in block]))
        if any(row[i].half for i in block):
            lines.append(line("", [(row[i].half, "") for i in block]))
    return "\n".join(lines)


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
