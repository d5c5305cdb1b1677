"""Figures and report: what is drawn, what is not, and what is said then."""

from __future__ import annotations

import base64
import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import unpause
from conftest import MS, Builder
from unpause import NothingToDraw, figures, notices, report, schemes, series
from unpause.figures.fct import size_bins
from unpause.figures.style import legend, log_ticks
from unpause.summary import by_priority


def web_search(builder: Builder, flows: int = 4000) -> Builder:
    """Two schemes with flows of many sizes."""
    sizes = np.geomspace(1_000, 30_000_000, flows)
    for scheme, factor in (("DCQCN", 3.0), ("PCN", 1.5)):
        run = builder.run(scheme)
        for size in sizes:
            builder.flow(
                run,
                "web",
                size_bytes=int(size),
                fct_ns=size * factor,
                ideal_fct_ns=size,
                slowdown=factor,
            )
    return builder


def of_f2(name: str) -> bool:
    if name.startswith("pcn-"):
        return name in ("pcn-f2", "pcn-f3", "pcn-f10", "pcn-f15", "pcn-f16")
    if name.startswith("ecn-sharp-"):
        return name == "ecn-sharp-t4"
    return name not in ("fct-slowdown", "sweep", "cioq-load") and not name.startswith("capfc-")


@pytest.mark.parametrize("name", [n for n in figures.FIGURES if of_f2(n)])
def test_every_figure_of_f2_is_drawn(
    pcn_f2: Callable[[], Builder], tmp_path: Path, name: str
) -> None:
    figure = figures.draw(pcn_f2().result(), name)
    png, svg = figures.save(figure, tmp_path, name)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text("utf-8")
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert all(ax.has_data() or ax.texts for ax in shown)
    assert any(ax.has_data() for ax in shown)
    # The first loop of the fluid model is cut, and its value written beside it.
    if name != "pcn-f15":
        nothing_is_clipped(figure)


def nothing_is_clipped(figure: Figure) -> None:
    """The largest value of each panel lies within its y axis."""
    for ax in figure.axes:
        low, high = sorted(ax.get_ylim())
        if ax.has_data() and np.isfinite(ax.dataLim.y1):
            assert max(ax.dataLim.y0, ax.dataLim.y1) <= high, ax.get_title("left")
            assert min(ax.dataLim.y0, ax.dataLim.y1) >= low or ax.get_yscale() == "log"


def four_flows(builder: Builder) -> Builder:
    time = np.arange(0, 20.05, 0.1)
    for scheme in ("PCN", "DCQCN"):
        run = builder.run(scheme)
        builder.port_samples(run, "S0->S1", time, 100_000 * (time < 3))
        for flow_id in range(4):
            builder.flow_rates(run, f"F{flow_id}", time, np.full(len(time), 2.4), flow_id=flow_id)
    return builder


def swept(builder: Builder, column: str, links: list[str], until_ms: float) -> Builder:
    time = np.arange(0, until_ms + 1, 1.0)
    for scheme in ("PCN", "DCQCN"):
        for value in (10, 2):
            run = builder.run(scheme, **{column: value})
            for link in links:
                builder.port_samples(run, link, time, tx_gbps=38.0)
            for flow_id in range(2):
                rate = np.full(len(time), 40.0 / value)
                builder.flow_rates(run, f"F{flow_id}", time, rate, flow_id=flow_id)
    return builder


def test_figures_11_18_and_19_are_drawn(tmp_path: Path) -> None:
    for name, made, lines in (
        ("pcn-f11", four_flows(Builder()), [1, 2]),
        ("pcn-f18", swept(Builder(), "interval_us", ["S0->S1", "S1->R1"], 100), [2]),
        ("pcn-f19", swept(Builder(), "bottlenecks", [], 200), [3]),
    ):
        figure = figures.draw(made.result(), name)
        figures.save(figure, tmp_path, name)
        assert all(len(ax.lines) in lines for ax in figure.axes if ax.get_visible())
        with pytest.raises(figures.NothingToDraw):
            figures.draw(swept(Builder(), "xoff_kb", [], 1).result(), name)


