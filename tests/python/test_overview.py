"""The table that every view of runs opens with, of runs whose answer is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import unpause
from conftest import MS, Builder
from unpause import figures, schema
from unpause.commands import report
from unpause.data import series
from unpause.explanation import account, sentences, story
from unpause.figures.watched import typical_seed
from unpause.pages import markup, overview, textual
from unpause.pages.overview import Overview
from unpause.sweeps.grouped import Runs

WATCHED = '[[traffic]]\nname = "F0"\nwatch = true\n[[traffic]]\nname = "burst"\n'


def around_a_burst(
    made: Builder, rate_gbps: Callable[[np.ndarray], np.ndarray], scheme: str = "PFC"
) -> int:
    """F0, sampled every 0.1 ms for 20 ms at `rate_gbps` of its samples; a burst from 5 to 7 ms."""
    made.source = f'title = "By hand"\n[[scheme]]\nname = "PFC"\n{WATCHED}'
    run = made.run(scheme)
    made.rows["runs"][run]["simulated_ns"] = 20 * MS
    made.flow(run, "F0", start_ns=0.0, delivered_bytes=25_000_000)
    for n in range(3):
        made.flow(run, "burst", src="H2", dst="R1", size_bytes=64_000, start_ns=5 * MS,
                  fct_ns=(1.8 + 0.1 * n) * MS, slowdown=10.0 + n)  # fmt: skip
    time = np.arange(1, 201) * 0.1
    made.flow_rates(run, "F0", time, rate_gbps(time))
    return run


def rates(*steps: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    """Gb/s until each time (ms), as samples see them: of the interval before."""

    def of(time: np.ndarray) -> np.ndarray:
        found = np.full(len(time), steps[-1][1])
        for until, rate in reversed(steps[:-1]):
            found[time <= until + 1e-9] = rate
        return found

    return of


def watched(made: Builder) -> story.Watched:
    [[told]] = story.of_result(made.result()).values()
    [found] = told.watched
    return found


def test_goodput_around_a_burst_and_the_time_to_recover(builder: Builder) -> None:
    # At 7.9 ms the next 0.5 ms have (0.4 * 10 + 0.1 * 4) / 0.5 = 8.8 Gb/s, less than 9.
    around_a_burst(builder, rates((5, 10), (7, 2), (8, 4), (20, 10)))
    found = watched(builder).around
    assert found is not None
    assert (found.start_ns, found.end_ns) == (5 * MS, 7 * MS)
    assert found.before_bps == pytest.approx(10e9)
    assert found.during_bps == pytest.approx(2e9)
    assert found.recovery_ns == pytest.approx(1 * MS)
    assert found.looked_ns == pytest.approx(13 * MS)
    told = overview.of_result(builder.result())
    assert told.watched == [
        "F0: during the burst it got, of its goodput before, 2 of 10 Gb/s under PFC; recovered "
        "1.00 ms after it under PFC."
    ]


def test_a_flow_that_the_burst_does_not_slow_has_recovered_at_once(builder: Builder) -> None:
    around_a_burst(builder, rates((5, 10), (7, 20), (20, 10)))
    told = overview.of_result(builder.result()).watched
    assert told[0].endswith("20 of 10 Gb/s under PFC; recovered at once under PFC.")


def test_what_was_held_back_and_comes_at_once_is_no_recovery(builder: Builder) -> None:
    around_a_burst(builder, rates((5, 10), (7, 0), (7.6, 20), (20, 3)))
    found = watched(builder).around
    assert found is not None
    assert found.recovery_ns is None
    assert found.looked_ns == pytest.approx(13 * MS)
    told = overview.of_result(builder.result()).watched
    assert told[0].endswith("recovered not within 13.0 ms under PFC.")


def test_table_and_sentence_have_the_same_mean_of_runs_that_did_not_recover(
    builder: Builder,
) -> None:
    # After 1 ms; not before the run ends, after 13 ms; not before the next burst, after 5 ms.
    steps = [((5, 10), (7, 2), (8, 4), (20, 10)), *[((5, 10), (7, 2), (20, 4))] * 2]
    for seed, its in enumerate(steps, 1):
        run = around_a_burst(builder, rates(*its))
        builder.rows["runs"][run]["seed"] = seed
        if seed == 3:
            builder.flow(run, "burst", size_bytes=64_000, start_ns=12 * MS, fct_ns=1 * MS)
    told = overview.of_result(builder.result())
    assert cells(told, "recovers after") == [">6.33"]
    assert told.watched[0].endswith(
        "recovered on average more than 6.33 ms after it (in 2 of 3 runs not yet when measuring "
        "ended) under PFC."
    )
    figure = figures.draw(builder.result(), "watched")
    assert figure.axes[1].get_title("right").endswith(" (mean more than 6.33 ms)")


def test_runs_that_are_too_short_to_tell_count_in_no_mean(builder: Builder) -> None:
    for seed in (1, 2):
        run = around_a_burst(builder, rates((5, 10), (7, 2), (8, 4), (20, 10)))
        builder.rows["runs"][run]["seed"] = seed
    builder.flow(run, "burst", size_bytes=64_000, start_ns=6 * MS)
    told = overview.of_result(builder.result())
    assert cells(told, "recovers after") == ["1000"]  # us
    assert told.watched[0].endswith("recovered 1.00 ms after it under PFC.")


def test_of_several_entries_the_table_has_the_last_to_recover(builder: Builder) -> None:
    run = around_a_burst(builder, rates((5, 10), (7, 2), (8, 4), (20, 10)))
    builder.source = WATCHED.replace('"F0"', '"F1"').replace(
        "[[traffic]]", builder.source + "[[traffic]]", 1
    )
    builder.flow(run, "F1", src="H1", start_ns=0.0, delivered_bytes=25_000_000)
    time = np.arange(1, 201) * 0.1
    builder.flow_rates(run, "F1", time, rates((5, 10), (7, 2), (9, 4), (20, 10))(time), flow_id=4)
    told = overview.of_result(builder.result())
    assert cells(told, "recovers after") == ["2"]
    assert [it.split("; ")[1] for it in told.watched] == [
        "recovered 1.00 ms after it under PFC.",
        "recovered 2.00 ms after it under PFC.",
    ]


def test_without_a_time_before_the_burst_only_the_mean_is_said(builder: Builder) -> None:
    run = around_a_burst(builder, rates((20, 10)))
    builder.flow(run, "burst", size_bytes=64_000, start_ns=0.0, fct_ns=19 * MS)
    assert watched(builder).around is None
    told = overview.of_result(builder.result()).watched
    assert told == ["F0: 10 Gb/s under PFC on average while it ran."]


def test_a_burst_that_outlasts_the_run_has_no_recovery(builder: Builder) -> None:
    run = around_a_burst(builder, rates((5, 10), (20, 2)))
    builder.flow(run, "burst", size_bytes=64_000, start_ns=6 * MS)
    found = watched(builder).around
    assert found is not None
    assert found.during_bps == pytest.approx(2e9)
    assert (found.recovery_ns, found.looked_ns) == (None, None)
    assert "recovered" not in overview.of_result(builder.result()).watched[0]


def test_of_two_bursts_the_second_ends_the_time_to_recover(builder: Builder) -> None:
    run = around_a_burst(builder, rates((5, 10), (7, 2), (20, 4)))
    builder.flow(run, "burst", size_bytes=64_000, start_ns=12 * MS, fct_ns=1 * MS)
    found = watched(builder).around
    assert found is not None
    assert (found.end_ns, found.looked_ns) == (7 * MS, pytest.approx(5 * MS))


def test_several_flows_of_an_entry_are_added_up(builder: Builder) -> None:
    run = around_a_burst(builder, rates((5, 10), (7, 2), (20, 10)))
    builder.flow(run, "F0", src="H1", start_ns=0.0)
    time = np.arange(1, 201) * 0.1
    builder.flow_rates(run, "F0", time, rates((5, 5), (7, 1), (20, 5))(time), flow_id=4)
    found = watched(builder)
    assert found.flows == 2
    assert found.around is not None
    assert found.around.before_bps == pytest.approx(15e9)
    assert found.around.during_bps == pytest.approx(3e9)


def test_watched_flows_with_a_size_are_told_by_their_slowdown(builder: Builder) -> None:
    builder.source = 'title = "By hand"\n' + WATCHED.replace("F0", "small")
    run = builder.run("PFC")
    for n in range(4):
        builder.flow(run, "small", size_bytes=1000, fct_ns=MS, slowdown=2.0 + n)
    builder.flow(run, "small", size_bytes=1000)
    [line] = overview.of_result(builder.result()).watched
    assert line == "small: p99 slowdown 4.97 and 1 not done under PFC."


SCENARIO = """
title = "A burst beside a long flow"
duration = "3ms"

