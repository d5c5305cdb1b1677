"""The fabric as table `ports` shows it: links with their traffic, and flows that can share them.

Only ports that sent anything have rows. Packets go by shortest paths, and every packet that moved
left rows behind, so the shortest paths over these links are those of the flows. Which of several
equal paths a flow took is not recorded: what is said of one holds for all of them, or is said to be
possible only. Nor is it recorded by which third group of switches a flow went, where flows do that.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.groups import Groups
from unpause.data.result import Run

#: Larger fabrics are not searched for paths.
MOST_NODES = 4_000


def senders_and_receivers(flows: pa.Table) -> set[str]:
    """Hosts with flows, from columns `src` and `dst` of a table."""
    return {str(it) for name in ("src", "dst") for it in pc.unique(flows.column(name)).to_pylist()}


class Port(NamedTuple):
    """An egress: node, its port number, node at the other end."""

    node: str
    port: int
    peer: str

    def __str__(self) -> str:
        return f"{self.node}->{self.peer}"


@dataclass
class Totals:
    """What an egress did in a run, priorities added up; some of it also by priority."""

    rate_bps: int = 0
    tx_bytes: int = 0
    max_queue_bytes: int = 0
    pause_events: int = 0
    paused_ns: float = 0.0
    queues: dict[int, int] = field(default_factory=dict)
    paused_by_priority: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Fabric:
    """Egresses of a run that have anything to tell, and the paths over them."""

    ports: dict[Port, Totals]
    paths: Paths

    @classmethod
    def of(cls, run: Run) -> Fabric:
        """From the totals of a run."""
        names = ["node", "port", "peer", "rate_bps", "priority", "tx_bytes"]
        names += ["max_queue_bytes", "pause_events", "paused_ns"]
        columns = run.columns("ports", names).to_pydict()
        ports: dict[Port, Totals] = {}
        for node, port, peer, rate, priority, sent, queue, events, paused in zip(
            *(columns[name] for name in names), strict=True
        ):
            key = Port(node, port, peer)
            found = ports.get(key)
            if found is None:
                found = ports[key] = Totals(rate)
            found.tx_bytes += sent
            found.max_queue_bytes = max(found.max_queue_bytes, queue)
            found.queues[priority] = queue
            found.pause_events += events
            found.paused_ns += paused
            found.paused_by_priority[priority] = paused
        return cls(ports, _paths(run, [(port.node, port.peer) for port in ports]))

    @property
    def searchable(self) -> bool:
        """Whether it is small enough to look for paths in it."""
        return self.paths.senders <= MOST_NODES

    def may_cross(self, src: str, dst: str, port: Port) -> bool:
        """Whether a shortest path from `src` to `dst` leads over `port`."""
        return bool(Pairs(self, [(src, dst)]).crossed(port)[0][0])

    def must_cross(self, src: str, dst: str, port: Port) -> bool:
        """Whether all shortest paths from `src` to `dst` lead over `port`."""
        return bool(Pairs(self, [(src, dst)]).crossed(port)[1][0])


class Pairs:
    """Senders with their receivers, and the shortest paths between them."""

    def __init__(self, fabric: Fabric, pairs: Sequence[tuple[str, str]]) -> None:
        paths = fabric.paths
        self._number = paths.number
        self._from = paths.ahead([src for src, _ in pairs])
        self._to = paths.behind([dst for _, dst in pairs])
        starts = np.array([paths.number(src) for src, _ in pairs], dtype=int)
        ends = np.array([paths.number(dst) for _, dst in pairs], dtype=int)
        self._links, self._paths = self._from.of(ends)
        self._fabric, self._ends = paths, (starts, ends)

    def crossed(self, port: Port) -> tuple[np.ndarray, np.ndarray]:
        """By pair whether a shortest path leads over `port`, and whether all of them do."""
        before, to = self._from.of(self._number(port.node))
        after, on = self._to.of(self._number(port.peer))
        length = self._fabric.length(port.node, port.peer)
        may = np.isfinite(self._links) & (before + length + after == self._links)
        must = may & (to * on == self._paths)
        groups = self._fabric.groups
        if groups is None or not groups.by_third or not len(may):
            return may, must
        starts, ends = self._ends
        own, other = self._fabric.group[starts], self._fabric.group[ends]
        detours = np.isfinite(self._links) & (own != other)
        certain = (starts == self._number(port.node)) | (ends == self._number(port.peer))
        possible = certain | self._on_detour(port, own, other)
        return np.where(detours, possible, may), np.where(detours, certain, must)

    def _on_detour(self, port: Port, own: np.ndarray, other: np.ndarray) -> np.ndarray:
        """By pair whether a path by a third group may lead over `port`, which is between switches.

        In the sender's group any link may, but to the receiver's; then those of shortest paths.
        """
        groups = self._fabric.groups
        if groups is None or not groups.hosts.isdisjoint((port.node, port.peer)):
            return np.zeros(len(own), dtype=bool)
        here, there = (self._fabric.group[self._number(it)] for it in (port.node, port.peer))
        rest, _ = self._to.of(self._number(port.node))
        after, _ = self._to.of(self._number(port.peer))
        nearer = after + self._fabric.length(port.node, port.peer) == rest
        return np.where(own == here, other != there, (own != there) & nearer)


class Paths:
    """Shortest paths over links, parallel ones of which count as several.

    Where nodes have groups, a path over fewer links between groups is shorter than any over more.

    Attributes:
        senders: How many nodes have links to others.
        groups: The groups of nodes, if they have any.
        group: The same by number, -1 of nodes without.
    """

    def __init__(self, links: Sequence[tuple[str, str]], groups: Groups | None = None) -> None:
        names = dict.fromkeys(name for link in links for name in link)
        self.groups = groups
        of = groups.of if groups is not None else {}
        self.group = np.array([*(of.get(name, -1) for name in names), -1], dtype=int)
        self._far = max(1, len(names))
        self._numbers = {name: number for number, name in enumerate(names)}
        # The last is for names without a link.
        self._next: list[list[int]] = [[] for _ in range(len(names) + 1)]
        self._before: list[list[int]] = [[] for _ in range(len(names) + 1)]
        for node, peer in links:
            self._next[self.number(node)].append(self.number(peer))
            self._before[self.number(peer)].append(self.number(node))
        self.senders = sum(bool(peers) for peers in self._next)
        self._ahead: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._behind: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def number(self, name: str) -> int:
        """Of a node."""
        return self._numbers.get(name, len(self._numbers))

    def length(self, node: str, peer: str) -> int:
        """For how many links within a group a link counts."""
        apart = self.groups is not None and self.groups.part(node, peer)
        return self._far if apart else 1

    def ahead(self, starts: Sequence[str]) -> Lengths:
        """From each of `starts` to all nodes."""
        return self._lengths(starts, self._next, self._ahead)

    def behind(self, ends: Sequence[str]) -> Lengths:
        """From all nodes to each of `ends`."""
        return self._lengths(ends, self._before, self._behind)

    def _search(self, neighbours: list[list[int]], root: int) -> tuple[np.ndarray, np.ndarray]:
        if self.groups is None:
            return _breadth_first(neighbours, root)
        return _by_groups(neighbours, root, self.group, self._far)

    def _lengths(
        self,
        names: Sequence[str],
        neighbours: list[list[int]],
        known: dict[int, tuple[np.ndarray, np.ndarray]],
    ) -> Lengths:
        """A host with one link is looked at from its switch, which other hosts have, too."""
        starts = [self.number(name) for name in names]
        roots = [peers[0] if len(peers := neighbours[it]) == 1 else it for it in starts]
        rows = {root: row for row, root in enumerate(dict.fromkeys(roots))}
        for root in rows:
            if root not in known:
                known[root] = self._search(neighbours, root)
        return Lengths(
            np.array([known[root][0] for root in rows]),
            np.array([known[root][1] for root in rows]),
            np.array([rows[root] for root in roots], dtype=int),
            np.array(starts, dtype=int),
            np.array([root != start for root, start in zip(roots, starts, strict=True)], dtype=int),
        )


class Lengths(NamedTuple):
    """How many links there are from some nodes to all, and how many shortest paths.

    Attributes:
        links: By root and node; infinite for those that are not reached.
        paths: By root and node.
        row: Of each start the row of its root.
        start: The number of each start.
        extra: Links from each start to its root, 0 or 1.
    """

    links: np.ndarray
    paths: np.ndarray
    row: np.ndarray
    start: np.ndarray
    extra: np.ndarray

    def of(self, nodes: int | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From each start to `nodes`, one for all or one for each: links, and shortest paths."""
        if not len(self.row):
            return np.empty(0), np.empty(0)
        # A start is not reached by way of its root.
        itself = self.start == nodes
        links = np.where(itself, 0, self.links[self.row, nodes] + self.extra)
        return links, np.where(itself, 1, self.paths[self.row, nodes])


