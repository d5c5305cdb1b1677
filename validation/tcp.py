"""Case (a): TCP through queues that mark or drop, over a bottleneck of 10 Gb/s."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from unpause.data.result import Result
from validation.compare import Quantity, Row, compare
from validation.runs import Experiment, Flow, prepare

SEEDS = range(1, 7)
VARIANT_SEEDS = range(1, 5)
SEGMENT_BYTES = 1400
FRAME_BYTES = 1442
SHORT_HOST = 8
SHORT_BYTES = 20_000
ENDLESS_BYTES = 10**10

GOODPUT = Quantity("goodput", "Gb/s", 0.02, digits=3)
QUANTITIES = [
    GOODPUT,
    Quantity("mean queue", "packets", 0.05, absolute=0.5, digits=1),
    Quantity("median queue", "packets", 0.05, absolute=1, digits=1),
    Quantity("p99 queue", "packets", 0.10, absolute=1, digits=1),
    Quantity("packets marked", "%", 0.10, absolute=0.05),
    Quantity("packets dropped", "%", 0.10, absolute=0.05),
    Quantity("Jain's index of goodputs", "", 0.05, digits=3),
    Quantity("median FCT of 20 KB", "us", 0.05, digits=1),
    Quantity("p90 FCT of 20 KB", "us", 0.10, digits=1),
]

RED = (
    "--disc=ns3::RedQueueDisc",
    "--ns3::RedQueueDisc::UseEcn=1",
    "--ns3::RedQueueDisc::UseHardDrop=0",
    "--ns3::RedQueueDisc::Gentle=0",
    "--ns3::RedQueueDisc::QW=1",
    "--ns3::RedQueueDisc::MeanPktSize=1440",
    "--ns3::RedQueueDisc::LinkBandwidth=10Gbps",
    "--ns3::RedQueueDisc::MaxSize=1000p",
)
STEP = (*RED, "--ns3::RedQueueDisc::MinTh=65", "--ns3::RedQueueDisc::MaxTh=65")
SLOPE = (*RED, "--ns3::RedQueueDisc::MinTh=30", "--ns3::RedQueueDisc::MaxTh=180")
CODEL = (
    "--disc=ns3::CoDelQueueDisc",
    "--ns3::CoDelQueueDisc::UseEcn=1",
    "--ns3::CoDelQueueDisc::Target=50us",
    "--ns3::CoDelQueueDisc::Interval=500us",
    "--ns3::CoDelQueueDisc::MinBytes=1500",
    "--ns3::CoDelQueueDisc::MaxSize=1000p",
)
DROP_TAIL = ("--disc=ns3::FifoQueueDisc", "--ns3::FifoQueueDisc::MaxSize=100p")
ECN = "--ns3::TcpSocketBase::UseEcn=On"


def law(name: str) -> str:
    """The congestion control of all of ns-3's sockets."""
    return f"--ns3::TcpL4Protocol::SocketType=ns3::{name}"


@dataclass(frozen=True)
class Case:
    """A scheme of a scenario, and what it is called in ns-3.

    Slow start and its losses are over at `settled_ms`; all counts from then to `stop_ms`.
    """

    name: str
    scheme: str
    ns3: tuple[str, ...]
    long_flows: int = 8
    settled_ms: int = 10
    stop_ms: int = 50
    scenario: str = "bottleneck.toml"
    topology: str = "dumbbell.txt"
    seeds: Sequence[int] = SEEDS


