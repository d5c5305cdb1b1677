"""Links that a switch could choose among instead of one, as the scenario's topology has them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

#: Larger fabrics are not searched.
_MOST_LINKS = 20_000


def count(topology: Mapping[str, Any], node: str, peer: str, receivers: Iterable[str]) -> int:
    """How many equal links `node` has, `node` -> `peer` among them; 1 if that is not known.

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
    }.get((str(builder), level(node), level(peer)))
    if up is None:
        return 1
    key, default, parallel = up
    return int(topology.get(key, default)) * int(topology.get(parallel, 1))


def level(node: str) -> str:
    """``spine`` of ``spine3``."""
    return re.sub(r"\d+$", "", node)


def _explicit(topology: Mapping[str, Any], node: str, peer: str, receivers: Iterable[str]) -> int:
    links: dict[str, dict[str, int]] = {}
    tables = topology.get("link", [])
    if len(tables) > _MOST_LINKS:
        return 1
    for link in tables:
        for a, b in ((link["a"], link["b"]), (link["b"], link["a"])):
            there = links.setdefault(a, {})
            there[b] = there.get(b, 0) + int(link.get("parallel", 1))
    most = 1
    for receiver in receivers:
        far = _distances(links, receiver)
        if node in far and far.get(peer, far[node]) == far[node] - 1:
            ahead = [n for it, n in links[node].items() if far.get(it) == far[peer]]
            most = max(most, sum(ahead))
    return most


def _distances(links: Mapping[str, Mapping[str, int]], start: str) -> dict[str, int]:
    far, waiting = {start: 0}, deque([start])
    while waiting:
        at = waiting.popleft()
        for other in links.get(at, {}):
            if other not in far:
                far[other] = far[at] + 1
                waiting.append(other)
    return far
