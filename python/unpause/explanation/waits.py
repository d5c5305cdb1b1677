"""Congestion off its path that an entry waited for, and the PAUSEs that led from there to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import lives, series
from unpause.data.fabric import Fabric, Pairs, Port, Stops
from unpause.data.result import Run
from unpause.explanation.cause_rows import Causes
from unpause.explanation.trees import Stop, Tree, Victim

#: Who paused whom, one after the other.
Way = tuple[tuple[str, str], ...]
#: Places and ways with a smaller part of a wait do not matter.
LEAST_PART = 0.05


@dataclass
class Wait:
    """What flows of an entry waited for at one root.

    Attributes:
        root: The egress.
        ns: For how long, all of its flows together.
        ways: How long flows waited, by the PAUSEs from the root to where they were held.
    """

    root: str
    ns: float = 0.0
    ways: dict[Way, float] = field(default_factory=dict)

    def add(self, other: Wait) -> None:
        """Adds what was waited for at the same root."""
        self.ns += other.ns
        for way, ns in other.ways.items():
            self.ways[way] = self.ways.get(way, 0.0) + ns


def of_entry(run: Run, fabric: Fabric, name: str, trees: Sequence[Tree]) -> tuple[Wait, ...]:
    """For which roots of these trees the flows of an entry waited, longest first."""
    victims = [(tree, it) for tree in trees for it in tree.victims if it.traffic == name]
    if not victims:
        return ()
    held = _Held(run, fabric, [victim for _, victim in victims])
    found: dict[str, Wait] = {}
    for tree, victim in victims:
        root = str(tree.root)
        way = tuple((stop.pauser, stop.stopped) for stop in held.way(tree, victim))
        wait = Wait(root, victim.waited_ns, {way: victim.waited_ns})
        found.setdefault(root, Wait(root)).add(wait)
    return tuple(sorted(found.values(), key=lambda wait: -wait.ns))


class _Held:
    """Where flows were held."""

    def __init__(self, run: Run, fabric: Fabric, victims: Sequence[Victim]) -> None:
        ids = [victim.flow_id for victim in victims]
        flows = run.columns("flows", ["flow_id", "traffic", "start_ns", "fct_ns"])
        flows = flows.filter(pc.is_in(flows.column("flow_id"), pa.array(ids, pa.uint32())))
        spans = np.column_stack([series.column(flows, "start_ns"), lives.ends_ns(run, flows)])
        self._spans = dict(zip(flows.column("flow_id").to_pylist(), spans, strict=True))
        self._ports = {(port.node, port.peer): port for port in fabric.ports}
        self._stops = Stops.of(run)
        self._seen = _seen(Causes(run), ids)
        ends = list(dict.fromkeys((victim.src, victim.dst) for victim in victims))
        self._row = {pair: row for row, pair in enumerate(ends)}
        self._pairs = Pairs(fabric, ends) if fabric.searchable else None
        self._crossed: dict[Port, tuple[np.ndarray, np.ndarray]] = {}

    def way(self, tree: Tree, victim: Victim) -> list[Stop]:
        """The PAUSEs from a root to the last port of those that held this flow.

        Where no port is known to have held it, to the one that was paused longest of those that it
        may cross.
        """
        held = [(*self._held(tree, victim, way[-1]), way) for way in _ways(tree.stops)]
        sure = ((ns, way) for is_sure, ns, way in held if is_sure and ns > 0)
        last = max(sure, key=lambda it: (len(it[1]), it[0]), default=None)
        if last is None:
            unsure = ((ns, way) for _, ns, way in held if ns > 0)
            last = max(unsure, key=lambda it: (it[0], -len(it[1])), default=None)
        return last[1] if last is not None else tree.stops[:1]

    def _held(self, tree: Tree, victim: Victim, stop: Stop) -> tuple[bool, float]:
        """Whether this PAUSE certainly held the flow if it was sent, and for how long it may."""
        port = self._ports.get((stop.stopped, stop.pauser))
        is_sure = stop.stopped == victim.src
        is_sure |= (victim.flow_id, stop.stopped, stop.pauser) in self._seen
        if port is None:
            return is_sure, stop.paused_ns if is_sure else 0.0
        may, must = self._crosses(victim, port)
        if not (is_sure or may):
            return False, 0.0
        stops = self._stops.get(tree.priority)
        ns = stop.paused_ns
        if stops is not None and port in stops.by_port:
            start, end = series.time_within(stops.by_port[port], self._spans[victim.flow_id])
            ns = min(ns, float(end - start))
        return is_sure or must, ns

    def _crosses(self, victim: Victim, port: Port) -> tuple[bool, bool]:
        """Whether the flow may cross a port, and whether it must."""
        if self._pairs is None:
            return False, False
        if port not in self._crossed:
            self._crossed[port] = self._pairs.crossed(port)
        may, must = self._crossed[port]
        row = self._row[victim.src, victim.dst]
        return bool(may[row]), bool(must[row])


def _seen(rows: Causes, flows: Sequence[int]) -> set[tuple[int, str, str]]:
    """Flows with the egresses that their packets left by: an ingress behind them held some."""
    held = np.isin(rows.numbers["flow_id"], flows) & (rows.numbers["flow_bytes"] > 0)
    return {
        (int(rows.numbers["flow_id"][row]), rows.name("peer", row), rows.name("node", row))
        for row in np.flatnonzero(held).tolist()
    }


def _ways(stops: Sequence[Stop]) -> Iterator[list[Stop]]:
    """From the root to each PAUSE."""
    for stop in stops:
        yield [stop]
        for way in _ways(stop.below):
            yield [stop, *way]
