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
