"""The cache of finished runs, as the command uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCENARIO = """
duration = "200us"
[topology]
builder = "single-switch"
hosts = 3
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "F"
kind = "flow"
from = ["H0", "H1"]
to = "H2"
size = "100KB"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return tmp_path


def unpause(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unpause", *arguments],
        cwd=place,
        env={**os.environ, "UNPAUSE_CACHE": "cc"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def run(place: Path, out: str) -> subprocess.CompletedProcess[str]:
    done = unpause(place, "run", "s.toml", "--out", out, "--no-report", "--fct-hpcc")
    assert done.returncode == 0, done.stderr
    return done


def test_clear_removes_runs_and_nothing_else(place: Path) -> None:
    run(place, "a")
    (place / "cc/runs/thesis.txt").write_text("precious")
    cleared = unpause(place, "cache", "--clear")
    assert "removed 1 finished run" in cleared.stdout
    assert "thesis.txt" in cleared.stdout
    assert os.listdir(place / "cc/runs") == ["thesis.txt"]


def test_a_changed_time_is_not_believed(place: Path) -> None:
    run(place, "a")
    (about,) = place.glob("cc/runs/*/run.json")
    whole = next(place.glob("a/fct-*.txt")).read_text()
    last = whole.split()[-1]
    text = about.read_text()
    assert last in text
    about.write_text(text.replace(last, str(int(last) + 1)))
    again = run(place, "b")
    assert "reused" not in again.stdout
    assert next(place.glob("b/fct-*.txt")).read_text() == whole


@pytest.mark.skipif(sys.platform == "win32", reason="modes of POSIX")
def test_a_shared_folder_is_not_trusted(place: Path) -> None:
    run(place, "a")
    (place / "cc/runs").chmod(0o777)
    again = run(place, "b")
    assert "reused" not in again.stdout
    (note,) = [line for line in again.stderr.splitlines() if "cache" in line]
    assert note.startswith("note: the cache is not used: others may write to cc/runs")
    refused = unpause(place, "cache", "--clear")
    assert refused.returncode == 1
    assert list(place.glob("cc/runs/*/run.json"))
