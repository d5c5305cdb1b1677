"""The figure of when each entry of the traffic completed has the table's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import unpause
from scenarios import DCQCN, PFC, burst, flow, star
from unpause import NothingToDraw, figures

TEXT = star(
    4,
    PFC,
    DCQCN,
    burst("two", ["H1", "H2"], "H0", size="100KB"),
    flow("late", "H3", "H2", size="10KB", start="100us"),
    flow("never", "H0", "H1", size="100MB"),
    flow("endless", "H1", "H3"),
    rate="10Gbps",
)


def test_bars_are_the_last_completions_of_entries() -> None:
    result = unpause.run(TEXT, progress=False)
    drawn = figures.draw(result, "completions")
    two, never, late = drawn.axes
    assert [ax.get_title("left") for ax in drawn.axes] == ["two", "never", "late"]
    flows = result.tables["flows"].to_pandas()
    for ax, name in ((two, "two"), (late, "late")):
        of_entry = flows[flows.traffic == name]
        ends = (of_entry.start_ns + of_entry.fct_ns - of_entry.start_ns.min()).groupby(
            of_entry.scheme
        )
        assert [bar.get_width() for bar in ax.patches] == pytest.approx(
            [ends.max()[scheme] / 1e3 for scheme in ("PFC", "PFC+DCQCN")]
        )
    assert not never.patches
    assert [text.get_text().strip() for text in never.texts] == ["not complete"] * 2


def test_bars_are_medians_over_seeds() -> None:
    result = unpause.run(TEXT, progress=False, seeds=3)
    two = figures.draw(result, "completions").axes[0]
    flows = result.tables["flows"].to_pandas()
    mine = flows[(flows.traffic == "two") & (flows.scheme == "PFC")]
    assert two.patches[0].get_width() == pytest.approx(
        np.median(mine.groupby("run").fct_ns.max()) / 1e3
    )


def test_sweeps_are_refused_with_a_sentence() -> None:
    swept = (
        TEXT + '[[sweep]]\nname = "size"\nkey = "traffic.late.size"\nvalues = [1, 2]\nunit = "KB"\n'
    )
    result = unpause.run(swept, progress=False)
    with pytest.raises(NothingToDraw, match="sweep over size"):
        figures.draw(result, "completions")
