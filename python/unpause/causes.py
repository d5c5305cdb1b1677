"""Congestion trees of a run: tables `causes` and `victims`, put together by where they began.

A *tree* is all PAUSEs of one priority with the same root (docs/explain.md). In it a *stop* is a
link that was stopped: all PAUSEs that one switch sent to one neighbour. A stop hangs below the one
that most of its PAUSEs followed from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import schema, series
from unpause.result import Result, Run

#: A root is certain if that part of the bytes leads there, and that part for one reason.
CERTAIN = 0.9
#: Below this it is one of several places.
LIKELY = 0.6
#: PAUSEs of a root further apart than this are of another episode.
APART_NS = 250_000.0


class Egress(NamedTuple):
    """An egress port: node and the node at the other end; None for a host or whole switch."""

    node: str
    peer: str | None

    def __str__(self) -> str:
        return f"{self.node}->{self.peer}" if self.peer else self.node


@dataclass
class Stop:
    """All PAUSEs of a tree from one switch to one neighbour.

    Attributes:
        pauser: Who sent them.
        stopped: Who was stopped.
        pauses: How many.
        time_ns: XOFF to XON, added up.
        below: The stops that followed from these, longest first.
    """

    pauser: str
    stopped: str
    pauses: int
    time_ns: float
    below: list[Stop] = field(default_factory=list)


@dataclass(frozen=True)
class Culprit:
    """Flows of a traffic entry that filled the root: which part of its queue was theirs."""

    traffic: str
    flows: int
    share: float
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Victim:
    """A flow that waited for a root that is not on its way."""

    flow_id: int
    traffic: str
    src: str
    dst: str
    waited_ns: float
    unsent_bytes: int


@dataclass(frozen=True)
class Tree:
    """All PAUSEs of one root.

    Attributes:
        root: Where they began.
        kind: What was there, as `root_kind` of the table.
        share: Which part of the bytes leads there.
        sure: Which part of the PAUSEs says that the root is of this kind.
        priority: That was stopped.
        episodes: From when until when, ns.
        pauses: Transitions to XOFF.
        stopped_ns: XOFF to XON, added up over all links.
        hosts: Hosts that were stopped.
        links: Links that were stopped.
        stops: What the root stopped, with what followed.
        lost: Frames that found no headroom meanwhile.
        inputs: Most ports that filled the root at once, their rate in bit/s, hosts behind them.
        queue_bytes: Longest queue seen there.
        culprits: Largest share first.
        others: The part of the queue that is of flows that are not told of by name.
        victims: Longest waits first.
        cycle: The egresses that wait for one another, if that is the root.
    """

    root: Egress
    kind: str
    share: float
    sure: float
    priority: int
    episodes: list[tuple[float, float]]
    pauses: int
    stopped_ns: float
    hosts: int
    links: int
    stops: list[Stop]
    lost: int
    inputs: tuple[int, float, int]
    queue_bytes: int
    culprits: list[Culprit]
    others: float
    victims: list[Victim]
    cycle: list[Egress]

    @property
    def is_certain(self) -> bool:
        """Whether nearly all that was seen says so."""
        return self.share >= CERTAIN and self.sure >= CERTAIN

    @property
    def is_likely(self) -> bool:
        """Whether most of what was seen says so."""
        return self.share >= LIKELY and self.sure >= LIKELY

    @property
    def harm(self) -> tuple[bool, float, float]:
        """By what trees are ordered: deadlocks first, then waits of victims, then standstill."""
        waited = sum(victim.waited_ns for victim in self.victims)
        return self.kind == "cycle", waited, self.stopped_ns


_NAMES = ("node", "peer", "root_kind", "root_node", "root_peer", "egress_peer")
_NUMBERS = (
    "cause_id",
    "priority",
    "time_ns",
    "until_ns",
    "held_bytes",
    "dropped_packets",
    "root_share",
    "seen_ns",
    "egress_bytes",
    "egress_queue_bytes",
    "egress_inputs",
    "egress_input_bps",
    "egress_senders",
    "egress_is_paused",
    "paused_by",
    "flow_id",
    "flows",
    "flow_bytes",
    "flow_queue_bytes",
)


class Causes:
    """Table `causes` of a run as arrays, rows as there; of names, their numbers and the names."""

    def __init__(self, run: Run) -> None:
        table = run.columns("causes", [*_NAMES, *_NUMBERS])
        self.run = run
        self.rows = table.num_rows
        self.numbers = {name: series.column(table, name) for name in _NUMBERS}
        self.codes: dict[str, np.ndarray] = {}
        self.names: dict[str, list[Any]] = {}
        for name in _NAMES:
            self.codes[name], self.names[name] = coded(table, name)
        ids = self.numbers["cause_id"]
        #: The first row of each PAUSE.
        self.first = (
            np.flatnonzero(np.diff(ids, prepend=-1.0) != 0) if self.rows else np.empty(0, int)
        )
        self.is_seen = self.numbers["seen_ns"] == self.numbers["time_ns"]
        order = np.lexsort([self.codes["egress_peer"], ids])
        #: One row for each egress that a PAUSE tells of, at the time of XOFF.
        keys = np.column_stack([ids, self.codes["egress_peer"], ~self.is_seen])[order]
        new = np.any(np.diff(keys, axis=0, prepend=-1.0) != 0, axis=1) if self.rows else []
        holders = np.sort(order[np.asarray(new, dtype=bool)]) if self.rows else np.empty(0, int)
        self.holders = holders[self.is_seen[holders]] if self.rows else holders

    def name(self, column: str, row: int) -> Any:
        """The value of a column of names."""
        return self.names[column][self.codes[column][row]]

    def is_at(self, egress: Egress) -> np.ndarray:
        """By row whether it tells of this egress."""
        node = np.array([name == egress.node for name in self.names["node"]], dtype=bool)
        peer = np.array([name == egress.peer for name in self.names["egress_peer"]], dtype=bool)
        return node[self.codes["node"]] & peer[self.codes["egress_peer"]]


def coded(table: pa.Table, name: str) -> tuple[np.ndarray, list[Any]]:
    """A column of names as numbers, and the name of each; None is one of them."""
    values = table.column(name)
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    array = values.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    names = array.dictionary.to_pylist()
    indices = series.with_nan(array.indices.cast(pa.float64()))
    return np.nan_to_num(indices, nan=len(names)).astype(int), [*names, None]


def are_there(result: Result) -> bool:
    """Whether the result was asked to say why."""
    return bool(result.scenario.get("probes", {}).get("causes"))


def is_older(result: Result) -> bool:
    """Whether the version that wrote the result could not."""
    there = getattr(result.tables, "is_there", None)
    return there is not None and not all(there(name) for name in schema.LATER)


def of_run(run: Run, at_ns: float | None = None) -> list[Tree]:
    """The trees of a run, most harm first; of PAUSEs that were in force at `at_ns`, if given."""
    if not run.columns("causes", ["cause_id"]).num_rows:
        return []
    causes = Causes(run)
    first = causes.first
    if at_ns is not None:
        in_force = causes.numbers["time_ns"][first] <= at_ns
        first = first[in_force & (at_ns < causes.numbers["until_ns"][first])]
    known = [
        [causes.codes["root_node"][first], causes.codes["root_peer"][first]],
        [causes.numbers["priority"][first]],
    ]
    keys = np.column_stack([*known[0], *known[1]]) if len(first) else np.empty((0, 3))
    flows = _Flows(run)
    waits = _victims(run, flows)
    hosts = flows.hosts
    found = []
    for key in np.unique(keys, axis=0):
        rows = first[np.all(keys == key, axis=1)]
        if causes.name("root_node", rows[0]) is None:
            continue
        found.append(_tree(causes, rows, flows, hosts, waits))
    return sorted(found, key=lambda tree: tree.harm, reverse=True)


def _tree(
    causes: Causes,
    first: np.ndarray,
    flows: _Flows,
    hosts: set[str],
    waits: dict[tuple[Egress, int], list[Victim]],
) -> Tree:
    root = Egress(causes.name("root_node", first[0]), causes.name("root_peer", first[0]))
    priority = int(causes.numbers["priority"][first[0]])
    start, until = (causes.numbers[name][first] for name in ("time_ns", "until_ns"))
    weights = np.maximum(causes.numbers["held_bytes"][first], 1)
    share = float(np.average(causes.numbers["root_share"][first], weights=weights))
    kinds = np.bincount(causes.codes["root_kind"][first], weights=weights)
    kind = int(np.argmax(kinds))
    stops = _stops(causes, first)
    every = list(every_stop(stops))
    at_root = _at_root(causes, first, root)
    culprits, others = _culprits(causes, at_root, flows, root)
    numbers = {name: causes.numbers[name][at_root] for name in causes.numbers}
    largest = int(np.argmax(numbers["egress_senders"])) if len(at_root) else -1
    return Tree(
        root=root,
        kind=causes.names["root_kind"][kind],
        share=share,
        sure=float(kinds[kind] / np.sum(kinds)),
        priority=priority,
        episodes=_episodes(start, until),
        pauses=len(first),
        stopped_ns=float(np.sum(until - start)),
        hosts=len({stop.stopped for stop in every} & hosts),
        links=len(every),
        stops=stops,
        lost=int(np.sum(causes.numbers["dropped_packets"][first])),
        inputs=(
            (
                int(numbers["egress_inputs"][largest]),
                float(numbers["egress_input_bps"][largest]),
                int(numbers["egress_senders"][largest]),
            )
            if largest >= 0
            else (0, 0.0, 0)
        ),
        queue_bytes=int(np.max(numbers["egress_queue_bytes"], initial=0)),
        culprits=culprits,
        others=others,
        victims=waits.get((root, priority), []),
        cycle=_cycle(causes, first, root) if causes.names["root_kind"][kind] == "cycle" else [],
    )


def _episodes(start: np.ndarray, until: np.ndarray) -> list[tuple[float, float]]:
    """From when until when, PAUSEs less than :data:`APART_NS` apart together."""
    order = np.argsort(start, kind="stable")
    start, until = start[order], np.maximum.accumulate(until[order])
    new = np.flatnonzero(start[1:] > until[:-1] + APART_NS) + 1
    begins = np.concatenate([[0], new]).astype(int)
    ends = np.concatenate([new - 1, [len(start) - 1]]).astype(int)
    return [(float(start[b]), float(until[e])) for b, e in zip(begins, ends, strict=True)]


def _stops(causes: Causes, first: np.ndarray) -> list[Stop]:
    """Who stopped whom, each below the one that most of its PAUSEs followed from."""
    ids = causes.numbers["cause_id"]
    link_of: dict[int, tuple[str, str]] = {}
    found: dict[tuple[str, str], Stop] = {}
    lasted = causes.numbers["until_ns"] - causes.numbers["time_ns"]
    for row in first:
        link = (causes.name("node", row), causes.name("peer", row))
        link_of[int(ids[row])] = link
        stop = found.setdefault(link, Stop(*link, 0, 0.0))
        stop.pauses += 1
        stop.time_ns += float(lasted[row])
    followed: dict[tuple[str, str], Counter[tuple[str, str] | None]] = {}
    ours = causes.holders[np.isin(ids[causes.holders], ids[first])]
    for row in ours:
        link = link_of[int(ids[row])]
        by = causes.numbers["paused_by"][row]
        above = None if np.isnan(by) else link_of.get(int(by))
        votes = followed.setdefault(link, Counter())
        votes[above] += int(causes.numbers["egress_bytes"][row])
    above_of = {link: _most(votes, link) for link, votes in followed.items()}
    top = []
    for link, stop in found.items():
        above = above_of.get(link)
        if above is None or _leads_back(above_of, link):
            top.append(stop)
        else:
            found[above].below.append(stop)
    for stop in found.values():
        stop.below.sort(key=lambda it: -it.time_ns)
    return sorted(top, key=lambda it: (-it.time_ns, -len(it.below)))


def _most(votes: Counter[tuple[str, str] | None], own: tuple[str, str]) -> tuple[str, str] | None:
    """What most bytes followed from, if it is anything at all."""
    known = [(count, link) for link, count in votes.items() if link is not None and link != own]
    return max(known)[1] if known else None


def _leads_back(above_of: dict[tuple[str, str], Any], link: tuple[str, str]) -> bool:
    """Whether following goes round; of those on the way round the first by name is the top."""
    seen = [link]
    above = above_of.get(link)
    while above is not None and above not in seen:
        seen.append(above)
        above = above_of.get(above)
    return above is not None and link == min(seen[seen.index(above) :])


def every_stop(stops: Iterable[Stop]) -> Iterator[Stop]:
    """All of them, and all below."""
    for stop in stops:
        yield stop
        yield from every_stop(stop.below)


def _at_root(causes: Causes, first: np.ndarray, root: Egress) -> np.ndarray:
    """Of these PAUSEs, the rows of the root's own egress queue."""
    ids = causes.numbers["cause_id"]
    ours = causes.holders[np.isin(ids[causes.holders], ids[first])]
    return ours[causes.is_at(root)[ours]]


