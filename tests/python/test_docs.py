"""The documents are true: examples run, columns and keys are those of the code."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import unpause
from tests.notes import notes
from unpause import metrics, schema
from unpause.explanation import sentences
from unpause.figures.registry import KINDS
from unpause.sweeps import recorded

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("papers/*/*.md"),
        *ROOT.glob("crates/*/*.md"),
        ROOT / "python/README.md",
    ]
)

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
    assert documented == [(c.name, _arrow_name(c), c.nullable) for c in recorded.COLUMNS]


def _arrow_name(column: schema.Column) -> str:
    return {"double": "float64"}.get(str(column.type), str(column.type))


@pytest.mark.parametrize("document", ["README.md", "docs/scenario.md"])
def test_complete_scenarios_are_valid(document: str) -> None:
    complete = [block for block in blocks(document, "toml") if "duration =" in block]
    assert complete
    for block in complete:
        assert unpause.validate(block)


def dead_links(document: Path) -> Iterator[str]:
    """Each link to a file or a heading that is not there, with its line."""
    text = re.sub(
        r"^```.*?^```",
        lambda block: "\n" * block[0].count("\n"),
        document.read_text("utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    for link in re.finditer(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link[1].partition("#")
        if file.startswith(("http:", "https:")):
            continue
        path = (document.parent / file).resolve() if file else document
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            yield f"{document}:{text.count(chr(10), 0, link.start()) + 1}: {link[1]}"


@cache
def _anchors(document: Path) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", document.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_lead_somewhere() -> None:
    links = [link for document in DOCUMENTS for link in dead_links(document)]
    assert not links, "\n".join(links)


@pytest.mark.parametrize(
    "crate",
    [f"crates/unpause-{name}" for name in ("import", "results", "scenario", "sim", "sonic")]
    + ["python"],
)
def test_a_readme_names_folders_that_exist(crate: str) -> None:
    source = ROOT / crate / ("unpause" if crate == "python" else "src")
    named = {
        name
        for cells in rows((ROOT / crate / "README.md").read_text("utf-8"))[1:]
        for name in re.findall(r"`([^`]+)`", cells[0])
    }
    assert [name for name in named if not (source / name).exists()] == []
    folders = {f"{path.parent.name}/" for path in source.glob("*/*") if "__" not in str(path)}
    assert sorted(folders - named) == []


def _made(mark: str, lines: list[str]) -> None:
    """Between the marks of docs/claims.md stand `lines`; with UNPAUSE_BLESS they are put there."""
    file = ROOT / "docs" / "claims.md"
    text = file.read_text("utf-8")
    head, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, tail = rest.partition("<!-- end -->")
    now = "\n".join([f"{head}<!-- {mark} -->", *lines, f"<!-- end -->{tail}"])
    if "UNPAUSE_BLESS" in os.environ:
        file.write_text(now, "utf-8")
    assert file.read_text("utf-8") == now


def _text(function: Callable[..., object]) -> str:
    paragraph, _, _ = (inspect.getdoc(function) or "").partition("\n\n")
    text = re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"`\1`", " ".join(paragraph.split()))
    return text.replace("``", "`").replace("|", "\\|")


def _keys(function: Callable[..., object], measured: int = 1) -> str:
    """The keys of an entry: all parameters but the first, `measured`."""
    return ", ".join(f"`{name}`" for name in [*inspect.signature(function).parameters][measured:])


def test_claims_lists_every_metric() -> None:
    head = ["| metric | unit | `args` | what |", "|---|---|---|---|"]
    rows = []
    for name, m in sorted(metrics.METRICS.items()):
        of = {"run": "", "model": "No run. "}.get(m.scope, "All seeds. ")
        keys = _keys(m.function, 0 if m.scope == "model" else 1)
        rows.append(f"| `{name}` | {m.unit or '-'} | {keys} | {of}{_text(m.function)} |")
    _made("metrics", head + rows)


def test_claims_lists_every_kind_of_figure() -> None:
    head = ["| kind | takes | what |", "|---|---|---|"]
    rows = [f"| `{n}` | {_keys(f)} | {_text(f)} |" for n, f in sorted(KINDS.items())]
    _made("kinds", head + rows)


def test_the_python_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)
    for folder in ("papers", "scenarios"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    for block in blocks("docs/python.md", "python"):
        exec(compile(block, "docs/python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "did you mean `duration`?" in said


def test_the_readme_shows_what_a_run_ends_with() -> None:
    (scenario,) = [b for b in blocks("README.md", "toml") if "An incast of eight to one" in b]
    told = sentences.of_result(unpause.run(scenario, progress=False))
    said = " ".join(" ".join(blocks("README.md", "text")).split())
    for scheme, text in told:
        assert f"{scheme}: {text}" in said


def test_the_citation_names_this_version() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"][
        "version"
    ]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text("utf-8")
    assert notes(version)


def test_the_site_has_every_document() -> None:
    listed = re.findall(
        r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE
    )
    assert all((ROOT / page).is_file() for page in listed)
    pages = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")}
    pages |= {str(path.relative_to(ROOT)) for path in ROOT.glob("papers/*/*.md")}
    assert pages <= set(listed)
