"""The tables of a result directory, read when they are asked for, whole or one run at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from unpause import schema, text
from unpause.data import beneath, rules
from unpause.errors import ResultError

#: Limits of the values to read, by column.
Bounds = Mapping[str, tuple[float, float]]
NO_BOUNDS: Bounds = MappingProxyType({})

#: Share of the memory that a table may take.
_SHARE = 0.75
#: Rows of a table that are read at once.
BATCH = 1 << 16
#: The same where all of them are kept.
_AT_ONCE = 1 << 20
#: Bytes of row groups with several runs that are kept for the next run.
_MOST_KEPT = 1 << 26


class TableFiles(Mapping[str, pa.Table]):
    """Tables by name; a table's file is opened when the object is made, and read at first use.

    Args:
        directory: Result directory.
        digests: SHA-256 of files by name, as the manifest has them.
        runs: The number of runs that the manifest announces; None if it does not.

    Raises:
        ResultError: a file is missing, is not what the run wrote, is no Parquet file, or is not
            what any run writes (:mod:`unpause.data.rules`); at any use, too.
    """

    def __init__(
        self, directory: Path, digests: Mapping[str, str], runs: int | None = None
    ) -> None:
        self._digests = digests
        self._read: dict[str, pa.Table] = {}
        self._files: dict[str, Path] = {}
        self._rows: dict[str, int] = {}
        self._shared: dict[tuple[str | int, ...], list[pa.RecordBatch]] = {}
        #: Identifies a file, also against one that takes its place later.
        self._identities: dict[str, tuple[int, ...]] = {}
        for name in schema.TABLES:
            file = directory / f"{name}.parquet"
            if name not in schema.FIRST and file.name not in digests and not file.is_file():
                self._read[name] = schema.arrow_schema(name).empty_table()
                self._rows[name] = 0
                continue
            with written(directory, file.name, digests) as found:
                self._identities[name] = _identity(found)
            self._files[name] = file
            with self._open(name) as opened:
                self._rows[name] = opened.metadata.num_rows
                _check_columns(name, opened.schema_arrow, file)
        if runs is not None and self._rows["runs"] != runs:
            raise _unlike(self._files["runs"], f"{self._rows['runs']:,} rows for {runs:,} runs")
        self._read["runs"] = self._whole("runs")
        self._rules = rules.Rules(directory, self._read["runs"], self._flow_ids)
        for name, rows in self._rows.items():
            self._rules.rows(name, rows)

    def __getitem__(self, name: str) -> pa.Table:
        if name not in self._read:
            if name not in self._files:
                raise KeyError(name)
            if name == "flows":
                self._rules.known_flows()
            table = self._whole(name)
            self._rules.whole(name, table)
            self._read[name] = table
        return self._read[name]

    def _whole(self, name: str) -> pa.Table:
        # Not pq.read_table, which imports all of pyarrow.dataset and pandas.
        with self._open(name) as file:
            try:
                return whole(file)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(self._files[name], error) from error

    def _flow_ids(self) -> Iterator[pa.RecordBatch]:
        with self._open("flows") as file:
            yield from file.iter_batches(
                BATCH, columns=["run", "flow_id", "start_ns"], use_threads=False
            )

    def __iter__(self) -> Iterator[str]:
        return iter(schema.TABLES)

    def __len__(self) -> int:
        return len(schema.TABLES)

    def rows(self, name: str) -> int:
        """Number of rows of a table, which is not read for that."""
        return self._rows[name]

    def is_there(self, name: str) -> bool:
        """Whether the result has the table; those of earlier versions may lack some."""
        return name in self._files

    def is_read(self, name: str) -> bool:
        """Whether the whole of a table is in memory."""
        return name in self._read

    def of_run(self, name: str, run: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of the rows of one run; of the file, only the parts with that run are read.

        Strings are dictionary-encoded.
        """
        if name not in self._files:
            return self._read[name].select(list(columns))
        batches = list(self.batches_of_run(name, run, columns))
        if batches:
            return pa.Table.from_batches(batches)
        with self._open(name) as file:
            wanted = pa.schema([file.schema_arrow.field(column) for column in columns])
            return pa.Table.from_batches([], wanted)

    def batches_of_run(
        self, name: str, run: int, columns: Sequence[str], bounds: Bounds = NO_BOUNDS
    ) -> Iterator[pa.RecordBatch]:
        """The rows of :meth:`of_run`, this many at a time; none is empty.

        What is known to lie outside of `bounds` is not read; not all that is read lies inside.
        """
        if name not in self._files:
            return
        if name == "flows":
            self._rules.known_flows()
        wanted = ["run", *columns]
        with self._open(name, schema.strings(name, columns)) as file:
            try:
                for group in range(file.num_row_groups):
                    runs = _runs(file, group)
                    if runs is not None and not runs[0] <= run <= runs[1]:
                        continue
                    if _is_outside(file, group, bounds):
                        continue
                    for batch in self._batches(file, name, group, wanted, alone=runs == (run, run)):
                        if runs != (run, run):
                            batch = _of_run(batch, run)
                        if batch.num_rows:
                            self._rules.batch(name, batch)
                            yield batch.select(list(columns))
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(self._files[name], error) from error

    def _batches(
        self, file: pq.ParquetFile, name: str, group: int, columns: list[str], *, alone: bool
    ) -> Iterable[pa.RecordBatch]:
        """A row group in parts; a small one with several runs is kept for the next of them."""
        key = name, group, *columns
        if key in self._shared:
            return self._shared[key]
        batches = file.iter_batches(BATCH, [group], columns, use_threads=False)
        if alone or file.metadata.row_group(group).total_byte_size > _MOST_KEPT / 4:
            return batches
        self._shared[key] = kept = list(batches)
        while sum(batch.nbytes for each in self._shared.values() for batch in each) > _MOST_KEPT:
            self._shared.pop(next(iter(self._shared)))
        return kept

    @contextmanager
    def _open(self, name: str, strings: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        with self._again(name) as opened:
            try:
                file = parquet(opened, strings)
            except (pa.ArrowException, OSError) as error:
                raise _unreadable(self._files[name], error) from error
            yield file

    def _again(self, name: str) -> BinaryIO:
        """The file that was there when the object was made."""
        file = self._files[name]
        match = None
        for found in beneath.places(file.parent, file.name):
            if match is None and _identity(found) == self._identities[name]:
                match = found
            else:
                found.close()
        if match is None:
            match = self._alike(file)
            self._identities[name] = _identity(match)
        return match

    def _alike(self, file: Path) -> BinaryIO:
        """Another file with the same contents: results that differ may have tables that do not."""
        try:
            if file.name in self._digests:
                return written(file.parent, file.name, self._digests)
        except ResultError:
            pass
        raise ResultError(f"{file}: the loaded result has been replaced by another; load it again")


def parquet(opened: BinaryIO, strings: Sequence[str] = ()) -> pq.ParquetFile:
    """A file to read by :func:`whole` or in batches, with these columns dictionary-encoded."""
    return pq.ParquetFile(
        pa.PythonFile(opened, "r"),
        read_dictionary=list(strings),
        memory_map=False,
        buffer_size=1 << 16,
        pre_buffer=False,
    )


def whole(file: pq.ParquetFile) -> pa.Table:
    """All rows, read by the thread that calls.

    Arrow's threads would let go of the Python file some time after the answer; where Python ends
    meanwhile, the process aborts.

    Raises:
        pa.ArrowException: it cannot be read, or its rows take more memory than there is. Equal rows
            take nearly none in the file.
    """
    rows, most = file.metadata.num_rows, int(_SHARE * memory())
    batches, taken = [], 0
    for batch in file.iter_batches(_AT_ONCE, use_threads=False):
        batches.append(batch)
        taken += batch.nbytes
        if taken * rows > most * sum(it.num_rows for it in batches):
            raise pa.ArrowInvalid(
                f"its {rows:,} rows would take {text.size(taken * rows / len(batch))} of memory; "
                f"three quarters of the memory here are {text.size(most)}"
            )
    table = pa.Table.from_batches(batches, file.schema_arrow)
    if table.num_rows != rows:
        raise pa.ArrowInvalid(f"it claims {rows:,} rows and has {table.num_rows:,}")
    return table


def memory() -> int:
    """Bytes of memory of this machine, or that this process may use (``ulimit -v``)."""
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, AttributeError, ValueError, OSError):
        # Only Unix tells.
        return 1 << 40
    return there if limit == resource.RLIM_INFINITY else min(there, limit)


