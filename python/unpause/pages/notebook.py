"""The summary of a result in a notebook."""

from __future__ import annotations

from html import escape

from unpause import plain
from unpause.data.result import Result
from unpause.explanation import notices, sentences
from unpause.pages import markup, overview
from unpause.pages.summary import summarise
from unpause.sweeps.grouped import Runs
from unpause.text import plural

#: More rows than this are counted only.
_MOST_ROWS = 30


def html(result: Result) -> str:
    """The title, the overview, a sentence for each scheme, the table of the summary, warnings."""
    runs = Runs.of_result(result)
    summary = summarise(runs)
    heads = "".join(f"<th>{escape(head)}</th>" for head in summary.heads)
    rows = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in summary.rows[:_MOST_ROWS]
    ]
    more = len(summary.rows) - len(rows)
    said = [
        f"<li><b>{escape(scheme)}</b>: {escape(text)}</li>"
        for scheme, text in sentences.of_result(result)
    ]
    warnings = notices.of_result(result).warnings
    return plain.clean(
        "".join(
            [
                f"<h4>{escape(result.title)}</h4>",
                markup.overview(overview.of_result(result)),
                f"<ul>{''.join(said)}</ul>" if said else "",
                f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>",
                f"<p>and {plural(more, 'more row')}</p>" if more else "",
                *(f"<p>Warning: {escape(warning)}</p>" for warning in warnings),
            ]
        )
    )
