"""FCT and slowdown of the flows of a run, those that did not finish among them.

A flow without a size has no end, so it is no observation; nor is a flow that has not started. A
flow that did not finish (for lack of time, because it gave up, because UDP lost a packet) has an
FCT of at least the time from its start to the run's end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from unpause.data import series
from unpause.statistics.censored import Sample

#: The columns of `flows` that these functions read.
COLUMNS = ("size_bytes", "start_ns", "fct_ns", "ideal_fct_ns", "slowdown")


def fct_or_bound_ns(flows: pa.Table, run: Mapping[str, Any]) -> np.ndarray:
    """The FCT of each flow or, where it did not finish, its lower bound.

    Args:
        flows: Rows of table `flows`.
        run: The row of their run in table `runs`, which has its end.
    """
    since = run["simulated_ns"] - series.column(flows, "start_ns")
    fct = series.column(flows, "fct_ns")
    return np.where(np.isnan(fct), since, fct)


def slowdown_or_bound(flows: pa.Table, run: Mapping[str, Any]) -> np.ndarray:
    """The same of the slowdown; NaN where the ideal FCT is not known."""
    bound = fct_or_bound_ns(flows, run) / series.column(flows, "ideal_fct_ns")
    slowdown = series.column(flows, "slowdown")
    return np.where(np.isnan(slowdown), bound, slowdown)


def finished(flows: pa.Table) -> np.ndarray:
    """Whether each flow finished."""
    return ~np.isnan(series.column(flows, "fct_ns"))


def fct_ns(flows: pa.Table, run: Mapping[str, Any]) -> Sample:
    """The FCT of those `flows` that have a size."""
    return sample(fct_or_bound_ns(flows, run), flows)


def slowdown(flows: pa.Table, run: Mapping[str, Any]) -> Sample:
    """The slowdown of those `flows` that have a size and an ideal FCT."""
    return sample(slowdown_or_bound(flows, run), flows)


def sample(values: np.ndarray, flows: pa.Table) -> Sample:
    """A quantity of those `flows` that have a size, without NaN."""
    counts = ~np.isnan(series.column(flows, "size_bytes")) & ~np.isnan(values)
    ended = finished(flows)
    return Sample(values[counts & ended], values[counts & ~ended])
