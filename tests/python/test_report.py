"""The page of a result, its warnings and its tables."""

from __future__ import annotations

import base64
import json
import os
import re
import time
import tomllib
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import unpause
from conftest import MS, Builder, sweep
from scenarios import PFC, flow, star
from unpause import figures
from unpause.commands import report
from unpause.figures import pause
from unpause.pages import drawing
from unpause.pages.summary import by_priority


class _Page(HTMLParser):
    """Collects what a page would load, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads_to: list[str] = []
        self.pictures: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("src", "href") and value and not value.startswith(("#", "data:")):
                # The target of a click is not loaded.
                (self.leads_to if tag == "a" else self.loads).append(value)
            if tag == "img" and key == "src" and value:
                self.pictures.append(value)
            if key == "id" and value:
                self.ids.append(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report_is_one_offline_file(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    made = pcn_f2()
    made.manifest["warnings"] = ["Port S1 <-> R1 dropped 3 packets."]
    path = made.write(tmp_path / "f2")
    built = report.build(path)
    page = _Page()
    html = built.path.read_text("utf-8")
    page.feed(html)
    assert page.loads == []
    assert page.leads_to == ["explore.html"]
    assert (path / "explore.html").is_file()
    assert len(page.ids) == len(set(page.ids))
    assert {"summary", "claims", "figures", "scenario", "tables"} <= set(page.ids)
    assert len(page.pictures) == len(built.drawn) >= 7
    for uri in page.pictures:
        kind, _, data = uri.partition(";base64,")
        assert kind in ("data:image/svg+xml", "data:image/png")
        assert base64.b64decode(data)
    assert "Made-up PCN Fig. 2" in page.text
    assert "Port S1 <-> R1 dropped 3 packets." in page.text
    assert "FCT slowdown by flow size: A scheme has at most" in page.text
    assert "avoids all" in page.text
    assert 'name = "PFC"' in page.text
    for claim in built.claims:
        assert claim.id in page.text
    assert not re.search(r"\{[{%]", html)
    files = sorted(f.name for f in path.iterdir())
    assert "report.html.tmp" not in files
    assert {"claims.json", "claims.parquet", "figures", "report.html"} <= set(files)
    listed = json.loads((path / "report.json").read_text("utf-8"))["files"]
    assert all((path / name).is_file() for name in listed)
    assert {f"figures/{name}.svg" for name in built.drawn} <= set(listed)
    # The first figure and those that the scenario names, until all are asked for.
    own = tomllib.loads(made.source)["report"]["figures"]
    assert {built.drawn[0], *own} == {f.stem for f in (path / "figures").glob("*.png")}
    report.build(path, png=True)
    assert set(built.drawn) == {f.stem for f in (path / "figures").glob("*.png")}


def test_report_of_a_sweep(builder: Builder, tmp_path: Path) -> None:
    path = sweep(builder).write(tmp_path / "f5")
    built = report.build(path)
    assert built.drawn == ["pcn-f5"]
    assert all(
        "2 runs over f1_limit_gbps" in built.skipped[t]
        for t in ("Queue length of probed ports", "Throughput of recorded flows")
    )


def test_names_without_a_font_are_reported_once(builder: Builder, tmp_path: Path) -> None:
    run = builder.run("\U00013000 hieroglyph")
    for fct_ms in (1.0, 2.0):
        builder.flow(run, "x", size_bytes=1000, fct_ns=fct_ms * MS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = report.build(builder.write(tmp_path / "odd"))
    assert [p for p in built.problems if "no font" in p] == built.problems
    assert len(built.problems) == 1


def test_report_names_what_it_does_not_know(
    builder: Builder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    builder.run("PFC")
    lines = ["[report]", "figures = [", '"irn",', '"pcn-f22",', "]", 'claims = ["pcn-f222"]']
    builder.source = "\n".join(['title = "pcn-f22"', *lines])
    builder.manifest["scenario"] = {"file": "mine.toml"}
    path = builder.write(tmp_path / "odd")
    built = report.build(path)
    claims = (
        "mine.toml:7: claims were not judged: no claims for experiment 'pcn-f222'; did you mean "
        "'PCN-F2'?"
    )
    figure = "mine.toml:5: figure not drawn: no figure 'pcn-f22'; did you mean 'pcn-f2'?"
    assert built.problems == [claims, figure]
    # One that is known has nothing to show here.
    [missed] = built.missed
    assert missed.startswith("mine.toml:4: figure irn not drawn: ")
    lines = report.closing(built, 2000)
    assert lines[:3] == [f"warning: {claims}", f"warning: {figure}", f"note: {missed}"]
    capsys.readouterr()
    assert report.main([str(path), "--claims"]) == 0
    assert " ".join(capsys.readouterr().out.split()) == claims


def test_without_a_name_that_is_near_the_kinds_of_names_are_listed(
    builder: Builder, tmp_path: Path
) -> None:
    builder.run("PFC")
    builder.source = '[report]\nfigures = ["zzz"]\nclaims = ["QQ"]\n'
    claims, figure = report.build(builder.write(tmp_path / "odd")).problems
    assert "(known: CAP-…, DCQCN-…, " in claims
    assert "(known: completions, " in figure
    assert "pcn-f2" not in figure
    assert figure.endswith(", and those of papers: unpause.figures.FIGURES)")


def test_a_stretch_that_is_all_pause_is_no_darker_than_dark() -> None:
    # One long PAUSE, of which bins come to 1.0000000001 by rounding, and many short ones.
    short = 4e6 + 7_001.3 * np.arange(400)[:, None] + np.array([0.0, 333.3])
    every = np.concatenate([[[1_234_567.8, 3.9e6]], short])
    shades = [shade for shade, _ in pause.lane(0, every, (1_234_567.8, 6_777_777.7), 1e6)]
    assert max(shades) == 1.0


def test_a_figure_that_fails_costs_only_itself(
    builder: Builder,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = builder.run("PFC")
    for fct_ms in (1.0, 2.0):
        builder.flow(run, "x", size_bytes=1000, fct_ns=fct_ms * MS)
    path = builder.write(tmp_path / "odd")
    said: list[str] = []

    def fails(*_: object) -> None:
        said.append(capsys.readouterr().out)
        raise ValueError("alpha (1.0375) is outside 0-1 range")

    monkeypatch.setattr(figures, "draw", fails)
    assert report.main([str(path), "--width", "100"]) == 0
    assert said[0].startswith("Made by hand\n")  # before anything was drawn
    assert "\nPFC: " in said[0]
    out = capsys.readouterr().out
    assert "PFC: " not in out
    why = "ValueError: alpha (1.0375) is outside 0-1 range"
    assert f"warning: not drawn: throughput: {why}" in out
    assert f"report: {path / 'report.html'}" in out
    assert f"throughput failed: {why}" in (path / "report.html").read_text("utf-8")


def test_main_prints_claims_and_path(
    pcn_f2: Callable[[], Builder], tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot
) -> None:
    path = pcn_f2().write(tmp_path / "f2")
    for options in (["--width", "100"], ["--width", "100", "--claims"]):
        assert report.main([str(path), *options]) == 0
        assert capsys.readouterr().out.replace(str(tmp_path), "RESULTS") == snapshot


def test_main_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path)]) == 1
    assert "no manifest.json" in capsys.readouterr().err


PRIORITIES = star(
    3,
    PFC,
    flow("large", "H0..H1", "H2", size="100KB"),
    flow("small", "H0", "H2", size="5KB"),
    rate="10Gbps",
    duration="2ms",
)


def test_priorities_have_rows_of_their_own_where_there_are_several() -> None:
    assert not by_priority(unpause.run(PRIORITIES)).rows
    summary = by_priority(unpause.run(PRIORITIES + "priority = 5\n"))
    rows = [dict(zip(summary.heads, row, strict=True)) for row in summary.rows]
    assert [row["priority"] for row in rows] == ["7", "5", "3"]
    assert [row["flows done"] for row in rows] == ["-", "1 of 1", "2 of 2"]
    # 5 frames by the host, and again by the switch.
    assert [row["frames sent"] for row in rows][1:] == ["10", "400"]
    assert [row["FCT mean"] for row in rows][1:] == ["7.03 us", "173 us"]


def test_several_processes_draw_what_one_does(
    pcn_f2: Callable[[], Builder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = pcn_f2().write(tmp_path / "f2")
    found = {}
    for cores in (1, 3):
        monkeypatch.setattr(drawing, "_cores", lambda cores=cores: cores)
        built = report.build(directory)
        names = ["report.html", *built.files]
        found[cores] = built, {name: (directory / name).read_bytes() for name in names}
    assert found[1][0] == found[3][0]
    assert found[1][1] == found[3][1]
    assert len(found[1][0].drawn) > 2
    assert f"figures/{found[1][0].drawn[0]}.png" in found[1][1]


def test_what_a_process_leaves_undone_is_done(tmp_path: Path) -> None:
    first = os.getpid()

    def ends() -> int:
        if os.getpid() != first:
            os._exit(9)
        time.sleep(0.01)
        return first

    job = drawing._Job(None, tmp_path, [], set(), [ends] * 20)
    assert drawing._all_of(job, 20, 3) == [first] * 20


def test_an_error_of_a_process_is_the_report_s(tmp_path: Path) -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    def slow() -> None:
        time.sleep(0.05)

    job = drawing._Job(None, tmp_path, [], set(), [slow, full, slow, full])
    for cores in (1, 2, 4):
        with pytest.raises(OSError, match="No space"):
            drawing._all_of(job, 4, cores)
