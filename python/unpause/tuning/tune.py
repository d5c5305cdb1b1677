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
from unpause.tuning import decision, goal, scenario, space
from unpause.tuning.decision import Change, Verdict, change
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Outcome, Scale
from unpause.tuning.runs import Runs
from unpause.tuning.search import Influence, Search, influences, optuna, search
from unpause.tuning.space import Parameter, Setting

#: Settings that a search tries by default.
SETTINGS = 60
#: Fewer cannot be compared.
LEAST_CONFIRMED = 5
#: Seeds, of those of the comparison, that neighbours run with.
_NEIGHBOUR_SEEDS = 3


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
class Tuning:
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

    def __str__(self) -> str:
        from unpause.tuning import answer

        return answer.text(self)


@dataclass(frozen=True)
class _Budget:
    settings: int
    seeds: list[int]
    shortlist: list[int]
    confirm: list[int]


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
    if seeds < 1 or confirm < LEAST_CONFIRMED:
        raise SweepError(f"seeds: at least 1 is needed, and confirm: at least {LEAST_CONFIRMED}")
    parameters = space.read(vary)
    limits = [subject_to] if isinstance(subject_to, str) else list(subject_to)
    plan, name, each, aim = _prepared(path, parameters, goal, limits, robust or {}, scheme or "")
    first = plan.document.get("seed", 1)
    budget = _budget(runs, seeds, confirm, len(each), first if isinstance(first, int) else 1)
    expected = len(each) * (
        (budget.settings + 1) * seeds
        + decision.SHORTLIST * decision.SHORTLIST_SEEDS
        + 3 * confirm
        + 3 * len(parameters) * _NEIGHBOUR_SEEDS
    )
    where = (client, jobs, force)
    directory = None if out is None else Path(out)
    with Runs(plan, name, aim, each, directory, where, progress, expected) as running:
        tuning = _tuned(running, plan, name, aim, parameters, each, budget, search_seed, directory)
        from unpause.tuning import answer

        running.finish(answer.about(tuning, search_seed))
        if directory is not None:
            answer.write(tuning, directory)
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
    inside = all(each.position(known[each.key]) is not None for each in parameters)
    found = search(
        parameters,
        aim,
        scale,
        lambda settings: running.run("search", settings, budget.seeds),
        start=known if inside else None,
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
    published, sources = scenario.literature(parameters, now)
    confirmed = decision.confirm(
        aim,
        scale,
        candidates,
        [published] if published else [],
        lambda s, seeds: run("unseen", s, seeds),
        budget.confirm,
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
    steps = [
        (each.key, value)
        for each in parameters
        for value in each.neighbours(best.setting[each.key])
    ]
    settings = [{**best.setting, key: value} for key, value in steps]
    settings += [
        {key: value for key, value in best.setting.items() if key != each.key}
        for each in parameters
    ]
    found = running.run("around", settings, budget.confirm[:_NEIGHBOUR_SEEDS])
    ends = [*steps, *((each.key, None) for each in parameters)]
    every = [
        Neighbour(key, value, change(aim, scale, outcome, best), _refused(aim, outcome))
        for (key, value), outcome in zip(ends, found, strict=True)
    ]
    return tuple(every[: len(steps)]), tuple(every[len(steps) :])


def _refused(aim: Aim, outcome: Outcome) -> str:
    if outcome.refused:
        return outcome.refused
    pairs = zip(aim.limits, outcome.missed(aim), strict=True)
    return "; ".join(f"misses {limit.text}" for limit, count in pairs if count)
