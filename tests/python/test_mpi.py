"""One run by several processes that mpirun starts; skipped where there is none, or no MPI in it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_reproduce import SMALL, one_port

ROOT = Path(__file__).parents[2]
UNPAUSE = str(Path(sys.executable).with_name("unpause"))
#: More processes than cores, and as whoever runs tests: what users type is plain.
MPIRUN = ("mpirun", "--oversubscribe", "--allow-run-as-root")
RANKS = {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}


@pytest.fixture(scope="module", autouse=True)
def mpi(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skips where it cannot be tried, and says why."""
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here: make install-mpi")
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False)
    if "Open MPI" not in version.stdout:
        pytest.skip("this mpirun is not Open MPI's")
    alone = subprocess.run(
        [UNPAUSE, "run", "nothing.toml"],
        cwd=tmp_path_factory.mktemp("nothing"),
        env={**os.environ, **RANKS},
        capture_output=True,
        text=True,
        check=False,
    )
    if "built without MPI" in alone.stderr:
        pytest.skip("unpause was built without MPI: make install-mpi")


def start(ranks: int, place: Path, *arguments: object) -> subprocess.Popen[str]:
    words = [*MPIRUN, "-n", str(ranks), UNPAUSE, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=place, stdout=pipe, stderr=pipe, text=True)


def on_ranks(ranks: int, place: Path, *arguments: object) -> tuple[int, str, str]:
    process = start(ranks, place, *arguments)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def tables(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.glob("*.parquet")}


STREAMED = "streamed.toml"
#: A file, and what of it is run: pauses and their causes; TCP and a search for deadlocks; more
#: samples of ports than stay in memory.
CASES: dict[str, list[str]] = {
    "scenarios/nic-storm.toml": [],
    "scenarios/incast.toml": ["--duration", "2ms"],
    "papers/capfc/scenarios/f8c.toml": ["--duration", "11ms", "--scheme", "PFC_wstop"],
    "papers/ecn-sharp/scenarios/t5-causes.toml": ["--duration", "3ms"],
    STREAMED: ["--threads", "1"],
}


@pytest.mark.parametrize("file", CASES)
def test_ranks_do_not_change_a_byte(file: str, tmp_path: Path) -> None:
    path = ROOT / file
    if file == STREAMED:
        path = tmp_path / file
        path.write_text(one_port(probes={"interval": "5ns", "ports": ["*->*"]}), "utf-8")
    run = ["run", str(path), "--no-report", "--quiet", *CASES[file]]
    alone = [UNPAUSE, *run, "--out", "alone"]
    subprocess.run(alone, cwd=tmp_path, check=True)
    expected = tables(tmp_path / "alone")
    assert len(expected) > 5
    for ranks, threads in [(2, 1), (4, 1), (2, 2)]:
        out = f"{ranks}x{threads}"
        more = ["--out", out] if "--threads" in run else ["--out", out, "--threads", str(threads)]
        code, said, complaints = on_ranks(ranks, tmp_path, *run, *more)
        assert (code, said, complaints) == (0, "", "")
        assert tables(tmp_path / out) == expected, out


def test_rank_0_alone_speaks(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    code, out, err = on_ranks(3, tmp_path, "run", "small.toml", "--no-report")
    assert code == 0
    assert out.count("Two flows into one port") == 1
    assert out.count("tables: results/small") == 1
    assert err.count("3 ranks of 1 thread") == 1


def test_a_mistake_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(SMALL.replace("hosts = 3", "hots = 3"), "utf-8")
    code, _, err = on_ranks(2, tmp_path, "run", "wrong.toml")
    assert code == 1
    assert err.count("`hots`") == 1, err
    assert not (tmp_path / "results").exists()
    code, _, err = on_ranks(2, tmp_path, "run", "-")
    assert code == 1
    assert err.count("standard input") == 1, err


@pytest.mark.parametrize("command", ["sweep", "testbed", "reproduce"])
def test_other_commands_are_refused(command: str, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    code, _, err = on_ranks(2, tmp_path, command, "small.toml")
    assert code == 1
    assert err.count(f"each would do the whole `unpause {command}`") == 1, err


def under_way(place: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A run that lasts, and its ranks' processes in order."""
    (place / "long.toml").write_text(one_port(duration="400s"), "utf-8")
    process = start(2, place, "run", "long.toml", "--out", "out")
    for _ in range(600):
        found: dict[str, int] = {}
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii")
        for child in children.split():
            environment = Path(f"/proc/{child}/environ").read_bytes().decode()
            rank = re.search(r"OMPI_COMM_WORLD_RANK=(\d+)", environment)
            if rank:
                found[rank[1]] = int(child)
        if len(found) == 2 and (place / "out" / ".unpause").exists():
            time.sleep(0.5)
            return process, [found["0"], found["1"]]
        time.sleep(0.1)
    raise AssertionError("it does not begin")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_rank_0_ends_all_with_a_line(number: signal.Signals, tmp_path: Path) -> None:
    process, (first, _) = under_way(tmp_path)
    os.kill(first, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert (out, err.count("interrupted: nothing was written")) == ("", 1)
    assert not (tmp_path / "out").exists()


def test_ctrl_c_at_mpirun_ends_all_with_a_line(tmp_path: Path) -> None:
    process, _ = under_way(tmp_path)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert (out, err.count("interrupted: nothing was written")) == ("", 1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_dies_leaves_nothing_that_looks_whole(rank: int, tmp_path: Path) -> None:
    process, ranks = under_way(tmp_path)
    os.kill(ranks[rank], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert f"rank {rank}" in err
    assert "signal 9" in err
    assert [path.name for path in (tmp_path / "out").iterdir()] == [".unpause"]
    again = subprocess.run(
        [UNPAUSE, "compare", "out"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
