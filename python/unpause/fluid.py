"""The fluid model of PCN: Appendix A of the paper, equations (3) to (7) and what follows.

Time goes in loops of one CNP period T. N sources share one link of capacity C, and their rates are
real numbers: no packets, no unit of RecRate, no delay. :func:`simulate` runs the equations; the
other functions are the paper's propositions with the exact constants of this model. Where a
constant is not the one that the paper prints, the function says so.

    >>> run = simulate([30e9 / 4] * 4, capacity_bps=10e9, period_s=500e-6, w_min=1 / 128, loops=300)
    >>> run.first_empty_loop()
    257

The integer state machine of a single sender is :func:`unpause.mechanisms.pcn_reaction`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Queues below this share of C T count as empty: rounding leaves such where there is 0.
_EMPTY = 1e-9


@dataclass(frozen=True)
class Fluid:
    """A run of the model. Element k of an array is loop k, from 0.

    Attributes:
        capacity_bps: C.
        period_s: T.
        rate_bps: R_i(k), shape (loops + 1, N).
        queue_bytes: Q(k), shape (loops + 1,).
        weight: w(k), shape (loops + 1,).
        congested: p(k), shape (loops,): whether loop k ends with a decrease.
    """

    capacity_bps: float
    period_s: float
    rate_bps: np.ndarray
    queue_bytes: np.ndarray
    weight: np.ndarray
    congested: np.ndarray

    @property
    def time_s(self) -> np.ndarray:
        """Start of each loop."""
        return np.arange(len(self.queue_bytes)) * self.period_s

    @property
    def aggregate_bps(self) -> np.ndarray:
        """Sum of all rates in each loop."""
        return self.rate_bps.sum(axis=1)

    @property
    def share(self) -> np.ndarray:
        """eta_i(k): each source's part of the arrivals, shape (loops + 1, N); 0 if none sends."""
        total = self.rate_bps.sum(axis=1, keepdims=True)
        return np.divide(self.rate_bps, total, out=np.zeros_like(self.rate_bps), where=total > 0)

    def first_empty_loop(self) -> int | None:
        """The first loop from 1 on with an empty queue; None if there is none."""
        found = np.flatnonzero(self.queue_bytes[1:] == 0)
        return int(found[0]) + 1 if len(found) else None

    def increase_loops(self) -> np.ndarray:
        """The loops whose rates come from an increase: k with p(k - 1) = 0."""
        return np.flatnonzero(~self.congested) + 1


def simulate(
    rates_bps: Sequence[float] | np.ndarray,
    *,
    capacity_bps: float,
    period_s: float,
    loops: int,
    w_min: float = 1 / 128,
    w_max: float = 0.5,
    line_rate_bps: float | None = None,
    queue_bytes: float = 0.0,
) -> Fluid:
    """Run equations (3) to (7).

    Args:
        rates_bps: R_i(0), one for each source.
        capacity_bps: C, of the link that all share.
        period_s: T.
        loops: How many loops to run.
        w_min: Discount of a decrease, weight of the first increase after it, and w(0).
        w_max: What the weight of an increase grows to.
        line_rate_bps: Of the sources' links, towards which they increase; C by default, as in the
            paper.
        queue_bytes: Q(0).

    Raises:
        ValueError: no source, a negative rate or number of loops, or a parameter out of its range.
    """
    start = np.asarray(rates_bps, dtype=float)
    if start.ndim != 1 or len(start) == 0:
        raise ValueError("rates_bps must hold one rate for each source")
    if not np.isfinite(start).all() or (start < 0).any():
        raise ValueError("rates_bps must not be negative")
    if not (capacity_bps > 0 and period_s > 0):
        raise ValueError("capacity_bps and period_s must be above zero")
    if not 0 < w_min <= w_max <= 1:
        raise ValueError(f"expected 0 < w_min <= w_max <= 1, not {w_min:g} and {w_max:g}")
    if loops < 0 or queue_bytes < 0:
        raise ValueError("loops and queue_bytes must not be negative")
    line = capacity_bps if line_rate_bps is None else line_rate_bps
    bytes_per_bps = period_s / 8
    empty = _EMPTY * capacity_bps * bytes_per_bps

    rate = np.empty((loops + 1, len(start)))
    queue, weight = np.empty(loops + 1), np.empty(loops + 1)
    congested = np.zeros(loops, dtype=bool)
    rate[0], queue[0], weight[0] = start, queue_bytes, w_min
    for k in range(loops):
        total = rate[k].sum()
        backlog = queue[k] + (total - capacity_bps) * bytes_per_bps  # (3)
        queue[k + 1] = backlog if backlog > empty else 0.0
        congested[k] = queue[k + 1] > 0  # (4)
        if congested[k]:
            # (5). A backlog without arrivals can only be Q(0); no share is received then.
            received = rate[k] / total * capacity_bps if total > 0 else rate[k]
            rate[k + 1] = received * (1 - w_min)  # (6)
            weight[k + 1] = w_min  # (7)
        else:
            w = weight[k]
            rate[k + 1] = rate[k] * (1 - w) + line * w
            weight[k + 1] = w * (1 - w) + w_max * w
    return Fluid(capacity_bps, period_s, rate, queue, weight, congested)