def hadoop(builder: Builder, **frames: list[int]) -> Builder:
    """A made-up Fig. 12: PAUSE frames on S1->S0 by scheme and seed, and FCTs of seed + 1 ms."""
    for scheme, every in frames.items():
        for seed, sent in enumerate(every, start=1):
            run = builder.run(scheme, seed=seed, w_max=0.5, repetition=seed)
            builder.add("ports", run=run, scheme=scheme, node="S1", peer="S0", pause_frames=sent)
            for group in ("H0", "H1", "H2-H15"):
                builder.flow(run, group, start_ns=0.0, fct_ns=(seed + 1) * MS)
    return builder


def test_figure_12_shows_the_median_of_the_seeds(builder: Builder, tmp_path: Path) -> None:
    figure = figures.draw(hadoop(builder, QCN=[0, 0, 0], PCN=[600, 200, 1000]).result(), "pcn-f12")
    figures.save(figure, tmp_path, "pcn-f12")
    pause, mean, _ = figure.axes
    qcn, pcn = (c.lines[0].get_ydata() for c in pause.containers)
    assert len(qcn) == 0
    # 600 frames in 2 s of arrivals, in all and on S1->S0; the other links have none.
    np.testing.assert_allclose(pcn, [0.3, 0.3])
    assert [text.get_text() for text in pause.texts] == ["0"] * (5 + 3)
    for container in mean.containers:
        np.testing.assert_allclose(container.lines[0].get_ydata(), [3, 3, 3, 3])


def test_variants_have_a_row_each_in_the_order_of_the_file(
    builder: Builder, tmp_path: Path
) -> None:
    made = hadoop(builder, **{"PFC+PCN": [600, 200, 1000], "QCN, slower": [0, 0, 0]})
    figure = figures.draw(made.result(), "pcn-f12-readings")
    figures.save(figure, tmp_path, "pcn-f12-readings")
    pause = figure.axes[0]
    assert [label.get_text() for label in pause.get_yticklabels()] == ["PCN", "QCN, slower"]
    bar, dot = pause.get_lines()
    np.testing.assert_allclose(bar.get_xdata(), [0.1, 0.5])
    np.testing.assert_allclose(dot.get_xdata(), [0.3])
    assert [(text.get_text(), text.get_position()[1]) for text in pause.texts] == [("0", 1)]


def test_figure_13_is_over_the_weight_that_is_swept(builder: Builder, tmp_path: Path) -> None:
    for w_max, frames in ((0.5, [600, 200, 1000]), (0.125, [100, 200, 300])):
        for seed, sent in enumerate(frames, start=1):
            run = builder.run("PCN", seed=seed, w_max=w_max, repetition=seed)
            builder.add("ports", run=run, scheme="PCN", node="S1", peer="S0", pause_frames=sent)
            builder.flow(run, "H0", start_ns=0.0, fct_ns=MS / w_max)
    figure = figures.draw(builder.result(), "pcn-f13")
    figures.save(figure, tmp_path, "pcn-f13")
    pause, p99 = figure.axes
    assert [label.get_text() for label in pause.get_xticklabels()] == ["0.125", "0.5"]
    for ax, medians in ((pause, [0.1, 0.3]), (p99, [8.0, 2.0])):
        assert list(ax.containers[0].lines[0].get_ydata()) == pytest.approx(medians)


def ecn_sharp(schemes: list[str], column: str = "", values: tuple[float, ...] = (0,)) -> Builder:
    """Flows of every size under each scheme, at each value of `column` and for two seeds."""
    builder = Builder()
    for scheme in schemes:
        for value in values:
            for seed in (1, 2):
                swept = {column: value} if column else {}
                run = builder.run(scheme, seed=seed, **swept)
                for size in (10e3, 50e3, 1e6, 20e6, 30e6):
                    fct = size * (1 + value) * (2 if "ECN#" in scheme else 3)
                    row = {"start_ns": 0.0, "size_bytes": size, "fct_ns": fct}
                    builder.flow(run, "queries", **row)
                    builder.flow(run, "short0", **row)
                time = np.arange(0, 420.0, 20)
                builder.port_samples(run, "S0->H0", time, 100_000 * (time < 40))
                rate = np.full(len(time), 2.4)
                for i in range(3):
                    builder.flow_rates(run, f"long{i}", time + 20, rate, flow_id=i)
    return builder


