"""Every metric and every figure is named in a test: nothing is offered that nobody looks at."""

from __future__ import annotations

import re
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
