"""Metrics of workloads, of many flows, of deadlocks, where the answer is known; their figures."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from conftest import MS, Builder
from unpause import figures, metrics
from unpause.data.series import Unavailable


def workload(builder: Builder, scheme: str = "PFC+PCN") -> int:
    """Four flows that start from 1 to 5 ms; PAUSEs of all layers, of two priorities."""
    run = builder.run(scheme)
    for start_ms, size, priority, fct_ms in (
        (1.0, 10_000, 4, 0.5),
        (1.0, 10_001, 3, 2.0),
        (3.0, 900_000, 2, 3.0),
        (5.0, 2_000_000, 1, 5.0),
    ):
        builder.flow(
            run,
            "w",
            size_bytes=size,
            priority=priority,
            start_ns=start_ms * MS,
            fct_ns=fct_ms * MS,
        )
    for node, peer, priority, frames, events in (
        ("tor1", "H3", 1, 60, 50),
        ("tor1", "leaf0", 2, 20, 20),
        ("leaf0", "tor2", 1, 12, 12),
        ("spine3", "leaf0", 1, 8, 8),
    ):
        builder.add(
            "ports",
            run=run,
            scheme=scheme,
            node=node,
            peer=peer,
            priority=priority,
            pause_frames=frames,
            pause_events=events,
        )
    builder.add(
        "ports", run=run, scheme=scheme, node="H3", peer="tor1", priority=1, paused_ns=2 * MS
    )
    builder.add(
        "ports", run=run, scheme=scheme, node="tor2", peer="leaf0", priority=1, paused_ns=6 * MS
    )
    return run


def test_pauses_of_a_workload_count_over_its_arrivals(builder: Builder) -> None:
    workload(builder)
    run = builder.only_run()
    assert metrics.workload_pause_kps(run) == pytest.approx(100 / 4)
    assert metrics.workload_pause_kps(run, count="events") == pytest.approx(90 / 4)
    assert metrics.workload_pause_kps(run, nodes="tor") == pytest.approx(80 / 4)
    assert metrics.workload_pause_kps(run, priority=1) == pytest.approx(80 / 4)
    assert metrics.workload_pause_kps(run, nodes="tor", priority=2) == pytest.approx(20 / 4)
    assert metrics.pause_ratio(run, "tor", "spine") == pytest.approx(80 / 8)
    assert metrics.pause_ratio(run, "tor", "core") == math.inf
    with pytest.raises(Unavailable, match="Neither core nor core paused anything under"):
        metrics.pause_ratio(run, "core", "core")
    assert metrics.workload_paused(run) == pytest.approx(8 / 4)
    assert metrics.workload_paused(run, nodes="leaf") == pytest.approx(6 / 4)
    nobody = Builder()
    nobody.flow(nobody.run("PCN"), "w", start_ns=1.0)
    with pytest.raises(Unavailable, match="at one time"):
        metrics.workload_pause_kps(nobody.only_run())
    with pytest.raises(Unavailable, match="Nothing was paused"):
        metrics.pause_ratio(nobody.only_run(), "tor", "leaf")


def test_completion_rate_and_fct_by_size(builder: Builder) -> None:
    number = workload(builder)
    run = builder.only_run()
    # The first two end before the last starts, the last one at 10 ms.
    assert metrics.completion_rate(run, "last-start") == pytest.approx(2 / 4)
    assert metrics.completion_rate(run, "last-end") == pytest.approx(4 / 9)
    assert metrics.sized_fct_ms(run, "mean", upto_bytes=10_000) == pytest.approx(0.5)
    assert metrics.sized_fct_ms(run, "mean", above_bytes=10_000) == pytest.approx(10 / 3)
    builder.flow(number, "w", size_bytes=5_000_000, start_ns=2 * MS, fct_ns=None)
    run = builder.only_run()
    assert metrics.completion_rate(run, "last-start") == pytest.approx(2 / 4)
    assert metrics.completion_rate(run, "last-end") == 0
    assert metrics.sized_fct_ms(run, "mean", above_bytes=1_000_000) == np.inf
    with pytest.raises(Unavailable, match="size"):
        metrics.sized_fct_ms(run, "mean", above_bytes=5_000_000)


def many_flows(builder: Builder, shares: dict[float, list[float]]) -> Builder:
    """For each number of flows over 4, the goodputs of four of them, and 2 PAUSEs a second."""
    time = np.array([500.0, 1000.0, 1500.0, 2000.0])
    for column, goodputs in shares.items():
        run = builder.run("PCN", flows_over_4=column)
        for flow_id, goodput in enumerate(goodputs):
            builder.flow_rates(run, "first", time, np.full(4, goodput), flow_id=flow_id)
        builder.port_samples(run, "S0->S1", time, column * 1000, tx_gbps=9.0)
        for start in (400.0, 700.0, 1200.0, 1700.0):
            builder.pause(run, "S0->A1", start, start + 1)
    return builder


def test_jain_index_queue_and_pauses_of_many_flows(builder: Builder) -> None:
    runs = many_flows(builder, {1: [2, 2, 2, 2], 16: [8, 0, 0, 0], 64: [3, 1, 3, 1]}).result()
    every = runs.runs_of("PCN")
    window = (500.0, 2000.0)
    assert metrics.jain_index(every[0], window) == pytest.approx(1)
    assert metrics.jain_index(every[1], window) == pytest.approx(1 / 4)
    assert metrics.jain_index(every[2], window) == pytest.approx(64 / 80)
    links = ["S0->A1", "S0->A2"]
    assert metrics.window_pause_rate(every[0], links, window) == pytest.approx(2)
    assert metrics.mean_queue_kb(every[2], "S0->S1", window) == 64
    used = metrics.utilisation(every[0], "S0->S1", 10.0, window)
    assert used == pytest.approx(0.9)
    with pytest.raises(Unavailable, match="twice"):
        metrics.jain_index(every[0], (1900.0, 2000.0))
    ended = many_flows(Builder(), {1: [1, 1]})
    ended.rows["flow_series"].pop()
    with pytest.raises(Unavailable, match="through the window"):
        metrics.jain_index(ended.only_run(), window)


def deadlocks(builder: Builder, ended: dict[str, list[float | None]]) -> Builder:
    builder.source += '[probes]\ndeadlock = "1ms"\n'
    for scheme, began in ended.items():
        for seed, at in enumerate(began):
            number = builder.run(scheme, seed=seed)
            builder.rows["runs"][number]["deadlock_began_ns"] = at
    return builder


def test_share_of_deadlocked_runs(builder: Builder) -> None:
    result = deadlocks(builder, {"PCN": [None, 5.0, None, None]}).result()
    assert metrics.deadlocked_share(result.runs_of("PCN")) == 0.25
    blind = Builder()
    blind.run("PCN")
    with pytest.raises(Unavailable, match="did not look"):
        metrics.deadlocked_share([blind.only_run()])


def test_figures_14_17_20_and_21_are_drawn(builder: Builder, tmp_path: Path) -> None:
    for scheme in ("PFC+PCN", "PFC+QCN"):
        workload(builder, scheme)
    for name, made, panels in (
        ("pcn-f14", builder, 4),
        ("pcn-f20", builder, 3),
        ("pcn-f17", many_flows(Builder(), {1: [1, 2], 64: [2, 2]}), 4),
        ("pcn-f21", deadlocks(Builder(), {"PFC+PCN": [None, None], "PFC": [1.0, 2.0]}), 1),
    ):
        figure = figures.draw(made.result(), name)
        figures.save(figure, tmp_path, name)
        assert len(figure.axes) == panels
        with pytest.raises(figures.NothingToDraw):
            figures.draw(Builder().result() if name == "pcn-f17" else empty(), name)


def empty() -> object:
    builder = Builder()
    builder.run("PCN")
    return builder.result()
