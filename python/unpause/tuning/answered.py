"""The answer of a search, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unpause.tuning.decision import Change, Verdict, change
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Outcome, Scale
from unpause.tuning.search import Influence, Search
from unpause.tuning.space import Parameter, Setting


@dataclass(frozen=True)
class Neighbour:
    """A setting that differs from the best one in one parameter.

    Attributes:
        key: Of the parameter.
        value: Its value there; None for that of the file.
        change: How the goal differs from the best setting's.
        refused: Why the scenario refuses it, or which limit it misses.
    """

    key: str
    value: Any
    change: Change
    refused: str


@dataclass(frozen=True)
class Answered:
    """The answer of a search.

    Attributes:
        title: The scenario's title, or the name of its file.
        scheme: The scheme that was tuned.
        aim: Goal and limits.
        parameters: What was varied.
        now: The value of each parameter in the file, or its default as text.
        defaults: The keys that the file does not set.
        conditions: The values of `robust` that every setting ran with.
        scale: Of the goal.
        found: What the search tried.
        searched: The file as it is and the literature's, on the seeds of the search, by the heads
            of the answer's table.
        best: The best setting on unseen seeds; None if no setting could be run.
        today: The file as it is, on these seeds.
        literature: The defaults with a source, on these seeds; None if the file has them.
        sources: Of the literature's values.
        verdict: Whether to set the best.
        influences: How much each parameter moves the goal.
        neighbours: Settings a step away from the best.
        reverts: The best setting with one parameter as in the file.
        runs: Number of runs: of the search, and of all.
        kept: How many of them an earlier search has left.
        out: The directory of the answer.
    """

    title: str
    scheme: str
    aim: Aim
    parameters: tuple[Parameter, ...]
    now: Setting
    defaults: frozenset[str]
    conditions: tuple[Setting, ...]
    scale: Scale
    found: Search
    searched: Mapping[str, Outcome]
    best: Outcome | None
    today: Outcome
    literature: Outcome | None
    sources: str
    verdict: Verdict
    influences: tuple[Influence, ...]
    neighbours: tuple[Neighbour, ...]
    reverts: tuple[Neighbour, ...]
    runs: tuple[int, int]
    kept: int
    out: Path | None

    @property
    def recommended(self) -> Setting | None:
        """The setting to set; None if nothing is better than what is set."""
        return self.best.setting if self.best and self.verdict.recommended else None

    def change_of(self, outcome: Outcome) -> Change:
        """How a setting changes the goal of the file as it is."""
        return change(self.aim, self.scale, outcome, self.today)
