"""How much memory is enough, by what a run says about the packets that found none."""

from __future__ import annotations

import re
from typing import Any

from unpause.data.result import Run


def advised(run: Run, key: str, fault: str) -> str:
    """What is wrong with a key, and the size that is enough, by the run's warning about losses.

    Where the warning names another key, that alone is advised. Without a warning no size is named.
    """
    helps = [
        str(it["help"])
        for it in run.result.manifest.get("warnings", [])
        if isinstance(it, dict) and it.get("run") == run.run
        if it.get("kind") == "headroom-drops" and it.get("help")
    ]
    own = [it for it in helps if re.search(rf"{re.escape(key)}\b", it)]
    if own:
        return f"{fault}: {own[0]}"
    if helps:
        return helps[0]
    return (
        f"{fault}: remove it, and memory follows from each link's rate, length and frame size (no "
        "size is named: the result does not say how much more was needed)"
    )


def written(value: Any) -> str:
    """The value of a key as the scenario writes it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {it}" for key, it in value.items())
    return str(value)
