"""Figures of papers that only shipped scenarios show otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import MS, Builder
from unpause import NothingToDraw, figures
from unpause.figures.style import Figure


def drawn(builder: Builder, name: str, directory: Path) -> Figure:
    figure = figures.draw(builder.result(), name)
    figures.save(figure, directory, name)
    return figure


def techniques() -> Builder:
    """Two techniques of CaPFC with a flow of each class."""
    made = Builder()
    for scheme, fct_ms in (("PFC", 80.0), ("CaPFC", 40.0)):
        run = made.run(scheme)
        for factor, name in enumerate(("query", "short", "long"), 1):
            for start_ms, ms in ((100.0, 999.0), (600.0, factor * fct_ms)):
                made.flow(run, name, start_ns=start_ms * MS, fct_ns=ms * MS, size_bytes=2000)
        made.add("ports", run=run, scheme=scheme, node="S", peer="P1", dropped_packets=7)
    return made


def test_capfc_fct_shows_the_largest_after_the_warm_up(tmp_path: Path) -> None:
    figure = drawn(techniques(), "capfc-fct", tmp_path)
    bars = [[bar.get_height() for bar in bars] for bars in figure.axes[0].containers]
    heights = [pytest.approx([80, 160, 240]), pytest.approx([40, 80, 120])]
    assert [found for found in bars if len(found) == 3] == heights


def test_capfc_sweep_has_a_point_for_each_value(tmp_path: Path) -> None:
    made = Builder()
    for load in (0.2, 0.4, 0.8):
        run = made.run("PFC", load=load)
        for name in ("query", "short", "long"):
            made.flow(run, name, start_ns=600 * MS, fct_ns=100 * load * MS, size_bytes=2000)
    figure = drawn(made, "capfc-sweep", tmp_path)
    line = figure.axes[0].lines[0]
    assert list(line.get_xdata()) == [0.2, 0.4, 0.8]
    assert line.get_ydata() == pytest.approx([20, 40, 80])
    with pytest.raises(NothingToDraw, match="does not sweep one value"):
        figures.draw(techniques().result(), "capfc-sweep")


@pytest.mark.parametrize(("name", "column"), [("capfc-cut", "cut"), ("capfc-xoff", "xoff_kb")])
def test_capfc_thresholds_have_a_panel_for_each_metric(
    name: str, column: str, tmp_path: Path
) -> None:
    made = Builder()
    for value in (200, 500):
        for seed in (1, 2):
            run = made.run("CaPFC", seed=seed, **{column: value})
            for flow in ("query", "short", "long"):
                made.flow(run, flow, start_ns=600 * MS, fct_ns=value * MS / 10, size_bytes=2000)
            totals = {"dropped_packets": value, "pause_events": 2 * value}
            made.add("ports", run=run, scheme="CaPFC", node="S", peer="P1", **totals)
    figure = drawn(made, name, tmp_path)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert len(shown) == 4
    assert list(shown[0].lines[0].get_ydata()) == pytest.approx([20, 50])


def test_capfc_hol_shows_what_the_bystander_gets(tmp_path: Path) -> None:
    made = Builder()
    time = np.arange(0, 20.0, 0.1)
    for scheme, gbps in (("PFC", 0.4), ("CaPFC", 0.9)):
        run = made.run(scheme)
        made.port_samples(run, "S->P7", time, tx_gbps=gbps)
        made.port_samples(run, "S->P8", time, queue_bytes=30_000)
        for port in range(1, 7):
            made.add("ports", run=run, scheme=scheme, node="S", peer=f"P{port}", pause_events=port)
    figure = drawn(made, "capfc-hol", tmp_path)
    rates = [np.median(line.get_ydata()) for line in figure.axes[0].lines]
    assert rates == pytest.approx([0.4, 0.9], rel=1e-3)


def test_readings_of_pcn_f2_have_a_panel_for_each_metric(
    pcn_f2: Callable[[], Builder], tmp_path: Path
) -> None:
    figure = drawn(pcn_f2(), "pcn-f2-readings", tmp_path)
    titles = [ax.get_title(loc=where) for ax in figure.axes for where in ("left", "center")]
    assert any("tree of PAUSEs" in title for title in titles)


def test_readings_of_pcn_f14_have_a_panel_for_each_metric(tmp_path: Path) -> None:
    made = Builder()
    for scheme, fct in (("PFC", 2.0), ("PCN", 1.0)):
        run = made.run(scheme)
        for start_ms, size in enumerate((5_000, 500_000)):
            times = {"start_ns": start_ms * MS, "fct_ns": fct * MS}
            made.flow(run, "web", **times, size_bytes=size, delivered_bytes=size)
        made.add("ports", run=run, scheme=scheme, node="S0", peer="H0", pause_frames=3)
    figure = drawn(made, "pcn-f14-readings", tmp_path)
    titles = [ax.get_title(loc=where) for ax in figure.axes for where in ("left", "center")]
    assert any("mean FCT of S" in title for title in titles)


def test_qcn_f2_has_a_line_for_each_flow(tmp_path: Path) -> None:
    made = Builder()
    time = np.arange(0, 101.0)
    run = made.run("QCN")
    for flow_id, rate in enumerate((7.5, 2.5)):
        made.flow_rates(run, f"f{flow_id}", time, rate * np.ones(len(time)), flow_id=flow_id)
    figure = drawn(made, "qcn-f2", tmp_path)
    lines = [line for ax in figure.axes if ax.get_visible() for line in ax.lines]
    medians = [float(np.median(line.get_ydata())) for line in lines]
    assert medians == pytest.approx([7.5 * 1542 / 1474, 2.5 * 1542 / 1474], rel=1e-3)


def of_f2(name: str) -> bool:
    if name.startswith("pcn-"):
        return name in ("pcn-f2", "pcn-f3", "pcn-f10", "pcn-f15", "pcn-f16")
    if name.startswith("ecn-sharp-"):
        return name == "ecn-sharp-t4"
    # Nothing is watched there: test_watched.py draws "watched". No link fails: test_flap.py.
    # test_delays.py draws "delays".
    others = ("fct-slowdown", "sweep", "cioq-load", "watched", "flap", "delays")
    # Others draw these: test_lateness.py, test_uet.py, test_hpcc.py, test_abstracts.py.
    elsewhere = ("capfc-", "job-", "uet-", "hpcc-", "irn", "dcqcn-")
    return name not in others and not name.startswith(elsewhere)


@pytest.mark.parametrize("name", [n for n in figures.FIGURES if of_f2(n)])
def test_every_figure_of_f2_is_drawn(
    pcn_f2: Callable[[], Builder], tmp_path: Path, name: str
) -> None:
    figure = figures.draw(pcn_f2().result(), name)
    svg = figures.save(figure, tmp_path, name)
    png = svg.with_suffix(".png")
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


def test_figures_11_18_19_and_of_section_5_are_drawn(tmp_path: Path) -> None:
    for name, made, lines in (
        ("pcn-f11", four_flows(Builder()), [1, 2]),
        ("pcn-f18", swept(Builder(), "interval_us", ["S0->S1", "S1->R1"], 100), [2]),
        ("pcn-f19", swept(Builder(), "bottlenecks", [], 200), [3]),
        ("pcn-s5", swept(Builder(), "rate_gbps", ["S0->S1"], 60), [2, 3]),
    ):
        figure = figures.draw(made.result(), name)
        figures.save(figure, tmp_path, name)
        assert all(len(ax.lines) in lines for ax in figure.axes if ax.get_visible())
        with pytest.raises(figures.NothingToDraw):
            figures.draw(swept(Builder(), "xoff_kb", [], 1).result(), name)


def test_of_several_seeds_sweeps_show_the_median_and_figures_over_time_the_first(
    tmp_path: Path,
) -> None:
    time = np.arange(0, 201.0, 1.0)
    made = Builder()
    for value in (10, 2):
        for seed, gbps in enumerate((3.0, 1.0, 8.0), start=1):
            run = made.run("PCN", seed=seed, bottlenecks=value, repetition=seed)
            for flow_id in range(2):
                made.flow_rates(run, f"F{flow_id}", time, np.full(201, gbps), flow_id=flow_id)
    result = made.result()
    result.scenario["sweep"] = [{"name": "repetition", "key": "seed"}]
    figure = figures.draw(result, "pcn-f19")
    figures.save(figure, tmp_path, "pcn-f19")
    [container] = figure.axes[0].containers
    assert list(container.lines[0].get_xdata()) == [2, 10]
    assert container.lines[0].get_ydata() == pytest.approx([3.0, 3.0], rel=0.02)
    [bars] = container.lines[2]
    assert bars.get_segments()[0][:, 1] == pytest.approx([1.0, 8.0], rel=0.02)
    with pytest.raises(NothingToDraw, match="sweep over bottlenecks"):
        figures.draw(result, "pcn-f11")


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


def ecn_sharp_f4() -> Builder:
    builder = Builder()
    time = np.arange(0, 20.0, 0.02)
    for scheme in ("K too low", "K too high"):
        run = builder.run(scheme)
        builder.port_samples(run, "S0->H1", time, 1e5 * (1 + np.sin(time)), tx_gbps=9.0)
        builder.flow_rates(run, "flow", time[1:], 9.0 * np.ones(len(time) - 1), flow_id=0)
    return builder


RED = ["RED-Tail", "ECN#"]
SPREADS = [f"{name} {k}x" for k in (3, 5) for name in ("RED-AVG", "RED-Tail", "ECN#")]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("ecn-sharp-fct", lambda: ecn_sharp(RED, "load", (0.3, 0.9))),
        ("ecn-sharp-fct", lambda: ecn_sharp(["PIAS", "PIAS+ECN#"], "load", (0.3, 0.9))),
        ("ecn-sharp-t2", lambda: ecn_sharp(["RED 50 KB", "RED 250 KB"])),
        ("ecn-sharp-t3", lambda: ecn_sharp(SPREADS)),
        ("ecn-sharp-t7", lambda: ecn_sharp(SPREADS, "load", (0.3, 0.9))),
        ("ecn-sharp-s3", lambda: ecn_sharp(RED)),
        ("ecn-sharp-s4", lambda: ecn_sharp(RED, "queries", (50, 100))),
        ("ecn-sharp-s5", ecn_sharp_s5),
        ("ecn-sharp-s6", lambda: ecn_sharp(["TCN", "ECN#"])),
        ("ecn-sharp-f4", ecn_sharp_f4),
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