def ecn_sharp_s5() -> Builder:
    builder = Builder()
    for target in (10.0, 80.0):
        for interval in (100.0, 240.0):
            run = builder.run("ECN#", pst_target_us=target, pst_interval_us=interval)
            builder.flow(run, "flows", start_ns=0.0, size_bytes=50e3, fct_ns=1e6 + target)
    return builder


RED = ["RED-Tail", "ECN#"]
SPREADS = [f"{name} {k}x" for k in (3, 5) for name in ("RED-AVG", "RED-Tail", "ECN#")]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ecn-sharp-fct", lambda: ecn_sharp(RED, "load", (0.3, 0.9))),
        ("ecn-sharp-fct", lambda: ecn_sharp(["PIAS", "PIAS+ECN#"], "load", (0.3, 0.9))),
        ("ecn-sharp-t2", lambda: ecn_sharp(["RED"], "k_kb", (50, 250))),
        ("ecn-sharp-t3", lambda: ecn_sharp(SPREADS)),
        ("ecn-sharp-t7", lambda: ecn_sharp(SPREADS, "load", (0.3, 0.9))),
        ("ecn-sharp-s3", lambda: ecn_sharp(RED)),
        ("ecn-sharp-s4", lambda: ecn_sharp(RED, "queries", (50, 100))),
        ("ecn-sharp-s5", ecn_sharp_s5),
        ("ecn-sharp-s6", lambda: ecn_sharp(["TCN", "ECN#"])),
    ],
)
def test_figures_of_ecn_sharp_are_drawn(
    name: str, made: Callable[[], Builder], tmp_path: Path
) -> None:
    figure = figures.draw(made().result(), name)
    figures.save(figure, tmp_path, name)
    assert all(ax.has_data() for ax in figure.axes)
    nothing_is_clipped(figure)
    if name == "ecn-sharp-fct":
        ratio = figure.axes[0].lines[-1].get_ydata()
        assert list(ratio) == pytest.approx([2 / 3, 2 / 3])


