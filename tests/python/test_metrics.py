"""Metrics on series made by hand, where the answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MS, Builder
from unpause import metrics
from unpause.data import series
from unpause.data.series import Unavailable

LINKS = ["S1->S0", "S0->H0"]


def with_burst(builder: Builder, at_ms: float = 10.0) -> int:
    run = builder.run("PFC")
    builder.flow(run, "burst", start_ns=at_ms * MS)
    return run


def test_tree_joins_pauses_of_all_links_and_stops_at_a_long_gap(builder: Builder) -> None:
    run = with_burst(builder)
    builder.pause(run, "S1->S0", 10.2, 10.3)
    builder.pause(run, "S0->H0", 10.25, 10.6)
    builder.pause(run, "S1->S0", 11.0, 11.2)  # 0.4 ms later: the same tree
    builder.pause(run, "S1->S0", 14.0, 14.5)  # 2.8 ms later: another one
    builder.pause(run, "S1->R1", 9.0, 20.0)  # another link
    run = builder.only_run()
    assert metrics.tree_duration_ms(run, LINKS, "burst") == pytest.approx(1.0)
    assert metrics.tree_duration_rtt(run, LINKS, "burst", base_rtt_us=30) == pytest.approx(100 / 3)


def test_tree_counts_from_the_burst_and_is_zero_without_pause(builder: Builder) -> None:
    run = with_burst(builder)
    builder.pause(run, "S1->S0", 2.0, 3.0)
    assert metrics.tree_duration_ms(builder.only_run(), LINKS, "burst") == 0
    builder.pause(run, "S1->S0", 9.5, 10.4)
    assert metrics.tree_duration_ms(builder.only_run(), LINKS, "burst") == pytest.approx(0.4)


def test_pause_count_counts_what_begins_in_the_window(builder: Builder) -> None:
    run = with_burst(builder)
    for start in (9.9, 10.5, 11.5, 14.0):
        builder.pause(run, "S1->S0", start, start + 0.2)
    run = builder.only_run()
    assert metrics.pause_count(run, ["S1->S0"], "burst") == 3
    assert metrics.pause_count(run, ["S1->S0"], "burst", (0.0, 2.0)) == 2
    assert metrics.pause_count(run, ["S1->S0"], window_ms=(0.0, 10.2)) == 1
    assert metrics.pause_count(run, ["S0->H0"], "burst") == 0


def test_first_pause_and_lag(builder: Builder) -> None:
    run = with_burst(builder)
    builder.pause(run, "S0->H0", 10.484, 10.5)
    builder.pause(run, "S1->S0", 10.247, 10.3)
    run = builder.only_run()
    assert metrics.first_pause_us(run, "S1->S0", "burst", 10) == pytest.approx(237)
    assert metrics.pause_lag_us(run, "S1->S0", "S0->H0", "burst") == pytest.approx(237)
    with pytest.raises(Unavailable, match="S0->H1"):
        metrics.first_pause_us(run, "S0->H1", "burst")


def test_burst_duration_is_open_if_a_flow_is(builder: Builder) -> None:
    run = with_burst(builder)
    builder.rows["flows"].clear()
    builder.flow(run, "burst", start_ns=1 * MS, fct_ns=2 * MS)
    builder.flow(run, "burst", start_ns=2 * MS, fct_ns=3.5 * MS)
    assert metrics.burst_duration_ms(builder.only_run(), "burst") == pytest.approx(4.5)
    builder.flow(run, "burst", start_ns=2 * MS)
    assert metrics.burst_duration_ms(builder.only_run(), "burst") == math.inf


def goodput(builder: Builder, rate: list[float]) -> None:
    """F0 with one value for each ms after the burst's start at 10 ms, 19.08 Gb/s before."""
    run = with_burst(builder)
    steps = np.concatenate([np.full(100, 19.08), np.repeat(rate, 10)])
    builder.flow_rates(run, "F0", np.arange(1, len(steps) + 1) * 0.1, steps)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        ([19.08] * 20, 0.0),
        ([2.0] * 3 + [19.08] * 17, 3.0),
        ([19.08] + [2.0] * 3 + [19.08] * 16, 4.0),  # from the burst, not from the first low bin
        ([2.0] * 3 + [19.08] * 5 + [2.0] + [19.08] * 11, 9.0),  # not held for 10 ms
        ([2.0] * 3 + [19.08] * 5, math.inf),  # the run ends too early to tell
        ([2.0] * 20, math.inf),
    ],
)
def test_throughput_loss(builder: Builder, rate: list[float], expected: float) -> None:
    goodput(builder, rate)
    loss = metrics.throughput_loss_ms(builder.only_run(), ["F0"], "burst", 19.08)
    assert loss == pytest.approx(expected)


