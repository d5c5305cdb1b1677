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


@metric("ms")
def fct_ms(
    run: Run, statistic: Literal["mean", "p50", "p99"], traffic: list[str] | None = None
) -> float:
    """Mean or percentile of the FCT of the flows of the entries `traffic`, all by default.

    Percentiles interpolate linearly. A flow that did not complete counts as infinitely long.
    """
    flows = run.table("flows")
    if traffic is not None:
        flows = flows.filter(pc.field("traffic").isin(pa.array(traffic)))
    fct = series.column(flows, "fct_ns") / MS
    if not len(fct):
        of = f" of {', '.join(traffic)}" if traffic else ""
        raise Unavailable(f"No flow{of} started under {run.scheme}.")
    fct = np.sort(np.where(np.isnan(fct), np.inf, fct))
    if statistic == "mean":
        return float(fct.mean())
    at = (len(fct) - 1) * int(statistic.removeprefix("p")) / 100
    low, high = fct[math.floor(at)], fct[math.ceil(at)]
    # Not inf - inf.
    return float(high) if math.isinf(high) else float(low + (high - low) * (at % 1))