def _of_run(batch: pa.RecordBatch, run: int) -> pa.RecordBatch:
    """The rows of a run. They lie together; to compare by pyarrow would import pandas."""
    runs = np.from_dlpack(batch.column("run"))
    rows = np.flatnonzero(runs == run)
    if not len(rows):
        return batch.slice(0, 0)
    if rows[-1] - rows[0] + 1 == len(rows):
        return batch.slice(rows[0], len(rows))
    return batch.filter(pc.equal(batch.column("run"), run))


def _runs(file: pq.ParquetFile, group: int) -> tuple[int, int] | None:
    """The first and the last run in a row group, if its statistics say so; column 0 is `run`."""
    statistics = file.metadata.row_group(group).column(0).statistics
    if statistics is None or not statistics.has_min_max:
        return None
    return statistics.min, statistics.max


def _is_outside(file: pq.ParquetFile, group: int, bounds: Bounds) -> bool:
    """Whether a row group has no rows within the bounds, by its statistics."""
    for name, (least, most) in bounds.items():
        place = file.schema_arrow.get_field_index(name)
        statistics = file.metadata.row_group(group).column(place).statistics
        known = statistics is not None and statistics.has_min_max
        if known and (statistics.max < least or statistics.min > most):
            return True
    return False


def written(directory: Path, name: str, digests: Mapping[str, str]) -> BinaryIO:
    """The file that the run has written, at its start; any of that name if no digest is known.

    Raises:
        ResultError: it is missing, damaged, or a link.
    """
    expected = digests.get(name)
    match = None
    for file in beneath.places(directory, name):
        if match is None and (
            expected is None or hashlib.file_digest(file, "sha256").hexdigest() == expected
        ):
            file.seek(0)
            match = file
        else:
            file.close()
    if match is None:
        raise ResultError(
            f"{directory / name}: damaged: it is not what the run wrote (its SHA-256 differs "
            "from the manifest's); run the scenario again"
        )
    return match


def _identity(file: BinaryIO) -> tuple[int, ...]:
    about = os.fstat(file.fileno())
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def _unreadable(file: Path, error: Exception) -> ResultError:
    return ResultError(f"{file}: not a readable Parquet file: {error}")


def _unlike(file: Path, why: object) -> ResultError:
    return ResultError(f"{file}: damaged: not what a run writes: {why}; run the scenario again")


def _check_columns(name: str, found: pa.Schema, file: Path) -> None:
    for column in schema.TABLES[name]:
        if column.name not in found.names:
            raise ResultError(
                f"{file}: no column {column.name!r}; found {', '.join(found.names)}\n"
                "hint: another version of unpause wrote it; run the scenario again"
            )
    try:
        rules.columns(name, found)
    except rules.Misfit as why:
        raise _unlike(file, why) from None
