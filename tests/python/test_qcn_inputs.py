"""Metrics over seeds and figures of the QCN-at-inputs experiments."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from conftest import Builder
from unpause import NothingToDraw, figures, metrics
from unpause.data.series import Unavailable

WINDOW = (50.0, 100.0)


# The name of the paper is no identifier.
LOAD = importlib.import_module("unpause.papers.qcn-inputs.figures")


def two_schemes() -> Builder:
    """Three seeds; f1 and f2 get 2.5 Gb/s each at inputs, and less and less of it at outputs."""
    made = Builder()
    time = np.arange(0, 101.0)
    ones = np.ones(len(time))
    for scheme in ("at outputs", "at inputs"):
        for draw, unfair in enumerate((0.5, 1.0, 1.5)):
            run = made.run(scheme, draw=draw)
            off = unfair if scheme == "at outputs" else 0.0
            for flow_id, rate in enumerate((2.5 + off, 2.5 - off)):
                made.flow_rates(run, f"f{flow_id + 1}", time, rate * ones, flow_id=flow_id)
            made.port_samples(run, "S0->H1", time, pause_per_ms=draw)
    for row in made.rows["flow_series"]:
        # f1 is notified once a ms, f2 as often as the number of its run says.
        often = 1 if row["traffic"] == "f1" else row["run"]
        row["notifications"] = round(row["time_ns"] / 1e6) * often
    return made


def test_shares_of_a_run() -> None:
    run = two_schemes().result().runs_of("at outputs")[1]
    flows = ["f1", "f2"]
    assert metrics.max_over_min(run, flows, WINDOW) == pytest.approx(3.5 / 1.5, rel=1e-6)
    assert metrics.goodput_over(run, "f2", "f1", WINDOW) == pytest.approx(1.5 / 3.5)
    assert metrics.largest_change_percent(run, flows, WINDOW, (0.0, 50.0)) == pytest.approx(0)


def test_a_change_of_goodput_is_up_or_down(builder: Builder) -> None:
    time = np.arange(0, 101.0)
    run = builder.run("QCN")
    for flow_id, (name, after) in enumerate((("f1", 1.2), ("f2", 0.5))):
        rate = np.where(time > 50, after, 1.0)
        builder.flow_rates(run, name, time, rate, flow_id=flow_id)
    found = metrics.largest_change_percent(builder.only_run(), ["f1", "f2"], WINDOW, (0.0, 50.0))
    assert found == pytest.approx(50)


def test_first_notifications_and_what_is_sent_between_them(builder: Builder) -> None:
    time = np.arange(0, 1.001, 0.01)
    run = builder.run("QCN")
    # f1 is notified at 0.1, 0.2 and 0.5 ms, f2 at 0.3 ms.
    notified = {"f1": (0.1, 0.2, 0.5), "f2": (0.3,)}
    for flow_id, (name, moments) in enumerate(notified.items()):
        builder.flow_rates(run, name, time, np.full(len(time), 10.0), flow_id=flow_id)
        for row in builder.rows["flow_series"]:
            if row["traffic"] == name:
                row["notifications"] = sum(row["time_ns"] >= at * 1e6 - 1 for at in moments)
    only = builder.only_run()
    assert metrics.first_notifications_us(only, ["f1", "f2"]) == pytest.approx(200)
    assert metrics.notifications_before_all(only, ["f1", "f2"]) == 2
    # 0.1 ms at 10 Gb/s of payload: 125 KB, and 4.8 % of headers.
    frames = metrics.frames_between_notifications(only, "f1", 1048)
    assert frames == pytest.approx(125, rel=0.01)
    with pytest.raises(Unavailable, match="Fewer than two notifications reached 'f2'"):
        metrics.frames_between_notifications(only, "f2", 1048)


def test_runs_are_compared_seed_by_seed() -> None:
    result = two_schemes().result()
    inputs, outputs = result.runs_of("at inputs"), result.runs_of("at outputs")
    assert metrics.fairer_share(inputs, "at outputs", ["f1", "f2"], WINDOW) == 1.0
    assert metrics.fairer_share(outputs, "at inputs", ["f1", "f2"], WINDOW) == 0.0
    with pytest.raises(Unavailable, match="no scheme elsewhere"):
        metrics.fairer_share(inputs, "elsewhere", ["f1"], WINDOW)


def test_notifications_and_pauses_count_in_the_window() -> None:
    runs = two_schemes().result().runs_of("at outputs")
    assert metrics.most_notifications(runs, "f1", WINDOW) == 50
    assert metrics.most_notifications(runs, "f2", WINDOW) == 100
    assert metrics.notification_ratio(runs, "f2", "f1", WINDOW) == pytest.approx(1.0)
    assert metrics.most_pauses(runs, "S0->H1", WINDOW) == 100
    with pytest.raises(Unavailable, match="No notification"):
        metrics.notification_ratio(runs[:1], "f1", "f2", WINDOW)


@pytest.mark.parametrize("name", ["qcn-f3", "qcn-f2-100g", "qcn-f3-100g"])
def test_figures_2_and_3_have_a_line_for_each_flow(name: str, tmp_path: Path) -> None:
    figure = figures.draw(two_schemes().result(), name)
    figures.save(figure, tmp_path, name)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title(loc="left") for ax in shown] == ["at outputs", "at inputs"]
    assert [len(ax.lines) for ax in shown] == [2, 2]
    # The first seed's.
    heights = [float(np.median(line.get_ydata())) for line in shown[0].lines]
    assert heights == pytest.approx([3.0 * 1542 / 1474, 2.0 * 1542 / 1474])


def test_waiting_is_m_d_1_when_acks_weigh_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOAD, "_ACK", 0.0)
    rho = 0.5 * 1542 / 1474
    service_us = 1542 * 8 / 1e4
    assert LOAD.wait_us(0.5) == pytest.approx(rho * service_us / (2 * (1 - rho)))


def test_a_hot_spot_leaves_what_its_link_has() -> None:
    assert LOAD.hot_share(0.2) == 1.0
    load = 0.5
    share = LOAD.hot_share(load)
    data = 17 * load / 19 + share * 2 * load * 20 / 19
    assert data * 1542 / 1474 + load * 86 / 1474 * 1542 / 1474 == pytest.approx(1, abs=0.003)


def test_load_is_drawn_of_its_own_scenario_only(tmp_path: Path) -> None:
    made = Builder()
    for scheme in ("pipe", "spines", "hot spot"):
        for load in (0.1, 0.2):
            run = made.run(scheme, load=load)
            made.rows["runs"][-1]["simulated_ns"] = 1e6
            for src, fct in (("H0", 5000.0), ("H1", 6000.0)):
                made.flow(run, "uniform", src=src, delivered_bytes=1474, fct_ns=fct)
    figure = figures.draw(made.result(), "cioq-load")
    figures.save(figure, tmp_path, "cioq-load")
    waiting = figure.axes[1].lines[0]
    assert list(waiting.get_xdata()) == [0.1, 0.2]
    assert list(waiting.get_ydata()) == pytest.approx([0.5, 0.5])
    with pytest.raises(NothingToDraw, match="qcn-inputs/load"):
        figures.draw(two_schemes().result(), "cioq-load")
