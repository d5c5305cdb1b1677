"""What a flow, or the flows of a traffic entry, waited for, and what they filled, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import printed
from unpause.data import lives, series
from unpause.data.fabric import Fabric, Pairs
from unpause.data.result import Run
from unpause.explanation import account, causes, chosen, delays, held, messages, predecessors
from unpause.explanation.tree_lines import sure, waited, when
from unpause.explanation.trees import Tree
from unpause.text import plural, time, were

#: At most this many paused links are named.
_MOST_LINKS = 3


def lines(run: Run, name: str, columns: int, at_ns: float | None) -> Iterator[str]:
    """Everything that is known of a flow, by number, of an entry, of a job or of a message."""
    several = len(run.result.runs_of(run.scheme)) > 1
    who = chosen.run_name(run) if several else run.scheme
    for text in sentences(run, name, at_ns):
        yield printed.wrapped(f"{who}: {text}", columns)


def sentences(run: Run, name: str, at_ns: float | None) -> Iterator[str]:
    """The same without the name of the run; :func:`chosen.with_flow` says which runs have it."""
    if (message := messages.parsed(name)) is not None:
        yield from messages.sentences(run, *message)
        name = str(message[0])
    flows = causes.flows_named(run, name)
    if not flows.num_rows:
        yield from filter(None, [predecessors.waiting(run, name)])
        return
    if at_ns is None and message is None and delays.are_there(run):
        yield from _delays(run, flows)
    yield from _told(run, name, flows, at_ns)


def _delays(run: Run, flows: pa.Table) -> Iterator[str]:
    """Where the time of a flow went, of the slowest flows of an entry, or of messages."""
    yield from messages.of_connections(run, flows)
    if flows.num_rows > 1:
        yield from delays.of_entry(run, flows)
        return
    delay = delays.of_flow(run, flows.column("flow_id")[0].as_py())
    if delay is not None:
        yield from delays.sentences(run, delay)
        yield from predecessors.started(run, delay.flow)


def _told(run: Run, name: str, flows: pa.Table, at_ns: float | None) -> Iterator[str]:
    ours = set(flows.column("flow_id").to_pylist())
    traffic = flows.column("traffic")[0].as_py()
    who = f"{name} ({plural(len(ours), 'flow')})" if len(ours) > 1 else (
        f"{traffic} ({flows.column('src')[0].as_py()} -> {flows.column('dst')[0].as_py()})"
    )  # fmt: skip
    had_part = False
    trees = account.trees(run, at_ns)
    for tree, root in zip(trees, account.titles(run, trees), strict=True):
        waits = [victim for victim in tree.victims if victim.flow_id in ours]
        if waits:
            had_part = True
            many = f"{len(waits)} of them " if len(ours) > 1 else ""
            whose = "their" if len(waits) > 1 else "its"
            yield (
                f"{who}: {many}{waited(waits, ' ({} not sent)')} because of "
                f"congestion that is not on {whose} path: {root}, {when(tree)}. {sure(tree)}"
            )
        of_entry = next((it for it in tree.culprits if it.traffic == traffic), None)
        flow = None if name == traffic else min(ours)
        if of_entry is not None and (part := account.part_of_queue(who, of_entry, flow)):
            had_part = True
            yield f"{part} of the queue at {tree.root} ({root}), {when(tree)}."
        if used := _other_priorities(run, flows, tree):
            had_part = True
            yield f"{who} used {tree.root} in {used} meanwhile ({root}), {when(tree)}."
    if not had_part:
        yield _without_part(run, who, flows, at_ns)
        return
    for text in _of_acks(held.of_flows(run, flows, at_ns), flows, at_ns):
        yield f"{who}: {text[0].lower()}{text[1:]}"


def _other_priorities(run: Run, flows: pa.Table, tree: Tree) -> str:
    """The priority of flows that kept a busy link from the one whose queue is the root."""
    if tree.kind != "busy":
        return ""
    other = flows.filter(pc.not_equal(flows.column("priority"), tree.priority))
    start, end = series.column(other, "start_ns"), lives.ends_ns(run, other)
    meanwhile = np.zeros(other.num_rows, dtype=bool)
    for begin, until in tree.episodes:
        meanwhile |= (start < until) & (end > begin)
    other = other.filter(pa.array(meanwhile))
    fabric = Fabric.of(run)
    if not other.num_rows or not fabric.searchable:
        return ""
    ends = list(zip(other["src"].to_pylist(), other["dst"].to_pylist(), strict=True))
    pairs = Pairs(fabric, ends)
    at_root = [it for it in fabric.ports if (it.node, it.peer) == tree.root]
    crosses = np.any([pairs.crossed(port)[0] for port in at_root], axis=0)
    priorities = other["priority"].to_pylist()
    found = sorted({it for it, on in zip(priorities, crosses, strict=True) if on})
    if not found:
        return ""
    return f"priorit{'y' if len(found) == 1 else 'ies'} {', '.join(map(str, found))}"


def _without_part(run: Run, who: str, flows: pa.Table, at_ns: float | None) -> str:
    """Of flows that are no victims, and not named at the root of a tree."""
    its, meanwhile = _words(flows, at_ns)
    filled, every, unnamed = _filled(run, flows, at_ns)
    paused = held.of_flows(run, flows, at_ns)
    parts = []
    if filled:
        those = f"{filled:,} of {plural(every, 'PAUSE')} {were(filled)} sent"
        parts.append(f"{those} by ingresses that held {its} packets.")
    elif unnamed:
        parts.append(f"Whether a PAUSE was sent for {its} packets is not recorded.")
    for is_sure in (True, False):
        links = [it for it in paused if not it.acks and it.is_sure == is_sure]
        if links:
            path = f"On {its} path" if is_sure else f"On paths that {its} packets may have taken"
            parts.append(f"{path}, {_paused(links, at_ns)} {meanwhile}.")
    parts += _of_acks(paused, flows, at_ns)
    if not parts:
        return f"{who} waited for no PAUSE, and none was sent for {its} packets."
    known = "" if account.all_led_somewhere(run) else ", as far as PAUSE can be followed"
    return " ".join([f"{who} waited for no congestion off {its} path{known}.", *parts])


def _of_acks(paused: list[held.Held], flows: pa.Table, at_ns: float | None) -> Iterator[str]:
    """What paused links held ACKs, of which nothing else is recorded."""
    its, meanwhile = _words(flows, at_ns)
    acks = [it for it in paused if it.acks]
    if acks:
        path = "On the path" if all(it.is_sure for it in acks) else "On possible paths"
        yield (
            f"{path} of {its} ACKs, {_paused(acks, at_ns)} {meanwhile}; waits of ACKs are not "
            "counted."
        )


def _words(flows: pa.Table, at_ns: float | None) -> tuple[str, str]:
    """A pronoun, and the time that pauses are counted in."""
    its, it_was = ("their", "they were") if flows.num_rows > 1 else ("its", "it was")
    return its, "at that time" if at_ns is not None else f"while {it_was} active"


def _paused(links: list[held.Held], at_ns: float | None) -> str:
    """Such as "S0->H1 was paused for 750 us and H0->S0 for 711 us"; at a time without how long."""
    shown = links[:_MOST_LINKS]
    more = [plural(len(links) - len(shown), "more link")] if len(links) > len(shown) else []
    if at_ns is not None:
        names = [*(str(it.port) for it in shown), *more]
        return f"{_listed(names)} {were(len(links))} paused"
    first, *rest = (f"for {time(it.ns)}" for it in shown)
    others = [f"{it.port} {how}" for it, how in zip(shown[1:], rest, strict=True)]
    return _listed([f"{shown[0].port} was paused {first}", *others, *more])


def _listed(texts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _filled(run: Run, flows: pa.Table, at_ns: float | None) -> tuple[int, int, bool]:
    """For how many PAUSEs, of how many, an ingress held packets of these flows.

    And whether it may have held some that are counted without their names.
    """
    found = causes.Causes(run)
    numbers = found.numbers
    pauses = np.ones(len(found.pause), dtype=bool)
    if at_ns is not None:
        pauses = (numbers["time_ns"] <= at_ns) & (at_ns < numbers["until_ns"])
    held_any = pauses & found.is_seen & (numbers["flow_bytes"] > 0)
    named = held_any & np.isin(numbers["flow_id"], series.column(flows, "flow_id"))
    rest = held_any & np.isnan(numbers["flow_id"])
    rest &= np.isin(numbers["priority"], series.column(flows, "priority"))
    filled, every = (len(np.unique(numbers["cause_id"][it])) for it in (named, pauses))
    return filled, every, bool(rest.any())
