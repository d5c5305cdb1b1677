"""The papers' folders: what the package has of them, and what is said of a mistake in one."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Builder
from unpause import figures, metrics, papers
from unpause.claims import claim as claims
from unpause.claims import headlines
from unpause.figures.registry import add

CHECKOUT = Path(__file__).parents[2] / "papers"


@pytest.mark.skipif(not CHECKOUT.is_dir(), reason="the papers are not here")
def test_the_package_has_every_paper_with_its_data() -> None:
    of = {f.name for f in CHECKOUT.iterdir() if (f / "paper.toml").is_file()}
    assert set(papers.folders()) == of
    for name, folder in papers.folders().items():
        for pattern in ("*.toml", "*.py", "scenarios/**/*.*"):
            here = {f.relative_to(folder) for f in folder.glob(pattern)}
            assert here == {
                f.relative_to(CHECKOUT / name) for f in CHECKOUT.glob(f"{name}/{pattern}")
            }


def test_a_paper_names_itself_and_scenarios_that_are_there() -> None:
    for paper, folder in papers.folders().items():
        stated = papers.stated(paper)
        assert set(stated) <= {"name", "experiment", "figure", "headline"}, paper
        assert stated["name"], paper
        for experiment in stated["experiment"]:
            file = experiment.get("scenario", f"{experiment['id'].lower()}.toml")
            assert (folder / "scenarios" / file).is_file(), paper


def test_headlines_are_carried_by_claims_that_are_there() -> None:
    stated = {c.id: c for file in claims.files() for c in claims.read(file)}
    for paper in papers.folders():
        for headline in papers.stated(paper).get("headline", []):
            assert set(headline) == {"says", "paper", "by", "sentence"}, paper
            for part in headline["by"]:
                labels = {check.label for check in stated[part["claim"]].checks}
                assert set(part.get("labels", [])) <= labels, paper


def test_headlines_have_the_worst_verdict_of_the_paper_s_own_reading(
    pcn_f2: Callable[[], Builder],
) -> None:
    result = pcn_f2().result()
    found = result.claims()
    judged = {h.says: h for h in headlines.of("pcn", found)}
    [victims] = [h for says, h in judged.items() if says.startswith("Victims")]
    assert victims.verdict == "reproduced"
    assert "F0: PCN 37.5 Gb/s" in victims.measured
    [testbed] = [h for says, h in judged.items() if says.startswith("Testbed")]
    assert (testbed.measured, testbed.verdict) == ("", "not evaluated")
    again = claims.evaluate(result, ["PCN-F2", "PCN-F3"], other_reading=True)
    assert headlines.of("pcn", again) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"title": "t", "kind": "variants", "panel": []}, "figure without a name: no 'name'"),
        (
            {"name": "a", "title": "t", "kind": "varants"},
            "figure a: no 'varants' .kinds: .*variants",
        ),
        ({"name": "a", "title": "t", "kind": "variants"}, "missing a required argument: 'panel'"),
        (
            {"name": "a", "title": "t", "kind": "variants", "panel": [], "panels": []},
            "figure a of kind variants: got an unexpected keyword argument 'panels'",
        ),
        ({"name": "pcn-f2", "title": "t", "kind": "variants", "panel": []}, "two figures pcn-f2"),
    ],
)
def test_a_wrong_figure_of_a_paper_is_refused(entry: dict, message: str) -> None:
    before = dict(figures.FIGURES)
    with pytest.raises(ValueError, match=message):
        add(entry)
    assert before == figures.FIGURES


def test_a_metric_has_one_place_and_a_docstring() -> None:
    def fct_ms(run):
        """Something else."""

    with pytest.raises(ValueError, match=r"metric fct_ms of test_papers is there in unpause"):
        metrics.metric("ms")(fct_ms)
    with pytest.raises(ValueError, match="metric <lambda> has no docstring"):
        metrics.metric("ms")(lambda run: 0.0)
    with pytest.raises(AttributeError, match="no attribute 'fct_s'"):
        metrics.fct_s  # noqa: B018


def test_every_picture_is_shown_by_a_document() -> None:
    root = CHECKOUT.parent
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("papers/*/*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    pictures = [*root.glob("docs/img/*"), *root.glob("papers/*/img/*")]
    assert [file.name for file in pictures if f"img/{file.name})" not in text] == []


def test_the_site_shows_figures_that_have_been_drawn(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("site", CHECKOUT.parent / "docs/prepare_site.py")
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    page = tmp_path / "papers/x/report.md"
    (tmp_path / "drawn/f2/figures").mkdir(parents=True)
    (tmp_path / "drawn/f2/figures/queue.png").write_bytes(b"png")
    page.parent.mkdir(parents=True)
    rows = "| [F2](#f2) | t | 9 | 1 | 5 s | c |\n| [F3](#f3) | t | 9 | 1 | 1 min 0 s | c |\n"
    second = "Figure `f3/figures/queue.png` of `unpause reproduce x/f3`: Later"
    page.write_text(f"{rows}\n  Figure `f2/figures/queue.png`: Queue\n\n{second}\n", "utf-8")
    assert site.cheap(page.read_text("utf-8")) == {"F2"}
    site.show(page, tmp_path / "drawn")
    assert page.read_text("utf-8") == f"{rows}\n  ![Queue](figures/f2-queue.png)\n\n{second}\n"
    assert (page.parent / "figures/f2-queue.png").read_bytes() == b"png"