def test_throughput_loss_is_of_all_flows_together(builder: Builder) -> None:
    """F1 leaves what F0 takes: the link is full after 2 ms, shared fairly or not."""
    run = with_burst(builder)
    time = np.arange(1, 301) * 0.1
    for flow_id, (name, after) in enumerate([("F0", 30.0), ("F1", 8.16)]):
        rate = np.concatenate([np.full(100, 19.08), np.full(20, 2.0), np.full(180, after)])
        builder.flow_rates(run, name, time, rate, flow_id=flow_id)
    loss = metrics.throughput_loss_ms(builder.only_run(), ["F0", "F1"], "burst", 19.08)
    assert loss == pytest.approx(2.0)


def test_lost_megabytes(builder: Builder) -> None:
    goodput(builder, [9.08] * 4 + [19.08] * 10)
    lost = metrics.lost_megabytes(builder.only_run(), ["F0"], "burst", 10.0, 19.08)
    assert lost == pytest.approx(10e9 * 4e-3 / 8 / 1e6, rel=1e-6)


def test_goodput_and_ratio(builder: Builder) -> None:
    goodput(builder, [2.544] * 4 + [19.08] * 10)
    run = builder.only_run()
    assert metrics.goodput_gbps(run, "F0", (0.0, 4.0), "burst") == pytest.approx(2.544, rel=1e-6)
    wire = metrics.wire_rate_gbps(run, "F0", (0.0, 4.0), 1048, 1000, "burst")
    assert wire == pytest.approx(2.666, rel=1e-3)
    ratio = metrics.goodput_ratio(run, ["F0"], (1.0, 3.0), 5.0, "burst")
    assert ratio == pytest.approx(2.544 / 19.08, rel=1e-6)


def test_goodput_outside_the_series_is_refused(builder: Builder) -> None:
    goodput(builder, [19.08] * 2)
    with pytest.raises(Unavailable, match="does not cover"):
        metrics.goodput_gbps(builder.only_run(), "F0", (0.0, 20.0), "burst")
    with pytest.raises(Unavailable, match="'F9' was not recorded"):
        metrics.goodput_gbps(builder.only_run(), "F9", (0.0, 1.0), "burst")


def test_time_to_fair(builder: Builder) -> None:
    goodput(builder, [37.0] * 3 + [25.0] + [19.0] * 10)
    fair = metrics.time_to_fair_ms(builder.only_run(), ["F0"], "burst", 3.0, 19.08)
    assert fair == pytest.approx(1.0)


def controller(builder: Builder, rate: np.ndarray, step_ms: float = 0.05) -> None:
    """F0's controller: 20 Gb/s until the burst at 10 ms, then `rate` every `step_ms`."""
    run = with_burst(builder)
    time = np.concatenate([[9.9, 10.0], 10 + step_ms * np.arange(1, len(rate) + 1)])
    every = np.concatenate([[20.0, 20.0], rate])
    builder.flow_rates(run, "F0", time, np.full(len(time), 1.0), every)


def test_decrease_takes_so_many_periods(builder: Builder) -> None:
    # Ten equal cuts of 1 Gb/s, one each sample: 90 % are done with the ninth.
    controller(builder, np.concatenate([[20.0] * 3, 20.0 - np.arange(1, 11), [10.0] * 5]))
    run = builder.only_run()
    assert metrics.decrease_periods(run, "F0", "burst", 50.0, 10.0) == pytest.approx(8.0)
    assert metrics.lowest_controller_rate_gbps(run, ["F0"], "burst", (0, 10)) == 10
    assert metrics.highest_controller_rate_gbps(run, "F0", "burst", (0, 10)) == 20


