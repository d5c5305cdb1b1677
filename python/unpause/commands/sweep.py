"""The command ``unpause sweep``.

Exit codes are those of ``unpause``: 0 for success, 1 for an error (points that cannot be run among
them), 2 for a wrong command line, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from unpause import printed
from unpause.commands import points, report
from unpause.errors import ResultError
from unpause.pages import overview, textual
from unpause.pages.summary import summarise
from unpause.sweeps import axes, grouped
from unpause.sweeps.sweep import PointsFailed, sweep
from unpause.text import plural

_MOST_FAILED = 10
_MOST_ROWS = 40


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unpause sweep",
        description="Run a scenario at every combination of values, on all cores or on a Dask "
        "cluster. Finished points are kept: rerun the same command to resume.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="scenario file")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="key of the scenario, such as pfc.xoff or traffic.F0.rate_limit or seed, and its "
        "values: 64KB,128KB or 1..100; may be given several times, and all are combined",
    )
    parser.add_argument(
        "--scheme",
        action="append",
        default=[],
        dest="schemes",
        metavar="NAME",
        help="run only this scheme; may be given several times",
    )
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every column and the means, too"
    )
    points.add_options(parser, "sweep", "point")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause sweep``; answers the exit code."""
    options = _parser().parse_args(arguments)

    def work(where: points.Where) -> pa.Table:
        vary = axes.parse_all(options.vary)
        _note_changes(options.file, where.out)
        _note_replaced(where.out, [axis.key for axis in vary])
        return sweep(
            options.file,
            {axis.key: axis.values for axis in vary},
            out=where.out,
            schemes=options.schemes,
            client=where.client,
            jobs=options.jobs,
            force=options.force,
            progress=where.progress,
        )

    try:
        done = points.run(options, "sweep", "point", work)
    except PointsFailed as error:
        out = points.directory(options, "sweep")
        if error.table.num_rows:
            _show(error.table, out, options.verbose)
        for number, (label, why) in enumerate(error.failed.items()):
            if number == _MOST_FAILED:
                more = plural(len(error.failed) - number, "more point")
                print(f"error: {more} failed: see {out / 'sweep.json'}", file=sys.stderr)
                break
            print(f"error: {label}: {why}", file=sys.stderr)
        return 1
    if isinstance(done, int):
        return done
    kept = f", {done.last.kept} of them kept from earlier" if done.last.kept else ""
    print(f"{plural(done.last.points, 'point')} in {done.seconds:.1f} s{kept}")
    _show(done.result, done.out, options.verbose)
    return 0


def _show(table: pa.Table, out: Path, verbose: bool) -> None:
    """The overview on the terminal; chart, report and CSV in the directory."""
    columns = printed.width()
    runs = grouped.read_sweep(out)
    print(textual.overview(overview.of_sweep(runs), columns, _MOST_ROWS, whole=verbose))
    if verbose:
        summary = summarise(runs)
        print(f"\n{textual.table(summary, columns)}")
        if runs.seeds > 1:
            told = (
                "In brackets: the difference from "
                f"{runs.schemes[0]} at the same values is within noise (t-test, 5 %)."
            )
            print(printed.wrapped(told, columns))
    print(f"{plural(table.num_rows, 'row')}: {out / 'sweep.parquet'}, {out / 'sweep.csv'}")
    try:
        built = report.build_sweep(out)
    except (ResultError, OSError) as error:
        print(f"warning: the report was not written: {error}", file=sys.stderr)
        return
    for it in built.notices.said:
        print("\n".join(printed.wrapped(line, columns) for line in it.lines))
    print("\n".join(report.closing(built, columns)))


def _note_changes(file: Path, out: Path) -> None:
    """Says so if the directory was made from another text of the scenario."""
    before = points.before(out, "sweep", "scenario")
    try:
        now = hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return
    if before.get("sha256", now) != now:
        print(
            f"note: {file} has changed since the last sweep into {out}: points "
            "affected by the change are run again; earlier ones are kept separately",
            file=sys.stderr,
        )


def _note_replaced(out: Path, keys: Sequence[str]) -> None:
    """Says so if the directory has the table of a sweep of other keys."""
    others = list(points.before(out, "sweep", "axes"))
    if others and sorted(others) != sorted(keys):
        print(
            f"note: the table and the report in {out} of the sweep of {', '.join(others)} are "
            "replaced; its finished points are kept",
            file=sys.stderr,
        )


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
