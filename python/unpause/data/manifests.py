"""``manifest.json`` of a result, which may come from anybody: read and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unpause.data import seals, shapes
from unpause.errors import ResultError

#: Types of what it may have: of values, of all that a list or (by "*") a table holds.
_SHAPE: dict[str, Any] = {
    "unpause": str,
    "scenario": {"title": str, "file": str, "sha256": str, "digest": str},
    "seeds": [int],
    "host": {},
    "runs": [{"run": int, "wall_s": float, "threads": int, "cpu_s": float, "packet_hops": int}],
    "warnings": [
        (
            str,
            {"run": int, "scheme": str, "kind": str, "message": str, "help": str, "note": bool},
        )
    ],
    "files": {"*": str},
    "complete": bool,
}


def parsed(text: str, path: Path) -> dict[str, Any]:
    """The manifest of the result in `path`.

    Raises:
        ResultError: it is not what a run writes, or the run did not finish.
    """
    file = path / "manifest.json"
    again = "run the scenario again"
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{file}: damaged: not JSON: {error}") from error
    if seals.is_broken(text.encode("utf-8")):
        told = f"its text does not match its field sha256; {again}"
        raise ResultError(f"{file}: damaged: {told}")
    misfit = shapes.misfit(manifest, _SHAPE)
    if misfit:
        raise ResultError(f"{file}: damaged: not what a run writes: {misfit}; {again}")
    if manifest.get("complete") is False:
        raise ResultError(f"{path}: the run did not finish; {again}")
    return manifest
