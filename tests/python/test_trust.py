"""Result directories that are damaged, hostile, or replaced while they are read."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tomli_w

import unpause
from unpause import printed
from unpause.commands import sweep as sweep_command
from unpause.commands.view import Bad, _number, _whole
from unpause.data import seals
from unpause.errors import ResultError, ScenarioError

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
    longer = {**SCENARIO, "traffic": [{**SCENARIO["traffic"][0], "size": "20KB"}]}
    unpause.run(longer, seed=2).write(out)
    with pytest.raises(ResultError, match="the loaded result has been replaced"):
        _ = result.flows
    # A table that is the same in both is of either.
    assert result.tables["packets"].num_rows == 0
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
    from unpause.commands import report

    canary = tmp_path / "canary"
    canary.write_text("alive")
    for name in ("explore.html.tmp", "report.html.tmp"):
        (out / name).symlink_to(canary)
    report.build(out)
    for name in ("report.html", "explore.html", "claims.json"):
        (out / name).unlink()
        (out / name).symlink_to(canary)
        with pytest.raises(ResultError, match=f"{name}: a link"):
            report.build(out)
        (out / name).unlink()
    shutil.rmtree(out / "figures")
    (out / "figures").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(ResultError, match="figures is a link"):
        report.build(out)
    assert canary.read_text() == "alive"
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("text", ["[]", "null", "[" * 100_000])
def test_a_damaged_sweep_is_named(tmp_path: Path, text: str) -> None:
    from unpause.sweeps import grouped

    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ResultError, match=r"sweep\.json"):
        grouped.sweep_table(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(it): it.read_bytes() for it in folder.rglob("*") if it.is_file()}


@pytest.mark.parametrize("name", ["report.html", "sweep.csv", "notes.txt"])
def test_a_sweep_replaces_nothing_that_is_not_its_own(tmp_path: Path, name: str, capsys) -> None:

    file = tmp_path / "one.toml"
    file.write_text(tomli_w.dumps(SCENARIO))
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    before = files(out)
    assert sweep_command.main([str(file), "--out", str(out)]) == 1
    assert "exists and is not the directory of a sweep" in capsys.readouterr().err
    assert files(out) == before
    # Nor beside the table of one.
    (out / name).unlink()
    unpause.sweep(file, out=out, progress=False)
    (out / name).write_text("mine")
    before = files(out)
    code = sweep_command.main([str(file), "--out", str(out)])
    if name == "notes.txt":
        assert code == 0
        assert sweep_command.main([str(file), "--out", str(out)]) == 0
    else:
        assert code == 1
        assert f"{out / name} exists, but no command of unpause" in capsys.readouterr().err
        assert files(out) == before
    assert (out / name).read_text() == "mine"


def test_rows_that_take_more_memory_than_there_is_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unpause.data import files

    # A file of some kilobytes: equal rows take nearly nothing.
    rows = 4_000_000
    table = pa.table({"run": pa.array(np.zeros(rows, dtype=np.uint32))})
    pq.write_table(table, tmp_path / "many.parquet")
    assert (tmp_path / "many.parquet").stat().st_size < 20_000
    with (tmp_path / "many.parquet").open("rb") as opened:
        assert files.whole(files.parquet(opened)).num_rows == rows
    monkeypatch.setattr(files, "memory", lambda: 20_000_000)
    with (tmp_path / "many.parquet").open("rb") as opened:
        file = files.parquet(opened)
        told = r"its 4,000,000 rows would take 16\.0 MB of memory; three quarters .* are 15\.0 MB"
        with pytest.raises(pa.ArrowInvalid, match=told):
            files.whole(file)


def test_a_folder_in_the_place_of_an_own_file_is_refused(tmp_path: Path) -> None:
    from unpause.data import staged

    (tmp_path / "report.json").write_text('{"files": ["report.html", "report.json"]}')
    (tmp_path / "report.html").write_text("drawn before")
    staged.check(tmp_path, ["report.html"])
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(ResultError, match=r"report\.html: a link or another special file"):
        staged.check(tmp_path, ["report.html"])


def test_a_reproduction_replaces_nothing_that_is_not_its_own(tmp_path: Path, capsys) -> None:
    from unpause.commands import reproduce

    (tmp_path / "index.html").write_text("mine")
    assert reproduce.main(["pcn/F2", "--out", str(tmp_path)]) == 1
    assert "exists and is not the directory of a reproduction" in capsys.readouterr().err
    assert [it.name for it in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "mine"


def test_sweeps_of_two_files_do_not_share_a_default_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:

    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "one.toml").write_text(tomli_w.dumps(SCENARIO))
    assert sweep_command.main(["a/one.toml"]) == 0
    assert sweep_command.main(["a/one.toml"]) == 0
    before = files(tmp_path)
    assert sweep_command.main(["b/one.toml"]) == 1
    assert "has the sweep of another scenario, a/one.toml" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_a_damaged_point_is_run_again_and_a_damaged_table_is_refused(
    tmp_path: Path, capsys
) -> None:
    from unpause.sweeps import grouped

    out = tmp_path / "out"
    vary = {"seed": [1, 2]}
    whole = unpause.sweep(SCENARIO, vary, out=out, progress=False)
    point = sorted((out / "points").glob("*.parquet"))[0]
    sound = point.read_bytes()
    for at in range(0, len(sound), 1 + len(sound) // 9):
        flipped = bytearray(sound)
        flipped[at] ^= 1
        point.write_bytes(flipped)
        assert unpause.sweep(SCENARIO, vary, out=out, progress=False).num_rows == whole.num_rows
        assert f"{point}: damaged; the point is run again" in capsys.readouterr().err
        table = unpause.sweep(SCENARIO, vary, out=out, progress=False)
        assert table.column("seed").to_pylist() == [1, 2]
        assert capsys.readouterr().err == ""
    table = out / "sweep.parquet"
    sound = table.read_bytes()
    for at in range(0, len(sound), 1 + len(sound) // 9):
        flipped = bytearray(sound)
        flipped[at] ^= 1
        table.write_bytes(flipped)
        with pytest.raises(ResultError, match=r"sweep\.parquet: damaged"):
            grouped.read(out)


def test_a_report_that_fails_leaves_nothing(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unpause.commands import report
    from unpause.pages import explore

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = files(out)
    monkeypatch.setattr(explore, "write", full)
    with pytest.raises(OSError, match="No space left"):
        report.build(out)
    assert files(out) == before
    assert not (out / ".unpause").exists()


def test_a_report_waits_for_nobody_who_writes(out: Path) -> None:
    from unpause import _native
    from unpause.commands import report

    lock = _native.Lock(out, result=True)
    before = files(out)
    with pytest.raises(ResultError, match="another unpause"):
        report.build(out)
    lock.release()
    assert {k: v for k, v in before.items() if ".unpause" not in k} == files(out)
    report.build(out)


def flips(sound: bytes) -> list[tuple[int, bytes]]:
    """Texts of which one byte is another, and where."""
    return [
        (at, sound[:at] + bytes([sound[at] ^ 1 << at % 8]) + sound[at + 1 :])
        for at in range(len(sound))
    ]


def test_a_flipped_byte_of_a_manifest_is_noticed(out: Path) -> None:
    file = out / "manifest.json"
    sound = file.read_bytes()
    end = sound.rindex(b',\n  "sha256": "')
    digits = range(end + len(b',\n  "sha256": "'), len(sound) - len(b'"\n}'))
    without = without_digest(out)
    assert without is not None
    assert set(KEYS) <= {*without}
    for at, flipped in flips(sound):
        file.write_bytes(flipped)
        if at < end or at in digits:
            with pytest.raises(ResultError, match=r"manifest\.json: damaged"):
                unpause.load(out)
        else:
            # Hiding the digest changes nothing else.
            assert without_digest(out) in (None, without)


def without_digest(out: Path) -> dict[str, object] | None:
    """The manifest but for its digest, whatever that is called; None if it is refused."""
    try:
        found = unpause.load(out).manifest
    except ResultError as error:
        if "manifest.json: damaged" not in str(error):
            raise
        return None
    return {key: value for key, value in found.items() if key in KEYS}


KEYS = ("unpause", "scenario", "seeds", "host", "runs", "warnings", "files", "complete")


def test_a_manifest_without_a_digest_is_read(out: Path) -> None:
    file = out / "manifest.json"
    manifest = json.loads(file.read_text())
    digest = manifest.pop("sha256")
    file.write_text(json.dumps(manifest, indent=2))
    assert unpause.load(out).manifest == manifest
    assert json.loads(seals.seal(json.dumps(manifest, indent=2)))["sha256"] != digest


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("seeds", 3, "seeds is 3, not a list"),
        ("seeds", ["a"], r'seeds\[0\] is "a", not a whole number'),
        ("seeds", [True], r"seeds\[0\] is true, not a whole number"),
        ("scenario", [], r"scenario is \[\], not a table"),
        ("scenario", {"file": 1}, r"scenario\.file is 1, not a string"),
        ("warnings", {}, r"warnings is \{\}, not a list"),
        ("warnings", [{"kind": 3}], r"warnings\[0\]\.kind is 3, not a string"),
        ("warnings", [3], r"warnings\[0\] is 3, not a string"),
        ("runs", [{"cpu_s": "x"}], r'runs\[0\]\.cpu_s is "x", not a number'),
        ("files", {"flows.parquet": 1}, r"files\.flows\.parquet is 1, not a string"),
        ("complete", 1, "complete is 1, not true or false"),
        ("unpause", {"a": 1}, "unpause is .*, not a string"),
    ],
)
def test_a_manifest_of_other_types_is_refused(
    out: Path, key: str, value: object, told: str
) -> None:
    file = out / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest.pop("sha256", None)
    file.write_text(json.dumps({**manifest, key: value}))
    with pytest.raises(ResultError, match=rf"manifest\.json: damaged: .*{told}"):
        unpause.load(out)


def test_a_flipped_byte_of_a_sweep_is_noticed(tmp_path: Path) -> None:
    from unpause.sweeps import grouped

    out = tmp_path / "out"
    unpause.sweep(SCENARIO, {"seed": [1, 2]}, out=out, progress=False)
    file = out / "sweep.json"
    sound = file.read_bytes()
    end = sound.rindex(b',\n  "sha256": "')
    for at, flipped in flips(sound)[:end]:
        file.write_bytes(flipped)
        with pytest.raises(ResultError, match=r"sweep\.json: "):
            grouped.sweep_table(out)
        assert at < end
    # One of before has no digest.
    about = json.loads(sound)
    del about["sha256"]
    file.write_text(json.dumps(about, indent=2))
    assert grouped.sweep_table(out)[1].num_rows == 2


@contextmanager
def unless_replaced() -> Iterator[None]:
    """For tables of a loaded result, whose files may be gone."""
    try:
        yield
    except ResultError as error:
        if "the loaded result has been replaced" not in str(error):
            raise


def test_a_result_may_be_replaced_while_it_is_read(tmp_path: Path) -> None:
    names = ("runs", "flows", "ports")
    of_seed = {seed: unpause.run(SCENARIO, seed=seed) for seed in (1, 2)}
    rows = {seed: {name: it.tables[name] for name in names} for seed, it in of_seed.items()}
    assert rows[1]["runs"] != rows[2]["runs"]
    out = of_seed[1].write(tmp_path / "out")
    writes = 40

    def write() -> None:
        for number in range(writes):
            unpause.run(SCENARIO, seed=1 + number % 2).write(out)

    writer = threading.Thread(target=write)
    writer.start()
    read = 0
    while writer.is_alive() or not read:
        result = unpause.load(out)
        [seed] = result.manifest["seeds"]
        for name in names:
            with unless_replaced():
                assert result.tables[name] == rows[seed][name]
        read += 1
    writer.join()
    assert unpause.load(out).manifest["seeds"] == [2]


def test_an_empty_scenario_is_refused_in_words() -> None:
    for nothing in ({}, {"title": "T"}):
        with pytest.raises(ScenarioError, match=r"duration|topology|scheme"):
            unpause.run(nothing)


def python(words: list[str], folder: Path, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=folder, text=True, stderr=subprocess.PIPE, check=False, **more
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full")
@pytest.mark.parametrize(
    "words",
    [
        ["-m", "unpause.commands.report", "out"],
        ["-m", "unpause.commands.compare", "out", "out"],
        ["-m", "unpause", "explain", "out"],
        ["-m", "unpause", "compare", "out", "out"],
        ["-m", "unpause", "report", "out"],
        ["-m", "unpause", "export", "--latex", "out", "--out", "latex"],
        ["-m", "unpause", "export", "--perfetto", "out", "--out", "trace"],
        ["-m", "unpause", "list"],
    ],
)
def test_output_that_cannot_be_written_is_an_error(tmp_path: Path, words: list[str]) -> None:
    unpause.run({**SCENARIO, "probes": {"causes": True}}).write(tmp_path / "out")
    with open("/dev/full", "w") as full:
        done = python(words, tmp_path, stdout=full)
    assert done.returncode == 1, done.stderr
    expected = r"error: cannot write standard output: No space left on device( \(os error 28\))?\n"
    assert re.fullmatch(expected, done.stderr), done.stderr
    # Its files are written all the same.
    for word, file in (("report", "out/report.html"), ("latex", "latex"), ("trace", "trace")):
        assert word not in words[-1] or (tmp_path / file).exists(), file


def test_a_terminal_that_lacks_characters_gets_others(tmp_path: Path) -> None:
    title = "Größe \u202e\x1b[2J"
    unpause.run({**SCENARIO, "scheme": [{"name": "PFC ü"}]}).write(tmp_path / "out")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    for words in (
        ["-m", "unpause.commands.report", "out"],
        ["-m", "unpause", "compare", "out", "out"],
    ):
        done = python(words, tmp_path, stdout=subprocess.PIPE, env=environment)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert printed.printable(title) == "Größe \ufffd\ufffd[2J"
    assert printed.printable("\x1b[1mbold\ta\r\n") == "\ufffd[1mbold\ta\ufffd\n"


def test_a_result_is_not_the_place_of_a_reproduction(out: Path, capsys) -> None:
    from unpause.commands import report, reproduce

    report.build(out)
    before = files(out)
    assert reproduce.main(["pcn/F2", "--out", str(out)]) == 1
    assert "exists and is not the directory of a reproduction" in capsys.readouterr().err
    assert files(out) == before
