"""The table that every view of runs opens with, of runs whose answer is known."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

import unpause
from conftest import Builder
from scenarios import PFC, burst, flow, leaf_spine, scenario, scheme, star, two_switch
from unpause import schema
from unpause.commands import report
from unpause.data import series
from unpause.explanation import account, sentences
from unpause.pages import markup, overview, textual
from unpause.pages.overview import Overview
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Runs

SCENARIO = scenario(
    two_switch(["H0", "H1"], ["R0", "R1", "H2..H9"], rate="40Gbps"),
    scheme("PFC", set={"traffic.F0.rate_limit": "10Gbps", "traffic.F1.rate_limit": "10Gbps"}),
    scheme("PFC+PCN", "pcn"),
    flow("F0", "H0", "TO", watch=True),
    flow("F1", "H1", "R1"),
    burst("burst", "H2..H9", "R1", size="250KB", start="1ms", controlled=False),
    title="A burst beside a long flow",
    duration="3ms",
    pfc={"xoff": "100KB"},
    probes={"interval": "10us", "causes": True},
)


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
    for row, (name,) in enumerate(found.names):
        runs = innocent.runs_of(name)
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


def test_without_causes_no_flow_is_called_innocent() -> None:
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


def test_schemes_differ_only_in_keys_with_different_values() -> None:
    def differ(own: str, *schemes: str) -> str:
        tables = "".join(
            f'[[scheme]]\nname = "{name}"\n[scheme.set]\n{keys}\n'
            for name, keys in zip("ABC", schemes, strict=False)
        )
        text = (
            'duration = "10us"\n[topology]\nbuilder = "single-switch"\nhosts = 2\nrate = "40Gbps"\n'
            f'delay = "1us"\n{own}\n{tables}[[traffic]]\nname = "F"\nkind = "flow"\nfrom = "H0"\n'
            'to = "H1"\nsize = "1KB"\npriority = 3\n'
        )
        scope = overview.of_result(unpause.run(text, progress=False)).scope
        found = re.search(r" The schemes also differ in (.*?)\. ", scope)
        return found[1] if found else ""

    alpha, lossy = '"pfc.alpha" = 0.125', '"switch.lossless" = []\n"switch.lossy_queue" = "128KB"'
    buffer = '[switch]\nbuffer = "32MB"'
    # The value of a scheme without the key is the scenario's.
    assert differ('[pfc]\nxoff = "64KB"', '"pfc.xoff" = "64000B"', "") == ""
    assert differ('[pfc]\nxoff = "64KB"', '"pfc.xoff" = "65KB"', "") == "pfc.xoff (A)"
    assert differ("", '"traffic.F.size" = "2KB"', '"traffic.F.size" = "1000B"') == (
        "traffic.F.size (A, B)"
    )
    assert differ("", *['"traffic.F.size" = "2KB"'] * 3) == ""
    # No queue of a lossy scheme can be paused, whatever its thresholds would be.
    assert differ(buffer, alpha, alpha, lossy) == "switch.lossless, switch.lossy_queue (C)"
    assert differ(buffer, alpha, "", lossy) == (
        "pfc.alpha (A), switch.lossless, switch.lossy_queue (C)"
    )


def rows(scheme: str, paused_ns: Sequence[float], **more: Any) -> list[dict[str, Any]]:
    """A run for each of `paused_ns`, with seeds from 1 on."""
    empty = {c.name: None if c.nullable else 0 for c in (*schema.TABLES["runs"], *recorded.COLUMNS)}
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
    assert marks(near, far) == ["*", "!"]
    assert marks(near, rows("B", [1.3e6, 0.9e6, 1.0e6])) == ["", ""]
    # The one between is neither, those alike are both.
    assert marks(near, rows("C", [3e6, 3.1e6, 2.9e6]), far) == ["*", "", "!"]
    assert marks(near, rows("C", [1.05e6, 1.0e6, 0.9e6]), far) == ["*", "*", "!"]


def test_one_seed_marks_nothing_and_says_so() -> None:
    a, b = rows("A", [1e6]), rows("B", [5e6])
    assert marks(a, b) == ["", ""]
    found = overview.of_sweep(Runs("", [], a + b))
    assert found.legend == "One seed: nothing is marked; --seeds 5 shows what is noise."


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
    assert found == [[("0", "*"), ("4", "!")], [("?", ""), (">=4", "")]]


def test_a_scheme_that_does_not_recover_is_the_worst() -> None:
    a = rows("A", [1e6] * 3, recovery_ns=2e5, recovered=True)
    b = rows("B", [1e6] * 3, recovery_ns=9e6, recovered=False)
    found = overview.of_sweep(Runs("", [], a + b))
    assert [(row[1].value, row[1].mark) for row in found.rows] == [("0.200", "*"), (">9", "!")]


def test_no_worse_number_is_without_the_mark_of_the_worst() -> None:
    # B differs from all others, C from the best only: it may be as bad as A or as good as no other.
    a, b = rows("A", [9e6] * 3), rows("B", [8e6] * 3)
    c = rows("C", [1e6, 6e6, 11e6])
    assert marks(a, b, c, rows("D", [1e6] * 3))[:3] == ["!", "", ""]
    # Less than 2 % are no difference.
    assert marks(a, rows("B", [8.9e6] * 3), rows("D", [1e6] * 3)) == ["!", "!", "*"]


def found_marks(*schemes: list[dict[str, Any]], head: str) -> list[str]:
    found = overview.of_sweep(Runs("", [], [row for each in schemes for row in each]))
    column = [" ".join(it[:2]) for it in found.heads].index(head)
    return [row[column].mark for row in found.rows]


def test_what_never_slowed_down_is_not_praised_for_recovering() -> None:
    at_once = rows("A", [1e6] * 3, recovery_ns=0.0, recovered=True)
    late = rows("B", [1e6] * 3, recovery_ns=9e6, recovered=True)
    assert found_marks(at_once, late, head="recovers after") == ["", "!"]


def test_no_pause_is_no_merit_where_packets_are_lost() -> None:
    lossy = rows("lossy", [0.0] * 3, trimmed_packets=2_000)
    assert found_marks(rows("PFC", [5e6] * 3), lossy, head="links paused") == ["!", ""]
    calm = rows("calm", [0.0] * 3)
    assert found_marks(rows("PFC", [5e6] * 3), calm, head="links paused") == ["!", "*"]


def test_a_slowdown_of_those_that_ended_is_not_the_best() -> None:
    all_done = rows("A", [1e6] * 3, flows_sized=9, flows_completed=9)
    one_done = rows("B", [1e6] * 3, flows_sized=9, flows_completed=1)
    for row in all_done:
        row |= {"slowdown_max": 9.0, "slowdown_max_at_least": 9.0}
    for row in one_done:
        row |= {"slowdown_max": None, "slowdown_max_at_least": 1.5}
    assert found_marks(all_done, one_done, head="slowdown max") == ["", ""]


LOSSY = scenario(
    leaf_spine(2, 1, 6, fabric_rate="100Gbps", delay="500ns"),
    PFC,
    scheme(
        "NSCC",
        "nscc",
        loss_recovery="selective-repeat",
        set={"switch.lossless": [], "switch.lossy_queue": "100KB", "switch.trimming.size": "64B"},
    ),
    flow("one", "H0", "H6", size="10MB"),
    flow("two", "H1", "H7", size="10MB"),
    burst("burst", "H3..H5", "H2", size="450KB", start="500us"),
    duration="2ms",
)


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
    assert found.notes == [f"Longest queue: at {where}."]


def test_a_longest_queue_that_moves_with_the_seed_is_told_once(builder: Builder) -> None:
    for name in ("PFC", "PCN"):
        for seed, peer in ((1, "H1"), (2, "H2")):
            run = builder.run(name)
            builder.rows["runs"][run]["seed"] = seed
            builder.add("ports", run=run, scheme=name, node="S0", peer=peer, priority=3,
                        rate_bps=40_000_000_000, max_queue_bytes=1_000_000)  # fmt: skip
    notes = overview.of_result(builder.result()).notes
    assert notes == ["Longest queue: at S0->H1 or S0->H2."]


def test_the_table_fits_80_columns(innocent: unpause.Result) -> None:
    found = overview.of_result(innocent)
    assert max(map(len, textual.overview(found, 80).splitlines())) <= 80
    narrow = textual.overview(found, 44).splitlines()
    assert max(map(len, narrow)) <= 44
    # Columns that do not decide are left out; the others stay, below if need be.
    heads = [found.heads[i] for i, aside in enumerate(found.aside) if not aside]
    assert all(any(head[1] in line for line in narrow) for head in heads)
    assert not any("queue" in line for line in narrow)
    every = textual.overview(found, 44, whole=True).splitlines()
    assert max(map(len, every)) <= 44
    assert sum(line.startswith("PFC+PCN") for line in every) >= 2
    assert all(any(head[1] in line for line in every) for head in found.heads)


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


def test_utilisation_says_that_some_runs_had_no_congested_link() -> None:
    source = star(6, PFC, burst("f", "H1..H5", "H0", size="20KB", jitter="JITTER"))
    for jitter, partly in (("10us", True), ("0s", False)):
        text = source.replace("JITTER", jitter)
        table = unpause.sweep(text, {"seed": [1, 2, 3]}, progress=False)
        known = [it is not None for it in table.column("congested_share").to_pylist()]
        assert (any(known), all(known)) == (True, not partly)
        notes = " ".join(overview.of_sweep(Runs.of_sweep(table, "")).notes)
        assert ("runs in which a link was congested" in notes) == partly


def test_links_that_differ_are_named_and_not_compared() -> None:
    a = rows("A", [1e6] * 3, congested_link="S0->H1", congested_share=0.2)
    b = rows("A", [1e6] * 4, congested_link="leaf11->H22", congested_share=0.9)
    found = overview.of_compared(["one", "two"], [Runs("", [], a), Runs("", [], b)])
    assert [(head[:2]) for head in found.heads] == [("links", "paused"), ("link", "used")]
    assert [row[1].mark for row in found.rows] == ["", ""]
    assert found.legend == (
        "Link: the most congested of each run, S0->H1 in one, leaf11->H22 in two. "
        "Means of 3 to 4 seeds ± 95 % interval, or their range."
    )
    # Of one link they are compared.
    for row in b:
        row["congested_link"] = "S0->H1"
    found = overview.of_compared(["one", "two"], [Runs("", [], a), Runs("", [], b)])
    assert found.heads[1][:2] == ("S0->H1", "used")
    assert [row[1].mark for row in found.rows] == ["!", "*"]
    assert found.legend.startswith("Means of 3 to 4 seeds ")


def test_a_sweep_says_which_links_were_the_most_congested() -> None:
    more = {"congested_share": 0.5}
    found = overview.of_sweep(
        Runs(
            "",
            ["x"],
            [
                *rows("A", [1e6], congested_link="S0->H1", x=1, **more),
                *rows("A", [1e6], congested_link="S0->H2", x=2, **more),
            ],
        )
    )
    assert found.legend.startswith("Link: the most congested of each run, S0->H1 or S0->H2. ")


def test_a_job_that_never_ends_an_iteration_is_worse_than_the_worst() -> None:
    found = []
    for last in (9e5, None):
        each = [
            row
            for scheme, mean in (("A", 1e5), ("B", 5e5), ("C", last))
            for row in rows(scheme, [0.0] * 3, **{"job.ar.mean_ns": mean})
        ]
        told = overview.of_sweep(Runs("", [], each, ["ar"]))
        assert told.heads == [("ar", "iteration", "us")]
        found.append([(row[0].value, row[0].mark) for row in told.rows])
    assert found == [
        [("100", "*"), ("500", ""), ("900", "!")],
        [("100", "*"), ("500", ""), ("-", "")],
    ]


def test_what_many_runs_leave_out_is_said(builder: Builder) -> None:
    for run in range(60):
        builder.run("PFC", x=float(run))
        builder.add("ports", run=run, scheme="PFC", node="S0", peer="H0", priority=3)
    assert "victims" not in overview.of_result(builder.result()).scope
    builder.run("PFC", x=60.0)
    assert overview.of_result(builder.result()).scope == (
        "Shown: one scheme under one workload. Not shown: which differences are noise (--seeds 5); "
        "victims, utilisation, watched flows and sentences, because there are more than 60 runs "
        "(unpause sweep has all but the sentences); other loads, thresholds and link rates "
        "(unpause sweep)."
    )


def test_results_are_compared_point_by_point() -> None:
    def of(values: Sequence[int]) -> Runs:
        every = [
            row
            for x in values
            for row in rows("A", [x * len(values) * 1e6], **{"pfc.xoff_bytes": 1000 * x})
        ]
        return Runs("", ["pfc.xoff_bytes"], every)

    found = overview.of_compared(["one", "two"], [of([32, 64, 128]), of([64, 256])])
    assert found.names == [
        ("A", "32 KB", "one"),
        ("A", "64 KB", "one"),
        ("A", "64 KB", "two"),
        ("A", "128 KB", "one"),
        ("A", "256 KB", "two"),
    ]
    assert found.scope == (
        "Not in all results, and not compared: A pfc.xoff 32 KB, A pfc.xoff 128 KB (one); "
        "A pfc.xoff 256 KB (two)."
    )
    assert overview.of_compared(["one", "two"], [of([64]), of([64])]).scope == ""
