"""The source of the package: every metric and figure is named in a test, imports go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from unpause.figures import FIGURES
from unpause.metrics import METRICS

TESTS = Path(__file__).resolve().parent
WORDS = {
    word
    for file in TESTS.glob("test_*.py")
    if file.name != Path(__file__).name
    for word in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", [*METRICS, *FIGURES])
def test_it_is_named_in_a_test(name: str) -> None:
    assert name in WORDS


PACKAGE = TESTS.parents[1] / "python/unpause"
#: By module, such as `data.series`, what it imports of the package when it is imported itself.
NEEDS = {
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in PACKAGE.rglob("*.py")
    if "papers" not in file.parts
}


def imports(file: Path) -> Iterator[str]:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("unpause"):
            continue
        within = (node.module or "").removeprefix("unpause").removeprefix(".")
        for name in node.names:
            whole = f"{within}.{name.name}".removeprefix(".")
            if whole in NEEDS:
                yield whole
            elif within:
                yield within


def test_modules_import_one_another_in_one_direction() -> None:
    TopologicalSorter({name: {*imports(file)} for name, file in NEEDS.items()}).prepare()


def test_rooms_import_one_another_in_one_direction() -> None:
    needs: dict[str, set[str]] = {}
    for name, file in NEEDS.items():
        room, _, rest = name.partition(".")
        if rest:
            needed = {other.partition(".")[0] for other in imports(file) if "." in other}
            needs.setdefault(room, set()).update(needed - {room})
    assert "data" in needs
    TopologicalSorter(needs).prepare()


@pytest.mark.parametrize("name", NEEDS)
def test_files_and_functions_are_short(name: str) -> None:
    text = NEEDS[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 500
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 70, node.name
