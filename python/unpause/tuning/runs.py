"""The runs of a search: on all cores or on Dask, each kept, as the points of a sweep are."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from unpause.errors import SweepError
from unpause.explanation.notices import Notices
from unpause.statistics.censored import Estimate
from unpause.sweeps import named
from unpause.sweeps.points import Failure, Plan, Point
from unpause.sweeps.store import Store
from unpause.sweeps.sweep import SweepProgress, backend, note_damaged, run_points, shown
from unpause.tuning.goal import Aim
from unpause.tuning.outcome import Measured, Outcome
from unpause.tuning.space import Setting


class Runs(AbstractContextManager["Runs"]):
    """Runs settings of one scheme of a scenario.

    Args:
        plan: The scenario; its points have the statistics of `aim`.
        scheme: Which.
        aim: What is measured.
        conditions: Values by key, each of which every setting runs with.
        out: Directory that keeps finished runs, if any.
        where: Arguments of :func:`unpause.sweeps.sweep.backend`.
        progress: As in :func:`unpause.sweep`.
        expected: How many runs there will be, at most.

    Attributes:
        count: Runs that were asked for so far.
        kept: Those of them that an earlier search has left.
        rows: A row for each run: stage, setting, condition, seed, and what it measured.
    """

    def __init__(
        self,
        plan: Plan,
        scheme: str,
        aim: Aim,
        conditions: Sequence[Setting],
        out: Path | None,
        where: tuple[Any, int | None, bool],
        progress: bool | Callable[[SweepProgress], None] | None,
        expected: int,
    ) -> None:
        self.count = 0
        self.kept = 0
        self.rows: list[dict[str, Any]] = []
        self._plan = plan
        self._scheme = scheme
        self._aim = aim
        self._conditions = conditions
        self._store = Store(out, plan, "tune")
        self._where = where
        self._progress = progress
        self._expected = expected
        self._done: dict[str, pa.Table | Failure] = {}
        self._stack = ExitStack()
        self._started = time.monotonic()

    def __enter__(self) -> Runs:
        self._store.open()
        with ExitStack() as stack:
            stack.callback(self._store.close)
            self._show = stack.enter_context(shown(self._progress))
            self._backend = stack.enter_context(backend(*self._where))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, stage: str, settings: Sequence[Setting], seeds: Sequence[int]) -> list[Outcome]:
        """Runs settings with all conditions and these seeds.

        Args:
            stage: What for, a word.
            settings: Values by key; nothing for the file as it is.
            seeds: Of the runs.
        """
        points = {
            (at, number, seed): self._plan.point(
                self._scheme, {**setting, **condition, "seed": seed}
            )
            for at, setting in enumerate(settings)
            for number, condition in enumerate(self._conditions)
            for seed in seeds
        }
        self._measure(list({each.digest: each for each in points.values()}.values()))
        outcomes = []
        for at, setting in enumerate(settings):
            mine = {key[1:]: each for key, each in points.items() if key[0] == at}
            outcomes.append(self._outcome(stage, setting, mine))
        return outcomes

    def _measure(self, points: list[Point]) -> None:
        new = [each for each in points if each.digest not in self._done]
        self.count += len(new)
        missing = []
        for point in new:
            table = self._store.load(point)
            if table is None:
                missing.append(point)
            else:
                self.kept += 1
                self._done[point.digest] = table
        note_damaged(self._store)
        self._store.damaged.clear()
        self._backend.share_among(len(missing))
        self._tell("")
        for point, outcome in run_points(self._plan, missing, self._backend):
            self._done[point.digest] = outcome
            if not isinstance(outcome, Failure):
                self._store.save(point, outcome)
            self._tell(point.label)

    def _tell(self, label: str) -> None:
        elapsed = time.monotonic() - self._started
        total, done = max(self._expected, self.count), len(self._done)
        self._show(SweepProgress(total, self.kept, done, 0, label, elapsed))

    def _outcome(
        self, stage: str, setting: Setting, points: dict[tuple[int, int], Point]
    ) -> Outcome:
        measured: dict[tuple[int, int], Measured] = {}
        for (number, seed), point in points.items():
            done = self._done[point.digest]
            if isinstance(done, Failure):
                if not setting:
                    raise SweepError(f"the scenario as it is cannot be run: {done.message}")
                return Outcome(setting, {}, done.message)
            [row] = done.to_pylist()
            condition = self._conditions[number]
            values = {key: str(value) for key, value in {**setting, **condition}.items()}
            self.rows.append({"stage": stage, **values, **row, "seed": seed})
            measured[number, seed] = self._measured(row)
        return Outcome(setting, measured)

    def _measured(self, row: dict[str, Any]) -> Measured:
        def estimate(statistic: named.Named) -> Estimate | None:
            value, exact = named.columns(statistic.text)
            return None if row[value] is None else Estimate(row[value], row[exact])

        sized = row["flows_sized"]
        unfinished = 1 - row["flows_completed"] / sized if sized else 0.0
        limits = tuple(estimate(limit.statistic) for limit in self._aim.limits)
        return Measured(estimate(self._aim.goal), limits, unfinished, row)

    def finish(self, about: dict[str, Any]) -> None:
        """Writes the table of all runs, and `about` them."""
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        table = pa.table({name: [row.get(name) for row in self.rows] for name in names})
        self._store.finish(table, {}, Notices(), about)
