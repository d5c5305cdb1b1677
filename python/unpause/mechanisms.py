"""Mechanisms by themselves, without a simulation.

These are the integer state machines of the Rust crate ``unpause-protocols`` that the simulator
runs, not models of them; for models see :mod:`unpause.fluid`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

Ratio = Fraction | int | float | str

#: Weights of PCN: the discount, and what the weight of an increase grows to.
W_MIN, W_MAX = Fraction(1, 128), Fraction(1, 2)


@dataclass(frozen=True)
class PcnReaction:
    """PCN's reaction point after each CNP.

    Attributes:
        rate_bps: Rate of the flow, uint64.
        weight_q32: Weight w of the next increase in multiples of 2^-32, uint64.
    """

    rate_bps: np.ndarray
    weight_q32: np.ndarray


def pcn_reaction(
    cnps: Iterable[int | None],
    *,
    line_rate_bps: int,
    w_min: Ratio = W_MIN,
    w_max: Ratio = W_MAX,
    min_rate_bps: int = 1_000_000,
    rec_rate_unit_bps: int = 1_000,
) -> PcnReaction:
    """Feed CNPs to PCN's reaction point (Algorithm 1), which starts at line rate.

    Args:
        cnps: None for an increase, RecRate in multiples of `rec_rate_unit_bps` for a decrease.
        line_rate_bps: Rate of the sender's link.
        w_min: Discount of a decrease and weight of the first increase after it; ``"1/128"`` is one
            way to write it.
        w_max: What the weight of an increase grows to.
        min_rate_bps: The rate never falls below this.
        rec_rate_unit_bps: Unit of RecRate.

    Raises:
        ValueError: a weight is not between 0 and 1.
    """
    from unpause import _native

    rate, weight = _native.pcn_reaction(
        list(cnps),
        line_rate_bps=line_rate_bps,
        w_min=_ratio("w_min", w_min),
        w_max=_ratio("w_max", w_max),
        min_rate_bps=min_rate_bps,
        rec_rate_unit_bps=rec_rate_unit_bps,
    )
    return PcnReaction(np.array(rate, dtype=np.uint64), np.array(weight, dtype=np.uint64))


def pcn_increase(
    cnps: int, *, line_rate_bps: int, w_min: Ratio = W_MIN, w_max: Ratio = W_MAX
) -> PcnReaction:
    """PCN's Fig. 10: a flow at rate 0 and `cnps` increases in a row.

    Element k of the arrays is the state after k of them, so there are `cnps` + 1.
    """
    # A decrease to RecRate 0 with no least rate leaves rate 0 and w = w_min.
    return pcn_reaction(
        [0, *[None] * cnps],
        line_rate_bps=line_rate_bps,
        w_min=w_min,
        w_max=w_max,
        min_rate_bps=0,
    )


def _ratio(name: str, value: Ratio) -> tuple[int, int]:
    ratio = Fraction(value).limit_denominator(1 << 32)
    if not 0 <= ratio <= 1:
        raise ValueError(f"{name} is {value}; it must be from 0 to 1")
    return ratio.numerator, ratio.denominator


def tofino_division(dividend: int, divisors: Iterable[int]) -> np.ndarray:
    """Quotients as ECN# on a Tofino approximates them (Algorithm 3): by table and shift.

    Args:
        dividend: pst_interval, in ticks of its clock.
        divisors: Numbers of marks, at least 1.
    """
    from unpause import _native

    return np.array(_native.tofino_division(dividend, list(divisors)))
