"""The figures of a report, drawn by as many processes as there are cores.

A process of its own is forked for each core but the first, where that is safe: it takes what is
next out of a pipe, and what it has done comes back through another. What a process did not do,
because it was killed, the first one does.
"""

from __future__ import annotations

import base64
import os
import pickle
import signal
import struct
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unpause import figures, printed, schema
from unpause.data import beneath
from unpause.data.result import Result
from unpause.figures.sweep import draw_runs
from unpause.sweeps.grouped import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LARGEST_SVG = 1_500_000  # bytes; larger drawings are embedded as PNG
#: Results with more rows are drawn by one process: to copy its memory takes longer than to draw.
_MOST_ROWS = 3_000_000


@dataclass(frozen=True)
class Drawn:
    """What became of a figure.

    Attributes:
        name: Its name.
        uri: The drawing, as a page embeds it; empty if there is none.
        files: Its files, relative to the result directory.
        nothing: Why there is nothing to draw.
        unknown: That no figure has the name.
        failed: Why it could not be drawn.
        boxes: Whether a character has no font.
        warned: What else was warned of: text, category, file and line.
    """

    name: str
    uri: str = ""
    files: tuple[str, ...] = ()
    nothing: str = ""
    unknown: str = ""
    failed: str = ""
    boxes: bool = False
    warned: tuple[tuple[str, type[Warning], str, int], ...] = ()

    @property
    def title(self) -> str:
        """What a report writes above it."""
        return figures.FIGURES[self.name].title


@dataclass
class _Job:
    """The tasks by number: first `others`, then the figures `names`."""

    result: Result
    folder: Path
    names: Sequence[str]
    as_png: set[str]
    others: Sequence[Callable[[], Any]] = ()
    begun: dict[str, Figure] = field(default_factory=dict)

    def do(self, number: int) -> Any:
        if number < len(self.others):
            return self.others[number]()
        return self._draw(self.names[number - len(self.others)])

    def _draw(self, name: str) -> Drawn:
        with _heard() as heard:
            figure = self.begun.pop(name, None) or begin(self.result, name)
            if isinstance(figure, Drawn):
                return figure
            drawn = save(figure, self.folder, name, png=name in self.as_png)
        return heard.told(drawn)


def of_report(
    result: Result,
    folder: Path,
    names: Sequence[str],
    as_png: Iterable[str],
    others: Sequence[Callable[[], Any]] = (),
) -> tuple[list[Drawn], list[Any]]:
    """Draws `names` into `folder`, the first that shows anything and `as_png` as PNG, too.

    `others` are called beside that; what they answer comes second.
    """
    job = _Job(result, folder, names, set(as_png), others)
    done: list[Drawn] = []
    with _heard() as heard:
        for name in names:
            begun = begin(result, name)
            if not isinstance(begun, Drawn):
                job.begun[name] = begun
                job.as_png.add(name)
                break
            done.append(begun)
    job.names = names[len(done) :]
    count = len(others) + len(job.names)
    rows = sum(result.rows(table) for table in schema.TABLES if table in result.tables)
    found = _all_of(job, count, _cores() if rows <= _MOST_ROWS else 1)
    _progress("")
    done += found[len(others) :]
    first = next((at for at, it in enumerate(done) if it.uri), None)
    if first is not None and not any(file.endswith(".png") for file in done[first].files):
        # The one that was to be the first could not be written.
        job.names, job.as_png = [done[first].name], {done[first].name}
        done[first] = job.do(len(others))
    return [heard.told(it) if it.name in names[:1] else it for it in done], found[: len(others)]


def of_sweep(runs: Runs, folder: Path) -> Drawn:
    """Draws the one figure of a sweep into a new folder."""
    try:
        with figures.style():
            figure = draw_runs(runs)
        folder.mkdir()
        return save(figure, folder, "sweep", png=True)
    except figures.NothingToDraw as error:
        return Drawn("sweep", nothing=str(error))
    except OSError:
        raise
    except Exception as error:
        return Drawn("sweep", failed=why(error))


