"""Flow completion times."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import completion, series
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric
from unpause.metrics.windows import MS
from unpause.statistics.censored import Sample
from unpause.statistics.percentiles import percentile

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
    return of_flows_ms(flows, statistic)


@metric("ms")
def query_ms(
    run: Run, statistic: Statistic, traffic: list[str] | None = None, since_ms: float = 0.0
) -> float:
    """`fct_ms` of queries: flows to one receiver that start together, until the last completes."""
    flows = _flows(run, traffic, since_ms)
    start, dst = series.column(flows, "start_ns"), flows.column("dst").to_numpy()
    _, index = np.unique(np.rec.fromarrays([start, dst.astype(str)]), return_inverse=True)
    last = np.zeros(index.max() + 1)
    np.maximum.at(last, index, _fct(flows))
    return _statistic(last, statistic)


@metric("us")
def acked_us(
    run: Run, which: Literal["first", "last"], ack_us: float, traffic: list[str] | None = None
) -> float:
    """When the first or the last flow is over at its sender: its FCT, and `ack_us` of its last ACK.

    Some simulators end a flow there. `ack_us` is what an ACK takes through the empty network.
    """
    fct = _fct(_flows(run, traffic, 0.0))
    return 1e3 * float(fct.min() if which == "first" else fct.max()) + ack_us


@metric("-")
def last_over_first(run: Run, ack_us: float = 0.0, traffic: list[str] | None = None) -> float:
    """`acked_us` of the last flow over that of the first; infinite if a flow has not ended."""
    last = acked_us(run, "last", ack_us, traffic)
    return last if math.isinf(last) else last / acked_us(run, "first", ack_us, traffic)


@metric("packets")
def retransmitted_packets(run: Run, traffic: list[str] | None = None) -> float:
    """Data packets that senders of RoCE flows have sent again."""
    return float(np.sum(series.column(_flows(run, traffic, 0.0), "retransmitted_packets")))


def _flows(run: Run, traffic: list[str] | None, since_ms: float) -> pa.Table:
    flows = run.counted_flows().filter(pc.field("start_ns") >= since_ms * MS)
    if traffic is not None:
        flows = flows.filter(pc.field("traffic").isin(pa.array(traffic)))
    if not flows.num_rows:
        of = f" of {', '.join(traffic)}" if traffic else ""
        raise Unavailable(f"No flow{of} started under {run.scheme}.")
    return flows


def of_flows_ms(flows: pa.Table, statistic: Statistic) -> float:
    """:func:`fct_ms` of some rows of table `flows`, at least one."""
    return _statistic(_fct(flows), statistic)


def _fct(flows: pa.Table) -> np.ndarray:
    fct = series.column(flows, "fct_ns") / MS
    return np.where(np.isnan(fct), np.inf, fct)


def _statistic(fct: np.ndarray, statistic: Statistic) -> float:
    if statistic == "mean":
        return float(fct.mean())
    return percentile(fct, 100 if statistic == "max" else float(statistic.removeprefix("p")))


@metric("ms")
def fct_of_size_ms(
    run: Run,
    statistic: Literal["mean", "std", "p50", "p90", "p99"],
    above_bytes: float = 0,
    below_bytes: float = math.inf,
    traffic: list[str] | None = None,
) -> float:
    """Mean, standard deviation or percentile of the FCT of flows, by size.

    Of more than `above_bytes` and less than `below_bytes`. Flows that did not complete count with
    their lower bound, the time until the end: the number is unavailable where they decide it.
    """
    flows = _of_size(run, above_bytes, below_bytes, traffic)
    sample = completion.fct_ns(flows, run.row)
    if statistic == "std" and not len(sample.bounds):
        return float(sample.known.std()) / MS
    if statistic == "mean" or statistic == "std":
        estimate = sample.mean()
    else:
        estimate = sample.percentile(float(statistic.removeprefix("p")))
    assert estimate is not None
    if estimate.value is None or statistic == "std":
        at_least = "" if statistic == "std" else f": at least {estimate.at_least / MS:.3g} ms"
        raise Unavailable(
            f"The {statistic} of the FCT is not known under {run.scheme}{at_least}. "
            f"{len(sample.bounds):,} of {len(sample):,} flows of such a size did not finish."
        )
    return estimate.value / MS


def _of_size(
    run: Run, above_bytes: float, below_bytes: float, traffic: list[str] | None
) -> pa.Table:
    flows = run.counted_flows()
    size = series.column(flows, "size_bytes")
    flows = flows.filter(pa.array((size > above_bytes) & (size < below_bytes)))
    if traffic is not None:
        flows = flows.filter(pc.field("traffic").isin(pa.array(traffic)))
    if not flows.num_rows:
        raise Unavailable(f"No flow of such a size started under {run.scheme}.")
    return flows


def sample_ms(run: Run, traffic: list[str]) -> Sample:
    """FCT (ms) of flows of entries; of those that did not complete a lower bound.

    Raises:
        Unavailable: there is none.
    """
    found = completion.fct_ns(_of_size(run, -1, math.inf, traffic), run.row)
    return Sample(found.known / MS, found.bounds / MS)


@metric("flows")
def unfinished_flows(run: Run) -> float:
    """Flows with a size that were not complete at the end."""
    flows = run.counted_flows()
    sized = ~np.isnan(series.column(flows, "size_bytes"))
    return float(np.sum(sized & np.isnan(series.column(flows, "fct_ns"))))
