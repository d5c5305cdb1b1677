"""`unpause.tune`: searches, compares on unseen seeds, and looks around the best setting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unpause.errors import SweepError
from unpause.running import Scenario
from unpause.sweeps import axes as axes_module
from unpause.sweeps.axes import Axis
from unpause.sweeps.points import Plan
from unpause.sweeps.sweep import SweepProgress
from unpause.tuning import answer, decision, files, goal, scenario, space
from unpause.tuning.answered import Answered, Neighbour
from unpause.tuning.decision import change
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Outcome, Scale
from unpause.tuning.runs import Runs
from unpause.tuning.search import influences, optuna, search
from unpause.tuning.space import Parameter, Setting

#: Settings that a search tries by default.
SETTINGS = 60
#: Fewer cannot be compared.
LEAST_CONFIRMED = 5
#: Seeds, of those of the comparison, that neighbours run with.
_NEIGHBOUR_SEEDS = 3


class Tuning(Answered):
    """The answer of a search, which a program can print."""

    def __str__(self) -> str:
        return answer.text(self)


@dataclass(frozen=True)
class _Budget:
    settings: int
    seeds: list[int]
    shortlist: list[int]
    confirm: list[int]

    def runs(self, parameters: int) -> int:
        """How many runs there will be with each condition, as far as that is known before."""
        around = 3 * parameters * _NEIGHBOUR_SEEDS
        shortlist = decision.SHORTLIST * len(self.shortlist)
        compared = 3 * len(self.confirm)
        return (self.settings + 1) * len(self.seeds) + shortlist + compared + around


def tune(
    path: Scenario,
    vary: Mapping[str, Any],
    goal: str,
    subject_to: str | Iterable[str] = (),
    *,
    robust: Mapping[str, Any] | None = None,
    scheme: str | None = None,
    runs: int | None = None,
    seeds: int = 1,
    confirm: int = 8,
    search_seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    client: Any = None,
    jobs: int | None = None,
    force: bool = False,
    progress: bool | Callable[[SweepProgress], None] | None = None,
) -> Tuning:
    """Searches for the values of parameters that serve a goal best, within limits.

    Args:
        path: Path of a scenario file; TOML text; or a mapping with the same keys as the file.
        vary: Ranges or choices by the path of their key: ``{"pfc.xoff": "64KB..512KB",
            "scheme.DCQCN.dcqcn.clocks": ["cnp", "separate"]}``.
        goal: The statistic to improve, such as ``"p99 slowdown of web"``; docs/tune.md lists all.
        subject_to: Limits that every run has to meet, such as ``"longest queue <= 2MB"``.
        robust: Values by key, each of which every setting runs with: ``{"load": [0.3, 0.6]}``.
        scheme: The scheme to tune; by default the only one, or that of a key.
        runs: Runs that the search may use; 60 for each seed and value of `robust` by default.
        seeds: Seeds that the search runs each setting with.
        confirm: Further seeds that compare the best setting with the file's, at least 5.
        search_seed: Seed of the search itself. The same seed tries the same settings, however many
            run at the same time.
        out: Directory that keeps finished runs and the answer; a search that was stopped continues
            from there. Nothing is kept by default.
        client: A ``distributed.Client``, to run on its Dask cluster.
        jobs: Runs at the same time on this machine; one per core by default.
        force: Run even what the estimate says exceeds the memory.
        progress: As in :func:`unpause.sweep`.

    Raises:
        ScenarioError: a mistake in the scenario.
        SweepError: a mistake in the arguments, the file as it is cannot be run, or the package
            optuna is missing.
        KeyboardInterrupt: Ctrl-C; finished runs are kept in `out`.
    """
    optuna()
    if jobs is not None and jobs < 1:
        raise SweepError("jobs: at least one run at a time is needed")
    if search_seed < 0:
        raise SweepError(f"search_seed={search_seed}: a seed is a whole number from 0")
    if seeds < 1 or confirm < LEAST_CONFIRMED:
        raise SweepError(f"seeds: at least 1 is needed, and confirm: at least {LEAST_CONFIRMED}")
    parameters = space.read(vary)
    limits = [subject_to] if isinstance(subject_to, str) else list(subject_to)
    plan, name, each, aim = _prepared(path, parameters, goal, limits, robust or {}, scheme or "")
    first = plan.document.get("seed", 1)
    budget = _budget(runs, seeds, confirm, len(each), first if isinstance(first, int) else 1)
    directory = None if out is None else Path(out)
    expected = len(each) * budget.runs(len(parameters))
    where = (client, jobs, force)
    with Runs(plan, name, aim, each, directory, where, progress, expected) as running:
        tuning = _tuned(running, plan, name, aim, parameters, each, budget, search_seed, directory)
        running.finish(files.about(tuning, search_seed))
        if directory is not None:
            files.write(tuning, directory)
    return tuning


def _prepared(
    path: Scenario,
    parameters: Sequence[Parameter],
    wanted: str,
    limits: Sequence[str],
    robust: Mapping[str, Any],
    scheme: str,
) -> tuple[Plan, str, list[Setting], Aim]:
    """The scenario, the scheme, the conditions and the aim, all checked."""
    keys = [each.key for each in parameters]
    whole = Plan.of(path, [Axis("seed", (1,))], [])
    name = scenario.scheme_of(keys, scheme, whole.schemes)
    more = scenario.conditions(robust, whole.document)
    if both := [each.key for each in more if each.key in keys]:
        raise SweepError(f"{both[0]}: it is tuned, so it cannot be a condition of --robust")
    lows = [Axis(each.key, (each.ends[0],)) for each in parameters]
    plan = Plan.of(path, [*lows, *more, Axis("seed", (1,))], [name])
    scenario.check_sweeps(plan.document)
    scenario.check_values(plan, name, parameters)
    entries, jobs = (
        [each["name"] for each in plan.document.get(table, []) if _is_of(each, name)]
        for table in ("traffic", "job")
    )
    aim = goal.read(wanted, limits, entries, jobs)
    plan.named = aim.statistics
    plan.axes, plan.points = [], []
    numbers = axes_module.points(more)
    conditions = [
        {axis.key: axis.values[i] for axis, i in zip(more, each, strict=True)} for each in numbers
    ]
    return plan, name, conditions, aim


def _is_of(entry: Mapping[str, Any], scheme: str) -> bool:
    schemes = entry.get("schemes")
    return not isinstance(schemes, list) or scheme in schemes


def _budget(runs: int | None, seeds: int, confirm: int, conditions: int, first: int) -> _Budget:
    each = seeds * conditions
    settings = SETTINGS if runs is None else runs // each
    if settings < 2:
        raise SweepError(
            f"--runs {runs}: a setting takes {each} of them, and at least two are needed"
        )
    ends = [0, seeds, seeds + decision.SHORTLIST_SEEDS, seeds + decision.SHORTLIST_SEEDS + confirm]
    parts = [[first + i for i in range(ends[at], ends[at + 1])] for at in range(3)]
    return _Budget(settings, *parts)


def _tuned(
    running: Runs,
    plan: Plan,
    scheme: str,
    aim: Aim,
    parameters: Sequence[Parameter],
    conditions: Sequence[Setting],
    budget: _Budget,
    seed: int,
    out: Path | None,
) -> Tuning:
    now = {each.key: scenario.today(plan.document, scheme, each.key) for each in parameters}
    [start] = running.run("today", [{}], budget.seeds)
    if all(run.goal is None for run in start.runs.values()):
        raise SweepError(f"there is nothing that {aim.goal.text} could be measured of")
    scale = Scale.of(start)
    known = _with_defaults(parameters, now)
    published, sources = scenario.literature(parameters, now)
    found = search(
        parameters,
        aim,
        scale,
        lambda settings: running.run("search", settings, budget.seeds),
        starts=[known, {**known, **published}],
        settings=budget.settings,
        seed=seed,
    )
    searched = running.count
    run = running.run
    # What the file sets already is no improvement.
    others = [each for each in found.outcomes if not _as_today(each.setting, known)]
    candidates = decision.Shortlist(
        aim, scale, others, lambda s, seeds: run("shortlist", s, seeds), budget.shortlist
    )
    confirmed = decision.confirm(
        aim,
        scale,
        candidates,
        [published] if published else [],
        lambda s, seeds: run("unseen", s, seeds),
        budget.confirm,
        [answer.condition_text(each) for each in conditions],
    )
    more = running.run("today", [published], budget.seeds) if published else []
    neighbours, reverts = _around(running, aim, scale, parameters, now, confirmed, budget)
    title = plan.document.get("title") or plan.origin.name
    return Tuning(
        title=str(title),
        scheme=scheme,
        aim=aim,
        parameters=tuple(parameters),
        now=known,
        defaults=frozenset(key for key, value in now.items() if value is None),
        conditions=tuple(conditions),
        scale=scale,
        found=found,
        searched=dict(zip(("as it is", "literature"), [start, *more], strict=False)),
        best=confirmed.best,
        today=confirmed.today,
        literature=confirmed.others[0] if confirmed.others else None,
        sources=sources,
        verdict=confirmed.verdict,
        influences=tuple(influences(parameters, aim, scale, found)),
        neighbours=neighbours,
        reverts=reverts,
        runs=(searched, running.count),
        kept=running.kept,
        out=out,
    )


def _with_defaults(parameters: Sequence[Parameter], now: Setting) -> Setting:
    """The values of today, defaults where the file sets none."""
    known = {}
    for each in parameters:
        value = now[each.key]
        if value is None and (default := scenario.default(each.key)):
            value = default.text.strip('"') if default.value is None else default.value
        known[each.key] = value
    return known


def _as_today(setting: Setting, known: Setting) -> bool:
    return all(space.same(value, known[key]) for key, value in setting.items())


def _around(
    running: Runs,
    aim: Aim,
    scale: Scale,
    parameters: Sequence[Parameter],
    now: Setting,
    confirmed: decision.Confirmed,
    budget: _Budget,
) -> tuple[tuple[Neighbour, ...], tuple[Neighbour, ...]]:
    """The settings around a recommended one: a step away, and with one parameter as today."""
    best = confirmed.best
    if best is None or not confirmed.verdict.recommended:
        return (), ()
    steps = [(each.key, value) for each in parameters for value in _neighbours(each, best.setting)]
    changed = [each for each in parameters if each.key in best.setting]
    settings = [{**best.setting, key: value} for key, value in steps]
    settings += [
        {key: value for key, value in best.setting.items() if key != each.key} for each in changed
    ]
    found = running.run("around", settings, budget.confirm[:_NEIGHBOUR_SEEDS])
    ends = [*steps, *((each.key, None) for each in changed)]
    every = [
        Neighbour(key, value, change(aim, scale, outcome, best), _refused(aim, outcome))
        for (key, value), outcome in zip(ends, found, strict=True)
    ]
    return tuple(every[: len(steps)]), tuple(every[len(steps) :])


def _neighbours(parameter: Parameter, setting: Setting) -> list[Any]:
    """The values around that of a setting, if it is within the range."""
    value = setting.get(parameter.key)
    return parameter.neighbours(value) if parameter.position(value) is not None else []


def _refused(aim: Aim, outcome: Outcome) -> str:
    if outcome.refused:
        return outcome.refused
    pairs = zip(aim.limits, outcome.missed(aim), strict=True)
    return "; ".join(f"misses {limit.text}" for limit, count in pairs if count)
