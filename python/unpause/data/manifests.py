"""``manifest.json`` of a result, which may come from anybody: read and checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unpause.data import seals
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
#: Values of a run that may be unknown.
_UNKNOWN = (str, float)
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


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
    misfit = _misfit(manifest, _SHAPE, "")
    if misfit:
        raise ResultError(f"{file}: damaged: not what a run writes: {misfit}; {again}")
    if manifest.get("complete") is False:
        raise ResultError(f"{path}: the run did not finish; {again}")
    return manifest


def _misfit(value: Any, shape: Any, name: str) -> str:
    """The first value of the wrong type, and its place; nothing if all types are right."""
    if isinstance(shape, tuple):
        found = [_misfit(value, each, name) for each in shape]
        return "" if "" in found else found[-1 if isinstance(value, dict) else 0]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{name} is {_said(value)}, not a list"
        inner = (_misfit(each, shape[0], f"{name}[{at}]") for at, each in enumerate(value))
        return next(filter(None, inner), "")
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{name or 'it'} is {_said(value)}, not a table"
        of = shape.get("*")
        kinds = {key: shape.get(key, of) for key in value}
        inner = (
            _misfit(value[key], kind, f"{name}.{key}" if name else key)
            for key, kind in kinds.items()
            if kind is not None
        )
        return next(filter(None, inner), "")
    if value is None and shape in _UNKNOWN:
        return ""
    kinds = (int, float) if shape is float else shape
    # True and False are numbers to Python.
    fits = isinstance(value, kinds) and (shape is bool or not isinstance(value, bool))
    return "" if fits else f"{name} is {_said(value)}, not {_WORDS[shape]}"


def _said(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
