"""Flows that start in the warm-up are in no statistic; goodput is of the time with traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import unpause
from tests.python.conftest import MS, Builder
from unpause.explanation import story
from unpause.figures import fct as fct_figures
from unpause.metrics import fct, slowdown, throughput, workload
from unpause.sweeps import recorded

SWITCH = """
duration = "{duration}"
{warmup}
[topology]
builder = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
"""

MIXED = """
[[traffic]]
name = "first"
kind = "burst"
from = ["H1", "H2", "H3"]
to = "H0"
size = "300KB"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.2
size = "10KB"
"""


def run(traffic: str, duration: str = "2ms", warmup: str = "") -> unpause.data.result.Run:
    key = f'warmup = "{warmup}"' if warmup else ""
    text = SWITCH.format(duration=duration, warmup=key) + traffic
    return unpause.run(text, progress=False).runs_of("PFC")[0]


def made(builder: Builder, warmup_ms: float) -> unpause.data.result.Run:
    """Slow flows from 0 on, fast ones from 1 ms on; one of each does not complete."""
    number = builder.run("PFC")
    builder.rows["runs"][number] |= {"counted_from_ns": warmup_ms * MS, "simulated_ns": 4 * MS}
    for start in range(20):
        early = start < 10
        took = None if start in (0, 19) else (8.0 if early else 2.0) * 0.01 * MS
        builder.flow(
            number,
            "early" if early else "late",
            size_bytes=1000,
            start_ns=start * 0.1 * MS,
            fct_ns=took,
            ideal_fct_ns=0.01 * MS,
            slowdown=None if took is None else took / (0.01 * MS),
            delivered_bytes=1000,
            retransmitted_packets=7 if early else 1,
        )
    return builder.result().runs_of("PFC")[0]


NUMBERS: list[tuple[Callable[[Any], Any], Any]] = [
    (lambda run: recorded.statistics(run)["slowdown_max_at_least"], 210.0),
    (lambda run: recorded.statistics(run)["flows_sized"], 10),
    (lambda run: recorded.statistics(run)["retransmitted_packets"], 10),
    (lambda run: recorded.statistics(run)["delivered_bytes"], 10_000),
    (lambda run: fct.fct_ms(run, "p50"), 0.02),
    (lambda run: fct.fct_of_size_ms(run, "p50"), 0.02),
    (lambda run: fct.unfinished_flows(run), 1),
    (lambda run: slowdown.sized_slowdown(run, "p50"), 2.0),
    (lambda run: workload.sized_fct_ms(run, "p99"), np.inf),
    (lambda run: throughput.delivered_max_over_min(run, "late"), 1.0),
    (lambda run: story.tell(run).sized, 10),
    (lambda run: story.tell(run).unfinished, 1),
    (lambda run: len(fct_figures._fct_ns(run)), 10),
    (lambda run: len(fct_figures._flows([run]).size), 10),
]


@pytest.mark.parametrize(("number", "after"), NUMBERS)
def test_every_statistic_is_of_flows_after_the_warmup(
    builder: Builder, number: Callable[[Any], Any], after: float
) -> None:
    assert number(made(builder, warmup_ms=1.0)) == pytest.approx(after)


def test_without_a_warmup_all_count(builder: Builder) -> None:
    found = recorded.statistics(made(builder, warmup_ms=0.0))
    assert (found["flows_sized"], found["retransmitted_packets"]) == (20, 80)
    assert found["slowdown_max_at_least"] == pytest.approx(400.0)


def test_an_entry_within_the_warmup_has_no_statistic(builder: Builder) -> None:
    inside = made(builder, warmup_ms=1.0)
    for of in (fct.fct_ms, lambda run, _, entries: throughput.burst_duration_ms(run, *entries)):
        with pytest.raises(unpause.data.series.Unavailable):
            of(inside, "p50", ["early"])


def test_a_simulated_warmup_moves_the_account_only() -> None:
    plain, warmed = run(MIXED), run(MIXED, warmup="1ms")
    for name in set(plain.result.tables) - {"runs", "loads"}:
        assert plain.table(name) == warmed.table(name), name
    late = plain.table("flows").filter(pc.field("start_ns") >= MS)
    found = recorded.statistics(warmed)
    assert found["delivered_bytes"] == pc.sum(late.column("delivered_bytes")).as_py()
    assert found["delivered_bytes"] < recorded.statistics(plain)["delivered_bytes"]
    assert found["max_queue_bytes"] == recorded.statistics(plain)["max_queue_bytes"]
    assert warmed.row["flows_started"] == late.num_rows == found["flows_sized"]


BURST = """
[[traffic]]
name = "web"
kind = "burst"
from = ["H1", "H2"]
to = "H0"
size = "100KB"
"""


@pytest.mark.parametrize(
    "traffic", [BURST, BURST + 'start = "300us"\n', BURST + 'events = 3\ninterval = "400us"\n']
)
def test_goodput_does_not_fall_because_the_run_is_longer(traffic: str) -> None:
    rates = [recorded.statistics(run(traffic, it))["goodput_bps"] for it in ("2ms", "9ms")]
    assert rates[0] == rates[1]
    # Two senders into one link of 10 Gb/s, and a round trip of about 2 us.
    assert 9.0e9 < rates[0] < 9.6e9


def test_goodput_of_endless_flows_is_until_the_end() -> None:
    endless = '[[traffic]]\nname = "F"\nkind = "flow"\nfrom = "H1"\nto = "H0"\n'
    for more in ("", 'start = "500us"\n', 'stop = "500us"\n'):
        rate = recorded.statistics(run(endless + more))["goodput_bps"]
        assert rate == pytest.approx(9.54e9, rel=0.01), more


@pytest.mark.parametrize("probe", ["", "messages = false\n"])
def test_goodput_of_a_job_is_while_it_runs(probe: str) -> None:
    job = (
        '[[job]]\nname = "J"\nranks = 4\ncollective = "all-reduce"\nsize = "1MB"\niterations = 2\n'
    )
    rates = [recorded.statistics(run(job + probe, it))["goodput_bps"] for it in ("5ms", "20ms")]
    assert rates[0] == pytest.approx(rates[1])
    assert rates[0] > 20e9


def test_goodput_is_none_without_a_flow(builder: Builder) -> None:
    builder.run("PFC")
    assert recorded.statistics(builder.result().runs_of("PFC")[0])["goodput_bps"] is None
