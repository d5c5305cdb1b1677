"""Scenarios in, results out: what programs and notebooks use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from unpause.data import result as data
from unpause.running import Progress, Scenario, read, run_native

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from unpause.claims.claim import Claim
    from unpause.explanation.notebook import Explanation


class Result(data.Result):
    """Tables of a finished scenario, with its claims and figures.

    Every table starts with ``run`` (uint32) and ``scheme`` (string). Columns and units of each are
    in :data:`unpause.schema.TABLES`; times are float64 nanoseconds with picosecond digits, sizes
    uint64 bytes.

    Attributes:
        tables: The tables by name; of a directory, they are read when they are asked for.
        source: The scenario, TOML text.
        manifest: Contents of ``manifest.json``; empty for a result that was not written.
        directory: Where the result lies, if it was loaded or written.
    """

    @classmethod
    def of(cls, tables: data.Result) -> Result:
        """The same result, with its claims and figures."""
        return cls(**{it.name: getattr(tables, it.name) for it in fields(tables)})

    # Imported when they are asked for: a program that only reads tables needs no Matplotlib.

    def _repr_html_(self) -> str:
        from unpause.pages import notebook

        return notebook.html(self)

    def claims(self, names: str | list[str] | None = None) -> list[Claim]:
        """Judge the scenario's claims, or those of one or more experiments (``"PCN-F2"``)."""
        from unpause.claims.claim import judged

        return judged(self, [names] if isinstance(names, str) else names)

    def explain(
        self,
        flow: str | int | None = None,
        *,
        scheme: str | None = None,
        seed: int | None = None,
        point: str | Iterable[str] = (),
    ) -> Explanation:
        """Why: losses, causes of PAUSE, delays of the slowest flows, senders that wait, late jobs.

        The parts are those of ``unpause explain``. A notebook shows them.

        Args:
            flow: Only what is known of this flow: its number, an entry, a job, or a message of a
                job, such as ``"17:3"`` (connection and number).
            scheme: Only this one; the first run of each by default.
            seed: Only runs with this seed.
            point: Only runs with this swept value, such as ``"place=packed"``, or these.

        Raises:
            ResultError: the result has no causes, or there is no such run or flow.
        """
        from unpause.explanation.notebook import Explanation

        points = [point] if isinstance(point, str) else list(point)
        name = None if flow is None else str(flow)
        return Explanation.of(self, name, scheme, seed, points)

    def figure(self, name: str) -> Figure:
        """Draw one figure by its name in :data:`unpause.figures.FIGURES`.

        A notebook shows it as a picture.

        Raises:
            unpause.figures.NothingToDraw: the result lacks what the figure shows.
        """
        from unpause import figures

        return figures.displayed(figures.draw(self, name))


def run(
    scenario: Scenario,
    *,
    schemes: str | Iterable[str] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    duration: str | None = None,
    threads: int | None = None,
    exact_packets: bool = False,
    force: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
) -> Result:
    """Run a scenario, every scheme and every point of its sweep.

    Args:
        scenario: Path of a scenario file; TOML text (anything with a line break); or a mapping
            with the same keys as the file.
        schemes: Names of the schemes to run, or one name; all by default.
        seed: Instead of the scenario's seed.
        seeds: Repeats every run with this many consecutive seeds.
        duration: Instead of the scenario's duration, with its unit: ``"20ms"``.
        threads: Runs at the same time; as many as there are cores by default. The results do not
            depend on it.
        exact_packets: Simulate every packet; else what repeats itself is skipped. The results do
            not depend on it.
        force: Run it even if the estimate exceeds the memory of this machine.
        progress: A function called a few times a second; True for a line on standard error, False
            for silence. By default a line if standard error is a terminal.

    Returns:
        The tables. Nothing is written; see :meth:`Result.write`.

    Raises:
        ScenarioError: a mistake in the scenario, with file, line and what to do about it.
        TooLargeError: it needs more memory than there is.
        KeyboardInterrupt: Ctrl-C; the simulation has been stopped.
    """
    outcome = run_native(
        read(scenario),
        schemes=schemes,
        seed=seed,
        seeds=seeds,
        duration=duration,
        threads=threads,
        exact_packets=exact_packets,
        force=force,
        progress=progress,
    )
    return Result.of(outcome)


def validate(scenario: Scenario) -> list[str]:
    """Check a scenario without running it; answers the labels of its runs.

    Raises:
        ScenarioError: a mistake in the scenario, with file, line and what to do about it.
    """
    return read(scenario).runs


def load(directory: str | Path) -> Result:
    """Read a result directory that ``unpause run`` or :meth:`Result.write` has made.

    Args:
        directory: The directory with ``manifest.json`` and the Parquet tables.

    Raises:
        ResultError: it is not a result directory, or the run did not finish.
    """
    return Result.of(data.load(directory))
