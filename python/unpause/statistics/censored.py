"""Samples in which some observations are lower bounds: right-censored samples.

A flow that has not finished when the run ends has an FCT of at least the time since its start. To
leave it out makes a slow scheme look fast: the flows that did not finish are the slow ones. So it
counts with its bound. A percentile lies between that of the sample with the bounds and that of the
sample with infinity in their place; where the two are equal, it is known, else the first is a lower
bound: D. Collett, Modelling Survival Data in Medical Research, chapter 1 (right censoring).

:func:`tail` is the rule for small samples: a percentile needs :data:`BEYOND` observations beyond
it, or a few flows decide its value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unpause.statistics.percentiles import percentile

#: With this many observations beyond a percentile, a single one does not decide its value.
BEYOND = 10
#: The percentiles that stand for a tail, the most telling first.
TAILS = (99, 95, 90)
#: The largest value, as a percentile.
LARGEST = 100


@dataclass(frozen=True)
class Estimate:
    """A statistic of a sample.

    Attributes:
        at_least: It, or a lower bound of it.
        is_exact: Whether it is the statistic itself.
    """

    at_least: float
    is_exact: bool

    @property
    def value(self) -> float | None:
        """The statistic, None where only a bound is known."""
        return self.at_least if self.is_exact else None


@dataclass(frozen=True, eq=False)
class Sample:
    """Observations of one quantity.

    Attributes:
        known: The values of those that were observed to their end.
        bounds: Lower bounds of the others.
    """

    known: np.ndarray
    bounds: np.ndarray

    def __len__(self) -> int:
        return len(self.known) + len(self.bounds)

    @property
    def share_known(self) -> float:
        """The share observed to the end, 1 of an empty sample."""
        return len(self.known) / len(self) if len(self) else 1.0

    @cached_property
    def _lowest(self) -> np.ndarray:
        return np.sort(np.concatenate([self.known, self.bounds]))

    @cached_property
    def _highest(self) -> np.ndarray:
        return np.sort(np.concatenate([self.known, np.full(len(self.bounds), np.inf)]))

    def percentile(self, percent: float) -> Estimate | None:
        """A percentile, 100 for the largest; None of an empty sample."""
        if not len(self):
            return None
        low = percentile(self._lowest, percent)
        is_exact = not len(self.bounds) or low == percentile(self._highest, percent)
        return Estimate(low, is_exact)

    def mean(self) -> Estimate | None:
        """The mean, None of an empty sample."""
        if not len(self):
            return None
        return Estimate(float(self._lowest.mean()), not len(self.bounds))

    def distribution(self) -> tuple[np.ndarray, np.ndarray]:
        """The known values in order, and which share of the sample is known to be up to each."""
        return np.sort(self.known), np.arange(1, len(self.known) + 1) / max(len(self), 1)


def joined(samples: list[Sample]) -> Sample:
    """The observations of several samples."""
    none = np.empty(0)
    return Sample(
        np.concatenate([none, *(each.known for each in samples)]),
        np.concatenate([none, *(each.bounds for each in samples)]),
    )


def needed(percent: float) -> int:
    """How many observations a percentile below 100 needs: 1000 for p99, 20 for the median."""
    return math.ceil(100 * BEYOND / (100 - percent))


def tail(count: int) -> int:
    """The highest percentile that `count` observations allow; :data:`LARGEST` if there are few."""
    return next((percent for percent in TAILS if count >= needed(percent)), LARGEST)


def common_tail(samples: Iterable[Sample]) -> int:
    """The highest percentile that each of `samples` allows, but for empty ones."""
    return tail(min((len(each) for each in samples if len(each)), default=0))


def name(percent: int) -> str:
    """What a percentile of :func:`tail` is called: "p99", "max"."""
    return "max" if percent == LARGEST else f"p{percent}"
