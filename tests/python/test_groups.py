"""Statements about paths in a dragonfly hold for the packets of a run."""

from __future__ import annotations

from collections import defaultdict

import pytest

import unpause
from scenarios import PFC, flow, scenario
from unpause.data.fabric import Fabric, Pairs

SCENARIO = scenario(
    {
        "builder": "dragonfly",
        "switches_per_group": 2,
        "hosts_per_switch": 1,
        "global_links": 2,
        "host_rate": "100Gbps",
        "delay": "500ns",
    },
    PFC,
    switch={"balancing": "BALANCING"},
    probes={"packets": ["*->*"]},
)

FLOW = flow("F{src}-{dst}", "H{src}", "H{dst}", size="4KB")

#: Three receivers of each host, some in its group.
ENDS = [(src, (src + far) % 10) for src in range(10) for far in (1, 4, 7)]


@pytest.mark.parametrize("balancing", ["ecmp", "valiant"])
def test_packets_cross_what_they_may_and_what_they_must(balancing: str) -> None:
    flows = "".join(FLOW.format(src=src, dst=dst) for src, dst in ENDS)
    result = unpause.run(SCENARIO.replace("BALANCING", balancing) + flows, progress=False)
    (run,) = result.runs_of("PFC")
    fabric = Fabric.of(run)
    crossed: dict[tuple[str, str], set[tuple[str, int]]] = defaultdict(set)
    for row in run.columns("packets", ["node", "port", "src", "dst", "kind"]).to_pylist():
        if row["kind"] == "data":
            crossed[row["src"], row["dst"]].add((row["node"], row["port"]))
    assert len(crossed) == len(ENDS)
    pairs = list(crossed)
    possible = 0
    for port in fabric.ports:
        may, must = Pairs(fabric, pairs).crossed(port)
        for pair, may_be, must_be in zip(pairs, may, must, strict=True):
            does = (port.node, port.port) in crossed[pair]
            assert may_be or not does, (pair, port)
            assert does or not must_be, (pair, port)
            possible += bool(may_be)
    # Not all that there is.
    assert possible < len(pairs) * len(fabric.ports) / 2
    for src, dst in pairs:
        assert fabric.must_cross(src, dst, next(it for it in fabric.ports if it.node == src))
    longest = max(len(ports) for ports in crossed.values())
    assert longest <= (7 if balancing == "valiant" else 5)
