"""Why iterations of jobs were late, of runs whose answer is known; and figures of them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unpause
from conftest import Builder
from scenarios import CAUSES, PFC, entry, explicit, flow, link, scenario, two_switch
from unpause import NothingToDraw, Result, figures
from unpause.commands import explain
from unpause.explanation import chosen, lateness, trees_json
from unpause.sweeps import grouped

US = 1e3


def job(made: Builder, scheme: str = "PFC", **row: Any) -> int:
    """gpt with two ranks on H0 and H1; iteration 1 takes 300 us, of which 100 us are delay."""
    run = made.run(scheme)
    own = {"run": run, "scheme": scheme, "job": "gpt"}
    about = {"ranks": 2, "iterations": 2, "warmup": 0, "p50_ns": 250 * US, "mean_ns": 250 * US}
    made.add("jobs", **own, **{**about, "alone_ns": 200 * US, **row})
    made.flow(run, "gpt", src="H0", dst="H1")
    starts = 0.0
    for iteration, takes in enumerate((200 * US, 300 * US)):
        number = {**own, "iteration": iteration}
        ends = starts + takes
        made.add("iterations", **number, start_ns=starts, end_ns=ends)
        for rank in (0, 1):
            made.add(
                "ranks", **number, rank=rank, host=f"H{rank}", start_ns=starts, end_ns=ends,
                compute_ns=90 * US,
            )  # fmt: skip
        message = {"flow_id": 0, "start_ns": starts + 100 * US, "end_ns": ends, "step": "sum"}
        made.add("messages", **number, from_rank=0, to_rank=1, **message)
        path = {**number, "rank": 0, "host": "H0"}
        made.add("critical", **path, kind="compute", start_ns=starts, end_ns=starts + 90 * US)
        made.add(
            "critical", **path, kind="launch", segment=1, start_ns=starts + 90 * US,
            end_ns=starts + 100 * US,
        )  # fmt: skip
        made.add(
            "critical", **path, kind="message", segment=2, peer_rank=1, peer_host="H1", **message,
            ideal_ns=100 * US, excess_ns=takes - 200 * US,
        )  # fmt: skip
        starts = ends
    for node, peer in (("H0", "S0"), ("S0", "H1"), ("H2", "S0"), ("S0", "H2")):
        made.add("ports", run=run, scheme=scheme, node=node, peer=peer, rate_bps=10**11, tx_bytes=1)
    return run


def with_names(result: Result, axis: str, names: list[str]) -> Result:
    """The result with `names` of the values 0, 1, … of a swept column."""
    runs = result.tables["runs"]
    at = runs.schema.get_field_index(axis)
    field = runs.schema.field(at).with_metadata({"names": json.dumps(names)})
    tables = {**result.tables, "runs": runs.cast(runs.schema.set(at, field))}
    return dataclasses.replace(result, tables=tables)


def paused(made: Builder, run: int, link: str, start_us: float, end_us: float) -> None:
    made.pause(run, link, start_us / 1e3, end_us / 1e3)


def test_the_longest_iteration_is_compared_with_the_job_alone(builder: Builder) -> None:
    run = job(builder)
    # While the message is in flight, from 300 us to 500 us, and before it.
    paused(builder, run, "S0->H0", 250, 360)
    paused(builder, run, "S0->H0", 400, 410)
    # On no path of it, and not then.
    paused(builder, run, "S0->H2", 300, 500)
    paused(builder, run, "H1->S0", 0, 290)
    [it] = lateness.of_run(builder.only_run())
    assert it.late == pytest.approx(0.5)
    assert (it.iteration, it.takes_ns, it.messages) == (1, 300 * US, 1)
    assert sum(it.parts.values()) == it.takes_ns
    assert lateness.sentence(it) == (
        "Iteration 1 of gpt, its longest, took 300 us, 50 % longer than alone: 90.0 us compute, "
        "10.0 us launch, 100 us messages as fast as alone, 100 us delay of messages on the "
        "critical path. The most delayed of 1 message on that path is 0->1 of sum (H0 -> H1), by "
        "100 us; meanwhile H0->S0, on its path, was paused for 70.0 us."
    )


def test_without_pause_no_link_is_blamed(builder: Builder) -> None:
    job(builder, alone_ns=None)
    [it] = lateness.of_run(builder.only_run())
    assert "20 % longer than the median" in lateness.sentence(it)
    assert lateness.sentence(it).endswith("100 us; no link on its path was paused meanwhile.")


def test_after_routes_have_changed_no_path_is_known(builder: Builder) -> None:
    run = job(builder)
    builder.add("link_changes", run=run, scheme="PFC", time_ns=250 * US, change="routes")
    paused(builder, run, "S0->H0", 300, 400)
    [it] = lateness.of_run(builder.only_run())
    assert it.delayed is not None
    assert it.delayed.paused is None
    assert lateness.sentence(it).endswith(" by 100 us.")


def test_what_takes_twice_as_long_is_no_percentage(builder: Builder) -> None:
    job(builder, alone_ns=100 * US)
    [it] = lateness.of_run(builder.only_run())
    assert "its longest, took 300 us, 3 times as long as alone: " in lateness.sentence(it)


def test_of_several_paths_none_is_certain(builder: Builder) -> None:
    run = job(builder)
    for node, peer in (("H0", "S1"), ("S1", "H1")):
        builder.add("ports", run=run, scheme="PFC", node=node, peer=peer, tx_bytes=1)
    paused(builder, run, "S0->H0", 300, 360)
    [it] = lateness.of_run(builder.only_run())
    assert "H0->S0, on a path that it may have taken, was paused" in lateness.sentence(it)


def test_what_is_as_fast_as_alone_is_not_late(builder: Builder) -> None:
    job(builder, alone_ns=299 * US)
    [it] = lateness.of_run(builder.only_run())
    assert lateness.sentence(it) == (
        "No iteration of gpt was late: iteration 1 of gpt, its longest, took 300 us, as long as "
        "alone."
    )


def test_explain_says_it_with_pauses_and_without(builder: Builder) -> None:
    job(builder)
    result = builder.result()
    said = "\n".join(explain.lines(result, chosen.the_runs(result), 2000, None))
    assert said.startswith("No PAUSE was sent.\n\nPFC: Iteration 1 of gpt, its longest, took")
    assert "Iteration" not in "\n".join(explain.lines(result, chosen.the_runs(result), 2000, 1.0))
    [run] = trees_json.as_json(result, chosen.the_runs(result), None)["runs"]
    [late] = run["late"]
    assert late["delayed"]["excess_ns"] == 100 * US
    assert late["late"] == pytest.approx(0.5)


def test_without_recorded_messages_nothing_is_reported(builder: Builder) -> None:
    job(builder)
    builder.rows["critical"] = []
    assert lateness.of_run(builder.only_run()) == []
    with pytest.raises(NothingToDraw, match="messages were not recorded"):
        figures.draw(builder.result(), "job-timeline")


def test_iteration_times_stand_beside_the_job_alone(builder: Builder) -> None:
    job(builder, warmup=1)
    job(builder, "DCQCN")
    figure = figures.draw(builder.result(), "job-iterations")
    lines = figure.axes[0].get_lines()
    np.testing.assert_allclose(lines[0].get_ydata(), [200, 300])
    np.testing.assert_allclose(lines[1].get_ydata(), 200)
    assert figure.axes[0].get_title(loc="left") == "gpt"
    assert "Grey: warm-up." in figure._supxlabel.get_text()


def test_the_timeline_has_the_critical_path_on_top(builder: Builder) -> None:
    job(builder)
    figure = figures.draw(builder.result(), "job-timeline")
    [ax] = figure.axes
    assert ax.get_title(loc="left") == "gpt, PFC: iteration 1, 300 us"
    path = [line for line in ax.get_lines() if line.get_zorder() == 3]
    points = [(list(line.get_xdata()), list(line.get_ydata())) for line in path]
    assert points == [
        ([0, 90], [0, 0]),
        ([90, 100], [0, 0]),
        ([100, 200], [0, 0.5]),
        ([200, 300], [0.5, 1]),
    ]


def test_bus_bandwidth_is_drawn_over_the_size(builder: Builder) -> None:
    for size, bandwidth in ((1e6, 5.0), (4e6, 9.0)):
        run = builder.run("PFC", **{"job.sum.size_bytes": size})
        builder.add("jobs", run=run, scheme="PFC", job="sum", busbw_gbytes_s=bandwidth)
        builder.add("ranks", run=run, scheme="PFC", job="sum", host="H0")
        builder.add("ports", run=run, scheme="PFC", node="H0", peer="S0", rate_bps=10**11)
    builder.swept = ["job.sum.size_bytes"]
    figure = figures.draw(builder.result(), "job-bandwidth")
    line, rate = figure.axes[0].get_lines()
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([1, 4], [5, 9])
    assert list(rate.get_ydata()) == [12.5, 12.5]


def test_the_nics_of_a_server_bound_its_bandwidth(builder: Builder) -> None:
    builder.source = 'title = "t"\n[topology]\nbuilder = "rails"\ngpus_per_server = 8\n'
    run = builder.run("PFC", **{"job.sum.size_bytes": 1e6})
    builder.add("jobs", run=run, scheme="PFC", job="sum", busbw_gbytes_s=390.0)
    builder.add("ranks", run=run, scheme="PFC", job="sum", host="H0")
    for peer, gbps in (("leaf0", 400), ("nvswitch0", 3600)):
        builder.add("ports", run=run, scheme="PFC", node="H0", peer=peer, rate_bps=gbps * 10**9)
    builder.swept = ["job.sum.size_bytes"]
    figure = figures.draw(builder.result(), "job-bandwidth")
    _, rate = figure.axes[0].get_lines()
    assert (rate.get_ydata()[0], rate.get_label()) == (400, "rate of the 8 NICs of a server")


def test_bytes_of_jobs_are_drawn_by_link(builder: Builder) -> None:
    job(builder)
    run = builder.run("DCQCN")
    builder.flow(run, "gpt", src="H0", dst="H1")
    for name, node, peer, sent in (
        ("gpt", "leaf0", "spine0", 3e6),
        ("gpt", "leaf0", "spine1", 1e6),
        ("moe", "leaf0", "spine0", 4e6),
        ("moe", "H0", "leaf0", 9e6),
    ):
        builder.add(
            "job_links", run=run, scheme="DCQCN", job=name, node=node, peer=peer,
            data_bytes=int(sent), control_bytes=500_000,
        )  # fmt: skip
    figure = figures.draw(builder.result(), "job-links")
    ax = next(ax for ax in figure.axes if ax.get_title(loc="left") == "DCQCN")
    assert [it.get_text() for it in ax.get_yticklabels()] == ["leaf0->spine0", "leaf0->spine1"]
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert widths == [[3.5, 1.5], [4.5, 0.0]]
    assert ax.get_xlabel() == "sent (MB)"


def test_schemes_that_hardly_differ_share_a_panel(builder: Builder) -> None:
    for scheme, extra in (("PFC", 0), ("Swift", 50_000), ("DCQCN", 2_000_000)):
        job(builder, scheme)
        run = builder.rows["runs"][-1]["run"]
        builder.add("job_links", run=run, scheme=scheme, job="gpt", node="leaf0", peer="spine0",
                    data_bytes=4_000_000 + extra, control_bytes=0)  # fmt: skip
    titles = [ax.get_title(loc="left") for ax in figures.draw(builder.result(), "job-links").axes]
    assert titles == ["PFC, Swift", "DCQCN"]
    builder.rows["iterations"][-1]["end_ns"] += 100 * US
    timeline = figures.draw(builder.result(), "job-timeline")
    titles = [ax.get_title(loc="left") for ax in timeline.axes]
    assert titles == ["gpt, PFC: iteration 1, 300 us", "gpt, DCQCN: iteration 1, 400 us"]
    said = timeline.get_supxlabel().replace("\n", " ")
    assert "Within 2 % of one that is drawn: gpt under Swift (300 us)." in said


def test_no_line_joins_placements(builder: Builder) -> None:
    for scheme in ("PFC", "DCQCN"):
        for place in (0.0, 1.0):
            run = builder.run(scheme, placement=place)
            builder.add("jobs", run=run, scheme=scheme, job="sum", busbw_gbytes_s=5.0 + place,
                        ranks=2, iterations=3, iterations_planned=3,
                        mean_ns=(2 - place) * US)  # fmt: skip
    builder.swept = ["placement"]
    result = with_names(builder.result(), "placement", ["random", "packed"])
    for name in ("job-bandwidth", "sweep"):
        drawn = [line for line in figures.draw(result, name).axes[0].lines if line.get_label()]
        lines = [line for line in drawn if not line.get_label().startswith("_")]
        assert [line.get_linestyle() for line in lines] == ["None", "None"], name
        assert lines[0].get_xdata()[0] < 0 < lines[1].get_xdata()[0], name


def test_slowdowns_are_a_matrix_of_schemes_and_placements(builder: Builder) -> None:
    for scheme, slowdown in (("PFC", 1.5), ("DCQCN", 2.25)):
        run = builder.run(scheme)
        for name, more, placement in (("gpt", 0.0, "spread"), ("moe", 1.0, "packed")):
            builder.add(
                "jobs", run=run, scheme=scheme, job=name, placement=placement,
                slowdown=slowdown + more, mean_ns=1.0,
            )  # fmt: skip
    figure = figures.draw(builder.result(), "job-slowdowns")
    gpt, moe = (ax for ax in figure.axes if ax.get_title(loc="left") in ("gpt", "moe"))
    assert [it.get_text() for it in gpt.get_xticklabels()] == ["spread", "packed"]
    assert [it.get_text() for it in gpt.get_yticklabels()] == ["PFC", "DCQCN"]
    assert [it.get_text() for it in gpt.texts] == ["1.50", "2.25"]
    assert [it.get_text() for it in moe.texts] == ["2.50", "3.25"]


def test_a_swept_placement_of_one_job_is_across_for_all(builder: Builder) -> None:
    for value, slowdown in enumerate((1.5, None, 1.25)):
        for seed in (1, 2):
            run = builder.run("PFC", seed=seed, place=float(value))
            mean = None if slowdown is None else 1.0
            about = {"run": run, "scheme": "PFC"}
            placement = ("packed", "spread", "random")[value]
            builder.add("jobs", **about, job="gpt", placement=placement, slowdown=slowdown,
                        mean_ns=mean)  # fmt: skip
            builder.add("jobs", **about, job="moe", placement="spread", slowdown=2.0 + value,
                        mean_ns=1.0)  # fmt: skip
    builder.swept = ["place"]
    result = with_names(builder.result(), "place", ["packed", "spread", "random"])
    figure = figures.draw(result, "job-slowdowns")
    gpt, moe = (ax for ax in figure.axes if ax.get_title(loc="left") in ("gpt", "moe"))
    assert gpt.get_xlabel() == "place"
    assert [it.get_text() for it in gpt.get_xticklabels()] == ["packed", "spread", "random"]
    assert [it.get_text() for it in gpt.texts] == ["1.50", "-", "1.25"]
    assert [it.get_text() for it in moe.texts] == ["2.00", "3.00", "4.00"]
    said = figure.get_supxlabel().replace("\n", " ")
    assert "Means over 2 runs. -: no iteration after the warm-up was complete." in said


def test_bus_bandwidth_has_a_gap_where_nothing_was_complete(builder: Builder) -> None:
    for value, bandwidth in enumerate((5.0, None, 4.0, 3.0)):
        run = builder.run("PFC", place=float(value))
        builder.add("jobs", run=run, scheme="PFC", job="sum", busbw_gbytes_s=bandwidth)
    builder.swept = ["place"]
    result = with_names(builder.result(), "place", ["packed", "spread", "random", "far"])
    figure = figures.draw(result, "job-bandwidth")
    (line,) = figure.axes[0].get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [5, np.nan, 4, 3])
    assert figure.get_supxlabel().replace("\n", " ").endswith(
        "No iteration after the warm-up was complete: sum at spread under PFC."
    )  # fmt: skip


def test_slowdowns_need_something_beside_a_job(builder: Builder) -> None:
    job(builder, slowdown=1.0)
    with pytest.raises(NothingToDraw, match="beside it"):
        figures.draw(builder.result(), "job-slowdowns")


def test_waits_of_ranks_are_sorted(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.add("jobs", run=run, scheme="PFC", job="gpt", warmup=1)
    for rank, waits in enumerate(([900, 10, 30], [900, 50, 70], [900, 40, 40])):
        for iteration, wait in enumerate(waits):
            builder.add(
                "ranks", run=run, scheme="PFC", job="gpt", iteration=iteration, rank=rank,
                host=f"H{rank}", wait_ns=wait * US,
            )  # fmt: skip
    figure = figures.draw(builder.result(), "job-stragglers")
    [line] = figure.axes[0].lines
    assert list(line.get_ydata()) == [60, 40, 20, 20]


def test_of_a_sweep_the_first_point_is_drawn(builder: Builder) -> None:
    job(builder)
    for row in builder.rows["runs"]:
        row["placement"] = 0.0
    builder.run("PFC", placement=1.0)
    builder.swept = ["placement"]
    figure = figures.draw(builder.result(), "job-timeline")
    assert figure.axes[0].get_title(loc="left").startswith("gpt, PFC: iteration 1")
    assert "At placement = 0, the first of 2 points." in figure.get_supxlabel().replace("\n", " ")


def test_swept_names_are_written_instead_of_their_numbers(builder: Builder) -> None:
    job(builder)
    for row in builder.rows["runs"]:
        row["placement"] = 0.0
    builder.run("PFC", placement=1.0)
    builder.swept = ["placement"]
    result = with_names(builder.result(), "placement", ["random", "packed"])
    assert [run.row["placement"] for run in result.runs_of("PFC")] == ["random", "packed"]
    assert grouped.Runs.of_result(result).values(0) == ["random", "packed"]
    assert result.runs.column("placement").to_pylist() == [0.0, 1.0]
    figure = figures.draw(result, "job-timeline")
    assert "At placement = random," in figure.get_supxlabel()


def test_stages_of_pipelines_are_not_drawn_as_if_they_computed_first(builder: Builder) -> None:
    job(builder)
    before = drawn(builder)
    run = builder.rows["ranks"][0]["run"]
    builder.add("collectives", run=run, scheme="PFC", job="gpt", iteration=1, operation="pipeline")
    assert drawn(builder) < before


def drawn(builder: Builder) -> int:
    """The rectangles of the timeline."""
    [ax] = figures.draw(builder.result(), "job-timeline").axes
    return sum(len(spans.get_paths()) for spans in ax.collections)


def test_jobs_are_drawn_only_where_there_are_any(builder: Builder, tmp_path: Path) -> None:
    builder.run("PFC")
    assert not [name for name in figures.of_result(builder.result()) if name.startswith("job-")]
    for name in ("job-iterations", "job-timeline", "job-bandwidth"):
        with pytest.raises(NothingToDraw, match=r"The scenario has no \[\[job\]\]"):
            figures.draw(builder.result(), name)
    job(builder, "DCQCN")
    drawn = figures.of_result(builder.result())
    assert [name for name in drawn if name.startswith("job-")] == [
        "job-iterations",
        "job-slowdowns",
        "job-timeline",
        "job-stragglers",
        "job-bandwidth",
    ]
    assert figures.save(figures.draw(builder.result(), "job-timeline"), tmp_path, "a").is_file()


LEFT, RIGHT = ["H0", "H1"], ["R0", "R1", "R2", "B0", "B1", "B2"]


def two_incasts(topology: dict[str, Any], senders: list[str], **start: str) -> str:
    """An incast at R1, then one at R2, and a message that waits for one of them."""
    ranks = {"ranks": ["H0", "R0"], **start}
    return scenario(
        topology,
        PFC,
        flow("first", senders, "R1", size="3MB"),
        flow("second", senders, "R2", size="500KB", **start),
        entry("job", name="job", **ranks, collective="send-receive", size="1MB"),
        duration="4ms",
        pfc={"xoff": "64KB"},
        probes=CAUSES,
    )


def delayed(source: str) -> lateness.Delayed:
    result = unpause.run(source, progress=False)
    [found] = lateness.of_run(result.runs_of("PFC")[0])
    assert found.delayed is not None
    return found.delayed


def test_the_cause_is_one_of_the_time_of_the_message() -> None:
    """The first incast paused the same links, for longer, and was over a millisecond before."""
    topology = two_switch(LEFT, RIGHT, bottleneck_rate="100Gbps")
    worst = delayed(two_incasts(topology, ["H1", "B0", "B1", "B2"], start="2ms"))
    assert worst.start_ns >= 2e6
    assert {it.link: it.because for it in worst.paused} == {
        "H0->S0": "incast at S1->R2",
        "S0->S1": "incast at S1->R2",
    }


def test_of_parallel_links_the_one_paused_longest_is_told() -> None:
    left = [*LEFT, "H2", "H3"]
    links = [*(f"{host}-S0" for host in left), *(f"{host}-S1" for host in RIGHT)]
    parallel = link("S0-S1", parallel=2)
    topology = explicit([*left, *RIGHT], ["S0", "S1"], *links, parallel)
    source = two_incasts(topology, ["H1", "H2", "H3", "B0", "B1", "B2"])
    worst = delayed(source)
    lasted = worst.end_ns - worst.start_ns
    told = {it.link: it for it in worst.paused}
    assert 0 < told["S0->S1"].paused_ns <= lasted
    assert not told["S0->S1"].certain
    # Both links were paused.
    whole = unpause.run(source, progress=False).runs_of("PFC")[0]
    pauses = [
        min(it["end_ns"], worst.end_ns) - max(it["start_ns"], worst.start_ns)
        for it in whole.table("pauses").to_pylist()
        if (it["node"], it["peer"]) == ("S0", "S1")
    ]
    assert sum(it for it in pauses if it > 0) > told["S0->S1"].paused_ns
