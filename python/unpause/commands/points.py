"""What ``unpause sweep`` and ``unpause tune`` share: where their runs happen, and how they end."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from unpause.data import beneath
from unpause.errors import ResultError, ScenarioError, SweepError
from unpause.sweeps.sweep import PointsFailed, SweepProgress, shown

_CONNECT_S = 10

T = TypeVar("T")


@dataclass(frozen=True)
class Where:
    """Where runs happen: the directory, the client of a Dask cluster, and who hears of progress."""

    out: Path
    client: Any
    progress: Callable[[SweepProgress], None]


@dataclass(frozen=True)
class Done(Generic[T]):
    """A result, its directory, the last progress, and how long it took."""

    result: T
    out: Path
    last: SweepProgress
    seconds: float


def add_options(parser: argparse.ArgumentParser, command: str, noun: str) -> None:
    """Adds the options of a command whose runs are each called `noun`."""
    parser.add_argument(
        "--out",
        "-o",
        type=Path,
        metavar="DIR",
        help=f"directory of the answer and of finished {noun}s [default: results/<name of the "
        f"file>-{command}]",
    )
    # By `unpause` without --out.
    parser.add_argument("--default", type=Path, help=argparse.SUPPRESS)
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--jobs",
        type=positive,
        metavar="N",
        help=f"{noun}s at the same time on this machine [default: one per core]",
    )
    where.add_argument(
        "--dask", metavar="ADDRESS", help="scheduler of a Dask cluster, such as tcp://host:8786"
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help=f"run even {noun}s whose estimate exceeds the free memory",
    )


def directory(options: argparse.Namespace, command: str) -> Path:
    """The directory of a command line."""
    named = options.default or Path("results") / f"{options.file.stem}-{command}"
    return options.out or named


def run(
    options: argparse.Namespace, command: str, noun: str, work: Callable[[Where], T]
) -> Done[T] | int:
    """Runs `work`, with progress on the terminal; answers the exit code if it was stopped.

    Raises:
        PointsFailed: some points could not be run.
    """
    out = directory(options, command)
    last: list[SweepProgress] = []
    started = time.monotonic()
    try:
        if options.out is None:
            _check_default(options.file, out, command)
        client = None if options.dask is None else _connect(options.dask)
        try:
            with shown() as show:

                def watch(progress: SweepProgress) -> None:
                    last[:] = [progress]
                    show(progress)

                result = work(Where(out, client, watch))
        finally:
            if client is not None:
                client.close()
    except PointsFailed:
        raise
    except (ScenarioError, SweepError, ResultError, OSError) as error:
        message = str(error).replace("\nhelp:", "\nhint:")
        print(f"error: {message}", file=sys.stderr)
        _say_how_to_go_on(last, out, noun)
        return 1
    except KeyboardInterrupt:
        print("interrupted" if last else "interrupted: nothing was run", file=sys.stderr)
        _say_how_to_go_on(last, out, noun)
        return 130
    return Done(result, out, last[-1], time.monotonic() - started)


def _say_how_to_go_on(last: list[SweepProgress], out: Path, noun: str) -> None:
    for done in last:
        print(
            f"hint: {done.finished} of {done.points} {noun}s are kept in {out / 'points'}; "
            "the same command resumes from there",
            file=sys.stderr,
        )


def positive(text: str) -> int:
    """A whole number from 1, for argparse."""
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def before(out: Path, command: str, field: str) -> dict[str, Any]:
    """A field about what the command last wrote into a directory; nothing if there is nothing."""
    try:
        with beneath.open_file(out, f"{command}.json") as file:
            about = json.loads(file.read())[field]
    except (OSError, ValueError, RecursionError, KeyError, TypeError, ResultError):
        return {}
    return about if isinstance(about, dict) else {}


def _check_default(file: Path, out: Path, command: str) -> None:
    """An error if the default directory has what the command made of another file."""
    other = before(out, command, "scenario").get("file")
    if isinstance(other, str) and os.path.realpath(other) != os.path.realpath(file):
        raise SweepError(
            f"{out} has the {command} of another scenario, {other}\n"
            "hint: choose a directory with --out; nothing was changed"
        )


def _connect(address: str) -> Any:
    """A client of the Dask scheduler at an address.

    Raises:
        SweepError: distributed is not installed, or nothing answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise SweepError(
            "--dask needs the package distributed\nhint: pip install 'unpause[dask]'"
        ) from error
    # Its threads log a lost connection; this program reports it once.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise SweepError(
            f"no Dask scheduler answers at {address}: {error}\n"
            "hint: `dask scheduler` prints its address, such as tcp://192.168.0.1:8786"
        ) from error
