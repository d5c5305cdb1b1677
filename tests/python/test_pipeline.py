"""Planted scenarios to the end of the pipe; docs/vopr.md says what is judged."""

from __future__ import annotations

import os
from collections import Counter

from matplotlib.figure import Figure

import unpause
from tests.pipeline import outputs, plants
from tests.pipeline.judge import judged
from tests.pipeline.many import planted, randoms

JOBS = min(2, os.cpu_count() or 1)


def test_planted_causes_are_named() -> None:
    became: Counter[str] = Counter()
    for seed, what, problems in planted(0, 60, JOBS):
        became[what] += 1
        assert not problems, f"seed {seed}: {what}: {problems}"
    for plant in plants.KINDS:
        right = (f"{plant}, {scheme}: named right" for scheme in plants.SCHEMES)
        assert sum(became[it] for it in right) >= 2, became
    for scheme in plants.SCHEMES:
        right = (f"{plant}, {scheme}: named right" for plant in plants.KINDS)
        assert sum(became[it] for it in right) >= 10, became


def test_nothing_wrong_is_said_of_random_scenarios() -> None:
    became: Counter[str] = Counter()
    for seed, what, problems in randoms(21_300, 100, JOBS, 20, "debug"):
        became[what] += 1
        assert not problems, f"seed {seed}: {what}: {problems}"
    assert became["told of PAUSE"] >= 5, became


def test_a_wrong_story_is_noticed() -> None:
    planted = plants.plant(4)
    assert planted.plant == "deadlock"
    result = unpause.run(planted.scenario, threads=1, progress=False)
    said = outputs.told(result)
    trees = said.trees[0]
    trees[0]["cycle"].reverse()
    trees[0]["victims"] = trees[0]["victims"][1:] or [{"flow_id": 0, "waited_ns": 1.0}]
    trees[0]["pauses"] += 1
    said.lines = [line.replace("Deadlock", "Incast") for line in said.lines]
    problems = "\n".join(judged(result, said))
    for part in ("does not wait for", "victims told", "PAUSEs of priority", "in --json", "page"):
        assert part in problems


def test_what_is_no_number_and_empty_axes_are_noticed() -> None:
    said = outputs.Said()
    for text in ("nan ms", "stopped for -3 us", "140 % of the bytes", "100 % of 2 flows"):
        outputs.check_text(said, "text", text)
    assert len(said.problems) == 3
    figure = Figure()
    left, right = figure.subplots(1, 2)
    left.plot([1, 2], [3, 4])
    right.plot([1, 2], [float("nan")] * 2)
    assert [it.split()[1] for it in outputs.empty_axes(figure)] == ["1"]
