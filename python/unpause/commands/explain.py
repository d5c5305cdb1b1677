"""``unpause explain``: who was stopped, by whom, and where that began; which jobs it made late.

``unpause explain DIR`` reads a result of a scenario with ``[probes] causes = true``. The
words follow from :mod:`unpause.explanation.causes`, the advice from
:mod:`unpause.explanation.advice`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from unpause import _native, printed
from unpause.data import series, unfinished
from unpause.data.result import Result, Run, load
from unpause.errors import ResultError
from unpause.explanation import (
    account,
    causes,
    chosen,
    delays,
    explained,
    flow_lines,
    held,
    incidents,
    trees_json,
)
from unpause.explanation.explained import Part
from unpause.explanation.tree_lines import culprits, indented, sure, when
from unpause.explanation.trees import Egress, Stop, Tree
from unpause.pages import textual
from unpause.pages.summary import Summary
from unpause.text import plural, time

_MOST_TREES = 3


def slowest(runs: Sequence[Run], most: int, columns: int) -> Iterator[str]:
    """The slowest flows of each run, and where their time went.

    Raises:
        ResultError: the result is of a version that did not record this.
    """
    if most < 1:
        raise ResultError(f"--slowest {most}: at least 1")
    if not any(delays.are_there(run) for run in runs):
        raise ResultError(
            "no delays of flows are recorded: no flow with a size started, or the result is of an "
            "older version\nhint: run the scenario again, with flows that have a size"
        )
    for number, run in enumerate(runs):
        if number:
            yield ""
        yield printed.wrapped(
            f"{run.scheme} (seed {run.row['seed']}): the slowest flows, and where their time went "
            "beyond what each takes alone",
            columns,
        )
        for each in delays.slowest(run, run.counted_flows(), most):
            yield indented(delays.line(each), columns)


def lines(result: Result, runs: Sequence[Run], columns: int, at_ns: float | None) -> Iterator[str]:
    """The whole text: the parts of the first run with a PAUSE, compared with the other runs."""
    every = {run.scheme: account.trees(run, at_ns) for run in runs}
    told = next((run for run in runs if every[run.scheme]), runs[0])
    trees = every[told.scheme]
    yield printed.wrapped(_head(result, told, trees, at_ns), columns)
    for part in explained.of_run(result, told, at_ns, columns):
        if part.title:
            yield ""
            yield printed.wrapped(f"{part.title}:", columns)
        for text in part.texts:
            if part.name in ("trees", "late"):
                yield ""
            yield _text(told, part, text, columns)
    if at_ns is None and (storms := incidents.other_storms(told, runs)):
        yield printed.wrapped(storms, columns)
    if trees and len(runs) > 1 and at_ns is None:
        yield ""
        yield "Under each scheme"
        yield textual.table(_schemes(told, trees[:_MOST_TREES], every), columns)


def _text(run: Run, part: Part, text: str, columns: int) -> str:
    """A text of a part in lines."""
    if part.name == "trees":
        return text
    if part.name == "late":
        return printed.wrapped(f"{run.scheme}: {text}", columns)
    return indented(text, columns) if part.title else printed.wrapped(text, columns)


def _head(result: Result, run: Run, trees: list[Tree], at_ns: float | None) -> str:
    if not trees:
        then = f" was in force at {time(at_ns)}" if at_ns is not None else " was sent"
        who = (
            f"{run.scheme} (seed {run.row['seed']}): "
            if len(result.runs_of(run.scheme)) > 1
            else ""
        )
        return f"{who}{'no' if who else 'No'} PAUSE{then}."
    pauses = sum(tree.pauses for tree in trees)
    several = f", first of {len(result.runs_of(run.scheme))} runs" * (
        len(result.runs_of(run.scheme)) > 1
    )
    then = f" in force at {time(at_ns)}" if at_ns is not None else ""
    victims = len({victim.flow_id for tree in trees for victim in tree.victims})
    hurt = f", {plural(victims, 'victim flow')}" if at_ns is None else ""
    if hurt and (others := held.not_counted(run)):
        hurt += f" ({' and '.join(others)} are not counted)"
    text = (
        f"{run.scheme} (seed {run.row['seed']}{several}): {plural(pauses, 'PAUSE')}{then}, "
        f"{plural(len(trees), 'congestion tree')}{hurt}"
    )
    if (since := run.row.get("deadlock_began_ns")) is not None:
        text += f"; a deadlock ended the run at {time(run.row['simulated_ns'])}"
    if cycle := account.deadlock(trees):
        began = f" since {time(since)}" if since is not None else ""
        return f"Deadlock {cycle}{began}. {text}"
    return text


def _schemes(run: Run, trees: Sequence[Tree], every: Mapping[str, list[Tree]]) -> Summary:
    """A row for each scheme, with its counterparts of the trees that were described."""
    heads = ["scheme", "PAUSEs"]
    for tree, where in zip(trees, account.places(run, trees), strict=True):
        # The victims of a standing queue are described with the packets that left it.
        heads += [f"{where}: paused", *["victims' total wait"] * (tree.left_by is None)]
    rows = []
    for scheme, found in every.items():
        row = [scheme, f"{sum(tree.pauses for tree in found):,}"]
        for tree in trees:
            same = [it for it in found if account.same(it, tree)]
            waited = sum(victim.waited_ns for it in same for victim in it.victims)
            stopped = sum(it.paused_ns for it in same)
            row += [time(stopped), *[time(waited)] * (tree.left_by is None)]
        rows.append(row)
    return Summary(heads, rows)


def of_port(run: Run, egress: Egress, columns: int, at_ns: float | None) -> Iterator[str]:
    """Why an egress was stopped: by how many PAUSEs, of which trees.

    Raises:
        ResultError: nothing is known of such a port.
    """
    known = account.link_rates(run)
    if egress not in known:
        near = sorted(str(it) for it in known if it.node == egress.node)
        hint = f"; {egress.node} sends by {', '.join(near[:8])}" if near else ""
        raise ResultError(f"{egress} sent nothing{hint}")
    found = []
    trees = account.trees(run, at_ns)
    for tree, title in zip(trees, account.titles(run, trees), strict=True):
        way = _way(tree.stops, egress)
        if way:
            found.append((tree, title, way))
    then = f" at {time(at_ns)}" if at_ns is not None else ""
    if not found:
        titles = zip(trees, account.titles(run, trees), strict=True)
        here = [title for tree, title in titles if _is_root(tree, egress)]
        root = f"; it is the root itself: {', '.join(here)}" if here else ""
        yield f"{run.scheme}: {egress} was {'not' if then else 'never'} paused{then}{root}."
        return
    for tree, root, way in found:
        stop = way[-1]
        chain = " because ".join(f"{it.pauser} paused {it.stopped}" for it in reversed(way))
        # A root that opens with PAUSE or with a switch's name keeps its capital.
        root = root if root[:2].isupper() or tree.kind == "switch" else root[0].lower() + root[1:]
        yield printed.wrapped(
            f"{run.scheme}: {egress} was paused{then} {plural(stop.pauses, 'time')} for "
            f"{time(stop.paused_ns)}: {chain}; root: {root}, {when(tree)}. {sure(tree)}",
            columns,
        )
        for text in culprits(tree):
            yield indented(text, columns)


def _is_root(tree: Tree, egress: Egress) -> bool:
    return tree.kind not in ("cycle", "nic") and (tree.root.node, tree.root.peer) == (
        egress.node,
        egress.peer,
    )


def _way(stops: Sequence[Stop], egress: Egress) -> list[Stop]:
    """From the root down to the stop of an egress."""
    for stop in stops:
        if (stop.stopped, stop.pauser) == egress:
            return [stop]
        if way := _way(stop.below, egress):
            return [stop, *way]
    return []


def _time_ns(text: str) -> float:
    found = _native.in_base_unit(text)
    if found is None or found[0] != "_ns":
        raise ResultError(f"--at {text!r} is not a time such as 3.2ms")
    _, numerator, denominator = found
    return numerator / denominator


def _egress(text: str) -> Egress:
    try:
        return Egress(*series.ends(text))
    except series.Unavailable as error:
        # A shell takes `S0->H1` as `S0-` and a file `H1` to write to.
        quote = "\nhint: quote it: to the shell, > means a file to write to" * text.endswith("-")
        raise ResultError(f"--port {error}{quote}") from error


def _check_time(runs: Sequence[Run], at_ns: float | None) -> None:
    longest = max(float(run.row["simulated_ns"]) for run in runs)
    if at_ns is not None and at_ns > longest:
        raise ResultError(f"--at {time(at_ns)} is after the end of the run, {time(longest)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unpause explain",
        description="Explain who was paused, by whom, and where PAUSE began.",
    )
    parser.add_argument("directory", type=Path, help="of a result")
    parser.add_argument("--at", help="only PAUSEs in force at this time, such as 3.2ms")
    parser.add_argument("--port", help="why this egress port was paused, such as S0->H1")
    parser.add_argument(
        "--flow",
        help="what this flow waited for and filled: its number, a traffic entry, a job, or a "
        "message of a job such as 17:3 (connection and number)",
    )
    parser.add_argument("--slowest", type=int, metavar="N", help="where the time of N flows went")
    parser.add_argument("--scheme", help="only this one")
    parser.add_argument("--seed", type=int, help="the run of this seed, in place of the first")
    parser.add_argument(
        "--point",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="the run with this swept value; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--width", type=int, help="width of the output in columns")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause explain``; answers the exit code."""
    options = _parser().parse_args(arguments)
    columns = printed.width(options.width)
    try:
        at_ns = None if options.at is None else _time_ns(options.at)
        port = None if options.port is None else _egress(options.port)
        result = unfinished.stopped(options.directory) or load(options.directory)
        causes.needed(result)
        wanted = options.scheme, options.seed, options.point
        if options.flow is None or options.json or options.slowest is not None or port is not None:
            runs = chosen.the_runs(result, *wanted)
        else:
            runs = chosen.with_flow(result, options.flow, *wanted)
        _check_time(runs, at_ns)
        if options.json:
            print(json.dumps(trees_json.as_json(result, runs, at_ns), default=trees_json.plain))
        elif options.slowest is not None:
            for line in slowest(runs, options.slowest, columns):
                print(line)
        elif port is not None or options.flow is not None:
            for run in runs:
                told = (
                    of_port(run, port, columns, at_ns)
                    if port is not None
                    else flow_lines.lines(run, options.flow, columns, at_ns)
                )
                for line in told:
                    print(line)
        else:
            for line in lines(result, runs, columns, at_ns):
                print(line)
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
