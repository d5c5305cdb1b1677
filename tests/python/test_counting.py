"""Shares of runs: intervals, Fisher's test, and verdicts that are wrong as seldom as stated."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import Builder
from unpause import papers
from unpause.claims import claim as claims
from unpause.claims import counted, stated, verdicts
from unpause.claims.claim import Claim, Verdict
from unpause.claims.judges import Check, Numbers
from unpause.metrics import METRICS
from unpause.statistics.counting import Count, as_often, fisher


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17, 1998, p. 857, table I, method 5.
        (Count(81, 263), 0.2527, 0.3676),
        (Count(15, 148), 0.0578, 0.1617),
        (Count(0, 20), 0.0, 0.1684),
        (Count(1, 29), 0.0009, 0.1776),
    ],
)
def test_the_interval_has_its_published_values(count: Count, low: float, high: float) -> None:
    assert count.interval == pytest.approx((low, high), abs=5e-5)
    other = Count(count.runs - count.of_these, count.runs)
    assert other.interval == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_fishers_test_has_its_published_values() -> None:
    # The tea of The Design of Experiments: 3 of 4 right, 34 of 70 ways are as unlikely.
    assert fisher(Count(3, 4), Count(1, 4)) == pytest.approx(34 / 70)
    # Convictions of twins, Journal of the Royal Statistical Society 98, 1935; p as in R.
    assert fisher(Count(10, 13), Count(2, 17)) == pytest.approx(0.0005367, abs=5e-8)
    assert fisher(Count(0, 100), Count(4, 100)) == pytest.approx(0.12, abs=0.005)
    assert fisher(Count(5, 100), Count(5, 100)) == 1


def _chances(runs: int, share: float) -> list[float]:
    """The probability of each count."""
    return [math.comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(runs + 1)]


def _check(judge: str, limit: object, schemes: tuple[str, ...] = ("A",), of: int = 0) -> Check:
    metric = METRICS["deadlocked_share"]
    return Check(metric, {}, judge, limit, schemes, 0.25, of=of)


def _verdict(check: Check, **counts: Count) -> Verdict:
    return counted.judge(check, {s: Numbers.of_count(c) for s, c in counts.items()})[0]


@pytest.mark.parametrize("runs", [3, 20, 100])
@pytest.mark.parametrize("judge", ["expect", "at_least", "at_most"])
def test_verdicts_are_wrong_in_at_most_one_of_twenty_cases(judge: str, runs: int) -> None:
    for paper in (0.001, 0.028, 0.3, 0.87):
        check = _check(judge, {"A": paper} if judge == "expect" else paper)
        edges = (0.75 * paper, min(1.0, 1.25 * paper)) if judge == "expect" else (paper, paper)
        said = [_verdict(check, A=Count(k, runs)) for k in range(runs + 1)]
        # Also just beside the edges, where it is hardest.
        truths = [0.0001, 0.0018, 0.01, 0.1, 0.5, 0.95, paper]
        truths += [edge * factor for edge in edges for factor in (0.999, 1.001)]
        for truth in (t for t in truths if t < 1):
            inside = {
                "expect": edges[0] <= truth <= edges[1],
                "at_least": truth >= paper,
                "at_most": truth <= paper,
            }[judge]
            wrong = Verdict.NOT_REPRODUCED if inside else Verdict.REPRODUCED
            chances = _chances(runs, truth)
            rate = sum(p for p, verdict in zip(chances, said, strict=True) if verdict is wrong)
            assert rate <= 0.05, (paper, truth)


@pytest.mark.parametrize("runs", [5, 40])
def test_orders_are_wrong_in_at_most_one_of_twenty_cases(runs: int) -> None:
    check = _check("above_scheme", "B")
    few = range(min(runs, 60) + 1)
    said = {(a, b): _verdict(check, A=Count(a, runs), B=Count(b, runs)) for a in few for b in few}
    for a, b in ((0.01, 0.01), (0.05, 0.06), (0.2, 0.2), (0.1, 0.3)):
        of_a, of_b = _chances(runs, a), _chances(runs, b)
        wrong = sum(of_a[i] * of_b[j] for (i, j), v in said.items() if v is Verdict.REPRODUCED)
        assert wrong <= 0.05, (a, b)
        if a == b:
            missed = sum(
                of_a[i] * of_b[j] for (i, j), v in said.items() if v is Verdict.NOT_REPRODUCED
            )
            assert missed <= 0.05, (a, b)


def test_enough_runs_are_judged() -> None:
    check = _check("expect", {"A": 0.3})
    assert _verdict(check, A=Count(300, 1000)) is Verdict.REPRODUCED
    assert _verdict(check, A=Count(150, 1000)) is Verdict.NOT_REPRODUCED
    assert _verdict(_check("at_least", 0.5), A=Count(20, 20)) is Verdict.REPRODUCED
    assert _verdict(_check("at_most", 0.0), A=Count(1, 100)) is Verdict.NOT_REPRODUCED
    # How rare "never" is, no number of runs says.
    assert _verdict(_check("at_most", 0.0), A=Count(0, 100)) is Verdict.NOT_JUDGED
    assert _verdict(_check("at_most", 0.0, of=50), A=Count(0, 100)) is Verdict.REPRODUCED


def test_as_many_runs_as_are_asked_for_decide() -> None:
    for paper in (0.028, 0.134, 0.5):
        for of in (0, 1000):
            check = _check("expect", {"A": paper}, of=of)
            _, why = counted.judge(check, {"A": Numbers.of_count(as_often(paper, 20))})
            assert "not judged: needs about" in why
            needed = int(why.partition("about ")[2].split()[0].replace(",", ""))
            # "About" is half as many more.
            assert _verdict(check, A=as_often(paper, needed * 3 // 2)) is Verdict.REPRODUCED


def test_a_number_of_runs_is_asked_for_that_there_is_not_yet() -> None:
    assert [counted.about(n) for n in (185, 1000, 1325, 2133)] == [200, 1000, 1000, 2000]
    for one, other in pairwise((100, 134, 1000, 1325)):
        assert counted.about(other, one) > one


def _deadlocks(builder: Builder, runs: int = 100, **dead: int) -> None:
    builder.source += '[probes]\ndeadlock = "1ms"\n'
    builder.manifest.pop("seeds_alike", None)
    for scheme, count in dead.items():
        for seed in range(1, runs + 1):
            number = builder.run(scheme, seed=seed)
            builder.rows["runs"][number]["deadlock_began_ns"] = 7.0 if seed <= count else None


def _of_paper(builder: Builder) -> dict[str, Claim]:
    file = papers.folders()["pcn"] / "claims.toml"
    return {c.id: c for c in claims.evaluate(builder.result(), ["PCN-F21"], [file])}


def test_no_deadlock_of_100_runs_is_neither_a_miss_nor_a_success(builder: Builder) -> None:
    _deadlocks(builder, PCN=0, DCQCN=13, TIMELY=88)
    found = _of_paper(builder)
    for claim in found.values():
        assert claim.verdict is Verdict.NOT_JUDGED
        assert "PCN 0 of 100 runs (95 % interval 0 to 3.62 %)" in claim.why
        assert "not judged: needs about 1,000 runs" in claim.why
    assert verdicts.counts_text(list(found.values())) == "2 claims: 2 not judged."
    rows = verdicts.to_table(list(found.values())).to_pylist()
    assert {row["claim_verdict"] for row in rows} == {"not judged"}


def test_a_share_that_is_off_is_a_miss_all_the_same(builder: Builder) -> None:
    _deadlocks(builder, PCN=0, DCQCN=1, TIMELY=88)
    claim = _of_paper(builder)["PCN-F21.C1"]
    assert claim.verdict is Verdict.NOT_REPRODUCED
    assert "DCQCN 1 of 100 runs (95 % interval 0.0253 to 5.45 %) against 13.4 %" in claim.why
    assert "PCN 0 of 100" in claim.why


def test_as_many_runs_as_the_papers_reproduce_its_shares(builder: Builder) -> None:
    _deadlocks(builder, 1000, PCN=28, DCQCN=134, TIMELY=870)
    assert {c.verdict for c in _of_paper(builder).values()} == {Verdict.REPRODUCED}


@pytest.mark.parametrize(
    ("pcn", "dcqcn", "verdict"),
    [
        (0, 4, Verdict.NOT_JUDGED),
        (0, 5, Verdict.NOT_JUDGED),
        (0, 6, Verdict.REPRODUCED),
        (6, 0, Verdict.NOT_REPRODUCED),
        (3, 3, Verdict.NOT_JUDGED),
    ],
)
def test_four_deadlocks_against_none_are_no_order(
    builder: Builder, tmp_path: Path, pcn: int, dcqcn: int, verdict: Verdict
) -> None:
    _deadlocks(builder, PCN=pcn, DCQCN=dcqcn)
    for check in (
        "schemes = ['DCQCN']\nabove_scheme = 'PCN'",
        "schemes = ['PCN']\nbelow_scheme = 'DCQCN'",
    ):
        file = tmp_path / "claims.toml"
        head = '[[claim]]\nid = "X.1"\nkind = "Q"\ntext = "x"\nmetric = "deadlocked_share"\n'
        file.write_text(head + check + "\n", "utf-8")
        [claim] = claims.evaluate(builder.result(), ["X"], [file])
        assert claim.verdict is verdict, claim.why
        if (pcn, dcqcn) == (0, 4):
            assert "(Fisher's test: p = 0.12): not judged: needs about 140 runs" in claim.why


def test_the_papers_number_of_runs_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    head = '[[claim]]\nid = "X.1"\nkind = "C"\ntext = "x"\n'
    share = head + 'metric = "deadlocked_share"\n'
    for text, message in (
        (share + "expect = { A = 0.1 }\nof = 0\n", "of is a number of runs"),
        (share + "expect = { A = 0.1 }\nof = 1.5\n", "of is a number of runs"),
        (share + "schemes = ['A']\nabove_scheme = 'B'\nof = 10\n", "of goes with a share"),
        (head + "metric = 'paused_ms'\nexpect = { A = 1 }\nof = 10\n", "of goes with a share"),
    ):
        file.write_text(text, "utf-8")
        with pytest.raises(claims.ClaimsError, match=message):
            stated.read(file)