def test_what_a_flow_sends_of_what_its_controller_sets(builder: Builder) -> None:
    # A flow of 1 Gb/s of goodput, 1.048 on the wire, whose controller falls and rises again.
    controller(builder, np.array([10.0, 4.0, 4.0, 6.0, 5.0, 7.0]))
    run = builder.only_run()
    assert metrics.controller_rise_gbps(run, "F0", "burst", (0.0, 1.0)) == pytest.approx(4.0)
    assert metrics.controller_rise_gbps(run, "F0", "burst", (0.0, 0.16)) == 0
    sent = metrics.sent_over_set(run, ["F0"], "burst", (0.1, 0.2))
    assert sent == pytest.approx(1.048 / ((4 + 4 + 6) / 3), rel=1e-3)
    with pytest.raises(Unavailable, match="not sampled in the window"):
        metrics.sent_over_set(run, ["F0"], "burst", (0.11, 0.14))


def test_controller_that_never_cuts_is_said(builder: Builder) -> None:
    controller(builder, np.full(20, 20.0))
    with pytest.raises(Unavailable, match="never cut"):
        metrics.decrease_periods(builder.only_run(), "F0", "burst", 50.0, 10.0)
    with pytest.raises(Unavailable, match="never cut"):
        metrics.periods_to_share(builder.only_run(), "F0", "burst", 50.0, 2.667, 0.25)


def test_periods_to_share(builder: Builder) -> None:
    controller(builder, np.array([20.0, 20.0, 9.0, 2.9, 2.7, 2.6]))
    run = builder.only_run()
    assert metrics.periods_to_share(run, "F0", "burst", 50.0, 2.667, 0.25) == pytest.approx(2.0)
    assert metrics.periods_to_share(run, "F0", "burst", 50.0, 1.0, 0.25) == math.inf
    # Passed at once and never seen near it: not reached.
    assert metrics.periods_to_share(run, "F0", "burst", 50.0, 5.0, 0.25) == math.inf


def test_recovery_slope(builder: Builder) -> None:
    down = np.array([10.0, 2.0])
    up = 2.0 + 0.05 * 0.333 * np.arange(1, 1200)  # 0.333 Gb/s per ms
    controller(builder, np.concatenate([down, up]))
    slope = metrics.recovery_slope_gbps_per_ms(builder.only_run(), "F0", "burst", 20.0)
    assert slope == pytest.approx(0.333, rel=1e-3)


def test_recovery_slope_of_a_rate_that_does_not_come_back(builder: Builder) -> None:
    up = 2.0 + 0.05 * 0.1 * np.arange(1, 200)  # 0.1 Gb/s per ms, from 2 to 3 Gb/s
    controller(builder, np.concatenate([[2.0], up]))
    slope = metrics.recovery_slope_gbps_per_ms(builder.only_run(), "F0", "burst", 20.0)
    assert slope == pytest.approx(0.1, rel=1e-3)


def test_rate_after_the_tree(builder: Builder) -> None:
    controller(builder, np.array([15.0, 10.0, 5.0, 4.0]))
    builder.pause(0, "S1->S0", 10.02, 10.16)
    rate = metrics.controller_rate_after_tree_gbps(builder.only_run(), "F0", LINKS, "burst")
    assert rate == 5.0


INTERVALS = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)).map(lambda p: (p[0], p[0] + p[1])), max_size=30
).map(lambda rows: np.array(sorted(rows), dtype=float).reshape(-1, 2))


@given(INTERVALS, st.floats(0, 1e5))
def test_merged_intervals_are_apart_and_cover_the_same(every: np.ndarray, gap: float) -> None:
    joined = series.merged(every, gap)
    assert (joined[1:, 0] - joined[:-1, 1] > gap).all()
    for start, end in every:
        assert ((joined[:, 0] <= start) & (joined[:, 1] >= end)).any()
    if len(every):
        assert joined[0, 0] == every[0, 0]
        assert joined[-1, 1] == every[:, 1].max()
    assert (np.diff(joined, axis=1) >= 0).all()
    np.testing.assert_array_equal(series.merged(joined, gap), joined)


