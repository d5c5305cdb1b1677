"""Comments, docstrings, texts and test names of sources, and phrases in them, by line."""

from __future__ import annotations

import ast
import bisect
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

Line = tuple[int, str]


def document(text: str) -> Iterator[Line]:
    """All lines."""
    yield from enumerate(text.splitlines(), 1)


def rust(text: str) -> Iterator[Line]:
    """Comments and names of tests."""
    is_test = False
    for number, line in document(text):
        code = line.strip()
        if code.startswith("//"):
            yield number, code.lstrip("/!")
        elif function := re.match(r"(?:async )?fn (\w+)", code):
            if is_test:
                yield number, function[1].replace("_", " ")
            is_test = False
        is_test |= code == "#[test]"


def python(text: str) -> Iterator[Line]:
    """Comments, docstrings and names of tests."""
    lines = [
        (token.start[0], token.string.lstrip("#: "))
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and _is_text(node.value):
            words = node.value.value.splitlines()
            lines += enumerate(words, node.lineno)
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            lines.append((node.lineno, node.name.replace("_", " ")))
    yield from sorted(lines)


def literals(text: str) -> Iterator[Line]:
    """Strings of a Python module that are not documentation."""
    tree = ast.parse(text)
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if _is_text(node) and id(node) not in documentation:
            yield node.lineno, node.value


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def phrases(lines: Iterator[Line], unwanted: Mapping[str, str]) -> Iterator[str]:
    """Each unwanted phrase with its line, its surroundings and what to write instead."""
    text, starts, numbers = "", [], []
    for number, line in lines:
        # A phrase may go over the end of a line, but not from one comment to the next.
        if numbers and number > numbers[-1] + 1:
            text += "¶ "
        starts.append(len(text))
        numbers.append(number)
        text += " ".join(line.split()) + " "
    for phrase, instead in unwanted.items():
        for match in re.finditer(phrase, text):
            number = numbers[bisect.bisect(starts, match.start()) - 1]
            near = text[max(0, match.start() - 30) : match.end() + 20]
            yield f"{number}: {near!r}: {instead}"


def faults(files: list[Path], reader, unwanted: Mapping[str, str]) -> list[str]:
    """The phrases of all these files, with file and line."""
    assert files
    return [
        f"{file}:{fault}"
        for file in files
        for fault in phrases(reader(file.read_text("utf-8")), unwanted)
    ]
