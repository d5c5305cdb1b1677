"""The fabric as table `ports` shows it: links with what they carried, and who can meet where.

Only ports that sent anything have rows. Packets go by shortest paths, and every packet that moved
left rows behind, so the shortest paths over these links are those of the flows. Which of several
equal paths a flow took is not recorded: what is said of one holds for all of them, or is said to be
possible only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run

#: Larger fabrics are not searched for paths.
MOST_NODES = 4_000


def senders_and_receivers(flows: pa.Table) -> set[str]:
    """Who has flows in a table with their columns `src` and `dst`."""
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
    """What an egress did in a run, priorities added up; the longest queue also by priority."""

    rate_bps: int = 0
    tx_bytes: int = 0
    max_queue_bytes: int = 0
    pause_events: int = 0
    paused_ns: float = 0.0
    queues: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Fabric:
    """Egresses of a run that have anything to tell, and the paths over them."""

    ports: dict[Port, Totals]
    _from: dict[str, tuple[dict[str, int], dict[str, int]]] = field(default_factory=dict)
    _to: dict[str, tuple[dict[str, int], dict[str, int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Run) -> Fabric:
        """Of the totals of a run."""
        names = ["node", "port", "peer", "rate_bps", "priority", "tx_bytes"]
        names += ["max_queue_bytes", "pause_events", "paused_ns"]
        table = run.table("ports").select(names)
        ports: dict[Port, Totals] = {}
        for row in table.to_pylist():
            found = ports.setdefault(Port(row["node"], row["port"], row["peer"]), Totals())
            found.rate_bps = row["rate_bps"]
            found.tx_bytes += row["tx_bytes"]
            found.max_queue_bytes = max(found.max_queue_bytes, row["max_queue_bytes"])
            found.queues[row["priority"]] = row["max_queue_bytes"]
            found.pause_events += row["pause_events"]
            found.paused_ns += row["paused_ns"]
        return cls(ports)

    @cached_property
    def _next(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for port in self.ports:
            found.setdefault(port.node, []).append(port.peer)
        return found

    @cached_property
    def _before(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for port in self.ports:
            found.setdefault(port.peer, []).append(port.node)
        return found

    @property
    def searchable(self) -> bool:
        """Whether it is small enough to look for paths in it."""
        return len(self._next) <= MOST_NODES

    def may_cross(self, src: str, dst: str, port: Port) -> bool:
        """Whether a shortest path from `src` to `dst` leads over `port`."""
        ahead, _ = self._search(src)
        behind, _ = self._search_back(dst)
        if dst not in ahead or port.node not in ahead or port.peer not in behind:
            return False
        return ahead[port.node] + 1 + behind[port.peer] == ahead[dst]

    def must_cross(self, src: str, dst: str, port: Port) -> bool:
        """Whether all shortest paths from `src` to `dst` lead over `port`."""
        if not self.may_cross(src, dst, port):
            return False
        _, here = self._search(src)
        _, there = self._search_back(dst)
        return here[port.node] * there[port.peer] == here[dst]

    def crossed(
        self, sources: Sequence[str], destinations: Sequence[str], port: Port
    ) -> tuple[np.ndarray, np.ndarray]:
        """:meth:`may_cross` and :meth:`must_cross` of many pairs at once: a row for each source."""
        far = np.inf
        here = [self._search(src) for src in sources]
        there = [self._search_back(dst) for dst in destinations]
        before = np.array([found.get(port.node, far) for found, _ in here])[:, None]
        after = np.array([found.get(port.peer, far) for found, _ in there])[None, :]
        whole, ways = self._between(tuple(sources), tuple(destinations))
        may = np.isfinite(whole) & (before + 1 + after == whole)
        to = np.array([float(found.get(port.node, 0)) for _, found in here])[:, None]
        on = np.array([float(found.get(port.peer, 0)) for _, found in there])[None, :]
        return may, may & (to * on == ways)

    def _between(
        self, sources: tuple[str, ...], destinations: tuple[str, ...]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Links between each pair, and the number of shortest paths."""
        known = self.__dict__.setdefault("_pairs", {})
        if (sources, destinations) not in known:
            here = [self._search(src) for src in sources]
            known.clear()
            known[sources, destinations] = (
                np.array([[found.get(dst, np.inf) for dst in destinations] for found, _ in here]),
                np.array([[float(n.get(dst, 0)) for dst in destinations] for _, n in here]),
            )
        return known[sources, destinations]

    def _search(self, src: str) -> tuple[dict[str, int], dict[str, int]]:
        if src not in self._from:
            self._from[src] = _breadth_first(self._next, src)
        return self._from[src]

    def _search_back(self, dst: str) -> tuple[dict[str, int], dict[str, int]]:
        if dst not in self._to:
            self._to[dst] = _breadth_first(self._before, dst)
        return self._to[dst]


def _breadth_first(
    neighbours: dict[str, list[str]], start: str
) -> tuple[dict[str, int], dict[str, int]]:
    """Links from `start` to each node, and the number of shortest paths; parallel links count."""
    distance, paths = {start: 0}, {start: 1}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for peer in neighbours.get(node, ()):
            if peer not in distance:
                distance[peer] = distance[node] + 1
                paths[peer] = 0
                waiting.append(peer)
            if distance[peer] == distance[node] + 1:
                paths[peer] += paths[node]
    return distance, paths


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
