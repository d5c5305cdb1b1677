"""Whether a setting is better than the one of the file, on seeds that the search has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from unpause.statistics.intervals import CONFIDENCE, difference, mean_interval
from unpause.text import listed, plural
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Outcome, Scale, ranked
from unpause.tuning.space import Setting, key_of

#: A difference counts if chance alone makes such a one in at most one of 100 cases, …
MOST_P = 0.01
#: … and if it is at least this part: less is not worth a change.
LEAST_CHANGE = 0.01
#: This many settings of the search are run with more seeds before one of them is confirmed.
SHORTLIST = 4
#: Seeds of the shortlist.
SHORTLIST_SEEDS = 3
#: So often at most further settings are run for it, where limits are missed with more seeds.
_ROUNDS = 4
#: At most this many settings are run with the seeds of the comparison.
_MOST_CONFIRMED = 4


@dataclass(frozen=True)
class Change:
    """By how much a setting changes the goal of another one, seed by seed.

    Attributes:
        mean: The mean change as a part of the other's goal, below 0 where it is smaller; NaN where
            the other's is 0.
        low: Lower end of its 95 % interval, NaN of a single seed.
        high: Upper end.
        p: Probability of as large a difference by chance; NaN of a single seed.
        seeds: How many seeds it is of.
    """

    mean: float
    low: float
    high: float
    p: float
    seeds: int


def change(aim: Aim, scale: Scale, ours: Outcome, theirs: Outcome) -> Change:
    """Compares two settings over the seeds that both ran with."""
    of_ours, of_theirs = (scale.losses(aim, each) for each in (ours, theirs))
    seeds = sorted(of_ours.keys() & of_theirs.keys())
    ours_by, theirs_by = ({seed: of[seed] for seed in seeds} for of in (of_ours, of_theirs))
    if not seeds:
        return Change(math.nan, math.nan, math.nan, math.nan, 0)
    base = mean_interval(list(theirs_by.values())).mean
    apart = mean_interval([ours_by[seed] - theirs_by[seed] for seed in seeds])
    p = difference(ours_by, theirs_by).p
    if not base:
        nothing = 0.0 if apart.mean == 0 else math.nan
        return Change(nothing, nothing, nothing, p, len(seeds))
    # Of a goal of which more is better, losses are below 0.
    parts = [aim.sign * each / abs(base) for each in (apart.mean, apart.low, apart.high)]
    low, high = sorted(parts[1:]) if not math.isnan(parts[1]) else (math.nan, math.nan)
    return Change(parts[0], low, high, p, len(seeds))


@dataclass(frozen=True)
class Verdict:
    """The decision on a setting.

    Attributes:
        recommended: Whether to set it.
        why: The reason, as a sentence without a full stop.
        change: How it changes the goal of today's.
    """

    recommended: bool
    why: str
    change: Change


def decide(
    aim: Aim, scale: Scale, best: Outcome, today: Outcome, conditions: Sequence[str] = ()
) -> Verdict:
    """Decides between a setting and today's, both run with the same unseen seeds.

    Args:
        aim: What is wanted.
        scale: Of the goal.
        best: The setting.
        today: The file as it is.
        conditions: What each condition is called.
    """
    found = change(aim, scale, best, today)
    if best.refused:
        return Verdict(False, f"the scenario refuses it: {best.refused}", found)
    if misses := _misses(aim, best):
        return Verdict(False, f"it misses {misses}", found)
    if count := best.bounds():
        return Verdict(
            False,
            f"{aim.goal.text} is only a lower bound in {count} of {plural(len(best.runs), 'run')} "
            "with it, because flows did not finish",
            found,
        )
    if misses := _misses(aim, today):
        return Verdict(True, f"it meets all limits, and today's setting misses {misses}", found)
    if (worse := _worse_somewhere(aim, best, today)) is not None:
        names = dict(enumerate(conditions))
        name = names.get(worse, f"condition {worse + 1}")
        return Verdict(False, f"it is worse with {name}", found)
    better = _better_by(aim, scale, best, today)
    if math.isnan(found.p):
        return Verdict(False, "a single seed says nothing about noise", found)
    if better <= 0 and found.p <= 1 - CONFIDENCE:
        return Verdict(False, f"it is worse on {plural(found.seeds, 'unseen seed')}", found)
    if better <= 0 or found.p > MOST_P:
        return Verdict(False, "there is no difference beyond noise", found)
    if better < LEAST_CHANGE:
        return Verdict(False, "the difference is below 1 %", found)
    unseen = plural(found.seeds, "seed")
    return Verdict(True, f"it is better on {unseen} that the search has not seen", found)


def _better_by(aim: Aim, scale: Scale, best: Outcome, today: Outcome) -> float:
    """By which part of today's loss the best one's is smaller; 1 where today's is 0."""
    ours, theirs = scale.loss(aim, best), scale.loss(aim, today)
    return (theirs - ours) / (abs(theirs) or 1.0)


def _misses(aim: Aim, outcome: Outcome) -> str:
    runs = len(outcome.runs)
    pairs = zip(aim.limits, outcome.missed(aim), strict=True)
    return listed([f"{limit.text!r} in {count} of {runs} runs" for limit, count in pairs if count])


