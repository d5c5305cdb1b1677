"""The runs of a result that `unpause run` did not complete."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from unpause import schema
from unpause.data import beneath
from unpause.data.files import parquet, whole
from unpause.data.result import Result
from unpause.errors import ResultError


def stopped(directory: Path) -> Result | None:
    """The runs that had finished when `unpause run` was stopped, if that is all that there is.

    Raises:
        ResultError: none had finished.
    """
    kept = sorted((directory / ".unpause" / "runs").glob("*/run.json"))
    if (directory / "manifest.json").is_file() or not kept:
        return None
    tables = {}
    for name in schema.TABLES:
        parts = [_kept(directory, it.parent.name, name) for it in kept]
        tables[name] = pa.concat_tables(parts).sort_by("run")
    done = [f"{row['scheme']} (run {row['run']})" for row in tables["runs"].to_pylist()]
    print(
        f"note: {directory}: interrupted; this covers the finished runs only: "
        f"{', '.join(done)}. The same command resumes with the others.",
        file=sys.stderr,
    )
    return Result(tables, directory=directory)


def _kept(directory: Path, run: str, name: str) -> pa.Table:
    """A table of a finished run; a command that resumes the sweep may take it away meanwhile."""
    where = (".unpause", "runs", run, f"{name}.parquet")
    file = directory.joinpath(*where)
    try:
        with beneath.open_file(directory, *where) as opened:
            return whole(parquet(opened))
    except FileNotFoundError as error:
        raise ResultError(f"{file}: gone: another run has replaced it") from error
    except (pa.ArrowException, OSError) as error:
        raise ResultError(f"{file}: not a readable Parquet file: {error}") from error
