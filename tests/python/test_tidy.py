"""The source of the package: every metric and figure is named in a test, imports go one way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import unpause
from unpause.figures import FIGURES
from unpause.metrics import METRICS

TESTS = Path(__file__).resolve().parent
WORDS = {
    word
    for file in TESTS.glob("test_*.py")
    if file.name != Path(__file__).name
    for word in re.findall(r"[\w-]+", file.read_text(encoding="utf-8"))
}


def test_every_metric_and_figure_is_named_in_a_test() -> None:
    assert {*METRICS, *FIGURES} - WORDS == set()


PACKAGE = TESTS.parents[1] / "python/unpause"
#: By module, such as `data.series`, its file.
MODULES = {
    ".".join(file.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): file
    for file in PACKAGE.rglob("*.py")
    if "papers" not in file.parts
}


def imports(text: str) -> Iterator[str]:
    """The modules of the package that a module imports: at once, in a function, or for types."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                whole = [name.name for name in names]
            case ast.ImportFrom(module=module, names=names, level=0):
                whole = [f"{module}.{name.name}" for name in names]
            case ast.ImportFrom():
                raise AssertionError(f"line {node.lineno}: relative: write `from unpause…`")
            case ast.Attribute(value=ast.Name(id="unpause"), attr=name):
                whole = [f"unpause.{name}"]
            case _:
                continue
        for path in whole:
            package, _, name = path.partition(".")
            if package == "unpause" and name:
                yield from _module(name)


def _module(name: str) -> Iterator[str]:
    """The module that `name`, such as `data.result.Result`, is or is in."""
    name = f"{unpause._WHERE[name]}.{name}" if name in unpause._WHERE else name
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    if name:
        yield name


#: By module what it imports. Nothing imports the front page of the package, which names them all.
NEEDS = {
    name: {*imports(file.read_text(encoding="utf-8"))} - {name}
    for name, file in MODULES.items()
    if name != "__init__"
}


@pytest.mark.parametrize(
    "text",
    [
        "from unpause.data import result",
        "from unpause.data.result import Run",
        "import unpause.data.result",
        "def f():\n    from unpause.data.result import Run",
        "if TYPE_CHECKING:\n    from unpause import Run",
        "import unpause\ndef f():\n    return unpause.Run",
    ],
)
def test_every_way_to_import_is_found(text: str) -> None:
    assert "data.result" in {*imports(text)}


def test_modules_import_one_another_in_one_direction() -> None:
    TopologicalSorter(NEEDS).prepare()


def test_rooms_import_one_another_in_one_direction() -> None:
    """A room is a folder of modules, or a module beside the folders."""
    needs: dict[str, set[str]] = {}
    for name, imported in NEEDS.items():
        room = name.partition(".")[0]
        needs.setdefault(room, set()).update(it.partition(".")[0] for it in imported)
        needs[room].discard(room)
    assert "schema" in needs["data"]
    TopologicalSorter(needs).prepare()


def too_long(file: Path) -> Iterator[str]:
    """A file of more than 500 lines, functions of more than 70."""
    text = file.read_text(encoding="utf-8")
    if (lines := len(text.splitlines())) > 500:
        yield f"{file}: {lines} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) + 1 - node.lineno
            if lines > 70:
                yield f"{file}:{node.lineno}: {node.name}: {lines} lines"


def test_files_and_functions_are_short() -> None:
    faults = [fault for file in MODULES.values() for fault in too_long(file)]
    assert not faults, "\n".join(faults)
