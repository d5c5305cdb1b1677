"""Reproducing a paper: what is listed exists, what is reduced is said, and the page has it all."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import unpause
from scenarios import PCN, entry, flow, star
from unpause import figures
from unpause.claims import claim as claims
from unpause.commands import reproduce


def one_port(*entries: str, **settings: Any) -> str:
    """Two flows into one port."""
    sent = flow("f", "H0..H1", "H2", record=True)
    return star(3, PCN, sent, *entries, rate="40Gbps", **settings)


SMALL = one_port(
    entry("sweep", name="xoff_kb", key="pfc.xoff", unit="KB", values=[64, 128, 256]),
    title="Two flows into one port",
    source="nobody, Fig. 1",
    probes={"interval": "10us", "ports": ["S0->H2"]},
    report={"figures": ["pcn-f5"], "claims": ["PCN-F5"]},
)


def test_every_experiment_is_valid_in_both_versions() -> None:
    known = {c.id.partition(".")[0] for file in claims.files() for c in claims.read(file)}
    experiments = [e for paper in reproduce.papers().values() for e in paper]
    assert len(experiments) > 100
    for experiment in experiments:
        full = reproduce.read(experiment, full=True)
        quick = reproduce.read(experiment, full=False)
        assert 0 < len(quick.runs) <= len(full.runs), experiment
        written = tomllib.loads(full.source)
        asked = {"figures": [], "claims": [], **written.get("report", {})}
        assert set(asked["figures"]) <= set(figures.FIGURES), experiment
        assert set(asked["claims"]) <= known, experiment


def test_a_version_can_be_that_of_an_earlier_experiment(tmp_path: Path) -> None:
    stated = [
        {"id": "F1", "quick": {"seed": 2}, "scenario": "a.toml"},
        {"id": "F2", "quick": "F1"},
        {"id": "F3", "quick": "F2", "full": {"seed": 3}},
    ]
    found = reproduce._experiments(stated, tmp_path)
    assert [e.quick for e in found] == [{"seed": 2}] * 3
    assert [e.scenario.name for e in found] == ["a.toml", "f2.toml", "f3.toml"]
    with pytest.raises(reproduce.ReproduceError, match="F2: quick: no experiment 'F1' before"):
        reproduce._experiments(stated[1:], tmp_path)


def test_a_figure_selects_its_experiments() -> None:
    assert [e.id for e in reproduce.select("pcn/F18")[1]] == ["F18", "F18-arrivals", "F18-64kb"]
    assert [e.id for e in reproduce.select("pcn/f2")[1]] == [
        "F2",
        "F2-arrivals",
        "F2-warm-32ms",
        "F2-warm-up",
        "F2-readings",
    ]
    assert [e.id for e in reproduce.select("pcn/f5")[1]] == ["F5"]
    assert [e.id for e in reproduce.select("pcn/F15")[1]] == ["F10-F15-F16"]
    assert len(reproduce.select("pcn")[1]) == len(reproduce.papers()["pcn"])


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("pnc", "did you mean 'pcn'"),
        ("pcn/F111", "did you mean 'F11'"),
        ("x", "known: capfc, dcqcn, ecn-sharp, hpcc, irn, pcn"),
    ],
)
def test_unknown_names_are_answered_with_the_nearest(what: str, answer: str, capsys) -> None:
    assert reproduce.main([what]) == 1
    assert answer in capsys.readouterr().err


def test_a_key_that_is_not_there_cannot_be_reduced() -> None:
    scenario = tomllib.loads(SMALL)
    reduced = reproduce.reduce(scenario, {"sweep.xoff_kb.values": [64], "duration": "2ms"})
    assert (reduced["sweep"][0]["values"], reduced["duration"]) == ([64], "2ms")
    assert scenario["sweep"][0]["values"] == [64, 128, 256]
    for path in ("sweep.xon.values", "sweep.xoff_kb.valeus", "host.payload"):
        with pytest.raises(reproduce.ReproduceError, match=path):
            reproduce.reduce(scenario, {path: 1})


@pytest.mark.parametrize("full", [False, True])
def test_the_page_says_what_was_run_and_found(
    full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    quick, bigger = ({"sweep.xoff_kb.values": v} for v in ([64, 128], [64, 96, 128, 256]))
    made = reproduce.Experiment("F5", file, quick, bigger, core_s=120.0)
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [made]})
    out = tmp_path / "out"
    markdown = tmp_path / "docs" / "pcn.md"
    arguments = ["--out", str(out), "--markdown", str(markdown)]
    arguments += ["--full"] if full else ["--pictures"]
    assert reproduce.main(["pcn", *arguments]) == 0
    text = markdown.read_text("utf-8")
    assert "## F5\n\nTwo flows into one port. nobody, Fig. 1." in text
    assert ("Reduced: sweep.xoff_kb.values = 64, 128." in text) is not full
    instead = "Instead of what the scenario has: sweep.xoff_kb.values = 64, 96, 128, 256."
    assert (instead in text) is full
    assert "| PCN-F5.C1 | F1's limiter above" in text
    page = (out / "index.html").read_text("utf-8")
    assert "Two flows into one port" in page
    assert "PCN-F5.C1" in page
    assert "not evaluated" in page
    assert '<img src="figures/claims.svg"' in page
    assert (out / "figures" / "claims.svg").is_file()
    assert ("](pcn/claims.png)" in text) is not full
    assert (markdown.parent / "pcn" / "claims.png").is_file() is not full
    assert ("\nFigure `figures/claims.png`: Every claim" in text) is full
    assert "Not drawn: PCN Fig. 5" in page
    assert ("sweep.xoff_kb.values = 64, 128" in page) is not full
    assert unpause.load(out / "f5").runs.num_rows == (4 if full else 2)
    found = json.loads((out / "claims.json").read_text("utf-8"))
    assert found["counts"] == {"paper": {"not evaluated": 2}, "derivation": {"not evaluated": 1}}
    assert {c["experiment"] for c in found["claims"]} == {"F5"}
    printed = capsys.readouterr().out
    assert ("reduced: F5: sweep.xoff_kb.values = 64, 128" in printed) is not full
    assert ("The full version takes about" in printed) is full
    assert "2 claims: 2 not evaluated. 1 derivation of ours: 1 not evaluated." in printed
    assert f"page: {out / 'index.html'}" in printed


def test_what_full_size_takes_is_said_before() -> None:
    def experiment(name: str, core_s: float) -> reproduce.Experiment:
        return reproduce.Experiment(name, Path("x.toml"), core_s=core_s)

    known = [experiment("F1", 5400.0), experiment("F2", 1800.0)]
    said = reproduce.estimate(known, cores=2)
    assert said == "The full version takes about 60 min on 2 idle cores."
    said = reproduce.estimate([*known, experiment("F3", 0.0)], cores=4)
    assert said == "The full version takes about 30 min on 4 idle cores; not known of F3."


def test_pcn_at_full_size_takes_less_than_three_hours_of_two_cores() -> None:
    experiments = reproduce.papers()["pcn"]
    assert all(e.core_s > 0 for e in experiments)
    assert sum(e.core_s for e in experiments) < 2 * 3 * 3600


def test_finished_experiments_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    made = reproduce.Experiment("F5", file, {"sweep.xoff_kb.values": [64]})
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [made]})
    out = str(tmp_path / "out")
    ran = []
    run_native = reproduce.running.run_native

    def watch(*arguments, **keywords):
        ran.append(arguments)
        return run_native(*arguments, **keywords)

    monkeypatch.setattr(reproduce.running, "run_native", watch)
    for expected in (1, 1):
        assert reproduce.main(["pcn", "--out", out]) == 0
        assert len(ran) == expected
    # Not if it would come out otherwise.
    file.write_text(SMALL.replace('"1ms"', '"2ms"'), "utf-8")
    assert reproduce.main(["pcn", "--out", out]) == 0
    assert len(ran) == 2
    capsys.readouterr()


def test_a_reproduction_that_crashed_before_its_page_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL, "utf-8")
    made = reproduce.Experiment("F5", file, {"sweep.xoff_kb.values": [64]})
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [made]})
    out = tmp_path / "out"

    def crash(*arguments, **keywords):
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(reproduce.page, "write", crash)
        with pytest.raises(ZeroDivisionError):
            reproduce.main(["pcn", "--out", str(out)])
    assert {it.name for it in out.iterdir()} - {".unpause"} == {"f5"}
    assert reproduce.main(["pcn", "--out", str(out)]) == 0
    assert (out / "index.html").is_file()
    # Files of the user are kept, also beside such a result.
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    (out / "f5").rename(mixed / "f5")
    (mixed / "mine.txt").write_text("mine")
    assert reproduce.main(["pcn", "--out", str(mixed)]) == 1
    assert "is not the directory of a reproduction" in capsys.readouterr().err


def test_a_mistake_in_the_claims_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[[claim]]\nid = "PCN-F2.C1"\n')
    monkeypatch.setattr(reproduce.rooms, "folders", lambda: {"pcn": tmp_path})
    made = reproduce.Experiment("F5", tmp_path / "none.toml", {})
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [made]})
    assert reproduce.main(["pcn", "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"error: {file}:1: PCN-F2.C1: kind is missing\n"
    assert not (tmp_path / "out").exists()


def test_a_reproduction_replaces_no_markdown_unasked(tmp_path: Path, capsys) -> None:
    for name, folder in (("pcn.md", False), ("pcn", True)):
        there = tmp_path / name
        there.mkdir() if folder else there.write_text("mine")
        arguments = ["--out", str(tmp_path / "out"), "--markdown", str(tmp_path / "pcn.md")]
        arguments.append("--pictures")
        assert reproduce.main(["pcn/F2", *arguments]) == 1
        assert re.search(rf"{there} exists\nhint: --force", capsys.readouterr().err)
        assert not (tmp_path / "out").exists()
        there.rmdir() if folder else there.unlink()


@pytest.mark.parametrize("random", [False, True])
def test_what_is_stated_to_be_deterministic_is_run_with_another_seed(
    random: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    file = tmp_path / "small.toml"
    more = '[[traffic]]\nname = "r"\nkind = "poisson"\nsize = "10KB"\nload = 0.2\n'
    file.write_text(SMALL + (more if random else ""), "utf-8")
    quick = {"sweep.xoff_kb.values": [64]}
    made = reproduce.Experiment("F5", file, quick, deterministic=True)
    monkeypatch.setattr(reproduce, "papers", lambda: {"pcn": [made]})
    _, [done] = reproduce.reproduce("pcn", tmp_path / "out")
    assert unpause.load(tmp_path / "out" / "f5").same_with_any_seed is not random
    said = [p for p in done.problems if p.startswith("Stated to be deterministic, but")]
    assert len(said) == random
    capsys.readouterr()
