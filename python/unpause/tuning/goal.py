"""What a search is for: a goal, and limits that every run has to meet."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from unpause.errors import SweepError
from unpause.statistics.censored import Estimate
from unpause.sweeps import axes, named
from unpause.sweeps.named import Named

_LIMIT = re.compile(r"(?P<what>.+?)\s*(?P<sign><=|>=|==|=|<|>)\s*(?P<value>.+)")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_KINDS = {"": "a number", "_bytes": "a size", "_bps": "a rate", "_ns": "a time"}
_EXAMPLES = {"": "0", "_bytes": "2MB", "_bps": "10Gbps", "_ns": "2ms"}
#: A limit that is only known to be missed counts as missed by this part.
_UNKNOWN = 1.0


@dataclass(frozen=True)
class Limit:
    """A limit on a statistic of every run.

    Attributes:
        statistic: Which.
        sign: How it compares.
        value: The limit, in the base unit.
        text: All of it, as people write it.
    """

    statistic: Named
    sign: str
    value: float
    text: str

    def missed(self, estimate: Estimate | None) -> float:
        """By which part of the limit a run misses it; 0 if it meets it.

        A lower bound meets no upper limit.
        """
        if estimate is None:
            return _UNKNOWN
        found = estimate.at_least
        if _SIGNS[self.sign](found, self.value):
            return 0.0 if estimate.is_exact or self.sign in (">=", ">") else _UNKNOWN
        scale = abs(self.value) or 1.0
        return max(1e-6, abs(found - self.value) / scale)

    def margin(self, estimate: Estimate | None) -> float:
        """How far below an upper limit a run is, or above a lower one; less than 0 if it misses."""
        if estimate is None:
            return -math.inf
        apart = self.value - estimate.at_least
        return -apart if self.sign in (">", ">=") else apart


@dataclass(frozen=True)
class Aim:
    """A goal and its limits.

    Attributes:
        goal: The statistic that is to be small, or large where more is better.
        limits: What every run has to meet.
    """

    goal: Named
    limits: tuple[Limit, ...]

    @property
    def statistics(self) -> tuple[Named, ...]:
        """All statistics that are needed, each once."""
        every = [self.goal, *(limit.statistic for limit in self.limits)]
        return tuple(dict.fromkeys(every))

    @property
    def sign(self) -> float:
        """1 where less is better, -1 where more is."""
        return -1.0 if self.goal.more_is_better else 1.0


def read(goal: str, limits: Sequence[str], traffic: Iterable[str], jobs: Iterable[str]) -> Aim:
    """A goal and limits, for a scenario with this traffic and these jobs.

    Raises:
        SweepError: one of them cannot be read.
    """
    traffic, jobs = list(traffic), list(jobs)
    if _LIMIT.fullmatch(goal):
        raise SweepError(f"the goal {goal!r} is a limit\nhint: give limits with --subject-to")
    wanted = named.read(goal, traffic, jobs)
    return Aim(wanted, tuple(_limit(each, traffic, jobs) for each in limits))


def _limit(text: str, traffic: list[str], jobs: list[str]) -> Limit:
    found = _LIMIT.fullmatch(text.strip())
    if found is None:
        raise SweepError(
            f"--subject-to {text!r}: expected STATISTIC <= VALUE, such as 'longest queue <= 2MB' "
            "or 'drops = 0'"
        )
    statistic = named.read(found["what"], traffic, jobs)
    value = found["value"].strip()
    try:
        [axis] = axes.read({"value": value})
        quantity = axes.quantity(axis.values[0]) if len(axis.values) == 1 else None
    except SweepError:
        quantity = None
    if quantity is None or quantity[0] not in (statistic.suffix, "" if quantity[1] == 0 else None):
        kind, example = _KINDS[statistic.suffix], _EXAMPLES[statistic.suffix]
        raise SweepError(
            f"--subject-to {text!r}: {statistic.kind} is {kind}, such as {example}; found {value!r}"
        )
    sign = "=" if found["sign"] == "==" else found["sign"]
    number = float(quantity[1])
    return Limit(statistic, sign, number, f"{statistic.text} {sign} {value}")
