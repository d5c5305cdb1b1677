"""Shares of runs: what "4 of 100" says of how often something happens, and of two such shares.

One method judges them wherever they appear, verdicts and figures alike: exact binomial tests. The
interval is that of C. J. Clopper and E. S. Pearson (Biometrika 26, 1934). Whatever the true share
and the number of runs, it lies above the truth in at most 2.5 % of all cases, and below it in at
most 2.5 %. Wilson's interval is shorter, but lies above a rare event's share up to six times as
often (L. D. Brown, T. T. Cai, A. DasGupta, Statistical Science 16, 2001). Two shares are compared
by R. A. Fisher's exact test (The Design of Experiments, 1935), which has the same guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from unpause.statistics import student
from unpause.statistics.intervals import CONFIDENCE

#: More runs than this are not asked for.
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Count:
    """In how many of some runs something happened."""

    of_these: int
    runs: int

    @property
    def share(self) -> float:
        """Their share."""
        return self.of_these / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share."""
        return _lowest(self.of_these, self.runs), 1 - _lowest(self.runs - self.of_these, self.runs)

    def __str__(self) -> str:
        return f"{self.of_these:,} of {self.runs:,}"


@lru_cache(10_000)
def _lowest(of_these: int, runs: int) -> float:
    """The lower end of the interval, a quantile of the beta distribution, by bisection."""
    if of_these == 0:
        return 0.0
    low, high = 0.0, of_these / runs
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        below = student.incomplete_beta(of_these, runs - of_these + 1, middle)
        low, high = (middle, high) if below < (1 - CONFIDENCE) / 2 else (low, middle)
    return low


def fisher(one: Count, other: Count) -> float:
    """The two-sided p of Fisher's exact test: of tables that are as unlikely as this, or more."""
    runs, events = one.runs + other.runs, one.of_these + other.of_these

    def log_p(k: int) -> float:
        return (
            _log_choose(one.runs, k)
            + _log_choose(other.runs, events - k)
            - _log_choose(runs, events)
        )

    this = log_p(one.of_these) + 1e-9  # rounding must not leave out its mirror image
    every = map(log_p, range(max(0, events - other.runs), min(events, one.runs) + 1))
    return min(1.0, math.fsum(math.exp(each) for each in every if each <= this))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def runs_until(decided: Callable[[int], bool], more_than: int) -> int | None:
    """The number of runs from which on `decided` is true, found by doubling and halving.

    None if it is not below :data:`MOST_RUNS`.
    """
    low, high = more_than, 2 * more_than
    while not decided(high):
        low, high = high, 2 * high
        if low > MOST_RUNS:
            return None
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


def as_often(share: float, runs: int) -> Count:
    """As many of `runs` as are `share` of them."""
    return Count(round(share * runs), runs)
