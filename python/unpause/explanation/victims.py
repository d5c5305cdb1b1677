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

from unpause.data import connections, lives, series
from unpause.data.fabric import Fabric, Pairs, Port, Stops
from unpause.data.result import Run

#: A queue of less is no congestion.
LEAST_QUEUE = 15_000
#: More pairs of hosts and stopped ports than this are not looked at one by one.
_MOST_QUESTIONS = 300_000
#: With more pairs of hosts victims are not looked for.
_MOST_PAIRS = 200_000


@dataclass(frozen=True)
class Victim:
    """A flow that waited for the congestion of others; `life_ns` is None of a job's connection."""

    flow: str
    stopped_ns: float
    life_ns: float | None
    slowdown: float | None


def recorded(run: Run, flows: pa.Table) -> list[Victim]:
    """Those of table `victims`, longest wait first; waits for several roots are added up."""
    table = run.columns("victims", ["flow_id", "waited_ns"])
    waited = np.bincount(
        series.rows_of(series.column(flows, "flow_id"), series.column(table, "flow_id")),
        weights=series.column(table, "waited_ns"),
        minlength=flows.num_rows,
    )
    found = {int(row): float(waited[row]) for row in np.flatnonzero(waited > 0)}
    return _told(run, flows, found, _life(run, flows)[1])


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
    kept = connections.of_jobs(run, flows)
    maybe_more |= bool(stops) and bool(kept.any())
    suspects = {it: _suspects(fabric, began.get(it, ()), it, hosts) for it in stops}
    for priority, stopped in stops.items():
        ours = [
            (src, dst, rows[~kept[rows]])
            for (src, dst, it), rows in pairs
            if it == priority and not kept[rows].all()
        ]
        near = _Pairs(fabric, [(src, dst) for src, dst, _ in ours])
        may_be_own = near.may_cross_any(suspects[priority])
        # It may still have waited for congestion of other flows.
        maybe_more |= bool(may_be_own.any())
        others = np.flatnonzero(~may_be_own)
        ports = list(stopped.by_port)
        one_by_one = len(ports) * len(pairs) <= _MOST_QUESTIONS
        maybe_more |= not one_by_one and len(others) > 0
        must, unsure = near.must_cross(ports, others, own_only=not one_by_one)
        maybe_more |= unsure
        for links, of in must.items():
            union = stopped.union([ports[it] for it in links])
            if len(union):
                rows = np.concatenate([ours[it][2] for it in of])
                waited = series.time_within(union, end[rows])
                waited -= series.time_within(union, start[rows])
                found |= {int(row): float(w) for row, w in zip(rows, waited, strict=True) if w > 0}
    rows = (int(row) for _, rows in pairs for row in rows)
    in_order = {row: found[row] for row in rows if row in found}
    return _told(run, flows, in_order, life), maybe_more


class _Pairs:
    """Senders with their receivers, and which of them cross several links."""

    def __init__(self, fabric: Fabric, pairs: Sequence[tuple[str, str]]) -> None:
        self._paths = Pairs(fabric, pairs)
        self._senders = np.array([src for src, _ in pairs])

    def may_cross_any(self, ports: Sequence[Port]) -> np.ndarray:
        """By pair whether one of its shortest paths leads over any of `ports`."""
        found = np.zeros(len(self._senders), dtype=bool)
        for port in ports:
            found |= self._paths.crossed(port)[0]
        return found

    def must_cross(
        self, ports: Sequence[Port], pairs: np.ndarray, *, own_only: bool
    ) -> tuple[dict[tuple[int, ...], list[int]], bool]:
        """Which of `pairs` have to cross the same ones of `ports`; whether any only may cross one.

        With `own_only`, of the ports those of the sender count only.
        """
        links: dict[int, list[int]] = {int(pair): [] for pair in pairs}
        unsure = False
        sending = set(self._senders.tolist())
        senders = self._senders[pairs] if len(pairs) else np.empty(0, str)
        for number, port in enumerate(ports if len(pairs) else ()):
            if own_only and port.node not in sending:
                continue
            may, must = (every[pairs] for every in self._paths.crossed(port))
            if own_only:
                may, must = may & (senders == port.node), must & (senders == port.node)
            unsure |= bool(np.any(may & ~must))
            for pair in pairs[must]:
                links[int(pair)].append(number)
        found: dict[tuple[int, ...], list[int]] = {}
        for pair, crossed in links.items():
            found.setdefault(tuple(crossed), []).append(pair)
        return found, unsure


def _life(run: Run, flows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Start of each flow, and how long it was under way."""
    start = series.column(flows, "start_ns")
    return start, lives.ends_ns(run, flows) - start


def _told(run: Run, flows: pa.Table, found: Mapping[int, float], life: np.ndarray) -> list[Victim]:
    """Rows of `flows` that count, and for how long they waited, as victims: longest first."""
    counts = series.column(flows, "start_ns") >= run.warmup_ns
    found = {row: waited for row, waited in found.items() if counts[row]}
    shown = flows.select(["traffic", "src", "dst", "slowdown"])
    told = shown.take(pa.array(found, pa.int64())).to_pylist()
    kept = connections.of_jobs(run, flows)
    victims = [
        Victim(
            f"{f['traffic']} ({f['src']} -> {f['dst']})",
            min(waited, float(life[row])),
            None if kept[row] else float(life[row]),
            f["slowdown"],
        )
        for f, (row, waited) in zip(told, found.items(), strict=True)
    ]
    return sorted(victims, key=lambda victim: -victim.stopped_ns)
