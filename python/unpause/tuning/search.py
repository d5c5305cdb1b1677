"""The search: Morris's screening first, then Optuna's TPE on what was found.

The tree-structured Parzen estimator is that of J. Bergstra et al., Algorithms for Hyper-Parameter
Optimization (NIPS 2011), as Optuna has it: multivariate, with limits as constraints. Settings come
in rounds of fixed size, so that what is tried depends on the seed alone, not on how many run at a
time. The screening is that of M. D. Morris, Factorial Sampling Plans for Preliminary Computational
Experiments (Technometrics 33, 1991).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from unpause.errors import SweepError
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Outcome, Scale
from unpause.tuning.space import Choices, Parameter, Setting, key_of

#: Settings of a round. More would be chosen knowing less, fewer would leave cores idle.
ROUND = 6
#: Morris: levels of each parameter, and the step between two points of a path.
_LEVELS = 4
_STEP = 2 / 3
_MOST_PATHS = 4
#: The screening gets this part of the settings.
_PART = 1 / 3
#: As many rounds without any new setting end the search: there are no more.
_IDLE = 8

Evaluate = Callable[[Sequence[Setting]], list[Outcome]]


@dataclass
class Search:
    """What a search has tried.

    Attributes:
        outcomes: Of each setting, in the order of the search.
        paths: Morris's paths: each a list of points, from 0 to 1 in each parameter.
        positions: Where each outcome is, from 0 to 1 in each parameter.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    paths: list[list[tuple[float, ...]]] = field(default_factory=list)
    positions: list[tuple[float, ...]] = field(default_factory=list)


def optuna() -> Any:
    """The library.

    Raises:
        SweepError: it is not installed.
    """
    try:
        import optuna as library
    except ImportError as error:
        raise SweepError(
            "tuning needs the package optuna\nhint: pip install 'unpause[tune]'"
        ) from error
    library.logging.set_verbosity(library.logging.ERROR)
    return library


def search(
    parameters: Sequence[Parameter],
    aim: Aim,
    scale: Scale,
    evaluate: Evaluate,
    *,
    starts: Sequence[Setting],
    settings: int,
    seed: int,
) -> Search:
    """Tries settings.

    Args:
        parameters: What is varied.
        aim: What is wanted.
        scale: Of the goal.
        evaluate: Runs settings; answers an outcome for each.
        starts: The settings that the search begins with; those outside of the ranges are left out.
        settings: How many may be tried.
        seed: Of the search.
    """
    return _Searching(parameters, aim, scale, evaluate, settings, seed).done(starts)


