"""A run and its fabric as the interactive page gets them (:mod:`unpause.pages.packed`)."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from unpause.data import drawn, series
from unpause.data.fabric import senders_and_receivers
from unpause.data.result import Result, Run
from unpause.errors import ResultError
from unpause.explanation import causes, explained, trees_json
from unpause.pages.packed import Pack
from unpause.pages.rows import SHOWN, Rows

_MOST_TREES = 30
_MOST_VICTIMS = 30
_MOST_NODES = 20_000
#: Flows whose starts and ends are marked in charts.
MOST_EVENTS = 50_000
#: Bytes that a counter counts in.
_COUNTED = 256

#: Keys of the lines of a table of series, and its counters: extremes of the first are kept.
PORT = ("port_series", ("node", "peer"), ("queue_bytes", "tx_bytes"))
FLOW = (
    "flow_series",
    ("traffic", "flow_id"),
    ("controller_rate_bps", "delivered_bytes", "sent_bytes", "cwnd_bytes", "notifications"),
)
_SCALES = {"tx_bytes": _COUNTED, "delivered_bytes": _COUNTED, "sent_bytes": _COUNTED} | {
    "controller_rate_bps": 1e5
}


@dataclass(frozen=True)
class Detail:
    """How much of a run is included: rows of each table, single PAUSEs."""

    rows: int
    pauses: int


def fabric(runs: Sequence[Run]) -> dict[str, Any]:
    """Nodes with their tier, hosts lowest, and the links that carried anything in one of `runs`.

    Raises:
        ResultError: there are too many nodes.
    """
    rates: dict[tuple[str, str], int] = {}
    hosts: set[str] = set()
    for run in runs:
        rows = run.columns("ports", ["node", "peer", "rate_bps"]).to_pylist()
        rates |= {(row["node"], row["peer"]): row["rate_bps"] for row in rows}
        hosts |= senders_and_receivers(run.columns("flows", ["src", "dst"]))
    both = {tuple(sorted(link)) for link in rates}
    near: dict[str, list[str]] = {}
    for a, b in both:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    if len(near) > _MOST_NODES:
        raise ResultError(f"{len(near):,} nodes are more than a page shows: {_MOST_NODES:,}")
    # A node with one link is a host even if it sends nothing.
    hosts |= {node for node, peers in near.items() if len(peers) == 1}
    hosts &= set(near)
    tier = dict.fromkeys(sorted(hosts), 0)
    waiting = deque(tier)
    while waiting:
        node = waiting.popleft()
        for peer in sorted(near.get(node, ())):
            if peer not in tier:
                tier[peer] = tier[node] + 1
                waiting.append(peer)
    names = sorted(near, key=lambda name: (tier.get(name, 1), _natural(name)))
    number = {name: at for at, name in enumerate(names)}
    return {
        "nodes": [[name, tier.get(name, 1)] for name in names],
        "links": [
            [number[a], number[b], max(rates.get((a, b), 0), rates.get((b, a), 0))]
            for a, b in sorted(both)
        ],
    }


def _natural(name: str) -> list[tuple[int, Any]]:
    """H2 before H10."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]


def frame(run: Run, detail: Detail, left_out: list[str]) -> bytes:
    """What a page gets of a run; `left_out` gets a sentence for everything it does not get."""
    whole = Span(0.0, float(run.row["simulated_ns"]))
    pack = Pack()
    ports: dict[str, dict[str, Any]] = {}
    for (node, peer), line in drawn.kept(run, *PORT).items():
        ports[f"{node}->{peer}"] = _line(pack, line, PORT[2], whole)
    for name, intervals, count in _pauses(run, detail.pauses, left_out):
        ports.setdefault(name, {}).update(_stops(pack, intervals, whole), pauses=count)
    events = _Events(run)
    if len(events.start) > MOST_EVENTS:
        left_out.append(f"{run.scheme}: marks of {len(events.start):,} flows in charts.")
    told = {
        **whole.told(),
        "pauses": pc.sum(run.columns("ports", ["pause_events"]).column(0)).as_py() or 0,
        "ports": ports,
        "flows": {
            name: _line(pack, drawn.kept(run, *FLOW)[key], FLOW[2], whole)
            for name, key in recorded(run).items()
        },
        "events": events.told(pack, whole),
        "trees": _trees(run, left_out),
        "parts": _parts(run),
        "tables": {name: _table(run, name, detail.rows, left_out) for name in SHOWN},
    }
    return pack.frame(told)