[topology]
builder = "two-switch"
left = ["H0", "H1"]
right = ["R0", "R1", "H2..H9"]
rate = "40Gbps"
delay = "1us"

[pfc]
xoff = "100KB"

[[scheme]]
name = "PFC"
set = { "traffic.F0.rate_limit" = "10Gbps", "traffic.F1.rate_limit" = "10Gbps" }

[[scheme]]
name = "PFC+PCN"
congestion_control = "pcn"

[[traffic]]
name = "F0"
kind = "flow"
from = "H0"
to = "TO"
watch = true

[[traffic]]
name = "F1"
kind = "flow"
from = "H1"
to = "R1"

[[traffic]]
name = "burst"
kind = "burst"
from = "H2..H9"
to = "R1"
size = "250KB"
start = "1ms"
controlled = false

[probes]
interval = "10us"
causes = true
"""


@pytest.fixture(scope="module")
def innocent() -> unpause.Result:
    return unpause.run(SCENARIO.replace("TO", "R0"), seeds=2)


def cells(found: Overview, head: str) -> list[str]:
    """A column by the words of its head."""
    column = [" ".join(it[:2]) for it in found.heads].index(head)
    return [row[column].value for row in found.rows]


def test_columns_are_those_of_the_tables(innocent: unpause.Result) -> None:
    found = overview.of_result(innocent)
    assert found.names == [("PFC",), ("PFC+PCN",)]
    for row, (scheme,) in enumerate(found.names):
        runs = innocent.runs_of(scheme)
        first = runs[0]
        victims = first.table("victims")
        hurt = len(pc.unique(victims.column("flow_id")))
        assert cells(found, "victim flows")[row] == str(hurt)
        waited = pc.sum(victims.column("waited_ns")).as_py() or 0
        assert float(cells(found, "total wait")[row]) == pytest.approx(waited / 1e3, rel=0.01)
        paused = pc.sum(first.table("ports").column("paused_ns")).as_py()
        unit = {"us": 1e3, "ms": 1e6}[found.heads[2][2]]
        assert float(cells(found, "links paused")[row]) == pytest.approx(paused / unit, rel=0.01)
        queue = pc.max(first.table("ports").column("max_queue_bytes")).as_py()
        unit = {"KB": 1e3, "MB": 1e6}[found.heads[-3][2]]
        assert float(cells(found, "longest queue")[row]) == pytest.approx(queue / unit, rel=0.01)
    assert cells(found, "victim flows")[0] == "1"


def test_a_flow_that_only_shares_a_paused_link_is_called_innocent() -> None:
    result = unpause.run(SCENARIO.replace("TO", "R0"), schemes="PFC")
    [line] = overview.of_result(result).watched
    assert line.startswith(
        "F0 (crosses no congested link; waited for congestion at S1->R1: S1 paused S0 and S0 "
    )
    [run] = result.runs_of("PFC")
    flow = series.flow(run, "F0")
    end = 1e6 + float(np.nanmax(series.column(run.table("flows"), "fct_ns")))
    got = 8e-6 * series.mean_per_ms(flow.time_ns, flow.delivered_bytes, 1e6, end)
    assert f"{got:.3g} of 9.55 Gb/s under PFC;" in line


def test_a_link_with_a_small_part_of_the_pauses_is_not_named(innocent: unpause.Result) -> None:
    # Under PCN both flows start at line rate and fill S0->S1 themselves: 5 of 115 PAUSEs.
    trees = account.trees(innocent.runs_of("PFC+PCN")[0])
    assert [(str(it.root), it.pauses > 10) for it in trees] == [("S1->R1", True), ("S0->S1", False)]
    [line] = overview.of_result(innocent).watched
    assert line.startswith(
        "F0 (crosses no congested link under PFC; waited for congestion at S1->R1 under PFC and "
        "PFC+PCN: S1 paused S0 and S0 paused H0): during the burst"
    )


def test_a_link_is_named_under_the_schemes_that_congest_it() -> None:
    # F0 and F1 fill S0->S1 under PCN only; without the burst to R1 nothing else is congested.
    text = SCENARIO.replace("TO", "R0").replace('to = "R1"\nsize', 'to = "H0"\nsize')
    text = text.replace('from = "H2..H9"', 'from = "H2..H3"').replace('"250KB"', '"50KB"')
    [line] = overview.of_result(unpause.run(text)).watched
    assert line.startswith("F0 (crosses S0->S1, where congestion began under PFC+PCN"), line


def test_a_flow_into_the_congestion_is_not_called_innocent() -> None:
    guilty = unpause.run(SCENARIO.replace("TO", "R1"), schemes="PFC")
    found = overview.of_result(guilty)
    assert found.watched[0].startswith("F0 (crosses S1->R1, where congestion began): ")
    assert cells(found, "victim flows") == ["0"]


def test_without_causes_nothing_is_said_of_innocence_that_is_not_known() -> None:
    text = SCENARIO.replace("TO", "R1").replace("causes = true", "")
    found = overview.of_result(unpause.run(text))
    assert found.watched[0].startswith("F0: during the burst")
    assert cells(found, "victim flows") == ["?", "?"]
    assert "every victim ([probes] causes = true)" in found.scope


def test_schemes_that_differ_in_more_than_the_scheme_say_so(innocent: unpause.Result) -> None:
    scope = overview.of_result(innocent).scope
    assert scope.startswith(
        "Shown: 2 schemes under one workload. The schemes also differ in "
        "traffic.F0.rate_limit, traffic.F1.rate_limit (PFC). Not shown: "
    )
    assert "noise" not in scope
    assert "watch" not in scope


def rows(scheme: str, paused_ns: Sequence[float], **more: Any) -> list[dict[str, Any]]:
    """A run for each of `paused_ns`, with seeds from 1 on."""
    empty = {
        c.name: None if c.nullable else 0 for c in (*schema.TABLES["runs"], *schema.STATISTICS)
    }
    return [
        {**empty, "scheme": scheme, "seed": seed, "paused_ns": paused, **more}
        for seed, paused in enumerate(paused_ns, 1)
    ]


def marks(*schemes: list[dict[str, Any]]) -> list[str]:
    found = overview.of_sweep(Runs("", [], [row for each in schemes for row in each]))
    assert [head[:2] for head in found.heads] == [("links", "paused")]
    return [row[0].mark for row in found.rows]


def test_best_and_worst_are_marked_beyond_noise_only() -> None:
    near = rows("A", [1e6, 1.1e6, 0.9e6])
    far = rows("B", [5e6, 5.1e6, 4.9e6])
    assert marks(near, far) == ["+", "-"]
    assert marks(near, rows("B", [1.3e6, 0.9e6, 1.0e6])) == ["", ""]
    # The one between is neither, those alike are both.
    assert marks(near, rows("C", [3e6, 3.1e6, 2.9e6]), far) == ["+", "", "-"]
    assert marks(near, rows("C", [1.05e6, 1.0e6, 0.9e6]), far) == ["+", "+", "-"]


def test_one_seed_marks_nothing_and_says_so() -> None:
    a, b = rows("A", [1e6]), rows("B", [5e6])
    assert marks(a, b) == ["", ""]
    found = overview.of_sweep(Runs("", [], a + b))
    assert found.legend == "One seed: no best or worst is marked, because the noise is not known."


def test_numbers_that_print_alike_are_not_told_apart() -> None:
    assert marks(rows("A", [1_000_000.0] * 3), rows("B", [1_000_001.0] * 3)) == ["", ""]


def test_bounds_of_victims_are_not_compared() -> None:
    found = []
    for complete in (True, False):
        more = {"victims_complete": complete, "victim_wait_ns": 0.0}
        a = rows("A", [1e6] * 3, victim_flows=0, **more)
        b = rows("B", [1e6] * 3, victim_flows=4, **more)
        each = overview.of_sweep(Runs("", [], a + b))
        found.append([(row[0].value, row[0].mark) for row in each.rows])
    assert found == [[("0", "+"), ("4", "-")], [("?", ""), (">=4", "")]]


def test_a_scheme_that_does_not_recover_is_the_worst() -> None:
    a = rows("A", [1e6] * 3, recovery_ns=2e5, recovered=True)
    b = rows("B", [1e6] * 3, recovery_ns=9e6, recovered=False)
    found = overview.of_sweep(Runs("", [], a + b))
    assert [(row[1].value, row[1].mark) for row in found.rows] == [("0.200", "+"), (">9", "-")]


def test_no_worse_number_is_without_the_mark_of_the_worst() -> None:
    # B differs from all others, C from the best only: it may be as bad as A or as good as no other.
    a, b = rows("A", [9e6] * 3), rows("B", [8e6] * 3)
    c = rows("C", [1e6, 6e6, 11e6])
    assert marks(a, b, c, rows("D", [1e6] * 3))[:3] == ["-", "", ""]
    # Less than 2 % are no difference.
    assert marks(a, rows("B", [8.9e6] * 3), rows("D", [1e6] * 3)) == ["-", "-", "+"]


def found_marks(*schemes: list[dict[str, Any]], head: str) -> list[str]:
    found = overview.of_sweep(Runs("", [], [row for each in schemes for row in each]))
    column = [" ".join(it[:2]) for it in found.heads].index(head)
    return [row[column].mark for row in found.rows]


def test_what_never_slowed_down_is_not_praised_for_recovering() -> None:
    at_once = rows("A", [1e6] * 3, recovery_ns=0.0, recovered=True)
    late = rows("B", [1e6] * 3, recovery_ns=9e6, recovered=True)
    assert found_marks(at_once, late, head="recovers after") == ["", "-"]


def test_no_pause_is_no_merit_where_packets_are_lost() -> None:
    lossy = rows("lossy", [0.0] * 3, trimmed_packets=2_000)
    assert found_marks(rows("PFC", [5e6] * 3), lossy, head="links paused") == ["-", ""]
    calm = rows("calm", [0.0] * 3)
    assert found_marks(rows("PFC", [5e6] * 3), calm, head="links paused") == ["-", "+"]


def test_a_slowdown_of_those_that_ended_is_not_the_best() -> None:
    all_done = rows("A", [1e6] * 3, slowdown_p99=9.0, flows_sized=9, flows_completed=9)
    one_done = rows("B", [1e6] * 3, slowdown_p99=1.5, flows_sized=9, flows_completed=1)
    assert found_marks(all_done, one_done, head="slowdown p99") == ["-", ""]


LOSSY = """
duration = "2ms"
[topology]
builder = "leaf-spine"
leaves = 2
spines = 1
hosts_per_leaf = 6
host_rate = "100Gbps"
fabric_rate = "100Gbps"
delay = "500ns"
[[scheme]]
name = "PFC"
[[scheme]]
name = "NSCC"
congestion_control = "nscc"
loss_recovery = "selective-repeat"
[scheme.set]
"switch.lossless" = []
"switch.lossy_queue" = "100KB"
"switch.trimming.size" = "64B"
[[traffic]]
name = "one"
kind = "flow"
from = "H0"
to = "H6"
size = "10MB"
[[traffic]]
name = "two"
kind = "flow"
from = "H1"
to = "H7"
size = "10MB"
[[traffic]]
name = "burst"
kind = "burst"
from = "H3..H5"
to = "H2"
size = "450KB"
start = "500us"
"""


def test_trimmed_packets_and_those_sent_again_are_in_the_table_and_the_sentence() -> None:
    result = unpause.run(LOSSY)
    found = overview.of_result(result)
    [trimmed] = result.runs.filter(pc.equal(result.runs["scheme"], "NSCC"))["trimmed_packets"]
    assert cells(found, "packets trimmed") == ["0", str(trimmed)]
    assert int(cells(found, "packets resent")[1]) > 0
    [_, (_, sentence)] = sentences.of_result(result)
    assert f"{trimmed.as_py():,} data packets were trimmed" in sentence


def test_the_link_of_the_table_is_that_to_the_receiver_of_the_burst() -> None:
    result = unpause.run(LOSSY, schemes="PFC")
    found = overview.of_result(result)
    ports = result.ports.to_pylist()
    longest = max(ports, key=lambda it: it["max_queue_bytes"])
    where = f"{longest['node']}->{longest['peer']}"
    assert where != "leaf0->H2"
    assert "leaf0->H2 used" in [" ".join(it[:2]) for it in found.heads], found.heads
    assert found.legend.startswith(f"Longest queue: at {where}.")


def test_a_longest_queue_that_moves_with_the_seed_is_told_once(builder: Builder) -> None:
    for scheme in ("PFC", "PCN"):
        for seed, peer in ((1, "H1"), (2, "H2")):
            run = builder.run(scheme)
            builder.rows["runs"][run]["seed"] = seed
            builder.add("ports", run=run, scheme=scheme, node="S0", peer=peer, priority=3,
                        rate_bps=40_000_000_000, max_queue_bytes=1_000_000)  # fmt: skip
    legend = overview.of_result(builder.result()).legend
    assert legend.startswith("Longest queue: at S0->H1 or S0->H2.")


def test_the_table_fits_80_columns(innocent: unpause.Result) -> None:
    found = overview.of_result(innocent)
    assert max(map(len, textual.overview(found, 80).splitlines())) <= 80
    narrow = textual.overview(found, 44).splitlines()
    assert max(map(len, narrow)) <= 44
    # What has no room stands below, under the same names.
    assert sum(line.startswith("PFC+PCN") for line in narrow) >= 2
    assert all(any(head[1] in line for line in narrow) for head in found.heads)


def test_all_views_have_the_same_numbers(innocent: unpause.Result, tmp_path: Path) -> None:
    directory = innocent.write(tmp_path / "r")
    report.build(directory)
    found = overview.of_result(unpause.load(directory))
    html = markup.overview(found)
    assert html in (directory / "report.html").read_text("utf-8")
    assert html in (directory / "explore.html").read_text("utf-8")
    assert html in unpause.load(directory)._repr_html_()
    for row in found.rows:
        assert all(cell.value in html for cell in row)


def test_names_are_escaped_in_html(builder: Builder) -> None:
    builder.run("<b>PFC</b>")
    html = markup.overview(overview.of_result(builder.result()))
    assert "<b>" not in html


def test_the_picture_has_the_numbers_of_the_table(builder: Builder) -> None:
    around_a_burst(builder, rates((5, 10), (7, 2), (8, 4), (20, 10)))
    figure = figures.draw(builder.result(), "watched")
    left, right = figure.axes
    assert left.get_title("right") == "F0: 2 of 10 Gb/s"
    assert right.get_title("right") == "recovered 1.00 ms after it"
    [line] = [it for it in left.lines if it.get_label() == "F0 (watched)"]
    x, y = line.get_data()
    inside = (x > 0) & (x < 2)
    assert np.allclose(y[inside], 2.0)
    # The decisive time, not the whole run.
    assert left.get_xlim() == pytest.approx((-0.6, 2.8))


def test_the_picture_adds_up_the_flows_of_an_entry(builder: Builder) -> None:
    run = around_a_burst(builder, rates((5, 10), (7, 2), (20, 10)))
    builder.flow(run, "F0", src="H1", start_ns=0.0, delivered_bytes=25_000_000)
    time = np.arange(1, 201) * 0.1
    builder.flow_rates(run, "F0", time, rates((5, 10), (7, 5), (20, 10))(time), flow_id=4)
    figure = figures.draw(builder.result(), "watched")
    left = figure.axes[0]
    assert left.get_title("right") == "F0: 7 of 20 Gb/s"
    [line] = [it for it in left.lines if it.get_label() == "F0 (2 flows together, watched)"]
    x, y = line.get_data()
    assert np.allclose(y[(x > 0) & (x < 2)], 7.0)
    assert figures.draw(builder.result(), "throughput").axes[0].get_title("left") == (
        "F0 (first of 2 flows)"
    )


def test_the_picture_shows_the_seed_nearest_to_the_mean(builder: Builder) -> None:
    for seed, got in ((1, 9), (2, 4), (3, 2)):
        run = around_a_burst(builder, rates((5, 10), (7, got), (20, 10)))
        builder.rows["runs"][run]["seed"] = seed
    result = builder.result()
    assert typical_seed(story.of_result(result)) == 2
    assert figures.of_result(result)[:2] == ["watched", "sweep"]
    figure = figures.draw(result, "watched")
    assert figure.axes[0].get_title("right") == "F0: 4 of 10 Gb/s (mean 5)"
    assert figure.get_supxlabel().startswith("Seed 2 of 3,")


def test_nothing_is_drawn_of_flows_that_nobody_watches(builder: Builder) -> None:
    around_a_burst(builder, rates((20, 10)))
    builder.source = 'title = "By hand"\n'
    with pytest.raises(figures.NothingToDraw, match="No flow is watched"):
        figures.draw(builder.result(), "watched")
