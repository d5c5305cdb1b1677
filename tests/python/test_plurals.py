"""Counts and nouns agree: "1 packet was dropped", "2 packets were dropped"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import unpause
from unpause.text import are, plural, were

PACKAGE = Path(unpause.__file__).parent

NOUNS = re.compile(
    "(packet|frame|flow|PAUSE|link|host|run|point|row|job|scheme|node|victim|storm|event|sample|"
    "iteration|message|timeout|neighbour|outage|episode|other)s|switches|entries"
)

#: Texts whose number is at least two where they are written, by file.
SEVERAL = {
    "data/files.py": 4,
    "explanation/notices.py": 1,
    "explanation/sentences.py": 1,
    "figures/job_matrix.py": 1,
    "figures/overtime.py": 1,
    "pages/explored.py": 1,
    "sweeps/axes.py": 1,
    # Numbers of runs that are needed, or of rows of large tables.
    "claims/counted.py": 3,
    "claims/effects.py": 1,
    "data/rules.py": 5,
    "pages/answer.py": 1,
}


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def counts(source: str) -> Iterator[tuple[int, str]]:
    """Formatted numbers before a plural noun that no condition on the number precedes."""
    tree = ast.parse(source)
    above = parents(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, number, after in zip(
            [None, *node.values], node.values, node.values[1:], strict=False
        ):
            if not (isinstance(number, ast.FormattedValue) and isinstance(after, ast.Constant)):
                continue
            noun = re.match(r" (?:more |other |data |lossy |recorded )?(\w+)", str(after.value))
            if noun is None or not NOUNS.fullmatch(noun[1]) or is_word(number.value):
                continue
            # "3 of 5 flows", and the totals of "1 of 1 flows"
            of = isinstance(before, ast.Constant) and str(before.value).endswith(
                (" of ", "of the ")
            )
            if not of and not is_several(node, above):
                yield node.lineno, ast.unparse(node)


def is_word(value: ast.expr) -> bool:
    """Whether a formatted value is a text or a constant, and no number of the result."""
    text = ast.unparse(value)
    return text == "its" or text.rpartition(".")[2].lstrip("_").isupper() or text.startswith("_")


def is_several(node: ast.AST, above: dict[ast.AST, ast.AST]) -> bool:
    """Whether a condition such as ``count > 1`` or ``len(found) == 1`` decides on this text."""
    while (parent := above.get(node)) is not None and not isinstance(parent, ast.FunctionDef):
        test = getattr(parent, "test", None)
        if test is not None and node is not test and re.search(
            r"(> 1|== 1|!= 1|>= ?2|> 2|<= \w+|> _?MOST|> len)\b", ast.unparse(test)
        ):  # fmt: skip
            return True
        node = parent
    return False


def test_no_text_has_a_plural_whatever_its_number() -> None:
    found = {
        str(path.relative_to(PACKAGE)): list(counts(path.read_text("utf-8")))
        for path in sorted(PACKAGE.rglob("*.py"))
    }
    beyond = {path: its for path, its in found.items() if len(its) > SEVERAL.get(path, 0)}
    assert beyond == {}


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 packets were"), (1, "1 packet was"), (2, "2 packets were")]
)
def test_the_verb_agrees(number: int, text: str) -> None:
    assert f"{plural(number, 'packet')} {were(number)}" == text
    assert are(number) == ("is" if number == 1 else "are")


def test_the_scan_finds_a_plural_without_a_condition() -> None:
    assert list(counts('f"dropped {n} packets"')) == [(1, "f'dropped {n} packets'")]
    assert list(counts('f"dropped {n} packets" if n > 1 else ""')) == []
    assert list(counts('f"{k} of {n} flows"')) == []
