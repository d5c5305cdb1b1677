"""Slowdown of flows against an empty fabric."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import US
from unpause.statistics.percentiles import percentile


def sized(
    run: Run, above_bytes: int, upto_bytes: int | None, traffic: list[str] | None
) -> pa.Table:
    """Flows with `above_bytes` < size <= `upto_bytes` of the entries `traffic`, all by default.

    Raises:
        Unavailable: there is none.
    """
    rows = pc.field("size_bytes") > above_bytes
    if upto_bytes is not None:
        rows = rows & (pc.field("size_bytes") <= upto_bytes)
    if traffic is not None:
        rows = rows & pc.field("traffic").isin(pa.array(traffic))
    flows = run.counted_flows().filter(rows)
    if not flows.num_rows:
        raise Unavailable(f"No flow of such a size started under {run.scheme}.")
    return flows


def _percentile(values: np.ndarray, statistic: str) -> float:
    known = np.where(np.isnan(values), np.inf, values)
    return percentile(known, float(statistic.removeprefix("p")))


def slowdowns(run: Run, flows: pa.Table, ideal_of: str | None) -> np.ndarray:
    """FCT over ideal FCT of some flows of a run, infinite for those that did not complete.

    With `ideal_of`, ideal FCTs are those under that scheme, whose packets may have other headers.

    Raises:
        Unavailable: the result has no such scheme with the same flows.
    """
    ideal = series.column(flows, "ideal_fct_ns")
    if ideal_of is not None:
        alike = {**run.row, "run": None, "scheme": None}
        twins = [
            other
            for other in run.result.runs_of(ideal_of)
            if all(other.row[key] == alike[key] for key in (*run.result.sweep_columns, "seed"))
        ]
        if not twins:
            raise Unavailable(f"There is no run under {ideal_of} like this one.")
        theirs = twins[0].table("flows")
        at = series.rows_of(series.column(theirs, "flow_id"), series.column(flows, "flow_id"))
        if (series.column(theirs, "size_bytes")[at] != series.column(flows, "size_bytes")).any():
            raise Unavailable(f"Flows under {ideal_of} are others than under {run.scheme}.")
        ideal = series.column(theirs, "ideal_fct_ns")[at]
    fct = series.column(flows, "fct_ns")
    return np.where(np.isnan(fct), np.inf, fct) / ideal


@metric("-")
def sized_slowdown(
    run: Run,
    statistic: Literal["p50", "p95", "p99"],
    above_bytes: int = 0,
    upto_bytes: int | None = None,
    traffic: list[str] | None = None,
    ideal_of: str | None = None,
) -> float:
    """Percentile of the slowdown of flows with `above_bytes` < size <= `upto_bytes`.

    Of the entries `traffic`, all by default. A flow that did not complete is infinitely slow. With
    `ideal_of`, the ideal FCT is that of the same flow under that scheme: of packets without
    telemetry, for example.
    """
    flows = sized(run, above_bytes, upto_bytes, traffic)
    return _percentile(slowdowns(run, flows, ideal_of), statistic)


@metric("us")
def sized_acked_us(
    run: Run,
    statistic: Literal["p1", "p50", "p95", "p99"],
    ack_us: float,
    upto_bytes: int | None = None,
    traffic: list[str] | None = None,
) -> float:
    """Percentile of FCT plus `ack_us` of the last ACK, of flows of up to `upto_bytes`.

    For a flow of one packet this is a round trip whose ACK does not wait; `ack_us` is what it takes
    through the empty network.
    """
    flows = sized(run, 0, upto_bytes, traffic)
    return _percentile(series.column(flows, "fct_ns"), statistic) / US + ack_us
