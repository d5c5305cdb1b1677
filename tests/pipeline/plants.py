"""Random fabrics whose congestion has a cause that is known because it was put there."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.pipeline.fabrics import Net, random_net, ring

KINDS = (
    "incast",
    "slow-link",
    "slow-nic",
    "storm",
    "deadlock",
    "priority",
    "ecmp",
    "lossy-hog",
    "expired",
    "headroom",
)

#: Additions of the schemes of plants to PFC, by turns.
SCHEMES: dict[str, dict[str, Any]] = {
    "PFC": {},
    "PFC+DCQCN": {"congestion_control": "dcqcn"},
    "PFC+PCN": {"congestion_control": "pcn"},
}


@dataclass
class Planted:
    """A scenario and what is at the bottom of its congestion.

    Attributes:
        plant: Which of :data:`KINDS`.
        scenario: As a mapping.
        kinds: What `root_kind` may be.
        roots: Where it may begin; a deadlock in any egress of its cycle, and an ECMP collision at
            any uplink, of which the tables say which are shared (:attr:`shared`).
        shared: Whether only roots count whose links carried more than one of the planted flows.
        size: Bytes of each planted flow.
    """

    plant: str
    scenario: dict[str, Any]
    kinds: frozenset[str]
    roots: frozenset[str]
    shared: bool = False
    size: int = 0
    priority: int = 3


def plant(seed: int) -> Planted:
    """The scenario of a seed."""
    rng = random.Random(seed)
    what = KINDS[seed % len(KINDS)]
    makers: dict[str, Callable[[random.Random, str], Planted]] = {
        "slow-nic": _nic,
        "storm": _nic,
        "slow-link": _slow_link,
        "deadlock": _deadlock,
        "priority": _priority,
        "ecmp": _ecmp,
        "lossy-hog": _lossy_hog,
    }
    planted = makers.get(what, _incast)(rng, what)
    planted.scenario["seed"] = seed
    name = list(SCHEMES)[seed // len(KINDS) % len(SCHEMES)]
    planted.scenario["scheme"] = [{"name": name, **SCHEMES[name]}]
    return planted


def _scenario(net: Net, traffic: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A run of 4 ms, with links so fast that only what is planted is too slow."""
    return {
        "duration": "4ms",
        "topology": net.topology,
        "scheme": [{"name": "PFC"}],
        "traffic": traffic,
        "probes": {"causes": True},
        **more,
    }


def _flow(name: str, src: str, dst: str, size: int, **more: Any) -> dict[str, Any]:
    ends = {"name": name, "kind": "flow", "from": src, "to": dst, "start": "100us"}
    return ends | {"size": f"{size}B"} | more


def _background(rng: random.Random, net: Net, but: set[str]) -> list[dict[str, Any]]:
    """A few flows at a twentieth of the line rate, none of which ends or begins at `but`."""
    others = [host for host in net.hosts if host not in but]
    if len(others) < 2:
        return []
    found = []
    for number in range(rng.randint(0, 4)):
        src, dst = rng.sample(others, 2)
        limit = f"{net.gbps * 50}Mbps"
        ends = {"kind": "flow", "from": src, "to": dst, "rate_limit": limit}
        found.append({"name": f"b{number}", **ends})
    return found


def _pfc(rng: random.Random) -> dict[str, Any]:
    return {"xoff": f"{rng.randint(60, 250)}KB"}


def _incast(rng: random.Random, what: str) -> Planted:
    """Several hosts send to one at once; `headroom` and `expired` let it drop, too."""
    net = random_net(rng)
    target = rng.choice(net.hosts)
    others = [host for host in net.hosts if host != target]
    senders = rng.sample(others, rng.randint(3, min(8, len(others))))
    size = rng.randint(300, 900) * 1000
    traffic = [_flow(f"p{n}", host, target, size) for n, host in enumerate(senders)]
    traffic += _background(rng, net, {target})
    scenario = _scenario(net, traffic, pfc=_pfc(rng))
    if what == "headroom":
        scenario["pfc"]["headroom"] = f"{rng.randint(1, 3)}KB"
    elif what == "expired":
        # At most 2 ms at 10 Gb/s: a PAUSE of few quanta runs out before the queue has drained.
        scenario["pfc"] |= {"mode": "once", "pause_quanta": rng.randint(100, 400)}
    root = f"{net.edge[target]}->{target}"
    return Planted(what, scenario, frozenset(["incast"]), frozenset([root]), size=size)


def _slow_link(rng: random.Random, what: str) -> Planted:
    """One host on a link that is slower than its sender's."""
    net = random_net(rng)
    target = rng.choice(net.hosts)
    net.slow(target, {10: 5, 25: 10, 40: 10}[net.gbps])
    src = rng.choice([host for host in net.hosts if host != target])
    size = rng.randint(1500, 3000) * 1000
    traffic = [_flow("p0", src, target, size), *_background(rng, net, {src, target})]
    scenario = _scenario(net, traffic, pfc=_pfc(rng))
    roots = frozenset([f"{net.edge[target]}->{target}"])
    return Planted(what, scenario, frozenset(["slow-link"]), roots, size=size)


