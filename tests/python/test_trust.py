"""Result directories that are damaged, hostile, or replaced while they are read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import unpause
from unpause.errors import ResultError
from unpause.view import Bad, _number, _whole

SCENARIO = {
    "duration": "50us",
    "topology": {"builder": "single-switch", "hosts": 2, "rate": "40Gbps", "delay": "1us"},
    "scheme": [{"name": "PFC"}],
    "traffic": [{"name": "F", "kind": "flow", "from": "H0", "to": "H1", "size": "10KB"}],
}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return unpause.run(SCENARIO, seed=1).write(tmp_path / "out")


def half_done(old: Path, new: Path, moved: int) -> None:
    """As a process that was killed leaves it when it had moved so many files of `new`."""
    commit = old / ".unpause" / "commit"
    commit.mkdir(parents=True)
    names = sorted(path.name for path in new.iterdir() if path.name != "manifest.json")
    for number, name in enumerate([*names, "manifest.json"]):
        shutil.copy(new / name, (old if number < moved else commit) / name)


@pytest.mark.parametrize("moved", [0, 1, 5, 10])
def test_readers_get_the_new_result_and_change_nothing(
    out: Path, tmp_path: Path, moved: int
) -> None:
    new = unpause.run(SCENARIO, seed=2).write(tmp_path / "new")
    half_done(out, new, moved)
    before = sorted(out.rglob("*"))
    result = unpause.load(out)
    assert result.runs.column("seed").to_pylist() == [2]
    assert result.manifest["seeds"] == [2]
    assert result.flows.num_rows == 1
    assert sorted(out.rglob("*")) == before


def test_a_loaded_result_does_not_mix_two_runs(out: Path) -> None:
    result = unpause.load(out)
    assert result.runs.column("seed").to_pylist() == [1]
    unpause.run(SCENARIO, seed=2).write(out)
    with pytest.raises(ResultError, match="another result has taken the place"):
        _ = result.flows
    assert unpause.load(out).runs.column("seed").to_pylist() == [2]


@pytest.mark.skipif(os.name != "posix", reason="links and pipes")
def test_links_and_pipes_are_refused_by_name(out: Path, tmp_path: Path) -> None:
    def link(file: Path) -> None:
        (tmp_path / "elsewhere").write_bytes(b"")
        file.symlink_to(tmp_path / "elsewhere")

    makes: list[Callable[[Path], None]] = [link, os.mkfifo]
    for make in makes:
        for name in ("flows.parquet", "manifest.json", "scenario.toml"):
            file = out / name
            kept = file.read_bytes()
            file.unlink()
            make(file)
            with pytest.raises(ResultError, match=f"{name}: a link or another special file"):
                unpause.load(out)
            file.unlink()
            file.write_bytes(kept)
    unpause.load(out)


@pytest.mark.parametrize("text", ["[]", "null", '"a"', "[" * 100_000, '{"files": []}', "\xff"])
def test_a_damaged_manifest_is_named(out: Path, text: str) -> None:
    (out / "manifest.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(ResultError, match=r"manifest\.json: damaged"):
        unpause.load(out)


def test_a_flipped_bit_is_noticed_and_named(out: Path) -> None:
    for file in [*out.glob("*.parquet"), out / "scenario.toml"]:
        sound = file.read_bytes()
        for at in range(0, len(sound), 1 + len(sound) // 7):
            flipped = bytearray(sound)
            flipped[at] ^= 1
            file.write_bytes(flipped)
            with pytest.raises(ResultError, match=f"{file.name}: damaged"):
                unpause.load(out)
        file.write_bytes(sound)


@pytest.mark.parametrize("text", ["inf", "nan", "-inf", "x"])
def test_view_refuses_what_is_no_number(text: str) -> None:
    with pytest.raises(Bad):
        _number({"to": text}, "to")
    with pytest.raises(Bad):
        _whole({"n": "9" * 4_300}, "n", 0, 9)


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_report_is_not_written_through_links(out: Path, tmp_path: Path) -> None:
    from unpause import report

    canary = tmp_path / "canary"
    canary.write_text("alive")
    for name in ("explore.html.tmp", "report.html.tmp", "report.html", "explore.html"):
        (out / name).symlink_to(canary)
    report.build(out)
    assert not (out / "report.html").is_symlink()
    (out / "claims.json").unlink()
    (out / "claims.json").symlink_to(canary)
    with pytest.raises(ResultError, match=r"claims\.json: a link"):
        report.build(out)
    (out / "claims.json").unlink()
    shutil.rmtree(out / "figures")
    (out / "figures").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(ResultError, match="figures: a link"):
        report.build(out)
    assert canary.read_text() == "alive"
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("text", ["[]", "null", "[" * 100_000])
def test_a_damaged_sweep_is_named(tmp_path: Path, text: str) -> None:
    from unpause import grouped

    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ResultError, match=r"sweep\.json"):
        grouped.sweep_table(tmp_path)
