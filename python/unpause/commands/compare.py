"""How results differ: means over seeds, differences in percent, and which of them are noise.

``unpause compare A B …`` reads directories of `unpause run` and `unpause sweep`. Rows
with the same scheme and the same swept values are compared with the first directory. With several
seeds, a difference is noise if a t-test at 5 % does not tell it from chance
(:mod:`unpause.statistics.intervals`).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from unpause import printed, text
from unpause.data.result import load
from unpause.errors import ResultError
from unpause.pages import explore, overview, textual, unlike
from unpause.pages.summary import Summary
from unpause.statistics.intervals import Difference
from unpause.sweeps.grouped import NOT_RECORDED, Group, Runs, is_sweep, read_sweep
from unpause.sweeps.recorded import Measure
from unpause.text import value_text


def compared(names: Sequence[str], results: Sequence[Runs]) -> Summary:
    """A row for each scheme, swept values and result; beside numbers how they differ.

    Raises:
        ResultError: the results sweep different values, or share no scheme.
    """
    axes = results[0].axes
    for name, runs in zip(names, results, strict=True):
        if runs.axes != axes:
            swept = [", ".join(each) or "nothing" for each in (runs.axes, axes)]
            raise ResultError(f"{name} sweeps {swept[0]}, {names[0]} sweeps {swept[1]}")
    measures = _measures(results)
    keys = [(group.scheme, group.values) for group in results[0].groups]
    shared = [key for key in keys if all(_found(runs, key) for runs in results)]
    if not shared:
        raise ResultError(f"{' and '.join(names)} share no scheme at the same values")
    several = max(runs.seeds for runs in results) > 1
    heads = [
        "scheme",
        *axes,
        "result",
        *(["seeds"] if several else []),
        *(m.name for m in measures),
    ]
    rows, noise, sure = [], [], []
    for scheme, values in shared:
        groups = [_found(runs, (scheme, values)) for runs in results]
        base = groups[0]
        assert base is not None
        for name, group in zip(names, groups, strict=True):
            assert group is not None
            swept = [value_text(axis, v) for axis, v in zip(axes, values, strict=True)]
            row = [scheme, *swept, name, *([str(len(group.rows))] if several else [])]
            cells = [_cell(group, base, measure) for measure in measures]
            apart = [(len(row) + i, d) for i, (_, d) in enumerate(cells) if d and not d.same]
            noise.append({column for column, d in apart if d.noise})
            sure.append({column for column, d in apart if d.known and not d.noise})
            rows.append([*row, *(text for text, _ in cells)])
    return Summary(heads, rows, noise, sure)


def verdicts(names: Sequence[str], results: Sequence[Runs]) -> list[str]:
    """For each scheme what differs beyond noise, in words; what the test was."""
    lines, tests = [], set()
    for name, runs in zip(names[1:], results[1:], strict=True):
        for base in results[0].groups:
            group = _found(runs, (base.scheme, base.values))
            if group is None:
                continue
            measures = _measures(results)
            apart = {m: group.against(base, m) for m in measures}
            found = {m: d for m, d in apart.items() if d is not None}
            tests |= {d.test for d in found.values() if d.known}
            unknown = [m.name for m, d in apart.items() if d is None and _is_open(group, base, m)]
            values = zip(runs.axes, base.values, strict=True)
            place = ", ".join([base.scheme, *(f"{a} {value_text(a, v)}" for a, v in values)])
            lines.append(f"{place}, {name} against {names[0]}: {_in_words(group, found, unknown)}.")
    if tests:
        lines.append(
            f"Noise: {'; '.join(sorted(tests))}, two-sided at 5 %, each number separately."
        )
    else:
        seeds = [runs.seeds for runs in results]
        few = [name for name, count in zip(names, seeds, strict=True) if count < 2]
        who = "One seed each" if len(few) == len(names) else f"{' and '.join(few)}: one seed"
        lines.append(f"{who}, so noise cannot be estimated.")
    return lines


def _is_open(group: Group, base: Group, measure: Measure) -> bool:
    """Whether a lower bound is why it is not known which of two numbers is larger."""
    return bool(group.bound(measure) or base.bound(measure))


def _in_words(group: Group, found: Mapping[Measure, Difference], unknown: Sequence[str]) -> str:
    differences = [
        f"{m.name} {_change(group, m, d)}" for m, d in found.items() if not (d.noise or d.same)
    ]
    noise = [m.name for m, d in found.items() if d.noise]
    parts = [
        ", ".join(differences),
        f"within noise: {', '.join(noise)}" if noise else "",
        f"not known, because flows did not finish: {', '.join(unknown)}" if unknown else "",
    ]
    return "; ".join(part for part in parts if part) or "the same"


def _change(group: Group, measure: Measure, apart: Difference) -> str:
    return f"{'at least ' if group.bound(measure) else ''}{_percent(apart)}"


def _measures(results: Sequence[Runs]) -> list[Measure]:
    every = [row for runs in results for row in runs.rows]
    return list(dict.fromkeys(measure for runs in results for measure in runs.telling(every)))


def _found(runs: Runs, key: tuple[str, tuple[object, ...]]) -> Group | None:
    return next((g for g in runs.groups if (g.scheme, g.values) == key), None)


def _cell(group: Group, base: Group, measure: Measure) -> tuple[str, Difference | None]:
    """The mean, and how it differs from the first result's."""
    if not group.records(measure.needs):
        return NOT_RECORDED, None
    mean = group.interval(measure).mean
    written = "-" if math.isnan(mean) else f"{group.bound(measure)} {measure.written(mean)}".strip()
    apart = None if group is base else group.against(base, measure)
    if apart is None or apart.same:
        return written, apart
    return f"{written} {_change(group, measure, apart)}", apart


