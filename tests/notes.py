"""The text of a release, from the changelog: ``python tests/notes.py 0.1.0``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"
REPOSITORY = "https://github.com/unpause/unpause"


def notes(version: str) -> str:
    """The section of `version`, with links that lead somewhere from outside the repository.

    Raises:
        SystemExit: the changelog has no such section.
    """
    sections = re.split(r"^## \[(.+?)\].*$", CHANGELOG.read_text("utf-8"), flags=re.MULTILINE)
    text = dict(zip(sections[1::2], sections[2::2], strict=True)).get(version)
    if text is None:
        sys.exit(f"{CHANGELOG.name} has no section {version}")
    text = re.sub(r"^\[.+?\]: \S+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\]\((?!https?:)", f"]({REPOSITORY}/blob/v{version}/", text).strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(notes(sys.argv[1]))
