"""Phrases that readers stumble over are in no document, help, error, comment or name of a test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import english
import unpause

ROOT = Path(__file__).parents[2]
PACKAGE = Path(unpause.__file__).parent
#: Its examples are wrong on purpose.
THIS = Path(__file__).name

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

#: The same for comments, docstrings and names of tests; it grows as sources are swept.
IN_SOURCES = PHRASES | {r"(?:^|¶ )What ": "say what the thing is: The …"}

DOCUMENTS = [
    "*.md",
    "docs/**/*.md",
    "papers/*/notes.md",
    "papers/*/report.md",
    "papers/*/claims*.toml",
    "papers/*/paper.toml",
    "crates/unpause-cli/tests/**/*.snap",
    "crates/unpause-scenario/tests/bad/*.snap",
]

#: Sources that have been swept.
SOURCES = ["crates/*/tests/**/*.rs", "tests/**/*.py"]


def files(patterns: list[str], end: str = "") -> list[Path]:
    every = {file for pattern in patterns for file in ROOT.glob(pattern)}
    return sorted(file for file in every if file.name.endswith(end) and file.name != THIS)


def found(text: str) -> list[str]:
    return [*english.phrases(english.document(text), PHRASES)]


@pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="the documents are not here")
def test_documents_and_errors() -> None:
    faults = english.faults(files(DOCUMENTS), english.document, PHRASES)
    assert not faults, "\n".join(faults)


@pytest.mark.skipif(not (ROOT / "crates").is_dir(), reason="the sources are not here")
def test_comments_and_names_of_tests() -> None:
    rust = english.faults(files(SOURCES, ".rs"), english.rust, IN_SOURCES)
    python = english.faults(files(SOURCES, ".py"), english.python, IN_SOURCES)
    faults = rust + python
    assert not faults, "\n".join(faults)


def test_help() -> None:
    command = [sys.executable, "-m", "unpause"]
    pages = [["man"], ["list"], *([name, "--help"] for name in ("compare", "sweep", "explain"))]
    for words in pages:
        done = subprocess.run([*command, *words], capture_output=True, text=True, check=True)
        assert len(done.stdout) > 200
        assert found(re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)) == [], words


def test_sentences_and_figures() -> None:
    faults = english.faults(sorted(PACKAGE.rglob("*.py")), english.literals, PHRASES)
    assert not faults, "\n".join(faults)


def test_a_fault_has_its_line() -> None:
    rust = "// Of it: what\n// becomes of it.\nlet a = 1;\n#[test]\nfn it_waits_for_ever() {}\n"
    python = '"""A queue.\n\nIt waits\nfor ever.\n"""\nx = 1  # under way\n'
    for lines, numbers in ((english.rust(rust), "15"), (english.python(python), "46")):
        faults = sorted(english.phrases(lines, IN_SOURCES))
        assert [fault[0] for fault in faults] == [*numbers]


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
