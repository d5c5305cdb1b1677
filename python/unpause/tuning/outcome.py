"""What a setting measured: a goal and statistics with limits, of runs with conditions and seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unpause.statistics.censored import Estimate
from unpause.tuning.goal import Aim
from unpause.tuning.space import Setting

#: By which part a setting that the scenario refuses misses its limits.
_REFUSED = 10.0
#: What a goal that is only a lower bound counts as missing, and more with unfinished flows.
_BOUND = 0.01


@dataclass(frozen=True)
class Measured:
    """One run.

    Attributes:
        goal: The goal's statistic; None if there is nothing that it is of.
        limits: The statistics with limits, in their order.
        unfinished: The share of flows that did not finish.
        row: The run's row, for tables and pictures.
    """

    goal: Estimate | None
    limits: tuple[Estimate | None, ...] = ()
    unfinished: float = 0.0
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The runs of a setting.

    Attributes:
        setting: Which; empty for the file as it is.
        runs: By condition (0 without `--robust`) and seed.
        refused: Why the scenario refuses it; empty if it does not.
    """

    setting: Setting
    runs: Mapping[tuple[int, int], Measured]
    refused: str = ""

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return sorted({seed for _, seed in self.runs})

    @property
    def conditions(self) -> list[int]:
        """The conditions, in order."""
        return sorted({condition for condition, _ in self.runs})

    def bounds(self) -> int:
        """How many runs know no more than a bound of the goal."""
        return sum(not (run.goal and run.goal.is_exact) for run in self.runs.values())

    def missed(self, aim: Aim) -> list[int]:
        """How many runs miss each limit."""
        return [
            sum(limit.missed(run.limits[at]) > 0 for run in self.runs.values())
            for at, limit in enumerate(aim.limits)
        ]

    def violation(self, aim: Aim) -> float:
        """How far it is from meeting all limits with a known goal; 0 if it does."""
        if self.refused or not self.runs:
            return _REFUSED
        total = 0.0
        for run in self.runs.values():
            pairs = zip(aim.limits, run.limits, strict=True)
            total += sum(min(limit.missed(found), 5.0) for limit, found in pairs)
            if not (run.goal and run.goal.is_exact):
                total += _BOUND + run.unfinished
        return total / len(self.runs)

    def mean(self, condition: int) -> float:
        """The mean of the goal, or of its bounds, with a condition; NaN without any."""
        found = [
            run.goal.at_least for (of, _), run in self.runs.items() if of == condition and run.goal
        ]
        return sum(found) / len(found) if found else math.nan

    def joined(self, other: Outcome) -> Outcome:
        """The runs of both."""
        return Outcome(self.setting, {**self.runs, **other.runs}, self.refused or other.refused)


@dataclass(frozen=True)
class Scale:
    """What the goal is divided by with each condition, so that no condition outweighs others.

    That is the goal as the file is; with a single condition, or where it is 0, there is none.
    """

    by_condition: Mapping[int, float]

    @classmethod
    def of(cls, today: Outcome) -> Scale:
        """The scale of a search that begins with `today`."""
        means = {each: today.mean(each) for each in today.conditions}
        if len(means) < 2 or not all(mean > 0 for mean in means.values()):
            means = dict.fromkeys(means, 1.0)
        return cls(means)

    def losses(self, aim: Aim, outcome: Outcome) -> dict[int, float]:
        """By seed the mean over conditions of the scaled goal; less is better."""
        found: dict[int, list[float]] = {}
        for (condition, seed), run in outcome.runs.items():
            if run.goal is not None:
                scaled = run.goal.at_least / self.by_condition.get(condition, 1.0)
                found.setdefault(seed, []).append(aim.sign * scaled)
        return {seed: sum(each) / len(each) for seed, each in sorted(found.items())}

    def loss(self, aim: Aim, outcome: Outcome) -> float:
        """The mean over seeds; infinite without a goal."""
        losses = list(self.losses(aim, outcome).values())
        return sum(losses) / len(losses) if losses else math.inf


def ranked(aim: Aim, scale: Scale, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes, the best first: those that meet the limits, then by the goal."""
    return sorted(outcomes, key=lambda each: (each.violation(aim), scale.loss(aim, each)))
