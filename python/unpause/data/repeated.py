"""Swept columns that only repeat runs with other seeds: what decides is the key, not the name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

#: Metadata of a swept column in a sweep's table: the keys that its values replace, as JSON.
KEYS = b"keys"


def keys_by_column(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """By column of each ``[[sweep]]`` of a scenario the keys that its values replace."""
    return {
        sweep["name"]: [
            sweep["key"],
            *sweep.get("also", []),
            *(other["key"] for other in sweep.get("with", [])),
        ]
        for sweep in document.get("sweep", [])
        if "name" in sweep and "key" in sweep
    }


def axes(columns: Sequence[str], runs: pa.Table, document: Mapping[str, Any]) -> list[str]:
    """Those of the swept `columns` that change more than the seed.

    Which keys a column stands for is in the scenario, or in the column's metadata (:data:`KEYS`).
    In a sweep of an older version it is in neither: there, a column that has the seed of every
    run, and more than one, repeats them.

    Args:
        columns: Columns of swept values.
        runs: The table that has them.
        document: The scenario, as far as it is known.
    """
    known = keys_of(columns, runs, document)
    seeds = runs.column("seed").to_pylist()

    def repeats(name: str) -> bool:
        if name in known:
            return all(is_seed(key) for key in known[name])
        return len(set(seeds)) > 1 and runs.column(name).to_pylist() == seeds

    return [name for name in columns if not repeats(name)]


def keys_of(
    columns: Sequence[str], runs: pa.Table, document: Mapping[str, Any]
) -> dict[str, list[str]]:
    """By column the keys that its values replace, where that is known."""
    found = {}
    stated = keys_by_column(document)
    for name in columns:
        noted = (runs.schema.field(name).metadata or {}).get(KEYS)
        if noted or name in stated:
            found[name] = json.loads(noted) if noted else stated[name]
    return found


def is_seed(key: str) -> bool:
    """Whether the path of a key is that of the seed."""
    from unpause import _native

    return _native.split_path(key) == ["seed"]
