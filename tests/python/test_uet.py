"""Metrics and figures of uet-htsim's rows."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from conftest import MS, Builder
from unpause import figures, metrics
from unpause.data.series import Unavailable

US = MS / 1000


def incast() -> Builder:
    """Two schemes, three seeds; the first of three flows ends after 10 us, the last after 30."""
    made = Builder()
    for scheme in ("NSCC", "RCCC"):
        for seed in (1, 2, 3):
            run = made.run(scheme, seed=seed)
            for us, again in ((20, 1), (10, 0), (30, 7 * seed)):
                fct = {"start_ns": 5 * US, "fct_ns": us * US}
                made.flow(run, "incast", retransmitted_packets=again, **fct)
    return made


def test_a_flow_is_over_at_its_sender_when_its_last_ack_has_come() -> None:
    run = incast().result().runs_of("NSCC")[0]
    assert metrics.acked_us(run, "first", 6.0) == pytest.approx(16)
    assert metrics.acked_us(run, "last", 6.0) == pytest.approx(36)
    assert metrics.acked_us(run, "last", 0.0, ["incast"]) == pytest.approx(30)
    assert metrics.last_over_first(run) == pytest.approx(3)
    assert metrics.last_over_first(run, 10.0) == pytest.approx(2)
    assert metrics.retransmitted_packets(run) == 8
    with pytest.raises(Unavailable, match="No flow of others"):
        metrics.retransmitted_packets(run, ["others"])


def test_a_flow_that_never_ends_is_the_last(builder: Builder) -> None:
    run = builder.run("NSCC")
    builder.flow(run, "incast", start_ns=0.0, fct_ns=10 * US)
    builder.flow(run, "incast", start_ns=0.0, fct_ns=None)
    run = builder.only_run()
    assert metrics.acked_us(run, "first", 1.0) == pytest.approx(11)
    assert metrics.acked_us(run, "last", 1.0) == metrics.last_over_first(run) == math.inf


@pytest.mark.parametrize("name", ["uet-incast", "uet-permutation"])
def test_a_figure_has_a_panel_for_each_metric(tmp_path: Path, name: str) -> None:
    figure = figures.draw(incast().result(), name)
    assert figures.save(figure, tmp_path, name).exists()
    assert len([ax for ax in figure.axes if ax.has_data()]) == 3
    last = figure.axes[0 if name == "uet-incast" else 1]
    dots = [line.get_xdata()[0] for line in last.lines if len(line.get_xdata()) == 1]
    assert dots == pytest.approx([36.03072, 36.03072])


def test_oversubscription_is_drawn_over_uplinks(tmp_path: Path) -> None:
    made = Builder()
    for uplinks in (4, 8):
        for seed in (1, 2, 3):
            run = made.run("NSCC", seed=seed, uplinks=uplinks)
            fct = {"start_ns": 0.0, "fct_ns": 80 * US / uplinks}
            made.flow(run, "permutation", retransmitted_packets=10, **fct)
    figure = figures.draw(made.result(), "uet-oversubscribed")
    assert figures.save(figure, tmp_path, "uet").exists()
    assert len([ax for ax in figure.axes if ax.has_data()]) == 2
