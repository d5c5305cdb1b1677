"""The command ``unpause sweep``.

Exit codes are those of ``unpause``: 0 for success, 1 for an error (points that cannot be run among
them), 2 for a wrong command line, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from unpause import printed
from unpause.commands import report
from unpause.data import beneath
from unpause.errors import ResultError, ScenarioError, SweepError
from unpause.pages import overview, textual
from unpause.pages.summary import summarise
from unpause.sweeps import axes, grouped
from unpause.sweeps.sweep import PointsFailed, SweepProgress, shown, sweep
from unpause.text import plural

_MOST_FAILED = 10
_MOST_ROWS = 40
_CONNECT_S = 10


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
        "--out",
        "-o",
        type=Path,
        metavar="DIR",
        help="directory of the table and of finished points [default: results/<name of the "
        "file>-sweep]",
    )
    # By `unpause sweep` without --out.
    parser.add_argument("--default", type=Path, help=argparse.SUPPRESS)
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every column and the means, too"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help="points at the same time on this machine [default: one per core]",
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="scheduler of a Dask cluster, such as tcp://host:8786"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="run even points whose estimate exceeds the free memory",
    )
    return parser


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause sweep``; answers the exit code."""
    options = _parser().parse_args(arguments)
    named = options.default or Path("results") / f"{options.file.stem}-sweep"
    out: Path = options.out or named
    last: list[SweepProgress] = []
    started = time.monotonic()
    try:
        vary = axes.parse_all(options.vary)
        if options.out is None:
            check_default(options.file, out)
        _note_changes(options.file, out)
        _note_replaced(out, [axis.key for axis in vary])
        client = None if options.dask is None else connect(options.dask)
        try:
            with shown() as show:

                def watch(progress: SweepProgress) -> None:
                    last[:] = [progress]
                    show(progress)

                table = sweep(
                    options.file,
                    {axis.key: axis.values for axis in vary},
                    out=out,
                    schemes=options.schemes,
                    client=client,
                    jobs=options.jobs,
                    force=options.force,
                    progress=watch,
                )
        finally:
            if client is not None:
                client.close()
    except PointsFailed as error:
        if error.table.num_rows:
            _show(error.table, out, options.verbose)
        for number, (label, why) in enumerate(error.failed.items()):
            if number == _MOST_FAILED:
                more = len(error.failed) - number
                print(
                    f"error: {plural(more, 'more point')} failed: see {out / 'sweep.json'}",
                    file=sys.stderr,
                )
                break
            print(f"error: {label}: {why}", file=sys.stderr)
        return 1
    except (ScenarioError, SweepError, OSError) as error:
        message = str(error).replace("\nhelp:", "\nhint:")
        print(f"error: {message}", file=sys.stderr)
        if last:
            _say_how_to_go_on(last[0], out)
        return 1
    except KeyboardInterrupt:
        print("interrupted" if last else "interrupted: nothing was run", file=sys.stderr)
        if last:
            _say_how_to_go_on(last[0], out)
        return 130
    done = last[-1]
    kept = f", {done.kept} of them kept from earlier" if done.kept else ""
    print(f"{plural(done.points, 'point')} in {time.monotonic() - started:.1f} s{kept}")
    _show(table, out, options.verbose)
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


def _say_how_to_go_on(done: SweepProgress, out: Path) -> None:
    print(
        f"hint: {done.finished} of {done.points} points are kept in {out / 'points'}; "
        "the same command resumes from there",
        file=sys.stderr,
    )


def _before(out: Path, field: str, command: str = "sweep") -> dict[str, Any]:
    """A field about the last sweep into a directory; nothing if there was none."""
    try:
        with beneath.open_file(out, f"{command}.json") as file:
            about = json.loads(file.read())[field]
    except (OSError, ValueError, RecursionError, KeyError, TypeError, ResultError):
        return {}
    return about if isinstance(about, dict) else {}


def check_default(file: Path, out: Path, command: str = "sweep") -> None:
    """An error if the default directory has what the command made of another file."""
    before = _before(out, "scenario", command).get("file")
    if isinstance(before, str) and os.path.realpath(before) != os.path.realpath(file):
        raise SweepError(
            f"{out} has the {command} of another scenario, {before}\n"
            "hint: choose a directory with --out; nothing was changed"
        )


def _note_changes(file: Path, out: Path) -> None:
    """Says so if the directory was made from another text of the scenario."""
    before = _before(out, "scenario")
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
    others = list(_before(out, "axes"))
    if others and sorted(others) != sorted(keys):
        print(
            f"note: the table and the report in {out} of the sweep of {', '.join(others)} are "
            "replaced; its finished points are kept",
            file=sys.stderr,
        )


def connect(address: str) -> Any:
    """A client of the Dask scheduler at an address.

    Raises:
        SweepError: distributed is not installed, or nothing answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise SweepError(
            "--dask needs the package distributed\nhint: pip install 'unpause[dask]'"
        ) from error
    # Its threads log a lost connection; this program reports it once.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise SweepError(
            f"no Dask scheduler answers at {address}: {error}\n"
            "hint: `dask scheduler` prints its address, such as tcp://192.168.0.1:8786"
        ) from error


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
