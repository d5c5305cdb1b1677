"""A page to move about in a run: fabric, PAUSE as it spreads, series, congestion trees; offline.

``python -m unpause.explore DIR`` writes ``explore.html`` into a result directory: one file that
opens without a network. It has the first run of each scheme. Of long series it has the extremes of
some hundred stretches, of more PAUSEs than :data:`MOST_PAUSES` those that are close together as
one; the page says so.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import sys
import zlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined

import unpause
from unpause import causes, drawn, explain, series
from unpause.errors import ResultError
from unpause.result import Result, Run, load

#: PAUSEs of a run that are kept one by one.
MOST_PAUSES = 100_000
#: Schemes on the page.
MOST_SCHEMES = 12
_MOST_TREES = 30
_MOST_VICTIMS = 30
_MOST_NODES = 2_000


@dataclass
class _Pack:
    """Arrays of whole numbers as differences, all in one compressed block."""

    parts: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, values: np.ndarray) -> list[int]:
        """Where the values will lie: first and how many."""
        whole = np.rint(values).astype(np.int64)
        differences = np.diff(whole, prepend=np.int64(0)).astype(np.int32)
        place = [self.size, len(differences)]
        self.parts.append(differences)
        self.size += len(differences)
        return place

    def text(self) -> str:
        """The block in base 64."""
        joined = np.concatenate([*self.parts, np.empty(0, np.int32)]).astype("<i4")
        return base64.b64encode(zlib.compress(joined.tobytes(), 9)).decode()


def page(result: Result) -> str:
    """The page of a result.

    Raises:
        ResultError: it has too many nodes.
    """
    runs = explain.the_runs(result)
    left_out = []
    if len(runs) > MOST_SCHEMES:
        left_out.append(f"{len(runs) - MOST_SCHEMES} schemes after the first {MOST_SCHEMES}.")
        runs = runs[:MOST_SCHEMES]
    if len(result.runs_of(runs[0].scheme)) > 1:
        left_out.append("All runs of a scheme but its first.")
    if result.scenario.get("probes", {}).get("pauses") is False:
        left_out.append("PAUSE over time: [probes] has pauses = false.")
    fabric = _fabric(runs[0])
    if len(fabric["nodes"]) > _MOST_NODES:
        raise ResultError(f"{len(fabric['nodes'])} nodes are more than a page shows: {_MOST_NODES}")
    pack = _Pack()
    end = max(float(run.row["simulated_ns"]) for run in runs)
    unit_ns = max(1.0, end / 2**30)
    data = {
        "title": result.title,
        "unit": unit_ns,
        "end": end,
        "fabric": fabric,
        "runs": [_run(run, pack, unit_ns, left_out) for run in runs],
        "trees": _trees(result, runs, left_out),
        "why": _why_no_trees(result),
        "leftOut": list(dict.fromkeys(left_out)),
        "block": pack.text(),
    }
    environment = Environment(
        loader=PackageLoader("unpause"), autoescape=True, undefined=StrictUndefined
    )
    files = resources.files("unpause")
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return environment.get_template("explore.html").render(
        title=result.title,
        version=unpause.__version__,
        uplot=files.joinpath("vendor/uplot/uPlot.iife.min.js").read_text("utf-8"),
        uplot_style=files.joinpath("vendor/uplot/uPlot.min.css").read_text("utf-8"),
        script=files.joinpath("templates/explore.js").read_text("utf-8"),
        style=files.joinpath("templates/explore.css").read_text("utf-8"),
        data=text,
    )


def _fabric(run: Run) -> dict[str, Any]:
    """Nodes with their tier, hosts lowest, and links as table `ports` shows them."""
    table = run.columns("ports", ["node", "peer", "rate_bps"])
    links: dict[tuple[str, str], int] = {}
    for row in table.to_pylist():
        links[row["node"], row["peer"]] = row["rate_bps"]
    both = {tuple(sorted(link)) for link in links}
    flows = run.columns("flows", ["src", "dst"])
    hosts = {it for name in ("src", "dst") for it in flows.column(name).to_pylist()}
    near: dict[str, list[str]] = {}
    for a, b in both:
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    # Who has one link and sends nothing is a host all the same.
    pausers = {stop for stop in near if len(near[stop]) > 1}
    hosts |= set(near) - pausers
    tier = dict.fromkeys(sorted(hosts), 0)
    waiting = deque(tier)
    while waiting:
        node = waiting.popleft()
        for peer in sorted(near.get(node, ())):
            if peer not in tier:
                tier[peer] = tier[node] + 1
                waiting.append(peer)
    order = {name: at for at, name in enumerate(_natural(near))}
    names = sorted(near, key=lambda name: (tier.get(name, 1), order[name]))
    return {
        "nodes": [{"name": name, "tier": tier.get(name, 1)} for name in names],
        "links": [
            {"a": a, "b": b, "rate": max(links.get((a, b), 0), links.get((b, a), 0))}
            for a, b in sorted(both)
        ],
    }


def _natural(names: dict[str, Any]) -> list[str]:
    """H2 before H10."""
    import re

    def key(name: str) -> list[tuple[int, Any]]:
        parts = re.split(r"(\d+)", name)
        return [(0, int(part)) if part.isdigit() else (1, part) for part in parts if part]

    return sorted(names, key=key)


def _run(run: Run, pack: _Pack, unit_ns: float, left_out: list[str]) -> dict[str, Any]:
    ports: dict[str, dict[str, Any]] = {}
    for name, line in drawn.ports(run).items():
        time = pack.add(line.time_ns / unit_ns)
        # Values of the queue keep their extremes; of the counter differences make a rate.
        ports.setdefault(name, {}).update(
            time=time, queue=pack.add(line.queue_bytes), sent=pack.add(line.tx_bytes / 256)
        )
    for name, intervals, count in _pauses(run, left_out):
        ports.setdefault(name, {}).update(
            start=pack.add(intervals[:, 0] / unit_ns),
            end=pack.add(intervals[:, 1] / unit_ns),
            pauses=count,
        )
    flows = {
        name: {
            "time": pack.add(line.time_ns / unit_ns),
            "got": pack.add(line.delivered_bytes / 256),
        }
        for name, line in drawn.flows(run).items()
    }
    return {"scheme": run.scheme, "seed": run.row["seed"], "ports": ports, "flows": flows}


def _pauses(run: Run, left_out: list[str]) -> list[tuple[str, np.ndarray, int]]:
    """By egress when it was stopped, of all priorities, and how often."""
    table = run.columns("pauses", ["node", "peer", "start_ns", "end_ns"])
    every = np.column_stack([series.column(table, "start_ns"), series.column(table, "end_ns")])
    gap = 0.0
    if len(every) > MOST_PAUSES:
        gap = float(run.row["simulated_ns"]) / 10_000
        left_out.append(f"{run.scheme}: gaps between PAUSEs of less than {gap / 1e3:.3g} us.")
    found = []
    for (node, peer), rows in series.groups(table, ["node", "peer"]):
        ours = every[rows]
        ours = ours[np.argsort(ours[:, 0], kind="stable")]
        merged = series.merged(ours + np.array([0.0, gap]))
        merged[:, 1] -= gap
        found.append((f"{node}->{peer}", merged, len(ours)))
    return found


def _trees(result: Result, runs: Sequence[Run], left_out: list[str]) -> list[dict[str, Any]]:
    if _why_no_trees(result):
        return []
    told = explain.as_json(result, runs, None)["runs"]
    for run in told:
        if len(run["trees"]) > _MOST_TREES:
            left_out.append(f"{run['scheme']}: trees after the {_MOST_TREES} with most harm.")
        run["trees"] = run["trees"][:_MOST_TREES]
        for tree in run["trees"]:
            tree["victims"] = tree["victims"][:_MOST_VICTIMS]
            for culprit in tree["culprits"]:
                culprit["sources"] = len(culprit["sources"])
    return json.loads(json.dumps(told, default=explain.plain))


def _why_no_trees(result: Result) -> str:
    if causes.is_older(result) or not causes.are_there(result):
        return "With causes = true in [probes], the trees of PAUSE stand here."
    return ""


def write(directory: Path) -> Path:
    """Write ``explore.html`` into a result directory."""
    file = directory / "explore.html"
    unfinished = file.with_name(f"{file.name}.tmp")
    unfinished.write_text(page(load(directory)), "utf-8")
    os.replace(unfinished, file)
    return file


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m unpause.explore``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unpause.explore", description="Write a page to move about in a run."
    )
    parser.add_argument("directory", type=Path, help="of a result")
    options = parser.parse_args(arguments)
    try:
        file = write(options.directory)
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
