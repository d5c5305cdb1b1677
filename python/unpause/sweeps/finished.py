"""Rows of a sweep's finished points, kept together: a table of one row takes 40 KB of memory."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from unpause.sweeps.warned import Warned

#: So many points are put together at a time.
_BLOCK = 256


def _together(tables: Iterable[pa.Table]) -> pa.Table:
    """One table; where not all have the same jobs, the others have null."""
    return pa.concat_tables(tables, promote_options="default").combine_chunks()


class Finished:
    """Tables by digest.

    Attributes:
        warned: The warnings of their runs.
    """

    def __init__(self) -> None:
        self._loose: dict[str, pa.Table] = {}
        self._blocks: list[pa.Table] = []
        #: Where the rows of a digest begin, of all blocks one after the other, and how many.
        self._rows: dict[str, tuple[int, int]] = {}
        self._count = 0
        self.warned = Warned()

    def __len__(self) -> int:
        return len(self._rows) + len(self._loose)

    def __contains__(self, digest: str) -> bool:
        return digest in self._rows or digest in self._loose

    def add(self, digest: str, table: pa.Table) -> None:
        """Keeps the rows of a point."""
        self._loose[digest] = table
        self.warned.add(digest, table)
        if len(self._loose) >= _BLOCK:
            self._put_together()

    def count(self, digest: str) -> int:
        """How many rows a point has; 0 if it is not done."""
        self._put_together()
        return self._rows.get(digest, (0, 0))[1]

    def _put_together(self) -> None:
        if not self._loose:
            return
        for digest, table in self._loose.items():
            self._rows[digest] = self._count, table.num_rows
            self._count += table.num_rows
        self._blocks.append(_together(self._loose.values()))
        self._loose = {}

    def rows(self, digests: Iterable[str]) -> tuple[pa.Table | None, list[int]]:
        """The rows of `digests` in this order, and which of `digests` each is of; None if empty."""
        self._put_together()
        taken: list[int] = []
        of: list[int] = []
        for number, digest in enumerate(digests):
            if digest in self._rows:
                first, count = self._rows[digest]
                taken += range(first, first + count)
                of += [number] * count
        if not taken:
            return None, []
        whole = _together(self._blocks)
        return whole.take(pa.array(taken, pa.int64())).combine_chunks(), of
