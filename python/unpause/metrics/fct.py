"""Flow completion times."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause import series
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS
from unpause.result import Run
from unpause.series import Unavailable

#: Mean, percentiles, and the largest.
Statistic = Literal["mean", "p50", "p99", "p99.9", "max"]


@metric("ms")
def fct_ms(
    run: Run, statistic: Statistic, traffic: list[str] | None = None, since_ms: float = 0.0
) -> float:
    """Mean, percentile or largest FCT of the flows of the entries `traffic`, all by default.

    Of flows that start at `since_ms` or later. Percentiles interpolate linearly. A flow that did
    not complete counts as infinitely long.
    """
    flows = _flows(run, traffic, since_ms)
    return _statistic(_fct(flows), statistic)


@metric("ms")
def query_ms(
    run: Run, statistic: Statistic, traffic: list[str] | None = None, since_ms: float = 0.0
) -> float:
    """The same of queries: flows to one receiver that start at once, until the last is complete."""
    flows = _flows(run, traffic, since_ms)
    start, dst = series.column(flows, "start_ns"), flows.column("dst").to_numpy()
    _, index = np.unique(np.rec.fromarrays([start, dst.astype(str)]), return_inverse=True)
    last = np.zeros(index.max() + 1)
    np.maximum.at(last, index, _fct(flows))
    return _statistic(last, statistic)


def _flows(run: Run, traffic: list[str] | None, since_ms: float) -> pa.Table:
    flows = run.table("flows").filter(pc.field("start_ns") >= since_ms * MS)
    if traffic is not None:
        flows = flows.filter(pc.field("traffic").isin(pa.array(traffic)))
    if not flows.num_rows:
        of = f" of {', '.join(traffic)}" if traffic else ""
        raise Unavailable(f"No flow{of} started under {run.scheme}.")
    return flows


def _fct(flows: pa.Table) -> np.ndarray:
    fct = series.column(flows, "fct_ns") / MS
    return np.where(np.isnan(fct), np.inf, fct)


def _statistic(fct: np.ndarray, statistic: Statistic) -> float:
    if statistic == "mean":
        return float(fct.mean())
    fct = np.sort(fct)
    share = 1.0 if statistic == "max" else float(statistic.removeprefix("p")) / 100
    at = (len(fct) - 1) * share
    low, high = fct[math.floor(at)], fct[math.ceil(at)]
    # Not inf - inf.
    return float(high) if math.isinf(high) else float(low + (high - low) * (at % 1))
