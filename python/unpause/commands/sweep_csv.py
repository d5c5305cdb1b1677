"""The table of a sweep as CSV: what ``unpause export`` does with the directory of one."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from unpause import plain
from unpause.data import beneath
from unpause.errors import ResultError
from unpause.sweeps import grouped, recorded


def text(table: pa.Table) -> str:
    """A line of column names, then the rows; nothing for null or a statistic not recorded."""
    from pyarrow import csv

    for column in recorded.COLUMNS:
        if column.name not in table.column_names:
            table = table.append_column(column.name, pa.nulls(table.num_rows, column.type))
    for place, name in enumerate(table.column_names):
        if pa.types.is_string(table.schema.field(name).type):
            cells = [None if it is None else plain.cell(it) for it in table[name].to_pylist()]
            table = table.set_column(place, name, pa.array(cells, pa.string()))
    table = table.rename_columns([plain.cell(name) for name in table.column_names])
    sink = pa.BufferOutputStream()
    csv.write_csv(table, sink, csv.WriteOptions(quoting_style="needed"))
    return sink.getvalue().to_pybytes().decode("utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause export --csv``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause export --csv",
        description="Write the table of a sweep as CSV.",
    )
    parser.add_argument("directory", type=Path, help="of `unpause sweep`")
    parser.add_argument("--out", type=Path, help="where to [default: csv/ in it]")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    options = parser.parse_args(arguments)
    file = (options.out or options.directory / "csv") / "sweep.csv"
    try:
        _, table = grouped.sweep_table(options.directory)
        if options.out is None:
            beneath.own(file.parent)
        if os.path.lexists(file) and not options.force:
            print(f"error: {file} exists\nhint: --force replaces it", file=sys.stderr)
            return 1
        file.parent.mkdir(parents=True, exist_ok=True)
        beneath.write(file, text(table))
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(file)
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
