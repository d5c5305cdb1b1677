"""Runs that need more memory than there is, refused at every entrance of the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import unpause
from conftest import Cluster
from unpause.claims.reproduced import Experiment
from unpause.commands import reproduce
from unpause.errors import ScenarioError, TooLargeError

# Records every packet of half a second: terabytes.
HUGE = """
duration = "500ms"
[topology]
builder = "fat-tree"
k = 8
host_rate = "100Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "w"
kind = "poisson"
cdf = "websearch"
load = 0.8
[probes]
packets = ["*->*"]
"""


@pytest.fixture
def huge(tmp_path: Path) -> Path:
    file = tmp_path / "huge.toml"
    file.write_text(HUGE)
    return file


def command(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "unpause", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr


def test_a_run_that_is_too_large_is_an_exception(huge: Path) -> None:
    with pytest.raises(TooLargeError, match="of memory") as refused:
        unpause.run(huge)
    assert isinstance(refused.value, MemoryError)
    assert isinstance(refused.value, ScenarioError)
    assert "force=True" in (refused.value.help or "")


def test_a_session_that_is_too_large_is_an_exception(huge: Path) -> None:
    with pytest.raises(TooLargeError, match="of memory"):
        unpause.Session(huge)
    unpause.Session(huge, force=True)


def test_points_that_are_too_large_fail(huge: Path) -> None:
    with pytest.raises(unpause.SweepError, match="of memory"):
        unpause.sweep(huge, {"seed": [1]}, progress=False)


def test_dask_workers_refuse_what_is_too_large(huge: Path, cluster: Cluster) -> None:
    from distributed import Client

    with (
        Client(cluster[0], timeout=20, set_as_default=False) as client,
        pytest.raises(unpause.SweepError, match="of memory"),
    ):
        unpause.sweep(huge, {"seed": [1, 2]}, client=client, progress=False)


def test_reproductions_that_are_too_large_are_refused(
    huge: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [Experiment("F1", huge)]})
    assert reproduce.main(["pcn/F1", "--out", str(tmp_path / "out")]) == 1
    assert "of memory" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["run", "sweep", "testbed"])
def test_commands_refuse_what_is_too_large(name: str, huge: Path, tmp_path: Path) -> None:
    more = {"run": (), "sweep": ("--vary", "seed=1"), "testbed": ("--links", "memory")}[name]
    code, errors = command(name, huge, "--out", tmp_path / "out", *more)
    assert code == 1
    assert "of memory" in errors
    assert "--force" in errors
    assert "Traceback" not in errors


def test_a_forced_run_that_gets_no_memory_is_an_exception(huge: Path) -> None:
    resource = pytest.importorskip("resource")
    if sys.platform != "linux":
        pytest.skip("limits of addresses are kept on Linux")
    program = f"""
import unpause
try:
    unpause.run({str(huge)!r}, duration="20ms", force=True, threads=1, progress=False)
except unpause.TooLargeError as error:
    print("refused:", error.message)
print("alive")
"""
    bytes_ = 2_000_000_000
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_)),
    )
    assert done.returncode == 0, done.stderr
    assert "stopped at" in done.stdout
    assert done.stdout.endswith("alive\n")
