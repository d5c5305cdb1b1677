"""Sweeps: a scenario at many points, on all cores or on a Dask cluster, resumed where they stopped.

A *point* is one scheme at one combination of values. What it measured is a file of its own,
``points/<hash>.parquet``, where the hash is of everything that its result depends on: the scenario
as that scheme sees it, the files that it names, and this build of unpause. So a point is run again
exactly when its result could be another one.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from unpause.errors import SweepError
from unpause.running import Scenario
from unpause.sweeps import axes as axes_module
from unpause.sweeps.finished import Finished
from unpause.sweeps.grouped import Runs
from unpause.sweeps.points import Failure, Plan, Point, measure
from unpause.sweeps.store import Store
from unpause.text import plural

_LOST = "the connection to the Dask scheduler was lost"
_ASK_EVERY_S = 5

#: A point's table, or why there is none.
_Outcome = pa.Table | Failure


@dataclass(frozen=True)
class SweepProgress:
    """How far a sweep is.

    Attributes:
        points: Total number of points.
        kept: Points that an earlier sweep has left.
        finished: Points that are done, those kept among them.
        failed: Points that cannot be run.
        label: Point that was done last; empty before the first.
        elapsed_s: Wall time since the start.
    """

    points: int
    kept: int
    finished: int
    failed: int
    label: str
    elapsed_s: float


class PointsFailed(SweepError):
    """Some points of a sweep cannot be run. The others are done.

    Attributes:
        failed: Message by the label of the point.
        table: The table of the points that are done.
    """

    def __init__(self, failed: dict[str, str], table: pa.Table) -> None:
        self.failed = failed
        self.table = table
        lines = [f"{label}: {why}" for label, why in failed.items()]
        count = plural(len(lines), "point")
        super().__init__("\n".join([f"{count} failed", *lines]))


def sweep(
    path: Scenario,
    vary: Mapping[str, Any] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    schemes: Iterable[str] | None = None,
    client: Any = None,
    jobs: int | None = None,
    force: bool = False,
    progress: bool | Callable[[SweepProgress], None] | None = None,
) -> pa.Table:
    """Run a scenario at every combination of values.

    Args:
        path: Path of a scenario file; TOML text; or a mapping with the same keys as the file.
        vary: Values by the path of their key, as in ``[[sweep]]``: ``{"pfc.xoff": ["64KB",
            "1MB"], "seed": range(1, 101)}``. A text is read as on the command line: ``"1..100"``.
        out: Directory that keeps finished points and the table; a sweep that was stopped continues
            from there. Nothing is kept by default.
        schemes: Names of the schemes to run; all by default.
        client: A ``distributed.Client``, to run on its Dask cluster.
        jobs: Points at the same time on this machine; one per core by default. Those that need
            more memory together than there is wait for one another.
        force: Run even points whose estimate exceeds the memory.
        progress: A function called after each point; True for a bar on standard error, False for
            silence. By default a bar if standard error is a terminal.

    Returns:
        One row for each scheme and combination (and value of the file's own ``[[sweep]]``): the
        axes, the columns of table `runs`, :data:`unpause.sweeps.recorded.STATISTICS`, and those
        of each job (:data:`unpause.schema.OF_JOBS`). The order is that of the
        file and of the values, whatever is done first.

    Raises:
        ScenarioError: a mistake in the scenario.
        SweepError: a mistake in `vary`, or the cluster is gone.
        PointsFailed: some points cannot be run; it has the table of the others.
        KeyboardInterrupt: Ctrl-C; finished points are kept in `out`.
    """
    if jobs is not None and jobs < 1:
        raise SweepError("jobs: at least one point has to run at a time")
    plan = Plan.of(path, axes_module.read(vary or {}), list(schemes or []))
    store = Store(None if out is None else Path(out), plan)
    store.open()
    try:
        return _fill(store, plan, backend(client, jobs, force), progress)
    finally:
        store.close()


def backend(client: Any, jobs: int | None, force: bool) -> _Local | _Dask:
    """Where points run; see :func:`sweep`."""
    return _Dask(client, force) if client is not None else _Local(jobs, force)


def note_damaged(store: Store) -> None:
    """Reports damaged files of an earlier sweep."""
    for file in store.damaged:
        print(f"note: {file}: damaged; the point is run again", file=sys.stderr)


def _fill(
    store: Store,
    plan: Plan,
    where: _Local | _Dask,
    progress: bool | Callable[[SweepProgress], None] | None,
) -> pa.Table:
    """Runs what the store does not have; answers and keeps the table of all."""
    wanted = {point.digest: point for point in plan.points}  # equal points are run once
    done = Finished()
    for digest, point in wanted.items():
        if (table := store.load(point)) is not None:
            done.add(digest, table)
    note_damaged(store)
    kept = len(done)
    missing = [point for digest, point in wanted.items() if digest not in done]
    started = time.monotonic()
    failures: dict[str, str] = {}

    def now(label: str = "") -> SweepProgress:
        elapsed = time.monotonic() - started
        return SweepProgress(len(wanted), kept, len(done), len(failures), label, elapsed)

    where.share_among(len(missing))
    with shown(progress) as show, where:
        show(now())
        for point, outcome in run_points(plan, missing, where):
            if isinstance(outcome, Failure):
                failures[point.label] = outcome.message
            else:
                done.add(point.digest, outcome)
                store.save(point, outcome)
            show(now(point.label))
    table = plan.assemble(done)
    runs = Runs.of_sweep(table)
    rows = [(point.digest, done.count(point.digest)) for point in plan.points]
    notices = done.warned.grouped(rows, runs.rows, runs.axes)
    store.finish(table, failures, notices)
    if failures:
        raise PointsFailed(failures, table)
    return table


def run_points(
    plan: Plan, points: list[Point], backend: _Local | _Dask
) -> Iterator[tuple[Point, _Outcome]]:
    """Runs `points`, as many at a time as `backend` takes; answers them as they are done."""
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    running: dict[Any, Point] = {}
    waiting = iter(points)
    while True:
        while len(running) < backend.window():
            point = next(waiting, None)
            if point is None:
                break
            future = backend.submit(plan, point)
            running[future] = point
            future.add_done_callback(ended.put)
        if not running:
            return
        try:
            future = ended.get(timeout=0.2)  # a lock without a limit would not hear Ctrl-C
        except queue.Empty:
            continue
        outcome = backend.outcome(future)
        if outcome is None:
            future.add_done_callback(ended.put)
            continue
        yield running.pop(future), outcome


class _Local(AbstractContextManager["_Local"]):
    """Threads of this process; the simulator runs without the GIL."""

    def __init__(self, jobs: int | None, force: bool) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._jobs = jobs or cores or 1
        self._threads = 1
        self._force = force
        self._pool = ThreadPoolExecutor(self._jobs)
        self._stop = threading.Event()

    def share_among(self, points: int) -> None:
        """Gives the runs the cores that few points leave to them."""
        self._threads = max(1, self._jobs // max(1, points))

    def window(self) -> int:
        return self._jobs

    def submit(self, plan: Plan, point: Point) -> Any:
        text = plan.text_of(point)
        return self._pool.submit(
            measure,
            text,
            plan.origin.absolute(),
            point.scheme,
            threads=self._threads,
            force=self._force,
            stop=self._stop,
            also=plan.named,
        )

    def outcome(self, future: Any) -> _Outcome:
        return future.result()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Dask(AbstractContextManager["_Dask"]):
    """Workers of a Dask cluster. A point whose worker dies is run by another one."""

    def __init__(self, client: Any, force: bool) -> None:
        self._client = client
        self._force = force
        self._sweep = uuid.uuid4().hex[:8]
        self._futures: set[Any] = set()
        self._window = 0
        self._ask_again = 0.0

    def share_among(self, points: int) -> None:
        """Does nothing: each point has one thread of a worker."""

    def window(self) -> int:
        # Enough to keep every worker busy, also those that join, without sending all at once.
        if time.monotonic() >= self._ask_again:
            try:
                threads = sum(self._client.nthreads().values())
            except (OSError, TimeoutError) as error:
                raise SweepError(_LOST) from error
            self._window = max(64, 4 * threads)
            self._ask_again = time.monotonic() + _ASK_EVERY_S
        return self._window

    def submit(self, plan: Plan, point: Point) -> Any:
        from unpause import __version__

        future = self._client.submit(
            measure,
            plan.text_of(point),
            plan.origin.absolute(),
            point.scheme,
            version=__version__,
            force=self._force,
            also=plan.named,
            key=f"unpause-{self._sweep}-{point.digest[:20]}",
        )
        self._futures.add(future)
        return future

    def outcome(self, future: Any) -> _Outcome | None:
        """None if the result was lost with its worker, so that it is on its way again."""
        try:
            outcome = future.result(timeout=5)
        except TimeoutError:
            return None
        except Exception as error:
            if future.cancelled() or self._client.status != "running":
                raise SweepError(_LOST) from error
            if isinstance(error, ImportError) or "deserialization" in str(error):
                raise SweepError(
                    "the Dask scheduler or its workers cannot load this unpause "
                    f"({_first_line(error.__cause__ or error)}); install the same version there"
                ) from error
            if type(error).__name__ == "KilledWorker":
                outcome = Failure("every Dask worker that ran it died (out of memory?)")
            else:
                outcome = Failure(f"{type(error).__name__}: {error}")
        self._futures.discard(future)
        return outcome

    def __exit__(self, *_: object) -> None:
        if self._futures and self._client.status == "running":
            self._client.cancel(list(self._futures))
        self._futures.clear()


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]


@contextmanager
def shown(
    wanted: bool | Callable[[SweepProgress], None] | None = None,
) -> Iterator[Callable[[SweepProgress], None]]:
    """Where progress goes: a bar, a function, or nowhere; see :func:`sweep`."""
    if callable(wanted):
        yield wanted
        return
    from tqdm import tqdm

    bar: Any = None

    def show(progress: SweepProgress) -> None:
        nonlocal bar
        if bar is None:
            bar = tqdm(
                total=progress.points,
                initial=progress.kept,
                unit=" points",
                dynamic_ncols=True,
                leave=False,
                # None: no bar if standard error is not a terminal.
                disable=None if wanted is None else not wanted,
            )
        bar.set_postfix_str(progress.label, refresh=False)
        bar.update(progress.finished + progress.failed - bar.n)

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()
