"""Percentiles by the definition that the command line goes by, which is Rust's."""

from __future__ import annotations

import numpy as np

from unpause import _native


def percentile(values: np.ndarray, percent: float) -> float:
    """The value that `percent` of `values` lie below, interpolated between neighbours.

    Raises:
        ValueError: there are no values, or `percent` is not from 0 to 100.
    """
    return percentiles(values, [percent])[0]


def percentiles(values: np.ndarray, percents: list[float]) -> list[float]:
    """Several of :func:`percentile`; the values are sorted once."""
    return _native.percentiles(np.ascontiguousarray(values, dtype=np.float64), percents)
