"""Figures over time: means over bins, the beginning of lines, cuts of the axis, units."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from conftest import MS, Builder
from unpause import NothingToDraw, figures, text


def note_of(figure: Figure) -> str:
    return figure._supxlabel.get_text()


def ports(builder: Builder, run: int, link: str, rate_bps: int) -> None:
    node, peer = link.split("->")
    builder.add("ports", run=run, scheme="PFC", node=node, peer=peer, rate_bps=rate_bps)


def test_use_of_links_shows_bursts_of_a_link_that_is_idle_for_long(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][0]["simulated_ns"] = 2000 * MS
    time = np.arange(1.0, 2001.0)
    # 100 Mb/s for 17 ms each 900 ms, and another link for a single sample.
    burst = np.where((time - 1) % 900 < 17, 0.1, 0.0)
    once = np.where(time == 700, 0.1, 0.0)
    for link, gbps in (("S0->H0", burst), ("S0->H1", once)):
        builder.port_samples(run, link, time, tx_gbps=gbps)
        ports(builder, run, link, 100_000_000)
    figure = figures.draw(builder.result(), "link-use-over-time")
    bursts, single = figure.axes
    assert (bursts.get_title("left"), single.get_title("left")) == ("S0->H0", "S0->H1")
    at, percent = bursts.get_lines()[0].get_data()
    for start in (0, 900, 1800):
        during = percent[(at >= start) & (at <= start + 17)]
        assert during.max() == pytest.approx(100, abs=1)
    assert np.median(percent) == 0
    # A sample of 1 ms is a seventh of its bin, or a part of it is in each of two.
    at, percent = single.get_lines()[0].get_data()
    assert 6 <= percent.max() <= 14.3
    assert at[percent.argmax()] == pytest.approx(700, abs=8)
    assert "Means over 7 ms." in note_of(figure)


def test_a_rate_begins_with_its_flow(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.rows["runs"][0]["simulated_ns"] = 0.3 * MS
    for flow_id, (name, start) in enumerate((("a", 0.0), ("late", 0.15), ("before", 0.0))):
        builder.flow(run, name, start_ns=start * MS)
        time = np.array([0.1, 0.2, 0.3]) if name == "a" else np.array([0.2, 0.3])
        builder.flow_rates(run, name, time, np.array([80.0, 90.0, 100.0])[-len(time) :],
                           flow_id=flow_id)  # fmt: skip
    figure = figures.draw(builder.result(), "throughput")
    lines = {ax.get_title("left"): ax.get_lines()[0].get_data() for ax in figure.axes}
    at, gbps = lines["a"]
    np.testing.assert_allclose(at, [0, 50, 150, 250, 300])
    np.testing.assert_allclose(gbps, [80, 80, 90, 100, 100])
    # flow_rates counts the first sample from 0 on: 180 Gb/s within 100 us.
    np.testing.assert_allclose(lines["late"][0], [100, 150, 250, 300])
    np.testing.assert_allclose(lines["late"][1], [180, 180, 100, 100])
    # It was active before its first sample, so the bytes until then give no rate.
    np.testing.assert_allclose(lines["before"][0], [200, 250, 300])
    assert figure.axes[-1].get_xlim() == (0, 300)
    assert note_of(figure) == "Means over 100 us."


def test_two_samples_are_a_line_and_one_is_none(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.flow(run, "f", start_ns=0.0)
    builder.flow_rates(run, "f", np.array([1.0, 2.0]), np.array([0.05, 0.1]))
    ax = figures.draw(builder.result(), "throughput").axes[0]
    at, mbps = ax.get_lines()[0].get_data()
    np.testing.assert_allclose(at, [0, 0.5, 1.5, 2])
    np.testing.assert_allclose(mbps, [50, 50, 100, 100])
    assert ax.get_ylabel() == "goodput (Mb/s)"
    for row in builder.rows["flow_series"][1:]:
        builder.rows["flow_series"].remove(row)
    with pytest.raises(NothingToDraw, match="two samples"):
        figures.draw(builder.result(), "throughput")


@pytest.mark.parametrize(
    ("busy", "limits", "said"),
    [
        ((1, 24.9), (0, 25), ""),
        ((0.1, 5), (0, 5.4), "The axis ends where nothing changes any more; the run lasts 25 ms."),
        ((10, 25), (9.1, 25), "The axis begins where the first change is; the run lasts 25 ms."),
        (
            (10, 12),
            (9.6, 12.3),
            "The axis is cut before the first and after the last change; the run lasts 25 ms.",
        ),
    ],
)
def test_a_note_says_at_which_end_an_axis_is_cut(
    builder: Builder, busy: tuple[float, float], limits: tuple[float, float], said: str
) -> None:
    run = builder.run("PFC")
    time = np.arange(0.1, 25.01, 0.1)
    queue = np.where((time >= busy[0]) & (time <= busy[1]), 90_000.0, 0.0)
    builder.port_samples(run, "S0->H0", time, queue)
    figure = figures.draw(builder.result(), "queue")
    assert figure.axes[0].get_xlim() == pytest.approx(limits, abs=0.2)
    assert (note_of(figure) if said else figure._supxlabel) == (said or None)


def test_a_queue_begins_at_the_start(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.port_samples(run, "S0->H0", np.array([5.0, 10.0, 15.0]), np.array([9e4, 5e4, 0.0]))
    ax = figures.draw(builder.result(), "queue").axes[0]
    np.testing.assert_allclose(ax.get_lines()[0].get_xdata(), [0, 5, 10, 15])
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [0, 90, 50, 0])
    assert ax.get_xlim()[0] == 0


@pytest.mark.parametrize(
    ("bps", "written"),
    [
        (0, "0 Gb/s"),
        (8_950, "8.95 kb/s"),
        (8_950_000, "8.95 Mb/s"),
        (100_000_000, "100 Mb/s"),
        (250_000_000, "0.25 Gb/s"),
        (4.2e10, "42 Gb/s"),
        (1.6e12, "1.6 Tb/s"),
    ],
)
def test_rates_have_a_unit_that_fits(bps: float, written: str) -> None:
    assert text.rate(bps) == written
