"""What the tables of a result must be like, whoever wrote them.

:data:`unpause.schema.TABLES` says it of each column: the values that it holds, and whether it tells
rows apart. Numbers of rows are compared before a table is read, values when they are read, each
once: a large result costs nothing more than its own reading.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from unpause import schema
from unpause.errors import ResultError

#: Pairs of columns of a row, of which the second is no earlier than the first.
_ORDERED = (
    ("obeyed_ns", "start_ns"),
    ("start_ns", "end_ns"),
    ("began_ns", "detected_ns"),
    ("detected_ns", "restored_ns"),
    ("first_ns", "last_ns"),
    ("time_ns", "until_ns"),
)
#: Times are exact to a thousandth of a nanosecond.
_ROUNDED_NS = 1e-3


class Misfit(Exception):
    """The rest of a sentence about a table: what is wrong with it."""


class Rules:
    """The rules for the tables of one result.

    Args:
        directory: Where it is, for messages.
        runs: Its table `runs`, whole.
        flow_ids: Reads the columns `run`, `flow_id` and `start_ns` of `flows`, some rows at a time.

    Raises:
        ResultError: `runs` is not what a run writes.
    """

    def __init__(
        self, directory: Path, runs: pa.Table, flow_ids: Callable[[], Iterator[pa.RecordBatch]]
    ) -> None:
        self._directory = directory
        self._flow_ids = flow_ids
        self._flows: list[np.ndarray] | None = None
        self._runs = runs.num_rows
        self._checked("runs", lambda: self._of_runs(runs))

    def _of_runs(self, runs: pa.Table) -> None:
        if not runs.num_rows:
            raise Misfit("it has no rows")
        _no_nulls("runs", runs)
        numbers = _values(runs, "run")
        if not np.array_equal(numbers, np.arange(len(numbers))):
            raise Misfit("column run does not count its rows from 0")
        self._ends = _values(runs, "simulated_ns").astype(float)
        for column in schema.sweep_columns(runs):
            _check_swept(runs, column)
        self.batch("runs", runs)
        self._started = _values(runs, "flows_started")
        self._counted_from = _values(runs, "counted_from_ns")
        self._schemes: list[str] = runs.column("scheme").to_pylist()

    def rows(self, name: str, rows: int) -> None:
        """Compares the number of rows of a table, before it is read.

        Raises:
            ResultError: there are more or fewer than there can be.
        """

        def check() -> None:
            due = sum(map(int, self._started))
            # Flows of a warm-up are not among them.
            fits = rows >= due if self._counted_from.any() else rows == due
            if name == "flows" and not fits:
                raise Misfit(f"it has {rows:,} rows, but flows_started of runs.parquet is {due:,}")

        self._checked(name, check)

    def batch(self, name: str, batch: pa.RecordBatch | pa.Table, run: int | None = None) -> None:
        """Checks the values of the columns that are there.

        Args:
            name: The table.
            batch: Some of its rows.
            run: Their run if all are of one, and column `run` is not there.

        Raises:
            ResultError: a value is none that a run writes.
        """
        self._checked(name, lambda: self._check(name, batch, run))

    def _check(self, name: str, batch: pa.RecordBatch | pa.Table, run: int | None = None) -> None:
        _no_nulls(name, batch)
        if not batch.num_rows:
            return
        runs = _values(batch, "run") if "run" in batch.column_names else run
        if isinstance(runs, np.ndarray) and runs.max() >= self._runs:
            raise Misfit(f"column run has {runs.max()}, and runs.parquet {self._runs:,} runs")
        for column in schema.TABLES[name]:
            if column.name in batch.column_names and column.holds not in ("any", "run"):
                self._column(column, batch, runs)
        _check_order(batch)

    def _column(
        self, column: schema.Column, batch: pa.RecordBatch | pa.Table, runs: np.ndarray | int | None
    ) -> None:
        values, rows = _valid(batch, column.name)
        if not len(values):
            return
        least, most = values.min(), values.max()  # NaN, if one is
        if column.holds == "priority":
            if most > 7:
                raise Misfit(f"column {column.name} has {most}; priorities are 0 to 7")
        elif column.holds.startswith("flow"):
            self._check_flows(column, values, _at(runs, rows))
        elif not (np.isfinite(least) and np.isfinite(most)):
            raise Misfit(f"column {column.name} has {'NaN' if np.isnan(least) else 'infinity'}")
        elif column.holds != "finite" and least < 0:
            raise Misfit(f"column {column.name} has {least:g}, less than 0")
        elif column.holds == "within" and runs is not None:
            self._check_within(column.name, values, _at(runs, rows))

    def _check_within(self, name: str, values: np.ndarray, runs: np.ndarray | int) -> None:
        late = values > self._ends[runs] + _ROUNDED_NS
        if late.any():
            at = int(np.argmax(late))
            end = self._ends[runs[at] if isinstance(runs, np.ndarray) else runs]
            raise Misfit(f"column {name} has {values[at]:g}, and the run ended at {end:g} ns")

    def _check_flows(
        self, column: schema.Column, values: np.ndarray, runs: np.ndarray | int | None
    ) -> None:
        if runs is None:
            return
        if column.holds == "flow or 0":
            kept = values != 0
            values = values[kept]
            runs = runs[kept] if isinstance(runs, np.ndarray) else runs
        known = self.known_flows()
        for run in np.unique(runs):
            ours = values[runs == run] if isinstance(runs, np.ndarray) else values
            place = np.searchsorted(known[run], ours)
            place[place == len(known[run])] = 0
            strange = known[run][place] != ours if len(known[run]) else np.full(len(ours), True)
            if strange.any():
                number = ours[np.argmax(strange)]
                raise Misfit(f"column {column.name} has {number}, no flow of run {run} in flows")

    def known_flows(self) -> list[np.ndarray]:
        """By run the numbers of its flows, in ascending order.

        Raises:
            ResultError: they are not what a run writes; it ends at the first row that is not.
        """
        if self._flows is None:
            self._checked("flows", self._read_flows)
        assert self._flows is not None
        return self._flows

    def _read_flows(self) -> None:
        parts, last = [np.empty(0, np.int64)], -1
        counted = np.zeros(self._runs, np.int64)
        for batch in self._flow_ids():
            self._check("flows", batch)
            runs = _values(batch, "run").astype(np.int64)
            places = (runs << 32) + _values(batch, "flow_id")
            if places[0] <= last or np.any(places[1:] <= places[:-1]):
                raise Misfit("column flow_id does not ascend within each run")
            last = places[-1]
            parts.append(places)
            counts = _values(batch, "start_ns") >= self._counted_from[runs]
            counted += np.bincount(runs[counts], minlength=self._runs)
        if not np.array_equal(counted, self._started):
            raise Misfit("its runs do not have as many flows as flows_started of runs.parquet says")
        places = np.concatenate(parts)
        starts = np.searchsorted(places, np.arange(1, self._runs) << 32)
        self._flows = np.split((places & 0xFFFFFFFF).astype(np.uint32), starts)

    def whole(self, name: str, table: pa.Table) -> None:
        """Checks all rows of a table: values, order, and that no row is there twice.

        Raises:
            ResultError: it is not what a run writes.
        """
        for batch in table.to_batches():
            self.batch(name, batch)
        if name != "flows":
            self._checked(name, lambda: _check_twice(name, table))
        self._checked(name, lambda: _check_schemes(table, self._schemes))

    def _checked(self, name: str, check: Callable[[], None]) -> None:
        try:
            check()
        except Misfit as why:
            file = self._directory / f"{name}.parquet"
            raise ResultError(
                f"{file}: damaged: not what a run writes: {why}; run the scenario again"
            ) from None


def columns(name: str, found: pa.Schema) -> None:
    """Compares the columns of a file with those of its table.

    Raises:
        Misfit: one is missing, or has another type; or there is one that no table has.
    """
    known = {column.name: column.type for column in schema.TABLES[name]}
    for column, type_ in known.items():
        places = found.get_all_field_indices(column)
        if len(places) > 1:
            raise Misfit(f"column {column} is there twice")
        if places and found.field(column).type != type_:
            raise Misfit(f"column {column} is of type {found.field(column).type}, not {type_}")
    for field in found:
        if field.name not in known and not (name == "runs" and field.type == pa.float64()):
            raise Misfit(f"no table {name} has a column {field.name!r}")


def _check_swept(runs: pa.Table, column: str) -> None:
    field = runs.schema.field(column)
    values = _values(runs, column)
    if not np.isfinite(values).all():
        raise Misfit(f"column {column} has NaN or infinity")
    names = (field.metadata or {}).get(b"names")
    if names is None:
        return
    try:
        known = json.loads(names)
    except (ValueError, RecursionError):
        known = None
    if not isinstance(known, list) or not all(isinstance(it, str) for it in known):
        raise Misfit(f"column {column} has other names than a list of strings")
    if not all(0 <= value < len(known) and value == int(value) for value in values):
        raise Misfit(f"column {column} has numbers beyond its {len(known)} names")


def _no_nulls(name: str, batch: pa.RecordBatch | pa.Table) -> None:
    optional = {column.name for column in schema.TABLES[name] if column.nullable}
    for column in batch.column_names:
        if column not in optional and batch.column(column).null_count:
            raise Misfit(f"column {column} lacks a value in {batch.column(column).null_count} rows")


def _check_order(batch: pa.RecordBatch | pa.Table) -> None:
    for before, after in _ORDERED:
        if before in batch.column_names and after in batch.column_names:
            first, second = batch.column(before), batch.column(after)
            if first.null_count or second.null_count:
                first, second = first.fill_null(0.0), second.fill_null(np.inf)
            late = _array(first) > _array(second)
            if late.any():
                raise Misfit(f"{after} is before {before} in a row")


def _check_twice(name: str, table: pa.Table) -> None:
    """Equal rows would count twice in every total."""
    runs = _values(table, "run")
    if np.any(runs[1:] < runs[:-1]):
        raise Misfit("its runs do not follow each other")
    key = ["run", *(column.name for column in schema.TABLES[name] if column.is_key)]
    if len(key) == 1 or table.num_rows < 2:
        return
    different = table.select(key).group_by(key, use_threads=False).aggregate([]).num_rows
    if different < table.num_rows:
        raise Misfit(f"{table.num_rows - different:,} rows are there twice (same {', '.join(key)})")


def _check_schemes(table: pa.Table, known: Sequence[str]) -> None:
    """The rows of a run have its scheme, which is `known` of each."""
    for batch in table.to_batches():
        coded = batch.column("scheme").dictionary_encode()
        names = coded.dictionary.to_pylist()
        codes = {name: code for code, name in enumerate(names)}
        of_run = np.array([codes.get(name, -1) for name in known])
        ours = _values(batch, "run")
        strange = _array(coded.indices) != of_run[ours]
        if strange.any():
            row = int(np.argmax(strange))
            name = names[_array(coded.indices)[row]]
            raise Misfit(
                f"run {ours[row]} is of scheme {name!r}, in runs.parquet of {known[ours[row]]!r}"
            )


def _at(runs: np.ndarray | int | None, rows: np.ndarray | None) -> Any:
    return runs[rows] if isinstance(runs, np.ndarray) and rows is not None else runs


def _valid(batch: pa.RecordBatch | pa.Table, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a column that are there, and their rows if some are not."""
    column = batch.column(name)
    if not column.null_count:
        return _array(column), None
    rows = np.flatnonzero(_array(column.is_valid().cast(pa.uint8())))
    return _array(column.drop_null()), rows


def _values(batch: pa.RecordBatch | pa.Table, name: str) -> np.ndarray:
    return _array(batch.column(name))


def _array(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """A column without nulls, without a copy; its own to_numpy would import pandas."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [np.from_dlpack(chunk) for chunk in chunks if len(chunk)]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0)