def test_figures_are_the_same_bytes_twice(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    result = pcn_f2().result()
    once = figures.save(figures.draw(result, "pcn-f2"), tmp_path, "a")
    again = figures.save(figures.draw(result, "pcn-f2"), tmp_path, "b")
    for a, b in zip(once, again, strict=True):
        assert a.read_bytes() == b.read_bytes()


def test_schemes_keep_order_and_colour(pcn_f2: Callable[[], Builder]) -> None:
    figure = figures.draw(pcn_f2().result(), "queue")
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["PFC", "PCN"]
    assert [line.get_color() for line in lines] == ["#555555", "#D55E00"]


def test_slowdown_by_size(builder: Builder) -> None:
    figure = figures.draw(web_search(builder).result(), "fct-slowdown")
    p50, p95, p99 = figure.axes
    assert [ax.get_ylabel() for ax in (p50, p95, p99)] == [
        "p50 slowdown",
        "p95 slowdown",
        "p99 slowdown",
    ]
    dcqcn, pcn = p99.get_lines()
    np.testing.assert_allclose(dcqcn.get_ydata(), 3.0)
    np.testing.assert_allclose(pcn.get_ydata(), 1.5)
    # Ten of 1000 flows lie beyond p99; of 4000 that makes four bins.
    assert len(pcn.get_xdata()) == 4
    assert len(p50.get_lines()[0].get_xdata()) == 20


def test_size_bins_hold_five_percent_each_in_order_of_size() -> None:
    size = np.random.default_rng(1).permutation(1000)
    bins = size_bins(size)
    assert {len(b) for b in bins} == {50}
    for low, high in pairwise(bins):
        assert size[low].max() < size[high].min()


def test_the_distribution_is_of_all_flows_that_have_a_size(builder: Builder) -> None:
    run = builder.run("TIMELY")
    for fct_ms in (3.03, 3.1, 3.2, None):
        fct_ns = None if fct_ms is None else fct_ms * MS
        builder.flow(run, "incast", size_bytes=64_000, fct_ns=fct_ns)
    builder.flow(run, "bystander")  # endless: it cannot complete
    figure = figures.draw(builder.result(), "fct-cdf")
    (line,) = figure.axes[0].get_lines()
    np.testing.assert_allclose(line.get_ydata(), [0, 25, 50, 75, 75])
    assert "TIMELY: 1 of 4." in figure._supxlabel.get_text()
    assert len(labels_of(figure.axes[0].xaxis)) >= 3


def labels_of(axis) -> list[str]:
    """Labels of an axis that are within its limits."""
    low, high = sorted(axis.get_view_interval())
    axis.figure.draw_without_rendering()
    return [
        label.get_text()
        for at, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
        if low <= at <= high and label.get_text()
    ]


@pytest.mark.parametrize(("low", "high"), [(3.03, 3.23), (1, 3.9), (0.7, 8), (0.02, 900), (5, 50)])
def test_logarithmic_axes_have_three_labels_at_least(low: float, high: float) -> None:
    figure = Figure()
    ax = figure.subplots()
    ax.plot([low, high], [1, 2])
    ax.set_xscale("log")
    log_ticks(ax.xaxis)
    assert 3 <= len(labels_of(ax.xaxis)) <= 10


def test_powers_of_ten_are_written_as_numbers(tmp_path: Path) -> None:
    figure = Figure()
    linear, logarithmic = figure.subplots(1, 2)
    linear.plot([0, 1], [1, 5000])
    linear.set_yscale("symlog", linthresh=1)
    logarithmic.plot([1, 2], [0.001, 5000])
    logarithmic.set_yscale("log")
    figures.save(figure, tmp_path, "powers")
    assert "1,000" in labels_of(linear.yaxis)
    assert "0.001" in labels_of(logarithmic.yaxis)
    assert not any("$" in label for ax in figure.axes for label in labels_of(ax.yaxis))


def test_no_two_schemes_look_alike_and_ten_share_a_panel() -> None:
    names = [f"scheme {i}" for i in range(24)]
    groups = schemes.together(names)
    assert [len(group) for group in groups] == [8, 8, 8]
    for group in (*groups, ["PFC", "QCN", *names[:8]]):
        looks = schemes.looks(group)
        assert len(set(looks.values())) == len({look.colour for look in looks.values()})
        assert len(set(looks.values())) == len(group)
    with pytest.raises(schemes.TooMany):
        schemes.colours(names)


def test_many_schemes_have_panels_of_their_own(builder: Builder) -> None:
    for i in range(24):
        run = builder.run(f"scheme {i}")
        for fct_ms in (1.0, 2.0 + i):
            builder.flow(run, "x", size_bytes=1000, fct_ns=fct_ms * MS)
    figure = figures.draw(builder.result(), "fct-cdf")
    assert [len(ax.get_lines()) for ax in figure.axes if ax.get_visible()] == [8, 8, 8]


def test_odd_names_of_schemes_stand_in_the_legend_as_they_are(
    builder: Builder, tmp_path: Path
) -> None:
    names = ["_hidden", "PFC $5 and $6", "a very long name of a scheme, with commas, 12345"]
    for name in names:
        run = builder.run(name)
        for fct_ms in (1.0, 2.0):
            builder.flow(run, "x", size_bytes=1000, fct_ns=fct_ms * MS)
    figure = figures.draw(builder.result(), "fct-cdf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures.save(figure, tmp_path, "odd")
    (shown,) = figure.legends
    texts = [text.get_text().removeprefix("\u200b") for text in shown.get_texts()]
    assert sorted(texts) == sorted(names)


def test_legends_fill_rows_from_left_to_right() -> None:
    figure = Figure(figsize=(7.2, 3))
    ax = figure.subplots()
    names = [f"a scheme with a long name {i}" for i in range(5)]
    for name in names:
        ax.plot([0, 1], label=name)
    legend(figure, ax)
    figure.draw_without_rendering()
    boxes = {t.get_text(): t.get_window_extent() for t in figure.legends[0].get_texts()}
    order = sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0))
    assert order == names


