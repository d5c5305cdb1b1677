"""Percentiles of Python are those of the command line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpause.statistics.percentiles import percentile, percentiles

values = st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=50)


@given(values, st.floats(0, 100))
def test_percentiles_interpolate_linearly(found: list[float], percent: float) -> None:
    ours = percentile(np.array(found), percent)
    scale = max(map(abs, found))
    assert ours == pytest.approx(np.percentile(found, percent), rel=1e-9, abs=1e-9 * scale)


def test_flows_that_did_not_end_are_the_slowest() -> None:
    fct = np.array([math.inf, 1.0, 2.0, math.inf, math.inf])
    assert percentiles(fct, [0, 25, 50, 100]) == [1.0, 2.0, math.inf, math.inf]


def test_nothing_has_no_percentile() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile(np.array([]), 50)
    with pytest.raises(ValueError, match="beyond 0 to 100"):
        percentile(np.array([1.0]), 101)
