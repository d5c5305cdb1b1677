"""The rule of verdicts: margin, seeds, tolerances, zeros, and runs that lack what is claimed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import unpause
from conftest import MS, Builder
from unpause import running
from unpause.claims import claim as claims
from unpause.claims import seed_check
from unpause.claims.claim import Claim, ClaimsError, Verdict

HEAD = """
[[claim]]
id = "X.1"
kind = "{kind}"
text = "made up"
[[claim.check]]
metric = "burst_duration_ms"
args = {{ burst = "burst" }}
"""
# A run without the event.
NONE = -1.0


def seeds(builder: Builder, **ms: list[float]) -> Builder:
    for scheme, every in ms.items():
        for seed, duration in enumerate(every, start=1):
            run = builder.run(scheme, seed=seed, repetition=seed)
            if duration != NONE:
                builder.flow(run, "burst", start_ns=0.0, fct_ns=duration * MS)
    builder.manifest.pop("seeds_alike", None)
    return builder


def judge(builder: Builder, folder: Path, check: str, kind: str = "C", head: str = "") -> Claim:
    file = folder / "made-up.toml"
    file.write_text(head + HEAD.format(kind=kind) + check, "utf-8")
    [claim] = claims.evaluate(builder.result(), ["X"], [file])
    return claim


@pytest.mark.parametrize(
    ("dcqcn", "verdict", "why"),
    [
        ([1.2, 1.3, 1.4], Verdict.ORDER, "The order DCQCN > PCN is the same."),
        ([1.01, 1.04, 1.3], Verdict.NOT_REPRODUCED, "they differ by less than 5 %."),
        ([0.98, 1.3, 1.4], Verdict.NOT_REPRODUCED, "not every seed has them in that order."),
        ([0.7, 0.8, 1.4], Verdict.NOT_REPRODUCED, "the order is not the same."),
    ],
)
def test_an_order_is_beyond_the_margin_and_of_every_seed(
    builder: Builder, tmp_path: Path, dcqcn: list[float], verdict: Verdict, why: str
) -> None:
    seeds(builder, DCQCN=dcqcn, PCN=[1.0, 1.0, 1.0])
    claim = judge(builder, tmp_path, "over = 'PCN'\nexpect = { DCQCN = 17 }\n")
    assert (claim.verdict, claim.why.endswith(why)) == (verdict, True), claim.why


def test_the_margin_is_of_the_file(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, DCQCN=[1.02, 1.03, 1.04], PCN=[1.0, 1.0, 1.0])
    check = "over = 'PCN'\nexpect = { DCQCN = 17 }\n"
    finer = judge(builder, tmp_path, check, head="[tolerance]\nmargin = 0.01\n")
    assert finer.verdict is Verdict.ORDER
    with pytest.raises(ClaimsError, match="margin is from 0 to below 1, found 5"):
        judge(builder, tmp_path, check, head="[tolerance]\nmargin = 5\n")
    with pytest.raises(ClaimsError, match="unknown key 'margn'; did you mean 'margin'"):
        judge(builder, tmp_path, check, head="[tolerance]\nmargn = 0.1\n")


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([5, 6, 7], [8, 9, 10], Verdict.ORDER),
        ([5.0, 5.0, 5.0], [5.1, 5.1, 5.1], Verdict.NOT_REPRODUCED),
        ([5, 6, 11], [8, 9, 10], Verdict.NOT_REPRODUCED),
    ],
)
def test_so_is_an_order_of_numbers(
    builder: Builder, tmp_path: Path, a: list[float], b: list[float], verdict: Verdict
) -> None:
    seeds(builder, A=a, B=b, C=[20, 21, 22])
    # The paper has B and C alike: of them no order is asked for.
    claim = judge(builder, tmp_path, "expect = { A = 1, C = 2, B = 2.02 }\n")
    assert claim.verdict is verdict
    if verdict is Verdict.ORDER:
        assert claim.why.endswith("The order A < C ≈ B is the same.")


def test_numbers_that_the_paper_has_alike_have_no_order(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, A=[1, 1, 1], B=[9, 9, 9])
    claim = judge(builder, tmp_path, "expect = { A = 2, B = 2 }\n")
    assert claim.verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize(
    ("pfc", "verdict"),
    [
        ([1.0, 1.1, 1.2], Verdict.REPRODUCED),
        ([1.9, 1.9, 1.9], Verdict.NOT_REPRODUCED),
        ([1.0, 1.0, 2.1], Verdict.NOT_REPRODUCED),
    ],
)
def test_more_than_another_scheme_is_an_order_too(
    builder: Builder, tmp_path: Path, pfc: list[float], verdict: Verdict
) -> None:
    seeds(builder, PFC=pfc, QCN=[1.95, 1.95, 1.95])
    for check in (
        "schemes = ['QCN']\nabove_scheme = 'PFC'\n",
        "schemes = ['PFC']\nbelow_scheme = 'QCN'\n",
    ):
        assert judge(builder, tmp_path, check, "Q").verdict is verdict


@pytest.mark.parametrize(
    ("kind", "check", "verdict"),
    [
        # 2.5 is the paper's number: 2 is 20 % off.
        ("C", "at_least = 2.5", Verdict.REPRODUCED),
        ("C", "at_least = 2.7", Verdict.NOT_REPRODUCED),
        ("C", "at_most = 1.7", Verdict.REPRODUCED),
        ("C", "at_most = 1.5", Verdict.NOT_REPRODUCED),
        # Ours, or no number of the paper's text: none.
        ("C", "at_least = 2.1\nassumed = 'limit'", Verdict.NOT_REPRODUCED),
        ("Q", "at_least = 2.1", Verdict.NOT_REPRODUCED),
        ("Q", "at_least = 2.1\ntolerance = 0.1", Verdict.REPRODUCED),
        ("D", "at_most = 1.9", Verdict.NOT_REPRODUCED),
        ("C", "at_most = 0", Verdict.NOT_REPRODUCED),
    ],
)
def test_a_bound_of_the_paper_has_the_tolerance_of_its_kind(
    builder: Builder, tmp_path: Path, kind: str, check: str, verdict: Verdict
) -> None:
    seeds(builder, PCN=[2.0, 2.0, 2.0])
    claim = judge(builder, tmp_path, f"schemes = ['PCN']\n{check}\n", kind)
    assert claim.verdict is verdict


@pytest.mark.parametrize(
    ("dcqcn", "check", "verdict"),
    [
        # 12 % slower, with a quarter of that.
        (1.14, "at_most = 1.12", Verdict.REPRODUCED),
        (1.16, "at_most = 1.12", Verdict.NOT_REPRODUCED),
        (0.89, "at_least = 0.9", Verdict.REPRODUCED),
        (0.86, "at_least = 0.9", Verdict.NOT_REPRODUCED),
        (0.99, "at_least = 1", Verdict.NOT_REPRODUCED),
    ],
)
def test_a_ratio_near_1_states_a_difference(
    builder: Builder, tmp_path: Path, dcqcn: float, check: str, verdict: Verdict
) -> None:
    seeds(builder, PCN=[1.0] * 3, DCQCN=[dcqcn] * 3)
    claim = judge(builder, tmp_path, f"schemes = ['DCQCN']\nover = 'PCN'\n{check}\n")
    assert claim.verdict is verdict


def test_a_bound_of_ours_has_no_tolerance(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, PCN=[2.0] * 3)
    for check, message in (
        ("at_most = 3\nassumed = 'limit'\ntolerance = 0.1", "has no tolerance"),
        ("above_scheme = 'PFC'\ntolerance = 0.1", "no number that could have a tolerance"),
    ):
        with pytest.raises(ClaimsError, match=message):
            judge(builder, tmp_path, f"schemes = ['PCN']\n{check}\n")


def test_a_broken_upper_bound_above_1_has_no_order(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, PCN=[1.0] * 3, DCQCN=[3.0] * 3)
    check = "schemes = ['DCQCN']\nover = 'PCN'\nat_most = 1.1\n"
    assert judge(builder, tmp_path, check).verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_seeds_are_not_judged(
    builder: Builder, tmp_path: Path, count: int
) -> None:
    seeds(builder, PFC=[4.0] * count)
    check = "schemes = ['PFC']\nat_most = 4\nassumed = 'limit'\n"
    claim = judge(builder, tmp_path, check)
    assert claim.verdict is Verdict.NOT_JUDGED
    word = "One seed" if count == 1 else "Two seeds"
    assert claim.why.startswith(f"{word}: a verdict needs 3, because runs are random. With it")
    assert "reproduced. PFC 4 ms: at most 4 ms, as claimed." in claim.why
    assert claim.assumed == ""
    [finding] = claim.findings
    assert finding.by_these is Verdict.REPRODUCED


def test_one_run_is_enough_where_nothing_is_random(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, PFC=[4.0])
    builder.manifest["seeds_alike"] = [1, 2]
    assert judge(builder, tmp_path, "expect = { PFC = 4 }\n").verdict is Verdict.REPRODUCED


def test_runs_without_the_event_do_not_count(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, QCN=[4.0, NONE, 5.0, 6.0])
    claim = judge(builder, tmp_path, "expect = { QCN = 5 }\n")
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.measured == "QCN 5 (4 to 6) ms (QCN in 3 of 4 runs)"
    assert claim.why.endswith(
        "3 of 4 runs of QCN count: No flow of traffic 'burst' started under QCN."
    )


def test_fewer_than_half_with_the_event_are_not_evaluated(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, QCN=[4.0, NONE, NONE])
    claim = judge(builder, tmp_path, "expect = { QCN = 4 }\n")
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert claim.why.endswith("1 of 3 runs have it.")


def test_seeds_with_a_ratio_of_zeros_do_not_count(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, DCQCN=[0.0, 4.0, 4.2, 4.4], PCN=[0.0, 2.0, 2.0, 2.0])
    claim = judge(builder, tmp_path, "over = 'PCN'\nexpect = { DCQCN = 2 }\n")
    assert claim.verdict is Verdict.REPRODUCED
    assert "3 of 4 runs of DCQCN count" in claim.why


def test_an_order_of_a_number_of_all_runs_is_beyond_their_interval(
    builder: Builder, tmp_path: Path
) -> None:
    builder.source += '[probes]\ndeadlock = "1ms"\n'
    for scheme, dead in (("PFC", 9), ("A", 7), ("PCN", 1)):
        for seed in range(1, 11):
            number = builder.run(scheme, seed=seed)
            builder.rows["runs"][number]["deadlock_began_ns"] = 7.0 if seed <= dead else None
    file = tmp_path / "claims.toml"
    check = '[[claim.check]]\nmetric = "deadlocked_share"\nexpect = '
    head = '[[claim]]\nid = "A.C1"\nkind = "C"\ntext = "x"\n'
    # 9 of 10 runs against 7 of 10 may be chance, against 1 of 10 not.
    for expect, verdict in (
        ("{ PFC = 0.2, PCN = 0.01 }", Verdict.ORDER),
        ("{ PFC = 0.2, A = 0.01 }", Verdict.NOT_REPRODUCED),
    ):
        file.write_text(head + check + expect + "\n", "utf-8")
        [claim] = claims.evaluate(builder.result(), ["A"], [file])
        assert claim.verdict is verdict


SCENARIO: dict[str, Any] = {
    "duration": "200us",
    "seed": 1,
    "topology": {"builder": "single-switch", "hosts": 3, "rate": "40Gbps", "delay": "1us"},
    "scheme": [{"name": "PFC"}],
}
FLOW = {"name": "f", "kind": "flow", "from": "H0..H1", "to": "H2", "size": "100KB"}
RANDOM = {"name": "f", "kind": "poisson", "size": "10KB", "load": 0.5}


def test_another_seed_shows_whether_a_scenario_is_random(tmp_path: Path) -> None:
    for name, traffic, differs in (("flow", FLOW, ""), ("random", RANDOM, "runs")):
        native = running.read({**SCENARIO, "traffic": [traffic]})
        result = running.run_native(native)
        result.write(tmp_path / name)
        assert seed_check.differs(native, result) == differs
        assert unpause.load(tmp_path / name).same_with_any_seed is not bool(differs)


def _over_two_values(builder: Builder, first: list[float], second: list[float]) -> Builder:
    """Runs with x = 1 and x = 2 for each seed."""
    for x, every in ((1.0, first), (2.0, second)):
        for seed, duration in enumerate(every, start=1):
            run = builder.run("PCN", seed=seed, x=x)
            builder.flow(run, "burst", start_ns=0.0, fct_ns=duration * MS)
    builder.manifest.pop("seeds_alike", None)
    return builder


#: Three seeds that differ by 13 %, and the same a little longer.
APART = [10.0, 10.6, 11.3]
LONGER = [seed * 1.001 for seed in APART]
TWICE = [seed * 2 for seed in APART]


@pytest.mark.parametrize(
    ("second", "check", "verdict"),
    [
        # 0.2 % beside 12 % is lost, whether the number is close or not.
        (LONGER, "tolerance = 0.002\nexpect = { PCN = 1.002 }", Verdict.NOT_JUDGED),
        (LONGER, "tolerance = 0.0001\nexpect = { PCN = 1.002 }", Verdict.NOT_JUDGED),
        (LONGER, "schemes = ['PCN']\nat_least = 1.002", Verdict.NOT_JUDGED),
        (LONGER, "schemes = ['PCN']\nat_most = 0.998", Verdict.NOT_JUDGED),
        # No difference is claimed, or a larger one, or there is a much larger one.
        (LONGER, "schemes = ['PCN']\nat_most = 1.002", Verdict.REPRODUCED),
        (LONGER, "tolerance = 0.002\nexpect = { PCN = 1 }", Verdict.REPRODUCED),
        (LONGER, "tolerance = 0.05\nexpect = { PCN = 1.02 }", Verdict.REPRODUCED),
        (TWICE, "tolerance = 0.002\nexpect = { PCN = 1.002 }", Verdict.NOT_REPRODUCED),
    ],
)
def test_a_difference_far_below_the_spread_of_the_seeds_is_not_judged(
    builder: Builder, tmp_path: Path, second: list[float], check: str, verdict: Verdict
) -> None:
    _over_two_values(builder, APART, second)
    sweep = "sweep = { column = 'x', at = 2, against = 1 }\n"
    claim = judge(builder, tmp_path, f"{sweep}{check}\n")
    assert claim.verdict is verdict, claim.why
    if verdict is Verdict.NOT_JUDGED:
        assert "0.2 %, is far below the 12.3 % by which the numbers differ" in claim.why
        assert "not judged: needs about 7,000 runs." in claim.why


@pytest.mark.parametrize(
    ("pcn", "verdict"),
    [
        ([10.02, 10.62, 11.32], Verdict.NOT_JUDGED),
        # Seeds that are alike show it.
        ([1.002, 1.002, 1.002], Verdict.REPRODUCED),
    ],
)
def test_so_is_one_between_two_schemes(
    builder: Builder, tmp_path: Path, pcn: list[float], verdict: Verdict
) -> None:
    qcn = APART if verdict is Verdict.NOT_JUDGED else [1.0, 1.0, 1.0]
    seeds(builder, PCN=pcn, QCN=qcn)
    claim = judge(builder, tmp_path, "over = 'QCN'\nexpect = { PCN = 1.002 }\ntolerance = 0.01\n")
    assert claim.verdict is verdict, claim.why


def test_so_is_how_much_a_sweep_changes(builder: Builder, tmp_path: Path) -> None:
    _over_two_values(builder, APART, LONGER)
    check = "sweep = { pick = 'spread' }\nschemes = ['PCN']\nat_most = 0.002\n"
    assert judge(builder, tmp_path, check).verdict is Verdict.NOT_JUDGED
    assert judge(builder, tmp_path, check.replace("0.002", "0.02")).verdict is Verdict.REPRODUCED


def test_a_note_explains_a_claim_that_the_spread_hides(builder: Builder, tmp_path: Path) -> None:
    _over_two_values(builder, APART, LONGER)
    head = HEAD.replace("[[claim.check]]", 'note = "N."\n[[claim.check]]').format(kind="C")
    sweep = "sweep = { column = 'x', at = 2, against = 1 }\nexpect = { PCN = 1.002 }\n"
    file = tmp_path / "made-up.toml"
    file.write_text(head + sweep, "utf-8")
    [claim] = claims.evaluate(builder.result(), ["X"], [file])
    assert (claim.verdict, claim.note) == (Verdict.NOT_JUDGED, "N.")
