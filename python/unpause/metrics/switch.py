"""Packets that switches drop, and stops of pipelined switches."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS


@metric("packets")
def dropped_packets(run: Run) -> float:
    """Data packets dropped in switches."""
    return float(run.table("runs").column("dropped_packets")[0].as_py())


@metric("ppm")
def dropped_ppm(run: Run) -> float:
    """Data packets dropped in switches, in millionths of those that hosts sent."""
    sent = run.table("runs").column("data_packets")[0].as_py()
    return dropped_packets(run) / sent * 1e6


@metric("PAUSEs")
def pause_events(run: Run, links: list[str] | None = None) -> float:
    """How often an ingress went to XOFF; ``S->P1`` of `links` pauses P1."""
    return float(series.column(_ports(run, links), "pause_events").sum())


@metric("stops")
def stalls(run: Run, links: list[str] | None = None) -> float:
    """How often the egress queue of one of `links` was full and stopped the switch's pipeline."""
    return float(series.column(_ports(run, links), "stalls").sum())


@metric("ms")
def stalled_ms(run: Run, links: list[str] | None = None) -> float:
    """How long pipelines were stopped by egress queues of `links`, all by default."""
    return float(series.column(_ports(run, links), "stalled_ns").sum()) / MS


def _ports(run: Run, links: list[str] | None) -> pa.Table:
    table = run.table("ports")
    if links is None:
        return table
    found = []
    for link in links:
        node, peer = series.ends(link)
        rows = table.filter((pc.field("node") == node) & (pc.field("peer") == peer))
        if rows.num_rows == 0:
            raise Unavailable(f"There is no link {link}.")
        found.append(rows)
    return pa.concat_tables(found)