def _nic(rng: random.Random, what: str) -> Planted:
    """A host whose NIC takes less than its link brings, or for some time nothing."""
    net = random_net(rng)
    target = rng.choice(net.hosts)
    src = rng.choice([host for host in net.hosts if host != target])
    size = rng.randint(2000, 3000) * 1000
    traffic = [_flow("p0", src, target, size), *_background(rng, net, {src, target})]
    receiver: dict[str, Any] = {"hosts": target}
    if what == "slow-nic":
        receiver["drain_rate"] = f"{net.gbps // rng.randint(2, 5)}Gbps"
    else:
        start = rng.randint(150, 300)
        receiver |= {"start": f"{start}us", "stop": f"{start + rng.randint(300, 2000)}us"}
    scenario = _scenario(net, traffic, pfc=_pfc(rng), slow_receiver=receiver)
    return Planted(what, scenario, frozenset(["nic"]), frozenset([target]), size=size)


def _deadlock(rng: random.Random, what: str) -> Planted:
    """A ring whose hosts all send two switches on: its buffers wait for one another."""
    net, roots = ring(rng)
    count = len(net.hosts)
    traffic = []
    for number, host in enumerate(net.hosts):
        dst = net.hosts[(number + 2) % count]
        start = f"{rng.randint(0, 50)}us"
        ends = {"kind": "flow", "from": host, "to": dst, "start": start}
        traffic.append({"name": f"p{number}", **ends})
    rng.shuffle(traffic)
    scenario = _scenario(net, traffic, pfc={"xoff": f"{rng.randint(20, 60)}KB"})
    scenario["duration"] = "30ms"
    scenario["probes"]["deadlock"] = "1ms"
    return Planted(what, scenario, frozenset(["cycle"]), roots)


def _priority(rng: random.Random, what: str) -> Planted:
    """A more urgent priority takes most of the link to a host, of which another one wants more."""
    net = random_net(rng)
    target = rng.choice(net.hosts)
    urgent, src = rng.sample([host for host in net.hosts if host != target], 2)
    size = rng.randint(1500, 3000) * 1000
    limit = f"{net.gbps * rng.randint(600, 900)}Mbps"
    hog = {"name": "urgent", "kind": "flow", "from": urgent, "to": target, "priority": 4}
    traffic = [_flow("p0", src, target, size), hog | {"rate_limit": limit}]
    traffic += _background(rng, net, {urgent, src, target})
    switch = {"lossless": [3, 4]}
    scenario = _scenario(net, traffic, pfc=_pfc(rng), switch=switch)
    roots = frozenset([f"{net.edge[target]}->{target}"])
    # Two hosts sent to it; of its own priority it was one.
    return Planted(what, scenario, frozenset(["busy", "incast"]), roots, size=size)


def _ecmp(rng: random.Random, what: str) -> Planted:
    """Hosts of one leaf send to as many of another over uplinks that are as fast as theirs."""
    net = random_net(rng, tiers=True, even=True)
    near = [host for host in net.hosts if net.edge[host] == net.edge[net.hosts[0]]]
    far = [host for host in net.hosts if net.edge[host] != net.edge[net.hosts[0]]]
    far = rng.sample(far, len(near))
    size = rng.randint(1500, 3000) * 1000
    pairs = zip(near, far, strict=True)
    traffic = [
        _flow(f"p{n}", a, b, size, source_port=rng.randint(1, 60_000))
        for n, (a, b) in enumerate(pairs)
    ]
    scenario = _scenario(net, traffic, pfc=_pfc(rng))
    roots = frozenset(net.between)
    return Planted(what, scenario, frozenset(["incast"]), roots, shared=True, size=size)


def _lossy_hog(rng: random.Random, what: str) -> Planted:
    """A lossy queue takes the shared buffer, so that thresholds fall where nothing is congested."""
    net = random_net(rng, single=True)
    hosts = rng.sample(net.hosts, 6)
    hog = {"name": "lossy", "kind": "flow", "from": hosts[2:5], "to": hosts[1], "priority": 0}
    lossless = {"kind": "flow", "from": [hosts[5]], "to": hosts[0], "priority": 3}
    # It fills its own link, no more: nothing but the threshold stops it.
    traffic = [hog, {"name": "lossless", "start": "1ms", **lossless}]
    buffer = rng.randint(15, 30) * 100
    switch = {"lossless": [3], "buffer": f"{buffer}KB", "lossy_queue": f"{buffer}KB"}
    pfc = {"headroom": "20KB", "dynamic_shift": 0}
    scenario = _scenario(net, traffic, pfc=pfc, switch=switch)
    scenario["host"] = {"retransmit_timeout": "500us"}
    root = f"S0->{hosts[1]}"
    return Planted(what, scenario, frozenset(["pool"]), frozenset([root]))
