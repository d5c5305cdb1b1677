"""Files that a command writes into a directory: all of them or none, and only in place of its own.

``report.json`` in the directory names the files that are the command's. Whatever else has one of
these names is somebody's, and nothing is written before it has been moved away.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from unpause.data import beneath
from unpause.errors import ResultError, ScenarioError

NAMES = "report.json"
#: Where a command keeps what it is about to write.
ROOM = ".unpause"
#: What reports have, that of a result beside its figures, and what a reproduction has.
RESULT_PAGES = ("report.html", "explore.html", "claims.json", "claims.parquet")
SWEEP_PAGES = ("report.html", "sweep.csv", "figures/sweep.svg", "figures/sweep.png")
REPRODUCTION_PAGES = ("index.html", "claims.json")
TUNE_PAGES = ("answer.md", "settings.csv", "best.toml", "figures/tune.svg", "figures/tune.png")
_WRITTEN = {*RESULT_PAGES, *SWEEP_PAGES, *REPRODUCTION_PAGES, *TUNE_PAGES}
_FIGURE = re.compile(r"figures/[^/\\\0]+\.(svg|png)")


@contextmanager
def alone(directory: Path, held: bool, *, result: bool = True) -> Iterator[None]:
    """Keeps other processes from writing to a directory, of a result or not.

    Args:
        directory: Which.
        held: Whether the caller does that already.
        result: Whether it has a result; what a killed run began is ended then.

    Raises:
        ResultError: another process writes there, or nobody can.
    """
    if held:
        yield
        return
    from unpause import _native

    try:
        lock = _native.Lock(directory, result=result)
    except ScenarioError as error:
        raise ResultError(str(error).replace("\nhelp:", "\nhint:")) from error
    try:
        yield
    finally:
        lock.release()


class Staged(AbstractContextManager["Staged"]):
    """Files under construction, which :meth:`commit` gives their names in `directory`.

    Args:
        directory: Where to; whoever makes this holds its lock.

    Attributes:
        folder: Where the files are written first. It goes with this, or with the next command that
            writes to the directory.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        room = beneath.own(directory / ROOM)
        room.mkdir(exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="new-", dir=room))

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def check(self, names: Iterable[str]) -> None:
        """The same as :func:`check`, before anything is drawn."""
        check(self.directory, names)

    def commit(self) -> None:
        """Puts the files in place of those of before; those that are not there any more go.

        Raises:
            ResultError: a name is taken by a file that is not the command's, or is a link.
        """
        new = sorted(
            path.relative_to(self.folder).as_posix()
            for path in self.folder.rglob("*")
            if path.is_file()
        )
        old = own_names(self.directory)
        check(self.directory, new)
        # A move that is cut short leaves files that the next one knows for its own.
        self._note({*old, *new})
        for name in new:
            file = self.directory / name
            file.parent.mkdir(exist_ok=True)
            os.replace(self.folder / name, file)
        for name in old - {*new, NAMES}:
            _remove(self.directory, name)
        self._note(new)

    def _note(self, names: Iterable[str]) -> None:
        text = json.dumps({"files": sorted({*names, NAMES})}, indent=2)
        beneath.write(self.directory / NAMES, text + "\n")


def check(directory: Path, names: Iterable[str]) -> None:
    """Refuses to write files whose names are taken.

    Raises:
        ResultError: by a file that no earlier command has written, or by a link.
    """
    own = own_names(directory)
    for name in (NAMES, *names):
        file = directory / name
        for folder in file.relative_to(directory).parents[:-1]:
            beneath.own(directory / folder)
        if not os.path.lexists(file):
            continue
        beneath.own_file(file)
        if name not in own:
            raise ResultError(
                f"{file} exists, but no command of unpause has written it here: {NAMES} does "
                "not list it\nhint: move it away, or choose another directory; nothing was changed"
            )


def own_names(directory: Path) -> set[str]:
    """The files that an earlier command has written, as its ``report.json`` says.

    Raises:
        ResultError: that file is damaged or a link.
    """
    file = directory / NAMES
    try:
        with beneath.open_file(directory, NAMES) as opened:
            told = json.loads(opened.read())
    except FileNotFoundError:
        return set()
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{file}: damaged: not JSON: {error}") from error
    names = told.get("files") if isinstance(told, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ResultError(f"{file}: damaged: not what unpause writes; move it away")
    return {NAMES, *names}


def _remove(directory: Path, name: str) -> None:
    """Removes a plain file of before, if commands write files of such a name."""
    if name not in _WRITTEN and not _FIGURE.fullmatch(name):
        return
    file = directory / name
    if not file.parent.is_symlink() and not file.is_symlink():
        file.unlink(missing_ok=True)


def is_free(directory: Path) -> bool:
    """Whether a directory is empty but for files that another command is about to write."""
    try:
        return all(path.name == ROOM for path in directory.iterdir())
    except FileNotFoundError:
        return True
