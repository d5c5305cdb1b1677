"""DCTCP's Fig. 17, to set beside published numbers: `python -m validation.published`."""

from __future__ import annotations

import tomllib

import numpy as np
import pyarrow.compute as pc

from unpause.data.result import Result
from validation.runs import Flow, prepare

# Senders, their first receiver and how many there are: S1, S2 and S3 of the paper.
GROUPS = {"S1": (range(10), 40, 1), "S2": (range(10, 30), 41, 20), "S3": (range(30, 40), 40, 1)}
ENDLESS_BYTES = 10**11
# Throughput and queues count in the fifth second.
FROM_NS, UNTIL_NS = 4e9, 5e9


def flows() -> list[Flow]:
    """A flow a sender, their starts spread over the first second as in ns-3's example."""
    made = []
    for senders, receiver, receivers in GROUPS.values():
        for i, src in enumerate(senders):
            start = i / len(senders) + 0.005 * i
            made.append(Flow(start, src, receiver + i % receivers, ENDLESS_BYTES))
    return made


def main() -> None:
    """Runs the schemes and prints a table."""
    print("| scheme | S1 | S2 | S3 (Mb/s each) | least Jain | T2 -> R1 | T1 -> T2 (us of queue) |")
    print("|---|---|---|---|---|---|---|")
    experiment = prepare("published", "dctcp-fig17.toml", "dctcp-fig17.txt", flows(), 1)
    for scheme in tomllib.loads(experiment.scenario.read_text("utf-8"))["scheme"]:
        print(row(scheme["name"], experiment.unpause(scheme["name"])), flush=True)


def row(scheme: str, result: Result) -> str:
    """Throughput of each group, the least of their fairness indices, mean queues as delays."""
    rates = throughput_mbps(result)
    groups = [rates[list(senders)] for senders, _, _ in GROUPS.values()]
    jain = min(group.sum() ** 2 / (len(group) * (group**2).sum()) for group in groups)
    cells = [f"{group.mean():.1f}" for group in groups]
    late = result.port_series.filter((pc.field("time_ns") > FROM_NS) & (pc.field("priority") == 0))
    for node, ns_per_byte in (("S62", 8.0), ("S61", 0.8)):
        queue = late.filter(pc.field("node") == node)["queue_bytes"].to_numpy()
        cells.append(f"{queue.mean() * ns_per_byte / 1e3:.0f}")
    return f"| {scheme} | {' | '.join(cells[:3])} | {jain:.3f} | {' | '.join(cells[3:])} |"


def throughput_mbps(result: Result) -> np.ndarray:
    """Payload delivered in the last second, by number of the sending host."""
    hosts = {
        flow["flow_id"]: (int(flow["src"][1:]), flow["delivered_bytes"])
        for flow in result.flows.to_pylist()
    }
    rates = np.zeros(len(hosts))
    before = result.flow_series.filter(pc.field("time_ns") == FROM_NS)
    for sample in before.to_pylist():
        host, delivered = hosts[sample["flow_id"]]
        bits = 8 * (delivered - sample["delivered_bytes"])
        rates[host] = bits / (UNTIL_NS - FROM_NS) * 1e3
    return rates


if __name__ == "__main__":
    main()
