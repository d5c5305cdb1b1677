"""The command ``unpause tune``.

Exit codes are those of ``unpause``: 0 for an answer, also that nothing is better; 1 for an error, 2
for a wrong command line, 130 when interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from unpause import printed
from unpause.commands import points
from unpause.commands.points import positive
from unpause.sweeps import axes
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
    points.add_options(parser, "tune", "run")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause tune``; answers the exit code."""
    options = _parser().parse_args(arguments)

    def work(where: points.Where) -> Tuning:
        vary = {each.key: each for each in space.parse_all(options.vary)}
        robust = {axis.key: axis.values for axis in axes.parse_all(options.robust, "--robust")}
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
            out=where.out,
            client=where.client,
            jobs=options.jobs,
            force=options.force,
            progress=where.progress,
        )

    done = points.run(options, "tune", "run", work)
    if isinstance(done, int):
        return done
    tuning = done.result
    print(answer.text(tuning))
    kept = f", {plural(tuning.kept, 'run')} kept from earlier" if tuning.kept else ""
    names = ["answer.md", "settings.csv", "figures/tune.png"]
    names += ["best.toml"] if tuning.recommended else []
    closing = f"{done.seconds:.1f} s{kept}; {done.out}: {', '.join(names)}"
    print(printed.wrapped(closing, answer.COLUMNS))
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
