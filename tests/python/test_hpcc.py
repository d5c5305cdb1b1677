"""Metrics and figures of HPCC's paper."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from unpause.papers.hpcc.figures import by_size

from conftest import MS, Builder
from unpause import figures, metrics
from unpause.data.series import Unavailable

US = MS / 1000


def sized(builder: Builder, *flows: tuple[int, float | None], traffic: str = "flows") -> None:
    """A flow for each size and slowdown; each takes 10 us times its slowdown."""
    for size, slowdown in flows:
        fct = None if slowdown is None else 10 * US * slowdown
        row = {"size_bytes": size, "ideal_fct_ns": 10 * US, "start_ns": 0.0, "fct_ns": fct}
        builder.flow(0, traffic, **row)


def test_slowdowns_are_of_flows_of_some_size(builder: Builder) -> None:
    builder.run("HPCC")
    sized(builder, (1000, 1.0), (1000, 2.0), (1000, 3.0), (5000, 8.0), (5000, None))
    sized(builder, (1000, 50.0), traffic="incast")
    run = builder.only_run()
    assert metrics.sized_slowdown(run, "p50", 0, 1000, ["flows"]) == pytest.approx(2)
    assert metrics.sized_slowdown(run, "p50", upto_bytes=1000) == pytest.approx(2.5)
    assert metrics.sized_slowdown(run, "p99", above_bytes=1000) == math.inf
    with pytest.raises(Unavailable, match="No flow of such a size"):
        metrics.sized_slowdown(run, "p50", above_bytes=5000)


def test_ideal_times_may_be_those_of_another_scheme(builder: Builder) -> None:
    for scheme, seed, ideal in (("HPCC", 1, 11), ("DCQCN", 2, 99), ("DCQCN", 1, 10)):
        run = builder.run(scheme, seed=seed)
        times = {"ideal_fct_ns": ideal * US, "fct_ns": 22 * US}
        builder.flow(run, "flows", size_bytes=1000, **times)
    run = builder.result().runs_of("HPCC")[0]
    assert metrics.sized_slowdown(run, "p50") == pytest.approx(2)
    assert metrics.sized_slowdown(run, "p50", ideal_of="DCQCN") == pytest.approx(2.2)
    with pytest.raises(Unavailable, match="no run under TIMELY"):
        metrics.sized_slowdown(run, "p50", ideal_of="TIMELY")
    builder.rows["flows"][2]["size_bytes"] = 2000
    run = builder.result().runs_of("HPCC")[0]
    with pytest.raises(Unavailable, match="others than under HPCC"):
        metrics.sized_slowdown(run, "p50", ideal_of="DCQCN")


def test_a_round_trip_ends_with_an_ack(builder: Builder) -> None:
    builder.run("HPCC")
    sized(builder, (1000, 1.0), (1000, 2.0), (1000, 3.0), (5000, 8.0))
    run = builder.only_run()
    assert metrics.sized_acked_us(run, "p50", 6.0, 1000) == pytest.approx(26)
    assert metrics.sized_acked_us(run, "p99", 0.0, 1000) == pytest.approx(29.8)


def test_queues_of_all_probed_ports_count_together(builder: Builder) -> None:
    run = builder.run("HPCC")
    builder.port_samples(run, "S0->H0", np.array([1.0, 2.0, 9.0]), np.array([0, 1000, 90_000]))
    builder.port_samples(run, "S0->H1", np.array([1.0, 2.0, 9.0]), np.array([2000, 3000, 90_000]))
    # Of another priority at the same port: added up.
    last = {**builder.rows["port_series"][1], "priority": 7, "queue_bytes": 66}
    builder.rows["port_series"].append(last)
    run = builder.only_run()
    assert metrics.queue_percentile_kb(run, 50, [0.0, 3.0]) == pytest.approx(1.533)
    assert metrics.queue_percentile_kb(run, 100, [0.0, 3.0]) == pytest.approx(3)
    with pytest.raises(Unavailable, match="No port was sampled"):
        metrics.queue_percentile_kb(run, 50, [20.0, 30.0])


@pytest.mark.parametrize(("late", "expected"), [(0, 0.0), (2, 0.2), (10, math.inf)])
def test_a_flow_recovers_when_it_has_its_goodput_back(
    builder: Builder, late: int, expected: float
) -> None:
    run = builder.run("DCQCN")
    time = np.arange(0.1, 2.05, 0.1)
    rate = np.where((time > 0.55) & (time < 1.05 + late / 10), 5.0, 20.0)
    builder.flow_rates(run, "long", time, rate)
    builder.flow(run, "short", start_ns=0.5 * MS, fct_ns=0.5 * MS)
    found = metrics.recovered_ms(builder.only_run(), "long", "short", 0.3, bin_ms=0.1)
    assert found == pytest.approx(expected)


def test_nothing_recovers_from_a_flow_that_does_not_end(builder: Builder) -> None:
    run = builder.run("DCQCN")
    builder.flow_rates(run, "long", np.array([0.5, 1.0]), np.array([20.0, 20.0]))
    builder.flow(run, "short", start_ns=0.5 * MS, fct_ns=None)
    with pytest.raises(Unavailable, match="did not end"):
        metrics.recovered_ms(builder.only_run(), "long", "short", 0.3)


def test_fairness_of_what_was_delivered(builder: Builder) -> None:
    run = builder.run("HPCC")
    for delivered in (1000, 4000, 2000):
        builder.flow(run, "incast", delivered_bytes=delivered)
    builder.flow(run, "other", delivered_bytes=1)
    assert metrics.delivered_max_over_min(builder.only_run(), "incast") == pytest.approx(4)
    builder.flow(run, "incast", delivered_bytes=0)
    assert metrics.delivered_max_over_min(builder.only_run(), "incast") == math.inf


def loads() -> Builder:
    """Two schemes at two loads; of 40 flows the larger ones are slower."""
    made = Builder()
    for scheme in ("HPCC", "DCQCN"):
        for load in (0.3, 0.5):
            run = made.run(scheme, load=load)
            for size in range(1, 41):
                fct = None if size == 40 and scheme == "DCQCN" else size * load * US
                row = {"size_bytes": 1000 * size, "fct_ns": fct, "ideal_fct_ns": US}
                made.flow(run, "flows", **row)
    return made


def test_sizes_are_buckets_of_equally_many_flows() -> None:
    result = loads().result()
    sizes, lines = by_size([result.runs_of("DCQCN")[1]], "flows")
    assert sizes[:2] == [2000, 4000]
    assert lines[0][:2] == pytest.approx([0.75, 1.75])
    assert lines[2][-1] == math.inf
    with pytest.raises(figures.NothingToDraw, match="fewer than 20 flows"):
        by_size([result.runs_of("HPCC")[0]], "websearch")


def test_a_row_of_panels_for_each_load(tmp_path: Path) -> None:
    figure = figures.draw(loads().result(), "hpcc-sizes")
    assert figures.save(figure, tmp_path, "hpcc").exists()
    titles = [ax.get_title("left") for ax in figure.axes if ax.has_data()]
    assert len(titles) == 6
    assert titles[0] == "p50, load 0.3"
    line = figure.axes[0].lines[0]
    assert len(line.get_ydata()) == 20
    assert line.get_ydata()[0] == pytest.approx(0.45)


def test_the_incast_is_drawn_over_microseconds(tmp_path: Path) -> None:
    made = Builder()
    for scheme in ("HPCC", "per RTT"):
        run = made.run(scheme)
        time = np.arange(0.0, 0.4, 0.001)
        made.port_samples(run, "S0->H16", time, 850_000 * (time < 0.1), 95.0)
    figure = figures.draw(made.result(), "hpcc-f13")
    assert figures.save(figure, tmp_path, "f13").exists()
    rates, queues = figure.axes[:2]
    assert rates.lines[0].get_ydata()[3] == pytest.approx(95, rel=0.01)
    assert queues.lines[0].get_ydata()[0] == pytest.approx(850)


@pytest.mark.parametrize("name", ["hpcc-f9-long-short", "hpcc-f9-incast", "hpcc-f9-fair"])
def test_the_testbed_s_flows_are_drawn_over_time(tmp_path: Path, name: str) -> None:
    made = Builder()
    for scheme in ("HPCC", "DCQCN"):
        run = made.run(scheme)
        time = np.arange(0.05, 10.05, 0.05)
        made.flow_rates(run, "long", time, np.full(len(time), 20.0))
        made.port_samples(run, "S0->H8", time, 5000, 21.0)
    figure = figures.draw(made.result(), name)
    assert figures.save(figure, tmp_path, name).exists()
    assert max(figure.axes[-1].lines[0].get_ydata()) == pytest.approx(20.96, abs=0.01)


@pytest.mark.parametrize(
    ("name", "panels"),
    [
        ("hpcc-f9-incast-readings", 2),
        ("hpcc-f9-mice", 3),
        ("hpcc-f11", 3),
        ("hpcc-f12", 3),
        ("hpcc-f10", 4),
        ("hpcc-f14", 2),
        ("hpcc-web", 4),
    ],
)
def test_a_figure_has_a_panel_for_each_metric(tmp_path: Path, name: str, panels: int) -> None:
    made = Builder()
    column = {"hpcc-f10": "load", "hpcc-f14": "rate_ai", "hpcc-web": "load"}.get(name)
    others = {"hpcc-f12": ["DCQCN, PFC"], "hpcc-web": ["DCQCN+win"]}
    for scheme in ("HPCC", *others.get(name, ["DCQCN"])):
        for value in (1.0, 2.0) if column else (1.0,):
            swept = {column: value} if column else {}
            run = made.run(scheme, seed=int(value), **swept)
            for at, traffic in enumerate(("flows", "mice", "incast")):
                for size in (1000, 2_000_000):
                    row = {"size_bytes": size, "delivered_bytes": size, "ideal_fct_ns": 10 * US}
                    row["retransmitted_packets"] = size
                    made.flow(run, traffic, **row, start_ns=at * US, fct_ns=30 * US)
            made.port_samples(run, "S0->H8", np.arange(0.0, 60.0, 0.25), 30_000, 20.0)
            made.add("ports", run=run, scheme=scheme, node="S0", peer="H8", paused_ns=5 * US)
    figure = figures.draw(made.result(), name)
    assert figures.save(figure, tmp_path, name).exists()
    assert len([ax for ax in figure.axes if ax.has_data()]) == panels
