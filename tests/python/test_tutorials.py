"""The tutorials: files are saved, commands run and snippets executed as their reader does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted(
    page for at in ("tutorial", "cookbook") for page in (ROOT / "docs" / at).glob("*.md")
)

pytestmark = pytest.mark.skipif(not TUTORIALS, reason="the documents are not here")

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SAVED = re.compile(r"Save this as `([\w.-]+)`:\s*\Z")


def run(line: str, place: Path) -> str:
    """The output of a command on both streams; it has to succeed."""
    program, *arguments = shlex.split(line, comments=True)
    assert program in ("unpause", "python"), line
    module = ["-m", "unpause.cli"] if program == "unpause" else []
    done = subprocess.run(
        [sys.executable, *module, *arguments], cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_does_what_it_says(
    tutorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = tutorial.read_text("utf-8")
    said, commands, before = "", 0, 0
    for block in BLOCK.finditer(text):
        language, inside = block.groups()
        prose, before = text[before : block.start()], block.end()
        if language == "toml":
            if saved := SAVED.search(prose):
                (tmp_path / saved[1]).write_text(inside, "utf-8")
        elif language == "sh":
            lines = [line for line in inside.splitlines() if line.strip()]
            said = " ".join(" ".join(run(line, tmp_path) for line in lines).split())
            commands += len(lines)
        elif language == "rust":
            pass  # a documentation test of unpause-protocols
        elif language == "python":
            exec(compile(inside, str(tutorial), "exec"), {})
        else:
            assert language == "text"
            if saved := SAVED.search(prose):
                (tmp_path / saved[1]).write_text(inside, "utf-8")
                continue
            assert " ".join(inside.split()) in said
    assert commands