@given(
    st.lists(st.integers(0, 10_000), min_size=2, max_size=50),
    st.floats(0.5, 5),
)
def test_bins_add_up_to_the_counter(steps: list[int], bin_ns: float) -> None:
    time = np.arange(len(steps), dtype=float) * 10
    counter = np.cumsum(steps).astype(float)
    start, rate = series.binned_per_ms(time, counter, 0.0, bin_ns)
    end = start[-1] + bin_ns
    covered = np.interp(end, time, counter) - counter[0]
    assert np.sum(rate) * bin_ns / 1e6 == pytest.approx(covered, rel=1e-9, abs=1e-6)


@given(st.lists(st.sampled_from([2.0, 19.08]), min_size=12, max_size=30))
def test_throughput_loss_ends_where_the_level_is_held(rate: list[float]) -> None:
    builder = Builder()
    goodput(builder, rate)
    loss = metrics.throughput_loss_ms(builder.only_run(), ["F0"], "burst", 19.08, hold_ms=3.0)
    if loss == 0:
        assert 2.0 not in rate
    elif loss == math.inf:
        assert not any(rate[i : i + 3] == [19.08] * 3 for i in range(rate.index(2.0), len(rate)))
    else:
        at = round(loss)
        assert rate[at : at + 3] == [19.08] * 3
        assert rate[at - 1] == 2.0


def four_flows(builder: Builder, rates: list[float]) -> None:
    """Two flows that each send half of `rates`, one value for each 0.5 ms from 0."""
    run = builder.run("PCN")
    time = np.arange(1, len(rates) + 1) * 0.5
    for flow_id, name in enumerate(("F0", "F1")):
        builder.flow(run, name)
        # Goodput of 1000 B in frames of 1048 B.
        builder.flow_rates(run, name, time, np.array(rates) / 2 / 1.048, flow_id=flow_id)


def test_aggregate_settles_when_the_mean_stays_near_the_capacity(builder: Builder) -> None:
    four_flows(builder, [30, 30, 4, 4, 10, 10, 20, 10, 10] + [10.5, 9.5] * 20)
    run = builder.only_run()
    # The 1 ms mean is 10 at 3 ms, 15 at 3.5 and 4 ms, and near 10 from 4.5 ms on.
    assert metrics.aggregate_settled_ms(run, ["F0", "F1"], 10) == pytest.approx(4.5)
    assert metrics.aggregate_settled_ms(run, ["F0", "F1"], 10, hold_ms=100) == math.inf
    window = (5.0, 20.0)
    assert metrics.aggregate_mean_ratio(run, ["F0", "F1"], 10, window) == pytest.approx(1.0)
    deviation = metrics.aggregate_deviation(run, ["F0", "F1"], 10, window, bin_ms=0.5)
    assert deviation == pytest.approx(0.05, rel=0.01)
    # From 10.5 to 9.5.
    swing = metrics.aggregate_swing(run, ["F0", "F1"], 10, window, bin_ms=0.5)
    assert swing == pytest.approx(0.1, rel=0.01)
    goodput = metrics.flows_gbps(run, ["F0", "F1"], window)
    assert goodput == pytest.approx(10 / 1.048)


def test_queue_drains_when_it_stays_low(builder: Builder) -> None:
    run = builder.run("PCN")
    queue = np.array([0, 0, 900, 500, 5, 300, 5, 5, 5, 5, 400]) * 1e3
    builder.port_samples(run, "S0->S1", np.arange(11) * 0.5, queue)
    run = builder.only_run()
    assert metrics.queue_drained_ms(run, "S0->S1", 10_480) == pytest.approx(3.0)
    assert metrics.queue_drained_ms(run, "S0->S1", 10_480, hold_ms=0.5) == pytest.approx(2.0)
    assert metrics.queue_drained_ms(run, "S0->S1", 10_480, hold_ms=3) == math.inf
    assert metrics.queue_drained_ms(run, "S0->S1", 1e6) == 0
    assert metrics.largest_queue_kb(run, "S0->S1", (1.5, 5.0)) == 500
    assert metrics.smallest_queue_kb(run, "S0->S1", (1.5, 5.0)) == 5
    assert metrics.mean_queue_kb(run, "S0->S1", (1.0, 2.0)) == pytest.approx((900 + 500 + 5) / 3)
    # Of 0, 0, 900, 500, 5, 300, 5 KB.
    assert metrics.short_queue_share(run, "S0->S1", (0.0, 3.0), 10_480) == pytest.approx(4 / 7)
    with pytest.raises(Unavailable, match="not sampled"):
        metrics.mean_queue_kb(run, "S0->S1", (50.0, 60.0))


