"""Random scenarios whose congestion has a cause that is known because it was put there.

``python tests/python/planted.py FROM TO`` counts how ``explain`` does on the seeds from FROM to TO.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import unpause
from unpause.explanation import causes
from unpause.explanation.trees import Tree

PLANTS = ("incast", "fabric", "slow-link", "headroom", "cycle", "slow-nic", "storm")


@dataclass(frozen=True)
class Planted:
    """A scenario, and what is at the bottom of its congestion: kind and place.

    A deadlock may have any egress of its cycle as root; `roots` are all that are right.
    """

    plant: str
    scenario: dict[str, Any]
    kind: str
    roots: frozenset[str]


@dataclass(frozen=True)
class Answer:
    """The answer of ``explain`` to one.

    Attributes:
        named: Whether the tree with most harm has the right root and kind.
        misled: Trees with another root that are called certain.
        silent: Whether there was no congestion to speak of.
    """

    named: bool
    misled: list[Tree]
    silent: bool


def plant(seed: int) -> Planted:
    """The scenario of a seed."""
    rng = random.Random(seed)
    what = PLANTS[seed % len(PLANTS)]
    return _cycle(rng, seed) if what == "cycle" else _tiers(rng, seed, what)


def ask(planted: Planted) -> Answer:
    """Run it, and see what is said."""
    result = unpause.run(planted.scenario, threads=1, progress=False)
    [run] = result.runs_of("PFC")
    trees = causes.of_run(run)
    if not trees or (planted.plant == "cycle" and run.row["deadlock_began_ns"] is None):
        return Answer(False, [], True)
    named = trees[0].kind == planted.kind and str(trees[0].root) in planted.roots
    if planted.plant == "cycle":
        # Before it closed, the same queues were congested for other reasons.
        named = any(it.kind == planted.kind and str(it.root) in planted.roots for it in trees)
    if planted.plant == "headroom":
        named = named and trees[0].lost > 0
    misled = [
        it for it in trees if it.is_certain and str(it.left_by or it.root) not in planted.roots
    ]
    return Answer(named, misled, False)


def _scenario(seed: int, topology: dict[str, Any], traffic: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "seed": seed,
        "duration": "4ms",
        "topology": {"builder": "explicit", **topology},
        "scheme": [{"name": "PFC"}],
        "traffic": traffic,
        "probes": {"causes": True},
    }


def _tiers(rng: random.Random, seed: int, what: str) -> Planted:
    """Leaves and spines, with links so fast that only what is planted is too slow."""
    leaves, spines = rng.randint(2, 4), rng.randint(1, 3)
    each = rng.randint(4, 6)
    rate, fabric = rng.choice([(10, 100), (25, 200), (40, 400)])
    hosts = [f"H{n}" for n in range(leaves * each)]
    leaf = {host: f"leaf{n // each}" for n, host in enumerate(hosts)}
    target = rng.choice(hosts)
    others = [host for host in hosts if host != target]
    slow = {10: 5, 25: 10, 40: 10}[rate] if what == "slow-link" else rate
    if what == "fabric":
        spines, fabric = 1, {10: 25, 25: 50, 40: 100}[rate]
    links = [
        {"a": host, "b": leaf[host], "rate": f"{slow if host == target else rate}Gbps"}
        for host in hosts
    ]
    links += [
        {"a": f"leaf{n}", "b": f"spine{m}", "rate": f"{fabric}Gbps"}
        for n in range(leaves)
        for m in range(spines)
    ]
    size = f"{rng.randint(300, 900)}KB"
    root, kind = f"{leaf[target]}->{target}", "incast"
    if what == "fabric":
        # All of one leaf send to hosts of the others, each to its own.
        near = [host for host in hosts if leaf[host] == leaf[target]]
        far = [host for host in hosts if leaf[host] != leaf[target]]
        pairs = list(zip(near, rng.sample(far, len(near)), strict=True))
        size = f"{rng.randint(1000, 3000)}KB"
        root = f"{leaf[target]}->spine0"
    elif what == "slow-link":
        pairs, kind = [(rng.choice(others), target)], "slow-link"
        size = f"{rng.randint(1500, 3000)}KB"
    elif what in ("slow-nic", "storm"):
        pairs, root, kind = [(rng.choice(others), target)], target, "nic"
        size = f"{rng.randint(2000, 3000)}KB"
    else:
        pairs = [(host, target) for host in rng.sample(others, rng.randint(3, min(8, len(others))))]
    traffic = [
        {"name": f"p{n}", "kind": "flow", "from": a, "to": b, "size": size, "start": "100us"}
        for n, (a, b) in enumerate(pairs)
    ]
    for n in range(rng.randint(1, 4)):
        a, b = rng.sample(others, 2)
        limit = f"{rate * 50}Mbps"
        traffic.append({"name": f"b{n}", "kind": "flow", "from": a, "to": b, "rate_limit": limit})
    topology = {
        "hosts": hosts,
        "switches": [*(f"leaf{n}" for n in range(leaves)), *(f"spine{m}" for m in range(spines))],
        "delay": f"{rng.randint(300, 2000)}ns",
        "link": links,
    }
    scenario = _scenario(seed, topology, traffic)
    scenario["pfc"] = {"xoff": f"{rng.randint(60, 250)}KB"}
    if what == "slow-nic":
        drain_rate = f"{rate // rng.randint(2, 5)}Gbps"
        scenario["slow_receiver"] = {"hosts": target, "drain_rate": drain_rate}
    if what == "storm":
        start = rng.randint(150, 300)
        end = start + rng.randint(300, 2000)
        scenario["slow_receiver"] = {"hosts": target, "start": f"{start}us", "stop": f"{end}us"}
    if what == "headroom":
        scenario["pfc"]["headroom"] = f"{rng.randint(1, 3)}KB"
    return Planted(what, scenario, kind, frozenset([root]))


def _cycle(rng: random.Random, seed: int) -> Planted:
    """A ring in which all hosts send two switches further: its buffers wait for one another."""
    count = rng.choice([5, 5, 6, 7])
    rate = rng.choice([10, 25, 40])
    switches = [f"S{n}" for n in range(count)]
    links = [
        {"a": f"S{n}", "b": f"S{(n + 1) % count}", "rate": f"{rate}Gbps"} for n in range(count)
    ]
    links += [{"a": f"H{n}", "b": f"S{n}", "rate": f"{4 * rate}Gbps"} for n in range(count)]
    order = list(range(count))
    rng.shuffle(order)
    traffic = [
        {
            "name": f"p{n}",
            "kind": "flow",
            "from": f"H{n}",
            "to": f"H{(n + 2) % count}",
            "start": f"{rng.randint(0, 50)}us",
        }
        for n in order
    ]
    topology = {
        "hosts": [f"H{n}" for n in range(count)],
        "switches": switches,
        "delay": f"{rng.randint(500, 2000)}ns",
        "link": links,
    }
    scenario = _scenario(seed, topology, traffic)
    scenario["duration"] = "30ms"
    scenario["pfc"] = {"xoff": f"{rng.randint(20, 60)}KB"}
    scenario["probes"]["deadlock"] = "1ms"
    roots = {f"S{n}->S{(n + 1) % count}" for n in range(count)}
    return Planted("cycle", scenario, "cycle", frozenset(roots))


def main() -> None:
    """Count over seeds."""
    first, last = map(int, sys.argv[1:3])
    told: dict[str, Counter[str]] = {plant: Counter() for plant in PLANTS}
    for seed in range(first, last):
        planted = plant(seed)
        answer = ask(planted)
        counts = told[planted.plant]
        counts["silent" if answer.silent else "named" if answer.named else "missed"] += 1
        counts["misled"] += bool(answer.misled)
        if not answer.silent and (answer.misled or not answer.named):
            said = [(it.kind, str(it.root), round(it.share, 2)) for it in answer.misled]
            print(seed, planted.plant, "misled by" if said else "missed", said, flush=True)
    for name, counts in told.items():
        print(name, dict(counts))


if __name__ == "__main__":
    main()