def test_pauses_are_drawn_without_probes(builder: Builder) -> None:
    run = builder.run("PFC")
    for start in np.arange(1, 3, 0.1):
        builder.pause(run, "S1->S0", start, start + 0.05)
    builder.add("ports", run=run, scheme="PFC", node="S0", peer="S1", paused_ns=1.0 * MS)
    ax = figures.draw(builder.result(), "pause").axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["S1->S0"]
    assert len(ax.collections[0].get_paths()) == 20
    assert [text.get_text() for text in ax.texts] == ["1.00 ms, 4 %"]
    # Nothing happens after 3 ms of 25.
    assert ax.get_xlim()[1] < 3.3


def test_a_lane_of_many_pauses_shows_their_share_of_time() -> None:
    every = np.array([[i * 10.0, i * 10.0 + 5.0] for i in range(100)])
    share = np.diff(series.time_within(every, np.linspace(0, 1000, 11))) / 100
    np.testing.assert_allclose(share, 0.5)
    inside = series.time_within(every, np.array([0.0, 3.0, 7.0, 12.0, 2000.0]))
    np.testing.assert_allclose(inside, [0, 3, 5, 7, 500])


def test_use_of_links_comes_from_totals(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.flow(run, "x", size_bytes=10_000_000, start_ns=1 * MS, fct_ns=4 * MS)
    # 40 Gb/s are 20 MB in the 4 ms with a flow.
    totals = {"rate_bps": 40_000_000_000, "tx_bytes": 5_000_000}
    builder.add("ports", run=run, scheme="PFC", node="H0", peer="S0", **totals)
    ax = figures.draw(builder.result(), "link-use").axes[0]
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [25.0])


def test_lines_keep_the_longest_and_the_shortest_queue(builder: Builder) -> None:
    run = builder.run("PFC")
    time = np.arange(1, 20_001) * 0.001
    queue = np.full(len(time), 50_000.0)
    queue[7_777], queue[12_345] = 900_000, 0
    builder.port_samples(run, "S0->H0", time, queue, tx_gbps=10.0)
    only = builder.only_run()
    thin = series.drawn(only)["S0->H0"]
    whole = series.port(only, "S0->H0")
    assert len(thin.time_ns) <= series.DRAWN + 1
    assert thin.queue_bytes.max() == 900_000
    assert thin.queue_bytes.min() == 0
    assert set(thin.time_ns) <= set(whole.time_ns)
    assert (thin.tx_bytes[0], thin.tx_bytes[-1]) == (whole.tx_bytes[0], whole.tx_bytes[-1])


def swept_runs(builder: Builder, *columns: str) -> Builder:
    """PAUSEs and FCTs that depend on swept values and seed."""
    for scheme, factor in (("PFC", 1.0), ("PCN", 2.0)):
        for x in (1.0, 2.0, 4.0):
            for y in (10.0, 20.0) if len(columns) > 1 else (10.0,):
                for seed in (1, 2, 3):
                    values = dict(zip(columns, (x, y), strict=False))
                    run = builder.run(scheme, seed=seed, **values)
                    fct_ns = factor * x * y * (1 + 0.1 * (seed - 2)) * MS
                    builder.flow(run, "f", size_bytes=1000, fct_ns=fct_ns)
    return builder