# Cuts the window at once, as unpause does. ns-3's default takes a round trip for it, after a mark,
# too.
CUT_AT_ONCE = "--ns3::TcpL4Protocol::RecoveryType=ns3::TcpClassicRecovery"
DCTCP = Case("DCTCP, marks at 65 packets", "DCTCP, step", (law("TcpDctcp"), CUT_AT_ONCE, *STEP))
# With Wait, ns-3 leaves 1 to 2 times 1/p packets between marks, 1.5 on average: p is made 1.5 times
# what unpause, which draws for each packet, has.
ECN_RED = Case(
    "ECN TCP, RED",
    "ECN TCP, RED",
    (law("TcpNewReno"), ECN, CUT_AT_ONCE, *SLOPE, "--ns3::RedQueueDisc::LInterm=6.6667"),
)
ECN_CODEL = Case("ECN TCP, CoDel", "ECN TCP, CoDel", (law("TcpNewReno"), ECN, CUT_AT_ONCE, *CODEL))
RENO_ONE = Case(
    "NewReno, one flow, drop-tail",
    "NewReno, drop-tail",
    (law("TcpNewReno"), *DROP_TAIL),
    long_flows=1,
    settled_ms=50,
    stop_ms=120,
)
RENO = Case("NewReno, eight flows, drop-tail", "NewReno, drop-tail", RENO_ONE.ns3)
# ns-3's hybrid slow start is off, as unpause has none. One flow, nothing is random: one run.
CUBIC_LONG = Case(
    "CUBIC, round trips of 100 ms, marks at 100 packets",
    "CUBIC, step",
    (
        law("TcpCubic"),
        "--ns3::TcpCubic::HyStart=0",
        ECN,
        CUT_AT_ONCE,
        *RED,
        "--ns3::RedQueueDisc::MinTh=100",
        "--ns3::RedQueueDisc::MaxTh=100",
        "--ns3::RedQueueDisc::MaxSize=7000p",
        "--ns3::TcpSocket::ConnTimeout=1s",
        "--ns3::TcpSocketBase::MinRto=200ms",
        "--ns3::RttEstimator::InitialEstimation=100ms",
        "--sample=10ms",
    ),
    long_flows=1,
    settled_ms=20_000,
    stop_ms=80_000,
    scenario="long-path.toml",
    topology="long-path.txt",
    seeds=range(1, 2),
)
CASES = [DCTCP, ECN_RED, ECN_CODEL, RENO_ONE, RENO, CUBIC_LONG]

# One setting of ns-3 changed at a time.
BY_DEFAULT = "--ns3::TcpL4Protocol::RecoveryType=ns3::TcpPrrRecovery"
VARIANTS = [
    (DCTCP, "ns-3's default recovery", [BY_DEFAULT]),
    (DCTCP, "a packet more in ns-3's device", ["--deviceQueue=1"]),
    (
        ECN_RED,
        "p as in unpause, ns-3's marks 1 to 2 times 1/p apart",
        ["--ns3::RedQueueDisc::LInterm=10"],
    ),
    (RENO_ONE, "ns-3's classic recovery", [CUT_AT_ONCE]),
    (RENO, "ns-3 with SACK", ["--ns3::TcpSocketBase::Sack=1"]),
]


def flows(case: Case, seed: int) -> list[Flow]:
    """Long flows that start within a millisecond, and short ones from another host."""
    draw = random.Random(seed)
    made = [
        Flow(draw.uniform(0, 1e-3), host, 9 + host, ENDLESS_BYTES)
        for host in range(case.long_flows)
    ]
    if case.long_flows > 1:
        start = case.settled_ms / 1e3
        while (start := start + draw.expovariate(1 / 300e-6)) < case.stop_ms / 1e3 - 5e-3:
            made.append(Flow(start, SHORT_HOST, 9 + SHORT_HOST, SHORT_BYTES))
    return made


def rows(program: Path, workers: int) -> tuple[list[Row], list[Row]]:
    """The cases, and the variants."""
    with ThreadPoolExecutor(workers) as pool:

        def start(case: Case, seeds: Sequence[int], extra: Sequence[str] = ()) -> list:
            name = f"tcp-{case.name}".replace(" ", "-").replace(",", "").lower()
            prepared = [
                prepare(name, case.scenario, case.topology, flows(case, seed), seed)
                for seed in seeds
            ]
            times = [f"--settled={case.settled_ms / 1e3}", f"--stop={case.stop_ms / 1e3}"]
            arguments = [*case.ns3, *extra, "--bottleneck=18-19", *times]
            return [
                (
                    pool.submit(lambda e=experiment: measure_unpause(case, e)),
                    pool.submit(
                        lambda e=experiment: measure_ns3(case, e, e.ns3(program, *arguments))
                    ),
                )
                for experiment in prepared
            ]

        cases = [(case, start(case, case.seeds)) for case in CASES]
        variants = [
            (case, what, start(case, VARIANT_SEEDS, extra)) for case, what, extra in VARIANTS
        ]
        return (
            [row for case, pairs in cases for row in collect(case, case.name, pairs)],
            [
                row
                for case, what, pairs in variants
                for row in collect(case, f"{case.name}: {what}", pairs)
            ],
        )


