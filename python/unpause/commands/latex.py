"""``unpause export --latex``: the opening table as LaTeX, and figures as PDF, for a paper.

``unpause export --latex DIR`` writes `table.tex` (packages `booktabs` and nothing else) and a PDF
of each figure that the report shows; DIR may be that of a sweep. A PDF has no date, so the same
result gives the same file.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from unpause import figures, plain
from unpause.data.result import Result, load
from unpause.errors import ResultError
from unpause.figures.sweep import draw_runs
from unpause.pages import overview
from unpause.pages.overview import Cell, Overview
from unpause.sweeps.grouped import Runs, is_sweep, read_sweep

TABLE = "table.tex"

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "µ": r"$\mu$",
    "♯": r"$\sharp$",
    "→": r"$\to$",
    "×": r"$\times$",
    "–": "--",
    "\ufffd": r"\textbf{?}",
} | {c: rf"\{c}" for c in "&%$#_{}"}
_SPECIAL = re.compile("|".join(re.escape(c) for c in _ESCAPED))


def escaped(text: str) -> str:
    """`text` as LaTeX prints it, on one line."""
    return _SPECIAL.sub(lambda found: _ESCAPED[found[0]], plain.line(text))


def table(told: Overview) -> str:
    """The opening table as a `table` environment: best in bold, worst in italics."""
    names = len(told.name_heads)
    columns = "l" * names + "r" * len(told.heads)
    above = [*[""] * (names - 1), "", *(head[0] for head in told.heads)]
    below = [*told.name_heads, *(_with_unit(head) for head in told.heads)]
    rows = [
        [*map(escaped, name), *map(_cell, cells)]
        for name, cells in zip(told.names, told.rows, strict=True)
    ]
    lines = [
        "% \\usepackage{booktabs}",
        "\\begin{table}",
        "  \\centering\\small\\setlength{\\tabcolsep}{4pt}",
        f"  \\begin{{tabular}}{{{columns}}}",
        "    \\toprule",
        *(f"    {_row(map(escaped, head))}" for head in (above, below)),
        "    \\midrule",
        *(f"    {_row(row)}" for row in rows),
        "    \\bottomrule",
        "  \\end{tabular}",
        f"  \\caption{{{escaped(_caption(told))}}}",
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _with_unit(head: tuple[str, str, str]) -> str:
    return f"{head[1]} ({head[2]})" if head[2] else head[1]


def _row(cells: Sequence[str] | map[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Cell) -> str:
    number = cell.value.replace(">=", "≥").replace("≥", r"$\ge$").replace(">", r"$>$")
    if cell.value == "-":
        number = "--"
    text = f"{number} {escaped(cell.half)}".strip()
    wrapped = {"*": r"\textbf{%s}", "!": r"\textit{%s}"}.get(cell.mark, "%s")
    return wrapped % text


def _caption(told: Overview) -> str:
    legend = told.legend.replace("* best, ! worst", "bold: best, italics: worst")
    return " ".join(part for part in (f"{told.title}.", legend) if part)


def export(result: Result, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Write the table and the figures into `folder`.

    Answers:
        The names of the files, and of figures without anything to show the reason.

    Raises:
        OSError: a file cannot be written.
    """
    _whole(folder / TABLE, lambda file: file.write(table(overview.of_result(result)).encode()))
    written, empty = [TABLE], {}
    for name in figures.of_result(result):
        try:
            figure = figures.draw(result, name)
        except figures.NothingToDraw as why:
            empty[name] = str(why)
            continue
        _whole(folder / f"{name}.pdf", lambda file, it=figure: figures.save_pdf(it, file))
        written.append(f"{name}.pdf")
    return written, empty


def export_sweep(runs: Runs, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The same of the runs of `unpause sweep`, whose report has one figure."""
    _whole(folder / TABLE, lambda file: file.write(table(overview.of_sweep(runs)).encode()))
    try:
        with figures.style():
            figure = draw_runs(runs)
    except figures.NothingToDraw as why:
        return [TABLE], {"sweep": str(why)}
    _whole(folder / "sweep.pdf", lambda file: figures.save_pdf(figure, file))
    return [TABLE, "sweep.pdf"], {}


def _whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """The file is there when it is complete, or not at all; no link is followed."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as new:
        try:
            write(new)
            new.flush()
            os.chmod(new.name, 0o644)
            os.replace(new.name, path)
        except BaseException:
            os.unlink(new.name)
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause export --latex``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause export --latex",
        description="Write a result as a LaTeX table and PDFs.",
    )
    parser.add_argument("directory", type=Path, help="of a result or a sweep")
    parser.add_argument("--out", type=Path, help="where to [default: latex/ in it]")
    parser.add_argument("--force", action="store_true", help="replace existing files")
    options = parser.parse_args(arguments)
    folder = options.out or options.directory / "latex"
    if folder.is_symlink():
        print(f"error: {folder} is a link\nhint: choose another place by --out", file=sys.stderr)
        return 1
    if os.path.lexists(folder) and not options.force:
        print(f"error: {folder} exists\nhint: --force replaces files in it", file=sys.stderr)
        return 1
    try:
        if is_sweep(options.directory):
            runs = read_sweep(options.directory)
            folder.mkdir(exist_ok=True)
            written, empty = export_sweep(runs, folder)
        else:
            result = load(options.directory)
            folder.mkdir(exist_ok=True)
            written, empty = export(result, folder)
    except KeyboardInterrupt:
        return 130
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for name in written:
        print(folder / name)
    for name, why in empty.items():
        print(f"no {name}.pdf: {why}")
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