def window(run: Run, name: str, span_ns: tuple[float, float], pixels: int) -> bytes:
    """What a page gets of a window of time, and of half of one on both sides.

    All PAUSEs, those of one pixel as one; samples of the egress or flow `name`; flows that start or
    end there.
    """
    wide = span_ns[1] - span_ns[0]
    span = Span(max(0.0, span_ns[0] - wide / 2), span_ns[1] + wide / 2)
    pack = Pack()
    ports: dict[str, dict[str, Any]] = {}
    for link, intervals in series.pauses_by_link(run, (span.start, span.end)).items():
        merged = series.merged(np.clip(intervals, span.start, span.end), wide / pixels / 2)
        ports["->".join(reversed(link.split("->")))] = _stops(pack, merged, span)
    flows: dict[str, dict[str, Any]] = {}
    table, keys, counters = PORT
    sampled = {f"{node}->{peer}": (node, peer) for node, peer in drawn.kept(run, *PORT)}
    if name in sampled:
        key = dict(zip(keys, sampled[name], strict=True))
        line = drawn.within(run, table, key, counters, span_ns, pixels)
        ports.setdefault(name, {}).update(_line(pack, line, counters, span))
    elif name in recorded(run):
        table, keys, counters = FLOW
        key = dict(zip(keys, recorded(run)[name], strict=True))
        line = drawn.within(run, table, key, counters, span_ns, pixels)
        flows[name] = _line(pack, line, counters, span)
    events = _Events(run, span).told(pack, span)
    return pack.frame({**span.told(), "ports": ports, "flows": flows, "events": events})


@dataclass(frozen=True)
class Span:
    """From when until when, ns: times in it are whole numbers of a unit from its start."""

    start: float
    end: float

    @property
    def unit(self) -> float:
        """A nanosecond or more, so that they fit 31 bits; of short spans, picoseconds."""
        return max(1.0 if self.start == 0 else 1e-3, (self.end - self.start) / 2**30)

    def whole(self, time_ns: np.ndarray) -> np.ndarray:
        """Times in the unit."""
        return (time_ns - self.start) / self.unit

    def told(self) -> dict[str, float]:
        """What a page needs to read them."""
        return {"start": self.start, "end": self.end, "unit": self.unit}


def recorded(run: Run) -> dict[str, tuple[str, int]]:
    """Recorded flows by name: that of the traffic entry, with the flow's number if it has more."""
    keys = sorted(drawn.kept(run, *FLOW), key=lambda key: key[1])
    entries = [traffic for traffic, _ in keys]
    return {
        traffic if entries.count(traffic) == 1 else f"{traffic} #{flow}": (traffic, flow)
        for traffic, flow in keys
    }


def _line(
    pack: Pack, line: Sequence[np.ndarray], counters: Iterable[str], span: Span
) -> dict[str, Any]:
    """Samples: times, and values by counter, without those that a line does not have."""
    told: dict[str, Any] = {"time": pack.add(span.whole(line[0]))}
    for name, values in zip(counters, line[1:], strict=True):
        known = ~np.isnan(values)
        if known.any():
            scale = _SCALES.get(name, 1)
            told[name] = [*pack.add(np.where(known, values, 0) / scale), scale]
    return told


def _stops(pack: Pack, intervals: np.ndarray, span: Span) -> dict[str, Any]:
    """When an egress was stopped."""
    start, end = span.whole(intervals[:, 0]), span.whole(intervals[:, 1])
    return {"start": pack.add(start), "end": pack.add(end)}


