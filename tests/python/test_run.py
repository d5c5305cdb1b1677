"""Running scenarios from Python, through the extension module."""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unpause
from scenarios import PCN, PFC, flow, star
from unpause import ScenarioError, schema

ROOT = Path(__file__).parents[2]

SMALL = star(
    3,
    PFC,
    PCN,
    flow("f", "H0", "H2", size="200KB", record=True),
    flow("g", "H1", "H2", size="200KB"),
    rate="40Gbps",
    title="Two flows into one port",
    probes={"interval": "10us", "ports": ["S0->H2"]},
)

# Minutes of line rate, with more samples than there is memory: no test waits for its end.
LONG = SMALL.replace("1ms", "400s").replace('size = "200KB"\n', "")


@pytest.fixture(scope="module")
def small() -> unpause.Result:
    return unpause.run(SMALL)


def test_tables_have_the_documented_columns(small: unpause.Result) -> None:
    assert list(small.tables) == list(schema.TABLES)
    for name, columns in schema.TABLES.items():
        found = {f.name: (f.type, f.nullable) for f in small.tables[name].schema}
        assert found == {c.name: (c.type, c.nullable) for c in columns}, name


def test_flows_complete(small: unpause.Result) -> None:
    assert small.schemes == ["PFC", "PCN"]
    assert small.flows.num_rows == 4
    assert all(s >= 1.0 for s in small.flows["slowdown"].to_pylist())
    assert small.flow_series.num_rows > 0
    assert small.port_series.num_rows > 0
    assert small.title == "Two flows into one port"
    assert small.manifest["unpause"] == unpause.__version__


def test_tables_are_handed_over_without_a_copy(small: unpause.Result) -> None:
    def address() -> int:
        table = pa.table(small._native.table("flow_series"))
        return table.column("time_ns").chunk(0).buffers()[1].address

    assert address() == address()


def test_text_mapping_and_file_are_the_same_scenario(small: unpause.Result, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    for scenario in (file, str(file), tomllib.loads(SMALL)):
        again = unpause.run(scenario)
        for name in schema.TABLES:
            assert again.tables[name].equals(small.tables[name]), name


def test_result_does_not_depend_on_threads(small: unpause.Result) -> None:
    again = unpause.run(SMALL, threads=1)
    for name in schema.TABLES:
        assert again.tables[name].equals(small.tables[name]), name


def test_options() -> None:
    result = unpause.run(SMALL, schemes=["PCN"], seed=7, duration="50us")
    assert result.schemes == ["PCN"]
    [row] = result.runs.to_pylist()
    assert row["seed"] == 7
    assert row["simulated_ns"] == 50_000
    assert row["flows_completed"] == 0


def test_written_and_loaded_again(small: unpause.Result, tmp_path: Path) -> None:
    path = small.write(tmp_path / "result")
    loaded = unpause.load(path)
    for name in schema.TABLES:
        assert loaded.tables[name].equals(small.tables[name]), name
    assert loaded.source == SMALL
    assert loaded.warnings == small.warnings


def test_validate_names_the_runs() -> None:
    assert unpause.validate(SMALL) == ["PFC", "PCN"]


SHIPPED = [*ROOT.glob("papers/*/scenarios/**/*.toml"), *ROOT.glob("scenarios/**/*.toml")]


def test_shipped_scenarios_are_valid() -> None:
    assert len(SHIPPED) > 100
    for file in SHIPPED:
        assert unpause.validate(file), file


def test_mistake_in_a_scenario_has_a_place() -> None:
    with pytest.raises(ScenarioError) as raised:
        unpause.validate("\n\n" + SMALL.replace("duration", "durration"))
    error = raised.value
    assert (error.file, error.line) == ("<string>", 3)
    assert "durration" in error.message
    assert "duration" in str(error)


def test_mistake_in_the_options() -> None:
    with pytest.raises(ScenarioError, match="PCNN"):
        unpause.run(SMALL, schemes=["PCNN"])
    with pytest.raises(ScenarioError, match="duration"):
        unpause.run(SMALL, duration="5 parsecs")


def test_no_such_file() -> None:
    with pytest.raises(OSError, match="nowhere"):
        unpause.run("nowhere.toml")


def test_progress_is_told() -> None:
    class Enough(Exception):
        pass

    seen = []

    def watch(progress: unpause.Progress) -> None:
        seen.append(progress)
        if progress.fraction > 0:
            raise Enough

    with pytest.raises(Enough):
        unpause.run(LONG, force=True, progress=watch)
    last = seen[-1]
    assert last.runs == 2
    assert last.label in ("PFC", "PCN")
    assert 0 < last.fraction < 1
    assert last.packet_hops > 0
    assert last.left_s is not None
    assert last.left_s > 0


def test_ctrl_c_ends_a_run() -> None:
    timer = threading.Timer(0.5, _thread.interrupt_main)
    started = time.monotonic()
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            unpause.run(LONG, force=True)
    finally:
        timer.cancel()
        timer.join()
    assert time.monotonic() - started < 30


def test_other_threads_run_meanwhile() -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(0.001)

    def watch(progress: unpause.Progress) -> None:
        if ticks > 20:
            raise TimeoutError

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.raises(TimeoutError):
            unpause.run(LONG, force=True, progress=watch)
    finally:
        stop.set()
        thread.join()


def unpause_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unpause.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_command_line_runs_and_reports(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    done = unpause_command("run", str(file), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()
    assert "report.html" in done.stdout


def test_command_line_answers_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(SMALL.replace('"40Gbps"', '"40Gbit"'), "utf-8")
    done = unpause_command("validate", str(file))
    assert done.returncode != 0
    assert "wrong.toml" in done.stderr


@pytest.mark.parametrize("seeds", [[1, 2, 3], range(3), "1..3"])
def test_a_list_of_seeds_is_for_a_sweep(seeds: Any) -> None:
    with pytest.raises(TypeError, match=r'unpause\.sweep\(scenario, \{"seed": \[1, 2, 3\]\}\)'):
        unpause.run(SMALL, seeds=seeds)
