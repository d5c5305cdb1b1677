"""The tables of a result: columns, types, units and meaning.

``run`` and ``scheme`` open every table. Times are nanoseconds since the start of the run, as
float64: the simulator counts whole picoseconds, so three decimals are exact. Sizes are bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: Name in the Parquet file, with the unit as suffix.
        type: Arrow type.
        unit: Unit of the values, empty for names and counts.
        text: What it holds.
        nullable: Whether a value may be missing.
    """

    name: str
    type: pa.DataType
    unit: str
    text: str
    nullable: bool = False


_U64, _F64 = pa.uint64(), pa.float64()
_TYPES = {"utf8": pa.string()}

#: Columns of each table but swept values (float64, after ``seed``). The list is made of the Rust
#: code by ``make docs``; every Parquet file has the same as metadata of its fields.
TABLES: dict[str, tuple[Column, ...]] = {
    table: tuple(
        Column(
            name=column["name"],
            type=_TYPES.get(column["type"]) or pa.type_for_alias(column["type"]),
            unit=column["unit"],
            text=column["text"],
            nullable=column["nullable"],
        )
        for column in columns
    )
    for table, columns in json.loads(
        resources.files("unpause").joinpath("columns.json").read_text("utf-8")
    ).items()
}

#: Tables that results of versions before do not have.
LATER = (
    "causes",
    "victims",
    "losses",
    "link_changes",
    "storms",
    "jobs",
    "iterations",
    "ranks",
    "messages",
    "critical",
    "collectives",
    "job_links",
)

#: What a sweep's table has after the columns of `runs`: statistics of each run.
STATISTICS: tuple[Column, ...] = (
    Column("flows_sized", _U64, "flows", "flows started that have a size, so that they can end"),
    Column("fct_mean_ns", _F64, "ns", "mean FCT of the flows completed", True),
    Column("fct_p50_ns", _F64, "ns", "median FCT", True),
    Column("fct_p95_ns", _F64, "ns", "95th percentile of the FCT", True),
    Column("fct_p99_ns", _F64, "ns", "99th percentile of the FCT", True),
    Column("fct_max_ns", _F64, "ns", "largest FCT", True),
    Column("slowdown_mean", _F64, "", "mean slowdown of the flows completed", True),
    Column("slowdown_p50", _F64, "", "median slowdown", True),
    Column("slowdown_p95", _F64, "", "95th percentile of the slowdown", True),
    Column("slowdown_p99", _F64, "", "99th percentile of the slowdown", True),
    Column("slowdown_max", _F64, "", "largest slowdown", True),
    Column("delivered_bytes", _U64, "bytes", "payload delivered in order, all flows"),
    Column("retransmitted_packets", _U64, "packets", "data packets retransmitted, all flows"),
    Column("pause_events", _U64, "events", "times that any ingress went to XOFF"),
    Column("paused_ns", _F64, "ns", "time that egresses were paused, all ports and priorities"),
    Column("max_queue_bytes", _U64, "bytes", "largest backlog of any egress queue"),
    Column("victim_flows", _U64, "flows", "flows that waited for congestion off their path", True),
    Column("victims_complete", pa.bool_(), "", "whether these are all victims", True),
    Column("victim_wait_ns", _F64, "ns", "total time that they waited", True),
    Column("congested_link", pa.string(), "", "most congested link", True),
    Column(
        "congested_share", _F64, "", "its utilisation while flows that use it were active", True
    ),
    Column("watched_bps", _F64, "bit/s", "goodput of watched flows in a burst, else mean", True),
    Column("recovery_ns", _F64, "ns", "until watched flows recovered, or looked for", True),
    Column("recovered", pa.bool_(), "", "whether they did", True),
)

#: Those of them that sweeps of earlier versions lack.
LATER_STATISTICS = (
    "victim_flows",
    "victims_complete",
    "victim_wait_ns",
    "congested_link",
    "congested_share",
    "watched_bps",
    "recovery_ns",
    "recovered",
)


#: Columns of table `jobs` that a sweep's table has of each job: ``job.NAME.mean_ns``, ….
OF_JOBS = ("mean_ns", "slowdown", "busbw_gbytes_s")


def job_column(job: str, column: str) -> str:
    """The name in a sweep's table of a column of :data:`OF_JOBS`."""
    return f"job.{job}.{column}"


def job_of(name: str) -> str:
    """The job that a column of a sweep's table is of; empty if it is of none."""
    start, _, column = name.rpartition(".")
    return start.removeprefix("job.") if start.startswith("job.") and column in OF_JOBS else ""


def strings(table: str, columns: Iterable[str]) -> list[str]:
    """Those of `columns` of `table` that hold strings."""
    held = {c.name for c in TABLES[table] if c.type == pa.string()}
    return [name for name in columns if name in held]


def arrow_schema(table: str) -> pa.Schema:
    """Arrow schema of `table` (without swept columns)."""
    return pa.schema([pa.field(c.name, c.type, c.nullable) for c in TABLES[table]])


def sweep_columns(runs: pa.Table) -> list[str]:
    """Names of the columns of table `runs` that hold swept values."""
    known = {c.name for c in TABLES["runs"]}
    return [name for name in runs.column_names if name not in known]
