"""Runs that PFC has deadlocked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric


@metric("", scope="seeds")
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


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22,
    1927. Also right where no trial succeeded, or all did.
    """
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    spread = share * (1 - share) / trials + z**2 / (4 * trials**2)
    half = z / (1 + z**2 / trials) * math.sqrt(spread)
    return max(0.0, centre - half), min(1.0, centre + half)
