"""``unpause explain``: who was stopped, by whom, and where that began; which jobs it made late.

``python -m unpause.explain DIR`` reads a result of a scenario with ``[probes] causes = true``. What
the words rest on is in :mod:`unpause.causes`, what is advised in :mod:`unpause.advice`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import (
    _native,
    account,
    advice,
    beneath,
    causes,
    incidents,
    lateness,
    schema,
    series,
    textual,
)
from unpause.errors import ResultError
from unpause.files import parquet, whole
from unpause.result import Result, Run, load
from unpause.summary import Summary
from unpause.text import rate, size, time
from unpause.trees import CERTAIN, Egress, Stop, Tree, Victim, every_stop

_MOST_TREES = 3
_MOST_STOPS = 6
_MOST_FLOWS = 3


def needed(result: Result) -> None:
    """Refuses a result that does not say why.

    Raises:
        ResultError: it was not asked to, or its version could not; with how to get it.
    """
    where = result.directory or "this result"
    if causes.is_older(result):
        version = result.manifest.get("unpause", "before")
        raise ResultError(
            f"{where} is of version {version}, which did not record causes\n"
            "hint: run the scenario again with `causes = true` in its [probes]"
        )
    asked = causes.are_there(result) if result.source else result.tables["causes"].num_rows
    if not asked:
        file = result.manifest.get("scenario", {}).get("file", "FILE")
        raise ResultError(
            f"{where} does not say what caused its PAUSEs\n"
            f"hint: add `causes = true` to [probes] in {file}, and run it again"
        )


def stopped(directory: Path) -> Result | None:
    """The runs that had finished when `unpause run` was stopped, if that is all that there is.

    Raises:
        ResultError: none had finished.
    """
    kept = sorted((directory / ".unpause" / "runs").glob("*/run.json"))
    if (directory / "manifest.json").is_file() or not kept:
        return None
    tables = {}
    for name in schema.TABLES:
        parts = [_kept(directory, it.parent.name, name) for it in kept]
        tables[name] = pa.concat_tables(parts).sort_by("run")
    done = [f"{row['scheme']} (run {row['run']})" for row in tables["runs"].to_pylist()]
    print(
        f"note: {directory}: stopped before its end; this is of the runs that had finished: "
        f"{', '.join(done)}. The same command resumes with the others.",
        file=sys.stderr,
    )
    return Result(tables, directory=directory)


def _kept(directory: Path, run: str, name: str) -> pa.Table:
    """A table of a run that is kept, which a run that goes on may take away meanwhile."""
    where = (".unpause", "runs", run, f"{name}.parquet")
    file = directory.joinpath(*where)
    try:
        with beneath.open_file(directory, *where) as opened:
            return whole(parquet(opened))
    except FileNotFoundError as error:
        raise ResultError(f"{file}: gone: another run has taken it over") from error
    except (pa.ArrowException, OSError) as error:
        raise ResultError(f"{file}: not a readable Parquet file: {error}") from error


def the_runs(result: Result, scheme: str | None = None) -> list[Run]:
    """The first run of each scheme, or of one.

    Raises:
        ResultError: there is no such scheme.
    """
    if scheme is not None and scheme not in result.schemes:
        raise ResultError(f"no scheme {scheme!r}; there are {', '.join(result.schemes)}")
    wanted = [scheme] if scheme is not None else result.schemes
    return [result.runs_of(name)[0] for name in wanted]


def lines(result: Result, runs: Sequence[Run], columns: int, at_ns: float | None) -> Iterator[str]:
    """The whole text: trees of the first run with any, and what became of them in the others."""
    every = {run.scheme: account.trees(run, at_ns) for run in runs}
    told = next((run for run in runs if every[run.scheme]), None)
    failed = incidents.told(result, told or runs[0], runs if at_ns is None else ())
    if told is None:
        when = f" at {time(at_ns)}" if at_ns is not None else ""
        yield f"No PAUSE was in force{when}." if when else "No PAUSE was sent."
        yield from (textual.wrapped(text, columns) for text in failed)
        yield from lateness.lines(runs[0], columns, at_ns)
        return
    trees = every[told.scheme]
    yield textual.wrapped(_head(result, told, trees, at_ns), columns)
    yield from (textual.wrapped(text, columns) for text in failed)
    titles = account.titles(told, trees)
    for number, (tree, title) in enumerate(zip(trees[:_MOST_TREES], titles, strict=False), 1):
        yield ""
        yield from _tree(result, told, tree, f"{number}. {title}", columns, at_ns)
    if len(trees) > _MOST_TREES:
        rest = trees[_MOST_TREES:]
        yield ""
        yield textual.wrapped(
            f"{len(rest)} more, from {sum(t.pauses for t in rest):,} PAUSEs and "
            f"{time(sum(t.paused_ns for t in rest))} of pause: --json has them all.",
            columns,
        )
    yield from lateness.lines(told, columns, at_ns)
    if len(runs) > 1 and at_ns is None:
        yield ""
        yield "Under each scheme"
        yield textual.table(_schemes(told, trees[:_MOST_TREES], every), columns)


def _head(result: Result, run: Run, trees: list[Tree], at_ns: float | None) -> str:
    pauses = sum(tree.pauses for tree in trees)
    several = f", first of {len(result.runs_of(run.scheme))} runs" * (
        len(result.runs_of(run.scheme)) > 1
    )
    when = f" in force at {time(at_ns)}" if at_ns is not None else ""
    victims = len({victim.flow_id for tree in trees for victim in tree.victims})
    hurt = f", {_count(victims, 'victim flow')}" if at_ns is None else ""
    text = (
        f"{run.scheme} (seed {run.row['seed']}{several}): {_count(pauses, 'PAUSE')}{when}, "
        f"{_count(len(trees), 'congestion tree')}{hurt}"
    )
    if (since := run.row.get("deadlock_began_ns")) is not None:
        text += f"; a deadlock ended the run at {time(run.row['simulated_ns'])}"
    if cycle := account.deadlock(trees):
        began = f" since {time(since)}" if since is not None else ""
        return f"Deadlock {cycle}{began}. {text}"
    return text


def _tree(
    result: Result, run: Run, tree: Tree, title: str, columns: int, at_ns: float | None
) -> Iterator[str]:
    link = _rates(run).get(tree.root, 0)
    speed = f", {rate(link)}" if link else ""
    yield textual.wrapped(f"{title}{speed}: {_when(tree)}", columns)
    body = [
        f"{_count(tree.pauses, 'PAUSE')}, {time(tree.paused_ns)} in total on "
        f"{_count(tree.links, 'link')}, {_count(tree.hosts, 'host')} paused. {_sure(tree)}"
    ]
    if tree.inputs[0] and tree.kind != "cycle":
        body.append(
            f"Filled by {_count(tree.inputs[2], 'host')} over {_count(tree.inputs[0], 'port')} "
            f"({rate(tree.inputs[1])} combined); "
            f"{size(tree.queue_bytes)} in the queue."
        )
    if tree.cycle:
        body.append("Each waits for the next: " + ", ".join(map(str, [*tree.cycle, tree.cycle[0]])))
    if tree.lost:
        body.append(_lost(tree))
    for text in body:
        yield _indented(text, columns)
    yield from _stops(tree.stops, columns)
    for text in (*_culprits(tree), *_victims(tree, at_ns)):
        yield _indented(text, columns)
    yield _indented(f"Could help: {_adviser(result, run)(tree)}.", columns)


def _adviser(result: Result, run: Run) -> Callable[[Tree], str]:
    """Says of trees of a run what could help."""
    return advice.of_run(result, run)


def _when(tree: Tree) -> str:
    start, end = tree.episodes[0][0], tree.episodes[-1][1]
    several = f" in {len(tree.episodes)} episodes" if len(tree.episodes) > 1 else ""
    return f"{time(start)} to {time(end)}{several}"


def _lost(tree: Tree) -> str:
    lost = f"{tree.lost:,} frame{'s were' if tree.lost > 1 else ' was'} lost after XOFF"
    if tree.expired:
        ran_out = _count(tree.expired, "PAUSE")
        return (
            f"{ran_out} ran out while the ingress was still full, and were not sent again: {lost}."
        )
    return f"Headroom too small: {lost}."


def _sure(tree: Tree) -> str:
    there = f"{100 * tree.share:.0f} % of the bytes lead there"
    if tree.sure < CERTAIN:
        there += f", {100 * tree.sure:.0f} % of them for this reason"
    if tree.is_certain:
        return f"Certain: {there}."
    return f"{'Likely' if tree.is_likely else 'Perhaps'}: {there}."


def _stops(stops: Sequence[Stop], columns: int, before: str = "   ") -> Iterator[str]:
    shown = list(stops[:_MOST_STOPS]) if len(stops) > _MOST_STOPS + 1 else list(stops)
    rest = stops[len(shown) :]
    for at, stop in enumerate(shown):
        last = at == len(shown) - 1 and not rest
        what = f"{_count(stop.pauses, 'time')}, {time(stop.paused_ns)}"
        text = f"{stop.pauser} paused {stop.stopped} {what}"
        yield f"{before}{'└─' if last else '├─'} {text}"[:columns]
        yield from _stops(stop.below, columns, before + ("   " if last else "│  "))
    if rest:
        pausers = sorted({stop.pauser for stop in rest})
        who = pausers[0] if len(pausers) == 1 else f"{len(pausers)} switches"
        longest = time(max(stop.paused_ns for stop in rest))
        total = sum(1 for _ in every_stop(rest))
        text = f"{who} paused {len(rest)} more, up to {longest} each"
        further = f", {total - len(rest)} below them" if total > len(rest) else ""
        yield f"{before}└─ {text}{further}"[:columns]


def _culprits(tree: Tree) -> Iterator[str]:
    if not tree.culprits:
        return
    parts = []
    for it in tree.culprits[:_MOST_FLOWS]:
        who = f"{it.traffic}" + (
            f" ({_count(it.flows, 'flow')} of {_count(len(it.sources), 'host')})"
            if it.flows > 1
            else f" ({it.sources[0]})"
        )
        parts.append(f"{who} {100 * it.share:.0f} %")
    more = sum(it.share for it in tree.culprits[_MOST_FLOWS:]) + tree.others
    if more >= 0.005:
        parts.append(f"other flows {100 * more:.0f} %")
    yield f"In its queue: {', '.join(parts)}."


def _victims(tree: Tree, at_ns: float | None) -> Iterator[str]:
    if not tree.victims:
        return
    parts = [
        f"{it.traffic} ({it.src} -> {it.dst}) {_waited([it], ', {} not sent')}"
        for it in tree.victims[:_MOST_FLOWS]
    ]
    rest = tree.victims[_MOST_FLOWS:]
    if rest:
        parts.append(f"{len(rest)} more waited {time(sum(it.waited_ns for it in rest))} in total")
    whole = " in the whole run" if at_ns is not None else ""
    yield f"{_count(len(tree.victims), 'victim')}{whole}: {'; '.join(parts)}."


def _waited(victims: Sequence[Victim], unsent: str) -> str:
    """For how long they waited, and what their hosts did not send, if they were paused."""
    text = f"waited {time(sum(it.waited_ns for it in victims))}"
    total = sum(it.unsent_bytes for it in victims)
    return text + (unsent.format(size(total)) if total else "")


def _schemes(run: Run, trees: Sequence[Tree], every: Mapping[str, list[Tree]]) -> Summary:
    """A row for each scheme: of each tree of the one told of, what it became."""
    heads = ["scheme", "PAUSEs"]
    for where in account.places(run, trees):
        heads += [f"{where}: paused", "victims' wait"]
    rows = []
    for scheme, found in every.items():
        row = [scheme, f"{sum(tree.pauses for tree in found):,}"]
        for tree in trees:
            same = [it for it in found if account.same(it, tree)]
            waited = sum(victim.waited_ns for it in same for victim in it.victims)
            stopped = sum(it.paused_ns for it in same)
            row += [time(stopped), time(waited)]
        rows.append(row)
    return Summary(heads, rows)


def of_port(run: Run, egress: Egress, columns: int, at_ns: float | None) -> Iterator[str]:
    """Why an egress was stopped: by how many PAUSEs, of which trees.

    Raises:
        ResultError: nothing is known of such a port.
    """
    known = _rates(run)
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
    when = f" at {time(at_ns)}" if at_ns is not None else ""
    if not found:
        yield f"{run.scheme}: {egress} was never paused{when}."
        return
    for tree, root, way in found:
        stop = way[-1]
        chain = " because ".join(f"{it.pauser} paused {it.stopped}" for it in reversed(way))
        # A root that opens with PAUSE or with a switch's name keeps its capital.
        root = root if root[:2].isupper() or tree.kind == "switch" else root[0].lower() + root[1:]
        yield textual.wrapped(
            f"{run.scheme}: {egress} was paused{when} {_count(stop.pauses, 'time')} for "
            f"{time(stop.paused_ns)}, {_when(tree)}: {chain}; root: {root}. {_sure(tree)}",
            columns,
        )
        for text in _culprits(tree):
            yield _indented(text, columns)


def _way(stops: Sequence[Stop], egress: Egress) -> list[Stop]:
    """From the root down to the stop of an egress."""
    for stop in stops:
        if (stop.stopped, stop.pauser) == egress:
            return [stop]
        if way := _way(stop.below, egress):
            return [stop, *way]
    return []


def of_flow(run: Run, name: str, columns: int, at_ns: float | None) -> Iterator[str]:
    """What a flow, or the flows of a traffic entry, waited for, and what they filled.

    Raises:
        ResultError: there is no such flow.
    """
    flows = causes.flows_named(run, name)
    if not flows.num_rows:
        entries = pc.unique(run.columns("flows", ["traffic"]).column("traffic")).to_pylist()
        raise ResultError(f"no flow {name!r}; entries are {', '.join(map(str, entries[:12]))}")
    ours = set(flows.column("flow_id").to_pylist())
    traffic = flows.column("traffic")[0].as_py()
    who = f"{name} ({_count(len(ours), 'flow')})" if len(ours) > 1 else (
        f"{traffic} ({flows.column('src')[0].as_py()} -> {flows.column('dst')[0].as_py()})"
    )  # fmt: skip
    innocent = True
    trees = account.trees(run, at_ns)
    for tree, root in zip(trees, account.titles(run, trees), strict=True):
        waits = [victim for victim in tree.victims if victim.flow_id in ours]
        if waits:
            innocent = False
            many = f"{len(waits)} of them " if len(ours) > 1 else ""
            whose = "their" if len(waits) > 1 else "its"
            yield textual.wrapped(
                f"{run.scheme}: {who}: {many}{_waited(waits, ' ({} not sent)')} because of "
                f"congestion that is not on {whose} path: {root}, {_when(tree)}. {_sure(tree)}",
                columns,
            )
        of_entry = next((it for it in tree.culprits if it.traffic == traffic), None)
        flow = None if name == traffic else min(ours)
        if of_entry is not None and (part := account.part_of_queue(who, of_entry, flow)):
            innocent = False
            yield textual.wrapped(
                f"{run.scheme}: {part} of the queue at {tree.root} ({root}), {_when(tree)}.",
                columns,
            )
    if innocent:
        yield textual.wrapped(f"{run.scheme}: {who} waited for no PAUSE and caused none.", columns)


def as_json(result: Result, runs: Sequence[Run], at_ns: float | None) -> dict[str, Any]:
    """All trees of each of `runs`, with everything known of them."""
    return {
        "runs": [
            {
                "run": run.run,
                "scheme": run.scheme,
                "trees": trees_as_json(result, run, at_ns),
                "late": lateness.as_json(run),
            }
            for run in runs
        ]
    }


def trees_as_json(result: Result, run: Run, at_ns: float | None) -> list[dict[str, Any]]:
    """The trees of a run."""
    trees, advised = [], _adviser(result, run)
    found = account.trees(run, at_ns)
    names = zip(account.titles(run, found), account.places(run, found), strict=True)
    for tree, (title, place) in zip(found, names, strict=True):
        table = {"title": title, "place": place, **asdict(tree)}
        table["root"], table["cycle"] = str(tree.root), [str(it) for it in tree.cycle]
        table["certain"], table["likely"] = tree.is_certain, tree.is_likely
        table["advice"] = advised(tree)
        trees.append(table)
    return trees


def _rates(run: Run) -> dict[Egress, int]:
    table = run.columns("ports", ["node", "peer", "rate_bps"])
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return {Egress(node, peer): bps for node, peer, bps in rows}


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _indented(text: str, columns: int) -> str:
    return "\n".join("   " + line for line in textual.wrapped(text, columns - 3).split("\n"))


def _time_ns(text: str) -> float:
    found = _native.in_base_unit(text)
    if found is None or found[0] != "_ns":
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 3.2ms")
    _, numerator, denominator = found
    return numerator / denominator


def _egress(text: str) -> Egress:
    try:
        return Egress(*series.ends(text))
    except series.Unavailable as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="unpause explain", description="Say who was stopped, by whom, and where that began."
    )
    parser.add_argument("directory", type=Path, help="of a result")
    parser.add_argument("--at", type=_time_ns, help="only what was in force then, such as 3.2ms")
    parser.add_argument("--port", type=_egress, help="why this egress was stopped, such as S0->H1")
    parser.add_argument("--flow", help="of this flow: its number, or a traffic entry")
    parser.add_argument("--scheme", help="only this one")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    parser.add_argument("--width", type=int, help="columns of what is printed")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m unpause.explain``; answers the exit code."""
    options = _parser().parse_args(arguments)
    columns = textual.width(options.width)
    try:
        result = stopped(options.directory) or load(options.directory)
        needed(result)
        runs = the_runs(result, options.scheme)
        if options.json:
            print(json.dumps(as_json(result, runs, options.at), default=plain))
        elif options.port is not None or options.flow is not None:
            for run in runs:
                told = (
                    of_port(run, options.port, columns, options.at)
                    if options.port is not None
                    else of_flow(run, options.flow, columns, options.at)
                )
                for line in told:
                    print(line)
        else:
            for line in lines(result, runs, columns, options.at):
                print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read it has seen enough.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def plain(value: Any) -> Any:
    """What JSON does not know as what it knows."""
    return value.item() if isinstance(value, np.generic) else str(value)


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