#: Sets of links, of runs of one result, whose paths are kept.
_KEPT_PATHS = 2


def _paths(run: Run, links: list[tuple[str, str]]) -> Paths:
    """Paths over the links of a run; the last ones are kept, as most runs have the same links."""
    cache = run.result.__dict__.setdefault("_paths_by_links", {})
    groups = Groups.find(run, links)
    key = (tuple(sorted(links)), groups is not None and groups.by_third)
    found = cache.pop(key, None)
    cache[key] = found = Paths(links, groups) if found is None else found
    while len(cache) > _KEPT_PATHS:
        del cache[next(iter(cache))]
    return found


def _breadth_first(neighbours: list[list[int]], start: int) -> tuple[np.ndarray, np.ndarray]:
    """Links from `start` to each node, and the number of shortest paths."""
    links: list[float] = [math.inf] * len(neighbours)
    paths: list[float] = [0.0] * len(neighbours)
    links[start], paths[start] = 0, 1
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for peer in neighbours[node]:
            if links[peer] == math.inf:
                links[peer] = links[node] + 1
                waiting.append(peer)
            if links[peer] == links[node] + 1:
                paths[peer] += paths[node]
    return np.array(links), np.array(paths)


def _by_groups(
    neighbours: list[list[int]], start: int, group: np.ndarray, far: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same where a link between groups counts for `far` links."""
    links: list[float] = [math.inf] * len(neighbours)
    paths: list[float] = [0.0] * len(neighbours)
    links[start], paths[start] = 0, 1
    groups = group.tolist()
    waiting: list[tuple[float, int]] = [(0, start)]
    while waiting:
        distance, node = heapq.heappop(waiting)
        if distance > links[node]:
            continue
        for peer in neighbours[node]:
            over = distance + (1 if groups[node] == groups[peer] else far)
            if over < links[peer]:
                links[peer], paths[peer] = over, 0.0
                heapq.heappush(waiting, (over, peer))
            if over == links[peer]:
                paths[peer] += paths[node]
    return np.array(links), np.array(paths)


@dataclass(frozen=True)
class Stops:
    """When each egress was stopped in one priority: intervals (n, 2) in ns, by start."""

    by_port: dict[Port, np.ndarray]

    @classmethod
    def of(cls, run: Run) -> dict[int, Stops]:
        """By priority, of table `pauses`."""
        names = ["node", "port", "peer", "priority"]
        table = run.columns("pauses", [*names, "start_ns", "end_ns"])
        every = np.column_stack([series.column(table, "start_ns"), series.column(table, "end_ns")])
        found: dict[int, Stops] = {}
        for (node, number, peer, priority), rows in series.groups(table, names):
            stops = found.setdefault(priority, Stops({}))
            ours = every[rows]
            order = np.argsort(ours[:, 0], kind="stable")
            stops.by_port[Port(node, number, peer)] = ours[order]
        return found

    def of_node(self, node: str) -> np.ndarray:
        """When any egress of `node` was stopped, merged."""
        return self.union(port for port in self.by_port if port.node == node)

    def union(self, ports: Iterable[Port]) -> np.ndarray:
        """When any of `ports` was stopped, merged."""
        every = [self.by_port[port] for port in ports if port in self.by_port]
        if not every:
            return np.empty((0, 2))
        joined = np.concatenate(every)
        return series.merged(joined[np.argsort(joined[:, 0], kind="stable")])
