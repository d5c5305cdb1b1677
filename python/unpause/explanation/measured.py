"""What table `ports` has of the egresses of a run, as advice needs it."""

from __future__ import annotations

from typing import NamedTuple

from unpause.data.result import Run


class Port(NamedTuple):
    """An egress and one of its priorities."""

    node: str
    port: int
    peer: str
    priority: int
    rate_bps: int
    tx_bytes: int
    marked: int
    queue: int
    paused_ns: float
    pause_frames: int


def ports(run: Run) -> list[Port]:
    """All that the table lists."""
    names = ["node", "port", "peer", "priority", "rate_bps", "tx_bytes"]
    names += ["marked_packets", "max_queue_bytes", "paused_ns", "pause_frames"]
    table = run.columns("ports", names)
    columns = [table.column(name).to_pylist() for name in table.column_names]
    return [Port(*row) for row in zip(*columns, strict=True)]
