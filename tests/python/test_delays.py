"""Where the time of flows went: the parts add up, and the words name the cause."""

from __future__ import annotations

import re

import pyarrow.compute as pc
import pytest

import unpause
from unpause import figures
from unpause.commands import explain
from unpause.data.result import Result, Run
from unpause.explanation import chosen, delays, flow_lines, lateness

INCAST = """
duration = "20ms"
[topology]
builder = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 8
host_rate = "100Gbps"
fabric_rate = "400Gbps"
delay = "1us"
[probes]
causes = true
[[scheme]]
name = "PFC"
[[scheme]]
name = "HPCC"
congestion_control = "hpcc"
[[scheme]]
name = "NSCC"
congestion_control = "nscc"
loss_recovery = "selective-repeat"
[scheme.set]
"host.spraying" = "reps"
"host.paths" = 64
"switch.lossless" = []
"switch.lossy_queue" = "128KB"
"switch.trimming.size" = "64B"
"switch.trimming.cut" = "either"
[[scheme]]
name = "DCTCP"
congestion_control = "dctcp"
set = { "switch.lossless" = [], "switch.lossy_queue" = "1MB" }
[[traffic]]
name = "storage"
kind = "burst"
from = "H8..H15"
to = "H0"
size = "512KB"
start = "10us"
[[traffic]]
name = "small"
kind = "flow"
from = "H8"
to = "H1"
size = "100KB"
start = "20us"
[[traffic]]
name = "limited"
kind = "flow"
from = "H2"
to = "H3"
size = "100KB"
rate_limit = "1Gbps"
"""


@pytest.fixture(scope="module")
def result() -> Result:
    return unpause.run(INCAST, progress=False)


def _said(run: Run, flow: str) -> str:
    return " ".join(" ".join(flow_lines.lines(run, flow, 100, None)).split())


def test_the_parts_add_up_to_the_picosecond(result: Result) -> None:
    for scheme in result.schemes:
        run = result.runs_of(scheme)[0]
        flows = {row["flow_id"]: row for row in run.table("flows").to_pylist()}
        rows = run.table("delays").to_pylist()
        complete = [row for row in flows.values() if row["fct_ns"] is not None]
        assert len(rows) == len(complete) == 10
        for row in rows:
            flow = flows[row["flow_id"]]
            parts = sum(round(1000 * row[part]) for part in delays.PARTS)
            more = round(1000 * flow["fct_ns"]) - round(1000 * flow["ideal_fct_ns"])
            assert parts == round(1000 * row["delay_ns"]) == max(0, more), (scheme, row)


@pytest.mark.parametrize(
    ("scheme", "why"),
    [
        ("PFC", r"\d+ % (queues|PAUSE)"),
        ("HPCC", r"\d+ % its (window|rate)"),
        ("NSCC", r"\d+ % (its window|lost packets)"),
        ("DCTCP", r"\d+ % (its window|queues)"),
    ],
)
def test_the_largest_part_is_what_a_scheme_does_to_an_incast(
    result: Result, scheme: str, why: str
) -> None:
    said = _said(result.runs_of(scheme)[0], "storage")
    assert re.search(rf"storage, its slowest flow \(up to slowdown [\d.]+\): {why}", said), said


@pytest.mark.parametrize("scheme", ["HPCC", "NSCC"])
def test_without_pause_the_fullest_link_is_named(result: Result, scheme: str) -> None:
    said = _said(result.runs_of(scheme)[0], "storage")
    assert "The fullest link on its path was leaf0->H0 (100 Gb/s)" in said
    assert "7 flows of storage" in said


def test_a_queue_is_named_with_what_was_ahead(result: Result) -> None:
    said = _said(result.runs_of("PFC")[0], "storage")
    place = r"(leaf\d|spine\d)->(leaf0|spine\d|H0)"
    assert re.search(rf"waited longest, [\d.]+ us, at {place}, behind .* of other flows", said)
    assert re.search(r" KB of them of flow \d+ \(storage\)", said)


def test_a_limit_is_the_whole_delay_of_a_limited_flow(result: Result) -> None:
    for scheme in ("PFC", "HPCC", "NSCC"):
        said = _said(result.runs_of(scheme)[0], "limited")
        assert "100 % its rate limit" in said, said


def test_flows_of_one_sender_wait_for_each_other(result: Result) -> None:
    said = _said(result.runs_of("PFC")[0], "small")
    assert "other packets at its NIC" in said
    assert "H8 also sent meanwhile: 1 flow of storage" in said


def test_the_slowest_flows_are_listed(result: Result) -> None:
    runs = chosen.the_runs(result, "HPCC")
    first, *rest = explain.slowest(runs, 3, 200)
    assert first.startswith("HPCC (seed 1): the slowest flows")
    assert len(rest) == 3
    slowdowns = [float(re.search(r"slowdown ([\d.]+)", text)[1]) for text in rest]  # type: ignore[index]
    assert slowdowns == sorted(slowdowns, reverse=True)
    assert slowdowns[0] == pytest.approx(
        pc.max(runs[0].table("flows").column("slowdown")).as_py(), rel=0.01
    )


@pytest.fixture(scope="module")
def short() -> Result:
    """The same, ended before any burst is done."""
    return unpause.run(INCAST.replace("20ms", "70us"), progress=False)