class _Flows:
    """Table `flows` by number of the flow."""

    def __init__(self, run: Run) -> None:
        names = ("traffic", "src", "dst")
        table = run.columns("flows", ["flow_id", *names, "start_ns", "fct_ns", "priority"])
        self.coded = {name: coded(table, name) for name in names}
        ids = series.column(table, "flow_id")
        assert np.array_equal(ids, np.arange(len(ids))), "flows are in order of their numbers"
        self.start = series.column(table, "start_ns")
        self.end = self.start + series.column(table, "fct_ns")
        self.hosts: set[str] = {*self.coded["src"][1], *self.coded["dst"][1]}

    def to(self, root: Egress, causes: Causes, at_root: np.ndarray) -> np.ndarray:
        """By traffic entry how many flows went to the host behind `root` while it was seen."""
        codes, names = self.coded["dst"]
        if root.peer not in names:
            # Any flow may have gone to a switch.
            return np.full(len(self.coded["traffic"][1]), np.inf)
        times = causes.numbers["time_ns"][at_root]
        alive = (self.start <= times.max()) & ~(self.end < times.min())
        alive &= codes == names.index(root.peer)
        entries = self.coded["traffic"]
        return np.bincount(entries[0][alive], minlength=len(entries[1]))

    def name(self, column: str, flow: int) -> str:
        codes, names = self.coded[column]
        return str(names[codes[flow]])


