"""Table `causes` as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from unpause.data import series
from unpause.data.result import Run
from unpause.explanation import lost
from unpause.explanation.trees import Egress

_NAMES = ("node", "peer", "root_kind", "root_node", "root_peer", "egress_peer")
_NUMBERS = (
    "cause_id",
    "priority",
    "time_ns",
    "until_ns",
    "paused_ns",
    "expired",
    "held_bytes",
    "dropped_packets",
    "root_share",
    "seen_ns",
    "egress_bytes",
    "egress_queue_bytes",
    "egress_inputs",
    "egress_input_bps",
    "egress_senders",
    "egress_is_paused",
    "paused_by",
    "flow_id",
    "flows",
    "flow_bytes",
    "flow_queue_bytes",
)


class Causes:
    """Table `causes` of a run as arrays, row by row; names as numbers, with the list of names."""

    def __init__(self, run: Run) -> None:
        table = run.columns("causes", [*_NAMES, *_NUMBERS])
        self.run = run
        self.numbers = _Columns(table)
        self.codes: dict[str, np.ndarray] = {}
        self.names: dict[str, list[Any]] = {}
        for name in _NAMES:
            self.codes[name], self.names[name] = series.coded(table, name)
        new = np.diff(self.numbers["cause_id"], prepend=-1.0) != 0
        #: The first row of each PAUSE, whose rows lie together, and by row which PAUSE it is of.
        self.first = np.flatnonzero(new)
        self.pause = np.cumsum(new) - 1
        self.is_seen = self.numbers["seen_ns"] == self.numbers["time_ns"]
        egress = self.pause * len(self.names["egress_peer"]) + self.codes["egress_peer"]
        order = np.argsort(egress, kind="stable")
        keys = (2 * egress + ~self.is_seen)[order]
        #: Whether a row is the one of an egress that a PAUSE tells of, at the time of XOFF.
        self.is_holder = np.zeros(table.num_rows, dtype=bool)
        self.is_holder[order[np.diff(keys, prepend=-1) != 0]] = True
        self.is_holder &= self.is_seen
        #: Who paused whom at any time, in which priority, and was obeyed.
        self.obeyed = lost.obeyed(run)

    def rows_of(self, first: np.ndarray) -> np.ndarray:
        """All rows of the PAUSEs that begin at these rows, which are in order."""
        ends = np.append(self.first[1:], len(self.pause))
        lengths = ends[self.pause[first]] - first
        starts = np.repeat(first - np.cumsum(lengths) + lengths, lengths)
        return starts + np.arange(len(starts))

    def holders_of(self, first: np.ndarray) -> np.ndarray:
        """Those of the rows that have the contents of an egress at XOFF."""
        rows = self.rows_of(first)
        return rows[self.is_holder[rows]]

    def name(self, column: str, row: int) -> Any:
        """The value of a column of names."""
        return self.names[column][self.codes[column][row]]

    def at(self, egress: Egress, rows: np.ndarray, *, is_nic: bool = False) -> np.ndarray:
        """Those of `rows` that tell of this egress, or of what came by this NIC."""
        column = "peer" if is_nic and egress.peer else "egress_peer"
        node = np.array([name == egress.node for name in self.names["node"]], dtype=bool)
        peer = np.array([name == egress.peer for name in self.names[column]], dtype=bool)
        return rows[node[self.codes["node"][rows]] & peer[self.codes[column][rows]]]


class _Columns(dict[str, np.ndarray]):
    """Columns of a table as numbers, each read when it is needed."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self._table = table

    def __missing__(self, name: str) -> np.ndarray:
        self[name] = found = series.column(self._table, name)
        return found
