"""An experiment of a paper, and one that has been run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unpause.claims import verdicts
from unpause.claims.claim import Claim


@dataclass(frozen=True)
class Experiment:
    """One scenario of a paper.

    Attributes:
        id: Such as ``F11``. Several of one figure: ``F18``, ``F18-on-off``. One of several figures:
            ``F10-F15-F16``.
        scenario: The scenario file.
        quick: What the quick version has instead, by path of the key in the scenario.
        full: What the full version has instead.
        core_s: Seconds of one core that the full version takes, as measured.
        deterministic: Whether nothing in it is random, which a run with another seed checks.
    """

    id: str
    scenario: Path
    quick: Mapping[str, Any] = field(default_factory=dict)
    full: Mapping[str, Any] = field(default_factory=dict)
    core_s: float = 0.0
    deterministic: bool = False


@dataclass
class Done:
    """An experiment that has been run.

    Attributes:
        experiment: Which.
        title: Its scenario's title.
        source: What it reproduces.
        directory: Name of the result directory.
        pictures: (title, path) of the paper's figures, relative to the page.
        claims: Verdicts.
        instead: What this version had instead of the scenario's values, one sentence each.
        problems: What could not be done.
        runs: Number of runs.
        seeds: Seeds of the runs.
        core_s: Seconds of one core that they took.
    """

    experiment: Experiment
    title: str
    source: str
    directory: str
    pictures: list[tuple[str, str]]
    claims: list[Claim]
    instead: list[str]
    problems: list[str]
    runs: int
    seeds: str
    core_s: float

    @property
    def counts(self) -> str:
        """How many claims had which verdict."""
        return verdicts.counts_text(self.claims)
