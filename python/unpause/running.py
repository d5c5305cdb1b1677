"""Reading scenarios and running them."""

from __future__ import annotations

import json
import operator
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import tomli_w

from unpause import printed, schema
from unpause.data.result import Result
from unpause.errors import ScenarioError

Scenario = str | PathLike[str] | Mapping[str, Any]


def whole(name: str, number: Any, most: int) -> int:
    """An argument that is a whole number from 0 to `most`.

    Raises:
        TypeError: it is no whole number.
        ValueError: it is out of range.
    """
    try:
        value = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}; a whole number is needed") from None
    if not 0 <= value <= most:
        raise ValueError(f"{name} is {value}; 0 to {most} is possible")
    return value


def optional(name: str, number: Any, most: int) -> int | None:
    """The same, or None."""
    return None if number is None else whole(name, number, most)


@dataclass(frozen=True)
class Progress:
    """How far a scenario is.

    Attributes:
        label: Run that advanced last.
        finished: Runs that are done.
        runs: Total number of runs.
        fraction: Share of all simulated time that is done, 0 to 1.
        packet_hops: Packets that went over one link so far, all runs.
        elapsed_s: Wall time since the start.
    """

    label: str
    finished: int
    runs: int
    fraction: float
    packet_hops: int
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Wall time left at the mean speed so far; None before there is a speed."""
        if self.fraction <= 0:
            return None
        return self.elapsed_s * (1 - self.fraction) / self.fraction


def run_native(
    native: Any,
    *,
    schemes: str | Iterable[str] | None = None,
    seed: int | None = None,
    seeds: int | None = None,
    duration: str | None = None,
    threads: int | None = None,
    exact_packets: bool = False,
    force: bool = False,
    progress: bool | Callable[[Progress], None] | None = None,
    keep: Path | None = None,
) -> Result:
    """Run a scenario that has been read; see :func:`unpause.api.run`.

    In the directory `keep`, finished runs outlive an interruption, and are found by the next call.
    """
    if isinstance(seeds, Iterable):
        raise TypeError(
            f"seeds is {seeds!r}; a whole number is needed: seeds=3 runs the scenario's seed and "
            'the next two; unpause.sweep(scenario, {"seed": [1, 2, 3]}) runs those that you name'
        )
    for name, number in (("threads", threads), ("seeds", seeds)):
        if number is not None and whole(name, number, 2**32 - 1) < 1:
            raise ValueError(f"{name} is {number}; at least 1 is needed")
    seed = optional("seed", seed, 2**64 - 1)
    chosen = [schemes] if isinstance(schemes, str) else list(schemes or [])
    show, finish = _progress(progress)
    try:
        outcome = native.run(
            schemes=chosen,
            seed=seed,
            seeds=seeds,
            duration=duration,
            threads=threads,
            exact_packets=exact_packets,
            force=force,
            progress=show,
            keep=keep,
        )
    finally:
        finish()
    tables = {name: pa.table(outcome.table(name)) for name in schema.TABLES}
    manifest = json.loads(outcome.manifest)
    return Result(tables, source=native.source, manifest=manifest, _native=outcome)


def read(scenario: Scenario) -> Any:
    """A scenario as the extension has it.

    Raises:
        ScenarioError: a mistake in the scenario, with file, line and what to do about it.
    """
    from unpause import _native

    if isinstance(scenario, Mapping):
        text = tomli_w.dumps(scenario)
        try:
            return _native.Scenario.parse(text, "<mapping>")
        except ScenarioError as error:
            if error.file != "<mapping>" or error.line is None:
                raise
            # Users do not have this text, so the message quotes the line, if there is one.
            line = "".join(text.splitlines()[error.line - 1 : error.line]).strip()
            message = f"{error.message}: {line}" if line else error.message
            raise ScenarioError(message, help=error.help) from None
    if isinstance(scenario, str) and "\n" in scenario:
        return _native.Scenario.parse(scenario, "<string>")
    return _native.Scenario.load(Path(scenario))


def _progress(
    wanted: bool | Callable[[Progress], None] | None,
) -> tuple[Callable[..., None] | None, Callable[[], None]]:
    """The callback for the extension, and a function to call at the end."""
    if wanted is None:
        wanted = sys.stderr is not None and sys.stderr.isatty()
    if wanted is False:
        return None, lambda: None
    started = time.monotonic()
    line = _Line() if wanted is True else None
    report = line.show if line else wanted

    def show(label: str, finished: int, runs: int, fraction: float, packet_hops: int) -> None:
        elapsed = time.monotonic() - started
        report(Progress(label, finished, runs, fraction, packet_hops, elapsed))

    return show, (line.clear if line else lambda: None)


class _Line:
    """A progress line on standard error, shown once a run takes longer than a second."""

    def __init__(self) -> None:
        self._shown = False

    def show(self, progress: Progress) -> None:
        if progress.elapsed_s < 1:
            return
        left = "" if progress.left_s is None else f", {progress.left_s:.0f} s left"
        speed = progress.packet_hops / progress.elapsed_s / 1e6
        printed.over(
            f"{progress.fraction * 100:3.0f} % run {progress.finished}/{progress.runs} "
            f"done ({progress.label}), {speed:.1f} M packet-hops/s{left}"
        )
        self._shown = True

    def clear(self) -> None:
        if self._shown:
            printed.over("")
