"""Advice where flows share one of several links: the hash put them there, or other links failed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from unpause.data.result import Run
from unpause.data.setting import Setting
from unpause.explanation import equal_links
from unpause.explanation.equal_links import Equal
from unpause.explanation.measured import Port
from unpause.explanation.trees import Egress, Tree
from unpause.text import size

#: A NIC is idle below this part of what another one carried: ACKs of a host that sends as much come
#: to less, and may have the priority of the data.
_IDLE = 0.1
#: More equal links than this are not gone through for each of many receivers.
_MOST_RECEIVERS = 64


class Hashed:
    """Rules about links and NICs that flows could have used instead.

    Args:
        run: The run.
        setting: What is set for it.
        ports: Its egresses.
        flows: Traffic entry, sender and receiver of its flows.
    """

    def __init__(
        self,
        run: Run,
        setting: Setting,
        ports: Sequence[Port],
        flows: Collection[tuple[str, str, str]],
    ) -> None:
        self.set = setting
        self.ports = ports
        self.flows = flows
        self.hosts = {it for _, *ends in flows for it in ends}
        self.changes = run.table("link_changes").to_pylist()
        balanced = setting.get("switch.balancing", "ecmp") != "ecmp"
        sprayed = setting.get("host.spraying", "none") != "none"
        #: Whether nothing but the hash decides which of several equal links a flow takes.
        self.alone = not (balanced or sprayed or self.changes)

    def collision(self, tree: Tree) -> str | None:
        """Flows on one of several equal links, of which others had room or were down."""
        root = tree.root
        if root.peer is None or root.peer in self.hosts or root.node in self.hosts:
            return None
        wanted = {it.traffic for it in tree.culprits}
        receivers = sorted({dst for traffic, _, dst in self.flows if traffic in wanted})
        topology = self.set.get("topology", {})
        equal = equal_links.found(topology, root.node, root.peer, receivers[:_MOST_RECEIVERS])
        if equal.number < 2:
            return None
        carried: dict[tuple[str, int], int] = {}
        for it in self.ports:
            if it.node == root.node and equal.leads_to(it.peer):
                at = (it.peer, it.port)
                carried[at] = carried.get(at, 0) + it.tx_bytes
        ours = max((sent for (peer, _), sent in carried.items() if peer == root.peer), default=0)
        rest = (sum(carried.values()) - ours) / (equal.number - 1)
        if rest > 2 / 3 * ours:
            return None
        one = f"{root} is one of {equal.number} equal links"
        if down := self._down(root, equal, tree.episodes):
            those, them = ("was", "it") if down == 1 else ("were", "them")
            others = "the other" if equal.number - down == 1 else "the others"
            return (
                f"{one}, of which {down} {those} down, so that flows took {others}: repair "
                f"{them}, or send less meanwhile"
            )
        if not self.alone:
            return None
        share = f"{100 * rest / max(1, ours):.0f} % as much"
        than = f"the other, which carried {share}"
        if equal.number > 2:
            than = f"the others, which carried {share} each"
        return (
            f"{one}, and the hash put more of these flows on it than on {than}: "
            "spread them over more flows, or check with other seeds (--seeds)"
        )

    def _down(self, root: Egress, equal: Equal, episodes: Sequence[tuple[float, float]]) -> int:
        """How many of the equal links routes avoided for at least half of the episodes."""
        routes = [it["time_ns"] for it in self.changes if it["change"] == "routes"]
        outages: dict[tuple[str, int], list[tuple[float, float]]] = {}
        for it in self.changes:
            if it["node"] != root.node or not equal.leads_to(it["peer"]):
                continue
            spans = outages.setdefault((it["peer"], it["port"]), [])
            is_down = bool(spans) and spans[-1][1] == math.inf
            if it["change"] == "down" and not is_down:
                spans.append((it["time_ns"], math.inf))
            elif it["change"] == "up" and is_down:
                spans[-1] = spans[-1][0], it["time_ns"]
        half = sum(end - start for start, end in episodes) / 2
        number = 0
        for spans in outages.values():
            avoided = 0.0
            for down, up in spans:
                moved = min((time for time in routes if time >= down), default=up)
                avoided += sum(max(0.0, min(up, end) - max(moved, at)) for at, end in episodes)
            number += avoided > 0 and avoided >= half
        return number

    def idle_nic(self, tree: Tree) -> str | None:
        """Flows hashed onto one NIC of their receiver while another had nothing to do."""
        root = tree.root
        senders = {sender for it in tree.culprits for sender in it.sources}
        if root.peer not in self.hosts or not senders or not self.alone:
            return None
        topology = self.set.get("topology", {})
        links = equal_links.nics(topology, root.node, root.peer, senders)
        control = self.set.get("host.control_priority", 7)
        carried: dict[str, Counter[int]] = {it: Counter() for it in links}
        for it in self.ports:
            if it.peer == root.peer and it.node in links and it.priority != control:
                carried[it.node][it.port] += it.tx_bytes
        ours = max(carried.get(root.node, Counter()).values(), default=0)
        idle: list[tuple[str, int]] = []
        for node, number in links.items():
            unused = [0] * (number - len(carried[node]))
            every = [*carried[node].values(), *unused]
            idle += [(node, sent) for sent in every if sent < _IDLE * ours]
        if not idle:
            return None
        total = sum(sent for _, sent in idle)
        others = f"other NIC at {idle[0][0]}" if len(idle) == 1 else f"{len(idle)} other NICs"
        return (
            f"{root} carried {size(ours)} of data, and {root.peer}'s {others} "
            f"{f'only {size(total)}' if total else 'nothing'}: the hash put "
            f"{'hardly any' if total else 'none'} of these flows there; {self._to_spread(tree)}"
        )

    def _to_spread(self, tree: Tree) -> str:
        """How to have the flows of a tree use several NICs, as their kind allows."""
        names = [it.traffic for it in tree.culprits]
        jobs = [it for it in self.set.get("job", []) if it.get("name") in names]
        ways = []
        if any(it.get("kind") == "flow" for it in self.set.traffic(names)):
            ways.append("give them other source ports (source_port of [[traffic]])")
        if jobs:
            ways.append("give the job more connections (channels of [[job]])")
        if len(jobs) < len(names):
            ways.append("split each into several flows")
        return ", or ".join(ways)
