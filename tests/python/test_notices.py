"""Warnings and notes of runs, grouped as the terminal groups them."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import unpause
from conftest import Builder
from scenarios import PFC, burst, entry, flow, scheme, star
from unpause.commands import sweep as sweep_command
from unpause.explanation import notices
from unpause.sweeps import warned as warned_points


def warned(run: int, scheme: str, message: str, **more: Any) -> dict[str, Any]:
    return {"run": run, "scheme": scheme, "kind": "input", "message": message, **more}


def test_of_one_kind_and_scheme_three_are_shown(builder: Builder) -> None:
    for name in ("PFC", "PCN"):
        run = builder.run(name)
        builder.manifest["warnings"] += [warned(run, name, f"odd {i}") for i in range(4 + run)]
    builder.manifest["warnings"].append("of an old result")
    found = notices.of_result(builder.result())
    assert found.warnings == [
        "of an old result.",
        *(f"all schemes: odd {i}." for i in range(3)),
        "all schemes: 1 more of kind input: see manifest.json.",
        "PCN: odd 4.",
    ]


def test_a_note_names_the_seeds_and_the_swept_values_by_name(builder: Builder) -> None:
    builder.source = (
        'title = "t"\n[[sweep]]\nname = "place"\nkey = "job.j.placement"\n'
        'values = ["packed", "spread"]\n'
    )
    message = "no PAUSE was sent: no ingress held more than {} KB"
    for name, said in (("HPCC", (0, 1, 3)), ("PFC", (0, 1, 2, 3))):
        for number in range(4):
            run = builder.run(name, place=float(number // 2), seed=1 + number % 2)
            if number in said:
                note = warned(run, name, message.format(number), note=True)
                builder.manifest["warnings"].append(note)
    result = builder.result()
    result._swept_names = {"place": ["packed", "spread"]}
    found = notices.of_result(result)
    assert found.warnings == []
    assert found.notes == [
        "HPCC at place=packed, place=spread seed=2: no PAUSE was sent.",
        "PFC in all 4 runs: no PAUSE was sent.",
    ]


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ((0.6, 0.6), "a/b.toml:14: the load is another: 0.6 of 0.7."),
        ((0.6, 0.8), "a/b.toml:14: the load is another."),
    ],
)
def test_what_stands_behind_a_place_is_kept(
    builder: Builder, loads: tuple[float, float], said: str
) -> None:
    for seed, load in enumerate(loads, 1):
        run = builder.run("PFC", seed=seed)
        message = f"a/b.toml:14: the load is another: {load} of 0.7"
        builder.manifest["warnings"].append(warned(run, "PFC", message, note=True))
    assert notices.of_result(builder.result()).notes == [f"PFC in all 2 runs: {said}"]


def test_values_have_units_and_a_remedy_stands_behind(builder: Builder) -> None:
    for xoff in (64_000.0, 128_000.0):
        builder.run("PCN", **{"pfc.xoff_bytes": xoff})
    builder.manifest["warnings"] = [warned(1, "PCN", "dropped 3 packets", help="raise it")]
    found = notices.of_result(builder.result())
    assert found.warnings == ["PCN at pfc.xoff=128 KB: dropped 3 packets (raise it)."]
    assert found.said[0].lines == [
        "warning: PCN at pfc.xoff=128 KB: dropped 3 packets",
        "   hint: raise it",
    ]


SCENARIO = star(
    9,
    PFC,
    scheme("DCQCN", "dcqcn"),
    burst("incast", "H1..H8", "H0", size="100KB", interval="200us", jitter="20us"),
    *(flow(f"late{number}", "H1", "H0", start="1ms") for number in range(4)),
    entry("sweep", name="headroom", key="pfc.headroom", values=[1, 2, 40], unit="KB"),
    title="Headroom that is too small",
    duration="300us",
    pfc={"xoff": "64KB"},
)


def test_the_page_says_what_the_terminal_says(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    out = tmp_path / "out"
    program = "import sys; from unpause.cli import main; sys.exit(main())"
    options = ["--seeds", "2", "--no-report", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-c", program, "run", str(file), *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    # Lines that were wrapped are put together again.
    lines: list[str] = []
    for line in done.stdout.splitlines():
        if line.startswith(("warning: ", "note: ", "   hint: ")):
            lines.append(line)
        elif lines and line.startswith("  "):
            lines[-1] += f" {line.strip()}"
    found = notices.of_result(unpause.load(out))
    told = [re.sub(" +", " ", line) for it in found.said for line in it.lines]
    told = [line.replace("see manifest.json", "-v shows them") for line in told]
    assert [re.sub(" +", " ", line) for line in lines] == told
    assert any("more of kind" in line for line in told)
    assert any(" at headroom=" in line for line in told)
    assert any("in all 6 runs" in line for line in told)


def swept(file: Path, out: Path) -> list[dict[str, Any]]:
    unpause.sweep(file, {"pfc.xoff": ["64KB"]}, out=out, progress=False)
    return json.loads((out / "sweep.json").read_text())["warnings"]


def test_a_sweep_keeps_the_warnings_of_its_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(SCENARIO)
    said = swept(file, out)
    # One value is swept beside the file's own: the runs are those of `unpause run`.
    expected = notices.of_result(unpause.run(file, progress=False)).said
    told = [notices.Said(**it) for it in said]
    assert [it.where.replace("pfc.xoff=64 KB ", "") for it in told] == [it.where for it in expected]
    messages = [
        notices.without_place(it.message) for it in expected if "more of kind" not in it.message
    ]
    assert any(message not in {it.message for it in expected} for message in messages)
    assert [it.message for it in told if "more of kind" not in it.message] == messages
    assert any("at pfc.xoff=64 KB headroom=2" in it.where for it in told)
    # Of points that are kept from before they are the same.
    before = (out / "sweep.parquet").stat().st_mtime_ns
    assert swept(file, out) == said
    assert (out / "sweep.parquet").stat().st_mtime_ns > before
    arguments = [str(file), "--vary", "pfc.xoff=64KB", "--out", str(out)]
    assert sweep_command.main(arguments) == 0
    printed = capsys.readouterr().out
    assert "2 of them kept from earlier" in printed
    assert printed.count("warning: ") == len([it for it in told if not it.note])
    assert printed.count("note: ") == len([it for it in told if it.note])
    page = html.unescape((out / "report.html").read_text())
    assert all(it.sentence in page for it in told)


def test_warnings_of_a_sweep_that_are_none_are_refused(tmp_path: Path) -> None:
    for found in ({}, [3], [{"where": "PFC"}], [{**asdict(notices.Said("", "odd")), "note": 1}]):
        with pytest.raises(unpause.ResultError, match="not what a sweep writes"):
            warned_points.read({"warnings": found or {"a": 1}}, "sweep.json")


def test_of_very_many_points_the_rest_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warned_points, "_MOST", 3)
    kept = warned_points.Warned()
    for number in range(4):
        point = pa.table({"scheme": ["PFC"]})
        kept.add(str(number), warned_points.marked(point, [warned(0, "PFC", f"odd {number}")]))
    rows = [{"run": run, "scheme": "PFC", "seed": run} for run in range(4)]
    found = kept.grouped([(str(number), 1) for number in range(4)], rows, [])
    assert found.warnings == [
        *(f"PFC at seed={number}: odd {number}." for number in range(3)),
        "more warnings than are kept: 1.",
    ]
