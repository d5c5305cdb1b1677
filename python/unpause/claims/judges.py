"""How a check judges the numbers of its schemes: the rule of verdicts, as docs/claims.md has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from unpause.claims.wording import listed, number, quantity
from unpause.metrics import Metric
from unpause.metrics.sweep import Sweep
from unpause.statistics.counting import Count, fisher
from unpause.statistics.intervals import CONFIDENCE

#: Runs with different seeds that a verdict needs where anything is random.
LEAST_SEEDS = 3
#: By how much two numbers must differ to have an order, unless the claims file says otherwise.
MARGIN = 0.05
#: Below and above this a ratio is a factor; between them it states a difference from 1.
_NEAR_1 = (0.5, 2.0)


class Verdict(StrEnum):
    """Verdicts on a claim, from best to worst."""

    REPRODUCED = "reproduced"
    ORDER = "order reproduced"
    NOT_JUDGED = "not judged"
    NOT_EVALUATED = "not evaluated"
    NOT_REPRODUCED = "not reproduced"

    @property
    def rank(self) -> int:
        """0 for the best."""
        return list(Verdict).index(self)


@dataclass(frozen=True)
class Check:
    """One check of a claim, as the file states it.

    Attributes:
        tolerance: Of an expected number, relative.
        slack: Of a bound, relative; 0 unless the bound is the paper's number.
        margin: By how much numbers must differ to have an order, relative.
        of: Of how many runs the paper's share is; 0 if unknown, or if it is none.
    """

    metric: Metric
    args: dict[str, Any]
    judge: str
    limit: Any
    schemes: tuple[str, ...]
    tolerance: float
    label: str = ""
    over: str = ""
    sweep: Sweep | None = None
    among: tuple[dict[str, Any], ...] = ()
    assumed: str = ""
    slack: float = 0.0
    margin: float = MARGIN
    of: int = 0

    def at(self, times: float) -> Check:
        """This check with `times` its limit; or, if that is assumed "to 1", what it lacks to 1."""
        limit = float(self.limit)
        moved = 1 - (1 - limit) * times if self.assumed == "to 1" else limit * times
        return replace(self, limit=moved)

    @property
    def measured_unit(self) -> str:
        """Unit of the numbers that are measured."""
        return self.sweep.unit(self.metric.unit) if self.sweep else self.metric.unit

    @property
    def unit(self) -> str:
        """Unit of the numbers that are judged; times those of scheme `over` if there is one.

        What a scheme has at one value over another, over the same of `over`, is a bare ratio.
        """
        ratio_already = self.sweep is not None and self.sweep.against is not None
        return f"× {self.over}" if self.over and not ratio_already else self.measured_unit

    @property
    def only_order(self) -> bool:
        """Whether the check claims no number, only which of two schemes has more."""
        return self.judge in ("above_scheme", "below_scheme") or (
            self.judge in ("at_least", "at_most") and bool(self.over) and float(self.limit) == 1
        )

    def limit_of(self, scheme: str) -> float:
        """The number that a scheme's is compared with, unless that is another scheme's."""
        return float(self.limit[scheme] if self.judge == "expect" else self.limit)

    def effect(self, scheme: str) -> float:
        """The small difference that it claims of a ratio, relative; 0 if it claims none.

        A bound such as "at most 1.02 times" claims that there is none.
        """
        is_order = self.only_order or self.judge not in ("expect", "at_least", "at_most")
        if is_order or self.metric.scope != "run" or (self.sweep and self.sweep.best):
            return 0.0
        limit = self.limit_of(scheme)
        if self.sweep and self.sweep.pick == "spread":
            return limit if limit < self.margin else 0.0
        is_ratio = self.over or (self.sweep and self.sweep.against is not None)
        claims = self.judge == "expect" or (limit > 1 if self.judge == "at_least" else limit < 1)
        effect = abs(limit - 1)
        return effect if is_ratio and claims and effect < self.margin else 0.0

    @property
    def allowed(self) -> float:
        """How far beyond its bound a number may lie.

        A ratio near 1 states a difference, "12 % slower": the tolerance is of that.
        """
        limit = float(self.limit)
        ratio = self.over or self.measured_unit in ("", "-")
        near = ratio and _NEAR_1[0] < limit < _NEAR_1[1]
        return self.slack * (abs(limit - 1) if near else abs(limit))


@dataclass(frozen=True)
class Numbers:
    """What a check measures of one scheme.

    Attributes:
        by_seed: A number for each seed whose run has what is measured; one under seed 0 if the
            number is of all runs together, or of a model.
        seeds: With how many seeds the scheme ran; 0 for a model.
        interval: 95 % interval of a number that is of all runs together.
        count: Of a share of runs how many of how many.
        lacking: Why the other seeds have no number.
    """

    by_seed: Mapping[int, float]
    seeds: int
    interval: Callable[[], tuple[float, float]] | None = None
    lacking: str = field(default="", compare=False)
    count: Count | None = None

    @classmethod
    def of_count(cls, count: Count) -> Numbers:
        """A share of runs, each with a seed of its own."""
        return cls({0: count.share}, count.runs, lambda: count.interval, count=count)

    @property
    def median(self) -> float:
        """The number that counts."""
        return float(np.median(list(self.by_seed.values())))

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest of the seeds."""
        if self.interval:
            return self.interval()
        return min(self.by_seed.values()), max(self.by_seed.values())