def _worse_somewhere(aim: Aim, best: Outcome, today: Outcome) -> int | None:
    """The first condition of several under which `best` is worse beyond noise."""
    if len(best.conditions) < 2:
        return None
    one = Scale({})
    for condition in best.conditions:
        ours, theirs = (_with(each, condition) for each in (best, today))
        found = change(aim, one, ours, theirs)
        if found.p <= 1 - CONFIDENCE and _better_by(aim, one, ours, theirs) < -LEAST_CHANGE:
            return condition
    return None


def _with(outcome: Outcome, condition: int) -> Outcome:
    runs = {key: run for key, run in outcome.runs.items() if key[0] == condition}
    return Outcome(outcome.setting, runs, outcome.refused)


#: Runs settings with these seeds.
Run = Callable[[Sequence[Setting], Sequence[int]], list[Outcome]]


class Shortlist:
    """The best settings of a search after more seeds for each.

    A setting that misses a limit with more seeds shows how much a limit's statistic varies with
    seeds, and so which margin is needed on those of the search. Others are passed over.
    """

    def __init__(
        self, aim: Aim, scale: Scale, outcomes: Sequence[Outcome], run: Run, seeds: Sequence[int]
    ) -> None:
        self._aim = aim
        self._scale = scale
        self._run = run
        self._seeds = seeds
        self._pool = ranked(aim, scale, [each for each in outcomes if each.runs])
        self._searched = {key_of(each.setting): each for each in self._pool}
        self._ready: list[Outcome] = []
        self._missed: list[Outcome] = []
        self._rounds = 0

    def __iter__(self) -> Iterator[Outcome]:
        while True:
            while not self._ready and self._pool and self._rounds < _ROUNDS:
                self._more()
            if not self._ready:
                break
            yield self._ready.pop(0)
        yield from ranked(self._aim, self._scale, self._missed)[:1]

    def misses(self, *outcomes: Outcome) -> None:
        """Takes in that settings miss limits with further seeds, and by how much.

        The least of what they need counts: more than that may pass over the best setting.
        """
        for at in range(len(self._aim.limits)):
            needed = min(
                self._searched_margin(each, at) - self._margin(each, at)
                if each.missed(self._aim)[at]
                else -math.inf
                for each in outcomes
            )
            if needed > -math.inf:
                self._pool = self._with_margin(self._pool, at, needed)
                self._ready = [
                    each for each in self._ready if self._searched_margin(each, at) >= needed
                ]

    def _with_margin(self, pool: list[Outcome], at: int, needed: float) -> list[Outcome]:
        """The settings with the margin that is needed; if none has it, those that have most."""
        enough = [each for each in pool if self._searched_margin(each, at) >= needed]
        if enough:
            return enough
        most = sorted(pool, key=lambda each: -self._searched_margin(each, at))[:SHORTLIST]
        return ranked(self._aim, self._scale, most)

    def _searched_margin(self, outcome: Outcome, at: int) -> float:
        return self._margin(self._searched[key_of(outcome.setting)], at)

    def _margin(self, outcome: Outcome, at: int) -> float:
        """How far from a limit the worst run is."""
        limit = self._aim.limits[at]
        return min((limit.margin(run.limits[at]) for run in outcome.runs.values()), default=0.0)

    def _more(self) -> None:
        self._rounds += 1
        first, self._pool = self._pool[:SHORTLIST], self._pool[SHORTLIST:]
        more = self._run([each.setting for each in first], self._seeds)
        both = [a.joined(b) for a, b in zip(first, more, strict=True)]
        found = ranked(self._aim, self._scale, both)
        self._ready = [each for each in found if each.violation(self._aim) == 0]
        missed = [each for each in found if each.violation(self._aim) > 0]
        self._missed += missed
        if missed and not self._ready:
            self.misses(*missed)


@dataclass(frozen=True)
class Confirmed:
    """The comparison on unseen seeds.

    Attributes:
        best: The setting that was compared; None if no setting of the search could be run.
        today: The file as it is.
        others: Further settings that were compared, the literature's.
        verdict: The decision.
    """

    best: Outcome | None
    today: Outcome
    others: list[Outcome]
    verdict: Verdict


def confirm(
    aim: Aim,
    scale: Scale,
    candidates: Shortlist,
    others: Sequence[Setting],
    run: Run,
    seeds: Sequence[int],
    conditions: Sequence[str] = (),
) -> Confirmed:
    """Runs the best candidate, the file as it is and `others` on unseen seeds, and decides.

    A candidate that misses a limit there gives way to the next one, and one that is not better to
    the best of `others`.
    """
    today, *rest = run([{}, *others], seeds)
    best: Outcome | None = None
    verdict = Verdict(False, "no setting of the search can be run", _no_change())
    for number, candidate in enumerate(candidates, 1):
        [outcome] = run([candidate.setting], seeds)
        meets = outcome.violation(aim) == 0
        if best is None or meets:
            best, verdict = outcome, decide(aim, scale, outcome, today, conditions)
        if meets or number == _MOST_CONFIRMED:
            break
        candidates.misses(outcome)
    if not verdict.recommended:
        for other in ranked(aim, scale, rest):
            decision = decide(aim, scale, other, today, conditions)
            if decision.recommended:
                return Confirmed(other, today, rest, decision)
    return Confirmed(best, today, rest, verdict)


def _no_change() -> Change:
    return Change(math.nan, math.nan, math.nan, math.nan, 0)
