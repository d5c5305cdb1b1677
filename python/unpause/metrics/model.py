"""Mechanisms and models alone, without a run."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from unpause import fluid, mechanisms
from unpause.data.series import Unavailable
from unpause.metrics.registry import metric


@metric("%", scope="model")
def pcn_increase_percent(cnps: int, line_rate_gbps: float, w_min: str = "1/128") -> float:
    """Rate of PCN's state machine after `cnps` increases in a row from 0, in % of line rate."""
    line_rate = round(line_rate_gbps * 1e9)
    rates = mechanisms.pcn_increase(cnps, line_rate_bps=line_rate, w_min=w_min).rate_bps
    return float(rates[-1]) / line_rate * 100


@metric("", scope="model")
def pcn_gain_ratio(
    slow_gbps: float, fast_gbps: float, cnps: int, line_rate_gbps: float, w_min: str = "1/128"
) -> float:
    """Rate that `cnps` increases add to a slow flow over that of a fast one, PCN's sender."""
    line_rate = round(line_rate_gbps * 1e9)

    def gain(rate_gbps: float) -> float:
        cnp = round(rate_gbps * 1e6)
        rates = mechanisms.pcn_reaction(
            [cnp, *[None] * cnps], line_rate_bps=line_rate, w_min=w_min
        ).rate_bps
        return float(rates[-1]) - float(rates[0])

    return gain(slow_gbps) / gain(fast_gbps)


@metric("loops", scope="model")
def fluid_overload_loops(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str
) -> float:
    """The loop of PCN's fluid model in which the queue that an overload has left is empty."""
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, 2000)
    empty = run.first_empty_loop()
    return math.inf if empty is None else float(empty)


@metric("", scope="model")
def fluid_aggregate_after_a_loop(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str
) -> float:
    """Sum of the rates after one loop of PCN's fluid model over (1 - w_min) C."""
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, 1)
    return float(run.aggregate_bps[1]) / ((1 - float(Fraction(w_min))) * capacity_gbps * 1e9)


@metric("loops", scope="model")
def fluid_underload_loops(sources: int, w_min: str = "1/128") -> float:
    """Increases of PCN's fluid model from rate 0 until the sum of the rates exceeds C."""
    loops = fluid.underload_loops(sources, w_min=float(Fraction(w_min)))
    return math.inf if loops is None else float(loops)


@metric("%", scope="model")
def fluid_share_percent(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str, cycle: int
) -> float:
    """Share of source 0 in PCN's fluid model, `cycle` cycles of N loops after the queue emptied."""
    loops = 2000 + cycle * len(rates_gbps)
    run = _fluid(rates_gbps, capacity_gbps, period_us, w_min, loops)
    empty = run.first_empty_loop()
    if empty is None or empty + cycle * len(rates_gbps) > loops:
        raise Unavailable("The queue of the fluid model does not empty.")
    return float(run.share[empty + cycle * len(rates_gbps), 0]) * 100


@metric("loops", scope="model")
def fluid_halving_loops(sources: int, w_min: str) -> float:
    """Loops in which unfairness halves in PCN's fluid model."""
    return fluid.fairness(sources, w_min=float(Fraction(w_min))).halving_loops


@metric("", scope="model")
def fluid_queue_swing(sources: int, w_min: str) -> float:
    """Largest queue of the steady sawtooth of PCN's fluid model over (N - 2 + w_min) w_min C T."""
    w, capacity, period = float(Fraction(w_min)), 10e9, 500e-6
    run = _steady(sources, w, capacity, period)
    expected = fluid.queue_swing_bytes(sources, capacity_bps=capacity, period_s=period, w_min=w)
    return float(run.queue_bytes.max()) / expected


@metric("", scope="model")
def fluid_rate_swing(sources: int, w_min: str) -> float:
    """Swing of a source's rate in the steady sawtooth of PCN's fluid model, over w_min C."""
    w, capacity = float(Fraction(w_min)), 10e9
    run = _steady(sources, w, capacity, 500e-6)
    return float(np.ptp(run.rate_bps[:, 0])) / (w * capacity)


def _fluid(
    rates_gbps: Sequence[float], capacity_gbps: float, period_us: float, w_min: str, loops: int
) -> fluid.Fluid:
    return fluid.simulate(
        [1e9 * rate for rate in rates_gbps],
        capacity_bps=capacity_gbps * 1e9,
        period_s=period_us * 1e-6,
        w_min=float(Fraction(w_min)),
        loops=loops,
    )


def _steady(sources: int, w_min: float, capacity_bps: float, period_s: float) -> fluid.Fluid:
    """Three cycles of the sawtooth with equal shares, from an increase after a queue emptied."""
    share = capacity_bps / sources
    start = (1 - w_min) ** 2 * share + w_min * capacity_bps
    return fluid.simulate(
        [start] * sources,
        capacity_bps=capacity_bps,
        period_s=period_s,
        w_min=w_min,
        loops=3 * sources,
    )


@metric("%", scope="model")
def tofino_division_error_percent(dividend: int, upto: int) -> float:
    """Largest error of ECN#'s division on a Tofino by 1 to `upto`, of the exact quotient."""
    divisors = np.arange(1, upto + 1)
    exact = dividend / divisors
    approximate = mechanisms.tofino_division(dividend, divisors.tolist())
    return float(np.max(np.abs(approximate / exact - 1))) * 100


@metric("counters", scope="model")
def capfc_counters(ports: int, priorities: int) -> float:
    """Counters of CaPFC: at each egress queue one for each input port."""
    return float(ports * priorities * ports)


@metric("KB", scope="model")
def capfc_counters_kb(ports: int, priorities: int, counter_bits: int) -> float:
    """Memory of these counters in units of 1024 bytes."""
    return capfc_counters(ports, priorities) * counter_bits / 8 / 1024


@metric("%", scope="model")
def culprit_array_percent(word_bits: int, unit_bytes: int) -> float:
    """Share of the buffer's storage that a word of `word_bits` per buffer unit takes."""
    return 100 * word_bits / (8 * unit_bytes)


@metric("comparisons", scope="model")
def capfc_comparisons(ports: int) -> float:
    """Most comparisons needed to sort the counters of a queue, over 1000 random draws."""
    rng = np.random.default_rng(1)
    compared = 0

    def compare(a: int, b: int) -> int:
        nonlocal compared
        compared += 1
        return b - a

    most = 0
    for _ in range(1000):
        compared = 0
        sorted(rng.integers(0, 1000, ports).tolist(), key=functools.cmp_to_key(compare))
        most = max(most, compared)
    return float(most)
