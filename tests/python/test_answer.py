"""The answer that a table gives, of planted comparisons whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import unpause
from test_overview import rows
from unpause.commands import compare, report
from unpause.commands.sweep import main as swept_by
from unpause.data import workload
from unpause.pages import overview
from unpause.pages.overview import Overview
from unpause.pages.summary import summarise
from unpause.statistics.intervals import is_range
from unpause.sweeps.grouped import Runs


def of(*schemes: Sequence[dict[str, Any]], axes: Sequence[str] = (), jobs: Sequence[str] = ()) -> (
    Overview
):  # fmt: skip
    every = [row for each in schemes for row in each]
    return overview.of_sweep(Runs("", [*axes], every, [*jobs]))


def scheme(name: str, slowdown: float, wait_us: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    """Three seeds of a scheme, near these numbers."""
    found = rows(name, [0.0] * 3, victims_complete=True, **more)
    for row, part in zip(found, (0.99, 1.0, 1.01), strict=True):
        row |= {"slowdown_max": slowdown * part, "slowdown_max_at_least": slowdown * part}
        row["victim_wait_ns"] = 1e3 * wait_us * part
        row["victim_flows"] = 3 if wait_us else 0
    return found


def test_a_scheme_that_is_best_in_all_is_the_one_to_take() -> None:
    found = of(scheme("A", 9, 50), scheme("B", 3), scheme("C", 6, 20))
    assert found.answer == [
        "Take B: no scheme is better in what decides. Wait of victims 0 (others 20 to 50 us), "
        "slowdown max 3 (others 6 to 9)."
    ]


def test_a_trade_names_what_decides_and_what_each_costs() -> None:
    found = of(scheme("A", 3, 50), scheme("B", 6), scheme("C", 7, 60))
    assert found.answer == [
        "Choose between A and B; C is beaten by one of them.",
        "For wait of victims take B (0; A 50 us); for slowdown max take A (3; B 6).",
    ]
    both = of(scheme("A", 3, 50), scheme("B", 6))
    assert both.answer[0] == "Neither A nor B beats the other in every column that decides."


def test_no_difference_is_said() -> None:
    found = of(scheme("A", 3), scheme("B", 3.01))
    assert found.answer == ["Nothing tells A and B apart beyond noise: take any of them."]
    # A difference in what does not decide is said, but does not decide.
    queue = of(scheme("A", 3, max_queue_bytes=1000), scheme("B", 3, max_queue_bytes=9000))
    assert queue.answer == [
        "Nothing that decides tells A and B apart. They differ in longest queue: A 1 KB, B 9 KB."
    ]


def test_differences_within_noise_are_no_differences() -> None:
    a, b = scheme("A", 3), scheme("B", 3)
    for row, number in zip(b, (2.0, 5.0, 3.5), strict=True):
        row |= {"slowdown_max": number, "slowdown_max_at_least": number}
    assert of(a, b).answer == ["Nothing tells A and B apart beyond noise: take any of them."]


def test_seeds_that_do_not_overlap_are_a_difference_that_may_be_chance() -> None:
    """Three seeds of 0 and of 26 to 204 are no difference to a t-test, and one to anybody."""
    a, b = scheme("A", 3.3, 1), scheme("B", 3)
    for row, wait in zip(a, (26e3, 120e3, 204e3), strict=True):
        row["victim_wait_ns"] = wait
    found = of(a, b, scheme("C", 9, 500))
    assert found.answer[0].startswith(
        "By 3 seeds (noise not ruled out), take B: no scheme is better in what decides. "
    )
    # A is better than B in something, but B is not beaten by it.
    for row in a:
        row["slowdown_max"] = row["slowdown_max_at_least"] = row["slowdown_max"] / 2
    found = of(a, b, scheme("C", 9, 500))
    assert "for wait of victims take B" in " ".join(found.answer).replace("For", "for")


def test_schemes_that_share_the_first_place_are_all_named() -> None:
    found = of(scheme("A", 3), scheme("B", 3.01), scheme("C", 9))
    assert found.answer == [
        "Take A or B: nothing that decides tells them apart, and no other is better. "
        "Slowdown max 3 (C 9)."
    ]


def test_one_seed_says_that_noise_is_unknown() -> None:
    found = of(scheme("A", 3)[:1], scheme("B", 9)[:1])
    assert found.answer == [
        "By one seed (noise unknown), take A: no scheme is better in what decides. "
        "Slowdown max 2.97 (B 8.91)."
    ]
    assert not any(cell.mark for row in found.rows for cell in row)
    # A name keeps its capital.
    key = "pfc.xoff_bytes"
    a, b = (swept(key, {1000: 9, 2000: 3}, name) for name in "AB")
    every = of([*a[::3], *b[::3]], axes=[key])
    assert every.answer[0].startswith(
        "By one seed (noise unknown), A: take xoff 2 KB for slowdown max."
    )


def test_a_scheme_that_does_not_finish_is_not_the_one_to_take() -> None:
    done, left = ({"flows_sized": 100, "flows_completed": it} for it in (100, 80))
    found = of(scheme("A", 9, **done), scheme("B", 3, **left))
    assert (
        found.answer[-1] == "Not finished: 20 % of the flows under B; a longer duration says more."
    )
    alike = of(scheme("A", 3, **done), scheme("B", 3, **left))
    assert alike.answer[0].startswith("Take A: ")


def test_a_job_with_a_part_of_its_iterations_is_not_done() -> None:
    flows = {"flows_sized": 100, "flows_completed": 100, "iterations_planned": 20}
    a = scheme("A", 3, **flows, iterations_completed=20)
    b = scheme("B", 3, **flows, iterations_completed=3)
    found = of(a, b)
    place = [head[:2] for head in found.heads].index(("not", "done"))
    assert [row[place].value for row in found.rows] == ["0", "85"]
    assert (
        found.answer[-1]
        == "Not finished: 85 % of the iterations under B; a longer duration says more."
    )
    means = summarise(Runs("", [], [a[0], b[0]]))
    place = means.heads.index("iterations done")
    assert [row[place] for row in means.rows] == ["20 of 20", "3 of 20"]


def test_a_job_that_never_ends_loses() -> None:
    a, b = scheme("A", 3), scheme("B", 3)
    for row in a:
        row["job.ar.mean_ns"] = 1e5
    for row in b:
        row["job.ar.mean_ns"] = None
    found = of(a, b, jobs=["ar"])
    assert found.answer[0].startswith("Take A: ")


def test_a_bound_beats_nothing_and_is_beaten_by_what_is_below_it() -> None:
    exact = scheme("A", 3, 10)
    more, less = scheme("B", 3, 50), scheme("B", 3, 5)
    for row in (*more, *less):
        row["victims_complete"] = False
    above = of(exact, more)
    assert above.answer[0].startswith("Take A: ")
    assert "Bounds only: victim flows and wait of victims" in above.answer[-1]
    # At least 5 us may be more than 10.
    below = of(exact, less)
    assert not below.answer[0].startswith("Take")


def test_a_price_in_what_does_not_decide_is_named() -> None:
    found = of(scheme("A", 3, max_queue_bytes=9000), scheme("B", 9, max_queue_bytes=1000))
    assert found.answer[0].endswith(" It costs: longest queue 9 KB instead of 1 KB with B.")


def test_names_with_commas_are_separated() -> None:
    found = of(scheme("A, x", 3), scheme("B, y", 3.01), scheme("C", 9))
    assert found.answer[0].startswith("Take A, x; or B, y: nothing")


def swept(key: str, slowdowns: dict[Any, float], name: str = "A") -> list[dict[str, Any]]:
    return [row for value, it in slowdowns.items() for row in scheme(name, it, **{key: value})]


def test_a_sweep_says_which_value_to_take() -> None:
    found = of(swept("pfc.xoff_bytes", {1000: 9, 2000: 3, 4000: 9}), axes=["pfc.xoff_bytes"])
    assert found.answer[0].startswith("Take xoff 2 KB: no value is better in what decides.")
    same = of(swept("pfc.xoff_bytes", {1000: 3, 2000: 3.01}), axes=["pfc.xoff_bytes"])
    assert same.answer[0].startswith("Nothing tells xoff 1 KB and xoff 2 KB apart beyond noise")


def test_a_key_that_changes_nothing_is_one_row() -> None:
    key = "scheme.A.dcqcn.kmin_bytes"
    a = swept(key, {1000: 9, 2000: 3})
    b = swept(key, {1000: 5, 2000: 5}, "B")
    c = swept(key, {1000: 4, 2000: 4}, "C")
    found = of(a, b, c, axes=[key])
    assert found.names == [("A", "1 KB"), ("A", "2 KB"), ("B", "any"), ("C", "any")]
    assert found.answer[0].startswith("A: take kmin 2 KB for slowdown max.")
    assert "B, C: kmin changes nothing." in found.answer
    # Marks are of the whole table, so that no row has one beside one value only.
    assert [row[-1].mark for row in found.rows] == ["!", "*", "", ""]


def test_schemes_are_compared_at_each_load_and_loads_are_not() -> None:
    key = "traffic.web.load"
    a, b = swept(key, {0.3: 3, 0.6: 5}), swept(key, {0.3: 3.01, 0.6: 9}, "B")
    found = of(a, b, axes=[key])
    assert found.answer == [
        "At load 0.3 nothing tells the schemes apart; at load 0.6 take A for slowdown max."
    ]
    assert [row[-1].mark for row in found.rows] == ["", "*", "", "!"]
    alone = of(a, axes=[key])
    assert alone.answer[0].startswith("Values of load are not options")
    assert not any(cell.mark for row in alone.rows for cell in row)


TWO = """
duration = "1ms"
topology = { builder = "single-switch", hosts = 4, rate = "100Gbps", delay = "1us" }
[[scheme]]
name = "PFC"
[[scheme]]
name = "PCN"
congestion_control = "pcn"
SET
[[traffic]]
name = "f"
kind = "burst"
from = "H1..H3"
to = "H0"
size = "SIZE"
"""


def test_schemes_with_other_traffic_are_not_compared() -> None:
    text = TWO.replace("SIZE", "50KB")
    other = unpause.run(text.replace("SET", 'set = { "traffic.f.size" = "90KB" }'))
    found = overview.of_result(other)
    assert found.answer == ["No comparison: PCN has other traffic (traffic.f.size)."]
    assert not any(cell.mark for row in found.rows for cell in row)
    # How a scheme sends is its own affair.
    sent = unpause.run(text.replace("SET", 'set = { "traffic.f.rate_limit" = "10Gbps" }'))
    assert overview.of_result(sent).answer[0].startswith("By one seed (noise unknown), ")


def test_results_with_other_workloads_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for size in ("50KB", "90KB"):
        result = unpause.run(TWO.replace("SIZE", size).replace("SET", ""))
        paths.append(str(result.write(tmp_path / size)))
    assert compare.main([*paths, "--width", "80"]) == 0
    assert "No comparison: 90KB has other traffic (traffic.f.size)." in capsys.readouterr().out


def test_sweeps_with_other_workloads_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But values that are swept are compared at each of them."""
    paths = []
    for number, (size, duration) in enumerate((("50KB", "1ms"), ("90KB", "1ms"), ("50KB", "2ms"))):
        text = TWO.replace("SIZE", size).replace("SET", "").replace("1ms", duration)
        paths.append(str(tmp_path / str(number)))
        unpause.sweep(text, {"pfc.xoff": ["50KB", "80KB"]}, out=paths[-1], progress=False)
    assert compare.main([*paths, "--width", "80"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No comparison: 1, 2 have other traffic (traffic.f.size; duration)." in said
    for number, size in enumerate(("50KB", "90KB")):
        text = TWO.replace("SIZE", size).replace("SET", "")
        paths.append(str(tmp_path / f"swept{number}"))
        vary = {"traffic.f.size": ["50KB", "60KB"]}
        unpause.sweep(text, vary, out=paths[-1], progress=False)
    assert compare.main([*paths[-2:], "--width", "80"]) == 0
    assert "No comparison" not in capsys.readouterr().out


def test_schemes_of_a_sweep_with_other_traffic_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.toml"
    other = 'set = { "traffic.f.size" = "90KB" }'
    file.write_text(TWO.replace("SIZE", "50KB").replace("SET", other), "utf-8")
    assert swept_by([str(file), "--vary", "pfc.xoff=50KB,80KB", "--out", str(tmp_path / "o")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No comparison: PCN has other traffic (traffic.f.size)." in said


def test_a_row_that_is_near_the_best_in_all_is_the_one_to_take() -> None:
    found = of(scheme("A", 5, 50), scheme("B", 5.4), scheme("C", 5, 70))
    assert found.answer == [
        "Take B: wait of victims 0 (others 50 to 70 us), at most 8 % behind the best in the rest.",
        "For slowdown max alone take A (5; B 5.40).",
    ]
    # A third further is no compromise, nor are two that are as near as each other.
    far = of(scheme("A", 5, 50), scheme("B", 7), scheme("C", 5, 70))
    assert far.answer[0] == "Choose between A and B; C is beaten by one of them."
    even = of(scheme("A", 5, 50), scheme("B", 5.4, 46))
    assert even.answer[0] == "Neither A nor B beats the other in every column that decides."


def test_what_no_known_number_speaks_against_is_called_so() -> None:
    """Each number that is known is better under A; what is not may be worse."""
    a, b = scheme("A", 3), scheme("B", 9)
    for row in a:
        row["victims_complete"] = False
    found = of(a, b)
    assert found.answer == [
        "Take A as far as is known: slowdown max 3 (B 9).",
        "Bounds only: victim flows ([probes] causes = true counts victims).",
    ]


def test_a_bound_is_never_called_none_or_best() -> None:
    a, b, c = scheme("A", 3, 50), scheme("B", 9), scheme("C", 4, 70)
    for row in b:
        del row["slowdown_max"]
        row["slowdown_max_at_least"] = 5.0
    found = of(a, b, c)
    said = " ".join(found.answer)
    assert "for slowdown max take A (3; B ≥5)" in said
    assert "Bounds only: slowdown max." in said
    assert "none" not in said


@pytest.mark.parametrize("stuck", [1, 2])
def test_what_did_not_finish_is_called_so(stuck: int) -> None:
    every = [
        scheme("A", 3, watched_slowdown=1.5),
        *(scheme(name, 3, watched_slowdown=None) for name in "BC"[:stuck]),
    ]
    who = "B not finished" if stuck == 1 else "others not finished"
    assert of(*every).answer[0] == (
        f"Take A: no scheme is better in what decides. Watched slowdown 1.50 ({who})."
    )


def test_more_use_of_a_link_decides_only_where_flows_have_no_end() -> None:
    link = {"congested_link": "S0->H0", "flows_sized": 8, "flows_completed": 8}
    of_a = scheme("A", 3, congested_share=0.5, flows_started=8, **link)
    of_b = scheme("B", 4, congested_share=0.9, flows_started=8, **link)
    assert of(of_a, of_b).answer == [
        "Take A: no scheme is better in what decides. Slowdown max 3 (B 4)."
    ]
    for row in (*of_a, *of_b):
        row["flows_started"] = 9
    assert "For use of S0->H0 take B (90 %; A 50 %)" in of(of_a, of_b).answer[1]


def test_workloads_are_told_apart_by_what_they_ask_for() -> None:
    one = {"traffic": [{"name": "a", "size": "1KB", "schemes": ["A"], "transport": "tcp"}]}
    two = {"traffic": [{"name": "b", "size": "1KB"}], "duration": "1ms"}
    both = {"traffic": [*one["traffic"], {"name": "b", "size": "1KB", "schemes": ["B"]}]}
    assert workload.difference((both, "A"), (both, "B")) == []
    assert "duration" in workload.difference((one, "A"), (two, "A"))
    assert workload.is_given("traffic.web.load")
    assert workload.is_given("topology.delay_ns")
    assert not workload.is_given("pfc.xoff_bytes")
    assert not workload.is_given("traffic.F0.rate_limit_bps")
    assert not workload.is_given("job.gpt.placement")


def test_a_range_is_shown_where_a_mean_would_mislead() -> None:
    assert is_range([5.48, 18.5, 17.4])
    assert is_range([1.0, 1.2])
    assert not is_range([10.0, 10.2, 9.9])
    assert not is_range([7.0, 7.0])
    # Ten seeds in two groups, although their interval is narrow.
    assert is_range([5.0, 5.1, 5.05, 5.1, 5.0, 10.0, 10.1, 10.0, 10.1, 10.05])
    a = rows("A", [5.48e6, 18.5e6, 17.4e6])
    assert of(a).rows[0][0].value == "5.5 to 18.5"


def test_an_interval_that_holds_the_best_of_another_is_not_the_best() -> None:
    zero, wide, far = (
        rows("A", [0.0] * 4),
        rows("B", [0.0, 20e6, 1e6, 25e6]),
        rows("C", [90e6, 91e6, 92e6, 93e6]),
    )
    assert [row[0].mark for row in of(zero, wide, far).rows] == ["*", "", "!"]


def test_the_first_screen_is_one_screen() -> None:
    names = ["PFC", "PFC+QCN", "PFC+DCQCN", "PFC+TIMELY", "PFC+PCN"]
    each = [
        scheme(name, 3 + i, 10 * i, max_queue_bytes=1000 * (9 - i), marked_packets=i)
        for i, name in enumerate(names)
    ]
    title = "PFC alone, with congestion control or adaptive balancing; or NSCC on a lossy fabric"
    built = report.Report(Path("report.html"), overview=replace(of(*each), title=title))
    lines = report.first_screen(built, 80, whole=False).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 21


def test_a_watched_flow_that_does_not_finish_is_worse_than_any() -> None:
    slow, stuck = scheme("A", 3, watched_slowdown=4.4), scheme("B", 3, watched_slowdown=None)
    fast = scheme("C", 3, watched_slowdown=1.13)
    assert of(slow, fast).answer[0] == (
        "Take C: no scheme is better in what decides. Watched slowdown 1.13 (A 4.40)."
    )
    assert of(slow, stuck).answer[0].startswith("Take A: ")


def test_a_scheme_that_is_bad_with_some_seeds_beats_none_that_never_is() -> None:
    steady, unsteady = scheme("steady", 137), scheme("unsteady", 132)
    for row, wait_ns in zip(unsteady, (0.0, 0.7e6, 0.3e6), strict=True):
        row["victim_wait_ns"], row["victim_flows"] = wait_ns, int(wait_ns > 0)
    (first, *_) = of(steady, unsteady).answer
    assert "take steady: wait of victims 0" in first, first
    # Where it has victims with no seed, its slowdown decides.
    for row in unsteady:
        row["victim_wait_ns"], row["victim_flows"] = 0.0, 0
    (first, *_) = of(steady, unsteady).answer
    assert "ake unsteady" in first, first
