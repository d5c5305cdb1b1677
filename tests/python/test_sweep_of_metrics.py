"""Metrics over the runs of a sweep: what a claim's ``sweep`` makes of numbers of single runs."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from conftest import MS, Builder
from unpause import metrics
from unpause.data.result import Run
from unpause.data.series import Unavailable
from unpause.metrics.sweep import Sweep


def over(runs: list[Run], sweep: dict[str, Any], metric: str, **args: Any) -> float:
    """As a check of a claims file takes `metric` with `args` over `sweep`."""
    function = metrics.METRICS[metric].function
    return Sweep.read(sweep).measure(runs, partial(function, **args))


def limited(builder: Builder, limits: list[float], share: float = 10.0) -> list[Run]:
    """F1 limited."""
    time = np.arange(1, 201) * 0.05
    for limit in limits:
        run = builder.run("PFC", f1_limit_gbps=limit)
        builder.flow(run, "F1")
        builder.flow_rates(run, "F1", time, np.full(200, min(limit, share) / 1.048))
        if limit > share:
            builder.pause(run, "S1->S0", 6.0, 7.0)
    builder.swept = ["f1_limit_gbps"]
    return builder.result().runs_of("PFC")


def test_shares_and_pauses_by_a_limiter(builder: Builder) -> None:
    runs = limited(builder, [20.0, 15.0, 10.0, 5.0])
    column, window = "f1_limit_gbps", (5.0, 10.0)
    worst = {"column": column, "pick": "max"}
    frame = {"column": column, "frame_bytes": 1048, "payload_bytes": 1000, "window_ms": window}
    assert over(runs, worst, "share_error", flow="F1", share_gbps=10.0, **frame) < 1e-6
    broken = {"column": column, "pick": "sum"}
    links = {"column": column, "links": ["S1->S0"], "window_ms": window}
    assert over(runs, broken, "pause_exception", share_gbps=10.0, **links) == 0
    assert over(runs, broken, "pause_exception", share_gbps=16.0, **links) == 1
    above = {"column": column, "pick": "min", "above": 10.0}
    low = over(runs, above, "goodput_gbps", flow="F1", window_ms=window)
    assert low == pytest.approx(10 / 1.048, rel=1e-6)
    upto = {"column": column, "pick": "max", "upto": 9.5}
    assert over(runs, upto, "pause_count", links=["S1->S0"], window_ms=window) == 0


def test_what_is_not_there_is_said(builder: Builder) -> None:
    runs = limited(builder, [20.0])
    f1 = {"flow": "F1", "window_ms": (5.0, 10.0)}
    for sweep in ({"pick": "min"}, {"at": "smallest"}, {"at": 20.0}):
        with pytest.raises(Unavailable, match="no swept column 'other'"):
            over(runs, {"column": "other", **sweep}, "goodput_gbps", **f1)
    above = {"column": "f1_limit_gbps", "pick": "min", "above": 30.0}
    with pytest.raises(Unavailable, match="No run"):
        over(runs, above, "goodput_gbps", **f1)
    with pytest.raises(Unavailable, match=r"no run with f1_limit_gbps = 7\.5"):
        over(runs, {"column": "f1_limit_gbps", "at": 7.5}, "goodput_gbps", **f1)


def test_links_and_crossing_flows(builder: Builder) -> None:
    time = np.arange(0, 10.5, 0.5)
    for n, link, f0 in ((4, 36.0, 8.0), (1, 40.0, 22.0), (2, 38.0, 12.0)):
        run = builder.run("PCN", bottlenecks=n)
        builder.port_samples(run, "X0->X1", time, tx_gbps=link)
        builder.flow_rates(run, "F0", time, np.full(len(time), f0 / 1.048))
    runs = builder.result().runs_of("PCN")
    links = {"links": ["X0->X1"], "window_ms": (2.0, 8.0)}
    least, most = ({"column": "bottlenecks", "pick": p} for p in ("min", "max"))
    assert over(runs, least, "link_gbps", **links) == pytest.approx(36)
    mean = {"column": "bottlenecks", "pick": "mean", "above": 1}
    assert over(runs, mean, "link_gbps", **links) == pytest.approx(37)
    trend = {"column": "bottlenecks", "at": "smallest", "against": "largest"}
    assert over(runs, trend, "link_gbps", **links) == pytest.approx(40 / 36)
    assert over(runs, trend | {"upto": 2}, "link_gbps", **links) == pytest.approx(40 / 38)
    assert over(runs, {"pick": "spread"}, "link_gbps", **links) == pytest.approx(40 / 36 - 1)
    crossing = {"flow": "F0", "window_ms": (2.0, 8.0), "frame_bytes": 1048, "payload_bytes": 1000}
    crossing |= {"column": "bottlenecks", "capacity_gbps": 40}
    # Proportionally fair: 20, 13.33 and 8 Gb/s.
    assert over(runs, most, "crossing_ratio", **crossing) == pytest.approx(1.1)
    assert over(runs, least, "crossing_ratio", **crossing) == pytest.approx(0.9)
    assert over(runs, most, "crossing_ratio", reference="half", **crossing) == pytest.approx(1.1)


def test_use_of_a_swept_rate(builder: Builder) -> None:
    time = np.arange(0, 10.5, 0.5)
    for rate, sent in ((10, 9.0), (40, 38.0)):
        run = builder.run("PCN", rate_gbps=rate)
        builder.port_samples(run, "S0->S1", time, tx_gbps=sent)
    runs = builder.result().runs_of("PCN")
    use = {"column": "rate_gbps", "link": "S0->S1", "window_ms": (2.0, 8.0)}
    assert over(runs, {"pick": "min"}, "swept_use", **use) == pytest.approx(0.9)


def test_trends_from_the_smallest_to_the_largest_value(builder: Builder) -> None:
    for w_max, frames, fct in ((1.0, 40, 2.0), (0.125, 10, 3.0), (0.5, 30, 2.5)):
        run = builder.run("PCN", w_max=w_max)
        builder.add("ports", run=run, scheme="PCN", node="S1", peer="S0", pause_frames=frames)
        builder.flow(run, "H0", start_ns=0.0, fct_ns=fct * MS)
    runs = builder.result().runs_of("PCN")
    up = {"column": "w_max", "at": "smallest", "against": "largest"}
    rate = over(runs, up, "pause_rate_kps", over_ms=20, links=["S1->S0"])
    assert rate == pytest.approx(0.25)
    assert over(runs, up, "fct_ms", statistic="p99") == pytest.approx(1.5)
    with pytest.raises(Unavailable, match="no ratio to 0 where w_max is 1 under PCN"):
        over(runs, up, "pause_rate_kps", over_ms=20, links=["S0->H0"])


def test_fct_at_a_load(builder: Builder) -> None:
    for load, fct in ((0.5, 2.0), (0.9, 4.0)):
        run = builder.run("ECN#", load=load)
        builder.flow(run, "flows", start_ns=0.0, size_bytes=3e3, fct_ns=fct * MS)
    runs = builder.result().runs_of("ECN#")
    mean = {"statistic": "mean"}
    assert over(runs, {"column": "load", "at": 0.9}, "fct_of_size_ms", **mean) == pytest.approx(4)
    ratio = {"column": "load", "at": 0.9, "against": 0.5}
    assert over(runs, ratio, "fct_of_size_ms", **mean) == pytest.approx(2)


def test_the_first_drops_of_a_sweep(builder: Builder) -> None:
    for queries, dropped in ((100, 3), (50, 0), (75, 1)):
        builder.run("ECN#", queries=queries)
        builder.rows["runs"][-1]["dropped_packets"] = dropped
    runs = builder.result().runs_of("ECN#")
    first = {"column": "queries", "first_above": 0}
    assert over(runs, first, "dropped_packets") == 75
    assert over(runs, first | {"first_above": 2}, "dropped_packets") == 100
    assert over(runs, first | {"upto": 50}, "dropped_packets") == math.inf
    assert metrics.dropped_packets(runs[0]) == 3


@pytest.mark.parametrize(
    ("sweep", "unit", "text"),
    [
        ({"column": "load", "at": 0.5}, "ms", "load = 0.5"),
        (
            {"column": "n", "at": "smallest", "against": 4, "upto": 9},
            "",
            "n = smallest over 4, n <= 9",
        ),
        ({"column": "n", "pick": "max", "above": 2, "upto": 9}, "ms", "max, n > 2, n <= 9"),
        ({"column": "n", "pick": "mean"}, "ms", "mean, n"),
        ({"pick": "spread"}, "", "spread"),
        ({"column": "n", "best": "min"}, "ms", "best (min), n"),
        ({"column": "n", "first_above": 0}, "", "first n above 0"),
    ],
)
def test_a_sweep_says_what_it_is(sweep: dict[str, Any], unit: str, text: str) -> None:
    assert (Sweep.read(sweep).unit("ms"), str(Sweep.read(sweep))) == (unit, text)


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"column": "n"}, "one of at, pick, best, first_above"),
        ({"column": "n", "at": 1, "pick": "min"}, "one of at, pick, best, first_above"),
        ({"at": 1}, "column is missing"),
        ({"pick": "min", "upto": 3}, "column is missing"),
        ({"column": "n", "pick": "median"}, "pick is one of min, max, mean, sum, spread"),
        ({"best": "min"}, "column is missing"),
        ({"column": "n", "best": "least"}, "best is one of min, max, found 'least'"),
        ({"column": "n", "at": "least"}, "at is a number, 'smallest' or 'largest', found 'least'"),
        ({"column": "n", "pick": "min", "above": "3"}, "above is a number, found '3'"),
        ({"column": "n", "pick": "min", "against": 3}, "against goes with at"),
        ({"colum": "n", "at": 3}, "unknown key 'colum'"),
        ({"column": 3, "at": 3}, "name of a column"),
    ],
)
def test_a_sweep_that_states_none_is_refused(sweep: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sweep.read(sweep)
