"""The report of a result directory: sentences, figures, claims and tables in one offline file.

``unpause report DIR`` draws the figures, judges the claims, writes ``report.html``,
``explore.html``, ``figures/*.svg``, ``claims.json`` and ``claims.parquet`` into DIR, and
``report.json`` with their names, and prints what each scheme came to; with ``--claims`` it prints
the claims. The first figure and those that the scenario names are written as PNG, too; with
``--png`` all are. Of the directory of a sweep it writes ``report.html``, ``figures/sweep.*`` and
``sweep.csv``.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

import unpause
from unpause import plain, printed, schema
from unpause.claims import verdicts
from unpause.claims.claim import Claim, ClaimsError, Verdict, judged
from unpause.claims.verdicts import counts_text
from unpause.commands import sweep_csv
from unpause.data import beneath, places
from unpause.data.result import Result, ResultError, load
from unpause.data.staged import RESULT_PAGES, SWEEP_PAGES, Staged, alone
from unpause.explanation import loads, notices, sentences
from unpause.explanation.notices import Notices
from unpause.pages import explore, failures, markup, overview, textual
from unpause.pages.overview import Overview
from unpause.pages.summary import by_priority, summarise
from unpause.sweeps import grouped, warned

if TYPE_CHECKING:
    from unpause.pages import drawing

# Matplotlib is imported where figures are drawn: the overview is printed before.


@dataclass
class Report:
    """What :func:`build` has written and found.

    Attributes:
        path: The HTML file.
        claims: Verdicts, in the order of the claims file.
        drawn: Names of the figures drawn.
        files: Their files, relative to the result directory.
        skipped: Names of figures with nothing to show, and why.
        undrawn: Names of figures that failed, and why.
        missed: Those in `skipped` that the scenario asks for: place, name and why.
        unjudged: Why no claims were judged although the scenario names some.
        problems: What could not be done at all, one sentence each.
        overview: The table that it opens with; None of a sweep whose points all failed.
        sentences: Scheme and what it came to; last, the load of the traffic.
        notices: What the runs found odd.
    """

    path: Path
    claims: list[Claim] = field(default_factory=list)
    drawn: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    undrawn: dict[str, str] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    unjudged: str = ""
    problems: list[str] = field(default_factory=list)
    overview: Overview | None = None
    sentences: list[tuple[str, str]] = field(default_factory=list)
    notices: Notices = field(default_factory=Notices)


@dataclass(frozen=True)
class _Picture:
    name: str
    title: str
    uri: str


def build(
    directory: str | Path,
    *,
    png: bool = False,
    first: Callable[[Report], None] | None = None,
    held: bool = False,
) -> Report:
    """Write the report of a result directory: whole, or nothing of it.

    Args:
        directory: The result directory.
        png: Whether all figures are written as PNG, too, not only the first and the scenario's.
        first: Called with the overview and the sentences before anything is drawn.
        held: Whether the caller holds the directory's lock.

    Raises:
        ResultError: `directory` holds no complete result, or files that are not the report's have
            the names of the report's.
        OSError: the directory cannot be written, or another process writes to it.
    """
    path = Path(directory)
    result = load(path)
    with alone(path, held), Staged(path) as staged:
        staged.check(RESULT_PAGES)
        if not held:
            result = load(path)  # nobody replaces it any more
        report = _build(result, staged, png, first)
        staged.commit()
    return report


def _build(
    result: Result,
    staged: Staged,
    png: bool,
    first: Callable[[Report], None] | None,
) -> Report:
    report = Report(staged.directory / "report.html")
    wanted = result.scenario.get("report", {})
    try:
        report.claims = judged(result)
    except ClaimsError as error:
        place = places.of_report(result, getattr(error, "experiment", ""))
        report.unjudged = f"{place}claims were not judged: {error}"
        report.problems.append(report.unjudged)
    verdicts.write(report.claims, staged.folder)
    report.overview = overview.of_result(result)
    report.sentences = [*sentences.of_result(result), *loads.of_result(result)]
    if first is not None:
        first(report)
    from unpause import figures

    report.notices = notices.of_result(result)
    own = wanted.get("figures", [])
    names = [*dict.fromkeys([*own, *figures.of_result(result)])]
    pictures = _draw(result, names, report, png, staged.folder)
    runs = grouped.Runs.of_result(result)
    html = (
        _environment()
        .get_template("report.html")
        .render(
            result=result,
            report=report,
            overview=markup.overview(report.overview),
            warnings=[*report.notices.warnings, *report.problems],
            pictures=pictures,
            summary=summarise(runs),
            seeds=runs.seeds,
            priorities=by_priority(result),
            failures=failures.of_result(result),
            schemas=schema.TABLES,
            counts=counts_text(report.claims),
            version=unpause.__version__,
        )
    )
    beneath.write(staged.folder / "report.html", plain.clean(html))
    return report


def _draw(
    result: Result,
    names: Sequence[str],
    report: Report,
    png: bool,
    place: Path,
) -> list[_Picture]:
    """Draws `names` into a folder in `place`; with `png` all as PNG, too.

    Without, the first of them and those that the scenario names. The interactive page is written at
    the same time.
    """
    from unpause.pages import drawing

    def page() -> str:
        try:
            explore.write(
                place / "explore.html", explore.page(result, report.claims, report.sentences)
            )
        except ResultError as error:
            return f"No interactive page: {error}."
        return ""

    folder = place / "figures"
    folder.mkdir()
    own = result.scenario.get("report", {}).get("figures", [])
    drawn, [no_page] = drawing.of_report(result, folder, names, names if png else own, [page])
    for it in drawn:
        if it.nothing:
            report.skipped[it.title] = it.nothing
            if it.name in own:
                place = places.of_report(result, it.name)
                report.missed.append(f"{place}figure {it.name} not drawn: {it.nothing}")
        elif it.unknown:
            place = places.of_report(result, it.name)
            report.problems.append(f"{place}figure not drawn: {it.unknown}")
        else:
            _note(report, it)
        for heard in it.warned:
            warnings.warn_explicit(*heard)
    if any(it.boxes for it in drawn):
        report.problems.append(
            "Some names have characters that no font on this machine has; figures show boxes. "
            "Fonts such as Noto Sans CJK help."
        )
    if no_page:
        report.problems.append(no_page)
    else:
        report.files.append("explore.html")
    return [_Picture(it.name, it.title, it.uri) for it in drawn if it.uri]


def _note(report: Report, drawn: drawing.Drawn) -> None:
    """Notes a figure; if it failed, the report is written without it."""
    if drawn.failed:
        report.undrawn[drawn.name] = drawn.failed
        report.problems.append(f"not drawn: {drawn.name}: {drawn.failed}")
    else:
        report.drawn.append(drawn.name)
        report.files += drawn.files


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("unpause"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def claims_text(claims: Sequence[Claim], width: int = 120) -> str:
    """The claims as an aligned table for a terminal of `width` columns."""
    if not claims:
        return ""
    first = max(len(c.id) for c in claims)
    last = max(len(v.value) for v in Verdict)
    rest = max(32, width - first - last - 8)
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
        if claim.verdict is not Verdict.REPRODUCED or claim.assumed:
            indent = " " * (first + 2)
            why = "" if claim.verdict is Verdict.REPRODUCED else claim.why
            for text in filter(None, (why, claim.assumed, claim.note)):
                lines += textwrap.wrap(
                    text, width, initial_indent=indent + "→ ", subsequent_indent=indent + "  "
                )
        lines.append("")
    return "\n".join([*lines, printed.wrapped(counts_text(claims), width)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause report``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause report",
        description="Draw the figures and judge the claims of a result directory.",
    )
    parser.add_argument("directory", help="a directory of `unpause run` or `unpause sweep`")
    parser.add_argument("--claims", action="store_true", help="show the claims, one by one")
    parser.add_argument("--png", action="store_true", help="write all figures as PNG, too")
    parser.add_argument("--width", type=int, help="width of the output in columns")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every column and sentence, too"
    )
    # By `unpause run --no-report`.
    parser.add_argument("--no-draw", action="store_true", help=argparse.SUPPRESS)
    # By `unpause run`, which holds the directory's lock until its report is there.
    parser.add_argument("--held", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    columns = printed.width(options.width)
    quiet = options.quiet or options.claims

    def first(report: Report) -> None:
        if not quiet and report.overview is not None:
            print(first_screen(report, columns, options.verbose), flush=True)

    # It gives memory back where Arrow's own allocators keep it: half as much for long series.
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        if options.no_draw:
            first(_undrawn(load(options.directory)))
            return 0
        if grouped.is_sweep(Path(options.directory)):
            built = build_sweep(options.directory, held=options.held)
        else:
            built = build(options.directory, png=options.png, first=first, held=options.held)
    except OSError as error:
        # A full disk has no name of its own.
        where = "" if error.filename else f"{options.directory}: "
        print(f"error: {where}{error}", file=sys.stderr)
        return 1
    except ResultError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: no report was drawn; the tables are complete", file=sys.stderr)
        return 130
    if options.quiet:
        return 0
    if options.claims:
        otherwise = built.unjudged or "The scenario names no claims."
        print(claims_text(built.claims, columns) or printed.wrapped(otherwise, columns))
        return 0
    print("\n".join(closing(built, columns)))
    return 0


def _undrawn(result: Result) -> Report:
    """What the first screen shows, without any file."""
    report = Report(Path(result.directory or ".") / "report.html")
    report.overview = overview.of_result(result)
    report.sentences = sentences.of_result(result)
    return report


def first_screen(report: Report, columns: int, whole: bool) -> str:
    """The first screen: title, table, answer; with `whole` every sentence.

    A scheme that is alone has nothing to be compared with: then its sentence is the answer.
    """
    found = report.overview
    assert found is not None
    title = printed.wrapped(found.title, columns)
    parts = [title, textual.overview(found, columns, whole=whole)]
    if whole or not found.answer:
        parts.append(printed.said(report.sentences, columns))
    return "\n".join(filter(None, parts))


def closing(built: Report, columns: int) -> list[str]:
    """The last lines of a command: problems, then the files to look at."""
    lines = [printed.wrapped(f"warning: {problem}", columns) for problem in built.problems]
    for asked in built.missed:
        lines.append(printed.wrapped(f"note: {asked}", columns))
    folder = built.path.parent
    if built.drawn:
        lines.append(f"picture: {folder / 'figures' / built.drawn[0]}.png")
    lines.append(f"report: {built.path}")
    if "explore.html" in built.files:
        lines.append(f"interactive: {folder / 'explore.html'}")
    if built.claims:
        lines.append(printed.wrapped(counts_text(built.claims).removesuffix("."), columns))
        lines.append(f"        details: unpause report {folder} --claims")
    return lines


def build_sweep(directory: str | Path, *, held: bool = False) -> Report:
    """Write the report of a sweep's directory: table, chart, CSV; whole, or nothing of it.

    Args:
        directory: Of the sweep.
        held: Whether the caller holds the directory's lock.

    Raises:
        ResultError: `directory` holds no table of a sweep, or files that are not the report's have
            the names of the report's.
        OSError: the directory cannot be written, or another process writes to it.
    """
    path = Path(directory)
    about, table = grouped.sweep_table(path)
    with alone(path, held, result=False), Staged(path) as staged:
        staged.check(SWEEP_PAGES)
        report = _build_sweep(about, table, staged)
        staged.commit()
    return report


def _build_sweep(about: dict[str, Any], table: pa.Table, staged: Staged) -> Report:
    runs = grouped.Runs.of_sweep(table, grouped.scenario_of(about, staged.directory))
    title = runs.title or "Sweep"
    report = Report(staged.directory / "report.html")
    pictures = []
    if runs.rows:
        from unpause.pages import drawing

        drawn = drawing.of_sweep(runs, staged.folder / "figures")
        if drawn.nothing:
            report.skipped[drawn.title] = drawn.nothing
        else:
            _note(report, drawn)
        if drawn.uri:
            pictures.append(_Picture(drawn.name, drawn.title, drawn.uri))
    failed = [f"{label}: {why}" for label, why in (about.get("failed") or {}).items()]
    report.notices = warned.read(about, "sweep.json")
    report.overview = overview.of_sweep(runs) if runs.rows else None
    beneath.write(staged.folder / "sweep.csv", sweep_csv.text(table))
    html = (
        _environment()
        .get_template("sweep.html")
        .render(
            title=title,
            about=about,
            runs=runs,
            report=report,
            overview=markup.overview(report.overview) if report.overview else "",
            failed=failed,
            warnings=report.notices.warnings,
            pictures=pictures,
            summary=summarise(runs) if runs.rows else None,
            seeds=runs.seeds,
            version=unpause.__version__,
        )
    )
    beneath.write(staged.folder / "report.html", plain.clean(html))
    return report


if __name__ == "__main__":
    from unpause import light, signals

    light.imports()
    code = signals.run(main)
    light.end()
    sys.exit(code)