def test_queues_are_measured_from_the_burst_on(builder: Builder) -> None:
    run = with_burst(builder)
    time = np.arange(0.0, 14.0, 0.5)
    builder.port_samples(run, "S0->S1", time, np.where(time < 10.5, 7e3, 3e3 + 1e3 * (time == 11)))
    window = {"link": "S0->S1", "window_ms": (0.5, 2.0), "burst": "burst"}
    run = builder.only_run()
    assert metrics.smallest_queue_kb(run, **window) == 3
    assert metrics.largest_queue_kb(run, **window) == 4
    assert metrics.mean_queue_kb(run, **window) == pytest.approx((3 + 4 + 3 + 3) / 4)


def test_largest_ingress_is_counted_at_the_receiving_switch(builder: Builder) -> None:
    run = builder.run("PCN")
    for peer, held in (("A1", 417_000), ("A2", 380_000)):
        builder.add("ports", run=run, scheme="PCN", node="S0", peer=peer, max_ingress_bytes=held)
    run = builder.only_run()
    assert metrics.largest_ingress_kb(run, ["A1->S0", "A2->S0"]) == 417
    with pytest.raises(Unavailable, match="no link A3->S0"):
        metrics.largest_ingress_kb(run, ["A3->S0"])


def test_pause_rate_by_link_and_in_all(builder: Builder) -> None:
    run = builder.run("PCN")
    for node, peer, frames, events in (
        ("S1", "S0", 30, 3),
        ("S0", "H0", 10, 2),
        ("S1", "R1", 0, 0),
    ):
        builder.add(
            "ports",
            run=run,
            scheme="PCN",
            node=node,
            peer=peer,
            pause_frames=frames,
            pause_events=events,
            paused_ns=1.5e6,
        )
    run = builder.only_run()
    # Frames per ms are thousands a second.
    assert metrics.pause_rate_kps(run, 20) == pytest.approx(2.0)
    assert metrics.pause_rate_kps(run, 20, count="events") == pytest.approx(0.25)
    assert metrics.pause_rate_kps(run, 20, ["S1->S0"]) == pytest.approx(1.5)
    assert metrics.pause_rate_kps(run, 20, ["S0->S1"]) == 0
    assert metrics.paused_ms(run) == pytest.approx(4.5)


def test_fct_of_some_traffic_and_of_flows_that_never_end(builder: Builder) -> None:
    run = builder.run("PCN")
    for ms in range(1, 102):
        builder.flow(run, "H0", start_ns=0.0, fct_ns=ms * MS)
    builder.flow(run, "H1", start_ns=0.0, fct_ns=7 * MS)
    builder.flow(run, "H1", start_ns=0.0, fct_ns=None)
    run = builder.only_run()
    assert metrics.fct_ms(run, "mean", ["H0"]) == pytest.approx(51)
    assert metrics.fct_ms(run, "p99", ["H0"]) == pytest.approx(100)
    assert metrics.fct_ms(run, "p50", ["H1"]) == math.inf
    assert metrics.fct_ms(run, "mean", ["H1"]) == math.inf
    assert metrics.fct_ms(run, "p50") == pytest.approx(51)
    with pytest.raises(Unavailable, match="No flow of H2"):
        metrics.fct_ms(run, "mean", ["H2"])


def test_tails_of_flows_and_of_queries_after_the_warm_up(builder: Builder) -> None:
    run = builder.run("PFC_wdrop")
    for start, dst, fct in ((1, "R0", 90), (5, "R0", 3), (5, "R0", 8), (5, "R1", 4), (9, "R1", 6)):
        builder.flow(run, "query", dst=dst, start_ns=start * MS, fct_ns=fct * MS)
    run = builder.only_run()
    assert metrics.fct_ms(run, "max", ["query"]) == pytest.approx(90)
    assert metrics.fct_ms(run, "max", ["query"], since_ms=5) == pytest.approx(8)
    assert metrics.fct_ms(run, "p99.9", ["query"], since_ms=5) == pytest.approx(8 - 0.003 * 2)
    # Queries of 8, 4 and 6 ms: the first has two flows.
    assert metrics.query_ms(run, "mean", since_ms=5) == pytest.approx(6)
    assert metrics.query_ms(run, "max") == pytest.approx(90)


