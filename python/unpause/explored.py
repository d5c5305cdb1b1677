"""One run as a page to move about in gets it (:mod:`unpause.packed`), and the fabric it is of."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from unpause import causes, drawn, explain, series
from unpause.errors import ResultError
from unpause.packed import Pack
from unpause.result import Result, Run
from unpause.rows import SHOWN, Rows

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
    ("delivered_bytes", "sent_bytes", "controller_rate_bps", "cwnd_bytes", "notifications"),
)
_SCALES = {"tx_bytes": _COUNTED, "delivered_bytes": _COUNTED, "sent_bytes": _COUNTED} | {
    "controller_rate_bps": 1e5
}


@dataclass(frozen=True)
class Detail:
    """How much is told of a run: rows of each table, PAUSEs one by one."""

    rows: int
    pauses: int


def fabric(run: Run) -> dict[str, Any]:
    """Nodes with their tier, hosts lowest, and links as table `ports` shows them.

    Raises:
        ResultError: there are too many nodes.
    """
    table = run.columns("ports", ["node", "peer", "rate_bps"])
    rates: dict[tuple[str, str], int] = {}
    for row in table.to_pylist():
        rates[row["node"], row["peer"]] = row["rate_bps"]
    both = {tuple(sorted(link)) for link in rates}
    near: dict[str, list[str]] = {}
    for a, b in both:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    if len(near) > _MOST_NODES:
        raise ResultError(f"{len(near):,} nodes are more than a page shows: {_MOST_NODES:,}")
    flows = run.columns("flows", ["src", "dst"])
    hosts = {it for name in ("src", "dst") for it in pc.unique(flows.column(name)).to_pylist()}
    # Who has one link and sends nothing is a host all the same.
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
    pack = Pack()
    unit_ns = max(1.0, float(run.row["simulated_ns"]) / 2**30)
    ports: dict[str, dict[str, Any]] = {}
    for (node, peer), line in drawn.kept(run, *PORT).items():
        ports[f"{node}->{peer}"] = packed_line(pack, line, PORT[2], unit_ns)
    for name, intervals, count in _pauses(run, detail.pauses, left_out):
        ports.setdefault(name, {}).update(packed_pauses(pack, intervals, count, unit_ns))
    told = {
        "end": float(run.row["simulated_ns"]),
        "unit": unit_ns,
        "pauses": pc.sum(run.columns("ports", ["pause_events"]).column(0)).as_py() or 0,
        "ports": ports,
        "flows": {
            name: packed_line(pack, line, FLOW[2], unit_ns) for name, line in recorded(run).items()
        },
        "events": _events(run, pack, unit_ns, left_out),
        "trees": _trees(run, left_out),
        "tables": {name: _table(run, name, detail.rows, left_out) for name in SHOWN},
    }
    return pack.frame(told)


def recorded(run: Run) -> dict[str, list[np.ndarray]]:
    """Recorded flows by name: that of the traffic entry, with the flow's number if it has more."""
    lines = drawn.kept(run, *FLOW)
    entries = [traffic for traffic, _ in lines]
    return {
        flow_name(*key, alone=entries.count(key[0]) == 1): line
        for key, line in sorted(lines.items(), key=lambda it: it[0][1])
    }


def flow_name(traffic: str, flow: int, alone: bool) -> str:
    """What a recorded flow is called."""
    return traffic if alone else f"{traffic} #{flow}"


def packed_line(
    pack: Pack, line: Sequence[np.ndarray], counters: Iterable[str], unit_ns: float
) -> dict[str, Any]:
    """Samples: times, and values by counter, without those that a line does not have."""
    told: dict[str, Any] = {"time": pack.add(line[0] / unit_ns)}
    for name, values in zip(counters, line[1:], strict=True):
        known = ~np.isnan(values)
        if known.any():
            values = np.where(known, values, 0)
            told[name] = [*pack.add(values / _SCALES.get(name, 1)), _SCALES.get(name, 1)]
    return told


def packed_pauses(pack: Pack, intervals: np.ndarray, count: int, unit_ns: float) -> dict[str, Any]:
    """When an egress was stopped, and how often."""
    return {
        "start": pack.add(intervals[:, 0] / unit_ns),
        "end": pack.add(intervals[:, 1] / unit_ns),
        "pauses": count,
    }


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


def _events(run: Run, pack: Pack, unit_ns: float, left_out: list[str]) -> dict[str, Any] | None:
    """When flows started and ended, between whom; -1 where a flow did not end."""
    names = ("traffic", "src", "dst")
    table = run.columns("flows", [*names, "start_ns", "fct_ns"])
    if table.num_rows > MOST_EVENTS:
        left_out.append(f"{run.scheme}: marks of {table.num_rows:,} flows in charts.")
        return None
    start = series.column(table, "start_ns")
    end = np.nan_to_num(start + series.column(table, "fct_ns"), nan=-unit_ns)
    told: dict[str, Any] = {
        "start": pack.add(start / unit_ns),
        "end": pack.add(end / unit_ns),
    }
    for name in names:
        codes, values = causes.coded(table, name)
        told[name] = {"names": values[:-1], "codes": pack.add(codes)}
    return told


def _trees(run: Run, left_out: list[str]) -> list[dict[str, Any]]:
    if why_no_trees(run.result):
        return []
    trees = explain.trees_as_json(run.result, run, None)
    if len(trees) > _MOST_TREES:
        left_out.append(f"{run.scheme}: trees after the {_MOST_TREES} with most harm.")
    for tree in trees[:_MOST_TREES]:
        tree["waited_ns"] = sum(victim["waited_ns"] for victim in tree["victims"])
        tree["victim_count"] = len(tree["victims"])
        tree["victims"] = tree["victims"][:_MOST_VICTIMS]
        for culprit in tree["culprits"]:
            culprit["sources"] = len(culprit["sources"])
    return json.loads(json.dumps(trees[:_MOST_TREES], default=explain.plain))


def why_no_trees(result: Result) -> str:
    """What a page says in their place; empty if there are some."""
    if causes.is_older(result):
        version = result.manifest.get("unpause", "before")
        return f"This result is of version {version}, which did not record causes of PAUSE."
    if result.source and not causes.are_there(result):
        return "With causes = true in [probes], the trees of PAUSE stand here."
    return ""


def _table(run: Run, name: str, most: int, left_out: list[str]) -> dict[str, Any]:
    rows = Rows(run, name)
    if rows.count > most:
        what = f"{rows.shown.least} {most:,} of {rows.count:,}"
        left_out.append(f"{run.scheme}: of table {name} all but the {what}.")
    return rows.told(rows.most(most))
