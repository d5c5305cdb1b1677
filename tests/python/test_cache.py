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


#: Runs the scenario again and again, into folders of its own; every table has to be as alone.
_AGAIN = """
import sys
from pathlib import Path
from unpause import _native

name, rounds = sys.argv[1], int(sys.argv[2])
alone = {file.name: file.read_bytes() for file in Path("alone").glob("*.parquet")}
Path(f"ready-{name}").touch()
while not (Path("ready-writes").exists() and Path("ready-trims").exists()):
    pass
for number in range(rounds):
    out = f"{name}-{number}"
    code = _native.main(["unpause", "run", "s.toml", "--out", out, "--no-report", "--quiet"])
    assert code == 0, code
    assert {file.name: file.read_bytes() for file in Path(out).glob("*.parquet")} == alone, out
print("as alone")
"""


def test_two_programs_use_one_cache_at_once(place: Path) -> None:
    """One keeps what it has run, the other removes everything after each of its runs."""
    run(place, "alone")
    assert "removed 1 finished run" in unpause(place, "cache", "--clear").stdout
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", _AGAIN, name, "20"],
            cwd=place,
            env={**os.environ, "UNPAUSE_CACHE": "cc", "UNPAUSE_CACHE_SIZE": size},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, size in (("writes", "1GB"), ("trims", "0B"))
    ]
    for program in programs:
        printed, said = program.communicate(timeout=300)
        assert program.returncode == 0, said
        assert printed.splitlines()[-1] == "as alone"
    left = [path.name for path in (place / "cc/runs").iterdir()]
    assert all(len(name) == 64 for name in left), left
    run(place, "last")
    assert "reused" in run(place, "again").stdout
