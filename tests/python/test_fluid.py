"""PCN's fluid model and increase curve: golden values, propositions against equations."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import unpause
from unpause import figures, fluid, mechanisms
from unpause.claims import claim as claims
from unpause.claims.claim import Verdict
from unpause.data import series
from unpause.data.result import Result

ROOT = Path(__file__).parents[2]
C, T = 10e9, 500e-6

needs_scenarios = pytest.mark.skipif(
    not (ROOT / "papers").is_dir(), reason="the scenarios are not here"
)


def simulate(rates: list[float], w_min: float, loops: int) -> fluid.Fluid:
    return fluid.simulate(rates, capacity_bps=C, period_s=T, w_min=w_min, loops=loops)


# --- The state machine --------------------------------------------------------------------------


def test_algorithm_1_has_its_golden_values() -> None:
    cnps = [2499, 2600, *[None] * 6, 5000, 0]
    found = mechanisms.pcn_reaction(cnps, line_rate_bps=40_000_000_000, rec_rate_unit_bps=1_000_000)
    assert found.rate_bps.tolist() == [
        2479476563, 2479476563, 2772605652, 3206591999, 3844982277, 4775068628, 6110997576,
        7990147553, 4960937500, 1000000,
    ]  # fmt: skip
    assert found.weight_q32.tolist() == [
        33554432, 33554432, 50069504, 74520560, 110487858, 162889491, 238156544, 344029001,
        33554432, 33554432,
    ]  # fmt: skip


def test_the_curve_of_figure_10_has_its_golden_values() -> None:
    rate = mechanisms.pcn_increase(20, line_rate_bps=10_000_000_000).rate_bps
    golden = {
        0: 0, 1: 78125000, 2: 193791389, 3: 363935678, 4: 611823038, 5: 967875892, 6: 1468708451,
        8: 3044650798, 10: 5381221467, 12: 7764856266, 15: 9583957746, 20: 9985911547,
    }  # fmt: skip
    assert {k: int(rate[k]) for k in golden} == golden


@pytest.mark.parametrize(
    ("w_min", "needed"),
    [
        ("1/128", [6, 10, 14, 15, 18]),
        ("1/40", [3, 7, 11, 12, 15]),
        ("1/160", [6, 11, 15, 16, 18]),
        ("1/640", [9, 14, 18, 19, 22]),
    ],
)
def test_increases_needed(w_min: str, needed: list[int]) -> None:
    rate = mechanisms.pcn_increase(25, line_rate_bps=10**10, w_min=w_min).rate_bps
    assert [int(np.argmax(rate >= 10**8 * p)) for p in (10, 50, 90, 95, 99)] == needed


def test_the_model_follows_the_state_machine() -> None:
    model = simulate([0.0], 1 / 128, 20)
    machine = mechanisms.pcn_increase(20, line_rate_bps=10**10)
    # The machine rounds down to whole bit/s and 2^-32 at each step.
    np.testing.assert_allclose(model.rate_bps[:, 0], machine.rate_bps, atol=100)
    np.testing.assert_allclose(model.weight, machine.weight_q32 / 2**32, atol=1e-8)


def test_a_wrong_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="w_min is 2; it must be from 0 to 1"):
        mechanisms.pcn_increase(1, line_rate_bps=10**10, w_min=2)


# --- P1 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("w_min", "loop"), [(0.025, 81), (1 / 128, 257)])
def test_an_overload_is_gone_in_the_loop_predicted(w_min: float, loop: int) -> None:
    run = simulate([16e9, 5e9, 5e9, 4e9], w_min, 300)
    assert run.queue_bytes[1] == pytest.approx(1.25e6)
    assert fluid.overload_queue_bytes(30e9, capacity_bps=C, period_s=T) == pytest.approx(1.25e6)
    assert fluid.overload_loops(30e9, capacity_bps=C, w_min=w_min) == loop
    assert run.first_empty_loop() == loop
    # One loop, and the rates stay what they are until the queue is empty.
    np.testing.assert_allclose(run.aggregate_bps[1:loop], (1 - w_min) * C)
    k = np.arange(1, loop)
    np.testing.assert_allclose(run.queue_bytes[1:loop], 1.25e6 - (k - 1) * w_min * C * T / 8)


def test_draining_takes_what_the_discount_allows() -> None:
    assert fluid.drain_time_s(1.25e6, capacity_bps=C, w_min=1 / 128) == pytest.approx(128e-3)
    assert fluid.drain_time_s(1.25e6, capacity_bps=C, w_min=0.025) == pytest.approx(40e-3)


@pytest.mark.parametrize(("sources", "loops"), [(1, None), (2, 10), (3, 9), (4, 8), (64, 2)])
def test_from_nothing_to_capacity(sources: int, loops: int | None) -> None:
    assert fluid.underload_loops(sources) == loops
    run = simulate([0.0] * sources, 1 / 128, 50)
    above = np.flatnonzero(run.aggregate_bps > C)
    assert (int(above[0]) if len(above) else None) == loops


# --- P2 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "w_min", "a", "b", "halving"),
    [
        (2, 1 / 128, 0.984375954, 0.007812023, 88),
        (4, 0.025, 0.904818560, 0.023795360, 28),
        (8, 1 / 128, 0.940301988, 0.007462252, 90),
        (16, 0.00625, 0.908049280, 0.005746920, 115),
    ],
)
def test_constants_of_fairness(
    sources: int, w_min: float, a: float, b: float, halving: int
) -> None:
    found = fluid.fairness(sources, w_min=w_min)
    assert (found.a, found.b) == pytest.approx((a, b), abs=5e-10)
    assert round(found.halving_loops) == halving
    assert found.b / (1 - found.a) == pytest.approx(1 / sources)


def test_the_golden_sequence_of_shares() -> None:
    run = simulate([7e9, 2e9, 2e9, 2e9], 0.025, 100)
    k1 = run.first_empty_loop()
    assert k1 == 13
    golden = [0.511005, 0.486162, 0.463684, 0.443345, 0.424943, 0.408291, 0.393225]
    np.testing.assert_allclose(run.share[k1 : k1 + 25 : 4, 0], golden, atol=5e-7)
    closed = [fluid.share_after(golden[0], c, sources=4, w_min=0.025) for c in range(7)]
    np.testing.assert_allclose(closed, golden, atol=2e-6)


@settings(deadline=None, max_examples=60)
@given(
    sources=st.integers(2, 24),
    w_min=st.floats(1 / 640, 0.03),
    unfair=st.floats(0.0, 1.0),
)
def test_the_sawtooth_of_n_loops(sources: int, w_min: float, unfair: float) -> None:
    rates = [C / sources * (1 + unfair)] * (sources - 1) + [C / sources * 1.02]
    empty = fluid.overload_loops(sum(rates), capacity_bps=C, w_min=w_min)
    run = simulate(rates, w_min, empty + 3 * sources)
    k1 = run.first_empty_loop()
    assert k1 is not None
    eta = run.share[k1 - 1]
    np.testing.assert_allclose(run.rate_bps[k1], (1 - w_min) ** 2 * eta * C + w_min * C)
    assert run.aggregate_bps[k1] == pytest.approx((1 + (sources - 2 + w_min) * w_min) * C)
    # One increase in N loops: k1, k1 + N, k1 + 2 N.
    assert run.increase_loops()[-3:].tolist() == [k1 + i * sources for i in (1, 2, 3)]
    k = np.arange(1, sources)
    saw = (sources - k - 1 + w_min) * w_min * C * T / 8
    np.testing.assert_allclose(run.queue_bytes[k1 + k], saw, rtol=1e-6)
    swing = fluid.queue_swing_bytes(sources, capacity_bps=C, period_s=T, w_min=w_min)
    assert run.queue_bytes[k1 : k1 + 2 * sources].max() == pytest.approx(swing)
    cycle = run.aggregate_bps[k1 : k1 + sources].mean() / C
    assert cycle == pytest.approx(fluid.mean_aggregate_share(sources, w_min=w_min))
    eta = [fluid.share_after(run.share[k1, 0], c, sources=sources, w_min=w_min) for c in range(4)]
    np.testing.assert_allclose(run.share[k1::sources, 0][:4], eta)


# --- P3 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sources", "factor"), [(2, 0.504), (4, 0.756)])
def test_a_rate_swings_by_less_than_the_paper_prints(sources: int, factor: float) -> None:
    w_min = {2: 1 / 128, 4: 0.025}[sources]
    swing = fluid.rate_swing_bps(sources, capacity_bps=C, w_min=w_min)
    assert swing / (w_min * C) == pytest.approx(factor, abs=5e-4 if sources == 2 else 1e-3)
    # In the model, from equal shares; the loops after the first increase are the steady ones.
    run = simulate([1.1 * C / sources] * sources, w_min, 100)
    steady = run.rate_bps[run.first_empty_loop() :, 0]
    assert np.ptp(steady) == pytest.approx(swing)
    assert swing < w_min * C


def test_mean_aggregate() -> None:
    assert fluid.mean_aggregate_share(4, w_min=0.025) == pytest.approx(0.9939, abs=5e-5)


def test_one_source_does_not_oscillate() -> None:
    assert fluid.queue_swing_bytes(1, capacity_bps=C, period_s=T, w_min=0.025) == 0
    assert fluid.rate_swing_bps(1, capacity_bps=C, w_min=0.025) == 0
    run = simulate([C], 0.025, 50)
    assert not run.queue_bytes.any()
    np.testing.assert_allclose(run.rate_bps, C)


# --- Edges --------------------------------------------------------------------------------------


def test_sources_on_faster_links_increase_towards_their_own_rate() -> None:
    run = fluid.simulate(
        [0.0], capacity_bps=C, period_s=T, w_min=0.025, loops=12, line_rate_bps=4 * C
    )
    assert run.rate_bps[1, 0] == pytest.approx(0.025 * 4 * C)
    assert run.queue_bytes.max() > 0


def test_a_backlog_without_arrivals_drains() -> None:
    run = fluid.simulate(
        [0.0, 0.0], capacity_bps=C, period_s=T, w_min=0.025, loops=3, queue_bytes=1e6
    )
    assert run.queue_bytes.tolist() == [1e6, 375e3, 0, 0]
    assert run.rate_bps[1].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates_bps": []}, "one rate for each source"),
        ({"rates_bps": [-1.0]}, "must not be negative"),
        ({"rates_bps": [math.nan]}, "must not be negative"),
        ({"capacity_bps": 0}, "must be above zero"),
        ({"w_min": 0.6}, "0 < w_min <= w_max"),
        ({"loops": -1}, "must not be negative"),
    ],
)
def test_wrong_arguments_are_refused(change: dict, message: str) -> None:
    arguments = {"rates_bps": [C], "capacity_bps": C, "period_s": T, "loops": 1, **change}
    with pytest.raises(ValueError, match=message):
        fluid.simulate(**arguments)


def test_no_overload_is_said() -> None:
    with pytest.raises(ValueError, match="do not exceed"):
        fluid.overload_loops(C, capacity_bps=C, w_min=0.025)


# --- Claims -------------------------------------------------------------------------------------


def test_claims_about_the_model_need_no_result() -> None:
    judged = claims.evaluate(None, ["PCN-F10", "PCN-F15", "PCN-F16"])
    verdicts = {c.id: c.verdict for c in judged}
    # The paper's two overstatements: two flows need 10 loops; w_min C is an upper bound.
    wrong = {"PCN-F15.C2", "PCN-F16.C2"}
    assert {i for i, v in verdicts.items() if v is not Verdict.REPRODUCED} == wrong
    assert all(c.note for c in judged if c.id in wrong)


def test_claims_about_runs_are_not_evaluated_without_a_result() -> None:
    assert {c.verdict for c in claims.evaluate(None, ["PCN-F5"])} == {Verdict.NOT_EVALUATED}


# --- Packets ------------------------------------------------------------------------------------


def packets(flows: list[int], units: list[str], duration: str = "12ms") -> Result:
    scenario = tomllib.loads(
        (ROOT / "papers" / "pcn" / "scenarios" / "fluid.toml").read_text("utf-8")
    )
    small = {"congestion_control": "pcn", "set": {"host.payload": "77B"}}
    scenario["scheme"] = [{"name": u, **small, "pcn": {"rec_rate_unit": u}} for u in units]
    scenario["sweep"][0]["values"] = flows
    return unpause.run(scenario, duration=duration, progress=False)


@needs_scenarios
def test_two_flows_of_many_packets_follow_the_fluid() -> None:
    run = packets([2], ["1Mbps"]).runs_of("1Mbps")[0]
    port = series.port(run, "S0->H0")
    model = fluid.simulate([C, C], capacity_bps=C, period_s=50e-6, loops=240)
    assert port.queue_bytes.max() == pytest.approx(model.queue_bytes.max(), rel=0.1)
    drained_us = port.time_ns[np.argmax(port.queue_bytes <= 2 * 125)] / 1e3
    assert drained_us == pytest.approx(model.first_empty_loop() * 50, rel=0.1)
    # The largest difference of the queue anywhere, in bytes: a tenth of its largest value.
    assert np.abs(port.queue_bytes - model.queue_bytes[1:]).max() < 6250


@needs_scenarios
def test_a_unit_of_rec_rate_counts_when_it_is_coarser_than_a_packet_a_period() -> None:
    result = packets([16], ["1kbps", "20Mbps", "50Mbps"], "3ms")
    fine, packet, coarse = (
        series.port(result.runs_of(s)[0], "S0->H0").queue_bytes
        for s in ("1kbps", "20Mbps", "50Mbps")
    )
    np.testing.assert_array_equal(fine, packet)
    assert coarse[-1] < fine[-1]


@needs_scenarios
def test_packets_are_drawn_over_the_fluid() -> None:
    figure = figures.draw(packets([2, 4], ["1kbps", "1Mbps"], "2ms"), "pcn-fluid")
    assert [ax.get_title(loc="left") for ax in figure.axes[::2]] == ["N = 2", "N = 4"]
    # A line for each seed.
    labels = dict.fromkeys(figure.axes[0].get_legend_handles_labels()[1])
    assert list(labels) == ["1kbps", "1Mbps", "fluid"]
