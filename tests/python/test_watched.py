"""Watched flows around a burst: what is measured, said and drawn of runs whose answer is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import unpause
from conftest import MS, Builder
from test_overview import cells
from unpause import figures
from unpause.explanation import story
from unpause.figures.watched import typical_seed
from unpause.pages import overview
from unpause.text import time

RATE = {"rate_bps": 100_000_000_000, "tx_bytes": 1_000}
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
    builder.flow(run, "small", size_bytes=1000, start_ns=0.0, ideal_fct_ns=MS)
    [line] = overview.of_result(builder.result()).watched
    end = builder.rows["runs"][run]["simulated_ns"] / MS
    assert end > 5
    assert line == f"small: max slowdown ≥ {end:.3g} and 1 not done under PFC."


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


def test_the_picture_names_schemes_above_the_numbers_and_ends_with_the_run(
    builder: Builder,
) -> None:
    name = "PFC with a long name, which leaves no room"
    run = around_a_burst(builder, rates((5, 0.01), (7, 0.002), (20, 0.004)))
    builder.rows["runs"][run]["scheme"] = name
    for rows in builder.rows.values():
        for row in rows:
            row |= {"scheme": name}
    builder.flow(run, "burst", src="H2", dst="R1", size_bytes=64_000, start_ns=5 * MS,
                 fct_ns=14 * MS)  # fmt: skip
    figure = figures.draw(builder.result(), "watched")
    left, right = figure.axes
    assert left.get_title("right") == "F0: 3.71 of 10 Mb/s"
    assert left.get_ylabel() == "goodput (Mb/s)"
    figure.draw_without_rendering()
    assert "10" in [it.get_text() for it in left.get_yticklabels()]
    assert left.title.get_text() == ""
    titles = [left._left_title, left._right_title]
    assert [it.get_text() for it in titles] == [f"{name}\n", "F0: 3.71 of 10 Mb/s"]
    # The burst of 14 ms ends 1 ms before the run; the run began 5 ms before it.
    assert left.get_xlim() == pytest.approx((-4.2, 15))
    assert right.get_xlim() == pytest.approx((-5, 15))


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
    assert figure.axes[0].get_title("right") == "F0: 4 of 10 Gb/s (mean 5 Gb/s)"
    assert figure.get_supxlabel().startswith("Seed 2 of 3,")


def test_nothing_is_drawn_of_flows_that_nobody_watches(builder: Builder) -> None:
    around_a_burst(builder, rates((20, 10)))
    builder.source = 'title = "By hand"\n'
    with pytest.raises(figures.NothingToDraw, match="No flow is watched"):
        figures.draw(builder.result(), "watched")


DRILL = """
title = "A slow host behind one leaf, and a link that is hashed full"
duration = "8ms"
[topology]
builder = "explicit"
hosts = ["h0..h7"]
switches = ["leaf0", "leaf1", "spine0", "spine1"]
rate = "100Gbps"
delay = "500ns"
LINKS[[topology.link]]
a = "h4"
b = "leaf1"
rate = "25Gbps"
[[scheme]]
name = "PFC"
[[traffic]]
name = "to25"
kind = "flow"
from = "h0"
to = "h4"
size = "10MB"
[[traffic]]
name = "others"
kind = "flow"
from = ["h1", "h2"]
to = ["h5", "h6"]
size = "10MB"
watch = true
[probes]
causes = true
"""


def drill() -> str:
    ends = [("h0", "leaf0"), ("h1", "leaf0"), ("h2", "leaf0"), ("h3", "leaf0"), ("h5", "leaf1"),
            ("h6", "leaf1"), ("h7", "leaf1"), ("leaf0", "spine0"), ("leaf0", "spine1"),
            ("leaf1", "spine0"), ("leaf1", "spine1")]  # fmt: skip
    return DRILL.replace(
        "LINKS", "".join(f'[[topology.link]]\na = "{a}"\nb = "{b}"\n' for a, b in ends)
    )


def test_every_root_that_flows_of_an_entry_waited_for_is_named_with_its_share() -> None:
    result = unpause.run(drill(), progress=False)
    [line] = overview.of_result(result).watched
    victims = result.runs_of("PFC")[0].table("victims").to_pylist()
    times: Counter[str] = Counter()
    for row in victims:
        times[f"{row['root_node']}->{row['root_peer']}"] += row["waited_ns"]
    assert set(times) == {"leaf0->spine1", "leaf1->h4"}
    for root, ns in times.items():
        part = f"{time(ns)}, {100 * ns / times.total():.0f} %"
        assert f"waited for congestion at {root} ({part}): " in line
    assert line.startswith("others (some of its flows cross leaf0->spine1, where congestion began;")
    # From the slow host the PAUSEs reach the hosts of the flows over two switches.
    assert (
        "): leaf1 paused spine1, spine1 paused leaf0 and leaf0 paused h1 and h2): max slowdown"
    ) in line


def test_the_chain_of_pauses_ends_where_the_flow_was_held(builder: Builder) -> None:
    """The NIC of the flow's host was not paused; of two spines one held its packets."""
    builder.source = (
        'title = "By hand"\n[[scheme]]\nname = "PFC"\n[[traffic]]\nname = "F"\nwatch = true\n'
        "[probes]\ncauses = true\n"
    )
    for seed in (1, 2, 3):
        run = builder.run("PFC", seed=seed)
        builder.rows["runs"][run]["simulated_ns"] = 10 * MS
        builder.flow(run, "F", src="A", dst="D", start_ns=0.0, fct_ns=8 * MS, size_bytes=1_000_000,
                     slowdown=2.0)  # fmt: skip
        for pair in ("A->L0", "B->L0", "L0->X", "L0->Y", "X->L1", "Y->L1", "X->L2", "Y->L2",
                     "L1->D", "L2->R"):  # fmt: skip
            node, peer = pair.split("->")
            for ends in ({"node": node, "peer": peer}, {"node": peer, "peer": node}):
                builder.add("ports", run=run, scheme="PFC", priority=3, **RATE, **ends)
        if seed > 1:
            continue
        root = {"root_kind": "incast", "root_node": "L2", "root_peer": "R", "root_share": 1.0,
                "priority": 3, "time_ns": MS, "until_ns": 3 * MS, "seen_ns": MS,
                "egress_bytes": 9_000, "egress_queue_bytes": 9_000, "held_bytes": 9_000,
        }  # fmt: skip
        above: dict[str, int] = {}
        for cause, (node, peer, egress, by, flow) in enumerate([
            ("L2", "X", "R", None, None),
            ("L2", "Y", "R", None, None),
            ("X", "L0", "L2", "X", None),
            ("Y", "L0", "L2", "Y", 0),
            ("L0", "B", "X", "L0", None),
        ]):  # fmt: skip
            builder.add("causes", run=run, scheme="PFC", cause_id=cause, node=node, peer=peer,
                        egress_peer=egress, paused_by=above.get(by) if by else None, flow_id=flow,
                        paused_ns=MS * (2 - 0.1 * (peer == "Y")), flow_bytes=500 * (flow == 0),
                        flow_queue_bytes=500, **root)  # fmt: skip
            above.setdefault(peer, cause)
            builder.pause(run, f"{node}->{peer}", 1.0, 3.0 - 0.1 * (peer == "Y"))
        builder.add("victims", run=run, scheme="PFC", flow_id=0, priority=3, root_node="L2",
                    root_peer="R", first_ns=MS, last_ns=2 * MS, waited_ns=71_900.0)  # fmt: skip
    [line] = overview.of_result(builder.result()).watched
    assert line == (
        "F (waited for congestion at L2->R (in 1 of 3 seeds): L2 paused "
        "Y and Y paused L0): max slowdown 2 and waited 71.9 us in 1 of 3 seeds for congestion off "
        "its path under PFC."
    )
