"""The workflows of GitHub: what they run is pinned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

WORKFLOWS = Path(__file__).parents[2] / ".github" / "workflows"


@pytest.mark.skipif(not WORKFLOWS.is_dir(), reason="the workflows are not here")
def test_actions_are_pinned_by_commit_and_name_their_version() -> None:
    uses = re.compile(r"^\s*(?:- )?uses: (\S+)(.*)$", re.M)
    found = [
        (file.name, action, rest)
        for file in sorted(WORKFLOWS.glob("*.yml"))
        for action, rest in uses.findall(file.read_text())
        if not action.startswith("./")
    ]
    assert found
    for file, action, rest in found:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), (file, action)
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", rest), (file, action)
