"""What the documents say is true: examples run, columns and keys are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import unpause
from unpause import schema

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("crates/*/*.md")])

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs" / "tables.md").is_file(), reason="the documents are not here"
)


def blocks(document: str, language: str) -> list[str]:
    text = (ROOT / document).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def sections(document: str) -> dict[str, str]:
    """Text below each heading, by the heading without its marks."""
    parts = re.split(r"^#+ (.*)$", (ROOT / document).read_text("utf-8"), flags=re.MULTILINE)
    return {head.strip("`[] "): text for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def rows(text: str) -> list[list[str]]:
    """Cells of the rows of all tables in `text`."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_tables_lists_every_statistic_of_a_sweep() -> None:
    documented = [
        (cells[0].strip("`"), cells[1].split(",")[0], "null" in cells[1])
        for cells in rows(sections("docs/tables.md")["statistics"])
        if cells[0].startswith("`")
    ]
    assert documented == [(c.name, _arrow_name(c), c.nullable) for c in schema.STATISTICS]


def _arrow_name(column: schema.Column) -> str:
    return {"double": "float64"}.get(str(column.type), str(column.type))


@pytest.mark.parametrize("document", ["README.md", "docs/scenario.md"])
def test_complete_scenarios_are_valid(document: str) -> None:
    complete = [block for block in blocks(document, "toml") if "duration =" in block]
    assert complete
    for block in complete:
        assert unpause.validate(block)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    text = re.sub(r"^```.*?^```", "", document.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        if file.startswith(("http:", "https:")):
            continue
        path = (document.parent / file).resolve() if file else document
        assert path.exists(), target
        if anchor:
            heads = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), flags=re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads]
            assert anchor in anchors, target


def test_the_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    for block in blocks("docs/python.md", "python"):
        exec(compile(block, "docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "did you mean `duration`?" in said
