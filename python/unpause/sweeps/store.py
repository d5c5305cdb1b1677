"""The directory of a sweep: ``points/``, ``sweep.json``, ``sweep.parquet``.

Every file that is read again has its SHA-256 beside it: of points in ``points/SHA256SUMS``, which
`sha256sum -c` reads, too, and of the table in ``sweep.json``.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unpause import schema
from unpause.data import beneath, seals, staged
from unpause.data.files import parquet, whole
from unpause.errors import ResultError, SweepError
from unpause.explanation.notices import Notices
from unpause.sweeps import recorded, warned
from unpause.sweeps.points import Plan, Point

_POINTS = "points"
_SUMS = "SHA256SUMS"


@dataclass
class Store:
    """What a sweep keeps; nothing without a directory.

    Attributes:
        directory: Where, if anything is kept.
        plan: What is swept.
        command: Whose directory it is: "sweep" or "tune", which also names its files.
        damaged: Files of points that are not what a sweep has written.
    """

    directory: Path | None
    plan: Plan
    command: str = "sweep"
    damaged: list[Path] = field(default_factory=list)
    _columns: set[str] = field(default_factory=set)
    _sums: dict[str, str] = field(default_factory=dict)
    _lock: Any = None

    def open(self) -> None:
        """Takes the directory.

        Raises:
            SweepError: it holds something that is no sweep's.
        """
        self._columns = {c.name for c in (*schema.TABLES["runs"], *recorded.COLUMNS)} - {"run"}
        if self.directory is None:
            return
        check(self.directory, self.command)
        from unpause import _native

        self._lock = _native.Lock(self.directory)
        try:
            self._points.mkdir(exist_ok=True)
            self._sums = self._read_sums()
            self._tell({"complete": False})
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the directory back."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def _points(self) -> Path:
        assert self.directory is not None
        return self.directory / _POINTS

    def _read_sums(self) -> dict[str, str]:
        """SHA-256 by name, the last of each; a line that was cut short is of no file."""
        assert self.directory is not None
        try:
            with beneath.open_file(self.directory, _POINTS, _SUMS) as file:
                lines = file.read().decode("ascii", "replace").splitlines()
        except FileNotFoundError:
            return {}
        pairs = (line.split("  ", 1) for line in lines)
        return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}

    def load(self, point: Point) -> pa.Table | None:
        """The point's table, if it is there as it was written; else it is run again."""
        if self.directory is None:
            return None
        name = f"{point.digest}.parquet"
        try:
            with beneath.open_file(self.directory, _POINTS, name) as file:
                written = file.read()
            if hashlib.sha256(written).hexdigest() != self._sums.get(name):
                raise ResultError(f"{name}: damaged")
            table = whole(parquet(io.BytesIO(written)))
        except FileNotFoundError:
            return None
        except (ResultError, pa.ArrowException, OSError):
            self.damaged.append(self._points / name)
            return None
        return table if self._columns <= set(table.column_names) else None

    def save(self, point: Point, table: pa.Table) -> None:
        """Keeps a point: the file first, then its digest, so that one without is not trusted."""
        if self.directory is None:
            return
        name = f"{point.digest}.parquet"
        written = _encoded(table)
        beneath.write(self._points / name, written)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self._points / _SUMS, flags, 0o644), "ab") as sums:
            # The line before may have been cut short.
            line = f"\n{hashlib.sha256(written).hexdigest()}  {name}\n"
            sums.write(line.encode("ascii"))

    def finish(
        self,
        table: pa.Table,
        failed: dict[str, str],
        notices: Notices,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the table of all points, what was odd, and what else there is to know of them."""
        if self.directory is None:
            return
        written = _encoded(table)
        name = f"{self.command}.parquet"
        beneath.write(self.directory / name, written)
        files = {name: hashlib.sha256(written).hexdigest()}
        self._tell(
            {
                "rows": table.num_rows,
                "failed": failed,
                "warnings": warned.told(notices),
                "complete": not failed,
                "files": files,
                **(about or {}),
            }
        )

    def _tell(self, more: dict[str, Any]) -> None:
        assert self.directory is not None
        about = {**self.plan.about(), **more}
        text = json.dumps(about, indent=2, ensure_ascii=False, default=str)
        beneath.write(self.directory / f"{self.command}.json", seals.seal(text))


_PAGES = {"sweep": staged.SWEEP_PAGES, "tune": staged.TUNE_PAGES}
_WHOSE = {"sweep": "a sweep", "tune": "unpause tune"}


def check(directory: Path, command: str = "sweep") -> None:
    """Refuses a directory in which a command would take the place of something else.

    Raises:
        SweepError: it holds what is not the command's, a link, or files with names of its report.
    """
    told = "hint: choose another directory with --out; nothing was changed"
    if (directory / "manifest.json").exists():
        raise SweepError(f"{directory} is the result of a run\n{told}")
    try:
        beneath.own(directory / _POINTS)
        for name in (f"{command}.json", f"{command}.parquet", f"{_POINTS}/{_SUMS}"):
            beneath.own_file(directory / name)
        if not (directory / f"{command}.json").is_file() and not staged.is_free(directory):
            whose = _WHOSE[command]
            raise SweepError(f"{directory} exists and is not the directory of {whose}\n{told}")
        staged.check(directory, _PAGES[command])
    except ResultError as error:
        raise SweepError(str(error)) from error


def _encoded(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()