def in_order(low: Numbers, high: Numbers, margin: float) -> str:
    """Why `high` is not larger than `low`; empty if it is, beyond the margin and the seeds."""
    if not high.median > low.median:
        return "the order is not the same"
    if high.median < (1 + margin) * low.median:
        return f"they differ by less than {margin * 100:g} %"
    if low.count and high.count:
        p = fisher(low.count, high.count)
        return "" if p <= 1 - CONFIDENCE else f"chance does that, too (Fisher's test: p = {p:.2g})"
    # Numbers of all runs together, or of different seeds, are not compared seed by seed.
    paired = low.by_seed.keys() == high.by_seed.keys() and not (low.interval or high.interval)
    if paired:
        apart = all(high.by_seed[seed] > value for seed, value in low.by_seed.items())
    else:
        apart = high.ends[0] > low.ends[1]
    return "" if apart else "not every seed has them in that order"


def _medians(values: Mapping[str, Numbers]) -> dict[str, float]:
    return {scheme: found.median for scheme, found in values.items()}


def _judge_expect(check: Check, values: Mapping[str, Numbers]) -> tuple[Verdict, str]:
    unit, medians = check.unit, _medians(values)
    percent = f"{check.tolerance * 100:g} %"
    theirs = {s: float(check.limit[s]) for s in values}
    off = [s for s, v in medians.items() if not abs(v - theirs[s]) <= _tolerated(check, theirs[s])]
    if not off:
        which = "" if len(values) == 1 else "all "
        found = listed(f"{s} {quantity(v, unit)}" for s, v in medians.items())
        return Verdict.REPRODUCED, f"{found}: {which}within {percent} of the value expected."
    found = listed(f"{s} {quantity(medians[s], unit)} {_off(medians[s], theirs[s])}" for s in off)
    sentence = f"{found}, more than {percent} off."
    if check.over:
        return _order_of_ratios(check, {s: theirs[s] for s in off}, values, sentence)
    return order_of_numbers(check, theirs, values, sentence)


def _tolerated(check: Check, limit: float) -> float:
    # Half of the last binary digit: 0.94 is 6 % below 1.
    return check.tolerance * abs(limit) * (1 + 1e-12)


def order_of_numbers(
    check: Check, theirs: Mapping[str, float], values: Mapping[str, Numbers], sentence: str
) -> tuple[Verdict, str]:
    """The order holds if each two that the paper has apart are in its order here."""
    least_first = sorted(theirs, key=theirs.__getitem__)
    pairs = [
        (a, b)
        for a, b in combinations(least_first, 2)
        if theirs[b] > (1 + check.margin) * theirs[a]
    ]
    for a, b in pairs:
        if why := in_order(values[a], values[b], check.margin):
            return Verdict.NOT_REPRODUCED, f"{sentence} Expected {a} < {b}: {why}."
    if not pairs:
        return Verdict.NOT_REPRODUCED, sentence
    signs = [("<" if (a, b) in pairs else "≈", b) for a, b in pairwise(least_first)]
    order = least_first[0] + "".join(f" {sign} {b}" for sign, b in signs)
    return Verdict.ORDER, f"{sentence} The order {order} is the same."


