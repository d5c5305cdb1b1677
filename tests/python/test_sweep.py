"""Sweeps: the same numbers as single runs, resumed, on a Dask cluster, and what goes wrong."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import unpause
from conftest import Cluster
from scenarios import PCN, PFC, flow, star, traffic
from unpause import schema
from unpause.commands import sweep as sweep_command
from unpause.sweeps import axes, recorded
from unpause.sweeps.grouped import Runs, scenario_of

SCENARIO = star(
    3,
    PFC,
    PCN,
    flow("long", "H0", "H2"),
    traffic("poisson", "short", "H0..H1", "H2", size="20KB", load=0.3),
    rate="40Gbps",
    title="Two hosts into one port",
    duration="300us",
)

VARY = {"pfc.xoff": ["64KB", "0.128MB"], "seed": "1..3"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO, "utf-8")
    return path


def points(directory: Path) -> dict[str, int]:
    """Finished points and when each was written."""
    found = (directory / "points").glob("*.parquet")
    return {p.name: p.stat().st_mtime_ns for p in found}


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unpause.cli", "sweep", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_sweep_has_the_numbers_of_single_runs(file: Path) -> None:
    table = unpause.sweep(file, VARY, jobs=2, progress=False)
    expected = []
    for scheme in ("PFC", "PCN"):
        for xoff in ("64KB", "128KB"):
            for seed in (1, 2, 3):
                text = SCENARIO + f'[pfc]\nxoff = "{xoff}"\n'
                result = unpause.run(text, schemes=[scheme], seed=seed, progress=False)
                [row] = result.runs.to_pylist()
                flows, ports = result.to_pandas("flows"), result.to_pandas("ports")
                # Flows that did not finish took at least the time until the end.
                flows = flows[flows.size_bytes.notna()]
                fct = flows.fct_ns.fillna(row["simulated_ns"] - flows.start_ns)
                slowdown = fct / flows.ideal_fct_ns
                all_done = flows.fct_ns.notna().all()
                expected.append(
                    {
                        **row,
                        "run": len(expected),
                        "pfc.xoff_bytes": int(xoff[:-2]) * 1000,
                        "fct_p50_at_least_ns": fct.quantile(0.5),
                        "fct_p99_at_least_ns": fct.quantile(0.99),
                        "slowdown_mean_at_least": slowdown.mean(),
                        "slowdown_max_at_least": slowdown.max(),
                        "slowdown_mean": slowdown.mean() if all_done else None,
                        "flows_sized": len(flows),
                        "delivered_bytes": result.to_pandas("flows").delivered_bytes.sum(),
                        "paused_ns": ports.paused_ns.sum(),
                        "max_queue_bytes": ports.max_queue_bytes.max(),
                    }
                )
    assert table.num_rows == 12
    for found, wanted in zip(table.to_pylist(), expected, strict=True):
        assert found["scheme"] == wanted.pop("scheme")
        for key, value in wanted.items():
            assert found[key] == (None if value is None else pytest.approx(value, rel=1e-12)), key


def test_the_table_has_the_documented_columns(file: Path) -> None:
    table = unpause.sweep(file, VARY, progress=False)
    columns = (*schema.TABLES["runs"], *recorded.COLUMNS)
    wanted = [(c.name, c.type, c.nullable) for c in columns]
    wanted.insert(2, ("pfc.xoff_bytes", pa.uint64(), False))
    assert [(f.name, f.type, f.nullable) for f in table.schema] == wanted


def test_a_sweep_without_axes_and_with_the_files_own(file: Path) -> None:
    own = '[[sweep]]\nname = "xoff_kb"\nkey = "pfc.xoff"\nunit = "KB"\nvalues = [64, 128]\n'
    table = unpause.sweep(SCENARIO + own, progress=False)
    assert table.select(["scheme", "xoff_kb"]).to_pydict() == {
        "scheme": ["PFC", "PFC", "PCN", "PCN"],
        "xoff_kb": [64, 128, 64, 128],
    }
    # An axis of the same key takes its place.
    table = unpause.sweep(SCENARIO + own, {"pfc.xoff": ["32KB"]}, progress=False)
    assert table.column("pfc.xoff_bytes").to_pylist() == [32_000, 32_000]


def test_a_parameter_of_one_scheme_is_not_run_again_for_others(tmp_path: Path, file: Path) -> None:
    vary = {"scheme.PCN.pcn.w_max": ["1/4", 0.5]}
    table = unpause.sweep(file, vary, out=tmp_path / "out", progress=False)
    assert table.column("scheme.PCN.pcn.w_max").to_pylist() == [0.25, 0.5, 0.25, 0.5]
    assert len(points(tmp_path / "out")) == 3


def test_finished_points_are_not_run_again(tmp_path: Path, file: Path) -> None:
    out = tmp_path / "out"
    whole = unpause.sweep(file, VARY, out=out, progress=False)
    first = points(out)
    assert len(first) == 12
    assert pq.read_table(out / "sweep.parquet").equals(whole)
    assert json.loads((out / "sweep.json").read_text("utf-8"))["complete"] is True

    lost, damaged = sorted(first)[:2]
    (out / "points" / lost).unlink()
    (out / "points" / damaged).write_bytes(b"PAR1")
    seen: list[unpause.SweepProgress] = []
    again = unpause.sweep(file, VARY, out=out, progress=seen.append)
    assert again.equals(whole)
    assert (seen[0].kept, seen[-1].finished) == (10, 12)
    second = points(out)
    assert [n for n in second if second[n] != first.get(n)] != []
    assert {n for n in second if second[n] != first[n]} <= {lost, damaged}

    more = unpause.sweep(file, {**VARY, "seed": "1..4"}, out=out, progress=seen.append)
    assert more.num_rows == 16
    assert seen[-1].kept == 12


def test_a_sweep_of_other_keys_says_what_it_replaces(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for seeds in ("seed=1,2", "seed=1..3"):
        assert sweep_command.main([str(file), "--vary", seeds, "--out", str(out)]) == 0
        assert "replaced" not in capsys.readouterr().err
    kept = set(points(out))
    assert sweep_command.main([str(file), "--vary", "pfc.xoff=64KB,1MB", "--out", str(out)]) == 0
    said = capsys.readouterr().err
    assert "of the sweep of seed are replaced; its finished points are kept" in said
    assert kept <= set(points(out))


@pytest.mark.parametrize(
    ("text", "why"),
    [(1, "Expected '='"), ("[", "Invalid"), ("traffic = 1", "traffic is 1, not a list")],
)
def test_a_scenario_that_is_none_is_refused(text: Any, why: str, tmp_path: Path) -> None:
    about = {"scenario": {"text": text}}
    with pytest.raises(unpause.ResultError, match=rf"sweep.json: damaged: its scenario: .*{why}"):
        scenario_of(about, tmp_path)


#: A sweep of its own over names.
PLACED = """
[[job]]
name = "ar"
ranks = 2
collective = "all-reduce"
size = "10KB"
[[sweep]]
name = "place"
key = "job.ar.placement"
values = ["packed", "spread"]
"""


def test_names_of_a_files_own_sweep_stay_names(tmp_path: Path) -> None:
    table = unpause.sweep(SCENARIO + PLACED, {"seed": [1, 2]}, progress=False)
    assert table.column("place").to_pylist() == ["packed", "spread"] * 4
    assert table.schema.field("place").type == pa.string()
    result = unpause.run(SCENARIO + PLACED, progress=False)
    assert [row["place"] for row in Runs.of_result(result).rows] == ["packed", "spread"] * 2


ALSO = 'also = ["traffic.long.rate_limit"]'
WITH = '[[sweep.with]]\nkey = "traffic.long.rate_limit"\nvalues = ["1Gbps", "2Gbps"]'


@pytest.mark.parametrize("more", [ALSO, WITH])
def test_a_sweep_that_sets_more_keys_is_not_replaced(more: str) -> None:
    """Its other keys would have the values of the file, and nothing would say so."""
    key = "traffic.short.rate_limit"
    own = f'\n[[sweep]]\nname = "x"\nkey = "{key}"\nvalues = [3, 4]\nunit = "Gbps"\n{more}\n'
    with pytest.raises(unpause.SweepError, match=r"'x' sets traffic.long.rate_limit with it, wh"):
        unpause.sweep(SCENARIO + own, {key: ["3Gbps"]}, progress=False)


def test_a_changed_scenario_keeps_its_points_apart(
    tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = [str(file), "--vary", "seed=1,2", "--out", str(out)]
    assert sweep_command.main(arguments) == 0
    assert "has changed since the last sweep" not in capsys.readouterr().err
    file.write_text("# a comment\n" + SCENARIO, "utf-8")
    assert sweep_command.main(arguments) == 0
    said = capsys.readouterr()
    assert "has changed since the last sweep" in said.err
    assert "4 of them kept" in said.out
    # Only PCN changes; its two points are run again.
    file.write_text(SCENARIO.replace('"pcn"\n', '"pcn"\npcn = {w_max = "1/4"}\n'), "utf-8")
    assert sweep_command.main(arguments) == 0
    assert "2 of them kept" in capsys.readouterr().out
    assert len(points(out)) == 6


def test_a_key_that_a_scheme_sets_is_not_varied(file: Path) -> None:
    text = SCENARIO.replace('"pcn"\n', '"pcn"\nset = {"pfc.xoff" = "30KB"}\n')
    file.write_text(text, "utf-8")
    with pytest.raises(unpause.SweepError, match=r"pfc\.xoff: scheme 'PCN' sets it"):
        unpause.sweep(file, {"pfc.xoff": ["64KB", "20KB"]}, progress=False)
    table = unpause.sweep(file, {"pfc.xoff": ["64KB", "20KB"]}, schemes=["PFC"], progress=False)
    assert table.num_rows == 2


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("scheme.PFC.name", "cannot be replaced"),
        ("title", "cannot be replaced"),
    ],
)
def test_what_is_the_same_for_all_runs_is_not_varied(file: Path, key: str, why: str) -> None:
    with pytest.raises(unpause.SweepError, match=why):
        unpause.sweep(file, {key: ["A", "B"]}, progress=False)


def test_a_changed_file_beside_the_scenario_is_noticed(tmp_path: Path, file: Path) -> None:
    text = SCENARIO.replace('size = "20KB"', 'cdf = "sizes.txt"')
    file.write_text(text, "utf-8")
    (tmp_path / "sizes.txt").write_text("1000,0\n20000,100\n", "utf-8")
    first = unpause.sweep(file, out=tmp_path / "out", progress=False)
    (tmp_path / "sizes.txt").write_text("1000,0\n90000,100\n", "utf-8")
    second = unpause.sweep(file, out=tmp_path / "out", progress=False)
    assert not first.equals(second)


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, file: Path) -> None:
    out = tmp_path / "out"
    # The last of the points has 100 s to simulate, which take minutes.
    command_line = [sys.executable, "-m", "unpause.cli", "sweep", file, "--out", out]
    command_line += ["--scheme", "PFC", "--vary", "duration=100us,200us,100s"]
    process = subprocess.Popen(command_line, stderr=subprocess.PIPE, text=True)
    try:
        limit = time.monotonic() + 30
        while not out.is_dir() or len(list(out.glob("points/*.parquet"))) < 2:
            assert time.monotonic() < limit
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert f"2 of 3 points are kept in {out / 'points'}" in errors
    assert "the same command resumes" in errors
    seen: list[unpause.SweepProgress] = []
    unpause.sweep(file, {"duration": "100us,200us"}, out=out, schemes=["PFC"], progress=seen.append)
    assert (seen[-1].kept, seen[-1].points) == (2, 2)


def test_a_point_that_fails_leaves_the_others(tmp_path: Path, file: Path) -> None:
    vary = ["--vary", "pfc.xoff=64KB,256KB", "--vary", "pfc.xon=10KB,100KB"]
    done = command(file, *vary, "--scheme", "PFC", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "error: PFC, pfc.xoff=64KB, pfc.xon=100KB: " in done.stderr
    table = pq.read_table(tmp_path / "out" / "sweep.parquet")
    assert table.select(["pfc.xoff_bytes", "pfc.xon_bytes"]).to_pydict() == {
        "pfc.xoff_bytes": [64_000, 256_000, 256_000],
        "pfc.xon_bytes": [10_000, 10_000, 100_000],
    }
    failed = json.loads((tmp_path / "out" / "sweep.json").read_text("utf-8"))["failed"]
    assert list(failed) == ["PFC, pfc.xoff=64KB, pfc.xon=100KB"]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("pfc.xofff=64KB", r"pfc.xofff=64KB: .*xofff.*\n?.*xoff"),
        ("pfc.xoff=64KB,64parsecs", "pfc.xoff=64parsecs: .*parsecs"),
        ("pfc.xoff=", "pfc.xoff: no values"),
        ("pfc.xoff=1KB,,2KB", "an empty value"),
        ("pfc.xoff=1KB,1KB", "1KB occurs twice"),
        ("pfc.xoff", "no values; write KEY="),
        ("pfc..xoff=1KB", "not the path of a key"),
        ("seed=5..1", "write it in ascending order: 1..5"),
        ("seed=1..9999999", "assumed to be a mistake"),
        ("seed=1.5", "a seed is a whole number"),
        ("traffic.shor.size=1KB", "no `traffic` with the name `shor`"),
        ("traffic=1", "traffic=1"),
        ("scheme.QCN.qcn.gd=0.1", "there is no scheme with that name"),
        ("scheme.PFC.pcn.w_max=0.1", "scheme.PFC.pcn.w_max=0.1: "),
    ],
)
def test_bad_axes_are_answered(file: Path, vary: str, message: str) -> None:
    def sweep() -> None:
        axis = {a.key: a.values for a in axes.parse_all([vary])}
        unpause.sweep(file, axis, progress=False)

    with pytest.raises(unpause.SweepError) as raised:
        sweep()
    assert re.search(message, str(raised.value)), str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--vary", "pfc.xofff=1KB"], "error: pfc.xofff=1KB: "),
        (["--vary", "seed=1", "--vary", "seed=2"], "seed is given twice"),
        (["--scheme", "QCN"], "no scheme 'QCN'"),
        (["--dask", "tcp://127.0.0.1:x"], "no Dask scheduler answers"),
    ],
)
def test_bad_command_lines_are_answered(
    arguments: list[str], message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = file.parent / "out"
    assert sweep_command.main([str(file), *arguments, "--out", str(out)]) == 1
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_wrong_usage_is_answered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep_command.main([str(tmp_path / "nowhere.toml")]) == 1
    assert "nowhere.toml" in capsys.readouterr().err
    done = command("two.toml", "--jobs", "0")
    assert done.returncode == 2
    assert "0 is not in 1.." in done.stderr


@pytest.mark.parametrize(
    ("values", "column", "cells"),
    [
        ("1..3,10", "k", [1, 2, 3, 10]),
        ("64KB,1KiB", "k_bytes", [64_000, 1024]),
        ("0.1us,5ns,1s", "k_ns", [100.0, 5.0, 1e9]),
        ("40Gbps,2.5 Gb/s", "k_bps", [40_000_000_000, 2_500_000_000]),
        ("1/128,0.5,5%", "k", [1 / 128, 0.5, 0.05]),
        ("true,false", "k", [True, False]),
        ("standard,ns3-rdma", "k", ["standard", "ns3-rdma"]),
        ("H1..H8,'a,b'", "k", ["H1..H8", "a,b"]),
        ('["H1","H2"],["H3"]', "k", ["['H1', 'H2']", "['H3']"]),
        ("5us,64KB", "k", ["5us", "64KB"]),
    ],
)
def test_values_and_their_columns(values: str, column: str, cells: list[Any]) -> None:
    [axis] = axes.read({"k": values})
    assert axis.column()[:2] == (column, cells)


def test_dask_is_asked_for_clearly(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert sweep_command.main([str(file), "--dask", "tcp://127.0.0.1:1"]) == 1
    assert "pip install 'unpause[dask]'" in capsys.readouterr().err


def test_a_dask_worker_that_dies_costs_nothing(
    tmp_path: Path,
    file: Path,
    cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from distributed import Client

    address, workers, _ = cluster
    out = tmp_path / "out"
    vary = {"seed": range(1, 7), "duration": ["4ms"]}
    seen: list[unpause.SweepProgress] = []

    def watch(progress: unpause.SweepProgress) -> None:
        seen.append(progress)
        if progress.finished == 4:
            workers[0].kill()

    with Client(address, timeout=10, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=20)
        table = unpause.sweep(file, vary, out=out, client=client, progress=watch)
        assert len(client.scheduler_info()["workers"]) == 1
    assert [p.finished for p in seen] == list(range(13))  # each once
    assert len(points(out)) == 12
    keys = list(zip(*(table.column(c).to_pylist() for c in ("scheme", "seed")), strict=True))
    assert keys == [(scheme, seed) for scheme in ("PFC", "PCN") for seed in range(1, 7)]
    assert table.equals(unpause.sweep(file, vary, progress=False))

    # The command takes the same cluster, and resumes from the finished points.
    (out / "points" / sorted(points(out))[0]).unlink()
    arguments = ["--vary", "seed=1..6", "--vary", "duration=4ms", "--out", str(out)]
    assert sweep_command.main([str(file), *arguments, "--dask", address]) == 0
    assert "12 points" in (said := capsys.readouterr().out)
    assert "11 of them kept" in said
    assert pq.read_table(out / "sweep.parquet").equals(table)


def test_a_dask_scheduler_that_dies_ends_the_sweep(
    tmp_path: Path, file: Path, cluster: Cluster
) -> None:
    from distributed import Client

    address, _, scheduler = cluster
    out = tmp_path / "out"

    def watch(progress: unpause.SweepProgress) -> None:
        if progress.finished == 2:
            scheduler.kill()

    vary = {"seed": range(1, 9), "duration": ["4ms"]}
    started = time.monotonic()
    with (
        Client(address, timeout=5, set_as_default=False) as client,
        pytest.raises(unpause.SweepError, match="connection to the Dask scheduler was lost"),
    ):
        unpause.sweep(file, vary, out=out, client=client, progress=watch)
    assert time.monotonic() - started < 30
    assert len(points(out)) >= 2
