"""Claims of small differences that are lost in the spread of the seeds.

"0.2 % longer" cannot be seen in numbers that differ by 13 % from seed to seed, unless the paper
compared runs with the same seeds, which none says. Ours have the same seeds; but what they show is
then true of these seeds, and not of the paper's run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unpause.claims import measuring
from unpause.claims.counted import about
from unpause.claims.judges import Check, Numbers
from unpause.claims.wording import number
from unpause.statistics import student
from unpause.statistics.intervals import CONFIDENCE

if TYPE_CHECKING:
    from unpause.data.result import Result

#: A claimed difference below this part of the spread of the seeds is not judged.
FAR_BELOW = 0.1
_MANY = 1e6  # degrees of freedom, where Student's t is the normal distribution


def lost(result: Result | None, check: Check, values: Mapping[str, Numbers]) -> str:
    """Why the difference that `check` claims cannot be seen among these seeds; empty if it can."""
    if result is None or result.same_with_any_seed:
        return ""
    for scheme in check.schemes:
        effect = check.effect(scheme)
        if not effect:
            continue
        parts = measuring.spreads(result, check, scheme)
        spread = max((_spread(numbers) for numbers in parts), default=0.0)
        # A number that is off by more than the spread is no chance.
        seen = abs(values[scheme].median - check.limit_of(scheme)) > spread
        if effect < FAR_BELOW * spread and not seen:
            runs = _needed(effect, parts)
            needs = f"needs about {about(runs):,} runs" if runs else "needs more runs"
            return (
                f"The difference claimed, {number(100 * effect)} %, is far below the "
                f"{number(100 * spread)} % by which the numbers differ from seed to seed: "
                f"not judged: {needs}."
            )
    return ""


def _spread(values: Sequence[float]) -> float:
    """Largest less smallest, over the median; 0 of a single one, or without a scale."""
    middle = float(np.median(values)) if len(values) else 0.0
    if len(values) < 2 or middle <= 0 or not all(map(math.isfinite, values)):
        return 0.0
    return (max(values) - min(values)) / middle


def _needed(effect: float, parts: Sequence[Sequence[float]]) -> int:
    """How many runs of each side have a 95 % interval of their difference as wide as the effect."""
    variance = sum(
        float(np.var(values, ddof=1)) / float(np.mean(values)) ** 2
        for values in parts
        if len(values) > 1 and np.mean(values)
    )
    # One part is both sides.
    both = variance * (2 if len(parts) == 1 else 1)
    z = student.quantile(_MANY, 0.5 + CONFIDENCE / 2)
    return math.ceil(z * z * both / effect**2)
