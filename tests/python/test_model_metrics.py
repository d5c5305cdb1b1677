"""Metrics of PCN's state machine and of its fluid model, against the formulas of the paper."""

from __future__ import annotations

import math

import pytest

from unpause import metrics
from unpause.data.series import Unavailable

OVERLOAD = ([10, 10], 10, 500, "1/128")


def test_increases_follow_the_recurrence_of_rate_and_weight() -> None:
    rate, weight = 0.0, 1 / 128
    for cnps in range(1, 15):
        rate = (1 - weight) * rate + weight
        weight = weight * (1 - weight) + 0.5 * weight
        # The state machine has weights in multiples of 2^-32 and rates in bit/s.
        assert metrics.pcn_increase_percent(cnps, 40) == pytest.approx(100 * rate, rel=1e-4)


def test_a_loop_of_overload_leaves_less_than_the_capacity() -> None:
    assert metrics.fluid_aggregate_after_a_loop(*OVERLOAD) == pytest.approx(1, rel=1e-9)
    # Twice the capacity for a loop leaves C T, of which each later one drains w_min C T.
    loops = metrics.fluid_overload_loops(*OVERLOAD)
    assert loops == pytest.approx(1 + 128, abs=1)
    assert metrics.fluid_overload_loops([4, 4], 10, 500, "1/128") < loops


def test_more_sources_fill_a_link_sooner() -> None:
    loops = [metrics.fluid_underload_loops(sources) for sources in (2, 4, 16)]
    assert loops == sorted(loops, reverse=True)
    assert len(set(loops)) == 3
    # Weights stay below w_max: one source only approaches the line rate.
    assert metrics.fluid_underload_loops(1) == math.inf


def test_unfairness_halves_in_as_many_loops_as_the_formula_says() -> None:
    halving = metrics.fluid_halving_loops(4, "1/16")
    kept = (15 / 16) ** 2
    assert halving == pytest.approx(4 * math.log(2) / -math.log(kept / (kept + 4 / 16)))
    rates, cycles = [7, 1, 1, 1], 3
    share = [metrics.fluid_share_percent(rates, 10, 500, "1/16", cycle) for cycle in (0, cycles)]
    left = (share[1] - 25) / (share[0] - 25)
    assert left == pytest.approx(0.5 ** (4 * cycles / halving), rel=0.05)
    with pytest.raises(Unavailable, match="does not empty"):
        metrics.fluid_share_percent([1e6, 1e6], 10, 500, "1/128", 1)


@pytest.mark.parametrize(("sources", "w_min"), [(4, "1/16"), (8, "1/128")])
def test_the_steady_sawtooth_is_as_high_as_the_formulas_say(sources: int, w_min: str) -> None:
    assert metrics.fluid_queue_swing(sources, w_min) == pytest.approx(1, rel=1e-9)
    # Of w_min C, what the decrease of an equal share takes off is missing.
    swing = metrics.fluid_rate_swing(sources, w_min)
    assert 0.7 < swing < 1


def test_increases_of_pcn_add_a_share_of_what_a_flow_lacks() -> None:
    # 9 of 10 Gb/s are missing, or 5.
    assert metrics.pcn_gain_ratio(1, 5, 1, 10) == pytest.approx(9 / 5, rel=1e-2)
    assert metrics.pcn_gain_ratio(2, 2, 4, 10) == 1


def test_capfc_has_a_counter_for_each_input_of_each_egress_queue() -> None:
    assert metrics.capfc_counters(48, 8) == 18_432
    assert metrics.capfc_counters_kb(48, 8, 16) == 36
    # Of sorted numbers a comparison each, of any others more.
    assert 47 < metrics.capfc_comparisons(48) <= 48 * math.log2(48)


def test_a_word_for_each_unit_takes_its_share_of_the_buffer() -> None:
    assert metrics.culprit_array_percent(word_bits=20, unit_bytes=256) == pytest.approx(
        0.977, abs=1e-3
    )
