"""The load that entries of traffic bring, beside the one that they ask for."""

from __future__ import annotations

from unpause.data.result import Result
from unpause.text import span


def of_result(result: Result) -> list[tuple[str, str]]:
    """A name and a sentence for all entries with a load; nothing if there is none.

    Arrivals are the same under every scheme, so that one sentence is enough.
    """
    offered: dict[str, list[float]] = {}
    asked: dict[str, list[float]] = {}
    for row in result.loads.to_pylist():
        if row["offered_load"] is not None:
            offered.setdefault(row["traffic"], []).append(row["offered_load"])
            asked.setdefault(row["traffic"], []).append(row["asked_load"])
    parts = [
        f"{name} {span(values, _digits)} of the {span(asked[name], _digits)} that it asks for"
        for name, values in offered.items()
    ]
    return [("Load", f"flows bring {'; '.join(parts)}.")] if parts else []


def _digits(load: float) -> str:
    return f"{load:.3g}"