# --- Proposition 1: convergence in one loop -----------------------------------------------------


def overload_queue_bytes(total_bps: float, *, capacity_bps: float, period_s: float) -> float:
    """Q(1) = (sum R(0) - C) T: what one loop of overload leaves; 0 without overload."""
    return max(0.0, total_bps - capacity_bps) * period_s / 8


def overload_loops(total_bps: float, *, capacity_bps: float, w_min: float) -> int:
    """The loop in which the queue of an overload is empty: ceil(1 + (sum R(0) - C) / (w_min C)).

    Raises:
        ValueError: there is no overload.
    """
    if total_bps <= capacity_bps:
        raise ValueError("the sources do not exceed the capacity")
    loops = 1 + (total_bps - capacity_bps) / (w_min * capacity_bps)
    # A quotient that is whole must not be lifted by its rounding.
    return math.ceil(loops - 1e-9 * loops)


def drain_time_s(backlog_bytes: float, *, capacity_bps: float, w_min: float) -> float:
    """8 B / (w_min C): how long the discount alone takes to drain a backlog of B bytes."""
    return 8 * backlog_bytes / (w_min * capacity_bps)


def underload_loops(sources: int, *, w_min: float = 1 / 128, w_max: float = 0.5) -> int | None:
    """Increases from rate 0 until the sum of the rates exceeds C; None for one source, never.

    The paper says fewer than 10 loops. With w_min = 1/128 that holds for 3 sources and more; two
    need 10.
    """
    if sources < 2:
        return None
    share, weight, loops = 0.0, w_min, 0
    while sources * share <= 1:
        share += (1 - share) * weight
        weight = weight * (1 - weight) + w_max * weight
        loops += 1
    return loops


# --- Proposition 2: fairness --------------------------------------------------------------------


@dataclass(frozen=True)
class Fairness:
    """How shares move towards 1/N in each cycle of N loops: eta' = a eta + b.

    Attributes:
        a: Part of the unfairness that is left after a cycle.
        b: What each source gains.
        halving_loops: Loops in which the unfairness halves: N ln 2 / (-ln a).
    """

    a: float
    b: float
    halving_loops: float


def fairness(sources: int, *, w_min: float) -> Fairness:
    """Constants a = (1-w_min)^2 / D and b = w_min / D with D = (1-w_min)^2 + N w_min."""
    kept = (1 - w_min) ** 2
    total = kept + sources * w_min
    a = kept / total
    return Fairness(a, w_min / total, sources * math.log(2) / -math.log(a))


def share_after(share: float, cycles: int, *, sources: int, w_min: float) -> float:
    """Share eta after `cycles` cycles of N loops: 1/N + a^cycles (eta(0) - 1/N)."""
    a = fairness(sources, w_min=w_min).a
    return 1 / sources + a**cycles * (share - 1 / sources)


# --- Proposition 3: bounded oscillation ---------------------------------------------------------


def queue_swing_bytes(sources: int, *, capacity_bps: float, period_s: float, w_min: float) -> float:
    """Largest queue of the steady sawtooth, (N - 2 + w_min) w_min C T; 0 for one source."""
    if sources < 2:
        return 0.0
    return (sources - 2 + w_min) * w_min * capacity_bps * period_s / 8


def rate_swing_bps(sources: int, *, capacity_bps: float, w_min: float) -> float:
    """How far a source's rate swings in the steady sawtooth: w_min C (N - 1 + w_min) / N.

    The paper prints w_min C, from 1 - w_min where its own equation (12) has (1 - w_min)^2; that is
    an upper bound, which many sources approach.
    """
    if sources < 2:
        return 0.0
    return w_min * capacity_bps * (sources - 1 + w_min) / sources


def mean_aggregate_share(sources: int, *, w_min: float) -> float:
    """Mean aggregate rate over a cycle, as a share of C: 1 - w_min (1 - w_min) / N."""
    return 1 - w_min * (1 - w_min) / sources
