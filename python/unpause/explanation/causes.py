"""Congestion trees of a run: tables `causes` and `victims`, put together by where they began.

A *tree* is all PAUSEs of one priority with the same root (docs/explain.md). Those of a queue that
stands when the congestion there is long over (:mod:`unpause.explanation.standing`) are a tree of
their own. In a tree a *stop* is a link that was stopped: all PAUSEs that one switch sent to one
neighbour. A stop hangs below the one that most of its PAUSEs followed from.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Result, Run
from unpause.errors import ResultError
from unpause.explanation import lost, standing
from unpause.explanation.cause_rows import Causes
from unpause.explanation.standing import APART_NS
from unpause.explanation.trees import Culprit, Egress, Stop, Tree, Victim, every_stop


def are_there(result: Result) -> bool:
    """Whether the result was asked to say why."""
    return bool(result.scenario.get("probes", {}).get("causes"))


def is_older(result: Result) -> bool:
    """Whether the version that wrote the result could not."""
    there = getattr(result.tables, "is_there", None)
    return there is not None and not all(there(name) for name in ("causes", "victims"))


def of_run(run: Run, at_ns: float | None = None) -> list[Tree]:
    """The trees of a run, most harm first; of PAUSEs that were in force at `at_ns`, if given."""
    if not run.columns("causes", ["cause_id"]).num_rows:
        return []
    causes, flows = Causes(run), _Flows(run)
    first = causes.first
    queue = standing.queues(causes, standing.Sources(run, flows.ids, *flows.coded["src"]))
    if at_ns is not None:
        in_force = causes.numbers["time_ns"][first] <= at_ns
        in_force &= at_ns < causes.numbers["until_ns"][first]
        first, queue = first[in_force], queue[in_force]
    if not len(first):
        return []
    # A cycle of waiting egresses is a tree, even if one of them was also the root of another.
    in_cycle = np.array([kind == "cycle" for kind in causes.names["root_kind"]], dtype=bool)
    keys = np.column_stack(
        [
            causes.codes["root_node"][first],
            causes.codes["root_peer"][first],
            causes.numbers["priority"][first],
            in_cycle[causes.codes["root_kind"][first]],
            *(np.where(queue < 0, -1, causes.codes[it][queue]) for it in ("node", "egress_peer")),
        ]
    )
    waits = _victims(run, flows, _deadlocks(causes, in_cycle))
    found = []
    _, tree = np.unique(keys, axis=0, return_inverse=True)
    in_order = np.argsort(tree.ravel(), kind="stable")
    for ours in np.split(in_order, np.cumsum(np.bincount(tree.ravel()))[:-1]):
        rows, stands = first[ours], int(queue[ours[0]])
        if causes.name("root_node", rows[0]) is None:
            continue
        found.append(_tree(causes, rows, flows, waits, stands if stands >= 0 else None))
    return _in_order(found)


def _in_order(trees: list[Tree]) -> list[Tree]:
    """Most harm first; queues that stand count with the tree that left them, and come after it."""
    found = []
    for tree in trees:
        ours = sorted(_left(tree, trees), key=lambda it: it.episodes[0])
        deadlock, waited, paused = tree.harm
        harm = deadlock, waited, paused + sum(it.paused_ns for it in ours), tree.left_by is None
        found.append((harm, replace(tree, left=[it.root for it in ours])))
    return [tree for _, tree in sorted(found, key=lambda it: it[0], reverse=True)]


def _left(tree: Tree, trees: list[Tree]) -> list[Tree]:
    """The queues that stood when a tree was over."""
    if tree.left_by is not None or tree.kind == "cycle":
        return []
    return [it for it in trees if it.left_by == tree.root and it.priority == tree.priority]


def _tree(
    causes: Causes,
    first: np.ndarray,
    flows: _Flows,
    waits: dict[tuple[Egress, int, bool], list[Victim]],
    stands: int | None,
) -> Tree:
    """The tree of these PAUSEs; of a queue that stands, with a row about it."""
    root = Egress(causes.name("root_node", first[0]), causes.name("root_peer", first[0]))
    left_by = None
    if stands is not None:
        left_by, root = root, Egress(*(causes.name(it, stands) for it in ("node", "egress_peer")))
    priority = int(causes.numbers["priority"][first[0]])
    start, until = (causes.numbers[name][first] for name in ("time_ns", "until_ns"))
    weights = np.maximum(causes.numbers["held_bytes"][first], 1)
    share = float(np.average(causes.numbers["root_share"][first], weights=weights))
    kinds = np.bincount(causes.codes["root_kind"][first], weights=weights)
    kind = int(np.argmax(kinds))
    stops = _stops(causes, first)
    every = [it for it in every_stop(stops) if (it.pauser, it.stopped, priority) in causes.obeyed]
    name = causes.names["root_kind"][kind] if left_by is None else "standing"
    at_root = causes.at(root, causes.holders_of(first), is_nic=name == "nic")
    culprits, others = _culprits(causes, at_root, flows, (root, name == "nic"))
    expired = int(np.sum(causes.numbers["expired"][first]))
    return Tree(
        root=root,
        kind=name,
        share=share,
        sure=float(kinds[kind] / np.sum(kinds)) if left_by is None else 1.0,
        priority=priority,
        episodes=_episodes(start, until),
        pauses=len(first),
        paused_ns=float(np.sum(causes.numbers["paused_ns"][first])),
        hosts=len({stop.stopped for stop in every} & flows.hosts),
        links=len(every),
        stops=stops,
        expired=expired,
        lost=int(np.sum(causes.numbers["dropped_packets"][first])),
        inputs=_inputs(causes, at_root),
        queue_bytes=int(np.max(causes.numbers["egress_queue_bytes"][at_root], initial=0)),
        culprits=culprits,
        others=others,
        victims=[] if left_by else waits.get((root, priority, name == "cycle"), []),
        why_lost=lost.reason(causes.run, _lost(causes, first), priority, expired),
        left_by=left_by,
        cycle=_cycle(causes, first, root) if name == "cycle" else [],
    )


def _lost(causes: Causes, first: np.ndarray) -> dict[tuple[str, str], int]:
    """Frames that were lost after XOFF, by who sent it to whom."""
    found: Counter[tuple[str, str]] = Counter()
    dropped = causes.numbers["dropped_packets"]
    for row in first[dropped[first] > 0]:
        found[causes.name("node", row), causes.name("peer", row)] += int(dropped[row])
    return found


def _inputs(causes: Causes, at_root: np.ndarray) -> tuple[int, float, int]:
    """Ports that filled the root, their rate, hosts behind them, when these were most."""
    if not len(at_root):
        return 0, 0.0, 0
    largest = at_root[int(np.argmax(causes.numbers["egress_senders"][at_root]))]
    inputs, rate, senders = (
        causes.numbers[name][largest]
        for name in ("egress_inputs", "egress_input_bps", "egress_senders")
    )
    return int(inputs), float(rate), int(senders)


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
    ids = causes.numbers["cause_id"][first]
    codes = causes.codes["node"][first] * len(causes.names["peer"]) + causes.codes["peer"][first]
    _, at, link = np.unique(codes, return_index=True, return_inverse=True)
    names = [(causes.name("node", row), causes.name("peer", row)) for row in first[at]]
    held = causes.numbers["paused_ns"][first]
    pauses, times = np.bincount(link), np.bincount(link, weights=held)
    found = {
        names[it]: Stop(*names[it], int(pauses[it]), float(times[it])) for it in np.argsort(at)
    }
    # For each egress that held bytes: its link, and the link of the PAUSE that stopped it, if any.
    ours = causes.holders_of(first)
    own = link[np.searchsorted(first, causes.first[causes.pause[ours]])]
    by = causes.numbers["paused_by"][ours]
    place = np.minimum(np.searchsorted(ids, by), len(ids) - 1)
    above = np.where(ids[place] == by, link[place], len(names))
    votes_of = np.bincount(
        own * (len(names) + 1) + above, weights=causes.numbers["egress_bytes"][ours]
    )
    followed: dict[tuple[str, str], Counter[tuple[str, str] | None]] = {}
    for vote in np.unique(own * (len(names) + 1) + above):
        below, top_of = divmod(int(vote), len(names) + 1)
        votes = followed.setdefault(names[below], Counter())
        votes[None if top_of == len(names) else names[top_of]] = int(votes_of[vote])
    above_of = {link: _most(votes, link) for link, votes in followed.items()}
    top = []
    for link, stop in found.items():
        above = above_of.get(link)
        if above is None or _leads_back(above_of, link):
            top.append(stop)
        else:
            found[above].below.append(stop)
    for stop in found.values():
        stop.below.sort(key=lambda it: -it.paused_ns)
    return sorted(top, key=lambda it: (-it.paused_ns, -len(it.below)))


def _most(votes: Counter[tuple[str, str] | None], own: tuple[str, str]) -> tuple[str, str] | None:
    """The cause of most bytes, if they have one."""
    known = [(count, link) for link, count in votes.items() if link is not None and link != own]
    return max(known)[1] if known else None


def _leads_back(above_of: dict[tuple[str, str], Any], link: tuple[str, str]) -> bool:
    """Whether the links above form a cycle; the first of the cycle by name is then the top."""
    seen = [link]
    above = above_of.get(link)
    while above is not None and above not in seen:
        seen.append(above)
        above = above_of.get(above)
    return above is not None and link == min(seen[seen.index(above) :])


class _Flows:
    """Table `flows`, and its rows by number of the flow."""

    def __init__(self, run: Run) -> None:
        names = ("traffic", "src", "dst")
        table = run.columns("flows", ["flow_id", *names, "start_ns", "fct_ns", "priority"])
        self.coded = {name: series.coded(table, name) for name in names}
        # Flows that never started, since others did not end, have a number and no row.
        self.ids = series.column(table, "flow_id")
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

    def are_from(self, host: str | None) -> np.ndarray:
        """By flow whether this is its sender."""
        codes, names = self.coded["src"]
        return codes == (names.index(host) if host in names else -1)

    def name(self, column: str, flow: int) -> str:
        codes, names = self.coded[column]
        [row] = series.rows_of(self.ids, np.array([flow]))
        return str(names[codes[row]])


def _culprits(
    causes: Causes, at_root: np.ndarray, flows: _Flows, place: tuple[Egress, bool]
) -> tuple[list[Culprit], float]:
    """Shares of traffic entries in the queue of the root, and the share of unnamed flows."""
    ids = causes.numbers["cause_id"]
    root, is_nic = place
    wanted = causes.rows_of(causes.first[np.unique(causes.pause[at_root])])
    wanted = causes.at(root, wanted[causes.is_seen[wanted]], is_nic=is_nic)
    bytes_of = causes.numbers["flow_queue_bytes"][wanted]
    total = float(np.sum(bytes_of))
    if not total:
        return [], 0.0
    flow = causes.numbers["flow_id"][wanted]
    named = ~np.isnan(flow)
    flow_of = series.rows_of(flows.ids, flow[named])
    of_flow = np.bincount(flow_of, weights=bytes_of[named], minlength=len(flows.start))
    codes, names = flows.coded["traffic"]
    entries = len(names)
    of_entry = np.bincount(codes, weights=of_flow, minlength=entries)
    # Bytes of unnamed flows, where they can only be of one entry.
    _, seen = np.unique(ids[wanted], return_inverse=True)
    told = np.bincount(seen[named] * entries + codes[flow_of], minlength=(seen[-1] + 1) * entries)
    there = flows.to(root, causes, at_root)
    open_entries = told.reshape(-1, entries) < there
    only = np.where(open_entries.sum(axis=1) == 1, open_entries.argmax(axis=1), entries)
    unnamed = np.bincount(only[seen[~named]], weights=bytes_of[~named], minlength=entries + 1)
    of_entry = of_entry + unnamed[:entries]
    found = []
    # What goes to the sender of a flow is its ACKs.
    acks = flows.are_from(root.node if is_nic else root.peer)
    for number in np.flatnonzero(of_entry > 0):
        of_acks = np.flatnonzero((codes == number) & (of_flow > 0) & acks)
        ours = np.flatnonzero((codes == number) & (of_flow > 0) & ~acks)
        back = float(np.sum(of_flow[of_acks]))
        for rows, name, end, held in (
            (ours, "{}", "src", of_entry[number] - back),
            (of_acks, "ACKs of {}", "dst", back),
        ):
            if held <= 0:
                continue
            hosts, names_of = flows.coded[end]
            sources = sorted(str(names_of[it]) for it in np.unique(hosts[rows]))
            shares = {int(flows.ids[row]): float(of_flow[row]) / total for row in rows}
            text = name.format(names[number])
            found.append(Culprit(text, len(rows), held / total, tuple(sources), shares))
    found.sort(key=lambda it: -it.share)
    return found, float(unnamed[entries]) / total


def _deadlocks(causes: Causes, in_cycle: np.ndarray) -> dict[tuple[Egress, int], float]:
    """By root and priority when the last of the PAUSEs that wait in a circle was sent."""
    ours = causes.first[in_cycle[causes.codes["root_kind"][causes.first]]]
    found: dict[tuple[Egress, int], float] = {}
    for row in ours:
        root = Egress(causes.name("root_node", row), causes.name("root_peer", row))
        key = root, int(causes.numbers["priority"][row])
        found[key] = max(found.get(key, 0.0), float(causes.numbers["time_ns"][row]))
    return found


def _victims(
    run: Run, flows: _Flows, deadlocks: dict[tuple[Egress, int], float]
) -> dict[tuple[Egress, int, bool], list[Victim]]:
    """By root, priority, and whether that is a deadlock, which lasts until the end."""
    names = ["flow_id", "priority", "root_node", "root_peer", "waited_ns", "unsent_bytes"]
    found: dict[tuple[Egress, int, bool], list[Victim]] = {}
    for row in run.columns("victims", [*names, "last_ns"]).to_pylist():
        flow = row["flow_id"]
        victim = Victim(
            flow,
            *(flows.name(column, flow) for column in ("traffic", "src", "dst")),
            row["waited_ns"],
            row["unsent_bytes"],
        )
        root = Egress(row["root_node"], row["root_peer"])
        since = deadlocks.get((root, row["priority"]), np.inf)
        key = root, row["priority"], row["last_ns"] > since
        found.setdefault(key, []).append(victim)
    for victims in found.values():
        victims.sort(key=lambda it: (-it.waited_ns, it.flow_id))
    return found


def _cycle(causes: Causes, first: np.ndarray, root: Egress) -> list[Egress]:
    """From the root along what stopped each, until it is there again."""
    ids = causes.numbers["cause_id"]
    last = causes.rows_of(first)
    last = last[~causes.is_seen[last]]
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
            return found[found.index(egress) :]
        found.append(egress)
        by = causes.numbers["paused_by"][at]
        following = [] if np.isnan(by) else by_cause.get(int(by), [])
        at = max(following, key=lambda row: causes.numbers["egress_bytes"][row], default=None)
    return found


def needed(result: Result) -> None:
    """Refuses a result that does not say why.

    Raises:
        ResultError: it was not asked to, or its version could not; with how to get it.
    """
    where = result.directory or "this result"
    if is_older(result):
        version = result.manifest.get("unpause", "before")
        raise ResultError(
            f"{where} is of version {version}, which did not record causes\n"
            "hint: run the scenario again with `causes = true` in its [probes]"
        )
    asked = are_there(result) if result.source else result.tables["causes"].num_rows
    if not asked:
        file = result.manifest.get("scenario", {}).get("file", "FILE")
        raise ResultError(
            f"{where} was recorded without the causes of its PAUSEs\n"
            f"hint: add `causes = true` to [probes] in {file}, and run it again"
        )


def flows_named(run: Run, name: str) -> pa.Table:
    """The flows whose number or traffic entry is `name`."""
    table = run.table("flows")
    if name.isdigit():
        return table.filter(pc.equal(table.column("flow_id"), int(name)))
    return table.filter(pc.equal(table.column("traffic"), name))
