"""Settings of a run: the scenario with the changes of its scheme and of the sweep."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from unpause import _native
from unpause.data.result import Result, Run


class Setting:
    """The keys that are set for one run.

    Attributes:
        scheme: The scheme's table.
    """

    def __init__(self, result: Result, run: Run) -> None:
        self._whole = copy.deepcopy(result.scenario)
        tables = self._whole.get("scheme", [])
        self.scheme: dict[str, Any] = next(
            (it for it in tables if it.get("name") == run.scheme), {}
        )
        for path, value in self.scheme.get("set", {}).items():
            self._put(path, value)
        for sweep in self._whole.get("sweep", []):
            value = run.row.get(sweep.get("name"))
            written = value
            if value and not isinstance(value, str):
                written = f"{sweep.get('prefix', '')}{value:g}{sweep.get('unit', '')}"
            others = [it.get("key", "") for it in sweep.get("with", [])]
            for path in [sweep.get("key", ""), *sweep.get("also", []), *others]:
                self._put(path, written)

    def get(self, path: str, default: Any = None) -> Any:
        """The value of a key such as ``pfc.xoff``; `default` if it is not set."""
        at = self._whole
        for step in path.split("."):
            if not isinstance(at, dict) or step not in at:
                return default
            at = at[step]
        return at

    def traffic(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """The entries of these names."""
        return [it for it in self._whole.get("traffic", []) if it.get("name") in names]

    def _put(self, path: str, value: Any) -> None:
        steps = _native.split_path(path) or []
        at: Any = self._whole
        for step in steps[:-1]:
            if isinstance(at, list):
                at = next((it for it in at if it.get("name") == step), None)
            elif isinstance(at, dict):
                at = at.setdefault(step, {})
        if isinstance(at, dict) and steps:
            at[steps[-1]] = value


def in_bytes(written: Any) -> float | None:
    """Bytes of a size as scenarios have it; None if it is none."""
    found = _native.in_base_unit(written) if isinstance(written, str) else None
    return found[1] / found[2] if found is not None and found[0] == "_bytes" else None


def in_ns(written: str) -> float | None:
    """Nanoseconds of a time as scenarios have it; None if it is none."""
    found = _native.in_base_unit(written)
    return found[1] / found[2] if found is not None and found[0] == "_ns" else None


def at_rate(written: Any, rate_bps: int) -> Any:
    """The value for a link of that rate, where values may be given by link rate."""
    if not isinstance(written, dict):
        return written
    for rate, value in written.items():
        found = _native.in_base_unit(rate)
        if found is not None and found[1] == rate_bps * found[2]:
            return value
    return None
