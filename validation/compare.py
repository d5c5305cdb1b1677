"""Two programs' numbers for one quantity, and whether they are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Student's t, two-sided 95 %, by degrees of freedom.
STUDENT_T = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306}

ALIKE = "alike"
DIFFERS = "differs"
OPEN = "open"


@dataclass(frozen=True)
class Quantity:
    """What is compared, and how near is near enough; both limits are set before anything is run.

    Attributes:
        name: As the table says it.
        unit: Of the values; "" for counts and shares.
        relative: Values within this share of unpause's are alike.
        absolute: And so are values that lie within this much, whatever the share.
        digits: Decimals in the table.
    """

    name: str
    unit: str
    relative: float
    absolute: float = 0.0
    digits: int = 2


@dataclass(frozen=True)
class Row:
    """One quantity of one case in both programs.

    Attributes:
        case: What was run.
        quantity: Its name.
        unit: Of `ours` and `ns3`.
        digits: Decimals in the table.
        seeds: Number of runs.
        ours: Mean over the seeds in unpause.
        ns3: And in ns-3.
        low: Lower end of the 95 % interval of ns-3's excess over unpause, in `unit`; the excess
            itself if there was one seed.
        high: Upper end.
        limit: An excess of up to this is alike.
        verdict: `ALIKE`, `DIFFERS` or `OPEN`.
    """

    case: str
    quantity: str
    unit: str
    digits: int
    seeds: int
    ours: float
    ns3: float
    low: float
    high: float
    limit: float
    verdict: str

    @property
    def ratio(self) -> float | None:
        """ns-3's value over unpause's; None where unpause has 0."""
        return self.ns3 / self.ours if self.ours else None


def compare(case: str, quantity: Quantity, ours: Sequence[float], ns3: Sequence[float]) -> Row:
    """Compares runs in pairs: the same seed, and so the same flows, in both.

    Raises:
        ValueError: not as many runs in both, none, more than the table of t has, or no number.
    """
    if len(ours) != len(ns3) or not ours or len(ours) - 1 > max(STUDENT_T):
        raise ValueError(f"{case}, {quantity.name}: {len(ours)} runs and {len(ns3)} in ns-3")
    if not all(math.isfinite(value) for value in [*ours, *ns3]):
        raise ValueError(f"{case}, {quantity.name}: not a number in {ours} or {ns3}")
    low, high = interval([theirs - own for own, theirs in zip(ours, ns3, strict=True)])
    mean = sum(ours) / len(ours)
    limit = max(quantity.relative * abs(mean), quantity.absolute)
    return Row(
        case=case,
        quantity=quantity.name,
        unit=quantity.unit,
        digits=quantity.digits,
        seeds=len(ours),
        ours=mean,
        ns3=sum(ns3) / len(ns3),
        low=low,
        high=high,
        limit=limit,
        verdict=verdict(low, high, limit),
    )


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the mean; of one value, the value."""
    count = len(differences)
    mean = sum(differences) / count
    if count == 1:
        return mean, mean
    variance = sum((value - mean) ** 2 for value in differences) / (count - 1)
    reach = STUDENT_T[count - 1] * math.sqrt(variance / count)
    return mean - reach, mean + reach


def verdict(low: float, high: float, limit: float) -> str:
    """Alike if all of the interval is within the limit, differs if none is, else open."""
    if -limit <= low and high <= limit:
        return ALIKE
    if low > limit or high < -limit:
        return DIFFERS
    return OPEN