def _percent(apart: Difference) -> str:
    if math.isnan(apart.percent):
        return "instead of 0"
    if apart.percent >= 1000:
        return f"x{apart.percent / 100 + 1:.3g}"
    return ("+" if apart.percent >= 0 else "") + text.percent(apart.percent)


def page(names: Sequence[str], directories: Sequence[Path]) -> str:
    """An interactive page with the runs of all results, and how they differ.

    Raises:
        ResultError: one of them is no result of `unpause run`, or they cannot be compared.
    """
    for directory in directories:
        if is_sweep(directory):
            raise ResultError(
                f"{directory} is a sweep: it has one row per run, too little for an interactive "
                "page\nhint: without --out it can be compared"
            )
    loaded = {name: load(at) for name, at in zip(names, directories, strict=True)}
    results = [Runs.of_result(result) for result in loaded.values()]
    lines = [*unlike.scenarios(names, results), *verdicts(names, results)]
    differences = compared(names, results), lines
    return explore.in_one_file(explore.Explored(loaded, differences), report=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause compare``; answers the exit code."""
    options = _parser().parse_args(arguments)
    names = [Path(directory).name or str(directory) for directory in options.directories]
    if len(set(names)) < len(names):
        names = [str(directory) for directory in options.directories]
    columns = printed.width(options.width)
    try:
        if options.out is not None:
            _refuse(names, options.out, options.force)
        if not options.quiet:
            for line in _lines(names, options, columns):
                print(line)
        if options.out is not None:
            explore.write(options.out, page(names, options.directories))
            if not options.quiet:
                print(f"interactive: {options.out}")
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _refuse(names: Sequence[str], out: Path, force: bool) -> None:
    """Errors about the output come before anything is read."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise ResultError("a page of differences needs two results or more, each named once")
    if out.is_dir():
        raise ResultError(f"{out} is a directory\nhint: name a file: {out / 'compare.html'}")
    if os.path.lexists(out) and not force:
        raise ResultError(f"{out} exists\nhint: --force replaces it")


def _lines(names: Sequence[str], options: argparse.Namespace, columns: int) -> Iterator[str]:
    loaded = [None if is_sweep(it) else load(it) for it in options.directories]
    results = [
        read_sweep(directory) if result is None else Runs.of_result(result)
        for directory, result in zip(options.directories, loaded, strict=True)
    ]
    summary = compared(names, results)
    if len(results) > 1:
        found = overview.of_compared(names, results, unlike.workloads(names, results))
    elif loaded[0] is None:
        found = overview.of_sweep(results[0])
    else:
        found = overview.of_result(loaded[0])
    yield textual.overview(found, columns, whole=options.verbose)
    if options.verbose:
        yield ""
        yield textual.table(summary, columns)
    if len(results) > 1:
        yield ""
        for line in [*unlike.scenarios(names, results), *verdicts(names, results)]:
            yield printed.wrapped(line, columns)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unpause compare",
        description="Compare results: differences in percent, and which are within noise.",
    )
    parser.add_argument(
        "directories", nargs="+", type=Path, help="of `unpause run` or `unpause sweep`"
    )
    parser.add_argument(
        "--verbose", "-v", action="store_true", help="print every column and the means, too"
    )
    parser.add_argument("--out", type=Path, help="also write an interactive page with all of them")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--quiet", action="store_true", help="print errors only")
    parser.add_argument("--width", type=int, help="width of the output in columns")
    return parser


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