class _Searching:
    def __init__(
        self,
        parameters: Sequence[Parameter],
        aim: Aim,
        scale: Scale,
        evaluate: Evaluate,
        settings: int,
        seed: int,
    ) -> None:
        self._parameters = parameters
        self._aim = aim
        self._scale = scale
        self._evaluate = evaluate
        self._left = settings
        self._settings = settings
        self._seed = seed
        self._known: dict[Any, Outcome] = {}
        self._found = Search()
        library = optuna()
        self._complete = library.trial.TrialState.COMPLETE
        startup = min(10, max(2, settings // 4))
        sampler = library.samplers.TPESampler(seed=seed, n_startup_trials=startup)
        self._study = library.create_study(sampler=sampler)

    def done(self, starts: Sequence[Setting]) -> Search:
        inside = (self._position(each) for each in starts)
        points = [each for each in inside if each is not None]
        self._found.paths = paths = self._morris()
        points += [point for path in paths for point in path]
        for point in dict.fromkeys(points):
            self._study.enqueue_trial(self._numbers(point))
        idle, enqueued = 0, len(dict.fromkeys(points))
        while self._left > 0 and idle < _IDLE:
            # A screening is known in advance; nothing is learned between its rounds.
            size = min(max(ROUND, enqueued), self._left)
            before, enqueued = self._left, max(0, enqueued - size)
            self._round(size)
            idle = idle + 1 if self._left == before else 0
        return self._found

    def _morris(self) -> list[list[tuple[float, ...]]]:
        """Paths through the space, each changing one parameter after the other."""
        count = len(self._parameters)
        paths = min(_MOST_PATHS, int(self._settings * _PART) // (count + 1))
        random = np.random.default_rng(self._seed)
        found = []
        for _ in range(paths):
            low = random.integers(0, _LEVELS // 2, count) / (_LEVELS - 1)
            up = random.random(count) < 0.5
            point = np.where(up, low, low + _STEP)
            path = [tuple(map(float, point))]
            for at in random.permutation(count):
                point = point.copy()
                point[at] += _STEP if up[at] else -_STEP
                path.append(tuple(map(float, np.clip(point, 0, 1))))
            found.append(path)
        return found

    def _position(self, setting: Setting) -> tuple[float, ...] | None:
        found = [each.position(setting[each.key]) for each in self._parameters]
        known = tuple(each for each in found if each is not None)
        return known if len(known) == len(found) else None

    def _numbers(self, point: tuple[float, ...]) -> dict[str, Any]:
        pairs = zip(self._parameters, point, strict=True)
        return {
            each.key: each.values.index(each.at(at)) if isinstance(each, Choices) else at
            for each, at in pairs
        }

    def _suggested(self, trial: Any) -> tuple[float, ...]:
        point = []
        for each in self._parameters:
            if isinstance(each, Choices):
                choices = range(len(each.values))
                number = trial.suggest_categorical(each.key, choices)
                point.append((number + 0.5) / len(choices))
            else:
                point.append(trial.suggest_float(each.key, 0.0, 1.0))
        return tuple(point)

    def _round(self, size: int) -> None:
        trials = [self._study.ask() for _ in range(size)]
        points = [self._suggested(trial) for trial in trials]
        settings = [
            {each.key: each.at(at) for each, at in zip(self._parameters, point, strict=True)}
            for point in points
        ]
        new: dict[Any, Setting] = {}
        for setting in settings:
            if key_of(setting) not in self._known:
                new.setdefault(key_of(setting), setting)
        for outcome in self._evaluate(list(new.values())):
            self._known[key_of(outcome.setting)] = outcome
        self._left -= len(new)
        for trial, point, setting in zip(trials, points, settings, strict=True):
            outcome = self._known[key_of(setting)]
            if new.pop(key_of(setting), None) is not None:
                self._found.outcomes.append(outcome)
                self._found.positions.append(point)
            self._tell(trial, outcome)

    def _tell(self, trial: Any, outcome: Outcome) -> None:
        loss = self._scale.loss(self._aim, outcome)
        trial.set_constraint("limits", outcome.violation(self._aim))
        # Optuna refuses infinity; a setting without a goal is told apart by its violation.
        self._study.tell(trial, loss if math.isfinite(loss) else 1e300, self._complete)


@dataclass(frozen=True)
class Influence:
    """How much a parameter moves the goal: Morris's mean of absolute elementary effects.

    Attributes:
        key: Of the parameter.
        effect: Mean change of the goal over two thirds of the range, in its own units.
        paths: How many changes that is the mean of; with none nothing is known.
    """

    key: str
    effect: float
    paths: int


def influences(
    parameters: Sequence[Parameter], aim: Aim, scale: Scale, found: Search
) -> list[Influence]:
    """The influence of each parameter, from the paths of the search."""
    at = {
        key_of(outcome.setting): scale.loss(aim, outcome)
        for outcome in found.outcomes
        if outcome.runs
    }
    effects: dict[str, list[float]] = {each.key: [] for each in parameters}
    for path in found.paths:
        for one, other in pairwise(path):
            changed = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
            losses = [at.get(key_of(_setting(parameters, point))) for point in (one, other)]
            if len(changed) == 1 and None not in losses:
                before, after = (each for each in losses if each is not None)
                effects[parameters[changed[0]].key].append(abs(after - before))
    return [
        Influence(key, float(np.mean(each)) if each else math.nan, len(each))
        for key, each in effects.items()
    ]


def _setting(parameters: Sequence[Parameter], point: Sequence[float]) -> Setting:
    return {each.key: each.at(at) for each, at in zip(parameters, point, strict=True)}
