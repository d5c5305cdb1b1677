"""Who was stopped, by whom, and where that began."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import unpause
from planted import PLANTS, ask, plant
from scenarios import CAUSES, PFC, burst, entry, flow, scenario, scheme, section, two_switch
from unpause.commands import explain
from unpause.data.result import Result
from unpause.explanation import account, causes
from unpause.explanation.trees import Egress, every_stop

#: PCN's F2, smaller: F0 shares the trunk S0->S1 with F1, which goes where ten hosts send a burst.
SHARED = scenario(
    two_switch(["H0", "H1"], ["R0", "R1", "B0..B9"], rate="40Gbps"),
    PFC,
    scheme("PFC+PCN", "pcn"),
    flow("F0", "H0", "R0", rate_limit="18Gbps"),
    flow("F1", "H1", "R1", rate_limit="18Gbps"),
    burst("burst", "B0..B9", "R1", size="500KB", start="200us"),
    title="A victim behind a burst",
    seed=1,
    duration="3ms",
    pfc={"xoff": "128KB"},
    probes=CAUSES,
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("explained") / "shared"
    unpause.run(SHARED, progress=False).write(at)
    return at


@pytest.fixture(scope="module")
def result(directory: Path) -> Result:
    return unpause.load(directory)


def _said(directory: Path, *options: str) -> str:
    command = [
        sys.executable,
        "-m",
        "unpause.commands.explain",
        str(directory),
        "--width",
        "80",
        *options,
    ]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("seed", range(40))
def test_a_planted_cause_is_found(seed: int) -> None:
    planted = plant(seed)
    answer = ask(planted)
    assert not answer.misled
    assert answer.named


def test_all_kinds_are_planted() -> None:
    assert {plant(seed).plant for seed in range(40)} == set(PLANTS)


def test_the_tree_is_that_of_the_tables(result: Result) -> None:
    [run] = result.runs_of("PFC")
    [tree] = causes.of_run(run)
    assert (tree.kind, tree.root, tree.is_certain) == ("incast", Egress("S1", "R1"), True)
    ports = run.table("ports").to_pylist()
    assert tree.pauses == sum(row["pause_events"] for row in ports)
    stops = {(stop.pauser, stop.stopped): stop for stop in every_stop(tree.stops)}
    for row in ports:
        if row["pause_events"]:
            assert stops[row["node"], row["peer"]].pauses == row["pause_events"]
    assert stops["S1", "S0"].below
    assert {it.stopped for it in stops["S1", "S0"].below} == {
        "H0",
        "H1",
    }
    stopped = {(row["peer"], row["node"]): row["paused_ns"] for row in ports if row["paused_ns"]}
    for link, time in stopped.items():
        assert stops[link].paused_ns == pytest.approx(time, abs=1e-3)
    assert tree.paused_ns == pytest.approx(sum(stopped.values()), abs=1e-3)
    shares = {it.traffic: it.share for it in tree.culprits}
    assert set(shares) == {"burst", "F1"}
    assert sum(shares.values()) == pytest.approx(1)
    [victim] = tree.victims
    assert (victim.traffic, victim.src, victim.dst) == ("F0", "H0", "R0")
    waits = run.table("victims").to_pylist()
    assert victim.waited_ns == waits[0]["waited_ns"] > 0


def test_only_what_was_in_force_is_reported(result: Result) -> None:
    [run] = result.runs_of("PFC")
    rows = run.table("causes").to_pylist()
    at = rows[len(rows) // 2]["time_ns"]
    in_force = {row["cause_id"] for row in rows if row["time_ns"] <= at < row["until_ns"]}
    assert sum(tree.pauses for tree in causes.of_run(run, at)) == len(in_force) > 0
    assert causes.of_run(run, 1.0) == []


def test_everything_fits_eighty_columns(directory: Path) -> None:
    for options in ([], ["--at", "0.5ms"], ["--port", "H0->S0"], ["--flow", "F0"]):
        said = _said(directory, *options)
        assert max(map(len, said.splitlines())) <= 80, said


def test_the_words(directory: Path) -> None:
    said = _said(directory)
    assert "1. Incast at S1->R1, 40 Gb/s" in said
    assert "S1 paused S0" in said
    assert "│  └─ S0 paused H" in said
    assert "1 victim: F0 (H0 -> R0) waited" in said
    assert "Under each scheme" in said
    port = _said(directory, "--scheme", "PFC", "--port", "H0->S0")
    assert "S0 paused H0 because S1" in " ".join(port.split())
    assert ": S0 paused H0 because" in " ".join(port.split())
    root = _said(directory, "--scheme", "PFC", "--port", "S1->R1")
    assert root.startswith("PFC: S1->R1 was never paused; it is the root itself: Incast at S1->R1")
    assert "S1->R1 was not paused at 1 us." in _said(
        directory, "--scheme", "PFC", "--port", "S1->R1", "--at", "1us"
    ).replace("1.00 us", "1 us")
    flow = " ".join(_said(directory, "--scheme", "PFC", "--flow", "F0").split())
    assert "not on its path: Incast at S1->R1" in flow


def test_who_stops_reading_gets_no_complaint(directory: Path) -> None:
    command = [sys.executable, "-m", "unpause.commands.explain", str(directory)]
    reader = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    assert reader.stdin is not None
    reader.wait()
    done = subprocess.run(command, stdout=reader.stdin, stderr=subprocess.PIPE, text=True)
    reader.stdin.close()
    assert (done.returncode, done.stderr) == (0, "")


def test_json_has_all(directory: Path) -> None:
    told = json.loads(_said(directory, "--json"))
    assert [run["scheme"] for run in told["runs"]] == ["PFC", "PFC+PCN"]
    tree = told["runs"][0]["trees"][0]
    assert tree["root"] == "S1->R1"
    assert tree["certain"] is True
    assert tree["advice"]


def test_a_result_that_does_not_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quiet = tmp_path / "quiet"
    unpause.run(SHARED.replace("causes = true", ""), duration="50us", progress=False).write(quiet)
    assert explain.main([str(quiet)]) == 1
    assert "add `causes = true` to [probes]" in capsys.readouterr().err
    older = tmp_path / "older"
    shutil.copytree(quiet, older)
    manifest = json.loads((older / "manifest.json").read_text())
    for name in ("causes", "victims"):
        (older / f"{name}.parquet").unlink()
        del manifest["files"][f"{name}.parquet"]
    (older / "manifest.json").write_text(json.dumps(manifest))
    assert unpause.load(older).flows.num_rows > 0
    assert explain.main([str(older)]) == 1
    assert "did not record causes" in capsys.readouterr().err


def test_bad_questions(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, answer in (
        (["--flow", "F9"], "no flow 'F9' (known: "),
        (["--port", "H0->S9"], "H0->S9 sent nothing; H0 sends by H0->S0"),
        (["--scheme", "PFQ"], "no scheme 'PFQ'; did you mean 'PFC'? (known: PFC, PFC+PCN)"),
        (["--at", "soon"], "--at 'soon' is not a time such as 3.2ms"),
        (["--at", "1s"], "--at 1.00 s is after the end of the run, "),
        (["--port", "S1-"], "hint: quote it: to the shell, > means a file to write to"),
    ):
        assert explain.main([str(directory), *options]) == 1
        assert answer in capsys.readouterr().err


def test_a_stopped_run_is_explained_as_far_as_it_came(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "stopped" / ".unpause" / "runs" / "0123"
    kept.mkdir(parents=True)
    for file in directory.glob("*.parquet"):
        shutil.copy(file, kept)
    (kept / "run.json").write_text("{}")
    assert explain.main([str(tmp_path / "stopped"), "--scheme", "PFC"]) == 0
    said = capsys.readouterr()
    assert "this covers the finished runs only" in said.err
    assert "Incast at S1->R1" in said.out


FAILURE = (
    section("[routing]", detection="2us")
    + entry("event", at="20us", link="H0-S0", kind="down")
    + entry("event", at="30us", link="H0-S0", kind="up")
)


def test_a_link_that_failed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = unpause.run(SHARED + FAILURE, duration="60us", progress=False)
    losses = [row for row in result.tables["losses"].to_pylist() if row["run"] == 0]
    assert {row["since_ns"] for row in losses if row["reason"] == "link-down"} == {20_000.0}
    result.write(tmp_path / "failing")
    assert explain.main([str(tmp_path / "failing")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    lost, data = (
        sum(row[name] for row in losses if row["reason"] == "link-down")
        for name in ("packets", "data_packets")
    )
    assert data == result.runs.to_pylist()[0]["dropped_packets"]
    of_data = f"packets lost, {data} of them data" if data < lost else "data packets lost"
    assert f"down at 20us: {lost} {of_data}" in said
    assert "routes changed at 22us, up again at 30us" in said


def test_losses_are_named_with_their_reason_and_what_helps(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two senders of UDP to one, whose queue ends at 50 KB: no PAUSE, and most packets are lost."""
    lossy = scenario(
        {"builder": "single-switch", "hosts": 3, "rate": "100Gbps", "delay": "1us"},
        PFC,
        flow("t", "H1..H2", "H0", transport="udp"),
        switch={"lossless": [], "lossy_queue": "50KB"},
        probes=CAUSES,
    )
    result = unpause.run(lossy, progress=False)
    dropped = result.runs.to_pylist()[0]["dropped_packets"]
    result.write(tmp_path / "lossy")
    assert explain.main([str(tmp_path / "lossy")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No PAUSE was sent." in said
    place = f"Lost: {dropped:,} packets were dropped at S0->H0, priority 3"
    assert f"{place}: lossy_queue 50 KB was full (longest queue 49.3 KB)" in said
    assert "Could help: a congestion control with marks below the limit" in said


ERRORS = entry("event", kind="error-rate", link="H0-S0", loss=0.2)


def test_a_link_with_errors_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = unpause.run(SHARED + ERRORS, duration="60us", progress=False)
    losses = [row for row in result.tables["losses"].to_pylist() if row["run"] == 0]
    assert {(row["reason"], row["place"]) for row in losses} == {("error", "wire")}
    result.write(tmp_path / "lossy")
    assert explain.main([str(tmp_path / "lossy")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    lost = sum(row["packets"] for row in losses)
    assert "Frame errors: errors on H0-S0 from the start on" in said
    assert f"each frame with probability 2e-1: {lost} " in said


def test_a_flow_has_its_own_share_of_the_queue(
    result: Result, directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = result.runs_of("PFC")[0]
    tree = account.trees(run)[0]
    entry = next(it for it in tree.culprits if it.traffic == "burst")
    assert sum(entry.of_flow.values()) <= entry.share + 1e-9
    rows = [
        row
        for row in run.table("causes").to_pylist()
        if row["seen_ns"] == row["time_ns"]
        and row["root_node"] == tree.root.node
        and (row["node"], row["egress_peer"]) == tree.root
    ]
    total = sum(row["flow_queue_bytes"] for row in rows)
    for number, share in entry.of_flow.items():
        own = sum(row["flow_queue_bytes"] for row in rows if row["flow_id"] == number)
        assert share == pytest.approx(own / total)
    largest = max(entry.of_flow, key=lambda it: entry.of_flow[it])
    assert explain.main([str(directory), "--scheme", "PFC", "--flow", str(largest)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    own, whole = (f"{100 * it:.0f} %" for it in (entry.of_flow[largest], entry.share))
    assert f"{own}, all of burst {whole}, of the queue at S1->R1" in said
    assert own != whole