def _culprits(
    causes: Causes, at_root: np.ndarray, flows: _Flows, root: Egress
) -> tuple[list[Culprit], float]:
    """By traffic entry whose bytes were in the queue of the root; what part nobody is named for."""
    ids = causes.numbers["cause_id"]
    wanted = np.isin(ids, ids[at_root]) & causes.is_seen & causes.is_at(root)
    wanted = np.flatnonzero(wanted)
    bytes_of = causes.numbers["flow_queue_bytes"][wanted]
    total = float(np.sum(bytes_of))
    if not total:
        return [], 0.0
    flow = causes.numbers["flow_id"][wanted]
    named = ~np.isnan(flow)
    flow_of = flow[named].astype(int)
    of_flow = np.bincount(flow_of, weights=bytes_of[named], minlength=len(flows.start))
    codes, names = flows.coded["traffic"]
    entries = len(names)
    of_entry = np.bincount(codes, weights=of_flow, minlength=entries)
    # Bytes of flows without a name, where all that they can be of is one entry.
    _, seen = np.unique(ids[wanted], return_inverse=True)
    told = np.bincount(seen[named] * entries + codes[flow_of], minlength=(seen[-1] + 1) * entries)
    there = flows.to(root, causes, at_root)
    open_entries = told.reshape(-1, entries) < there
    only = np.where(open_entries.sum(axis=1) == 1, open_entries.argmax(axis=1), entries)
    unnamed = np.bincount(only[seen[~named]], weights=bytes_of[~named], minlength=entries + 1)
    of_entry = of_entry + unnamed[:entries]
    found = []
    for number in np.flatnonzero(of_entry > 0):
        ours = np.flatnonzero((codes == number) & (of_flow > 0))
        sources = sorted({flows.name("src", it) for it in ours})
        part = float(of_entry[number]) / total
        found.append(Culprit(str(names[number]), len(ours), part, tuple(sources)))
    found.sort(key=lambda it: -it.share)
    return found, float(unnamed[entries]) / total


