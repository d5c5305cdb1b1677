"""Links that flows could use instead of one, as the scenario's topology has them."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

#: Larger fabrics are not searched.
_MOST_LINKS = 20_000


class Equal(NamedTuple):
    """Links of a switch by which flows could go equally well.

    Attributes:
        number: How many there are.
        peers: The nodes at their other ends, or what the names of these begin with.
    """

    number: int
    peers: frozenset[str]

    def leads_to(self, node: str) -> bool:
        """Whether one of the links leads there."""
        return node in self.peers or level(node) in self.peers


def found(topology: Mapping[str, Any], node: str, peer: str, receivers: Iterable[str]) -> Equal:
    """The links that are equal to that from `node` to `peer`; only this one if that is not known.

    Args:
        topology: The scenario's table.
        node: A switch.
        peer: The next one.
        receivers: Hosts that the flows in question go to.
    """
    builder = topology.get("builder")
    if builder == "explicit":
        return _explicit(topology, node, peer, receivers)
    half = int(topology.get("k", 2)) // 2
    up = {
        ("leaf-spine", "leaf", "spine"): ("spines", 1, "parallel"),
        ("clos", "tor", "leaf"): ("leaves_per_pod", 1, "tor_leaf_links"),
        ("clos", "leaf", "spine"): ("spines", 1, ""),
        ("fat-tree", "edge", "agg"): ("edge_uplinks", half, ""),
        ("fat-tree", "agg", "core"): ("agg_uplinks", half, ""),
        ("rails", "leaf", "spine"): ("spines", 1, "uplinks"),
    }.get((str(builder), level(node), level(peer)))
    if up is None:
        return Equal(1, frozenset([peer]))
    key, default, parallel = up
    number = int(topology.get(key, default)) * int(topology.get(parallel, 1))
    # Of two planes of spines, a leaf has links to one.
    planes = int(topology.get("planes", 1)) if builder == "rails" else 1
    return Equal(number // planes, frozenset([level(peer)]))


def level(node: str) -> str:
    """``spine`` of ``spine3``."""
    return re.sub(r"\d+$", "", node)


def nics(topology: Mapping[str, Any], node: str, host: str, senders: Iterable[str]) -> Counter[str]:
    """Links to NICs of `host` by switch: those of `node`, and those as near to all `senders`.

    None if that is not known, or if `node` has no link to `host`.
    """
    builder = topology.get("builder")
    if builder == "rails" and topology.get("tors") == 2 and level(node) == "leaf":
        half, number = _leaves(topology) // 2, int(node.removeprefix("leaf"))
        return Counter([node, f"leaf{number + half if number < half else number - half}"])
    if builder != "explicit" or len(topology.get("link", [])) > _MOST_LINKS:
        return Counter()
    links, hosts = _links(topology), _hosts(topology)
    if host not in links.get(node, {}):
        return Counter()
    far = {it: _distances(links, it, hosts) for it in links[host]}
    return Counter(
        {
            it: number
            for it, number in links[host].items()
            if all(far[it].get(sender) == far[node].get(sender) for sender in senders)
        }
    )


def _leaves(rails: Mapping[str, Any]) -> int:
    """How many leaves a topology of rails has."""
    servers = int(rails.get("servers", 1))
    segments = -(-servers // int(rails.get("servers_per_leaf", servers)))
    shared = rails.get("leaves") == "shared"
    each = 1 if shared else int(rails.get("gpus_per_server", 8))
    return int(rails.get("tors", 1)) * segments * each


def _explicit(topology: Mapping[str, Any], node: str, peer: str, receivers: Iterable[str]) -> Equal:
    """The links that all of the receivers beyond that link can be reached by."""
    only = Equal(1, frozenset([peer]))
    if len(topology.get("link", [])) > _MOST_LINKS:
        return only
    links, hosts = _links(topology), _hosts(topology)
    common: dict[str, int] | None = None
    for receiver in receivers:
        far = _distances(links, receiver, hosts)
        if node in far and far.get(peer, far[node]) == far[node] - 1:
            ahead = {it: n for it, n in links[node].items() if far.get(it) == far[peer]}
            both = ahead if common is None else {it: ahead[it] for it in common if it in ahead}
            common = both
    return Equal(sum(common.values()), frozenset(common)) if common else only


def _links(topology: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """By node its neighbours, and the number of links to each."""
    links: dict[str, dict[str, int]] = {}
    for link in topology.get("link", []):
        for a, b in ((link["a"], link["b"]), (link["b"], link["a"])):
            there = links.setdefault(a, {})
            there[b] = there.get(b, 0) + int(link.get("parallel", 1))
    return links


def _hosts(topology: Mapping[str, Any]) -> set[str]:
    """The names of hosts, of which there may be ranges such as ``H2..H15``."""
    written = topology.get("hosts", [])
    names: set[str] = set()
    for text in [written] if isinstance(written, str) else written:
        first, dots, last = (it.strip() for it in text.partition(".."))
        numbers = [re.search(r"\d+$", it) for it in (first, last)]
        if dots and all(numbers):
            low, high = (int(it[0]) for it in numbers if it)
            names |= {f"{level(first)}{number}" for number in range(low, high + 1)}
        else:
            names.add(text)
    return names


def _distances(
    links: Mapping[str, Mapping[str, int]], start: str, hosts: Container[str]
) -> dict[str, int]:
    """How many links away each node is. Hosts do not forward."""
    far, waiting = {start: 0}, deque([start])
    while waiting:
        at = waiting.popleft()
        if at in hosts and at != start:
            continue
        for other in links.get(at, {}):
            if other not in far:
                far[other] = far[at] + 1
                waiting.append(other)
    return far
