"""Shapes of data that may come from anybody, as JSON and TOML have them."""

from __future__ import annotations

import json
from typing import Any

#: Values of a run that may be unknown.
_UNKNOWN = (str, float)
_WORDS = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def misfit(value: Any, shape: Any, name: str = "") -> str:
    """The first value of the wrong type, and its place; empty if all types are right.

    A shape is a type; a list of one shape, for a list of such values; a dictionary of shapes by
    key, and by "*" for all other keys; or a tuple of shapes, for any of them. Only a key with "!"
    at its end has to be there.
    """
    if isinstance(shape, tuple):
        found = [misfit(value, each, name) for each in shape]
        return "" if "" in found else found[-1 if isinstance(value, dict) else 0]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{name} is {_said(value)}, not a list"
        inner = (misfit(each, shape[0], f"{name}[{at}]") for at, each in enumerate(value))
        return next(filter(None, inner), "")
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{name or 'it'} is {_said(value)}, not a table"
        of = shape.get("*")
        due = {key[:-1]: kind for key, kind in shape.items() if key.endswith("!")}
        for key in due:
            if key not in value:
                return f"{name or 'it'} has no {key}"
        kinds = {key: due.get(key, shape.get(key, of)) for key in value}
        inner = (
            misfit(value[key], kind, f"{name}.{key}" if name else key)
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
