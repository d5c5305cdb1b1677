"""The command line as the package has it: all in one process, and Ctrl-C at any time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from test_reproduce import SMALL

LONG = SMALL.replace('"1ms"', '"400s"')


def start(arguments: list[str], place: Path, before: str = "") -> subprocess.Popen[str]:
    """``unpause`` with `arguments`, after `before` has been executed in its process."""
    code = f"{before}\nimport sys; from unpause.cli import main; sys.exit(main())"
    # No other Python can be found: what needs one would say so.
    environment = {**os.environ, "UNPAUSE_PYTHON": str(place / "nothing"), "PATH": str(place)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # What runs in the background may ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def test_a_run_draws_its_report_in_its_own_process(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    code, out, err = finish(start(["run", "small.toml"], tmp_path))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "Two flows into one port"
    # In order, although Rust writes the one and Python the other.
    assert lines.index("tables: results/small") < lines.index("report: results/small/report.html")
    assert (tmp_path / "results" / "small" / "report.html").is_file()


def test_ctrl_c_ends_the_report_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    before = (
        "import os, signal, time; import unpause.report as report\n"
        "report.build = lambda _: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60))"
    )
    code, _, err = finish(start(["run", "small.toml"], tmp_path, before))
    assert code == 130
    assert err == "interrupted: no report was drawn; the tables are complete\n"


@pytest.mark.parametrize(
    ("arguments", "begun", "said"),
    [
        (["run", "long.toml"], "ready", "interrupted: nothing was written"),
        (["reproduce", "pcn/F12"], "[1/", "interrupted: the page has what was finished before"),
    ],
)
def test_ctrl_c_ends_runs_with_a_line(
    arguments: list[str], begun: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG, "utf-8")
    before = "from unpause import _native, reproduce; print('ready', flush=True)"
    process = start(arguments, tmp_path, before)
    while not process.stdout.readline().startswith(begun):
        assert process.poll() is None
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    code, _, err = finish(process)
    assert (code, err) == (130, f"{said}\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["sweep", "x.toml", "--jobs", "0"], 2, "must be at least 1"),
        (["sweep", "x.toml"], 1, "x.toml"),
        (["reproduce", "pnc"], 1, "did you mean 'pcn'"),
        (["run", "x.toml"], 1, "cannot read x.toml"),
        (["rnu"], 2, "unrecognized subcommand"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    found, _, err = finish(start(arguments, tmp_path))
    assert found == code
    assert said in err
