"""The command ``unpause tune``.

Exit codes are those of ``unpause``: 0 for an answer, also that nothing is better; 1 for an error, 2
for a wrong command line, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from unpause import printed
from unpause.commands.sweep import check_default, connect, positive
from unpause.errors import ResultError, ScenarioError, SweepError
from unpause.sweeps import axes
from unpause.sweeps.sweep import SweepProgress, shown
from unpause.text import plural
from unpause.tuning import answer, space
from unpause.tuning.tune import LEAST_CONFIRMED, SETTINGS, Tuning, tune


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unpause tune",
        description="Search for the values of parameters that serve a goal best, within limits. "
        "Finished runs are kept: rerun the same command to resume.",
    )
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="scenario file")
    add(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=RANGE",
        help="key of the scenario and its range, 20KB..800KB, or its choices, 1,2,4",
    )
    add("--goal", required=True, metavar="STATISTIC", help="such as 'p99 slowdown of web'")
    add(
        "--subject-to",
        action="append",
        default=[],
        metavar="LIMIT",
        help="such as 'longest queue <= 2MB'; every run has to meet it",
    )
    add(
        "--robust",
        action="append",
        default=[],
        metavar="KEY=VALUES",
        help="search with these values of another key, too, such as load=0.3,0.6,0.9",
    )
    add("--scheme", metavar="NAME", help="the scheme to tune [default: the only one]")
    runs = f"runs that the search may use [default: {SETTINGS} for each seed and condition]"
    add("--runs", type=positive, metavar="N", help=runs)
    add("--seeds", type=positive, default=1, metavar="N", help="seeds of the search [default: 1]")
    add(
        "--confirm",
        type=positive,
        default=8,
        metavar="N",
        help=f"unseen seeds of the comparison, at least {LEAST_CONFIRMED} [default: 8]",
    )
    add("--search-seed", type=int, default=1, metavar="N", help="seed of the search itself")
    add("--out", "-o", type=Path, metavar="DIR", help="directory of the answer")
    # By `unpause tune` without --out.
    add("--default", type=Path, help=argparse.SUPPRESS)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, metavar="N", help="runs at the same time")
    where.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster")
    add("--force", action="store_true", help="run even what exceeds the free memory")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause tune``; answers the exit code."""
    options = _parser().parse_args(arguments)
    named = options.default or Path("results") / f"{options.file.stem}-tune"
    out: Path = options.out or named
    last: list[SweepProgress] = []
    started = time.monotonic()
    try:
        if options.out is None:
            check_default(options.file, out, "tune")
        tuning = _tuned(options, out, last)
    except (ScenarioError, SweepError, ResultError, OSError) as error:
        print(f"error: {str(error).replace(chr(10) + 'help:', chr(10) + 'hint:')}", file=sys.stderr)
        _say_how_to_go_on(last, out)
        return 1
    except KeyboardInterrupt:
        print("interrupted" if last else "interrupted: nothing was run", file=sys.stderr)
        _say_how_to_go_on(last, out)
        return 130
    print(answer.text(tuning))
    kept = f", {plural(tuning.kept, 'run')} kept from earlier" if tuning.kept else ""
    names = ["answer.md", "settings.csv", "figures/tune.png"]
    names += ["best.toml"] if tuning.recommended else []
    closing = f"{time.monotonic() - started:.1f} s{kept}; {out}: {', '.join(names)}"
    print(printed.wrapped(closing, answer.COLUMNS))
    return 0


def _tuned(options: argparse.Namespace, out: Path, last: list[SweepProgress]) -> Tuning:
    vary = {each.key: each for each in space.parse_all(options.vary)}
    robust = {axis.key: axis.values for axis in axes.parse_all(options.robust)}
    client = None if options.dask is None else connect(options.dask)
    try:
        with shown() as show:

            def watch(progress: SweepProgress) -> None:
                last[:] = [progress]
                show(progress)

            return tune(
                options.file,
                vary,
                options.goal,
                options.subject_to,
                robust=robust,
                scheme=options.scheme,
                runs=options.runs,
                seeds=options.seeds,
                confirm=options.confirm,
                search_seed=options.search_seed,
                out=out,
                client=client,
                jobs=options.jobs,
                force=options.force,
                progress=watch,
            )
    finally:
        if client is not None:
            client.close()


def _say_how_to_go_on(last: list[SweepProgress], out: Path) -> None:
    if last:
        print(
            f"hint: {plural(last[0].finished, 'run')} kept in {out / 'points'}; the same command "
            "resumes from there",
            file=sys.stderr,
        )


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
