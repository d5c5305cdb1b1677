"""Figures: what is drawn, what is not, and what is said then."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import unpause
from conftest import MS, Builder, sweep
from unpause import NothingToDraw, figures
from unpause.data import drawn, schemes, series
from unpause.figures import sweep as sweep_figure
from unpause.figures.fct import size_bins
from unpause.figures.style import legend, log_ticks


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


def test_figures_are_the_same_bytes_twice(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    result = pcn_f2().result()
    once = figures.save(figures.draw(result, "pcn-f2"), tmp_path, "a")
    again = figures.save(figures.draw(result, "pcn-f2"), tmp_path, "b")
    for kind in (".svg", ".png"):
        assert once.with_suffix(kind).read_bytes() == again.with_suffix(kind).read_bytes()


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


def test_flows_of_all_seeds_are_taken_together(builder: Builder) -> None:
    random = np.random.default_rng(7)
    sizes, slowdowns = random.permutation(600) + 1, 1 + random.exponential(size=600)
    for seed in range(1, 16):
        run = builder.run("PFC", seed=seed)
        ours = slice(40 * (seed - 1), 40 * seed)
        for size, slowdown in zip(sizes[ours], slowdowns[ours], strict=True):
            builder.flow(run, "web", size_bytes=int(size), fct_ns=1.0, slowdown=slowdown)
    figure = figures.draw(builder.result(), "fct-slowdown")
    by_size = slowdowns[np.argsort(sizes)]
    assert [ax.get_ylabel() for ax in figure.axes] == ["p50 slowdown", "p95 slowdown"]
    # Ten of 30 flows lie beyond p50 in each of 20 bins, and ten of 200 beyond p95 in each of 3.
    for ax, percentile, bins in zip(figure.axes, (50, 95), (20, 3), strict=True):
        each = by_size.reshape(bins, -1)
        (line,) = ax.get_lines()
        np.testing.assert_allclose(line.get_ydata(), np.percentile(each, percentile, axis=1))
    assert "Flows of 15 seeds together." in figure._supxlabel.get_text()


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
    panels = [ax for ax in figure.axes if ax.get_visible()]
    assert [len(ax.get_lines()) for ax in panels] == [8, 8, 8]
    figure.draw_without_rendering()
    for ax in panels:
        legend_box = ax.get_legend().get_window_extent()
        assert not legend_box.overlaps(ax.get_window_extent())


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
    (boxes,) = ax.patches
    # Each has four corners, and the first of them again.
    assert len(boxes.get_path().vertices) == 20 * 5
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
    thin = drawn.ports(only)["S0->H0"]
    whole = series.port(only, "S0->H0")
    assert len(thin.time_ns) <= 3 * drawn.PIXELS + 4
    assert thin.queue_bytes.max() == 900_000
    assert thin.queue_bytes.min() == 0
    assert set(thin.time_ns) <= set(whole.time_ns)
    assert (thin.tx_bytes[0], thin.tx_bytes[-1]) == (whole.tx_bytes[0], whole.tx_bytes[-1])


def test_what_is_drawn_are_samples_however_a_file_is_cut_into_batches(
    builder: Builder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = builder.run("PFC")
    for step in range(1, 3_001):
        for link in ("S0->H0", "S1->H1"):
            node, peer = link.split("->")
            for priority in (3, 7):
                queue = 10_000 * (step % 7) + priority if link == "S0->H0" else 0
                row = {"time_ns": 1e3 * step, "queue_bytes": queue, "tx_bytes": 100 * step}
                row |= {"node": node, "peer": peer, "priority": priority}
                builder.add("port_series", run=run, scheme="PFC", **row)
    # Batches end within instants.
    monkeypatch.setattr("unpause.data.files.BATCH", 333)
    result = unpause.load(builder.write(tmp_path / "r"))
    found = drawn.ports(result.runs_of("PFC")[0])
    assert list(found) == ["S0->H0", "S1->H1"]
    for line in found.values():
        assert len(line.time_ns) < 2_500
        np.testing.assert_array_equal(line.tx_bytes, 200 * line.time_ns / 1e3)
        assert (line.time_ns[0], line.time_ns[-1]) == (1e3, 3e6)
        assert np.all(np.diff(line.time_ns) > 0)
    line = found["S0->H0"]
    np.testing.assert_array_equal(line.queue_bytes, 20_000 * (line.time_ns / 1e3 % 7) + 10)
    # Seven samples go through every length.
    for stretch in np.array_split(line.queue_bytes, 100):
        assert (stretch.min(), stretch.max()) == (10, 120_010)


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


def test_whiskers_end_where_numbers_can_be(builder: Builder) -> None:
    """A slowdown is at least 1, a count at least 0, and a share at most 100 %."""
    for scheme, slowdowns in (("PFC", (1.1, 1.1, 1.9)), ("PCN", (1.0, 1.2, 1.3))):
        for seed, slowdown in enumerate(slowdowns, 1):
            run = builder.run(scheme, seed=seed)
            builder.rows["runs"][run]["flows_completed"] = 20
            for _ in range(20):
                builder.flow(run, "f", size_bytes=1000, fct_ns=MS, slowdown=slowdown)
            builder.rows["runs"][run]["pause_events"] = 0
    figure = figures.draw(builder.result(), "sweep")
    [ax] = [it for it in figure.axes if it.get_title("left").startswith("slowdown p50")]
    pfc, pcn = (it.lines[2][0].get_segments()[0][:, 0] for it in ax.containers)
    # 1.37 ± 1.15 reaches below 1: as the interval says little, the seeds do.
    assert list(pfc) == [1.1, 1.9]
    # 1.17 ± 0.38.
    assert list(pcn) == pytest.approx([1.0, 1.546], abs=1e-3)
    assert ax.get_xlim()[0] == 1.0


def test_the_share_that_finished_is_not_rounded_to_all() -> None:
    assert [sweep_figure._below(it) for it in (99.96, 99.4, 99.996, 91.2)] == [
        "99.96 %", "99.4 %", "99.996 %", "91 %",
    ]  # fmt: skip


def test_a_sweep_over_two_values_is_a_heat_map(builder: Builder) -> None:
    figure = figures.draw(swept_runs(builder, "x_us", "y_kb").result(), "sweep")
    pfc, pcn = (ax.get_images()[0] for ax in figure.axes[:2])
    np.testing.assert_allclose(pfc.get_array(), [[10, 20, 40], [20, 40, 80]])
    assert pfc.get_clim() == pcn.get_clim() == (10, 160)


def test_a_heat_map_marks_lower_bounds(builder: Builder) -> None:
    for x in (1, 2):
        for y in (1, 2):
            run = builder.run("PFC", seed=1, x=x, y=y)
            # All are complete at (1, 1), half at (2, 1), a quarter at (1, 2), none at (2, 2).
            done = {(1, 1): 4, (2, 1): 2, (1, 2): 1, (2, 2): 0}[x, y]
            builder.rows["runs"][run]["flows_completed"] = done
            for number in range(4):
                fct_ns = (x + y) * MS if number < done else None
                builder.flow(run, "f", size_bytes=1000, fct_ns=fct_ns)
    figure = figures.draw(builder.result(), "sweep")
    assert [it.get_text() for it in figure.axes[0].texts] == ["2", "≥25", "≥25", "≥25"]
    assert figure._supxlabel.get_text() == (
        "One seed. ≥: lower bounds, because flows or iterations did not finish; "
        "at worst 0 % finished."
    )


def test_a_long_name_beside_a_heat_map_is_whole(builder: Builder) -> None:
    figure = figures.draw(swept_runs(builder, "x_us", "scheme.DCQCN.dcqcn.g").result(), "sweep")
    figure.draw_without_rendering()
    label = figure.axes[0].yaxis.label
    assert label.get_text() == "scheme.DCQCN.dcqcn.g"
    box = label.get_window_extent()
    assert figure.bbox.y0 <= box.y0
    assert box.y1 <= figure.bbox.y1


def test_a_name_that_is_longer_than_the_figure_has_several_lines() -> None:
    figure = Figure(figsize=(7.2, 3), layout="constrained")
    ax = figure.subplots()
    name = "a flow (" + "which crosses a link and another one and " * 5 + "no other)"
    ax.plot([0, 1], label=name)
    ax.plot([1, 0], label="_short")
    legend(figure, ax)
    figure.draw_without_rendering()
    (shown,) = figure.legends
    first, second = (text.get_text() for text in shown.get_texts())
    assert first.replace("\n", " ") == name
    assert second == "\u200b_short"
    assert shown.get_window_extent().x1 <= figure.bbox.x1


def test_long_keys_are_shortened_beside_a_heat_map(builder: Builder) -> None:
    keys = "scheme.PFC+DCQCN.dcqcn.kmin_bytes", "scheme.PFC+DCQCN.dcqcn.kmax_bytes"
    first, *_ = figures.draw(swept_runs(builder, *keys).result(), "sweep").axes
    labels = {first.get_xlabel(), first.get_ylabel()}
    assert labels == {"dcqcn.kmin_bytes", "dcqcn.kmax_bytes"}


def test_a_heat_map_over_decades_is_logarithmic(builder: Builder) -> None:
    for x in (1, 2, 3):
        for y in (1, 2):
            run = builder.run("PFC", seed=1, x=x, y=y)
            builder.rows["runs"][run]["flows_completed"] = 1
            builder.flow(run, "f", size_bytes=1000, fct_ns=10**x * y * MS)
    ax = figures.draw(builder.result(), "sweep").axes[0]
    (image,) = ax.get_images()
    assert isinstance(image.norm, LogNorm)
    assert image.get_clim() == (0.01, 2.0)
    assert {text.get_text() for text in ax.texts} == {"0.01", "0.02", "0.1", "0.2", "1", "2"}
    # White on dark, by the scale's middle: 0.141.
    assert {t.get_text() for t in ax.texts if t.get_color() == "w"} == {"0.2", "1", "2"}


def test_keys_that_would_be_the_same_stay_whole(builder: Builder) -> None:
    keys = "scheme.PFC+DCQCN.dcqcn.kmin_bytes", "scheme.DCQCN alone.dcqcn.kmin_bytes"
    first, *_ = figures.draw(swept_runs(builder, *keys).result(), "sweep").axes
    assert {first.get_xlabel(), first.get_ylabel()} == set(keys)


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
        ("fct-slowdown", "A scheme has at most 0 flows; percentiles by size need 60."),
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


def test_a_mean_without_an_end_is_written_not_drawn(builder: Builder) -> None:
    from unpause.figures import groups

    builder.run("PFC")
    made = builder.result()
    axes = Figure().add_subplot()
    groups._dots(axes, made, {"some": lambda _: 2.0, "never": lambda _: np.inf})
    assert [it.get_text() for it in axes.texts] == ["\N{INFINITY}"] * len(made.schemes)
