"""Reading result directories, and the tables of a result."""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unpause
from conftest import Builder
from unpause import ResultError
from unpause.data import files, schemes


def test_load_reads_what_was_written(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    made = pcn_f2()
    made.manifest["warnings"] = [
        "plain",
        {"scheme": "PCN", "message": "12 drops", "help": "raise it"},
    ]
    result = unpause.load(made.write(tmp_path / "f2"))
    assert result.schemes == ["PFC", "PCN"]
    assert result.title == "Made-up PCN Fig. 2"
    assert result.warnings == ["plain", "PCN: 12 drops (raise it)."]
    assert result.flows.equals(made.tables()["flows"])
    assert [run.scheme for run in result.runs_of("PCN")] == ["PCN"]
    assert result.runs_of("PCN")[0].table("flows").num_rows == 6
    assert result.runs_of("QCN") == []


def test_the_thread_that_asks_reads_a_table(
    pcn_f2: Callable[[], Builder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one would hold the file still where Python ends, and then the process aborts."""
    readers: set[int] = set()

    class Watched(io.BufferedReader):
        def read(self, size: int | None = -1) -> bytes:
            readers.add(threading.get_ident())
            return super().read(size)

    def parquet(opened: BinaryIO, strings: Sequence[str] = ()) -> pq.ParquetFile:
        return original(Watched(io.FileIO(os.dup(opened.fileno()))), strings)

    original = files.parquet
    monkeypatch.setattr(files, "parquet", parquet)
    before = pa.cpu_count()
    pa.set_cpu_count(4)
    try:
        result = unpause.load(pcn_f2().write(tmp_path / "f2"))
        assert result.flows.num_rows == 12
    finally:
        pa.set_cpu_count(before)
    assert readers == {threading.get_ident()}


def test_a_notebook_shows_a_summary(pcn_f2: Callable[[], Builder]) -> None:
    made = pcn_f2()
    made.manifest["warnings"] = [{"scheme": "PCN", "run": 1, "kind": "drops", "message": "1 < 2"}]
    result = made.result()
    html = result._repr_html_()
    assert "<h4>Made-up PCN Fig. 2</h4>" in html
    # The overview and the table of means.
    assert html.count("<tr>") == 2 * (1 + len(result.schemes))
    assert "1 &lt; 2" in html
    assert len(repr(result)) < 200


def test_to_pandas(pcn_f2: Callable[[], Builder]) -> None:
    result = pcn_f2().result()
    frame = result.to_pandas("flows")
    assert list(frame["traffic"][:3]) == ["F0", "F1", "burst"]
    with pytest.raises(KeyError, match="no table 'flow'"):
        result.to_pandas("flow")


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no such directory"):
        unpause.load(tmp_path / "nothing")


def test_directories_of_sweeps_are_named(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(ResultError, match="the directory of a sweep"):
        unpause.load(tmp_path)


def test_unfinished_directories_are_refused(builder: Builder, tmp_path: Path) -> None:
    builder.run("PFC")
    path = builder.write(tmp_path / "run")
    (path / "manifest.json").unlink()
    with pytest.raises(ResultError, match=r"no manifest\.json"):
        unpause.load(path)
    (path / "manifest.json").write_text("{")
    with pytest.raises(ResultError, match="not JSON"):
        unpause.load(path)
    (path / "manifest.json").write_text(json.dumps({"complete": False}))
    with pytest.raises(ResultError, match="did not finish"):
        unpause.load(path)


def test_broken_tables_are_refused(builder: Builder, tmp_path: Path) -> None:
    builder.run("PFC")
    path = builder.write(tmp_path / "run")
    (path / "pauses.parquet").write_bytes(b"PAR1")
    with pytest.raises(ResultError, match=r"pauses\.parquet: not a readable Parquet file"):
        unpause.load(path)
    (path / "pauses.parquet").unlink()
    with pytest.raises(ResultError, match=r"pauses\.parquet: missing"):
        unpause.load(path)
    (path / "runs.parquet").rename(path / "pauses.parquet")
    builder.write(path)
    (path / "ports.parquet").write_bytes((path / "runs.parquet").read_bytes())
    with pytest.raises(ResultError, match=r"(?s)ports\.parquet: no column 'node'.*another version"):
        unpause.load(path)


def test_schemes_have_one_order_and_colour() -> None:
    names = ["mine", "PFC+PCN", "PFC", "TIMELY", "mine"]
    assert schemes.ordered(names) == ["PFC", "TIMELY", "PFC+PCN", "mine"]
    colours = schemes.colours(names)
    assert colours["PFC+PCN"] == schemes.colours(["PCN"])["PCN"]
    assert len(set(colours.values())) == 4


def test_two_variants_of_a_scheme_differ_in_colour() -> None:
    colours = schemes.colours(["PCN", "PFC+PCN"])
    assert colours["PCN"] != colours["PFC+PCN"]
