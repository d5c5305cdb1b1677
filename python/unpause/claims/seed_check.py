"""Whether a scenario is random: run with another seed, it gives the same tables or not."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from unpause import running
from unpause.data import beneath
from unpause.data.result import Result


def differs(native: Any, result: Result, threads: int | None = None) -> str:
    """Run a scenario again with another seed; answers the first table that differs, or "".

    If none does, the manifest of `result` says so from then on (``seeds_alike``).
    """
    seeds = result.manifest["seeds"]
    another = max(seeds) + 1
    again = running.run_native(native, seed=another, threads=threads, progress=False)
    for name, table in result.tables.items():
        if not _without_seed(table).equals(_without_seed(again.tables[name])):
            return name
    result.manifest["seeds_alike"] = [*seeds, another]
    if result.directory:
        text = json.dumps(result.manifest, indent=2, ensure_ascii=False)
        beneath.write(result.directory / "manifest.json", text + "\n")
    return ""


def _without_seed(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if name != "seed"]
    return table.select(kept).combine_chunks()
