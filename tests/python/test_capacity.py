"""The capacity of a link whose rate changes."""

from __future__ import annotations

import numpy as np
import pytest

from unpause.data import capacity

#: 40 Gb/s up to 300 ns, 10 up to 400, then 40 again.
STEPS = (np.array([300.0, 400.0]), np.array([10e9, 40e9]))


def test_bits_add_up_over_the_rates_in_force() -> None:
    most = capacity.carried_most(STEPS, 40e9, np.array([0.0, 100.0, 300.0, 350.0, 400.0, 1000.0]))
    assert most == pytest.approx([0, 4_000, 12_000, 12_500, 13_000, 37_000])


def test_a_link_of_one_rate_carries_that() -> None:
    assert capacity.carried_most(None, 40e9, np.array([100.0])) == pytest.approx([4_000])
    assert capacity.lowest(None, 40e9, 0.0, 100.0) == 40e9


def test_spans_count_with_their_own_rates() -> None:
    spans = np.array([[250.0, 350.0], [900.0, 1000.0]])
    assert capacity.bits_between(STEPS, 40e9, spans) == pytest.approx(2_000 + 500 + 4_000)


@pytest.mark.parametrize(
    ("start", "end", "rate"),
    [(0, 299, 40e9), (0, 300, 10e9), (310, 320, 10e9), (350, 500, 10e9), (400, 500, 40e9)],
)
def test_the_lowest_rate_of_a_span(start: float, end: float, rate: float) -> None:
    assert capacity.lowest(STEPS, 40e9, start, end) == rate
