"""Notices of the code of others in the wheel and the programs: ``python tests/notices.py``.

Writes ``THIRD-PARTY-NOTICES.md``. Cargo says which crates are compiled for the released targets;
the texts are those in their sources. Where a crate offers several licences, Apache 2.0 is taken, so
that one text serves most of them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
NOTICES = ROOT / "THIRD-PARTY-NOTICES.md"
#: Crates of releases and installations: the wheel, the program, the two C libraries.
ROOTS = {"unpause-python", "unpause-cli", "unpause-c", "unpause-network"}
TARGETS = (
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
)
APACHE = "Apache-2.0"
#: Files of licences that are not taken: zstd is also under the GPL.
_OTHERS = re.compile(r"apache|unlicense|boost|gpl|copying|copyright|0bsd", re.IGNORECASE)
_LICENCE = re.compile(r"(licen[cs]e|copying|unlicense|copyright)", re.IGNORECASE)
_MIT = """\
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def crates() -> list[dict[str, Any]]:
    """Crates of others that are compiled into what is released, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    for target in TARGETS:
        command += ["--filter-platform", target]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    missing = ROOTS - {package["name"] for package in packages.values()}
    assert not missing, missing
    waiting = [key for key, package in packages.items() if package["name"] in ROOTS]
    shipped = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]:
            # Without a kind: not of a build script or a test alone.
            normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if normal and dependency["pkg"] not in shipped:
                shipped.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    foreign = [packages[key] for key in shipped if packages[key]["source"]]
    return sorted(foreign, key=lambda package: (package["name"], package["version"]))


def _is_apache(expression: str) -> bool:
    return APACHE in re.split(r" OR |/", expression)


def _texts(crate: dict[str, Any]) -> Iterator[str]:
    """Texts of the licences of a crate that cannot be had under Apache 2.0, and of code in it."""
    folder = Path(crate["manifest_path"]).parent
    files = sorted(path for path in folder.rglob("*") if _LICENCE.match(path.name))
    apache = _is_apache(crate["license"])
    count = 0
    for file in files:
        own = file.parent == folder
        if not file.is_file() or _OTHERS.search(file.name) or (own and apache):
            continue
        count += 1
        yield file.read_text("utf-8")
    if apache or count:
        return
    if crate["license"] != "MIT":
        sys.exit(f"{crate['name']} {crate['version']} ({crate['license']}) has no licence text")
    yield f"Copyright (c) {', '.join(crate['authors']) or crate['name']}\n\n{_MIT}"


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def _block(text: str) -> str:
    return f"```text\n{_trimmed(text)}\n```\n"


def notices() -> str:
    """The whole file."""
    apache, lines = [], []
    # Texts, with the names that they are of.
    texts: dict[str, list[str]] = defaultdict(list)
    extra: dict[str, list[str]] = defaultdict(list)
    for crate in crates():
        name = f"{crate['name']} {crate['version']}"
        lines.append(f"| {crate['name']} | {crate['version']} | {crate['license']} |")
        if APACHE in crate["license"]:
            apache.append(name)
        for text in _texts(crate):
            texts[_trimmed(text)].append(name)
        folder = Path(crate["manifest_path"]).parent
        for file in sorted(folder.glob("NOTICE*")):
            extra[_trimmed(file.read_text("utf-8"))].append(name)
    for file in sorted((ROOT / "python/unpause/vendor").glob("*/LICENSE")):
        texts[_trimmed(file.read_text("utf-8"))].append(f"{file.parent.name} (in pages)")
    parts = [
        "# Third-party notices",
        "The wheel of unpause, its program and its C libraries contain the code below. `make "
        "notices` writes\nthis file. Rust's standard library is compiled in, too, under Apache 2.0 "
        "or MIT.",
        "\n".join(["| crate | version | licence |", "|---|---|---|", *lines]),
        "## Apache License 2.0",
        f"For {', '.join(apache)}.",
        _block((ROOT / "LICENSE-APACHE").read_text("utf-8")),
    ]
    for text, names in extra.items():
        parts += [f"## Notice of {', '.join(names)}", _block(text)]
    for text, names in texts.items():
        parts += [f"## {', '.join(dict.fromkeys(names))}", _block(text)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


if __name__ == "__main__":
    NOTICES.write_text(notices(), "utf-8")