def test_a_sweep_is_drawn_over_its_values_with_seeds_as_a_band(builder: Builder) -> None:
    figure = figures.draw(swept_runs(builder, "x_us").result(), "sweep")
    ax = next(ax for ax in figure.axes if ax.get_title("left") == "FCT mean (ms)")
    pfc, pcn = ax.get_lines()
    np.testing.assert_allclose(pfc.get_xdata(), [1, 2, 4])
    np.testing.assert_allclose(pfc.get_ydata(), [10, 20, 40])
    np.testing.assert_allclose(pcn.get_ydata(), [20, 40, 80])
    # Student's interval of 9, 10, 11: 10 ± 4.303 / sqrt(3).
    band = ax.collections[0].get_datalim(ax.transData)
    assert band.y0 == pytest.approx(10 - 4.3027 / 3**0.5, rel=1e-4)
    assert band.y1 == pytest.approx(40 + 4 * 4.3027 / 3**0.5, rel=1e-4)
    for name in ("fct-cdf", "pause", "queue"):
        with pytest.raises(NothingToDraw, match="x_us"):
            figures.draw(builder.result(), name)


def test_a_sweep_over_two_values_is_a_heat_map(builder: Builder) -> None:
    figure = figures.draw(swept_runs(builder, "x_us", "y_kb").result(), "sweep")
    pfc, pcn = (ax.get_images()[0] for ax in figure.axes[:2])
    np.testing.assert_allclose(pfc.get_array(), [[10, 20, 40], [20, 40, 80]])
    assert pfc.get_clim() == pcn.get_clim() == (10, 160)


def test_several_seeds_are_not_pooled_into_one_line_of_a_sweep(builder: Builder) -> None:
    for seed in (1, 2, 3):
        run = builder.run("PFC", seed=seed)
        builder.flow(run, "f", size_bytes=1000, fct_ns=seed * MS)
    result = builder.result()
    assert result.axes == []
    figure = figures.draw(result, "sweep")
    assert figure.axes[0].get_title("left") == "FCT mean (ms)"
    np.testing.assert_allclose(figure.axes[0].containers[0].lines[0].get_xdata(orig=False), [2.0])


def test_the_warm_up_s_figure_has_median_and_range(builder: Builder) -> None:
    for warm_up, seed, tree in ((1.0, 1, 1.0), (1.0, 2, 3.0), (50.0, 1, 2.0), (50.0, 2, 2.0)):
        run = builder.run("DCQCN", seed=seed, warm_up_ms=warm_up)
        builder.flow(run, "burst", start_ns=5 * MS, fct_ns=3 * MS)
        time = np.arange(0, 25.0001, 0.05)
        for flow_id, name in enumerate(("F0", "F1")):
            builder.flow(run, name)
            builder.flow_rates(run, name, time, np.full(len(time), 19.08), flow_id=flow_id)
        for link in ("S1->S0", "S0->H0", "S0->H1"):
            builder.port_samples(run, link, time)
            builder.pause(run, link, 5.5, 5.5 + tree)
    builder.source += '[probes]\nports = ["S1->S0", "S0->H0", "S0->H1"]\n'
    figure = figures.draw(builder.result(), "pcn-f2-warm-up")
    tree, loss = figure.axes
    assert list(tree.get_lines()[0].get_xdata()) == [1.0, 50.0]
    assert list(tree.get_lines()[0].get_ydata()) == pytest.approx([2.0, 2.0])
    assert list(loss.get_lines()[0].get_ydata()) == pytest.approx([0.0, 0.0])


def test_of_several_seeds_the_first_is_shown_and_said(pcn_f2: Callable[[], Builder]) -> None:
    alone = figures.draw(pcn_f2().result(), "pcn-f2")
    made = pcn_f2()
    made.run("PFC", seed=2)
    made.run("PCN", seed=2)
    figure = figures.draw(made.result(), "pcn-f2")
    assert "Seed 1, one of 2." in [t.get_text() for t in figure.texts]
    assert not [t for t in alone.texts if "Seed" in t.get_text()]


def sweep(builder: Builder) -> Builder:
    for limit in (20.0, 5.0):
        run = builder.run("PFC", f1_limit_gbps=limit)
        time = np.arange(1, 201) * 0.05
        for name in ("F0", "F1"):
            builder.flow(run, name)
            builder.flow_rates(run, name, time, np.full(200, 5.0))
        builder.port_samples(run, "S1->S0", time, pause_per_ms=20.0)
    builder.swept = ["f1_limit_gbps"]
    builder.source = 'title = "F5"\n[report]\nfigures = ["pcn-f5"]\nclaims = ["PCN-F5"]\n'
    return builder


