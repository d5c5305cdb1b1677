"""Where the time of flows and messages went, in words.

Table ``delays`` has their parts, which add up to the picosecond. Those of a flow that finished are
beyond what it takes alone; those of another are the time until the end of the run in which it was
not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import lives, series
from unpause.data.fabric import Fabric, Pairs, Port
from unpause.data.result import Run
from unpause.explanation import predecessors
from unpause.text import rate, size, time

#: The parts of a delay: columns of table `delays`, and what people call them.
PARTS = {
    "turn_ns": "other packets at its NIC",
    "rate_ns": "its rate",
    "limit_ns": "its rate limit",
    "open_ns": "opening its connection",
    "window_ns": "its window",
    "pause_ns": "PAUSE",
    "credit_ns": "credit of the receiver",
    "loss_ns": "lost packets",
    "timeout_ns": "timeouts",
    "retry_ns": "frames that links sent again",
    "queue_ns": "queues",
    "own_queue_ns": "queues of its own packets",
    "switch_ns": "inside switches",
    "receiver_ns": "packets out of order",
    "other_ns": "not explained",
}

#: At most this many parts are named, and none below this share.
_MOST_PARTS = 4
_LEAST_SHARE = 0.01

#: A part with this share has its cause named.
_NAMED_SHARE = 0.05

#: At most this many entries are named.
_MOST_ENTRIES = 3

#: Flows that count as slowest: those above this percentile of the slowdown.
_TAIL = 99


class Delay(NamedTuple):
    """A flow with its delay: a row of `flows` and one of `delays`.

    Of a message, `flow` has the same columns.
    """

    flow: dict[str, Any]
    delay: dict[str, Any]

    @property
    def total_ns(self) -> float:
        """The sum of the parts."""
        return float(self.delay["delay_ns"])

    @property
    def takes_ns(self) -> float:
        """The FCT, or of a flow that did not finish the time until the end of the run."""
        if self.is_finished:
            return float(self.flow["fct_ns"])
        return self.total_ns + float(self.delay["sending_ns"])

    @property
    def is_finished(self) -> bool:
        """Whether the flow finished before the run ended."""
        return self.flow["fct_ns"] is not None

    @property
    def slowdown(self) -> str:
        """Its slowdown, or how large it is at least; empty if its path is not known."""
        alone = self.flow["ideal_fct_ns"]
        if not alone:
            return ""
        least = "" if self.is_finished else "at least "
        return f"{least}{self.takes_ns / float(alone):.3g}"

    def share(self, *parts: str) -> float:
        """The share of these parts in the total."""
        total = self.total_ns
        return sum(self.delay[part] for part in parts) / total if total > 0 else 0.0


def are_there(run: Run) -> bool:
    """Whether the run has recorded delays: with ``causes = true``, and not before version 0.1.0."""
    there = getattr(run.result.tables, "is_there", None)
    if there is not None and not there("delays"):
        return False
    return run.columns("delays", ["flow_id"]).num_rows > 0


def of_flows(run: Run) -> pa.Table:
    """The rows of whole flows."""
    delays = run.table("delays")
    return delays.filter(pc.is_null(delays.column("message")))


def shares(delays: Mapping[str, Any] | pa.Table) -> str:
    """The parts in words, the largest first: ``71 % its rate, 18 % queues``."""
    if isinstance(delays, pa.Table):
        sums = {part: pc.sum(delays.column(part)).as_py() or 0.0 for part in PARTS}
    else:
        sums = {part: delays[part] for part in PARTS}
    total = sum(sums.values())
    if total <= 0:
        return "nothing"
    largest = sorted(PARTS, key=lambda part: -sums[part])[:_MOST_PARTS]
    named = [part for part in largest if sums[part] >= _LEAST_SHARE * total]
    return ", ".join(f"{100 * sums[part] / total:.0f} % {PARTS[part]}" for part in named)


def of_flow(run: Run, flow_id: int) -> Delay | None:
    """The delay of a flow; None if it has no size, or its path is not known."""
    delays = of_flows(run)
    delays = delays.filter(pc.equal(delays.column("flow_id"), flow_id))
    if not delays.num_rows:
        return None
    flows = run.table("flows")
    flows = flows.filter(pc.equal(flows.column("flow_id"), flow_id))
    return Delay(flows.to_pylist()[0], delays.to_pylist()[0])


def sentences(run: Run, delay: Delay) -> Iterator[str]:
    """Where the time of a flow went, and what filled the places where it waited."""
    took = _took(delay)
    if delay.total_ns <= 0:
        yield f"{took}: nothing delayed it."
        return
    yield f"{took}. The other {time(delay.total_ns)}: {shares(delay.delay)}."
    yield from behind(run, delay)


def _took(delay: Delay) -> str:
    """How long a flow took, or that it did not finish."""
    flow = delay.flow
    name = f"{flow['traffic']} ({flow['src']} -> {flow['dst']})"
    if delay.is_finished:
        return f"{name} took {time(flow['fct_ns'])}, and {time(flow['ideal_fct_ns'])} alone"
    return (
        f"{name} did not finish: {size(flow['delivered_bytes'])} of {size(flow['size_bytes'])} "
        f"arrived in {time(delay.takes_ns)}, and it was sent for {time(delay.delay['sending_ns'])}"
    )


def behind(run: Run, delay: Delay) -> Iterator[str]:
    """Which flows and places are behind the parts of a delay."""
    if delay.share("rate_ns", "open_ns", "window_ns", "credit_ns") >= _NAMED_SHARE:
        yield from _of_fullest_link(run, delay)
    if delay.share("turn_ns") >= _NAMED_SHARE:
        yield from _of_nic(run, delay)
    if delay.share("queue_ns", "pause_ns") >= _NAMED_SHARE and delay.delay["longest_ns"]:
        yield _of_queue(run, delay)


def of_entry(run: Run, flows: pa.Table) -> Iterator[str]:
    """Where the time of the slowest flows of an entry went, and of the slowest one in detail."""
    slow = slowest(run, run.counted(flows))
    if not slow:
        return
    tail = pa.Table.from_pylist([each.delay for each in slow])
    which = f"its {len(slow)} slowest flows" if len(slow) > 1 else "its slowest flow"
    entry = slow[0].flow["traffic"]
    worst = f" (up to slowdown {slow[0].slowdown})" if slow[0].is_finished else ""
    if stuck := sum(not each.is_finished for each in slow):
        all_of = "which" if stuck == len(slow) else str(stuck)
        worst = f", {all_of} did not finish" if len(slow) > 1 else ", which did not finish"
    yield f"{entry}, {which}{worst}: {shares(tail)}."
    for number, text in enumerate(sentences(run, slow[0])):
        yield f"Slowest: flow {slow[0].flow['flow_id']}, {text}" if not number else text
    yield from predecessors.started(run, slow[0].flow)


def slowest(run: Run, flows: pa.Table, most: int | None = None) -> list[Delay]:
    """The flows with the largest slowdown: as many as `most`, or one of 100, the slowest first.

    Those that did not finish come first, by the slowdown that they have at least.
    """
    delays = of_flows(run)
    known = flows.filter(pc.is_in(flows.column("flow_id"), delays.column("flow_id")))
    if not known.num_rows:
        return []
    wanted = most or max(1, known.num_rows * (100 - _TAIL) // 100)
    end = float(run.row["simulated_ns"])
    takes = pc.if_else(
        pc.is_null(known.column("fct_ns")),
        pc.subtract(end, known.column("start_ns")),
        known.column("fct_ns"),
    )
    ranked = pa.table(
        {
            "unfinished": pc.is_null(known.column("fct_ns")),
            "slowdown": pc.divide(takes, known.column("ideal_fct_ns")),
            "flow_id": known.column("flow_id"),
        }
    )
    order = [("unfinished", "descending"), ("slowdown", "descending"), ("flow_id", "ascending")]
    known = known.take(pc.sort_indices(ranked, order)[:wanted])
    of = delays.filter(pc.is_in(delays.column("flow_id"), known.column("flow_id"))).to_pylist()
    by_flow = {row["flow_id"]: row for row in of}
    return [Delay(flow, by_flow[flow["flow_id"]]) for flow in known.to_pylist()]


def line(delay: Delay) -> str:
    """A flow among the slowest: who it is, its slowdown and why."""
    flow, parts = delay
    queue = f"; longest at {parts['longest_node']}->{parts['longest_peer']}"
    waited = delay.share("queue_ns", "own_queue_ns", "pause_ns") >= _NAMED_SHARE
    took = "" if delay.is_finished else "did not finish in "
    slowdown = f", slowdown {delay.slowdown}" if delay.slowdown else ""
    return (
        f"flow {flow['flow_id']}, {flow['traffic']} {flow['src']}->{flow['dst']}, "
        f"{size(flow['size_bytes'])}: {took}{time(delay.takes_ns)}{slowdown}: "
        f"{shares(parts)}{queue if waited and parts['longest_ns'] else ''}"
    )


def _others(run: Run, delay: Delay) -> tuple[pa.Table, np.ndarray]:
    """The other flows that were under way while this one was, and their bytes in that time."""
    flow = delay.flow
    flows = run.table("flows")
    start, end = series.column(flows, "start_ns"), lives.ends_ns(run, flows)
    first, last = flow["start_ns"], flow["start_ns"] + delay.takes_ns
    shared = np.minimum(end, last) - np.maximum(start, first)
    part = np.clip(shared / np.maximum(end - start, 1e-3), 0, 1)
    sent = series.column(flows, "delivered_bytes") * part
    other = (shared > 0) & (series.column(flows, "flow_id") != flow["flow_id"])
    return flows.filter(pa.array(other)), sent[other]


def _of_fullest_link(run: Run, delay: Delay) -> Iterator[str]:
    """The fullest link on the path of a flow while it was under way, and who filled it."""
    flow = delay.flow
    fabric = Fabric.of(run)
    if not fabric.searchable:
        return
    others, sent = _others(run, delay)
    ends = [(flow["src"], flow["dst"])]
    ends += zip(others["src"].to_pylist(), others["dst"].to_pylist(), strict=True)
    pairs = Pairs(fabric, ends)
    own = float(flow["delivered_bytes"] or 0)
    best: tuple[float, Port, np.ndarray] | None = None
    for port, totals in fabric.ports.items():
        must = pairs.crossed(port)[1]
        if not must[0] or not totals.rate_bps:
            continue
        carried = own + float(sent[must[1:]].sum())
        used = 8e9 * carried / (totals.rate_bps * delay.takes_ns)
        if best is None or used > best[0]:
            best = used, port, must[1:]
    if best is None:
        return
    used, port, crossing = best
    if not crossing.any():
        yield f"No other flow surely shared a link with it; {port} was {100 * used:.0f} % used."
        return
    whose = _entries(others.filter(pa.array(crossing)), sent[crossing], own)
    yield (
        f"The fullest link on its path was {port} ({rate(fabric.ports[port].rate_bps)}), "
        f"{min(100.0, 100 * used):.0f} % used by payload meanwhile: {whose}."
    )


def _of_nic(run: Run, delay: Delay) -> Iterator[str]:
    """The other flows of its sender."""
    flow = delay.flow
    others, sent = _others(run, delay)
    same = np.asarray(pc.equal(others.column("src"), flow["src"]).to_numpy(zero_copy_only=False))
    if same.any():
        yield (
            f"{flow['src']} also sent meanwhile: "
            f"{_entries(others.filter(pa.array(same)), sent[same], None)}."
        )


def _entries(flows: pa.Table, sent: np.ndarray, own: float | None) -> str:
    """Entries with their numbers of flows and shares of the bytes; a flow beside them has `own`."""
    counts = Counter(flows.column("traffic").to_pylist())
    total = float(sent.sum()) + (own or 0.0)
    by_entry: Counter[str] = Counter()
    for name, part in zip(flows.column("traffic").to_pylist(), sent, strict=True):
        by_entry[name] += float(part)
    named = by_entry.most_common(_MOST_ENTRIES)
    parts = [
        f"{counts[name]} {'flow' if counts[name] == 1 else 'flows'} of {name} "
        f"({100 * part / total:.0f} %)"
        for name, part in named
        if total > 0
    ]
    if own is not None and total > 0:
        parts.append(f"itself ({100 * own / total:.0f} %)")
    if len(by_entry) > len(named):
        parts.append("others")
    return ", ".join(parts)


def _of_queue(run: Run, delay: Delay) -> str:
    """The longest wait of its last packet in a queue, and what was ahead of it there."""
    row = delay.delay
    place = f"{row['longest_node']}->{row['longest_peer']}"
    others = row["ahead_bytes"] - row["own_bytes"]
    text = f"Its last packet waited longest, {time(row['longest_ns'])}, at {place}"
    if not others:
        return f"{text}."
    text += f", behind {size(others)} of other flows"
    largest = row["largest_flow_id"]
    if largest is None:
        return f"{text}."
    flows = run.columns("flows", ["flow_id", "traffic"])
    name = flows.filter(pc.equal(flows.column("flow_id"), largest)).column("traffic")
    entry = f" ({name[0].as_py()})" if len(name) else ""
    return f"{text}, {size(row['largest_bytes'])} of them of flow {largest}{entry}."
