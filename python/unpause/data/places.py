"""Where a name stands in the text of a scenario, for messages about it."""

from __future__ import annotations

import re

from unpause.data.result import Result


def of_report(result: Result, name: str) -> str:
    """The start of a message about a name in ``[report]``: ``FILE:LINE: ``.

    Only FILE if the name is written in another way, as with escapes.
    """
    about = result.manifest.get("scenario") or {}
    file = str(about.get("file") or "scenario.toml")
    lines = result.source.splitlines()
    start = next((at for at, line in enumerate(lines) if re.match(r"\s*\[?\s*report\b", line)), 0)
    quoted = f'"{name}"', f"'{name}'"
    for at, line in enumerate(lines[start:], start + 1):
        if any(it in line for it in quoted):
            return f"{file}:{at}: "
    return f"{file}: "
