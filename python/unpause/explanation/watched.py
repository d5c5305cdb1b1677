"""Measurements of the flows that a scenario watches: ``watch = true`` in a ``[[traffic]]`` entry.

A *burst* is a time in which flows with a size of other entries are under way. Of flows without a
size three things are measured around the first burst that they had a rate before:

- *before*: their goodput (payload delivered in order) in as long a time before it, at most from
  their start or the end of the burst before that;
- *during*: from the start of its first flow to the end of its last;
- *recovery*: the time after its end from which they have :data:`RECOVERED` of the rate before,
  as a mean over the next :data:`_LEAST` samples, and over as long a time as the burst took.

Nothing is said where the series has fewer than :data:`_LEAST` samples in one of these times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import completion, lives, series
from unpause.data.fabric import Fabric, Pairs
from unpause.data.result import Run
from unpause.data.setting import Setting
from unpause.explanation import account, waits
from unpause.explanation.trees import Tree
from unpause.explanation.victims import Victim
from unpause.explanation.waits import Wait
from unpause.statistics.censored import Sample

#: Share of the rate before a burst at which a flow counts as recovered.
RECOVERED = 0.9
#: Samples that a mean needs.
_LEAST = 5
#: A root with less of the time that links were paused is not named.
_LEAST_PART = 0.05


@dataclass(frozen=True)
class Around:
    """Goodput around a burst, bit/s.

    Attributes:
        start_ns, end_ns: Of the burst.
        before_bps, during_bps: All flows of the entry together.
        recovery_ns: From the end of the burst; None if they did not recover in the time observed.
        looked_ns: For how long after the burst they were observed; None if too short to tell.
    """

    start_ns: float
    end_ns: float
    before_bps: float
    during_bps: float
    recovery_ns: float | None
    looked_ns: float | None

    @property
    def at_least_ns(self) -> float | None:
        """The recovery or, if there was none, a lower bound: how long it was looked for."""
        return self.looked_ns if self.recovery_ns is None else self.recovery_ns


@dataclass(frozen=True)
class Watched:
    """The flows of one entry in one run.

    Attributes:
        name: Of the entry.
        flows: How many.
        crossed: Congested links that any of them crosses, and whether all of them do; None if that
            is not known.
        waits: For which congestion off their path they waited, longest first.
        waited_ns: For how long they waited for congestion off their path; None if not known.
        goodput_bps: Of all together, mean over the time in which any of them was under way.
        around: Goodput around the first burst; None without one.
        sized: How many have a size.
        unfinished: How many of these did not end.
        slowdown: Of those that have a size.
    """

    name: str
    flows: int
    crossed: Mapping[str, bool] | None
    waits: tuple[Wait, ...]
    waited_ns: float | None
    goodput_bps: float
    around: Around | None
    sized: int
    unfinished: int
    slowdown: Sample


def names(run: Run) -> list[str]:
    """The entries that the scenario watches in this run."""
    entries = run.result.scenario.get("traffic", [])
    every = [str(it["name"]) for it in entries if isinstance(it, dict) and "name" in it]
    asked = Setting(run.result, run).traffic(every) if every else []
    return [it["name"] for it in asked if it.get("watch") is True]


def of_run(
    run: Run, fabric: Fabric, flows: pa.Table, victims: Sequence[Victim] | None, maybe_more: bool
) -> list[Watched]:
    """All watched entries of a run; `victims` of the run, and whether there may be more."""
    asked = names(run)
    if not asked:
        return []
    others = flows.filter(pc.invert(pc.is_in(flows.column("traffic"), pa.array(asked))))
    bursts = _bursts(run, others)
    return [
        found
        for name in asked
        if (found := _of_entry(run, name, fabric, flows, bursts, (victims, maybe_more)))
    ]


def _of_entry(
    run: Run,
    name: str,
    fabric: Fabric,
    flows: pa.Table,
    bursts: np.ndarray,
    hurt: tuple[Sequence[Victim] | None, bool],
) -> Watched | None:
    ours = run.counted(flows.filter(pc.equal(flows.column("traffic"), name)))
    if not ours.num_rows:
        return None
    start = series.column(ours, "start_ns")
    fct = series.column(ours, "fct_ns")
    sized = np.asarray(pc.is_valid(ours.column("size_bytes")).to_numpy())
    slowdown = completion.slowdown(ours, run.row)
    around = None if sized.all() else _around(run, name, float(start.min()), bursts)
    pairs = {(row["src"], row["dst"]) for row in ours.select(["src", "dst"]).to_pylist()}
    labels = {f"{name} ({src} -> {dst})" for src, dst in pairs}
    victims, maybe_more = hurt
    waited = [it.stopped_ns for it in victims or () if it.flow in labels]
    return Watched(
        name,
        ours.num_rows,
        _crossed(run, fabric, ours, around, proven=len(waited) == ours.num_rows),
        _waits(run, fabric, name, around),
        sum(waited) if waited or (victims is not None and not maybe_more) else None,
        lives.goodput_bps(run, ours) or 0.0,
        around,
        int(sized.sum()),
        int(np.sum(sized & np.isnan(fct))),
        slowdown,
    )


def _crossed(
    run: Run, fabric: Fabric, flows: pa.Table, around: Around | None, *, proven: bool
) -> dict[str, bool] | None:
    """Roots of PAUSE that `flows` of an entry cross, of the burst if there is one.

    They do if all paths of any of them lead over the root, or if they had bytes in its queue.
    Roots that are not likely, or had less than :data:`_LEAST_PART` of the time that links were
    paused, are not named; with them alone it is not known. Without recorded causes it is known only
    of flows that are all `proven` victims.
    """
    if not account.is_recorded(run):
        return {} if proven else None
    trees = [it for it in account.trees(run) if it.left_by is None]
    if around is not None:
        trees = [it for it in trees if _is_within(it, around)]
    if not trees or not fabric.searchable:
        return None
    least = _LEAST_PART * sum(it.paused_ns for it in trees)
    found: dict[str, bool] = {}
    is_known = True
    name, ids, src, dst = (
        flows.column(it).to_pylist() for it in ("traffic", "flow_id", "src", "dst")
    )
    searched = Pairs(fabric, list(zip(src, dst, strict=True)))
    for tree in trees:
        ports = account.roots(fabric, [tree])
        over = [searched.crossed(port) for port in ports]
        queued = [it for it in tree.culprits if it.traffic == name[0]]
        crosses = bool(queued) or any(must.any() for _, must in over)
        if crosses and tree.is_likely and tree.paused_ns >= least:
            known = {flow for it in queued for flow in it.of_flow}
            for port, (_, must) in zip(ports, over, strict=True):
                every = len(ids) == 1 or bool(np.all(must | np.isin(ids, list(known))))
                found[str(port)] = found.get(str(port), True) and every
        elif crosses or tree.others:
            is_known &= not any(may.any() for may, _ in over)
    return found if found or is_known else None


def _waits(run: Run, fabric: Fabric, name: str, around: Around | None) -> tuple[Wait, ...]:
    """For which congestion off their path flows waited, during the burst if there is one."""
    if not account.is_recorded(run):
        return ()
    trees = [it for it in account.trees(run) if around is None or _is_within(it, around)]
    return waits.of_entry(run, fabric, name, trees)


def _is_within(tree: Tree, around: Around) -> bool:
    return any(a < around.end_ns and b > around.start_ns for a, b in tree.episodes)


def _bursts(run: Run, flows: pa.Table) -> np.ndarray:
    """When flows with a size were under way: array (n, 2) in ns, by start."""
    sized = flows.filter(pc.is_valid(flows.column("size_bytes")))
    spans = np.column_stack([series.column(sized, "start_ns"), lives.ends_ns(run, sized)])
    return series.merged(spans[np.argsort(spans[:, 0], kind="stable")])


def _around(run: Run, name: str, begun_ns: float, bursts: np.ndarray) -> Around | None:
    table = run.table("flow_series").filter(pc.field("traffic") == name)
    if not table.num_rows:
        return None
    time, delivered = together(table)
    if len(time) <= _LEAST:
        return None
    step = float(np.median(np.diff(time)))
    # Bursts that are too close together for a mean between them count as one.
    bursts = series.merged(bursts, _LEAST * step)

    def mean(since: float, until: float) -> float:
        first, last = np.interp([since, until], time, delivered)
        return 8e9 * float(last - first) / float(until - since)

    free_since = max(begun_ns, float(time[0]))
    for at, (start, end) in enumerate(bursts.tolist()):
        since = max(free_since, start - (end - start))
        free_since = end
        if start - since < _LEAST * step or end > time[-1] or end - start < step:
            continue
        before = mean(since, start)
        if before <= 0:
            continue
        until = float(bursts[at + 1][0] if at + 1 < len(bursts) else time[-1])
        recovery, looked = None, None
        if until - end >= _LEAST * step:
            looked = until - end
            recovery = _recovery(time, mean, before, (end, until), (end - start, step))
        return Around(start, end, before, mean(start, end), recovery, looked)
    return None


def _recovery(
    time: np.ndarray,
    mean: Callable[[float, float], float],
    before: float,
    span: tuple[float, float],
    lengths: tuple[float, float],
) -> float | None:
    """The time from the start of `span` on from which the rate is back; `lengths`: burst, step."""
    end, until = span
    burst, step = lengths
    short = _LEAST * step
    for at in [end, *time[(time > end) & (time <= until - short)]]:
        long = min(at + max(burst, short), until)
        if mean(at, at + short) >= RECOVERED * before and mean(at, long) >= RECOVERED * before:
            return float(at) - end
    return None


def together(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Sampling times and the bytes that all flows had delivered by then."""
    time, delivered = (series.column(table, name) for name in ("time_ns", "delivered_bytes"))
    each = [rows for _, rows in series.groups(table, ["flow_id"])]
    instants = np.unique(time)
    total = np.zeros(len(instants))
    for rows in each:
        # Nothing before its first sample; after its last, what it had.
        total += np.interp(instants, time[rows], delivered[rows], left=0.0)
    return instants, total