def test_sweep(builder: Builder) -> None:
    figure = figures.draw(sweep(builder).result(), "pcn-f5")
    above, below = figure.axes
    np.testing.assert_allclose(above.get_lines()[0].get_ydata(), 5.0, rtol=1e-3)
    np.testing.assert_allclose(below.get_lines()[0].get_ydata(), 20.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("queue", r"No port was probed; name some in \[probes\] ports\."),
        ("throughput", r"No flow was recorded; set record = true"),
        ("pause", "No egress port was paused."),
        ("link-use", "No link carried anything."),
        ("link-use-over-time", "No port was probed that sent anything"),
        ("sweep", "nothing is swept"),
        ("fct-cdf", "No flow completed."),
        ("fct-slowdown", "At most 0 flows of a scheme completed; percentiles by size need 60."),
        ("pcn-f2", "No flow of traffic 'burst' started under PFC."),
        ("pcn-f5", "The result has no swept column 'f1_limit_gbps'."),
        ("pcn-f12", "No flow started under PFC."),
        ("pcn-f12-readings", "No flow of H0 started under PFC."),
        ("pcn-f13", "The result has no swept column 'w_min' or 'w_max'."),
        ("pcn-fluid", "The result has no swept column 'flows'."),
    ],
)
def test_nothing_to_draw_is_said(builder: Builder, name: str, message: str) -> None:
    builder.run("PFC")
    with pytest.raises(NothingToDraw, match=message):
        figures.draw(builder.result(), name)


def test_one_flow_size_is_said(builder: Builder) -> None:
    run = builder.run("PFC")
    for _ in range(100):
        builder.flow(run, "burst", size_bytes=64_000, fct_ns=MS, ideal_fct_ns=MS, slowdown=1.0)
    with pytest.raises(NothingToDraw, match=r"only 1 size \(64 KB\)"):
        figures.draw(builder.result(), "fct-slowdown")


def test_unknown_figure(builder: Builder) -> None:
    builder.run("PFC")
    with pytest.raises(KeyError, match="did you mean 'pcn-f2'"):
        figures.draw(builder.result(), "pcn-f22")


def test_warnings_of_one_kind_are_condensed() -> None:
    many = [{"kind": "never-triggered", "scheme": f"s{i}", "message": "no marks"} for i in range(9)]
    many += [{"kind": "empty-probe", "scheme": "s", "message": f"probe {i}"} for i in range(9)]
    found = notices.condensed([*many, "something else"])
    assert found.warnings == [
        "something else",
        "no marks: s0; s1; s2; s3; s4; s5; and 3 more.",
        "s: probe 0.",
        "s: probe 1.",
        "s: probe 2.",
        "s: probe 3.",
        "5 more of the kind empty-probe; see manifest.json.",
    ]


def test_that_nobody_was_paused_is_no_warning_and_names_the_point(builder: Builder) -> None:
    message = "no PAUSE was sent: no ingress held more than {} KB, XOFF is 512KB"
    builder.source = 'title = "t"\n[[sweep]]\nname = "repetition"\nkey = "seed"\n'
    builder.manifest["warnings"] = [
        {
            "run": builder.run("PCN", xoff_bytes=xoff, repetition=seed, seed=seed),
            "scheme": "PCN",
            "kind": "never-triggered",
            "message": message.format(seed),
        }
        for xoff in (64_000.0, 128_000.0)
        for seed in (5, 6)
    ]
    found = notices.of_result(builder.result())
    assert not found.warnings
    assert found.notes == ["no PAUSE was sent: PCN, xoff_bytes 64 KB; PCN, xoff_bytes 128 KB."]


