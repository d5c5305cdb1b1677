"""Flows that waited for congestion that is not on their path.

Table `victims` has them all, where causes were recorded. Without it pauses, ports and flows give
some: a flow is called a victim if each of its paths avoids all that may have been congested in its
priority, and a link that it had to cross was paused while it was under way. That there was none
is then never said while any link was paused for such flows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unpause import series
from unpause.fabric import Fabric, Port, Stops
from unpause.result import Run

#: A queue of less is no congestion.
LEAST_QUEUE = 15_000
#: More pairs of hosts and stopped ports than this are not looked at one by one.
_MOST_QUESTIONS = 300_000
#: With more pairs of hosts nobody is looked for.
_MOST_PAIRS = 200_000


@dataclass(frozen=True)
class Victim:
    """A flow that waited for the congestion of others."""

    flow: str
    stopped_ns: float
    life_ns: float
    slowdown: float | None


def recorded(run: Run, flows: pa.Table) -> list[Victim]:
    """Those of table `victims`, longest wait first; waits for several roots are added up."""
    table = run.columns("victims", ["flow_id", "waited_ns"])
    waited = np.bincount(
        series.column(table, "flow_id").astype(int),
        weights=series.column(table, "waited_ns"),
        minlength=flows.num_rows,
    )
    found = {int(row): float(waited[row]) for row in np.flatnonzero(waited > 0)}
    return _told(flows, found, _life(run, flows)[1])


def began(fabric: Fabric, stops: Mapping[int, Stops]) -> dict[int, list[str]]:
    """By priority the nodes where PAUSE began."""
    found: dict[int, list[str]] = {}
    for priority, stopped in stops.items():
        for node in dict.fromkeys(port.peer for port in stopped.by_port):
            own = stopped.of_node(node)
            by = [every for port, every in stopped.by_port.items() if port.peer == node]
            if any(filled_by_itself(every, own) for every in by):
                found.setdefault(priority, []).append(node)
    return found


def congested(fabric: Fabric, began: Mapping[int, Sequence[str]]) -> list[Port]:
    """The egresses of these nodes with the longest queue of that priority, or half of it."""
    found: dict[Port, int] = {}
    for priority, nodes in began.items():
        for node in nodes:
            queues = _queues(fabric, node, priority)
            longest = max(queues.values(), default=0)
            found |= {p: queue for p, queue in queues.items() if longest and 2 * queue >= longest}
    return sorted(found, key=lambda port: -found[port])


def filled_by_itself(stopped: np.ndarray, own: np.ndarray) -> bool:
    """Whether any of the PAUSEs began without one of its sender's `own` since the last."""
    released = np.concatenate([[-np.inf], stopped[:-1, 1]])
    if not len(own):
        return True
    # The last of its own stops that began before; did it reach into the time since the release?
    before = np.searchsorted(own[:, 0], stopped[:, 0], side="left") - 1
    reached = (before >= 0) & (own[np.maximum(before, 0), 1] > released)
    return not bool(np.all(reached))


def _queues(fabric: Fabric, node: str, priority: int) -> dict[Port, int]:
    return {p: t.queues.get(priority, 0) for p, t in fabric.ports.items() if p.node == node}


def _suspects(fabric: Fabric, nodes: Sequence[str], priority: int, hosts: set[str]) -> list[Port]:
    """Every egress that may have been why these nodes stopped others."""
    found: list[Port] = []
    for node in nodes:
        if node in hosts:
            found += [port for port in fabric.ports if port.peer == node]
            continue
        queues = _queues(fabric, node, priority)
        long = [port for port, queue in queues.items() if queue >= LEAST_QUEUE]
        found += long or queues
    return found


def estimated(
    run: Run,
    fabric: Fabric,
    stops: Mapping[int, Stops],
    flows: pa.Table,
    began: Mapping[int, Sequence[str]],
) -> tuple[list[Victim] | None, bool]:
    """Some of them, longest first, and whether there may be more; None if that cannot be told."""
    paused = any(totals.paused_ns for totals in fabric.ports.values())
    if not fabric.searchable or (not began and paused):
        return None, False
    start, life = _life(run, flows)
    end = start + life
    found: dict[int, float] = {}
    maybe_more = False
    pairs = list(series.groups(flows, ["src", "dst", "priority"]))
    if len(pairs) > _MOST_PAIRS and stops:
        return None, False
    hosts = {host for (src, dst, _), _ in pairs for host in (src, dst)}
    suspects = {it: _suspects(fabric, began.get(it, ()), it, hosts) for it in stops}
    for (src, dst, priority), rows in pairs:
        if priority not in stops:
            continue
        if any(fabric.may_cross(src, dst, port) for port in suspects[priority]):
            # What it waited for may have been another's all the same.
            maybe_more = True
            continue
        ports = list(stops[priority].by_port)
        if len(ports) * len(pairs) > _MOST_QUESTIONS:
            ports, maybe_more = [port for port in ports if port.node == src], True
        must = [port for port in ports if fabric.must_cross(src, dst, port)]
        may = sum(fabric.may_cross(src, dst, port) for port in ports)
        maybe_more |= may > len(must)
        union = stops[priority].union(must)
        if len(union):
            waited = series.time_within(union, end[rows]) - series.time_within(union, start[rows])
            found |= {int(row): float(w) for row, w in zip(rows, waited, strict=True) if w > 0}
    return _told(flows, found, life), maybe_more


def _life(run: Run, flows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Start of each flow, and how long it was under way."""
    start = series.column(flows, "start_ns")
    life = series.column(flows, "fct_ns")
    return start, np.where(np.isnan(life), run.row["simulated_ns"] - start, life)


def _told(flows: pa.Table, found: Mapping[int, float], life: np.ndarray) -> list[Victim]:
    """Rows of `flows` and for how long they waited, as victims: longest first."""
    shown = flows.select(["traffic", "src", "dst", "slowdown"])
    told = shown.take(pa.array(found, pa.int64())).to_pylist()
    victims = [
        Victim(
            f"{f['traffic']} ({f['src']} -> {f['dst']})",
            min(waited, float(life[row])),
            float(life[row]),
            f["slowdown"],
        )
        for f, (row, waited) in zip(told, found.items(), strict=True)
    ]
    return sorted(victims, key=lambda victim: -victim.stopped_ns)