def _order_of_ratios(
    check: Check, limits: Mapping[str, float], values: Mapping[str, Numbers], sentence: str
) -> tuple[Verdict, str]:
    """The order of two schemes holds if their ratio is on the claimed side of 1 for every seed."""
    for scheme, limit in limits.items():
        if limit == 1:
            return Verdict.NOT_REPRODUCED, sentence
        ratios = values[scheme]
        one = Numbers(dict.fromkeys(ratios.by_seed, 1.0), ratios.seeds)
        low, high = (one, ratios) if limit > 1 else (ratios, one)
        if why := in_order(low, high, check.margin):
            sign = ">" if limit > 1 else "<"
            return (
                Verdict.NOT_REPRODUCED,
                f"{sentence} Expected {scheme} {sign} {check.over}: {why}.",
            )
    pairs = listed(f"{s} {'>' if limit > 1 else '<'} {check.over}" for s, limit in limits.items())
    return Verdict.ORDER, f"{sentence} The order {pairs} is the same."


def _off(value: float, expected: float) -> str:
    if math.isinf(value) or 0 in (value, expected):
        return f"instead of {number(expected)}"
    ratio = value / expected
    if 0.5 <= ratio <= 2:
        side = "above" if ratio > 1 else "below"
        percent = abs(ratio - 1) * 100
        if percent < 1:
            return f"is {percent:.2g} % {side} {expected:.4g}"
        return f"is {percent:.0f} % {side} {number(expected)}"
    return f"is {number(ratio)} times {number(expected)}"


def _judge_bound(check: Check, values: Mapping[str, Numbers]) -> tuple[Verdict, str]:
    limit, unit, medians = float(check.limit), check.unit, _medians(values)
    least = check.judge == "at_least"
    sign = -1 if least else 1
    edge = limit + sign * check.allowed
    holds = {s: v >= edge if least else v <= edge for s, v in medians.items()}
    bound = f"{'at least' if least else 'at most'} {quantity(limit, unit)}"
    if all(holds.values()):
        found = listed(f"{s} {quantity(v, unit)}" for s, v in medians.items())
        beyond = any(v < limit if least else v > limit for v in medians.values())
        how = f", with {check.slack * 100:g} % tolerance" if beyond else ", as claimed"
        return Verdict.REPRODUCED, f"{found}: {bound}{how}."
    found = listed(f"{s} {quantity(medians[s], unit)}" for s, ok in holds.items() if not ok)
    sentence = f"{found}, where {bound} is claimed."
    # "At most 1.1 times" does not say which of the two has more.
    if check.over and (limit > 1 if least else limit < 1):
        broken = {s: limit for s, ok in holds.items() if not ok}
        return _order_of_ratios(check, broken, values, sentence)
    return Verdict.NOT_REPRODUCED, sentence


def _judge_against(check: Check, values: Mapping[str, Numbers]) -> tuple[Verdict, str]:
    other, unit = values[check.limit], check.unit
    above = check.judge == "above_scheme"
    word = "more" if above else "less"
    reference = f"{check.limit} {quantity(other.median, unit)}"
    why = {
        s: in_order(other, values[s], check.margin)
        if above
        else in_order(values[s], other, check.margin)
        for s in check.schemes
    }
    which = [s for s in check.schemes if why[s] or not any(why.values())]
    found = listed(f"{s} {quantity(values[s].median, unit)}" for s in which)
    if not any(why.values()):
        return Verdict.REPRODUCED, f"{found}: {word} than {reference}, as claimed."
    reasons = listed(dict.fromkeys(why[s] for s in which))
    return Verdict.NOT_REPRODUCED, f"{found}: not {word} than {reference}: {reasons}."


JUDGEMENTS = {
    "expect": _judge_expect,
    "at_least": _judge_bound,
    "at_most": _judge_bound,
    "above_scheme": _judge_against,
    "below_scheme": _judge_against,
}
