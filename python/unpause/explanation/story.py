"""The summary of a run.

- *Where PAUSE began* and *who was a victim* is that of ``explain``
  (:mod:`unpause.explanation.account`), if causes were recorded. Else it began at a node whose
  ingress filled up although, since it last
  released that neighbour, none of its own egresses had been stopped; the congested ports are its
  egresses with the longest queue of that priority, or one at least half as long. Of victims some
  can be told then (:mod:`unpause.explanation.victims`).
- *What a link carried*: the bytes that it sent, over what its rate allows, the one in force
  (:mod:`unpause.data.capacity`), while flows for it were under way; of connections of jobs, while
  they had a message under way.
- *Fair*: Jain's index of the goodputs of recorded flows that share a link and a priority, and
  have no limit of their own, is at least 0.95 from
  then on; counted from the last start or end of any flow, of the flows that have not ended by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import capacity, completion, connections, lives, reroutes, series
from unpause.data.fabric import Fabric, Pairs, Port, Stops, senders_and_receivers
from unpause.data.result import Result, Run
from unpause.data.setting import Setting
from unpause.explanation import account, held, victims, watched
from unpause.explanation.victims import LEAST_QUEUE, Victim
from unpause.explanation.watched import Watched
from unpause.statistics.censored import Sample

#: Results with more runs have no summary.
MOST_RUNS = 60
#: Fewer senders are no burst.
_LEAST_SENDERS = 3
_FAIR = 0.95
_FAIR_BINS = 100


@dataclass(frozen=True)
class Pauser:
    """A node that stopped its neighbours.

    Attributes:
        stopped: By neighbour for how long, ns, longest first: of several links and priorities
            between the two, the one that was stopped longest.
        several: The neighbours with several that were stopped.
        total_ns: All links and priorities added up.
    """

    node: str
    is_host: bool
    events: int
    stopped: dict[str, float]
    several: frozenset[str]
    total_ns: float


@dataclass(frozen=True)
class Carried:
    """A congested port, and its utilisation while it had flows.

    Attributes:
        certain: Whether all these flows cross it; else some of them may have taken other paths.
    """

    port: Port
    rate_bps: int
    share: float
    longest_queue_bytes: int
    certain: bool


@dataclass(frozen=True)
class Past:
    """A flow without a size that avoids the congested port, and its goodput."""

    flow: str
    goodput_bps: float


@dataclass(frozen=True)
class Fairness:
    """How even flows are that share a link.

    Attributes:
        flows: How many.
        recorded: How many are recorded.
        since_ns: The last start or end of any flow.
        event: What that was: "start" of one of these flows, or another flow "started" or "ended".
        after_ns: When the shares became even, from then on; None if they did not.
        within_ns: For how long that was looked at.
    """

    flows: int
    recorded: int
    since_ns: float
    event: str
    after_ns: float | None
    within_ns: float


@dataclass(frozen=True)
class Story:
    """The facts of one run.

    Attributes:
        pausers: Those whose PAUSE held others back, where it began first, then by time.
        pauses: How often any ingress went to XOFF.
        began: The congested ports that PAUSE began at.
        victims: Longest stopped first; None if that cannot be told.
        maybe_more: Whether there may be more.
        exact: Whether they are those that the run recorded.
        deadlock: The nodes that waited for one another, such as "S0->S1->S0"; empty if none did,
            or if that was not recorded.
        carried: Of the port that is asked for.
        last_ns: From the first start to the end of the last flow with a size; None if one did not.
        sized: Flows with a size, and how many of them did not end.
        endless: Flows without one, but for connections of jobs.
        fair: Of recorded flows; None if there are not two without a limit of their own that share
            a link and a priority.
        past: Flows without a size that avoid that port, but for connections of jobs.
        fct: Of the flows with a size, ns.
        at_once: Whether these all started in the first half of the time until the last one ended.
        watched: The entries that the scenario asks about.
        slowest: Of the most flows that are alike: how many, and the FCT of the slowest over that of
            the fastest; None if there are no such flows.
    """

    run: Run
    pausers: list[Pauser]
    pauses: int
    began: list[Port]
    victims: list[Victim] | None
    maybe_more: bool
    exact: bool
    deadlock: str
    carried: Carried | None
    last_ns: float | None
    sized: int
    unfinished: int
    endless: int
    fair: Fairness | None
    slowest: tuple[int, float] | None
    past: list[Past]
    fct: Sample
    at_once: bool
    watched: list[Watched]


_FLOW_COLUMNS = (
    "flow_id",
    "traffic",
    "src",
    "dst",
    "priority",
    "size_bytes",
    "start_ns",
    "fct_ns",
    "ideal_fct_ns",
    "slowdown",
    "delivered_bytes",
    "extra_delay_ns",
    "transport",
)


def of_result(result: Result) -> dict[str, list[Story]]:
    """The story of every run, by scheme; what links carried is said of one port in all of them.

    It is told once, and kept.
    """
    if "_stories" not in result.__dict__:
        result.__dict__["_stories"] = _told(result)
    return result.__dict__["_stories"]


def _told(result: Result) -> dict[str, list[Story]]:
    every = {scheme: result.runs_of(scheme) for scheme in result.schemes}
    port = _common_port([run for runs in every.values() for run in runs])
    return {scheme: [tell(run, port) for run in runs] for scheme, runs in every.items()}


def tell(run: Run, port: Port | None = None) -> Story:
    """The story of a run; `port` is the one whose load is asked for, else its most congested."""
    fabric, stops = Fabric.of(run), Stops.of(run)
    flows = run.columns("flows", _FLOW_COLUMNS)
    began, exact = _began(run, fabric, stops)
    if exact:
        hurt, maybe_more = victims.recorded(run, flows), not account.all_led_somewhere(run)
        deadlock = account.deadlock(account.trees(run))
    else:
        where = victims.began(fabric, stops)
        hurt, maybe_more = victims.estimated(run, fabric, stops, flows, where)
        deadlock = ""
    maybe_more |= _may_have_more(run, fabric, stops, flows, exact=exact)
    counted = run.counted(flows)
    ends = series.column(counted, "start_ns") + series.column(counted, "fct_ns")
    sized = np.asarray(pc.is_valid(counted.column("size_bytes")).to_numpy())
    unfinished = int(np.sum(np.isnan(ends) & sized))
    last = None
    if sized.any() and not unfinished:
        last = float(np.max(ends[sized]) - np.min(series.column(counted, "start_ns")[sized]))
    port = port or most_congested(fabric, _near_a_burst(run, began, exact))
    return Story(
        run,
        _pausers(fabric, began, senders_and_receivers(flows), ranked=exact),
        sum(totals.pause_events for totals in fabric.ports.values()),
        began,
        hurt,
        maybe_more,
        exact,
        deadlock,
        _carried(run, fabric, flows, port) if port in fabric.ports else None,
        last,
        int(sized.sum()),
        unfinished,
        int(np.sum(~sized & ~connections.of_jobs(run, counted))),
        _fairness(run, fabric, flows),
        _slowest(counted),
        _past(run, fabric, counted, port) if port in fabric.ports else [],
        *_fct(run, counted, last),
        watched.of_run(run, fabric, flows, hurt, maybe_more),
    )


def _may_have_more(
    run: Run, fabric: Fabric, stops: dict[int, Stops], flows: pa.Table, *, exact: bool
) -> bool:
    """Whether flows lost time in a way that no table says of them: by ACKs, credits or a NIC."""
    ports = run.columns("ports", ["credit_wait_ns"])
    if np.any(series.column(ports, "credit_wait_ns") > 0):
        return True
    late = held.had_paused_acks(run, fabric, stops, flows)
    late |= held.lost_nics(run, fabric, stops, flows)
    if exact:
        known = series.column(run.columns("victims", ["flow_id"]), "flow_id")
        late &= ~np.isin(series.column(flows, "flow_id"), known)
    return bool(late.any())


def _common_port(runs: Sequence[Run]) -> Port | None:
    """The most congested port of the first run in which PAUSE began somewhere, else of all runs."""
    fullest: tuple[int, Port] | None = None
    for run in runs:
        fabric = Fabric.of(run)
        began, exact = _began(run, fabric, Stops.of(run))
        if began:
            return most_congested(fabric, _near_a_burst(run, began, exact))
        port = most_congested(fabric, _near_a_burst(run, list(fabric.ports), exact)[:1])
        port = port or most_congested(fabric, [])
        if port is not None:
            queue = fabric.ports[port].max_queue_bytes
            if fullest is None or queue > fullest[0]:
                fullest = queue, port
    return fullest[1] if fullest else None


def _near_a_burst(run: Run, ports: list[Port], exact: bool) -> list[Port]:
    """Of ports that may be why there was PAUSE the one to the receiver of the largest burst first.

    A burst is flows with a size of one entry that start at one time for one receiver. Where the run
    recorded causes the order is known; without such a port it stays as it is.
    """
    if exact:
        return ports
    flows = run.columns("flows", ["traffic", "src", "dst", "size_bytes", "start_ns"])
    flows = flows.filter(pc.is_valid(flows.column("size_bytes")))
    keys = ["traffic", "dst", "start_ns"]
    bursts = flows.group_by(keys).aggregate([("src", "count_distinct")]).to_pylist()
    largest = max((it["src_count_distinct"] for it in bursts), default=0)
    if largest < _LEAST_SENDERS:
        return ports
    to = {it["dst"] for it in bursts if it["src_count_distinct"] == largest}
    first = [port for port in ports if port.peer in to]
    return [*first, *(port for port in ports if port.peer not in to)]


def most_congested(fabric: Fabric, began: Sequence[Port]) -> Port | None:
    """The first port that PAUSE began at; without any, of all the one with the longest queue."""
    ports = [port for port in began if port in fabric.ports][:1] or fabric.ports
    longest = max(ports, key=lambda port: fabric.ports[port].max_queue_bytes, default=None)
    if longest is None or fabric.ports[longest].max_queue_bytes < LEAST_QUEUE:
        return None
    return longest


def _began(run: Run, fabric: Fabric, stops: dict[int, Stops]) -> tuple[list[Port], bool]:
    """The congested ports that PAUSE began at, and whether the run recorded that."""
    if account.is_recorded(run):
        return account.roots(fabric, account.trees(run)), True
    return victims.congested(fabric, victims.began(fabric, stops)), False


def _pausers(
    fabric: Fabric, began: Sequence[Port], hosts: set[str], *, ranked: bool
) -> list[Pauser]:
    """Hosts, whose NICs should never stop anybody, come first, then where PAUSE began.

    Of several such nodes the first of `began` comes first if they are `ranked` by harm, else the
    one that paused the others for longest.
    """
    nodes: dict[str, dict[str, list[float]]] = {}
    events: dict[str, int] = {}
    for port, totals in fabric.ports.items():
        if held := [it for it in totals.paused_by_priority.values() if it > 0]:
            stopped = nodes.setdefault(port.peer, {})
            stopped.setdefault(port.node, []).extend(held)
        if totals.pause_events:
            events[port.node] = events.get(port.node, 0) + totals.pause_events
    places = list(dict.fromkeys(port.node for port in began))
    first = {node: rank if ranked else 0 for rank, node in enumerate(places)}

    def pauser(node: str, stopped: dict[str, list[float]]) -> Pauser:
        longest = sorted(stopped.items(), key=lambda it: -max(it[1]))
        return Pauser(
            node,
            node in hosts,
            events.get(node, 0),
            {peer: max(held) for peer, held in longest},
            frozenset(peer for peer, held in stopped.items() if len(held) > 1),
            sum(sum(held) for held in stopped.values()),
        )

    found = [pauser(node, stopped) for node, stopped in nodes.items()]

    def order(pauser: Pauser) -> tuple[bool, int, float]:
        rank = first.get(pauser.node, len(first))
        return not pauser.is_host, rank, -pauser.total_ns

    return sorted(found, key=order)


def _carried(run: Run, fabric: Fabric, flows: pa.Table, port: Port) -> Carried | None:
    totals = fabric.ports[port]
    start, end = series.column(flows, "start_ns"), lives.ends_ns(run, flows)
    every = list(series.groups(flows, ["src", "dst"]))
    wanted = np.array([dst == port.peer for (_, dst), _ in every], dtype=bool)
    certain = wanted
    if fabric.searchable:
        may, must = Pairs(fabric, [pair for pair, _ in every]).crossed(port)
        wanted, certain = wanted | may, wanted | must
    ours = [rows for (_, rows), crosses in zip(every, wanted, strict=True) if crosses]
    if not ours or not totals.rate_bps:
        return None
    rows = np.concatenate(ours)
    kept = connections.of_jobs(run, flows)[rows]
    spans = np.column_stack([start[rows[~kept]], end[rows[~kept]]])
    if kept.any():
        ids, names = (flows.column(it).to_numpy()[rows[kept]] for it in ("flow_id", "traffic"))
        with_messages = connections.under_way(run, ids, names)
        if with_messages is None:
            return None
        spans = np.concatenate([spans, with_messages])
    spans = series.merged(spans[np.argsort(spans[:, 0], kind="stable")])
    while_wanted = float(np.sum(spans[:, 1] - spans[:, 0]))
    if while_wanted <= 0:
        return None
    steps = capacity.rates(run).get((port.node, port.port))
    share = totals.tx_bytes * 8 / capacity.bits_between(steps, totals.rate_bps, spans)
    certain = bool(np.array_equal(certain, wanted)) and not reroutes.begun_by(
        run, run.row["simulated_ns"]
    )
    return Carried(port, totals.rate_bps, min(1.0, share), totals.max_queue_bytes, certain)


def _past(run: Run, fabric: Fabric, flows: pa.Table, port: Port) -> list[Past]:
    endless = pc.is_null(flows.column("size_bytes"))
    endless = flows.filter(pc.and_(endless, pa.array(~connections.of_jobs(run, flows))))
    if not fabric.searchable or reroutes.begun_by(run, run.row["simulated_ns"]):
        return []
    rows = endless.to_pylist()
    crosses, _ = Pairs(fabric, [(row["src"], row["dst"]) for row in rows]).crossed(port)
    found = []
    every = lives.ends_ns(run, endless) - series.column(endless, "start_ns")
    for row, own, life_ns in zip(rows, crosses, every.tolist(), strict=True):
        if life_ns > 0 and not own:
            found.append(Past(row["traffic"], 8e9 * row["delivered_bytes"] / life_ns))
    return found


def _fct(run: Run, flows: pa.Table, last_ns: float | None) -> tuple[Sample, bool]:
    """The FCT of `flows`, and whether they started together."""
    start = series.column(flows.filter(pc.is_valid(flows.column("size_bytes"))), "start_ns")
    spread = float(np.max(start) - np.min(start)) if len(start) else 0.0
    at_once = last_ns is None or spread <= last_ns / 2
    return completion.fct_ns(flows, run.row), at_once


def _fairness(run: Run, fabric: Fabric, flows: pa.Table) -> Fairness | None:
    recorded = pc.unique(run.columns("flow_series", ["flow_id"]).column("flow_id")).to_pylist()
    if (
        len(recorded) < 2
        or not fabric.searchable
        or reroutes.begun_by(run, run.row["simulated_ns"])
    ):
        return None
    start, end = series.column(flows, "start_ns"), lives.ends_ns(run, flows)
    last = end[end < run.row["simulated_ns"]]
    since = float(np.max(np.concatenate([start, last])))
    # Those that have ended by then share nothing any more.
    ours = flows.filter(pa.array(end > since))
    ours = ours.filter(pc.is_in(ours.column("flow_id"), pa.array(recorded, pa.uint32())))
    ours = ours.filter(pc.invert(pc.is_in(ours.column("traffic"), _with_limits(run, ours))))
    sharing: list[int] = []
    for priority in pc.unique(ours.column("priority")).to_pylist():
        alike = ours.filter(pc.equal(ours.column("priority"), priority))
        ids = alike.column("flow_id").to_pylist()
        pairs = Pairs(fabric, [(row["src"], row["dst"]) for row in alike.to_pylist()])
        for port in fabric.ports:
            together = [ids[row] for row in np.flatnonzero(pairs.crossed(port)[1])]
            sharing = max(sharing, together, key=len)
    if len(sharing) < 2:
        return None
    mine = np.isin(series.column(flows, "flow_id"), sharing)
    event = "start" if since in start[mine] else "started" if since in start else "ended"
    table = run.table("flow_series")
    each = [table.filter(pc.equal(table.column("flow_id"), flow)) for flow in sharing]
    found = _evened_out(
        [(series.column(t, "time_ns"), series.column(t, "delivered_bytes")) for t in each], since
    )
    return found and Fairness(len(sharing), len(recorded), since, event, *found)


def _with_limits(run: Run, flows: pa.Table) -> pa.Array:
    """The entries whose flows have a limit of their own, and need not take a fair share."""
    names = pc.unique(flows.column("traffic")).to_pylist()
    entries = Setting(run.result, run).traffic(names)
    limits = {"rate_limit", "offered"}
    return pa.array([it["name"] for it in entries if limits & it.keys()], pa.string())


def _evened_out(
    flows: Sequence[tuple[np.ndarray, np.ndarray]], since_ns: float
) -> tuple[float | None, float] | None:
    """When the shares of `flows`, times and bytes delivered, became even after `since_ns`.

    None if they did not; and for how long that was looked at.
    """
    first = max(since_ns, *(time[0] for time, _ in flows))
    last = min(time[-1] for time, _ in flows)
    step = max(float(np.max(np.diff(time))) if len(time) > 1 else np.inf for time, _ in flows)
    bins = int(min(_FAIR_BINS, (last - first) // step)) if last > first else 0
    if bins < 5:
        return None
    edges = np.linspace(first, last, bins + 1)
    rates = np.array([np.diff(np.interp(edges, time, counter)) for time, counter in flows])
    total = rates.sum(axis=0)
    squares = len(flows) * (rates**2).sum(axis=0)
    index = np.divide(total**2, squares, out=np.zeros(bins), where=squares > 0)
    unfair = np.flatnonzero(index < _FAIR)
    within = float(last - first)
    if len(unfair) and unfair[-1] >= bins - max(1, bins // 20):
        return None, within
    return (float(edges[unfair[-1] + 1] - first) if len(unfair) else 0.0), within


def _slowest(flows: pa.Table) -> tuple[int, float] | None:
    """The most flows that are alike: how many, slowest over fastest.

    They are of one entry, which gives them limits of their rate and a transport, and have the same
    receiver, priority, size, start and additional delay.
    """
    sized = flows.filter(pc.is_valid(flows.column("size_bytes")))
    if sized.num_rows < 2:
        return None
    names = ("priority", "size_bytes", "start_ns", "extra_delay_ns")
    keys = [series.codes(sized, name) for name in ("traffic", "dst")]
    keys += [series.column(sized, name) for name in names]
    order = np.lexsort(keys)
    alike = np.ones(len(order) - 1, dtype=bool)
    for key in keys:
        alike &= key[order[1:]] == key[order[:-1]]
    # Stretches of flows that are alike, of which the longest counts.
    ends = np.flatnonzero(np.concatenate([~alike, [True]]))
    lengths = np.diff(np.concatenate([[-1], ends]))
    longest = int(np.argmax(lengths))
    if lengths[longest] < 2:
        return None
    most = order[ends[longest] - lengths[longest] + 1 : ends[longest] + 1]
    fct = series.column(sized, "fct_ns")[most]
    if np.isnan(fct).any():
        return None
    return len(most), float(np.max(fct) / np.min(fct))
