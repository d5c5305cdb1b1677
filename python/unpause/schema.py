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
        holds: The values that it can have: ``any``, ``run``, ``flow``, ``flow or 0``, ``priority``,
            ``within`` (a time of the run), ``amount`` (finite, not below 0) or ``finite``.
        is_key: Whether it is one of those that tell the rows of a run apart.
    """

    name: str
    type: pa.DataType
    unit: str
    text: str
    nullable: bool = False
    holds: str = "any"
    is_key: bool = False


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
            holds=column["holds"],
            is_key=column["key"],
        )
        for column in columns
    )
    for table, columns in json.loads(
        resources.files("unpause").joinpath("columns.json").read_text("utf-8")
    ).items()
}

#: Tables that results of every version have.
FIRST = ("runs", "flows", "ports", "pauses", "port_series", "flow_series", "packets")

#: Columns of table `jobs` that a sweep's table has of each job: ``job.NAME.mean_ns``, ….
OF_JOBS = ("mean_ns", "slowdown", "busbw_gbytes_s")
#: Lower bounds of the first two, with the iteration in progress at the end.
JOB_BOUNDS = ("mean_at_least_ns", "slowdown_at_least")


def job_column(job: str, column: str) -> str:
    """The name in a sweep's table of a column of :data:`OF_JOBS` or :data:`JOB_BOUNDS`."""
    return f"job.{job}.{column}"


def job_of(name: str) -> str:
    """The job that a column of a sweep's table is of; empty if it is of none."""
    start, _, column = name.rpartition(".")
    is_of_job = start.startswith("job.") and column in (*OF_JOBS, *JOB_BOUNDS)
    return start.removeprefix("job.") if is_of_job else ""


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
