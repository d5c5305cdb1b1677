"""The sentence of several runs has every word of the sentence of one."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import unpause
from conftest import MS, Builder
from test_story import link, two_switches
from unpause.explanation import sentences, story
from unpause.text import plural, size, span, time

#: Changes a run: the builder, the number of the run, and a factor for its numbers.
Plant = Callable[[Builder, int, float], None]


def row(made: Builder, run: int) -> dict:
    return next(it for it in made.rows["runs"] if it["run"] == run)


def lossy(made: Builder, run: int, factor: float) -> None:
    row(made, run).update(
        dropped_packets=round(600 * factor), trimmed_packets=round(3_000 * factor)
    )


def deadlocked(made: Builder, run: int, factor: float) -> None:
    row(made, run)["deadlock_began_ns"] = 3 * MS * factor


def failed(made: Builder, run: int, factor: float) -> None:
    """S0->S1 fails; flows send packets again, one gives up, and packets are lost elsewhere."""
    row(made, run)["dropped_packets"] = round(40 * factor)
    for change, at in (("down", 5.0), ("up", 6.0)):
        made.add("link_changes", run=run, scheme="PFC", time_ns=at * MS, change=change,
                 node="S0", peer="S1", port=0)  # fmt: skip
    made.add("losses", run=run, scheme="PFC", reason="link", place="queue", since_ns=5.0 * MS,
             node="S0", peer="S1", port=0, priority=3, packets=9, data_packets=9)  # fmt: skip
    for number in range(round(3 * factor)):
        made.flow(run, "again", src="H2", dst="R1", start_ns=4 * MS, retransmitted_packets=7,
                  transport="roce", size_bytes=10 + number, gave_up=int(number == 0))  # fmt: skip


def nothing_lost(made: Builder, run: int, factor: float) -> None:
    del factor
    for change, at in (("down", 5.0), ("up", 6.0)):
        made.add("link_changes", run=run, scheme="PFC", time_ns=at * MS, change=change,
                 node="S0", peer="S1", port=0)  # fmt: skip


def unfinished(made: Builder, run: int, factor: float) -> None:
    for number in range(round(2 * factor)):
        made.flow(run, "web", src="H2", dst="R1", start_ns=MS, size_bytes=1_000 + number)


def spread(made: Builder, run: int, factor: float) -> None:
    """Flows that start one after the other have a p99."""
    for start in range(3):
        made.flow(run, "web", src="H2", dst="R1", start_ns=start * 3 * MS, fct_ns=MS * factor,
                  size_bytes=1_000, slowdown=2.0)  # fmt: skip


def alike(made: Builder, run: int, factor: float) -> None:
    for fct in (1.0, 2.0 * factor):
        made.flow(run, "same", src="H2", dst="R1", start_ns=MS, fct_ns=fct * MS, size_bytes=1_000)


def shares(until: float) -> Plant:
    """F0 and F1 with 10 and 30 Gb/s until a time, ms, then with 20 each."""

    def plant(made: Builder, run: int, factor: float) -> None:
        at = np.arange(0, 10.001, 0.05)
        for flow_id, gbps in ((0, 10.0), (1, 30.0)):
            rates = np.where(at <= until * factor, gbps, 20.0)
            made.flow_rates(run, f"F{flow_id}", at, rates, flow_id=flow_id)

    return plant


def many_pausers(made: Builder, run: int, factor: float) -> None:
    """Other switches stop R1, and S1 several neighbours."""
    for node, peer in (("S1", "A"), ("S1", "B"), ("T", "R1"), ("U", "R1")):
        link(made, run, f"{peer}->{node}", paused_ns=0.1 * MS * factor)
        made.rows["ports"][-1]["pause_events"] = 1


def slower(made: Builder, run: int, factor: float) -> None:
    """A job that takes longer under PCN."""
    scheme = row(made, run)["scheme"]
    mean = MS if scheme == "PFC" else 1.2 * MS * factor
    made.add("jobs", run=run, scheme=scheme, job="gpt", iterations=3, mean_ns=mean)


def nothing(made: Builder, run: int, factor: float) -> None:
    del made, run, factor


def held_nothing(made: Builder, run: int, factor: float) -> None:
    for ports in made.rows["ports"]:
        if ports["run"] == run:
            ports["paused_ns"] = 0.0
    made.rows["pauses"] = [it for it in made.rows["pauses"] if it["run"] != run]
    del factor


PLANTS: dict[str, Plant] = {
    it.__name__: it
    for it in (nothing, lossy, deadlocked, failed, nothing_lost, unfinished, spread, alike,
               many_pausers, slower, held_nothing)
} | {"uneven": shares(20), "even": shares(5)}  # fmt: skip


def of_seeds(plant: Plant, factors: tuple[float, ...], paused: bool = True) -> list[str]:
    """The sentences of PFC, and of PCN beside it, of runs with these factors."""
    made = Builder()
    for scheme in ("PFC", "PCN"):
        for seed, factor in enumerate(factors, 1):
            run = two_switches(made, scheme, paused and scheme == "PFC")
            row(made, run)["seed"] = seed
            plant(made, run, factor)
    return [text for _, text in sentences.of_result(made.result())]


@pytest.mark.parametrize("name", PLANTS)
@pytest.mark.parametrize("paused", [True, False])
def test_of_equal_runs_every_word_is_that_of_one(name: str, paused: bool) -> None:
    one = of_seeds(PLANTS[name], (1.0,), paused)
    three = of_seeds(PLANTS[name], (1.0, 1.0, 1.0), paused)
    assert three == [f"In 3 seeds, per seed: {text}" for text in one]


@pytest.mark.parametrize("name", PLANTS)
def test_of_unequal_runs_every_number_is_a_range_with_the_words_of_one(name: str) -> None:
    plant = PLANTS[name]
    # With these factors each number of a run is several, and grammar has no reason to differ.
    for text, *each in zip(
        of_seeds(plant, (1.0, 1.4, 1.2)),
        *(of_seeds(plant, (factor,)) for factor in (1.0, 1.4, 1.2)),
        strict=True,
    ):
        start = "In 3 seeds, per seed: "
        assert text.startswith(start)
        parts = text.removeprefix(start).rstrip(".").split("; ")
        for one in each:
            theirs = one.rstrip(".").split("; ")
            assert len(theirs) == len(parts), (text, one)
            for part, its in zip(parts, theirs, strict=True):
                assert_is_within(part, its)


def assert_is_within(part: str, one: str) -> None:
    """Every number of the sentence of one run lies in the range of that of all."""
    pattern = re.escape(part)
    token = r"(-?\d[\d,.]*)(?:\\ ([a-zA-Z/%]+))?\\ to\\ (-?\d[\d,.]*)"
    ranges: list[tuple[float, float]] = []

    def grouped(match: re.Match[str]) -> str:
        ranges.append((number(match[1]), number(match[3])))
        return r"(-?[\d,.]+)"

    pattern = re.sub(token, grouped, pattern.replace(r"\.", "."))
    found = re.fullmatch(pattern, one)
    assert found, (part, one)
    for (low, high), value in zip(ranges, found.groups(), strict=True):
        assert low <= number(value) <= high


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_every_part_of_the_account_is_in_one_of_the_planted_runs() -> None:
    silent = {part.__name__ for part in sentences._PARTS}
    for plant in PLANTS.values():
        made = Builder()
        for scheme in ("PFC", "PCN"):
            plant(made, two_switches(made, scheme), 1.0)
        [base], [run] = story.of_result(made.result()).values()
        runs = sentences._Runs([run], [base], 1, "seed")
        silent -= {part.__name__ for part in sentences._PARTS if part(runs)}
    assert not silent


def test_what_holds_in_some_seeds_says_in_how_many() -> None:
    made = Builder()
    for seed, plant in enumerate((deadlocked, nothing, many_pausers), 1):
        run = two_switches(made, "PFC", paused=plant is not nothing)
        row(made, run)["seed"] = seed
        plant(made, run, 1.0)
    [(_, text)] = sentences.of_result(made.result())
    assert text.startswith("In 3 seeds, per seed: in 1 of 3 seeds PFC deadlock after 3.00 ms")
    assert "; in 2 of 3 seeds S1 paused " in text
    assert "; in 1 of 3 seeds no PAUSE; " in text


def test_a_job_that_became_slower_comes_before_what_was_avoided() -> None:
    _, text = of_seeds(slower, (1.0,))
    assert text.startswith("gpt took 20 % longer than under PFC; avoids all ")
    _, text = of_seeds(slower, (1.0, 0.85, 1.5))
    start = (
        "In 3 seeds, per seed: in 2 of 3 seeds gpt took 20 to 80 % longer than under PFC; avoids "
    )
    assert text.startswith(start)


def test_three_seeds_of_a_lossy_burst_say_what_was_dropped() -> None:
    source = """
duration = "1ms"
topology = { builder = "single-switch", hosts = 9, rate = "100Gbps", delay = "1us" }
switch = { lossless = [], lossy_queue = "50KB" }
[[scheme]]
name = "lossy"
[[traffic]]
name = "incast"
kind = "burst"
from = "H1..H8"
to = "H0"
size = "100KB"
priority = 0
jitter = "2us"
[[event]]
kind = "error-rate"
link = "H1-S0"
loss = 0.05
"""
    result = unpause.run(source, seeds=3, progress=False)
    [(_, text)] = sentences.of_result(result)
    drops = result.runs.column("dropped_packets").to_pylist()
    assert f"; {min(drops)} to {max(drops)} data packets were dropped; " in text
    assert "6 of 8 flows were not done at the end" in text


def test_numbers_and_nouns_agree() -> None:
    assert [plural(number, "packet") for number in (0, 1, 2)] == [
        "0 packets", "1 packet", "2 packets",
    ]  # fmt: skip
    assert span([600_000, 700_000], time) == "600 to 700 us"
    assert span([600_000, 1_200_000], time) == "600 us to 1.20 ms"
    assert span([0, 1_200], size) == "0 B to 1.20 KB"
    assert span([5, 5], size) == "5 B"
