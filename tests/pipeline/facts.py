"""Facts from the tables of a run, computed row by row, without the code that unpause uses."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unpause.data.result import Run

#: Node and the node at the other end; the latter None for a NIC or a whole switch.
Place = tuple[str, str | None]


@dataclass
class Pause:
    """A row of table `causes`, the first of its PAUSE."""

    priority: int
    pauser: str
    stopped: str
    start: float
    until: float
    paused: float
    dropped: int
    kind: str | None
    root: Place | None


class Facts:
    """Totals of a run that explain, sentences and page are held against."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.end_ns = float(run.row["simulated_ns"])
        names = ["node", "port", "peer", "priority", "rate_bps", "tx_bytes", "max_queue_bytes"]
        self.ports = run.columns("ports", [*names, "pause_events", "paused_ns"]).to_pylist()
        self.flows = run.columns(
            "flows", ["flow_id", "traffic", "src", "dst", "priority", "start_ns", "fct_ns"]
        ).to_pylist()
        self.victims = run.table("victims").to_pylist()
        self.causes = run.table("causes").to_pylist()

    @cached_property
    def pauses(self) -> dict[int, Pause]:
        """By number, those whose root is known."""
        found: dict[int, Pause] = {}
        for row in self.causes:
            if row["cause_id"] not in found and row["root_node"] is not None:
                found[row["cause_id"]] = Pause(
                    row["priority"],
                    row["node"],
                    row["peer"],
                    row["time_ns"],
                    row["until_ns"],
                    row["paused_ns"],
                    row["dropped_packets"],
                    row["root_kind"],
                    (row["root_node"], row["root_peer"]),
                )
        return found

    @cached_property
    def events(self) -> dict[str, int]:
        """By node how often an ingress of it went to XOFF."""
        found: dict[str, int] = defaultdict(int)
        for row in self.ports:
            found[row["node"]] += row["pause_events"]
        return dict(found)

    @cached_property
    def paused(self) -> dict[tuple[str, str], float]:
        """By who paused whom for how long, ns: of parallel links and priorities the longest."""
        found: dict[tuple[str, str], float] = defaultdict(float)
        for row in self.ports:
            link = row["peer"], row["node"]
            found[link] = max(found[link], row["paused_ns"])
        return dict(found)

    def paused_of(self, priority: int, link: tuple[str, str] | None = None) -> float:
        """For how long a priority was paused, on all links or one, ns."""
        return sum(
            row["paused_ns"]
            for row in self.ports
            if row["priority"] == priority and link in (None, (row["peer"], row["node"]))
        )

    @cached_property
    def all_led_somewhere(self) -> bool:
        """Whether the root of each PAUSE is known."""
        return all(row["root_node"] is not None for row in self.causes)

    @property
    def is_deadlocked(self) -> bool:
        """Whether some PAUSE can never end."""
        return any(pause.kind == "cycle" for pause in self.pauses.values())

    @cached_property
    def hurt(self) -> dict[int, float]:
        """Flows that waited for what is not on their way, and for how long at one root at most."""
        found: dict[int, float] = {}
        for row in self.victims:
            if row["waited_ns"] > 0:
                found[row["flow_id"]] = max(found.get(row["flow_id"], 0.0), row["waited_ns"])
        return found

    def must_cross(self, src: str, dst: str, place: Place) -> bool:
        """Whether every shortest path over links that sent anything has this place on it."""
        node, peer = place
        if peer is None:
            cut = {(a, b) for a, b in self._links if a == node or b == node}
        elif self._links[node, peer] > 1:
            # Of parallel links it may cross another.
            return False
        else:
            cut = {(node, peer)}
        whole = self._distance(src, dst, frozenset())
        return whole is not None and self._distance(src, dst, frozenset(cut)) != whole

    @cached_property
    def _links(self) -> Counter[tuple[str, str]]:
        # A port has a row for each priority.
        rows = {(row["node"], row["peer"], row["port"]) for row in self.ports}
        return Counter((node, peer) for node, peer, _ in rows)

    @cached_property
    def _next(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for node, peer in sorted(self._links):
            found[node].append(peer)
        return found

    def _distance(self, src: str, dst: str, cut: frozenset[tuple[str, str]]) -> int | None:
        seen, waiting = {src: 0}, deque([src])
        while waiting:
            node = waiting.popleft()
            if node == dst:
                return seen[node]
            for peer in self._next.get(node, ()):
                if peer not in seen and (node, peer) not in cut:
                    seen[peer] = seen[node] + 1
                    waiting.append(peer)
        return None

    def waits_on(self, first: Place, then: Place, priority: int) -> bool:
        """Whether egress `first` is stopped at the end by a PAUSE whose bytes wait for `then`."""
        return any(
            row["priority"] == priority
            and (row["peer"], row["node"]) == first
            and row["until_ns"] >= self.end_ns
            and row["seen_ns"] >= self.end_ns
            and (row["node"], row["egress_peer"]) == then
            and row["egress_bytes"] > 0
            for row in self.causes
        )


def flow_of(facts: Facts, number: int) -> dict[str, Any]:
    """The row of a flow."""
    row = facts.flows[number]
    assert row["flow_id"] == number
    return row
