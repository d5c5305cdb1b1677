"""Case (b): one port of 10 Gb/s between three priorities; packets come at once in both."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from validation.compare import Quantity, Row, compare
from validation.runs import Flow, prepare

SEED = 1
LINK_BYTES_PER_S = 10e9 / 8
HEADER_BYTES = 30
ARRIVALS_S = 10e-3
STOP_S = 20e-3
# Bandwidth is shared out over this time, in which queues never run empty.
FROM_NS, UNTIL_NS = 2e6, 10e6

# Percentage points that two packets are of what is sent meanwhile.
TWO_PACKETS = 0.025
EQUAL = Quantity("packets of equal delay", "%", 0, digits=2)
PRIO = ("--disc=ns3::PrioQueueDisc",)
# Deficit round-robin of 1500 B a turn, the device's MTU, and no CoDel.
FQ = (
    "--disc=ns3::FqCoDelQueueDisc",
    "--ns3::FqCoDelQueueDisc::Target=10s",
    "--ns3::FqCoDelQueueDisc::Interval=100s",
    "--ns3::FqCoDelQueueDisc::MaxSize=1000000p",
)


@dataclass(frozen=True)
class Case:
    """A scheme of scheduling.toml, ns-3's queue disc, and payload and offered load by priority."""

    name: str
    scheme: str
    ns3: tuple[str, ...]
    classes: tuple[tuple[int, float], ...]
    shares: bool


THREE = ((1000, 0.3), (1000, 0.3), (1000, 0.3))
ALIKE = ((1000, 0.6), (1000, 0.6), (1000, 0.1))
UNLIKE = ((1000, 0.6), (200, 0.6), (500, 0.1))
CASES = [
    Case("strict priority", "strict priority", PRIO, THREE, False),
    Case("DWRR, ns-3's FqCoDel", "DWRR", FQ, ALIKE, True),
    Case("DWRR, ns-3's FqCoDel, unequal packets", "DWRR", FQ, UNLIKE, True),
]
VARIANTS = [
    Case(
        "strict priority: a packet more in ns-3's device",
        "strict priority",
        (*PRIO, "--deviceQueue=1"),
        THREE,
        False,
    ),
    Case(
        "DWRR, ns-3's FqCoDel: unpause serves priority 2 first",
        "DWRR, the sparse one first",
        FQ,
        ALIKE,
        True,
    ),
]


def flows(classes: tuple[tuple[int, float], ...]) -> list[Flow]:
    """Poisson arrivals of flows of one packet; host and priority have the same number."""
    draw = random.Random(SEED)
    made = []
    for priority, (payload, load) in enumerate(classes):
        per_second = load * LINK_BYTES_PER_S / (payload + HEADER_BYTES)
        start = 0.0
        while (start := start + draw.expovariate(per_second)) < ARRIVALS_S:
            made.append(Flow(start, priority, 3, payload, priority))
    return made


def rows(program: Path) -> tuple[list[Row], list[Row]]:
    """The cases, and the variants."""
    return (
        [row for case in CASES for row in run(program, case)],
        [row for case in VARIANTS for row in run(program, case)],
    )


def run(program: Path, case: Case) -> list[Row]:
    """One case in both programs."""
    name = "scheduling-" + "".join(c if c.isalnum() else "-" for c in case.name)
    experiment = prepare(name, "scheduling.toml", "single-switch.txt", flows(case.classes), SEED)
    result = experiment.unpause(case.scheme)
    arguments = [*case.ns3, "--rates=10Gbps,10Gbps,10Gbps", f"--stop={STOP_S}"]
    output = experiment.ns3(program, *arguments)
    ours = result.flows["fct_ns"].to_numpy(zero_copy_only=False)
    theirs = np.array([flow["fct_ns"] for flow in output["flows"]], dtype=float)
    own, other = measure(case, experiment.flows, ours), measure(case, experiment.flows, theirs)
    made = [compare(case.name, q, [own[q]], [other[q]]) for q in own]
    if not case.shares:
        # Both values are to the picosecond; a double of nanoseconds is not always.
        equal = 100.0 * np.mean(np.abs(ours - theirs) < 5e-4)
        made.append(compare(case.name, EQUAL, [100.0], [equal]))
    return made


def measure(case: Case, flows: list[Flow], fct_ns: np.ndarray) -> dict[Quantity, float]:
    """The quantities, computed in one way for both."""
    priority = np.array([flow.priority for flow in flows])
    frame = np.array([flow.size_bytes + HEADER_BYTES for flow in flows])
    end = np.array([flow.start_s * 1e9 for flow in flows]) + fct_ns
    values = {}
    if case.shares:
        shared = (end > FROM_NS) & (end <= UNTIL_NS)
        for p in range(len(case.classes)):
            share = frame[shared & (priority == p)].sum() / frame[shared].sum()
            values[Quantity(f"share of priority {p}", "%", 0.001, absolute=TWO_PACKETS)] = (
                100.0 * float(share)
            )
        delays = [len(case.classes) - 1]
    else:
        delays = range(len(case.classes))
    for p in delays:
        mean = float(np.mean(fct_ns[priority == p])) / 1e3
        largest = float(np.max(fct_ns[priority == p])) / 1e3
        values[Quantity(f"mean delay of priority {p}", "us", 0.001, digits=3)] = mean
        values[Quantity(f"largest delay of priority {p}", "us", 0.001, digits=3)] = largest
    return values
