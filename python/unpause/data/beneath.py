"""Plain files of a result directory, which may come from anybody: no link in it is followed."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from unpause.errors import ResultError

#: A result on its way to its names, of which files are not at theirs yet.
COMMIT = (".unpause", "commit")
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_BY_HANDLE = os.open in os.supports_dir_fd


def open_file(directory: Path, *names: str) -> BinaryIO:
    """Opens a file in folders in `directory`, to be read.

    Raises:
        FileNotFoundError: there is none.
        ResultError: it, or a folder on the way, is a link or another special file.
    """
    file = directory.joinpath(*names)
    if not _BY_HANDLE:
        way = [directory.joinpath(*names[: count + 1]) for count in range(len(names))]
        if any(path.is_symlink() for path in way):
            raise _special(file)
        return _plain(os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0)), file)
    holder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names[:-1]:
            inner = _open(name, os.O_DIRECTORY, holder, file)
            os.close(holder)
            holder = inner
        return _plain(_open(names[-1], 0, holder, file), file)
    finally:
        os.close(holder)


def _open(name: str, flags: int, holder: int, file: Path) -> int:
    try:
        return os.open(name, os.O_RDONLY | flags | _FLAGS, dir_fd=holder)
    except FileNotFoundError:
        raise
    except OSError as error:
        about = os.stat(name, dir_fd=holder, follow_symlinks=False)
        if stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode):
            raise ResultError(f"{file}: {error.strerror}") from error
        raise _special(file) from error


def _plain(handle: int, file: Path) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _special(file)
    return os.fdopen(handle, "rb")


def _special(file: Path) -> ResultError:
    return ResultError(
        f"{file}: a link or another special file, which is not followed in a result; "
        "put the file itself there"
    )


def places(directory: Path, name: str) -> list[BinaryIO]:
    """The files that may be that of a result, opened: at its name, and on its way there.

    Raises:
        ResultError: there is none, or one that is not followed.
    """
    found = []
    refused: ResultError | None = None
    # It may move from the second to the first in between.
    for folders in ((), COMMIT, ()):
        try:
            found.append(open_file(directory, *folders, name))
        except FileNotFoundError:
            continue
        except ResultError as error:
            refused = error
    if not found:
        raise refused or ResultError(f"{directory / name}: missing; run the scenario again")
    return found


def own(path: Path) -> Path:
    """`path`, which is going to be written in a result, unless it is a link.

    Raises:
        ResultError: it is one.
    """
    if path.is_symlink():
        raise ResultError(f"{path}: a link, which is not written through; remove it")
    return path


def own_file(path: Path) -> Path:
    """The same of a plain file, which is going to be read or replaced, if anything is there.

    Raises:
        ResultError: it is a link, a folder or another special file.
    """
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise _special(path)
    return path


def write(file: Path, content: str | bytes) -> None:
    """Writes a file, which is there whole or not at all; a link of its name is replaced."""
    written = content if isinstance(content, bytes) else content.encode("utf-8")
    handle, name = tempfile.mkstemp(prefix=f".{file.name[:60]}-", suffix=".tmp", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as unfinished:
            unfinished.write(written)
            unfinished.flush()
            os.fsync(unfinished.fileno())
        os.chmod(name, 0o644)
        os.replace(name, file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
