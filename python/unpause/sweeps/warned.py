"""The warnings of a sweep's points: kept with each point, and grouped in ``sweep.json``.

The table of a point has them as metadata, so that a sweep that resumes reports those of the points
that it does not run again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from unpause.errors import ResultError
from unpause.explanation.notices import Notices, Said, grouped, without_place

_KEY = b"unpause.warnings"
#: More of them are only counted: a sweep may have a million points.
_MOST = 20_000


def marked(table: pa.Table, warnings: Sequence[Any]) -> pa.Table:
    """The table of a point, with the warnings of its runs.

    They name no line: a point's text is written anew, and its lines are not those of the file.
    """
    if not warnings:
        return table
    kept = [
        {**it, "message": without_place(str(it.get("message", "")))}
        if isinstance(it, Mapping)
        else it
        for it in warnings
    ]
    return table.replace_schema_metadata({_KEY: json.dumps(kept).encode()})


class Warned:
    """The warnings by digest of the point.

    Attributes:
        more: How many were not kept.
    """

    def __init__(self) -> None:
        self._of: dict[str, list[dict[str, Any]]] = {}
        self._count = 0
        self.more = 0

    def add(self, digest: str, table: pa.Table) -> None:
        """Keeps what a point's table says, unless there is too much."""
        told = (table.schema.metadata or {}).get(_KEY)
        found = [it for it in json.loads(told) if isinstance(it, dict)] if told else []
        kept = found[: max(0, _MOST - self._count)]
        self._count += len(kept)
        self.more += len(found) - len(kept)
        if kept:
            self._of[digest] = kept

    def grouped(
        self, points: Iterable[tuple[str, int]], rows: Sequence[Mapping[str, Any]], axes: list[str]
    ) -> Notices:
        """What the runs of a sweep say.

        Args:
            points: In the order of the table, digest and number of rows.
            rows: The table.
            axes: Its columns of swept values.
        """
        numbered, row = [], 0
        for digest, count in points:
            numbered += [{**it, "run": row + it["run"]} for it in self._of.get(digest, ())]
            row += count
        found = grouped(numbered, rows, axes, "`unpause run` of the point shows them")
        if not self.more:
            return found
        more = Said("", f"more warnings than are kept: {self.more:,}")
        return Notices((*found.said, more))


def told(notices: Notices) -> list[dict[str, Any]]:
    """As they stand in ``sweep.json``."""
    return [asdict(it) for it in notices.said]


def read(about: dict[str, Any], file: str) -> Notices:
    """The notices of a ``sweep.json``, which may come from anybody.

    Raises:
        ResultError: they are not what a sweep writes.
    """
    found = about.get("warnings") or []
    if not isinstance(found, list) or not all(map(_is_sound, found)):
        raise ResultError(f"{file}: damaged: not what a sweep writes")
    return Notices(tuple(Said(**it) for it in found))


def _is_sound(it: Any) -> bool:
    kinds = {"where": str, "message": str, "help": str, "note": bool}
    return (
        isinstance(it, dict)
        and it.keys() == kinds.keys()
        and all(isinstance(it[name], kind) for name, kind in kinds.items())
    )
