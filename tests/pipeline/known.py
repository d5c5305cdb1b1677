"""What is known to be wrong still: counted and printed, but no failure. To be emptied."""

from __future__ import annotations

#: Plants that are named wrong, and how.
PLANTS = {
    "lossy-hog": "the innocent port is named, not the lossy queue that took the pool",
    "priority": "one sender behind a faster uplink is called a slow link",
}


def split(problems: list[str], plant: str = "") -> tuple[list[str], list[str]]:
    """Those that are failures, and those that are known."""
    return ([], problems) if plant in PLANTS else (problems, [])