def collect(case: Case, name: str, pairs: list) -> list[Row]:
    """The rows of one case, once its runs are done."""
    done = [(ours.result(), ns3.result()) for ours, ns3 in pairs]
    return [
        compare(name, q, [o[q.name] for o, _ in done], [n[q.name] for _, n in done])
        for q in QUANTITIES
        if q.name in done[0][0] and any(o[q.name] or n[q.name] for o, n in done)
    ]


def measure_unpause(case: Case, experiment: Experiment) -> dict[str, float]:
    """The quantities in unpause's tables; totals are the whole run's less the beginning's."""
    whole = experiment.unpause(case.scheme, case.stop_ms)
    beginning = experiment.unpause(case.scheme, case.settled_ms)
    settled = (pc.field("priority") == 0) & (pc.field("time_ns") > case.settled_ms * 1e6)
    queue = whole.port_series.filter(settled)["queue_bytes"].to_numpy()
    delivered = whole.flows["delivered_bytes"].to_numpy().astype(float)
    delivered[: beginning.flows.num_rows] -= beginning.flows["delivered_bytes"].to_numpy()
    counts = [
        total - before
        for total, before in zip(bottleneck(whole), bottleneck(beginning), strict=True)
    ]
    fct_ns = whole.flows["fct_ns"].to_numpy(zero_copy_only=False)
    return measure(case, experiment, queue / FRAME_BYTES, delivered, fct_ns, *counts)


def bottleneck(result: Result) -> list[int]:
    """Packets sent, marked and dropped at the bottleneck."""
    at = (pc.field("node") == "S18") & (pc.field("peer") == "S19") & (pc.field("priority") == 0)
    (port,) = result.ports.filter(at).to_pylist()
    return [port["tx_packets"], port["marked_packets"], port["dropped_packets"]]


def measure_ns3(case: Case, experiment: Experiment, output: dict) -> dict[str, float]:
    """The quantities in what ns-3's program prints."""
    return measure(
        case,
        experiment,
        np.array(output["queue_packets"]),
        np.array([flow["delivered_bytes"] for flow in output["flows"]], dtype=float),
        np.array([flow["fct_ns"] for flow in output["flows"]], dtype=float),
        output["sent_packets"],
        output["marked_packets"],
        output["dropped_packets"],
    )


def measure(
    case: Case,
    experiment: Experiment,
    queue_packets: np.ndarray,
    delivered_bytes: np.ndarray,
    fct_ns: np.ndarray,
    sent: int,
    marked: int,
    dropped: int,
) -> dict[str, float]:
    """The quantities, computed in one way for both."""
    is_short = np.array([flow.src == SHORT_HOST for flow in experiment.flows])
    long = delivered_bytes[~is_short]
    values = {
        "goodput": delivered_bytes.sum() * 8 / (case.stop_ms - case.settled_ms) / 1e6,
        "mean queue": queue_packets.mean(),
        "median queue": np.median(queue_packets),
        "p99 queue": np.percentile(queue_packets, 99),
        "packets marked": 100 * marked / sent,
        "packets dropped": 100 * dropped / sent,
    }
    if is_short.any():
        values["Jain's index of goodputs"] = long.sum() ** 2 / (len(long) * (long**2).sum())
        # A flow that has not ended within the run is slow.
        fct_us = np.nan_to_num(fct_ns[is_short], nan=np.inf) / 1e3
        values["median FCT of 20 KB"] = np.percentile(fct_us, 50, method="lower")
        values["p90 FCT of 20 KB"] = np.percentile(fct_us, 90, method="lower")
    return {name: float(value) for name, value in values.items()}
