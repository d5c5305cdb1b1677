"""The edges of commands and of the package: closed streams, odd paths, links, arguments."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import unpause

SCENARIO = """
duration = "200us"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "F"
kind = "flow"
from = ["H0", "H1", "H2"]
to = "H3"
size = "500KB"
[probes]
interval = "20us"
ports = ["S0->H3"]
causes = true
"""
posix = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO)
    return tmp_path


def shell(place: Path, arguments: str, stream: str = "{}") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        stream.format(f'"$PYTHON" -m unpause {arguments}'),
        shell=True,
        cwd=place,
        env={**os.environ, "PYTHON": sys.executable, "UNPAUSE_CACHE": "off"},
        capture_output=True,
        timeout=300,
    )


#: By each command that writes in Python, and some that do not; ``r`` is the result of the first.
COMMANDS = (
    "run s.toml --out r",
    "explain r",
    "report r",
    "compare r r",
    "sweep s.toml --vary seed=1,2 --out sweep",
    "export --latex r --out latex",
    "export --perfetto r --out trace",
    "reproduce qcn-inputs/shared-buffer --out paper",
    "list",
    "schema",
)


@posix
# Closed, and with a reader that is gone before the first word, as with `| head -0`.
@pytest.mark.parametrize("stream", ["{} >&-", "(sleep 0.2; {}; echo $? > code) | true"])
def test_closed_standard_output_is_no_mistake(place: Path, stream: str) -> None:
    for arguments in COMMANDS:
        done = shell(place, arguments, stream)
        code = done.returncode or int((place / "code").read_text() if "code" in stream else 0)
        assert code == 0, (arguments, done.stderr)
        assert b"Traceback" not in done.stderr, arguments
        assert b"error" not in done.stderr, arguments
    assert (place / "r/report.html").is_file()
    assert (place / "sweep/report.html").is_file()
    assert b"Traceback" not in shell(place, "run s.toml --out all >&- 2>&- <&-").stderr
    # Nothing that was printed went into a file.
    assert unpause.load(place / "all").runs.num_rows == 2


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_a_path_that_is_not_utf_8_is_refused_before_anything_runs(place: Path) -> None:
    for command in ("run s.toml", "sweep s.toml --vary seed=1"):
        done = shell(place, command + r""" --out "$(printf 'd\377\376')/o" """)
        assert done.returncode == 1, command
        assert b"not UTF-8" in done.stderr, done.stderr
        assert b"Traceback" not in done.stderr
    assert sorted(os.listdir(place)) == ["s.toml"]


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes")
def test_a_scenario_and_a_result_may_have_names_that_are_not_utf_8(place: Path) -> None:
    name = os.fsdecode(b"s\xff.toml")
    (place / "s.toml").rename(place / name)
    odd = "\"$(printf '{}')\""
    file, folder = odd.format(r"s\377.toml"), odd.format(r"d\376")
    assert shell(place, f"run {file} --out r").returncode == 0
    for _ in range(2):
        done = shell(place, f"sweep {file} --vary seed=1 --out sweep")
        assert done.returncode == 0, done.stderr
    (place / "r").rename(place / os.fsdecode(b"d\xfe"))
    for arguments in (
        f"explain {folder}",
        f"compare {folder} sweep",
        f"export {folder}",
        f"export --latex {folder} --out latex",
        f"export --perfetto {folder} --out trace",
    ):
        done = shell(place, arguments)
        assert b"Traceback" not in done.stderr, done.stderr
        assert done.returncode == 0 or b"error: " in done.stderr, arguments
    done = shell(place, f"report {folder}")
    assert done.returncode == 1
    assert b"not UTF-8" in done.stderr


@posix
def test_a_link_in_place_of_figures_is_refused_and_nothing_is_lost(place: Path) -> None:
    assert shell(place, "run s.toml --out b").returncode == 0
    elsewhere = place / "elsewhere"
    (place / "b/figures").rename(elsewhere)
    (place / "b/figures").symlink_to(elsewhere)
    before = sorted(os.listdir(place / "b"))
    figures = sorted(os.listdir(elsewhere))
    done = shell(place, "run s.toml --out b")
    assert done.returncode == 1
    assert b"b/figures is a link" in done.stderr
    assert sorted(os.listdir(place / "b")) == before
    assert sorted(os.listdir(elsewhere)) == figures
    (place / "b/figures").unlink()
    assert shell(place, "run s.toml --out b").returncode == 0
    assert (place / "b/figures").is_dir()


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda it: it.send("H0", "H1", -1), "size"),
        (lambda it: it.send("H0", "H1", 1.5), "size"),
        (lambda it: it.send("H0", "H1", 2**64), "size"),
        (lambda it: it.send("H0", "H1", 1, connection=-1), "connection"),
        (lambda it: it.send("H9", "H1", 1), "src"),
        (lambda it: it.send(0, 9, 1), "dst"),
        (lambda it: it.send(0, None, 1), "dst"),
        (lambda it: it.schedule(math.nan), "delay_ns"),
        (lambda it: it.schedule(math.inf), "delay_ns"),
        (lambda it: it.schedule("1"), "delay_ns"),
        (lambda it: it.advance(2**64), "until_ns"),
        (lambda it: unpause.Session(SCENARIO, scheme="PFC", priority=8), "priority"),
        (lambda it: unpause.Session(SCENARIO, scheme="PFC", seed=-1), "seed"),
        (lambda it: unpause.Session(SCENARIO, scheme="PFC", duration="x"), "duration"),
        (lambda it: unpause.run(SCENARIO, seed=-1), "seed"),
        (lambda it: unpause.run(SCENARIO, seeds=2**40), "seeds"),
        (lambda it: unpause.run(SCENARIO, threads=1.5), "threads"),
    ],
)
def test_errors_name_the_argument(call: Any, argument: str) -> None:
    session = unpause.Session(SCENARIO, scheme="PFC")
    with pytest.raises((ValueError, TypeError, RuntimeError), match=argument):
        call(session)
    session.send("H0", "H1", 1000)
    assert next(iter(session)).kind == "delivered"