def begin(result: Result, name: str) -> Figure | Drawn:
    """Draws a figure, or says why there is none; a full disk, an OSError, is for the caller."""
    try:
        return figures.draw(result, name)
    except figures.NothingToDraw as error:
        return Drawn(name, nothing=str(error))
    except KeyError as error:
        return Drawn(name, unknown=str(error.args[0]))
    except OSError:
        raise
    except Exception as error:
        return Drawn(name, failed=why(error))


def why(error: Exception) -> str:
    """An error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def save(figure: Figure, folder: Path, name: str, *, png: bool) -> Drawn:
    """Writes a figure's files, and embeds it: as PNG if the SVG is too large."""
    try:
        for kind in ("svg", "png"):
            beneath.own(folder / f"{name}.{kind}")
        svg = figures.save(figure, folder, name, png=png)
        small = svg.stat().st_size <= _LARGEST_SVG
        as_png = svg.with_suffix(".png")
        if not png and small:
            as_png.unlink(missing_ok=True)  # of an earlier report
        elif not png:
            figures.save_png(figure, svg)
        files = tuple(f"figures/{file.name}" for file in (svg, as_png) if file.exists())
        kind = "image/svg+xml" if small else "image/png"
        data = base64.b64encode((svg if small else as_png).read_bytes()).decode()
    except OSError:
        raise
    except Exception as error:
        return Drawn(name, failed=why(error))
    return Drawn(name, f"data:{kind};base64,{data}", files)


class _heard:
    """Warnings while a figure is drawn: that a name has characters without a font, and others."""

    def __enter__(self) -> _heard:
        self._catching = warnings.catch_warnings(record=True)
        self._caught = self._catching.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *error: object) -> None:
        self._catching.__exit__(*error)

    def told(self, drawn: Drawn) -> Drawn:
        """The figure with the warnings that it caused."""
        if not self._caught:
            return drawn
        missing = [it for it in self._caught if "missing from" in str(it.message)]
        others = [it for it in self._caught if it not in missing]
        return Drawn(
            drawn.name,
            drawn.uri,
            drawn.files,
            drawn.nothing,
            drawn.unknown,
            drawn.failed,
            drawn.boxes or bool(missing),
            (*drawn.warned, *((str(w.message), w.category, w.filename, w.lineno) for w in others)),
        )


def _cores() -> int:
    """How many processes may draw; elsewhere than on Linux a process that forks is not safe."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


def _all_of(job: _Job, count: int, cores: int) -> list[Any]:
    """The results of all numbers, computed by several processes."""
    numbers, write = os.pipe()
    with open(write, "wb") as queue:
        queue.write(b"".join(struct.pack("<H", number) for number in range(count)))
    helpers = [_fork(job, numbers) for _ in range(min(cores, count) - 1)]
    done: dict[int, Any] = {}
    try:
        for number in _next(numbers):
            _progress(f"drawing {number + 1} of {count}")
            done[number] = job.do(number)
    finally:
        # After Ctrl-C or a full disk no process starts anything else.
        for _ in _next(numbers):
            pass
        os.close(numbers)
        for process, answers in helpers:
            with open(answers, "rb") as pipe:
                told = pipe.read()
            os.waitpid(process, 0)
            done |= pickle.loads(told) if told else {}
    for number in range(count):
        if isinstance(done.get(number), BaseException):
            raise done[number]
        if number not in done:
            done[number] = job.do(number)
    return [done[number] for number in range(count)]


def _next(numbers: int) -> Iterator[int]:
    """Numbers that no other process has taken; each is read whole."""
    while token := os.read(numbers, 2):
        yield struct.unpack("<H", token)[0]


def _fork(job: _Job, numbers: int) -> tuple[int, int]:
    """A helper process, and the descriptor of its answers."""
    answers, write = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of threads; Arrow's start again after a fork, ours have ended.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process:
        os.close(write)
        return process, answers
    code = 1
    try:
        # Ctrl-C is for the first process; what it has not been told, it does not wait for.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.close(answers)
        done: dict[int, Any] = {}
        for number in _next(numbers):
            try:
                done[number] = job.do(number)
            except Exception as error:
                done[number] = error
        with open(write, "wb") as pipe:
            pipe.write(pickle.dumps(done))
        code = 0
    finally:
        os._exit(code)


def _progress(text: str) -> None:
    """What is being done, on one line of a terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        printed.over(text[: printed.width() - 1])
