"""Claims: how they are judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import MS, Builder
from unpause.claims import claim as claims
from unpause.claims import verdicts
from unpause.claims.claim import Verdict
from unpause.commands import report

CHECK = """
[[claim]]
id = "X.C1"
kind = "C"
text = "made up"
[[claim.check]]
metric = "burst_duration_ms"
args = { burst = "burst" }
"""


def durations(builder: Builder, **ms: float | None) -> Builder:
    for scheme, duration in ms.items():
        run = builder.run(scheme)
        fct = None if duration is None else duration * MS
        builder.flow(run, "burst", start_ns=0.0, fct_ns=fct)
    return builder


def judge(builder: Builder, tmp_path: Path, check: str) -> claims.Claim:
    file = tmp_path / "made-up.toml"
    file.write_text(CHECK + check, "utf-8")
    [claim] = claims.evaluate(builder.result(), ["X"], [file])
    return claim


def test_within_tolerance(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.4)
    claim = judge(builder, tmp_path, "expect = { PFC = 3.1 }\n")
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.why == "PFC 3.4 ms: within 25 % of the value expected."
    assert claim.expected == "PFC 3.1 ms"
    assert claim.measured == "PFC 3.4 ms"


def test_tolerance_of_the_check_counts(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.4)
    claim = judge(builder, tmp_path, "expect = { PFC = 3.1 }\ntolerance = 0.05\n")
    assert claim.verdict is Verdict.NOT_REPRODUCED
    assert claim.why == "PFC 3.4 ms is 10 % above 3.1, more than 5 % off."


def test_less_than_a_percent_is_told(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.085)
    claim = judge(builder, tmp_path, "expect = { PFC = 3.1 }\ntolerance = 0.002\n")
    assert claim.why == "PFC 3.08 ms is 0.48 % below 3.1, more than 0.2 % off."


def test_order_of_schemes(builder: Builder, tmp_path: Path) -> None:
    durations(builder, QCN=5.0, DCQCN=6.0, TIMELY=5.5)
    check = "expect = { QCN = 0.5, DCQCN = 1.8, TIMELY = 1.4 }\n"
    claim = judge(builder, tmp_path, check)
    assert claim.verdict is Verdict.ORDER
    assert claim.why == (
        "QCN 5 ms is 10 times 0.5, DCQCN 6 ms is 3.33 times 1.8, TIMELY 5.5 ms is 3.93 times 1.4, "
        "more than 25 % off. The order QCN < TIMELY < DCQCN is the same."
    )


def test_other_order(builder: Builder, tmp_path: Path) -> None:
    durations(builder, QCN=0.5, DCQCN=1.0, TIMELY=1.4)
    check = "expect = { QCN = 0.5, DCQCN = 1.8, TIMELY = 1.4 }\n"
    claim = judge(builder, tmp_path, check)
    assert claim.verdict is Verdict.NOT_REPRODUCED
    assert claim.why.endswith("Expected TIMELY < DCQCN: the order is not the same.")


def test_equal_numbers_have_no_order(builder: Builder, tmp_path: Path) -> None:
    durations(builder, QCN=5.0, DCQCN=5.0)
    claim = judge(builder, tmp_path, "expect = { QCN = 0.5, DCQCN = 1.8 }\n")
    assert claim.verdict is Verdict.NOT_REPRODUCED
    assert claim.why.endswith("Expected QCN < DCQCN: the order is not the same.")


def seeds(builder: Builder, **ms: list[float]) -> Builder:
    for scheme, every in ms.items():
        for seed, duration in enumerate(every, start=1):
            run = builder.run(scheme, seed=seed, repetition=seed)
            builder.flow(run, "burst", start_ns=0.0, fct_ns=duration * MS)
    return builder


def test_the_median_of_the_seeds_counts(builder: Builder, tmp_path: Path) -> None:
    seeds(builder, PFC=[9.0, 3.0, 4.0])
    claim = judge(builder, tmp_path, "expect = { PFC = 4 }\ntolerance = 0.01\n")
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.measured == "PFC 4 (3 to 9) ms"
    row = verdicts.to_table([claim]).to_pylist()[0]
    assert (row["lowest"], row["measured"], row["highest"]) == (3, 4, 9)


def test_a_share_of_runs_is_of_all_seeds(builder: Builder, tmp_path: Path) -> None:
    builder.source += '[probes]\ndeadlock = "1ms"\n'
    for seed in range(1, 1001):
        number = builder.run("PCN", seed=seed)
        builder.rows["runs"][number]["deadlock_began_ns"] = 7.0 if seed % 2 else None
    file = tmp_path / "claims.toml"
    text = 'paper = "P"\n[tolerance]\nC = 0.1\n[[claim]]\nid = "A.C1"\nkind = "C"\ntext = "x"\n'
    check = '[[claim.check]]\nmetric = "deadlocked_share"\nexpect = { PCN = 0.5 }\n'
    file.write_text(text + check, "utf-8")
    [claim] = claims.evaluate(builder.result(), ["A"], [file])
    assert (claim.verdict, claim.measured) == (Verdict.REPRODUCED, "PCN 0.5 (0.469 to 0.531)")
    file.write_text(text + check + 'over = "PFC"\n', "utf-8")
    with pytest.raises(claims.ClaimsError, match="no ratio"):
        claims.read(file)


def test_two_runs_with_one_seed_have_no_one_number(builder: Builder, tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        run = builder.run("PFC", limit=value)
        builder.flow(run, "burst", start_ns=0.0, fct_ns=value * MS)
    claim = judge(builder, tmp_path, "expect = { PFC = 4 }\n")
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert "2 runs of PFC" in claim.why


def test_ratios_are_between_runs_with_the_same_seed(builder: Builder, tmp_path: Path) -> None:
    # Of the medians it would be 8/2; seed by seed it is 2, 4 and 8.
    seeds(builder, DCQCN=[8.0, 4.0, 16.0], PCN=[4.0, 1.0, 2.0])
    check = 'over = "PCN"\nexpect = { DCQCN = 4 }\ntolerance = 0.01\n'
    claim = judge(builder, tmp_path, check)
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.expected == "DCQCN 4 times PCN's"
    assert claim.measured == "DCQCN 4 (2 to 8) times PCN's"


@pytest.mark.parametrize(
    ("check", "verdict"),
    [
        ("expect = { DCQCN = 3 }", Verdict.ORDER),
        ("expect = { DCQCN = 0.5 }", Verdict.NOT_REPRODUCED),
        ('schemes = ["DCQCN"]\nat_least = 1.4', Verdict.REPRODUCED),
        ('schemes = ["DCQCN"]\nat_least = 3', Verdict.ORDER),
        ('schemes = ["DCQCN"]\nat_most = 0.9', Verdict.NOT_REPRODUCED),
    ],
)
def test_a_ratio_on_the_claimed_side_of_1_has_the_order(
    builder: Builder, tmp_path: Path, check: str, verdict: Verdict
) -> None:
    durations(builder, DCQCN=4.5, PCN=3.0)
    claim = judge(builder, tmp_path, f'over = "PCN"\n{check}\n')
    assert claim.verdict is verdict
    assert ("The order DCQCN > PCN is the same." in claim.why) is (verdict is Verdict.ORDER)


SWEPT = """
sweep = { column = "load", at = 0.9, against = 0.5 }
"""


def test_a_check_over_a_sweep_seed_by_seed(builder: Builder, tmp_path: Path) -> None:
    for seed, low, high in ((1, 2.0, 4.0), (2, 1.0, 8.0), (3, 2.0, 5.0)):
        for load, ms in ((0.5, low), (0.9, high)):
            run = builder.run("PCN", seed=seed, load=load)
            builder.flow(run, "burst", start_ns=0.0, fct_ns=ms * MS)
    claim = judge(builder, tmp_path, SWEPT + "expect = { PCN = 2.5 }\n")
    assert claim.verdict is Verdict.REPRODUCED
    assert claim.measured == "PCN 2.5 (2 to 8)"
    [row] = verdicts.to_table([claim]).to_pylist()
    assert (row["metric"], row["sweep"]) == ("burst_duration_ms", "load = 0.9 over 0.5")


@pytest.mark.parametrize(
    ("dcqcn", "check", "verdict"),
    [
        (4.5, 'schemes = ["DCQCN"]\nat_least = 1', Verdict.REPRODUCED),
        (4.5, 'schemes = ["DCQCN"]\nat_most = 0.5', Verdict.NOT_REPRODUCED),
        (4.5, "expect = { DCQCN = 2 }", Verdict.NOT_EVALUATED),
        (4.5, 'schemes = ["DCQCN"]\nat_least = 2', Verdict.NOT_EVALUATED),
        (0.0, 'schemes = ["DCQCN"]\nat_least = 1', Verdict.NOT_EVALUATED),
        (0.0, 'schemes = ["DCQCN"]\nat_most = 1', Verdict.NOT_EVALUATED),
        (0.0, "expect = { DCQCN = 1 }", Verdict.NOT_EVALUATED),
    ],
)
def test_over_nothing_there_is_no_factor(
    builder: Builder, tmp_path: Path, dcqcn: float, check: str, verdict: Verdict
) -> None:
    durations(builder, DCQCN=dcqcn, PCN=0.0)
    claim = judge(builder, tmp_path, f'over = "PCN"\n{check}\n')
    assert claim.verdict is verdict
    if verdict is Verdict.NOT_EVALUATED:
        both = "" if dcqcn else "DCQCN and "
        assert claim.why == f"burst_duration_ms of {both}PCN is 0: there is no ratio."
        assert claim.measured == "DCQCN —"
    else:
        assert claim.measured == "DCQCN more than the 0 of PCN"


def test_over_what_never_ends_there_is_no_ratio(builder: Builder, tmp_path: Path) -> None:
    durations(builder, DCQCN=4.5, PCN=None)
    claim = judge(builder, tmp_path, 'over = "PCN"\nexpect = { DCQCN = 2 }\n')
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert claim.why == "burst_duration_ms of PCN is never within the run: there is no ratio."


def test_where_a_limit_of_ours_decides_half_and_twice_are_said(
    builder: Builder, tmp_path: Path
) -> None:
    durations(builder, PFC=3.4)
    ours = "schemes = ['PFC']\nat_most = {}\nassumed = 'limit'\n"
    claim = judge(builder, tmp_path, ours.format(4))
    assert (claim.verdict, claim.expected) == (Verdict.REPRODUCED, "PFC: at most 4 ms (our limit)")
    assert claim.assumed == "the limit is assumed; at 2 ms: not reproduced, 8 ms: reproduced."
    assert claim.assumed in report.claims_text([claim], width=200)
    [row] = claims_table(claim)
    assert (row["at_half"], row["at_twice"]) == ("not reproduced", "reproduced")
    claim = judge(builder, tmp_path, ours.format(10))
    assert (claim.verdict, claim.assumed) == (Verdict.REPRODUCED, "")
    # Another check that fails decides, whatever the limit.
    other = '[[claim.check]]\nmetric = "burst_duration_ms"\nargs = { burst = "burst" }\n'
    claim = judge(builder, tmp_path, ours.format(4) + other + "expect = { PFC = 9 }\n")
    assert (claim.verdict, claim.assumed) == (Verdict.NOT_REPRODUCED, "")


def test_a_limit_near_1_is_on_what_is_missing_to_1(builder: Builder, tmp_path: Path) -> None:
    durations(builder, DCQCN=2.8, PCN=3.0)
    check = "over = 'PCN'\nschemes = ['DCQCN']\nat_least = 0.9\nassumed = 'to 1'\n"
    claim = judge(builder, tmp_path, check)
    assert claim.verdict is Verdict.REPRODUCED
    assert "at 0.95 times PCN's: not reproduced, 0.8 times PCN's: reproduced" in claim.assumed


def test_the_largest_among_several_counts(builder: Builder, tmp_path: Path) -> None:
    for scheme, slow in (("PCN", 2.0), ("DCQCN", 8.0)):
        run = builder.run(scheme)
        builder.flow(run, "a", start_ns=0.0, fct_ns=1.0 * MS)
        builder.flow(run, "b", start_ns=0.0, fct_ns=slow * MS)
    file = tmp_path / "made-up.toml"
    head = CHECK[: CHECK.index("metric")]
    check = 'metric = "fct_ms"\nargs = { statistic = "mean" }\nover = "PCN"\n'
    check += 'among = [{ traffic = ["a"] }, { traffic = ["b"] }]\nexpect = { DCQCN = 4 }\n'
    file.write_text(head + check, "utf-8")
    [claim] = claims.evaluate(builder.result(), ["X"], [file])
    assert (claim.verdict, claim.measured) == (Verdict.REPRODUCED, "DCQCN 4 times PCN's")


def test_a_claim_counts_once(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.4)
    file = tmp_path / "made-up.toml"
    check = CHECK + "expect = { PFC = 3.4 }\n"
    file.write_text(check + check.replace("X.C1", "X.D1").replace('"C"', '"D"'), "utf-8")
    ours = claims.evaluate(builder.result(), ["X"], [file])
    again = claims.evaluate(builder.result(), ["X"], [file], other_reading=True)
    assert verdicts.counts([*ours, *again]) == {
        "paper": {"reproduced": 1},
        "derivation": {"reproduced": 1},
        "reading": {"reproduced": 2},
    }
    assert verdicts.counts_text([*ours, *again]) == (
        "1 claim: 1 reproduced. 1 derivation of ours: 1 reproduced. "
        "2 in other readings: 2 reproduced."
    )


def claims_table(claim: claims.Claim) -> list[dict[str, Any]]:
    return verdicts.to_table([claim]).to_pylist()


@pytest.mark.parametrize(
    ("check", "verdict", "why"),
    [
        (
            "schemes = ['QCN', 'DCQCN']\nabove_scheme = 'PFC'\n",
            Verdict.REPRODUCED,
            "QCN 4 ms, DCQCN 5 ms: more than PFC 3 ms, as claimed.",
        ),
        (
            "schemes = ['QCN', 'DCQCN']\nbelow_scheme = 'PFC'\n",
            Verdict.NOT_REPRODUCED,
            "QCN 4 ms, DCQCN 5 ms: not less than PFC 3 ms: the order is not the same.",
        ),
        (
            "schemes = ['QCN', 'DCQCN']\nat_most = 4\n",
            Verdict.REPRODUCED,
            "QCN 4 ms, DCQCN 5 ms: at most 4 ms, with 25 % tolerance.",
        ),
        (
            "schemes = ['QCN', 'DCQCN']\nat_most = 3.9\n",
            Verdict.NOT_REPRODUCED,
            "DCQCN 5 ms, where at most 3.9 ms is claimed.",
        ),
        (
            "schemes = ['QCN', 'DCQCN']\nat_least = 4\n",
            Verdict.REPRODUCED,
            "QCN 4 ms, DCQCN 5 ms: at least 4 ms, as claimed.",
        ),
    ],
)
def test_bounds(builder: Builder, tmp_path: Path, check: str, verdict: Verdict, why: str) -> None:
    durations(builder, PFC=3.0, QCN=4.0, DCQCN=5.0)
    claim = judge(builder, tmp_path, check)
    assert (claim.verdict, claim.why) == (verdict, why)


def test_missing_scheme_is_not_evaluated(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.0)
    claim = judge(builder, tmp_path, "expect = { PFC = 3.0, QCN = 0.5 }\n")
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert claim.why == "The result has no scheme QCN."
    assert claim.measured == "PFC 3 ms, QCN —"


def test_missing_traffic_is_not_evaluated(builder: Builder, tmp_path: Path) -> None:
    builder.run("PFC")
    claim = judge(builder, tmp_path, "expect = { PFC = 3.0 }\n")
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert claim.why == "No flow of traffic 'burst' started under PFC."


def test_several_runs_of_a_scheme_are_not_evaluated(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.0)
    builder.run("PFC")
    claim = judge(builder, tmp_path, "expect = { PFC = 3.0 }\n")
    assert claim.verdict is Verdict.NOT_EVALUATED
    assert "2 runs of PFC" in claim.why


def test_scheme_may_carry_the_pfc_that_all_share(builder: Builder, tmp_path: Path) -> None:
    durations(builder, **{"PFC+QCN": 0.5})
    claim = judge(builder, tmp_path, "expect = { QCN = 0.5 }\n")
    assert claim.verdict is Verdict.REPRODUCED


def test_infinity_is_not_reproduced(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=None)
    claim = judge(builder, tmp_path, "expect = { PFC = 3.0 }\n")
    assert claim.verdict is Verdict.NOT_REPRODUCED
    assert claim.why == "PFC never within the run instead of 3, more than 25 % off."


def test_up_to_is_judged_where_the_median_ratio_is_smallest(
    builder: Builder, tmp_path: Path
) -> None:
    # At 0.5 one seed has the smallest ratio of all, but the median is smaller at 0.9.
    for load, ratios in ((0.5, (0.1, 0.9, 0.9)), (0.9, (0.6, 0.7, 0.8))):
        for seed, ratio in enumerate(ratios, start=1):
            for scheme, times in (("RED", 1.0), ("ECN#", ratio)):
                run = builder.run(scheme, seed=seed, load=load)
                builder.flow(run, "burst", start_ns=0.0, fct_ns=2 * times * MS)
    builder.swept = ["load"]
    check = 'over = "RED"\nsweep = { column = "load", best = "min" }\n'
    claim = judge(builder, tmp_path, check + 'expect = { "ECN#" = 0.7 }\n')
    assert claim.measured == "ECN# 0.7 (0.6 to 0.8) times RED's"
    check = check.replace("min", "max")
    claim = judge(builder, tmp_path, check + 'expect = { "ECN#" = 0.9 }\n')
    assert claim.measured == "ECN# 0.9 (0.1 to 0.9) times RED's"


def test_a_claim_may_be_of_another_reading(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.1)
    file = tmp_path / "made-up.toml"
    other = CHECK.replace('kind = "C"', 'kind = "C"\nother_reading = true')
    file.write_text(other + "expect = { PFC = 3.1 }\n", "utf-8")
    [claim] = claims.evaluate(builder.result(), ["X"], [file])
    assert claim.counted is claims.Counted.READING
