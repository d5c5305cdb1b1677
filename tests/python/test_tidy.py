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

#: Only claims and shipped scenarios show these so far. Names may go from here, none may come.
UNTESTED = {
    "pcn_increase_percent",
    "fluid_overload_loops",
    "fluid_aggregate_after_a_loop",
    "fluid_underload_loops",
    "fluid_share_percent",
    "fluid_halving_loops",
    "fluid_queue_swing",
    "fluid_rate_swing",
    "pcn-f2-readings",
    "pcn-f14-readings",
    "capfc-hol",
    "capfc-fct",
    "capfc-sweep",
    "qcn-f2",
}


@pytest.mark.parametrize("name", [*METRICS, *FIGURES])
def test_it_is_named_in_a_test(name: str) -> None:
    assert (name in WORDS) != (name in UNTESTED)
