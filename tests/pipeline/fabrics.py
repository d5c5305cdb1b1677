"""Random fabrics to plant something in: one switch, leaves and spines, a fat-tree, a ring."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any


@dataclass
class Net:
    """A fabric, written out.

    Attributes:
        topology: As in a scenario.
        hosts: Their names.
        edge: By host its switch.
        gbps: Rate of the links of hosts.
        between: Egresses of switches toward switches.
    """

    topology: dict[str, Any]
    hosts: list[str]
    edge: dict[str, str]
    gbps: int
    between: list[str]

    def slow(self, host: str, gbps: int) -> None:
        """Gives a host's link another rate."""
        for link in self.topology["link"]:
            if link["a"] == host:
                link["rate"] = f"{gbps}Gbps"


def random_net(
    rng: random.Random, *, single: bool = False, tiers: bool = False, even: bool = False
) -> Net:
    """One of the first three, or a fat-tree without some links.

    `even`: links between switches are no faster than those of hosts, and none is missing.
    """
    gbps, fast = rng.choice([(10, 100), (25, 200), (40, 400)])
    fabric = gbps if even else fast
    shapes = ["leaves", "fat-tree"] + ["switch"] * (not tiers) + ["holes"] * (not even)
    shape = "switch" if single else rng.choice(shapes)
    if shape == "switch":
        edges, each, links = ["S0"], rng.randint(7, 16), []
    elif shape == "leaves":
        edges, each = [f"leaf{n}" for n in range(rng.randint(2, 4))], rng.randint(4, 6)
        spines = [f"spine{n}" for n in range(rng.randint(2, 3) if even else rng.randint(1, 3))]
        links = [(leaf, spine) for leaf in edges for spine in spines]
    else:
        edges, each, links = _fat_tree(4)
        each = 3 if even else each
        if shape == "holes":
            links = _with_holes(rng, links)
    hosts = [f"H{n}" for n in range(len(edges) * each)]
    edge = {host: edges[n // each] for n, host in enumerate(hosts)}
    return _net(rng, gbps, fabric, edge, links)


def _fat_tree(k: int) -> tuple[list[str], int, list[tuple[str, str]]]:
    half = k // 2
    edges = [f"edge{n}" for n in range(k * half)]
    links = []
    for pod in range(k):
        for up in range(half):
            agg = f"agg{pod * half + up}"
            links += [(f"edge{pod * half + n}", agg) for n in range(half)]
            links += [(agg, f"core{up * half + n}") for n in range(half)]
    return edges, half, links


def _with_holes(rng: random.Random, links: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without some of them, of which none is the only way to somewhere."""
    left = list(links)
    for link in rng.sample(links, rng.randint(2, 6)):
        without = [other for other in left if other != link]
        if _reached(link[0], without) == _reached(link[0], links):
            left = without
    return left


def _reached(start: str, links: list[tuple[str, str]]) -> set[str]:
    found = {start}
    while more := {end for link in links for end in link if found & set(link)} - found:
        found |= more
    return found


def _net(
    rng: random.Random,
    gbps: int,
    fabric: int,
    edge: dict[str, str],
    links: list[tuple[str, str]],
) -> Net:
    hosts = list(edge)
    switches = list(dict.fromkeys([*edge.values(), *(name for link in links for name in link)]))
    written = [{"a": host, "b": switch, "rate": f"{gbps}Gbps"} for host, switch in edge.items()]
    written += [{"a": a, "b": b, "rate": f"{fabric}Gbps"} for a, b in links]
    topology = {
        "builder": "explicit",
        "hosts": hosts,
        "switches": switches,
        "delay": f"{rng.randint(300, 2000)}ns",
        "link": written,
    }
    between = [f"{a}->{b}" for a, b in links] + [f"{b}->{a}" for a, b in links]
    return Net(topology, hosts, edge, gbps, between)


def ring(rng: random.Random) -> tuple[Net, frozenset[str]]:
    """A ring of switches with a host each, and the egresses around it."""
    count, gbps = rng.choice([5, 5, 6, 7]), rng.choice([10, 25, 40])
    edge = {f"H{n}": f"S{n}" for n in range(count)}
    links = [(f"S{n}", f"S{(n + 1) % count}") for n in range(count)]
    net = _net(rng, 4 * gbps, gbps, edge, links)
    return net, frozenset(f"{a}->{b}" for a, b in links)
