"""The numbers that a check judges, one for each seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from unpause.claims.judges import Check, Numbers
from unpause.data.schemes import canonical
from unpause.data.series import Unavailable
from unpause.metrics.sweep import Sweep
from unpause.statistics.counting import as_often

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unpause.data.result import Run

_RESAMPLED = 1000  # times, for an interval of a number of all runs together


class Runs(Protocol):
    """Where runs come from: a result, or some runs of one."""

    @property
    def schemes(self) -> Sequence[str]:
        """Names of the schemes."""
        ...

    def runs_of(self, scheme: str) -> list[Run]:
        """The runs of one scheme."""
        ...


def measure(runs: Runs | None, check: Check, scheme: str) -> Numbers:
    """What `check` judges of `scheme`.

    Raises:
        Unavailable: there is no run, or fewer than half of the seeds have what is measured.
    """
    if check.metric.scope == "model":
        return Numbers({0: float(check.metric.function(**check.args))}, 0)
    if runs is None:
        raise Unavailable(f"{check.metric.name} needs a result.")
    of_scheme = runs.runs_of(scheme_named(runs, scheme))
    seeds = {run.row["seed"] for run in of_scheme}
    if check.metric.scope == "share":
        once = list({_place(run): run for run in of_scheme}.values())
        share = float(check.metric.function(once, **check.args))
        return replace(Numbers.of_count(as_often(share, len(once))), seeds=len(seeds))
    if check.metric.scope == "seeds":
        function = partial(check.metric.function, **check.args)
        interval = partial(_resampled, of_scheme, function) if len(seeds) > 1 else None
        return Numbers({0: float(function(of_scheme))}, len(seeds), interval)
    found, lacking = _of_seeds(runs, check, scheme)
    if not found or 2 * len(found) < len(seeds):
        some = f" {len(found)} of {len(seeds)} runs have it." if found else ""
        raise Unavailable(lacking + some)
    return Numbers(found, len(seeds), lacking=lacking)


def _place(run: Run) -> tuple[Any, ...]:
    """The seed and the swept values of a run: with the same ones it is the same run again."""
    return (run.row["seed"], *(run.row[axis] for axis in run.result.axes))


def _of_seeds(runs: Runs, check: Check, scheme: str) -> tuple[dict[int, float], str]:
    """The number of each seed that has one, and why another has none."""
    if check.among:
        parts = [replace(check, args={**check.args, **a}, among=()) for a in check.among]
        found = [_of_seeds(runs, part, scheme) for part in parts]
        common = set.intersection(*(set(of_part) for of_part, _ in found))
        largest = {seed: max(of_part[seed] for of_part, _ in found) for seed in sorted(common)}
        return largest, next((why for _, why in found if why), "")
    if check.sweep and check.sweep.best:

        def at(sweep: Sweep) -> dict[int, float]:
            return _of_seeds(runs, replace(check, sweep=sweep), scheme)[0]

        of_scheme = runs.runs_of(scheme_named(runs, scheme))
        return dict(check.sweep.measure_best(of_scheme, at)), ""
    values, lacking = _plain(runs, check, scheme)
    if not check.over:
        return values, lacking
    others, of_other = _plain(runs, check, check.over)
    if values and others and not values.keys() & others.keys():
        raise Unavailable(f"{scheme} and {check.over} ran with different seeds.")
    ratios = {}
    for seed in values:
        try:
            if seed in others:
                ratios[seed] = _ratio(check, scheme, values[seed], others[seed])
        except Unavailable as error:
            lacking = lacking or str(error)
    return ratios, lacking or of_other


def _plain(runs: Runs, check: Check, scheme: str) -> tuple[dict[int, float], str]:
    by_seed: dict[int, list[Run]] = {}
    for run in runs.runs_of(scheme_named(runs, scheme)):
        by_seed.setdefault(run.row["seed"], []).append(run)
    metric = partial(check.metric.function, **check.args)
    values: dict[int, float] = {}
    lacking = ""
    for seed, of_seed in by_seed.items():
        if not check.sweep and len(of_seed) > 1:
            raise Unavailable(
                f"The result has {len(of_seed)} runs of {scheme}; {check.metric.name} needs one."
            )
        try:
            values[seed] = (
                check.sweep.measure(of_seed, metric) if check.sweep else float(metric(of_seed[0]))
            )
        except Unavailable as error:
            lacking = lacking or str(error)
    return values, lacking


def spreads(runs: Runs, check: Check, scheme: str) -> list[list[float]]:
    """The numbers behind a ratio of `check`, by seed: of each of those that it is made of."""
    plain = replace(check, over="", among=())
    sweep = check.sweep
    if sweep and sweep.pick == "spread":
        parts = [(scheme, replace(sweep, pick="mean"))]
    elif sweep and sweep.against is not None:
        parts = [(scheme, replace(sweep, at=at, against=None)) for at in (sweep.at, sweep.against)]
    else:
        parts = [(name, sweep) for name in (scheme, check.over) if name]
    every = (_plain(runs, replace(plain, sweep=part), name)[0] for name, part in parts)
    return [list(found.values()) for found in every]


def _ratio(check: Check, scheme: str, value: float, other: float) -> float:
    """A ratio to nothing is no factor; it says an order, and that a bound above is broken."""
    name = check.metric.name
    if math.isinf(other):
        never = "never within the run"
        raise Unavailable(f"{name} of {check.over} is {never}: there is no ratio.")
    if other == 0 and value == 0:
        raise Unavailable(f"{name} of {scheme} and {check.over} is 0: there is no ratio.")
    if other == 0 and not (check.only_order or check.judge == "at_most"):
        raise Unavailable(f"{name} of {check.over} is 0: there is no ratio.")
    return math.copysign(math.inf, value) if other == 0 else value / other


def _resampled(runs: list[Run], function: Callable[[list[Run]], float]) -> tuple[float, float]:
    """95 % interval of a number of all runs, by drawing as many of them again and again."""
    draw = np.random.default_rng(1)
    found = []
    for _ in range(_RESAMPLED):
        chosen = draw.integers(len(runs), size=len(runs))
        found.append(function([runs[i] for i in chosen]))
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)


def scheme_named(runs: Runs, name: str) -> str:
    """The result's scheme that a claim calls `name`: "QCN" may be called "PFC+QCN".

    Raises:
        Unavailable: there is none.
    """
    if name in runs.schemes:
        return name
    for found in runs.schemes:
        if canonical(found) == name:
            return found
    raise Unavailable(f"The result has no scheme {name}.")


def limits(check: Check, measured: Mapping[str, float | None]) -> dict[str, float | None]:
    """By scheme the number that it is compared with."""
    if check.judge == "expect":
        return {s: check.limit_of(s) for s in check.schemes}
    if check.judge in ("above_scheme", "below_scheme"):
        return {s: measured.get(check.limit) for s in check.schemes}
    return {s: float(check.limit) for s in check.schemes}
