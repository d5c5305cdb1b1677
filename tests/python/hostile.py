"""Commands over damaged and hostile directories, in a process that a pipe may stop forever.

``python hostile.py FOLDER COMMAND`` runs one of :data:`COMMANDS` in this process on a copy of
``FOLDER/sound`` for each of :func:`damages`, and tells a line of JSON of each: what it was, exit
code, what was printed, and what of ``outside`` is not as it was.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

#: By name what is run in a folder with `out`, a result, `sweep`, one of a sweep, and `other`.
COMMANDS: dict[str, Sequence[str]] = {
    "view": ["view", "out"],
    "report": ["-m", "unpause.commands.report", "out"],
    "explore": ["-m", "unpause.pages.explore", "out"],
    "compare": ["compare", "out", "other"],
    "compare-page": ["-m", "unpause.commands.compare", "out", "other", "--out", "page.html"],
    "explain": ["explain", "out"],
    "export": ["export", "out", "--force"],
    "perfetto": ["export", "--perfetto", "out", "--force"],
    "captures": ["export", "--pcapng", "out", "--force"],
    "run": ["run", "s.toml", "--out", "out", "--no-report", "--quiet"],
    "reproduce": ["reproduce", "pcn/F2", "--out", "out"],
    "sweep": ["sweep", "s.toml", "--vary", "seed=1..2", "--out", "sweep"],
    "sweep-report": ["-m", "unpause.commands.report", "sweep"],
    "sweep-compare": ["compare", "sweep"],
    "sweep-export": ["export", "sweep", "--force"],
}

TABLES = ("flows", "causes")
#: Names that every command on a result finds there, and those of sweeps.
RESULT = [
    "manifest.json",
    "scenario.toml",
    *(f"{table}.parquet" for table in TABLES),
    ".unpause",
    ".unpause/lock",
    ".unpause/commit",
    ".unpause/commit/manifest.json",
    ".unpause/commit/flows.parquet",
    ".unpause/runs",
]
SWEEP = ["sweep.json", "sweep.parquet", "points", "points/SHA256SUMS", ".unpause", ".unpause/lock"]
_PAGES = ["report.json", "report.html"]
#: Names that a command writes, beside these.
WRITTEN = {
    "report": [*_PAGES, "explore.html", "claims.json", "claims.parquet", "figures"],
    "explore": ["explore.html"],
    "export": ["csv", "csv/flows.csv"],
    "perfetto": ["trace.pftrace"],
    "captures": ["pcapng", "pcapng/0-PFC.pcapng"],
    "run": [*_PAGES, "figures", "figures/pause.svg"],
    "reproduce": [*_PAGES, "index.html"],
    "sweep": ["report.html"],
    "sweep-report": [*_PAGES, "sweep.csv", "figures"],
    "sweep-export": ["csv", "csv/sweep.csv"],
}
#: Files that are read as text or as a table: damage within them is found.
READ = {"manifest.json", "scenario.toml", "sweep.json", "sweep.parquet"} | {
    f"{table}.parquet" for table in TABLES
}


@dataclass(frozen=True)
class Told:
    """The outcome of a command.

    Attributes:
        damage: Kind of damage and name.
        code: Exit code; None for an exception that nobody caught.
        text: Everything that was printed.
        outside: What is not as it was.
    """

    damage: str
    code: int | None
    text: str
    outside: list[str]


def damages(command: str) -> Iterator[tuple[str, str, str]]:
    """Kind, directory and name of each."""
    directory = "sweep" if command.startswith("sweep") else "out"
    known = SWEEP if directory == "sweep" else RESULT
    for name in [*known, *WRITTEN.get(command, [])]:
        for kind in KINDS:
            yield kind, directory, name
        if name in READ:
            for kind in ("cut short", "garbled", "empty", "no text"):
                yield kind, directory, name


def _plant(file: Path, outside: Path, kind: str) -> None:
    sound = file.read_bytes() if file.is_file() else b""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    KINDS.get(kind, lambda it, _: it.write_bytes(_damaged(sound, kind)))(file, outside)


def _damaged(sound: bytes, kind: str) -> bytes:
    half = len(sound) // 2
    if kind == "cut short":
        return sound[:half]
    if kind == "garbled":
        return sound[:half] + bytes([sound[half] ^ 1]) + sound[half + 1 :]
    return b"" if kind == "empty" else b"\xff\xfe\x00" * 100


def _loop(file: Path, _: Path) -> None:
    file.symlink_to(file.name)


KINDS: dict[str, Callable[[Path, Path], None]] = {
    "link to a file": lambda file, outside: file.symlink_to(outside / "canary"),
    "link to a folder": lambda file, outside: file.symlink_to(outside / "folder"),
    "link to nothing": lambda file, outside: file.symlink_to(outside / "nothing"),
    "link to its like": lambda file, outside: file.symlink_to(outside / "twin" / file.name),
    "link to itself": _loop,
    "pipe": lambda file, _: os.mkfifo(file),
    "folder": lambda file, _: (file / "full").mkdir(parents=True),
}


def state(folder: Path) -> dict[str, bytes]:
    """The content of a folder by path; for anything but plain files only their presence."""
    return {
        str(it.relative_to(folder)): it.read_bytes() if it.is_file() else b""
        for it in sorted(folder.rglob("*"))
    }


def prepare(folder: Path) -> None:
    """Makes ``outside`` of ``sound``: a canary, and files of every name that is written."""
    outside = folder / "outside"
    shutil.copytree(folder / "sound" / "out", outside / "twin")
    shutil.copytree(folder / "sound" / "sweep", outside / "twin", dirs_exist_ok=True)
    (outside / "canary").write_text("alive")
    for name in {
        Path(name).name
        for name in (*RESULT, *SWEEP, *(it for each in WRITTEN.values() for it in each))
    }:
        (outside / "folder" / name).parent.mkdir(exist_ok=True)
        (outside / "folder" / name).write_text("alive")


def _call(words: Sequence[str]) -> int:
    from unpause import _native

    if words[0] == "-m":
        from importlib import import_module

        return import_module(words[1]).main(words[2:])
    if words[0] == "view":
        return _view(Path(words[1]))
    return _native.main(["unpause", *words])


def _view(directory: Path) -> int:
    """A result in Python, and the answers of ``unpause view``, which serves until stopped."""
    from unpause import load
    from unpause.commands import view
    from unpause.errors import ResultError

    try:
        result = load(directory)
        for table in result.tables:
            result.tables[table]
        answers = view.Answers(result)
        answers.page({})
        answers.run({"n": "0"})
    except ResultError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _into(file: BinaryIO) -> Iterator[None]:
    """Redirect the output of the process to a file."""
    sys.stdout.flush()
    kept = [os.dup(1), os.dup(2)]
    try:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
        yield
    finally:
        sys.stdout.flush()
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)


def _told(case: Path, outside: Path, damage: str, words: Sequence[str]) -> Told:
    before = state(outside)
    os.chdir(case)
    code: int | None = None
    with tempfile.TemporaryFile() as printed:
        with _into(printed):
            try:
                code = _call(words)
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else 1
            except BaseException:
                traceback.print_exc()
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    after = state(outside)
    changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
    return Told(damage, code, text, sorted(changed))


def main() -> None:
    """Runs a command on every damage."""
    folder, command = Path(sys.argv[1]).resolve(), sys.argv[2]
    outside = folder / "outside"
    for number, (kind, directory, name) in enumerate([("sound", "", ""), *damages(command)]):
        case = folder / command / str(number)
        shutil.copytree(folder / "sound", case)
        if directory:
            _plant(case / directory / name, outside, kind)
        damage = f"{kind}: {name}"
        print(damage, file=sys.stderr, flush=True)
        print(json.dumps(asdict(_told(case, outside, damage, COMMANDS[command]))), flush=True)
        os.chdir(folder)
        with suppress(OSError):
            shutil.rmtree(case)


if __name__ == "__main__":
    main()
