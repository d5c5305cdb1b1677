"""The report of a result directory: figures, claims and tables in one offline HTML file.

``python -m unpause.report DIR`` draws the figures, judges the claims, writes ``report.html``,
``figures/*.png``, ``figures/*.svg``, ``claims.json`` and ``claims.parquet`` into DIR, ``report.json``
with the names of them all, and prints the claims.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

import unpause
from unpause import claims as claims_module
from unpause import figures, schema
from unpause.claims import Claim, ClaimsError, Verdict
from unpause.result import Result, ResultError, load, warning_text
from unpause.summary import by_priority, summarise

_LARGEST_SVG = 1_500_000  # bytes; larger drawings are embedded as PNG
_MOST_OF_A_KIND = 4


@dataclass
class Report:
    """What :func:`build` has written and found.

    Attributes:
        path: The HTML file.
        claims: Verdicts, in the order of the claims file.
        drawn: Names of the figures drawn.
        skipped: Names of figures with nothing to show, and why.
        problems: What could not be done at all, one sentence each.
    """

    path: Path
    claims: list[Claim] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Picture:
    name: str
    title: str
    uri: str


def build(directory: str | Path) -> Report:
    """Write the report of a result directory.

    Raises:
        ResultError: `directory` holds no complete result.
    """
    path = Path(directory)
    result = load(path)
    report = Report(path / "report.html")
    wanted = result.scenario.get("report", {})
    try:
        report.claims = result.claims()
    except ClaimsError as error:
        report.problems.append(f"Claims were not judged: {error}.")
    claims_module.write(report.claims, path)
    names = [*dict.fromkeys([*wanted.get("figures", []), *figures.GENERIC])]
    pictures = _draw(result, names, report)
    html = (
        _environment()
        .get_template("report.html")
        .render(
            result=result,
            report=report,
            warnings=[*condensed(result.manifest.get("warnings", [])), *report.problems],
            pictures=pictures,
            summary=summarise(result),
            priorities=by_priority(result),
            schemas=schema.TABLES,
            counts=verdict_counts(report.claims),
            version=unpause.__version__,
        )
    )
    unfinished = path / "report.html.tmp"
    unfinished.write_text(html, "utf-8")
    os.replace(unfinished, report.path)
    _note_files(report)
    return report


def _note_files(report: Report) -> None:
    """Says which files are the report's: they go when another result takes this one's place."""
    figures = [f"figures/{name}.{kind}" for name in report.drawn for kind in ("png", "svg")]
    names = [report.path.name, "report.json", "claims.json", "claims.parquet", *figures]
    text = json.dumps({"files": names}, indent=2) + "\n"
    report.path.with_name("report.json").write_text(text, "utf-8")


def _draw(result: Result, names: Sequence[str], report: Report) -> list[_Picture]:
    assert result.directory is not None
    folder = result.directory / "figures"
    folder.mkdir(exist_ok=True)
    pictures = []
    for name in names:
        try:
            figure = figures.draw(result, name)
        except figures.NothingToDraw as error:
            report.skipped[figures.FIGURES[name].title] = str(error)
            continue
        except KeyError as error:
            report.problems.append(f"Figure not drawn: {error.args[0]}.")
            continue
        png, svg = figures.save(figure, folder, name)
        report.drawn.append(name)
        pictures.append(_Picture(name, figures.FIGURES[name].title, _data_uri(png, svg)))
    return pictures


def _data_uri(png: Path, svg: Path) -> str:
    if svg.stat().st_size <= _LARGEST_SVG:
        kind, data = "image/svg+xml", svg.read_bytes()
    else:
        kind, data = "image/png", png.read_bytes()
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("unpause"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def condensed(warnings: Sequence[Any]) -> list[str]:
    """Warnings as text; of each kind the first four, and how many more there are.

    A sweep has the same thing to say in many of its runs.
    """
    texts: list[str] = []
    kinds: Counter[str] = Counter()
    for warning in warnings:
        kind = warning.get("kind", "") if isinstance(warning, dict) else ""
        kinds[kind] += 1
        if kinds[kind] <= _MOST_OF_A_KIND or not kind:
            texts.append(warning_text(warning))
    for kind, count in kinds.items():
        if kind and count > _MOST_OF_A_KIND:
            texts.append(f"{count - _MOST_OF_A_KIND} more of the kind {kind}; see manifest.json.")
    return texts


def verdict_counts(claims: Sequence[Claim]) -> str:
    """A sentence such as "13 claims: 9 reproduced, 4 not reproduced."."""
    count = Counter(c.verdict for c in claims)
    parts = ", ".join(f"{count[v]} {v.value}" for v in Verdict if count[v])
    return f"{len(claims)} claim{'s' if len(claims) != 1 else ''}: {parts}." if claims else ""


def claims_text(claims: Sequence[Claim], width: int = 120) -> str:
    """The claims as an aligned table for a terminal of `width` columns."""
    if not claims:
        return ""
    first = max(len(c.id) for c in claims)
    last = max(len(v.value) for v in Verdict)
    rest = max(48, width - first - last - 8)
    widths = [first, rest * 3 // 8, rest * 5 // 16, rest * 5 // 16, last]
    rows = [("claim", "what the paper says", "expected", "measured", "verdict")]
    rows += [(c.id, c.text, c.expected, c.measured, c.verdict.value) for c in claims]
    lines = []
    for index, row in enumerate(rows):
        # Expected and measured values of different checks stand on lines of their own.
        cells = [
            [
                piece
                for part in (cell.split("; ") if column in (2, 3) else [cell])
                for piece in textwrap.wrap(part, w)
            ]
            or [""]
            for column, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        for i in range(max(len(c) for c in cells)):
            parts = [
                (c[i] if i < len(c) else "").ljust(w) for c, w in zip(cells, widths, strict=True)
            ]
            lines.append("  ".join(parts).rstrip())
        if index == 0:
            lines.append("  ".join("-" * w for w in widths))
            continue
        claim = claims[index - 1]
        if claim.verdict is not Verdict.REPRODUCED:
            indent = " " * (first + 2)
            for text in filter(None, (claim.why, claim.note)):
                lines += textwrap.wrap(
                    text, width, initial_indent=indent + "→ ", subsequent_indent=indent + "  "
                )
        lines.append("")
    return "\n".join([*lines, verdict_counts(claims)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m unpause.report``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unpause.report",
        description="Draw the figures and judge the claims of a result directory.",
    )
    parser.add_argument("directory", help="a directory that `unpause run` has written")
    parser.add_argument("--width", type=int, help="columns of the claims table")
    options = parser.parse_args(arguments)
    try:
        report = build(options.directory)
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: no report was drawn; the tables are complete", file=sys.stderr)
        return 130
    width = options.width or min(160, max(80, shutil.get_terminal_size((120, 24)).columns))
    if report.claims:
        print(claims_text(report.claims, width))
        print()
    for title, why in report.skipped.items():
        print(f"not drawn: {title}: {why}")
    for problem in report.problems:
        print(f"warning: {problem}")
    print(f"report: {report.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
