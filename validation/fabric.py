"""Case (c): paced flows over a fat-tree of 16 hosts with ECMP."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np

from validation.compare import Quantity, Row, compare
from validation.runs import Flow, prepare

SEED = 1
HOSTS = 16
RATE_BPS = 4e9
HEADER_BYTES = 30
PACKET_BYTES = 1000
STARTS_S = 10e-3
STOP_S = 20e-3

EXACT = {
    "links": Quantity("directions of links in use", "", 0, digits=0),
    "same": Quantity("of them with as many packets in both", "", 0, digits=0),
    "packets": Quantity("packets over all links", "", 0, digits=0),
    "busiest": Quantity("packets over the busiest link", "", 0, digits=0),
    "idlest": Quantity("packets over the idlest link", "", 0, digits=0),
}
DELAYS = {
    "mean": Quantity("mean FCT", "us", 0.001, digits=4),
    "p99": Quantity("p99 FCT", "us", 0.001, digits=4),
}
EQUAL = Quantity("flows of equal FCT", "%", 0.001, digits=2)
LARGEST = Quantity("largest difference of a flow's FCT", "ns", 0, absolute=100, digits=3)


def flows() -> list[Flow]:
    """Each host sends one flow at a time to a random host, of 1 to 200 packets."""
    draw = random.Random(SEED)
    made = []
    for src in range(HOSTS):
        start = 0.0
        while (start := start + draw.expovariate(1 / 20e-6)) < STARTS_S:
            packets = draw.randint(1, 200)
            dst = draw.choice([host for host in range(HOSTS) if host != src])
            made.append(Flow(start, src, dst, packets * PACKET_BYTES))
            start += packets * (PACKET_BYTES + HEADER_BYTES) * 8 / RATE_BPS
    return made


def rows(program: Path) -> tuple[list[Row], list[Row]]:
    """The case, and the variant."""
    experiment = prepare("fabric", "fabric.toml", "fat-tree.txt", flows(), SEED)
    result = experiment.unpause("paced")
    links: Counter[tuple[str, str]] = Counter()
    for port in result.ports.to_pylist():
        links[port["node"], port["peer"]] += port["tx_packets"]
    fct = result.flows["fct_ns"].to_numpy(zero_copy_only=False)

    def against(name: str, *extra: str) -> list[Row]:
        output = experiment.ns3(program, "--rates=4Gbps", f"--stop={STOP_S}", *extra)
        return compare_runs(name, links, fct, output)

    return (
        against("fat-tree, paced flows"),
        against("fat-tree, paced flows: ns-3 paces from the wire", "--paceByWire=1"),
    )


def compare_runs(
    name: str, links: Counter[tuple[str, str]], fct_ns: np.ndarray, output: dict
) -> list[Row]:
    """Loads of links, and FCTs flow by flow."""
    hosts = range(HOSTS)

    def node(number: int) -> str:
        return f"{'H' if number in hosts else 'S'}{number}"

    theirs = Counter(
        {(node(link["from"]), node(link["to"])): link["packets"] for link in output["links"]}
    )
    used = [link for link in theirs if theirs[link]]
    same = sum(links[link] == theirs[link] for link in used)
    own = {
        "links": sum(count > 0 for count in links.values()),
        "same": len(used),
        "packets": links.total(),
        "busiest": max(links.values()),
        "idlest": min(links.values()),
    }
    other = {
        "links": len(used),
        "same": same,
        "packets": theirs.total(),
        "busiest": max(theirs.values()),
        "idlest": min(theirs[link] for link in used),
    }
    made = [compare(name, q, [own[key]], [other[key]]) for key, q in EXACT.items()]
    fct = np.array([flow["fct_ns"] for flow in output["flows"]], dtype=float)
    statistics = {"mean": np.mean, "p99": lambda values: np.percentile(values, 99)}
    for key, statistic in statistics.items():
        values = float(statistic(fct_ns)) / 1e3, float(statistic(fct)) / 1e3
        made.append(compare(name, DELAYS[key], [values[0]], [values[1]]))
    difference = np.abs(fct_ns - fct)
    made.append(compare(name, EQUAL, [100.0], [100.0 * float(np.mean(difference < 5e-4))]))
    made.append(compare(name, LARGEST, [0.0], [float(difference.max())]))
    return made
