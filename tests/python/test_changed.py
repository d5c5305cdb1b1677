"""Directories that are well-formed and wrong: a sentence with the table's name, nothing raw."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import changed
import unpause
from unpause.errors import ResultError

#: Commands that read on their own, and those that read what :func:`unpause.load` has accepted.
_ALONE = ["load", "export"]
_AFTER = ["compare", "explain", "latex", "trace", "captures", "native compare"]
#: Of the changes that are accepted, a report is drawn of each so many.
_REPORTS = 12
#: All changes take ten minutes: ``UNPAUSE_CHANGED=all`` tries them, else one in 17 is tried.
_EVERY_CHANGE = os.environ.get("UNPAUSE_CHANGED") == "all"
_OF_CHANGES = 17
#: Tried always, with every command: these failed raw once.
_ALWAYS = {
    "losses.port: largest",
    "link_changes.node: null",
    "link_changes.time_ns: 0",
    "scenario.job: [{}]",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return changed.make(tmp_path_factory.mktemp("changed"))


def test_no_changed_directory_fails_raw(
    sound: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = [*changed.changes(sound), *changed.scenarios(sound)]
    assert len(made) >= 200
    every = 1 if _EVERY_CHANGE else _OF_CHANGES
    made = [it for at, it in enumerate(made) if at % every == 0 or it[0] in _ALWAYS]
    assert {what for what, _ in made} >= _ALWAYS
    accepted = 0
    raw = []
    for what, change in made:
        table = what.split(":")[0].split(".")[0]
        is_accepted = True
        for command, code, said in changed.outcomes(sound, change, tmp_path, _ALONE):
            if not _is_answer(code, said) or (code == 1 and table not in said):
                raw.append((what, command, said))
            is_accepted = is_accepted and code == 0
        if not is_accepted:
            continue
        accepted += 1
        commands = _AFTER if accepted % 3 == 0 else _AFTER[:2]
        commands = [*commands, *["report"] * (accepted % _REPORTS == 0)]
        if what in _ALWAYS:
            commands = [*_AFTER, "report"]
        for command, code, said in changed.outcomes(sound, change, tmp_path, commands):
            if not _is_answer(code, said):
                raw.append((what, command, said))
    assert not raw
    assert accepted < len(made) / 2 or not _EVERY_CHANGE


def _is_answer(code: int | None, said: str) -> bool:
    return code in (0, 1) and "Traceback" not in said and "panicked" not in said


def _bomb(directory: Path, rows: int) -> None:
    """A table of equal rows: some kilobytes, with the right digest."""
    flows = pq.read_table(directory / "flows.parquet")
    many = flows.slice(0, 1).take(pa.array([0] * 1_000_000, pa.int32()))
    with pq.ParquetWriter(directory / "flows.parquet", flows.schema, compression="zstd") as writer:
        for _ in range(rows // 1_000_000):
            writer.write_table(many)
    changed.sealed(directory)


@pytest.mark.parametrize("warmup", [False, True])
def test_rows_are_counted_before_they_are_read(sound: Path, tmp_path: Path, warmup: bool) -> None:
    out = tmp_path / "a"
    shutil.copytree(sound, out)
    if warmup:
        # Of flows in a warm-up `runs` does not say how many there are.
        runs = pq.read_table(out / "runs.parquet")
        place = runs.schema.get_field_index("counted_from_ns")
        runs = runs.set_column(place, runs.schema.field(place), pa.array([1.0] * runs.num_rows))
        pq.write_table(runs, out / "runs.parquet", compression="zstd")
    _bomb(out, 5_000_000)
    assert (out / "flows.parquet").stat().st_size < 2_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ResultError, match=r"flows\.parquet: damaged: not what a run writes: "):
        _ = unpause.load(out).flows
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_memory_is_bounded_for_the_command_line(sound: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    shutil.copytree(sound, out)
    _bomb(out, 5_000_000)
    for words in (["compare", str(out)], ["export", str(out)], ["explain", str(out)]):
        done = subprocess.run(
            [sys.executable, "-m", "unpause", *words],
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)),
            check=False,
        )
        assert done.returncode == 1, done.stderr
        assert "flows.parquet" in done.stderr
        assert "5000000" in done.stderr.replace(",", "")
        assert _is_answer(done.returncode, done.stderr), done.stderr


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        ("flows", "start_ns", float("nan"), "column start_ns has NaN"),
        ("flows", "start_ns", 1e9, r"has 1e\+09, and the run ended at 2e\+06 ns"),
        ("flows", "fct_ns", -1.0, "column fct_ns has -1, less than 0"),
        ("flows", "priority", 9, "has 9; priorities are 0 to 7"),
        ("victims", "flow_id", 77, "column flow_id has 77, no flow of run 0 in flows"),
        ("flows", "run", 2, "column run has 2, and runs.parquet 2 runs"),
        ("ports", "scheme", "other", "run 0 is of scheme 'other', in runs.parquet of 'PFC'"),
        ("pauses", "end_ns", 0.0, "end_ns is before start_ns in a row"),
    ],
)
def test_values_are_checked_when_they_are_read(
    sound: Path, tmp_path: Path, table: str, column: str, value: object, said: str
) -> None:
    out = tmp_path / "a"
    shutil.copytree(sound, out)
    rows = pq.read_table(out / f"{table}.parquet")
    values = rows.column(column).to_pylist()
    values[0] = value
    place = rows.schema.get_field_index(column)
    field = rows.schema.field(place)
    rows = rows.set_column(place, field, pa.array(values, field.type))
    pq.write_table(rows, out / f"{table}.parquet", compression="zstd")
    changed.sealed(out)
    result = unpause.load(out)
    with pytest.raises(ResultError, match=said):
        _ = result.tables[table]


def test_a_manifest_announces_its_runs(sound: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    shutil.copytree(sound, out)
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    manifest["runs"] = manifest["runs"][:1]
    (out / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(ResultError, match=r"runs\.parquet: damaged: .*: 2 rows for 1 runs"):
        unpause.load(out)