def _victims(run: Run, flows: _Flows) -> dict[tuple[Egress, int], list[Victim]]:
    names = ["flow_id", "priority", "root_node", "root_peer", "waited_ns", "unsent_bytes"]
    found: dict[tuple[Egress, int], list[Victim]] = {}
    for row in run.columns("victims", names).to_pylist():
        flow = row["flow_id"]
        victim = Victim(
            flow,
            *(flows.name(column, flow) for column in ("traffic", "src", "dst")),
            row["waited_ns"],
            row["unsent_bytes"],
        )
        root = Egress(row["root_node"], row["root_peer"])
        found.setdefault((root, row["priority"]), []).append(victim)
    for victims in found.values():
        victims.sort(key=lambda it: (-it.waited_ns, it.flow_id))
    return found


def _cycle(causes: Causes, first: np.ndarray, root: Egress) -> list[Egress]:
    """From the root along what stopped each, until it is there again."""
    ids = causes.numbers["cause_id"]
    last = np.flatnonzero(~causes.is_seen & np.isin(ids, ids[first]))
    by_cause: dict[int, list[int]] = {}
    for row in last:
        by_cause.setdefault(int(ids[row]), []).append(int(row))
    at = next(
        (
            row
            for row in last
            if Egress(causes.name("node", row), causes.name("egress_peer", row)) == root
        ),
        None,
    )
    found: list[Egress] = []
    while at is not None:
        egress = Egress(causes.name("node", at), causes.name("egress_peer", at))
        if egress in found:
            break
        found.append(egress)
        by = causes.numbers["paused_by"][at]
        following = [] if np.isnan(by) else by_cause.get(int(by), [])
        at = max(following, key=lambda row: causes.numbers["egress_bytes"][row], default=None)
    return found


def flows_named(run: Run, name: str) -> pa.Table:
    """The flows whose number or traffic entry is `name`."""
    table = run.table("flows")
    if name.isdigit():
        return table.filter(pc.equal(table.column("flow_id"), int(name)))
    return table.filter(pc.equal(table.column("traffic"), name))