class _Page(HTMLParser):
    """Collects what a page would load, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.pictures: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("src", "href") and value and not value.startswith(("#", "data:")):
                self.loads.append(value)
            if tag == "img" and key == "src" and value:
                self.pictures.append(value)
            if key == "id" and value:
                self.ids.append(value)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_report_is_one_offline_file(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    made = pcn_f2()
    made.manifest["warnings"] = ["Port S1 <-> R1 dropped 3 packets."]
    path = made.write(tmp_path / "f2")
    built = report.build(path)
    page = _Page()
    html = built.path.read_text("utf-8")
    page.feed(html)
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert {"summary", "claims", "figures", "scenario", "tables"} <= set(page.ids)
    assert len(page.pictures) == len(built.drawn) >= 7
    for uri in page.pictures:
        kind, _, data = uri.partition(";base64,")
        assert kind in ("data:image/svg+xml", "data:image/png")
        assert base64.b64decode(data)
    assert "Made-up PCN Fig. 2" in page.text
    assert "Port S1 <-> R1 dropped 3 packets." in page.text
    assert "FCT slowdown by flow size: At most 4 flows of a scheme" in page.text
    assert "avoids all" in page.text
    assert 'name = "PFC"' in page.text
    for claim in built.claims:
        assert claim.id in page.text
    assert not re.search(r"\{[{%]", html)
    files = sorted(f.name for f in path.iterdir())
    assert "report.html.tmp" not in files
    assert {"claims.json", "claims.parquet", "figures", "report.html"} <= set(files)
    for name in built.drawn:
        assert (path / "figures" / f"{name}.png").is_file()
        assert (path / "figures" / f"{name}.svg").is_file()


def test_report_of_a_sweep(builder: Builder, tmp_path: Path) -> None:
    path = sweep(builder).write(tmp_path / "f5")
    built = report.build(path)
    assert built.drawn == ["pcn-f5"]
    assert all(
        "2 runs over f1_limit_gbps" in built.skipped[t]
        for t in ("Queue length of probed ports", "Throughput of recorded flows")
    )


def test_names_without_a_font_are_said_once(builder: Builder, tmp_path: Path) -> None:
    run = builder.run("\U00013000 hieroglyph")
    for fct_ms in (1.0, 2.0):
        builder.flow(run, "x", size_bytes=1000, fct_ns=fct_ms * MS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = report.build(builder.write(tmp_path / "odd"))
    assert [p for p in built.problems if "no font" in p] == built.problems
    assert len(built.problems) == 1


def test_report_names_what_it_does_not_know(builder: Builder, tmp_path: Path) -> None:
    builder.run("PFC")
    builder.source = '[report]\nfigures = ["pcn-f22"]\nclaims = ["PCN-F222"]\n'
    built = report.build(builder.write(tmp_path / "odd"))
    assert len(built.problems) == 2
    assert "no figure 'pcn-f22'; did you mean 'pcn-f2'?" in built.problems[1]


def test_main_prints_claims_and_path(
    pcn_f2: Callable[[], Builder], tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot
) -> None:
    path = pcn_f2().write(tmp_path / "f2")
    for options in (["--width", "100"], ["--width", "100", "--claims"]):
        assert report.main([str(path), *options]) == 0
        assert capsys.readouterr().out.replace(str(tmp_path), "RESULTS") == snapshot


def test_main_without_a_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path)]) == 1
    assert "no manifest.json" in capsys.readouterr().err


PRIORITIES = """
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 3
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[traffic]]
name = "large"
kind = "flow"
from = "H0..H1"
to = "H2"
size = "100KB"
[[traffic]]
name = "small"
kind = "flow"
from = "H0"
to = "H2"
size = "5KB"
"""


def test_priorities_have_rows_of_their_own_where_there_are_several() -> None:
    assert not by_priority(unpause.run(PRIORITIES)).rows
    summary = by_priority(unpause.run(PRIORITIES + "priority = 5\n"))
    rows = [dict(zip(summary.heads, row, strict=True)) for row in summary.rows]
    assert [row["priority"] for row in rows] == ["7", "5", "3"]
    assert [row["flows done"] for row in rows] == ["-", "1 of 1", "2 of 2"]
    # 5 frames by the host, and again by the switch.
    assert [row["frames sent"] for row in rows][1:] == ["10", "400"]
    assert [row["FCT p50"] for row in rows][1:] == ["7.03 us", "173 us"]
