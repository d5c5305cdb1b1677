"""The overview of runs as HTML, for pages and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from unpause.pages.overview import Cell, Overview
from unpause.text import plural

_MARKS = {"*": ("best", "best, beyond noise"), "!": ("worst", "worst, beyond noise")}


def overview(found: Overview, most_rows: int = 60) -> str:
    """The table and the lines below it; everything in it is escaped."""
    rows = [
        f"<tr>{_names(names)}{''.join(_cell(it) for it in row)}</tr>"
        for names, row in zip(found.names[:most_rows], found.rows[:most_rows], strict=True)
    ]
    more = len(found.rows) - len(rows)
    heads = "".join(f"<th>{escape(name)}</th>" for name in found.name_heads)
    heads += "".join(_head(*head) for head in found.heads)
    table = (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    above = _lines([("answer", " ".join(found.answer))])
    below = _lines(
        [
            ("soft", f"and {plural(more, 'more row')}" if more else ""),
            ("soft", found.legend),
            *(("watched", line) for line in found.told),
            *(("soft", line) for line in (*found.notes, found.scope)),
        ]
    )
    return f'<section class="overview">{above}{table if rows else ""}{below}</section>'


def _lines(lines: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<p class="{kind}">{escape(line)}</p>' for kind, line in lines if line)


def _names(names: tuple[str, ...]) -> str:
    return "".join(f'<td class="id">{escape(name)}</td>' for name in names)


def _head(first: str, second: str, unit: str) -> str:
    with_unit = f" ({escape(unit)})" if unit else ""
    return f'<th class="number">{escape(first)} {escape(second)}{with_unit}</th>'


def _cell(cell: Cell) -> str:
    half = f' <span class="soft">{escape(cell.half)}</span>' if cell.half else ""
    kind, says = _MARKS.get(cell.mark, ("", ""))
    attributes = f' title="{says}"' if says else ""
    mark = f' <span class="mark">{cell.mark}</span>' if cell.mark else ""
    return f'<td class="number {kind}"{attributes}>{escape(cell.value)}{mark}{half}</td>'
