"""The list of promises: its places and tests exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMISES = ROOT / "docs/internals/promises.md"
_FILE = re.compile(r"`([\w./-]+\.(?:rs|py|toml|yml))`")
#: Functions and types with the file that has them: ``\`one\` and \`other\` in \`file\```.
_NAMED = re.compile(r"((?:`[\w:]+`(?: and )?)+) in `([\w./-]+)`")
_TESTS = re.compile(r"^\s*(?:def test_|#\[test\])", re.M)

pytestmark = pytest.mark.skipif(not PROMISES.is_file(), reason="the documents are not here")


def _rows() -> list[list[str]]:
    lines = PROMISES.read_text("utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return rows[1:]


def test_every_promise_has_a_place_and_a_test() -> None:
    rows = _rows()
    assert len(rows) >= 15
    for row in rows:
        promise, place, tests = row
        for cell in (place, tests):
            files = _FILE.findall(cell)
            assert files, promise
            for file in files:
                assert (ROOT / file).is_file(), f"{promise}: no {file}"
        for file in _FILE.findall(tests):
            assert _TESTS.search((ROOT / file).read_text("utf-8")), f"{promise}: no test in {file}"


def test_named_functions_are_there() -> None:
    named = [pair for row in _rows() for pair in _NAMED.findall(row[1])]
    assert len(named) >= 10
    for names, file in named:
        source = (ROOT / file).read_text("utf-8")
        for name in re.findall(r"`([\w:]+)`", names):
            last = name.rpartition("::")[2]
            defined = rf"\b(?:fn|def|class|struct|enum) {last}\b"
            assert re.search(defined, source), f"no {name} in {file}"
