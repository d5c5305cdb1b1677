"""Prepares the documents for `make site`: copies them, draws figures of papers, and shows these.

A page of a paper names its figures by their files in the directory of its reproduction. Here the
experiments that take few seconds are run at full size, and their figures take the place of the
names. The other names remain: the page says which command draws them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from unpause.commands import reproduce

ROOT = Path(__file__).parents[1]
KINDS = ["*.md", "docs/*.css", "*.png", "*.toml", "*.rs", "*.cc", "*.schema.json", "LICENSE-*"]

#: Core time of an experiment up to which it is run here: all of them take two minutes of one core.
SECONDS = 6

#: A row of the table of experiments on a page, with its core time.
_EXPERIMENT = re.compile(r"^\| \[([^]]+)\]\(#.*?\| (?:(\d+) min )?(\d+) s \|", re.MULTILINE)
#: A line that names a figure.
_FIGURE = re.compile(r"^( *)Figure `(\S+\.png)`(?: of `[^`]+`)?: (.*)$", re.MULTILINE)


def copy(to: Path) -> None:
    """Copies what pages show or link to, so that links lead as they do in the repository."""
    names = subprocess.run(
        ["git", "ls-files", *KINDS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in names.stdout.splitlines():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)


def cheap(page: str) -> set[str]:
    """The experiments of a paper's page that take at most SECONDS."""
    rows = _EXPERIMENT.finditer(page)
    return {row[1] for row in rows if int(row[2] or 0) * 60 + int(row[3]) <= SECONDS}


def draw(paper: str, page: str, to: Path) -> None:
    """Runs the cheap experiments of a paper at full size, and draws their figures in `to`."""
    ids = cheap(page)
    wanted = [experiment for experiment in reproduce.papers()[paper] if experiment.id in ids]
    reproduce.run_all(paper, wanted, to, full=True)


def show(page: Path, figures: Path) -> None:
    """Shows on a page the figures that have been drawn; `claims.png` needs all experiments."""
    folder = page.parent / "figures"

    def shown(line: re.Match[str]) -> str:
        indent, file, title = line.groups()
        drawn = figures / file
        if file.startswith("figures/") or not drawn.is_file():
            return line[0]
        folder.mkdir(exist_ok=True)
        name = file.replace("/figures/", "-")
        shutil.copy(drawn, folder / name)
        return f"{indent}![{title}](figures/{name})"

    page.write_text(_FIGURE.sub(shown, page.read_text("utf-8")), "utf-8")


def main(site: Path) -> None:
    """Fills `site`/src."""
    copy(site / "src")
    for report in sorted((site / "src/papers").glob("*/report.md")):
        paper = report.parent.name
        draw(paper, report.read_text("utf-8"), site / "papers" / paper)
        for page in report.parent.glob("*.md"):
            show(page, site / "papers" / paper)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
