"""How checks of shares are judged: by the interval and the test of :mod:`statistics.counting`.

A share of runs is known only as well as the number of runs allows. It is *reproduced* if its
interval lies inside what is expected, *not reproduced* if it lies outside, and otherwise *not
judged*, with the number of runs that would do. So either verdict is wrong in at most 5 % of cases.
The paper's share is a count of runs, too: where its number of runs is known (``of``), what is
expected reaches as far as the interval of that count.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from unpause.claims.judges import Check, Numbers, Verdict, in_order, order_of_numbers
from unpause.claims.wording import listed, named, number
from unpause.statistics.counting import Count, as_often, fisher, runs_until


@dataclass(frozen=True)
class _Expected:
    """Where a share may lie: between two ends, which count as inside."""

    low: float
    high: float

    def holds(self, count: Count) -> bool | None:
        """Whether the share lies inside; None if the runs are too few to say."""
        low, high = count.interval
        if self.low <= low and high <= self.high:
            return True
        return False if high < self.low or low > self.high else None

    def runs_needed(self, count: Count, paper: float) -> int | None:
        """How many runs decide, if the share remains as it is, or is as the paper has it."""

        def decides(share: float, runs: int) -> bool:
            return self.holds(as_often(share, runs)) is not None

        shares = (count.share, paper)
        needed = [runs_until(partial(decides, share), count.runs) for share in shares]
        known = [n for n in needed if n is not None]
        # The paper's share may be the edge itself: then no number of runs decides.
        return max(known) if known else None


def judge(check: Check, values: Mapping[str, Numbers]) -> tuple[Verdict, str]:
    """The verdict on shares of runs, and why."""
    if check.judge in ("above_scheme", "below_scheme"):
        return _judge_order(check, values)
    counts = {s: _count(v) for s, v in values.items()}
    limits = {s: check.limit_of(s) for s in values}
    expected = {s: _expected(check, limits[s]) for s in values}
    inside = {s: expected[s].holds(counts[s]) for s in values}
    texts = {s: f"{_text(s, counts[s])} {_against(check, limits[s])}" for s in values}
    if all(inside.values()):
        return Verdict.REPRODUCED, f"{listed(texts.values())}: as claimed."
    unsure = [s for s in values if inside[s] is None]
    undecided = ""
    if unsure:
        needed = [expected[s].runs_needed(counts[s], limits[s]) for s in unsure]
        runs = min(counts[s].runs for s in unsure)
        undecided = f"{listed(texts[s] for s in unsure)}: {_needs(needed, runs)}."
    outside = [s for s in values if inside[s] is False]
    if not outside:
        return Verdict.NOT_JUDGED, undecided
    sentence = f"{listed(texts[s] for s in outside)}: more than chance explains."
    verdict = Verdict.NOT_REPRODUCED
    if check.judge == "expect":
        verdict, sentence = order_of_numbers(check, limits, values, sentence)
    return verdict, f"{sentence} {undecided}".rstrip()


def _count(numbers: Numbers) -> Count:
    assert numbers.count is not None, "only shares come here"
    return numbers.count


def _expected(check: Check, limit: float) -> _Expected:
    """Where the share may lie: within the tolerance, and within the interval of the paper's."""
    allowed = (check.tolerance if check.judge == "expect" else check.slack) * limit
    low, high = limit - allowed, limit + allowed
    if check.of:
        ends = as_often(limit, check.of).interval
        low, high = min(low, ends[0]), max(high, ends[1])
    if check.judge == "at_least":
        return _Expected(low, 1.0)
    if check.judge == "at_most":
        return _Expected(0.0, high)
    return _Expected(max(0.0, low), min(1.0, high))


def _judge_order(check: Check, values: Mapping[str, Numbers]) -> tuple[Verdict, str]:
    other = values[check.limit]
    above = check.judge == "above_scheme"
    found = []
    for scheme in check.schemes:
        low, high = (other, values[scheme]) if above else (values[scheme], other)
        found.append(_verdict_of_order(low, high, check.margin))
    verdict = max((verdict for verdict, _ in found), key=lambda v: v.rank)
    shares = [f"{named(s)} {_count(values[s])}" for s in check.schemes]
    word = "more" if above else "less"
    text = f"{listed(shares)} runs against {_count(other)} of {check.limit}"
    if verdict is Verdict.REPRODUCED:
        return verdict, f"{text}: {word}, as claimed."
    reasons = listed(dict.fromkeys(why for each, why in found if each is verdict))
    return verdict, f"{text}: {reasons}."


def _verdict_of_order(low: Numbers, high: Numbers, margin: float) -> tuple[Verdict, str]:
    if not in_order(low, high, margin):
        return Verdict.REPRODUCED, ""
    if not in_order(high, low, 0.0):
        return Verdict.NOT_REPRODUCED, "the order is not the same"
    few, many = _count(low), _count(high)
    least = min(few.runs, many.runs)
    chance = f"chance does that, too (Fisher's test: p = {fisher(few, many):.2g})"
    if many.share > few.share:

        def decides(runs: int) -> bool:
            both = [Numbers.of_count(as_often(count.share, runs)) for count in (few, many)]
            return not in_order(*both, 0.0)

        return Verdict.NOT_JUDGED, f"{chance}: {_needs([runs_until(decides, least)], least)}"
    return Verdict.NOT_JUDGED, f"{chance}: {_needs([None], least)}"


def _needs(needed: list[int | None], runs: int) -> str:
    """Such as "not judged: needs about 1,000 runs"."""
    known = [n for n in needed if n is not None]
    if not known:
        return "not judged: no number of runs decides between shares as near as these"
    return f"not judged: needs about {about(max(known), runs):,} runs"


def about(needed: int, more_than: int = 0) -> int:
    """A number of runs to one digit, or to more where that would not be more than there are."""
    for digits in range(1, 8):
        step = 10 ** max(0, math.floor(math.log10(needed)) + 1 - digits)
        rounded = round(needed / step) * step
        if rounded > more_than:
            return rounded
    return needed


def _text(scheme: str, count: Count) -> str:
    low, high = (number(100 * end) for end in count.interval)
    return f"{named(scheme)} {count} runs (95 % interval {low} to {high} %)"


def _against(check: Check, limit: float) -> str:
    percent = f"{number(100 * limit)} %"
    of = f" of {check.of:,} runs" if check.of else ""
    word = {"at_least": "at least ", "at_most": "at most "}.get(check.judge, "")
    return f"against {word}{percent}{of}"
