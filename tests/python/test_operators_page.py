"""docs/operators.md: its commands run as written there, and say what it shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operators.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="the documents are not here")


def test_its_commands_say_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("COLUMNS", "100")
    # `unpause lint` of a faulty file ends with 1.
    shell = f'unpause() {{ "{sys.executable}" -m unpause.cli "$@"; }}\n'
    said, shown = "", 0
    for language, inside in BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "sh":
            done = subprocess.run(
                ["bash", "-c", shell + inside], cwd=tmp_path, capture_output=True, text=True
            )
            assert "error: " not in done.stderr, done.stderr
            said = " ".join((done.stdout + done.stderr).split())
        elif language == "text":
            for part in inside.split("…"):
                assert " ".join(part.split()) in said
                shown += 1
    assert shown >= 9
