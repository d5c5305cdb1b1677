"""Means over seeds, how sure they are, and whether two of them differ.

Runs with different seeds are independent samples of what a scheme does to such a workload.
Intervals are Student's, for 95 %. Two schemes that ran with the same seeds are compared seed by
seed (paired t-test), others by Welch's t-test, both two-sided at 5 %: R. Jain, The Art of Computer
Systems Performance Analysis (1991), section 13.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unpause import text
from unpause.statistics import student

#: A range says more than a mean whose interval reaches further than this part of it.
_WIDE = 0.5
#: Seeds fall into two groups if the gap between these is that many times all other gaps together,
#: and the seeds differ by at least this part of their mean.
_GAP = 3
_APART = 0.25
#: Probability that an interval holds the mean; a difference is noise if its p is above the rest.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean and the ends of its interval; of a single value they are NaN."""

    mean: float
    low: float
    high: float
    count: int

    @property
    def half(self) -> float:
        """Half of the interval's width, NaN for a single value."""
        return (self.high - self.low) / 2


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean of `values`, one for each seed, with Student's interval."""
    found = np.asarray(values, dtype=float)
    mean = float(found.mean()) if len(found) else math.nan
    if len(found) < 2:
        return Interval(mean, math.nan, math.nan, len(found))
    half = _quantile(len(found) - 1) * float(found.std(ddof=1)) / math.sqrt(len(found))
    return Interval(mean, mean - half, mean + half, len(found))


def is_range(values: Sequence[float]) -> bool:
    """Whether the least and the most of `values`, one for each seed, say more than their mean.

    That is so of two seeds, where the interval is wider than half of the mean, and where the seeds
    fall into two groups: what a scheme does to such a workload is then not near the mean.
    """
    found = sorted(values)
    if len(found) < 2:
        return False
    interval, spread = mean_interval(found), found[-1] - found[0]
    # A tiny spread is that of rounding.
    if spread <= 1e-9 * abs(interval.mean):
        return False
    if len(found) == 2 or interval.half > _WIDE * abs(interval.mean):
        return True
    gap = max(b - a for a, b in pairwise(found))
    return spread > _APART * abs(interval.mean) and gap > _GAP * (spread - gap)


def written(values: Sequence[float], write: Callable[[float], str]) -> str:
    """The mean of `values` with half of its interval, "3.2 ms ± 4 %", or their range.

    Args:
        values: One for each seed, at least one.
        write: Writes a number for people.
    """
    if is_range(values):
        return text.span(values, write)
    interval = mean_interval(values)
    mean = write(interval.mean)
    if interval.count < 2 or not interval.mean:
        return mean
    share = 100 * interval.half / abs(interval.mean)
    return f"{mean} ± {text.percent(share)}" if share >= 0.05 else mean


def _quantile(degrees: int) -> float:
    """Student's quantile of the interval."""
    return student.quantile(degrees, 0.5 + CONFIDENCE / 2)


@dataclass(frozen=True)
class Difference:
    """How the mean of one sample differs from that of another.

    Attributes:
        percent: By how much of the other, NaN if that is 0.
        p: Probability of as large a difference by chance; NaN if there are too few seeds.
        test: What it comes from, such as "paired t-test, 5 seeds".
        same: Whether the samples are equal, value by value.
    """

    percent: float
    p: float
    test: str
    same: bool

    @property
    def known(self) -> bool:
        """Whether there are seeds enough to say anything."""
        return not math.isnan(self.p)

    @property
    def noise(self) -> bool:
        """Whether chance alone makes such differences, in more than one of 20 cases."""
        return self.known and not self.same and self.p > 1 - CONFIDENCE


def difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Difference:
    """Compare two samples, values by seed."""
    a, b = mean_interval(list(ours.values())), mean_interval(list(theirs.values()))
    percent = 100 * (a.mean / b.mean - 1) if b.mean else (0.0 if a.mean == 0 else math.nan)
    same = dict(ours) == dict(theirs)
    if set(ours) == set(theirs):
        test = f"paired t-test, {len(ours)} seeds"
        apart = np.array([ours[seed] - theirs[seed] for seed in sorted(ours)])
        return Difference(percent, _p_paired(apart), test, same)
    test = f"Welch's t-test, {len(ours)} and {len(theirs)} seeds"
    p = _p_welch(list(ours.values()), list(theirs.values()))
    return Difference(percent, p, test, same)


def _p_paired(apart: np.ndarray) -> float:
    if len(apart) < 2:
        return math.nan
    spread = float(apart.std(ddof=1)) / math.sqrt(len(apart))
    return _p(float(apart.mean()), spread, len(apart) - 1)


def _p_welch(a: Sequence[float], b: Sequence[float]) -> float:
    if len(a) < 2 or len(b) < 2:
        return math.nan
    if np.var(a) == np.var(b) == 0:
        return _p(float(np.mean(a) - np.mean(b)), 0.0, 1)
    of_a, of_b = (float(np.var(values, ddof=1)) / len(values) for values in (a, b))
    degrees = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    return _p(float(np.mean(a) - np.mean(b)), math.sqrt(of_a + of_b), degrees)


def _p(mean: float, spread: float, degrees: float) -> float:
    """The p of a mean difference with a standard error of `spread`; without any, no chance."""
    if spread <= 1e-12 * abs(mean):
        return 1.0 if mean == 0 else 0.0
    return 2 * student.below(degrees, -abs(mean) / spread)