def test_the_parts_of_unfinished_flows_add_up(short: Result) -> None:
    for scheme in short.schemes:
        run = short.runs_of(scheme)[0]
        flows = {row["flow_id"]: row for row in run.table("flows").to_pylist()}
        unfinished = [it for it in flows.values() if it["fct_ns"] is None]
        rows = {row["flow_id"]: row for row in run.table("delays").to_pylist()}
        assert rows.keys() == flows.keys()
        assert len(unfinished) >= 8
        end = round(1000 * run.row["simulated_ns"])
        for flow in unfinished:
            row = rows[flow["flow_id"]]
            parts = sum(round(1000 * row[part]) for part in delays.PARTS)
            so_far = end - round(1000 * flow["start_ns"])
            assert parts == round(1000 * row["delay_ns"])
            assert parts + round(1000 * row["sending_ns"]) == so_far, (scheme, row)


def test_unfinished_flows_are_the_slowest(short: Result) -> None:
    runs = chosen.the_runs(short, "HPCC")
    _, *lines = explain.slowest(runs, 20, 200)
    stuck = [" did not finish in " in line for line in lines]
    assert stuck == sorted(stuck, reverse=True)
    assert stuck.count(True) >= 8
    assert " slowdown at least " in lines[0]


def test_an_unfinished_flow_says_so_and_why(short: Result) -> None:
    run = short.runs_of("HPCC")[0]
    said = _said(run, "storage")
    assert re.search(r"storage, its slowest flow, which did not finish: \d+ % its", said), said
    assert re.search(r" did not finish: [\d.]+ KB of 512 KB arrived in 60.0 us, and it was", said)
    assert "The fullest link on its path was leaf0->H0" in said


FOLLOWING = """
duration = "{end}"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[probes]
causes = true
[[scheme]]
name = "PFC"
[[traffic]]
name = "request"
kind = "flow"
from = ["H1", "H2"]
to = "H0"
size = "1MB"
[[traffic]]
name = "answer"
kind = "flow"
from = "H0"
to = "H3"
size = "1MB"
after = "request"
"""


def test_a_flow_that_follows_names_the_one_it_waited_for() -> None:
    run = unpause.run(FOLLOWING.format(end="1ms"), progress=False).runs_of("PFC")[0]
    said = _said(run, "answer")
    assert re.search(
        r"It started at 1[67]\d us, after flow [01], request \(H[12] -> H0\), the last of 2 that "
        r"it waited for, had arrived at 1[67]\d us\.",
        said,
    ), said


def test_a_flow_that_did_not_start_names_what_did_not_finish() -> None:
    run = unpause.run(FOLLOWING.format(end="100us"), progress=False).runs_of("PFC")[0]
    said = _said(run, "answer")
    assert "answer did not start: it waits for request, and 2 of 2 flows did not finish" in said


RING = """
duration = "5ms"
[topology]
builder = "single-switch"
hosts = 6
rate = "100Gbps"
delay = "1us"
[probes]
causes = true
[[scheme]]
name = "PFC"
[[job]]
name = "ring"
ranks = "H0..H3"
iterations = 3
size = "4MB"
collective = "all-reduce"
[[traffic]]
name = "{name}"
kind = "flow"
from = "{src}"
to = "{dst}"
size = "4MB"
start = "100us"
"""


@pytest.mark.parametrize(
    ("src", "why"),
    [
        ("H4", r"\(incast at S0->H2\)\. Its delay: \d+ % PAUSE, \d+ % other packets at its NIC"),
        (
            "H1",
            r"Its delay: \d+ % other packets at its NIC.*H1 also sent meanwhile: .*1 flow of other",
        ),
    ],
)
def test_the_critical_path_goes_down_to_the_delays_of_its_messages(src: str, why: str) -> None:
    text = RING.format(name="other", src=src, dst="H2")
    run = unpause.run(text, progress=False).runs_of("PFC")[0]
    [job] = lateness.of_run(run)
    said = lateness.sentence(job)
    assert re.search(why, said), said
    assert re.search(r"Delays of all \d+ messages: \d+ % ", said), said
    messages = {(it["flow_id"], it["number"]): it for it in run.table("messages").to_pylist()}
    rows = [it for it in run.table("delays").to_pylist() if it["message"] is not None]
    assert len(rows) == len(messages)
    for row in rows:
        message = messages[row["flow_id"], row["message"]]
        takes = round(1000 * message["end_ns"]) - round(1000 * message["start_ns"])
        parts = sum(round(1000 * row[part]) for part in delays.PARTS)
        assert parts == takes - round(1000 * message["ideal_ns"]), row


def test_an_unknown_seed_names_those_there_are(result: Result) -> None:
    with pytest.raises(unpause.errors.ResultError, match="no run has seed 7; there are 1"):
        chosen.the_runs(result, seed=7)
    assert [run.scheme for run in chosen.the_runs(result, seed=1)] == result.schemes


def test_the_figure_has_a_bar_for_each_scheme(result: Result) -> None:
    figure = figures.draw(result, "delays")
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == result.schemes
    with pytest.raises(figures.NothingToDraw, match="No flow with a size is complete"):
        figures.draw(unpause.run(INCAST.replace("20ms", "15us"), progress=False), "delays")
