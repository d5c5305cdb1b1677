"""Statements of the abstracts of IRN and DCQCN on smaller scenarios, and their figures."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unpause
from unpause import figures, metrics, papers
from unpause.data.result import Result
from unpause.running import read


def scenario(paper: str, name: str) -> dict[str, Any]:
    return tomllib.loads(read(papers.folders()[paper] / "scenarios" / name).source)


def drawn(result: Result, name: str, folder: Path) -> list[list[float]]:
    """By panel, where the dots of the figure are."""
    figure = figures.draw(result, name)
    assert figures.save(figure, folder, name).exists()
    lines = [[line.get_xdata() for line in ax.lines] for ax in figure.axes]
    return [[float(x[0]) for x in panel if len(x) == 1] for panel in lines]


@pytest.fixture(scope="module")
def fat_tree() -> Result:
    small = scenario("irn", "fat-tree.toml")
    small["traffic"][0]["stop"] = "1ms"
    small["scheme"] = [s for s in small["scheme"] if s["name"] in ("RoCE, PFC", "RoCE", "IRN")]
    return unpause.run(small, progress=False)


def test_irn_needs_no_pfc_and_roce_does(fat_tree: Result, tmp_path: Path) -> None:
    fct = {
        scheme: np.median([metrics.fct_ms(run, "mean") for run in fat_tree.runs_of(scheme)])
        for scheme in fat_tree.schemes
    }
    assert fct["IRN"] < fct["RoCE, PFC"] < fct["RoCE"]
    mean, _, again = drawn(fat_tree, "irn", tmp_path)
    assert mean == pytest.approx([fct[s] for s in fat_tree.schemes if np.isfinite(fct[s])])
    assert len(again) == 2, "0 is written, not drawn"


def test_dcqcn_is_fair_and_pfc_is_not(tmp_path: Path) -> None:
    result = unpause.run(scenario("dcqcn", "unfair.toml"), duration="10ms", progress=False)
    (pfc, dcqcn), _ = drawn(result, "dcqcn-unfair", tmp_path)
    assert pfc > 2 > dcqcn


def test_dcqcn_spares_the_victim(tmp_path: Path) -> None:
    result = unpause.run(scenario("dcqcn", "victim.toml"), progress=False)
    (pfc, dcqcn), (paused, less) = drawn(result, "dcqcn-victim", tmp_path)
    assert pfc < 20 < dcqcn
    assert less < paused