def _pauses(run: Run, most: int, left_out: list[str]) -> list[tuple[str, np.ndarray, int]]:
    """By egress when it was stopped, of all priorities, and how often."""
    if run.result.scenario.get("probes", {}).get("pauses") is False:
        left_out.append("PAUSE over time: [probes] has pauses = false.")
    stops = series.pauses_by_link(run)
    gap = 0.0
    if sum(map(len, stops.values())) > most:
        gap = float(run.row["simulated_ns"]) / (most / 10)
        left_out.append(f"{run.scheme}: gaps between PAUSEs of less than {gap / 1e3:.3g} us.")
    return [
        ("->".join(reversed(link.split("->"))), series.merged(every, gap), len(every))
        for link, every in stops.items()
    ]


class _Events:
    """When flows started and ended, between whom; of those that do either in a span."""

    def __init__(self, run: Run, span: Span | None = None) -> None:
        names = ("traffic", "src", "dst")
        table = run.columns("flows", [*names, "start_ns", "fct_ns"])
        start = series.column(table, "start_ns")
        end = start + series.column(table, "fct_ns")
        wanted = np.ones(len(start), dtype=bool)
        if span is not None:
            wanted = (start >= span.start) & (start <= span.end)
            wanted |= (end >= span.start) & (end <= span.end)
        self.start, self.end = start[wanted], end[wanted]
        self._names = {
            name: (codes[wanted], values[:-1])
            for name, (codes, values) in ((name, series.coded(table, name)) for name in names)
        }

    def told(self, pack: Pack, span: Span) -> dict[str, Any] | None:
        """For a page, unless there are too many; what lies outside of the span stands at its edges.

        Ends of flows that did not end stand before the span.
        """
        if len(self.start) > MOST_EVENTS:
            return None
        start = np.clip(self.start, span.start, span.end)
        end = np.clip(self.end, span.start, span.end)
        before = span.start - 2 * span.unit
        told: dict[str, Any] = {
            "from": pack.add(span.whole(start)),
            "until": pack.add(span.whole(np.nan_to_num(end, nan=before))),
        }
        for name, (codes, values) in self._names.items():
            told[name] = {"names": values, "codes": pack.add(codes)}
        return told


def _trees(run: Run, left_out: list[str]) -> list[dict[str, Any]]:
    if why_no_trees(run.result):
        return []
    trees = trees_json.trees_as_json(run.result, run, None)
    if len(trees) > _MOST_TREES:
        left_out.append(f"{run.scheme}: trees after the {_MOST_TREES} with most harm.")
    for tree in trees[:_MOST_TREES]:
        tree["waited_ns"] = sum(victim["waited_ns"] for victim in tree["victims"])
        tree["victim_count"] = len(tree["victims"])
        tree["victims"] = tree["victims"][:_MOST_VICTIMS]
        for culprit in tree["culprits"]:
            culprit["sources"] = len(culprit["sources"])
    return json.loads(json.dumps(trees[:_MOST_TREES], default=trees_json.plain))


def _parts(run: Run) -> list[dict[str, Any]]:
    """The parts of `unpause explain`; of the trees, which the page draws, only their place."""
    if why_no_trees(run.result):
        return []
    return [
        {"name": it.name, "title": it.title, "texts": [] if it.name == "trees" else it.texts}
        for it in explained.of_run(run.result, run)
    ]


def why_no_trees(result: Result) -> str:
    """What a page says in their place; empty if there are some."""
    if causes.is_older(result):
        version = result.manifest.get("unpause", "before")
        return f"This result is of version {version}, which did not record causes of PAUSE."
    if result.source and not causes.are_there(result):
        return "Add causes = true under [probes] to see congestion trees here."
    return ""


def _table(run: Run, name: str, most: int, left_out: list[str]) -> dict[str, Any]:
    rows = Rows(run, name)
    if rows.count > most:
        what = f"{rows.shown.least} {most:,} of {rows.count:,}"
        left_out.append(f"{run.scheme}: of table {name} all but the {what}.")
    return rows.told(rows.most(most))
