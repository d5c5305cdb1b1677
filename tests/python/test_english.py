"""Phrases that readers stumble over are in no text for users: documents, help, errors."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unpause

ROOT = Path(__file__).parents[2]
PACKAGE = Path(unpause.__file__).parent

#: Each with what to write instead.
PHRASES = {
    r"\btold of\b": "named, reported",
    r"\bto move about\b": "interactive",
    r"\bpast it\b": "which does not use that link",
    r"\b(?<!on )(?:whose|its|their|own|equal|no) ways?\b": "path",
    r"(?<!under )\bway (?:from|through|to) (?:host |switch )?[A-Z{`]": "path",
    r"\bon the way (?:of|back)\b": "path",
    r"\b(?:goes|went) on (?:from|where|with|to)\b": "resumes, continues",
    r"\b(?:stands|stand) here\b": "is given here",
    r"\b(?:is not|nothing is|this is|that is) said\b": "missing, reported",
    r"\bsaid (?:once|so)\b": "reported",
    r"\bso (?:many|long|much) (?:bytes|packets|seeds|times|micro\w+|more)\b": "this many",
    r"\bin all(?: over\b|[.;)]| at the right)": "in total",
    r"\b(?:after|by|for|in|of) so (?:many|much|long)\b": "this many, this time",
    r"\b(?:hears?|heard|tells?) of\b": "receives, reports",
    r"\bfor ever\b": "forever",
    r"\blest\b": "so that ... not",
    r"\bunder way\b": "in flight, active",
    r"\bcomes? on top\b": "is added",
    r"\bwhat (?:becomes|became) of\b": "the effect on, how ... is translated",
    r"\bnobody (?:knows|looks|hears|reads)\b": "say what is missing",
    r", for (?:it|they|most|others?) (?:is|are|has|have)\b": "because",
}

DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("papers/*/notes.md")),
    *sorted(ROOT.glob("papers/*/claims*.toml")),
    *sorted(ROOT.glob("papers/*/paper.toml")),
    ROOT / "CHANGELOG.md",
    *sorted(ROOT.glob("papers/*/report.md")),
    *sorted(ROOT.glob("crates/unpause-cli/tests/**/*.snap")),
    *sorted(ROOT.glob("crates/unpause-scenario/tests/bad/*.snap")),
]


def found(text: str) -> list[str]:
    """Each phrase in its surroundings, with what to write instead."""
    plain = re.sub(r"\s+", " ", text)
    return [
        f"{plain[max(0, it.start() - 30) : it.end() + 20]!r}: {instead}"
        for phrase, instead in PHRASES.items()
        for it in re.finditer(phrase, plain)
    ]


def literals(source: str) -> Iterator[str]:
    """Strings of a module that are not documentation."""
    tree = ast.parse(source)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in documentation:
            yield node.value


@pytest.mark.skipif(not DOCUMENTS[0].is_file(), reason="the documents are not here")
@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_documents_and_errors(file: Path) -> None:
    assert found(file.read_text("utf-8")) == []


def test_help() -> None:
    command = [sys.executable, "-m", "unpause"]
    pages = [["man"], ["list"], *([name, "--help"] for name in ("compare", "sweep", "explain"))]
    for words in pages:
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
        assert len(done.stdout) > 200
        assert found(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)) == [], words


@pytest.mark.parametrize("file", sorted(PACKAGE.rglob("*.py")), ids=lambda file: file.stem)
def test_sentences_and_figures(file: Path) -> None:
    assert [it for text in literals(file.read_text("utf-8")) for it in found(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "flows not told of by name",
        "the same command goes on from there",
        "there is no way from H0 to H1",
        "H0, whose way was stopped",
        "the first so many\nbytes of a flow",
        "84 frames in all over virtual Ethernet",
        "a queue that PAUSE stops for so long",
        "the law never hears of that ACK",
        "packets under way to a switch",
        "a flow waits for ever",
        "less is a warning, for most are faster",
    ],
)
def test_what_is_wrong_is_found(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "in all runs, in all of them",
        "on its own; goes on",
        "no one said",
        "1.5 us one way",
        "so long as it is full, so many that it fails",
        "three samples, for others see below",
    ],
)
def test_what_is_right_is_not(text: str) -> None:
    assert not found(text)
