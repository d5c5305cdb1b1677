"""Links between switches that are down at a time."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unpause.data.result import Run


def at(
    run: Run, time_ns: float, beside: Set[str], hosts: Set[str]
) -> list[tuple[float, list[str]]]:
    """When links failed (ns) and which, of those with an end in `beside` that are down then."""
    down: dict[tuple[str, str], float] = {}
    for row in run.table("link_changes").to_pylist():
        if row["time_ns"] > time_ns or row["change"] not in ("down", "up"):
            continue
        one, other = sorted((row["node"], row["peer"]))
        if hosts & {one, other} or not beside & {one, other}:
            continue
        if row["change"] == "down":
            down.setdefault((one, other), row["time_ns"])
        else:
            down.pop((one, other), None)
    failed: dict[float, list[str]] = {}
    for (one, other), since in down.items():
        failed.setdefault(since, []).append(f"{one}-{other}")
    return sorted(failed.items())
