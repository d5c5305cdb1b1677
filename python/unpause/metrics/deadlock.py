"""Runs that PFC has deadlocked."""

from __future__ import annotations

from collections.abc import Sequence

from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric


@metric("", scope="share")
def deadlocked_share(runs: Sequence[Run]) -> float:
    """Share of the runs that a deadlock ended."""
    looked_for(runs)
    return sum(r.row["deadlock_began_ns"] is not None for r in runs) / len(runs)


def looked_for(runs: Sequence[Run]) -> None:
    """Raises :class:`Unavailable` unless every run has looked for deadlocks."""
    for run in runs:
        probes = run.result.scenario.get("probes", {})
        if "deadlock" not in probes:
            raise Unavailable("The runs did not look for deadlocks (probes.deadlock).")
