"""The command line as the package has it: all in one process, and Ctrl-C at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import unpause
from test_reproduce import SMALL

LONG = SMALL.replace('"1ms"', '"400s"').replace('"10us"', '"20us"')


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
        # Background processes may ignore SIGINT.
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
    assert lines.index("report: results/small/report.html") < lines.index("tables: results/small")
    assert (tmp_path / "results" / "small" / "report.html").is_file()


def test_a_run_is_simulated_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNPAUSE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")

    def said(*words: str) -> str:
        code, out, err = finish(start([*words], tmp_path))
        assert (code, err) == (0, "")
        return out

    run = ["run", "small.toml", "--no-report", "--out"]
    assert "reused" not in said(*run, "a")
    assert "reused: 3 of 3 runs" in said(*run, "b")
    assert "reused" not in said(*run, "c", "--fresh")
    assert json.loads(said(*run, "d", "--output", "json"))["reused"] == 3
    tables = [(tmp_path / name / "flows.parquet").read_bytes() for name in "abcd"]
    assert len(set(tables)) == 1
    assert said("cache").startswith("3 finished runs, ")
    assert said("cache", "--clear").startswith("removed 3 finished runs, ")
    assert said("cache").startswith("0 finished runs, 0.0 MB of at most 2000.0 MB: ")
    monkeypatch.setenv("UNPAUSE_CACHE", "off")
    assert "reused" not in said(*run, "e")
    assert said("cache").startswith("no cache: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_report_with_a_line(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    before = (
        "import os, signal, time; import unpause.commands.report as report\n"
        f"report.build = lambda *_, **__: (os.kill(os.getpid(), {int(number)}), time.sleep(60))"
    )
    code, _, err = finish(start(["run", "small.toml"], tmp_path, before))
    assert code == 128 + number
    assert err == "interrupted: no report was drawn; the tables are complete\n"


#: Executed first: these descriptors have no reader, as after ``| head`` has ended.
NO_READER = """
import os
read, write = os.pipe()
for number in {numbers}:
    os.dup2(write, number)
os.close(read)
"""


@pytest.mark.parametrize("numbers", [[1], [1, 2]])
def test_a_run_whose_output_no_one_reads_is_complete(numbers: list[int], tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    code, out, err = finish(start(["run", "small.toml", "--out", "read"], tmp_path))
    assert (code, err) == (0, "")
    assert out
    no_reader = NO_READER.format(numbers=numbers)
    ended = finish(start(["run", "small.toml", "--out", "unread"], tmp_path, no_reader))
    assert ended == (0, "", "")

    def names(directory: str) -> set[str]:
        found = (tmp_path / directory).rglob("*")
        return {str(it.relative_to(tmp_path / directory)) for it in found}

    assert names("unread") == names("read") >= {"report.html", "report.json", "runs.parquet"}


def test_a_command_whose_reader_leaves_in_between_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, "utf-8")
    assert finish(start(["run", "small.toml", "--no-report"], tmp_path))[0] == 0
    process = start(["report", "results/small"], tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "Two flows into one port\n"
    process.stdout.close()
    assert process.stderr is not None
    assert (process.stderr.read(), process.wait(300)) == ("", 0)
    assert (tmp_path / "results" / "small" / "report.html").is_file()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_start_with_a_line(number: signal.Signals, tmp_path: Path) -> None:
    # While the extension module is imported.
    before = (
        "import os, sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'unpause._native':\n"
        f"            os.kill(os.getpid(), {int(number)}); time.sleep(60)\n"
        "sys.meta_path.insert(0, Slow())"
    )
    code, out, err = finish(start(["list"], tmp_path, before))
    assert (code, out, err) == (128 + number, "", "interrupted\n")


def test_the_command_starts_without_large_libraries(tmp_path: Path) -> None:
    code = (
        "import sys, unpause.cli; sys.argv = ['unpause', 'list']; unpause.cli.main()\n"
        "large = {'pyarrow', 'numpy', 'matplotlib', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'imported: {large}' if large else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_names_of_the_package_come_when_they_are_asked_for() -> None:
    code = (
        "import unpause.commands.sweep, unpause.figures, unpause\n"
        "for name in unpause.__all__: getattr(unpause, name)\n"
        "assert callable(unpause.sweep) and callable(unpause.run)\n"
        "assert set(unpause.__all__) <= set(dir(unpause))\n"
        "try: unpause.nothing\n"
        "except AttributeError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "module 'unpause' has no attribute 'nothing'\n"


def test_the_package_is_a_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unpause", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("unpause ")


@pytest.mark.parametrize(
    ("arguments", "begun", "said"),
    [
        (["run", "long.toml", "--force"], "ready", "interrupted: nothing was written"),
        (
            ["reproduce", "pcn/F12"],
            "[1/",
            "interrupted: finished figures are kept; the same command resumes from there",
        ),
    ],
)
def test_ctrl_c_ends_runs_with_a_line(
    arguments: list[str], begun: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG, "utf-8")
    before = (
        "from unpause import _native; from unpause.commands import reproduce; "
        "print('ready', flush=True)"
    )
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
        (["sweep", "x.toml", "--jobs", "0"], 2, "0 is not in 1.."),
        (["sweep", "x.toml", "--jobs", "x"], 2, "invalid value 'x' for '--jobs <N>'"),
        (["sweep", "x.toml", "--dask", "foo"], 2, "it has no port"),
        (["sweep", "x.toml"], 1, "x.toml"),
        (["reproduce", "pnc"], 1, "did you mean 'pcn'"),
        (["run", "x.toml"], 1, "cannot read x.toml"),
        (["rn"], 2, "a similar subcommand exists: 'run'"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, said: str, tmp_path: Path) -> None:
    found, _, err = finish(start(arguments, tmp_path))
    assert found == code
    assert said in err


def test_a_report_imports_no_pandas(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    scenario = {
        "duration": "20us",
        "topology": {"builder": "single-switch", "hosts": 2, "rate": "40Gbps", "delay": "1us"},
        "scheme": [{"name": "PFC"}],
        "traffic": [{"name": "F", "kind": "flow", "from": "H0", "to": "H1", "size": "10KB"}],
    }
    out = unpause.run(scenario).write(tmp_path / "out")
    words = [sys.executable, "-X", "importtime", "-m", "unpause.commands.report", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"pyarrow", "matplotlib"} <= imported
    # The list has refused modules as well: pandas itself, but nothing within it.
    assert not {"pandas._libs", "scipy"} & imported