def test_drops_pauses_and_stops_of_switches(builder: Builder) -> None:
    run = builder.run("PFC_wstop")
    builder.rows["runs"][0] |= {"data_packets": 1_000_000, "dropped_packets": 25}
    for peer, row in (("P7", {"pause_events": 3}), ("P8", {"stalls": 4, "stalled_ns": 2 * MS})):
        builder.add("ports", run=run, scheme="PFC_wstop", node="S", peer=peer, **row)
    run = builder.only_run()
    assert (metrics.dropped_packets(run), metrics.dropped_ppm(run)) == (25, 25)
    assert metrics.pause_events(run) == metrics.pause_events(run, ["S->P7"]) == 3
    assert metrics.pause_events(run, ["S->P8"]) == 0
    assert (metrics.stalls(run, ["S->P8"]), metrics.stalled_ms(run)) == (4, 2)
    with pytest.raises(Unavailable, match="no link S->P9"):
        metrics.stalls(run, ["S->P9"])


def test_fct_by_size_counts_what_did_not_complete(builder: Builder) -> None:
    run = builder.run("ECN#", load=0.5)
    for ms, size in ((1.0, 3e3), (3.0, 99e3), (50.0, 100e3), (400.0, 20e6)):
        builder.flow(run, "flows", start_ns=0.0, size_bytes=size, fct_ns=ms * MS)
    late = builder.run("ECN#", load=0.9)
    builder.flow(late, "flows", start_ns=0.0, size_bytes=3e3, fct_ns=4 * MS)
    builder.flow(late, "flows", start_ns=0.0, size_bytes=3e3, fct_ns=6 * MS)
    end_ns = builder.rows["runs"][late]["simulated_ns"]
    builder.flow(late, "flows", start_ns=end_ns - 9 * MS, size_bytes=50e3, fct_ns=None)
    runs = builder.result().runs_of("ECN#")
    of_size = metrics.fct_of_size_ms
    assert of_size(runs[0], "mean", below_bytes=100e3) == pytest.approx(2)
    assert of_size(runs[0], "p99", below_bytes=100e3) == pytest.approx(2.98)
    assert of_size(runs[0], "p90", below_bytes=100e3) == pytest.approx(2.8)
    assert of_size(runs[0], "std", below_bytes=100e3) == pytest.approx(1)
    assert of_size(runs[0], "mean", above_bytes=10e6) == pytest.approx(400)
    # The flow that did not complete is the slowest, whatever it took; the median is known.
    assert of_size(runs[1], "p50") == pytest.approx(6)
    with pytest.raises(Unavailable, match=r"mean .* at least 6.33 ms. 1 of 3 flows"):
        of_size(runs[1], "mean")
    with pytest.raises(Unavailable, match=r"p99 .* at least 8.94 ms"):
        of_size(runs[1], "p99")
    with pytest.raises(Unavailable, match="std"):
        of_size(runs[1], "std")
    assert metrics.unfinished_flows(runs[1]) == 1
    with pytest.raises(Unavailable, match="such a size"):
        of_size(runs[1], "mean", above_bytes=10e6)


def test_a_queue_in_packets(builder: Builder) -> None:
    run = builder.run("ECN#")
    builder.port_samples(run, "S0->H0", np.array([1.0, 2.0, 3.0]), np.array([0, 1454, 2908]))
    run = builder.only_run()
    assert metrics.mean_queue_packets(run, "S0->H0", [1.5, 3.0], 1454) == pytest.approx(1.5)


def test_division_on_a_tofino() -> None:
    """The corrected table of the specification, pst_interval 200 and 1000."""
    from unpause.mechanisms import tofino_division

    counts = [1, 2, 3, 5, 8, 10, 16, 17, 31, 100]
    of_200 = [200, 100, 67, 40, 25, 20, 12.5, 12.5, 6.75, 2.09375]
    of_1000 = [1000, 500, 336, 200, 125, 100, 62.5, 62.5, 33.5, 10.5]
    assert tofino_division(200, counts) == pytest.approx(of_200)
    assert tofino_division(1000, counts) == pytest.approx(of_1000)
    assert metrics.tofino_division_error_percent(1000, 400) == pytest.approx(12.1, abs=0.1)
