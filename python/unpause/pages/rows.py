"""Tables of a run as a page shows them: chosen columns, sorted and filtered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from unpause.data import series
from unpause.data.result import Run


@dataclass(frozen=True)
class Names:
    """A column of names: by row the number of its name."""

    codes: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, table: pa.Table, name: str) -> Names:
        """A column of strings; missing ones are empty."""
        codes, names = series.coded(table, name)
        return cls(codes, ["" if it is None else str(it) for it in names])

    def to(self, other: Names) -> Names:
        """Links, such as ``S0->H1``; without an end, of a whole switch, its name."""
        keys = self.codes * len(other.names) + other.codes
        found, codes = np.unique(keys, return_inverse=True)
        ends = [divmod(int(key), len(other.names)) for key in found]
        names = [(self.names[a], other.names[b]) for a, b in ends]
        return Names(codes, [f"{a}->{b}" if b else a for a, b in names])

    @property
    def order(self) -> np.ndarray:
        """The sort key of each row."""
        return np.argsort(np.argsort(np.array(self.names)))[self.codes]


@dataclass(frozen=True)
class Column:
    """A column that is shown.

    Attributes:
        name: What stands above it.
        kind: What its values are: `name`, `link`, `flow`, `count`, `time` (ns), `bytes`, `share`,
            `ratio`.
        of: The column, out of the table.
    """

    name: str
    kind: str
    of: Callable[[pa.Table], np.ndarray | Names]


def _number(name: str, column: str, kind: str = "count") -> Column:
    return Column(name, kind, lambda table: series.column(table, column))


def _name(name: str, column: str | None = None) -> Column:
    return Column(name, "name", lambda table: Names.of(table, column or name))


def _link(name: str, node: str, peer: str) -> Column:
    return Column(name, "link", lambda t: Names.of(t, node).to(Names.of(t, peer)))


def _lasted(start: str, end: str) -> Column:
    return Column("lasted", "time", lambda t: series.column(t, end) - series.column(t, start))


@dataclass(frozen=True)
class Shown:
    """A table that pages show.

    Attributes:
        reads: Columns of the result's table, a text.
        columns: What is shown.
        most: Rows with the largest values of this column are the ones to keep; NaN is largest.
        least: What these are called.
        first_of: Of rows alike in this column only the first is shown.
    """

    reads: str
    columns: tuple[Column, ...]
    most: str
    least: str
    first_of: str | None = None


#: By name, in the order in which pages show them.
SHOWN = {
    "flows": Shown(
        "flow_id traffic src dst priority size_bytes start_ns fct_ns slowdown"
        " delivered_bytes retransmitted_packets notifications",
        (
            _number("flow", "flow_id", "flow"),
            _name("traffic"),
            _name("src"),
            _name("dst"),
            _number("priority", "priority"),
            _number("size", "size_bytes", "bytes"),
            _number("start", "start_ns", "time"),
            _number("FCT", "fct_ns", "time"),
            _number("slowdown", "slowdown", "ratio"),
            _number("delivered", "delivered_bytes", "bytes"),
            _number("sent again", "retransmitted_packets"),
            _number("notified", "notifications"),
        ),
        "slowdown",
        "slowest",
    ),
    "ports": Shown(
        "node peer priority tx_bytes max_queue_bytes pause_events paused_ns marked_packets"
        " dropped_packets",
        (
            _link("egress", "node", "peer"),
            _number("priority", "priority"),
            _number("sent", "tx_bytes", "bytes"),
            _number("longest queue", "max_queue_bytes", "bytes"),
            _number("was stopped", "paused_ns", "time"),
            _number("PAUSEs it sent", "pause_events"),
            _number("marked", "marked_packets"),
            _number("dropped", "dropped_packets"),
        ),
        "longest queue",
        "longest queues",
    ),
    "pauses": Shown(
        "node peer priority start_ns end_ns",
        (
            _link("stopped", "node", "peer"),
            _number("priority", "priority"),
            _number("from", "start_ns", "time"),
            _number("until", "end_ns", "time"),
            _lasted("start_ns", "end_ns"),
        ),
        "lasted",
        "longest",
    ),
    "causes": Shown(
        "cause_id time_ns paused_ns node peer priority held_bytes dropped_packets root_kind"
        " root_node root_peer root_share",
        (
            _number("PAUSE", "cause_id"),
            _number("XOFF", "time_ns", "time"),
            _number("paused", "paused_ns", "time"),
            _link("stopped", "peer", "node"),
            _number("priority", "priority"),
            _number("held", "held_bytes", "bytes"),
            _number("lost", "dropped_packets"),
            _name("root is", "root_kind"),
            _link("root", "root_node", "root_peer"),
            _number("share", "root_share", "share"),
        ),
        "paused",
        "longest",
        "cause_id",
    ),
    "victims": Shown(
        "flow_id priority root_node root_peer waited_ns unsent_bytes",
        (
            _number("flow", "flow_id", "flow"),
            _number("priority", "priority"),
            _link("waited for", "root_node", "root_peer"),
            _number("waited", "waited_ns", "time"),
            _number("not sent", "unsent_bytes", "bytes"),
        ),
        "waited",
        "longest waits",
    ),
}


class Rows:
    """A table of a run, whole."""

    def __init__(self, run: Run, name: str) -> None:
        self.shown = SHOWN[name]
        table = run.columns(name, self.shown.reads.split())
        if self.shown.first_of is not None and table.num_rows:
            ids = series.column(table, self.shown.first_of)
            table = table.take(pa.array(np.flatnonzero(np.diff(ids, prepend=-1.0) != 0)))
        self.count = table.num_rows
        self.columns = [column.of(table) for column in self.shown.columns]

    def ordered(self, name: str, down: bool, rows: np.ndarray | None = None) -> np.ndarray:
        """Numbers of rows by a column; those without a value are the largest."""
        of = {column.name: at for at, column in enumerate(self.shown.columns)}
        values = self.columns[of[name]]
        keys = values.order if isinstance(values, Names) else values
        rows = np.arange(self.count) if rows is None else rows
        keys = np.nan_to_num(keys[rows], nan=np.inf)
        return rows[np.argsort(-keys if down else keys, kind="stable")]

    def with_text(self, wanted: str) -> np.ndarray:
        """Numbers of the rows with each of these words in a name, or as a flow's number."""
        found = np.ones(self.count, dtype=bool)
        for word in wanted.lower().split():
            has = np.zeros(self.count, dtype=bool)
            for column, values in zip(self.shown.columns, self.columns, strict=True):
                if isinstance(values, Names):
                    named = [word in name.lower() for name in values.names]
                    has |= np.array(named, dtype=bool)[values.codes]
                elif column.kind == "flow" and word.isdecimal():
                    has |= values == float(word)
            found &= has
        return np.flatnonzero(found)

    def most(self, count: int) -> np.ndarray:
        """The at most `count` rows to keep, in the order of the table."""
        if self.count <= count:
            return np.arange(self.count)
        return np.sort(self.ordered(self.shown.most, True)[:count])

    def told(self, rows: Sequence[int] | np.ndarray) -> dict[str, Any]:
        """Rows as a page gets them: heads, and by column numbers or names with their codes."""
        columns = []
        for column, values in zip(self.shown.columns, self.columns, strict=True):
            if isinstance(values, Names):
                used, codes = np.unique(values.codes[rows], return_inverse=True)
                names = [values.names[int(it)] for it in used]
                columns.append({"names": names, "codes": codes.tolist()})
            else:
                columns.append(_plain(column.kind, values[rows]))
        return {
            "heads": [[column.name, column.kind] for column in self.shown.columns],
            "columns": columns,
            "total": self.count,
            "count": len(rows),
        }


def _plain(kind: str, values: np.ndarray) -> list[float | int | None]:
    """Numbers with the digits that are shown, None for missing ones."""
    digits = 4 if kind in ("share", "ratio") else 0
    rounded = np.round(values, digits)
    whole = [it if digits else int(it) for it in np.nan_to_num(rounded).tolist()]
    return [None if missing else it for it, missing in zip(whole, np.isnan(values), strict=True)]
