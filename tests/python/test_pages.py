"""Pages of a reproduction: how numbers are written, the figure of all claims, other settings."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from conftest import MS, Builder
from unpause import figures
from unpause.claims import chart, page, tried, wording
from unpause.claims import claim as claims
from unpause.claims.claim import Claim, ClaimsError, Verdict
from unpause.claims.reproduced import Done, Experiment
from unpause.claims.stated import Stated, read
from unpause.figures.style import NothingToDraw, style

CLAIM = """
[[claim]]
id = "X.C1"
kind = "C"
text = "the burst under PCN"
[[claim.tried]]
experiment = "F2-more"
{tried}
[[claim.check]]
metric = "burst_duration_ms"
args = {{ burst = "burst" }}
{check}
"""


def runs(builder: Builder, **ms: float) -> Builder:
    for scheme, duration in ms.items():
        for seed in (1, 2, 3):
            run = builder.run(scheme, seed=seed)
            builder.flow(run, "burst", start_ns=0.0, fct_ns=(duration + seed / 10) * MS)
    return builder


def stated(folder: Path, check: str, of_tried: str = "") -> Stated:
    file = folder / "made-up.toml"
    file.write_text(CLAIM.format(check=check, tried=of_tried), "utf-8")
    [claim] = read(file)
    return claim


def judged(builder: Builder, folder: Path, check: str) -> Claim:
    stated(folder, check)
    [claim] = claims.evaluate(builder.result(), ["X"], [folder / "made-up.toml"])
    return claim


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (38.0, "ms", "38 ms"),
        (4453.0, "× QCN", "4,453 times QCN's"),
        (18432.0, "counters", "18,432 counters"),
        (1.0, "packets", "1 packet"),
        (2.0, "× QCN at outputs", "2 times that of QCN at outputs"),
        (0.7, "-", "0.7"),
        (math.inf, "ms", "never within the run"),
        # A ratio to 0 is no time.
        (math.inf, "", "infinite"),
        (math.inf, "-", "infinite"),
        (None, "ms", "—"),
    ],
)
def test_a_number_with_its_unit(value: float | None, unit: str, text: str) -> None:
    assert wording.quantity(value, unit) == text


def test_the_range_stands_where_it_is_wider_than_the_number() -> None:
    assert wording.spread(2.32, (2.03, 2.68)) == "2.32 (2.03 to 2.68)"
    assert wording.spread(2.0, (2.0, 2.001)) == "2"
    assert wording.spread(2.0, None) == "2"


def test_a_scheme_that_the_statement_names_is_not_named_again(
    builder: Builder, tmp_path: Path
) -> None:
    runs(builder, PCN=3.8, QCN=9.8)
    claim = judged(builder, tmp_path, "expect = { PCN = 4 }")
    assert (claim.expected, claim.measured) == ("4 ms", "4 (3.9 to 4.1) ms")
    claim = judged(builder, tmp_path, "expect = { QCN = 10 }")
    assert (claim.expected, claim.measured) == ("QCN 10 ms", "QCN 10 (9.9 to 10.1) ms")
    claim = judged(builder, tmp_path, "expect = { PCN = 4, QCN = 10 }")
    assert claim.expected == "PCN 4, QCN 10 ms"


def test_a_label_that_all_checks_share_is_left_out(builder: Builder, tmp_path: Path) -> None:
    runs(builder, PCN=3.8)
    check = "label = 'burst'\nexpect = { PCN = 4 }"
    again = '[[claim.check]]\nmetric = "burst_duration_ms"\nargs = { burst = "burst" }\n'
    assert judged(builder, tmp_path, check).expected == "burst: 4 ms"
    assert judged(builder, tmp_path, f"{check}\n{again}{check}").expected == "4 ms; 4 ms"


def test_the_figure_of_claims_has_a_point_for_each_number(builder: Builder, tmp_path: Path) -> None:
    runs(builder, PCN=3.8, QCN=9.8)
    claim = judged(builder, tmp_path, "expect = { PCN = 2, QCN = 10 }")
    pcn, qcn = chart.points(claim.findings[0])
    assert (pcn.ratio, pcn.low, pcn.high) == pytest.approx((2, 1.95, 2.05))
    assert (qcn.ratio, qcn.bound, qcn.verdict) == (pytest.approx(1), "", Verdict.ORDER)
    least = judged(builder, tmp_path, "schemes = ['PCN']\nat_least = 2")
    assert [p.bound for p in chart.points(least.findings[0])] == [">"]
    # "None at all" is no number to compare with.
    none = judged(builder, tmp_path, "schemes = ['PCN']\nat_most = 0")
    assert chart.points(none.findings[0]) == []
    with style():
        figure = chart.draw([claim, least, none])
    figures.save(figure, tmp_path, "claims")
    assert len(figure.axes[0].get_yticks()) == 3
    with pytest.raises(NothingToDraw):
        chart.draw([])


def more(builder: Builder) -> Builder:
    """PCN as it is and with another w_min, over a sweep."""
    for gap, slower in ((1.0, 0.0), (2.0, 3.0)):
        for scheme, ms in (("PCN", 4.0), ("PCN, w_min 1/4", 6.0), ("QCN", 2.0)):
            for seed in (1, 2, 3):
                run = builder.run(scheme, seed=seed, gap=gap)
                builder.flow(run, "burst", start_ns=0.0, fct_ns=(ms + slower + seed / 10) * MS)
    return builder


def test_other_settings_are_points_of_the_sweep_and_variants(
    builder: Builder, tmp_path: Path
) -> None:
    claim = stated(tmp_path, "expect = { PCN = 1 }")
    found = tried.rows(claim, claim.checks[0], {"F2-more": more(builder).result()})
    assert [(row.setting, row.numbers["PCN"].median) for row in found] == [
        ("F2-more: gap = 1", pytest.approx(4.2)),
        ("F2-more: gap = 1, w_min 1/4", pytest.approx(6.2)),
        ("F2-more: gap = 2", pytest.approx(7.2)),
        ("F2-more: gap = 2, w_min 1/4", pytest.approx(9.2)),
    ]
    assert found[0].numbers["PCN"].ends == pytest.approx((4.1, 4.3))
    over = stated(tmp_path, "over = 'QCN'\nexpect = { PCN = 1 }")
    found = tried.rows(over, over.checks[0], {"F2-more": builder.result()})
    assert found[1].numbers["PCN"].median == pytest.approx(6.2 / 2.2)
    assert tried.rows(claim, claim.checks[0], {}) == []


def test_a_claim_may_say_which_schemes_stand_for_its_own(builder: Builder, tmp_path: Path) -> None:
    claim = stated(tmp_path, "expect = { DCQCN = 1 }", "schemes = { DCQCN = ['QCN'] }")
    found = tried.rows(claim, claim.checks[0], {"F2-more": more(builder).result()})
    assert [row.numbers["DCQCN"].median for row in found] == pytest.approx([2.2, 5.2])
    with pytest.raises(ClaimsError, match="tried: the claim has no scheme 'DCQN'; did you mean"):
        stated(tmp_path, "expect = { DCQCN = 1 }", "schemes = { DCQN = ['QCN'] }")
    with pytest.raises(ClaimsError, match="tried: unknown key 'scheme'; did you mean 'schemes'"):
        stated(tmp_path, "expect = { DCQCN = 1 }", "scheme = 3")


def test_they_are_drawn_below_the_one_that_is_judged(builder: Builder, tmp_path: Path) -> None:
    claim = stated(tmp_path, "expect = { PCN = 1 }")
    own = runs(Builder(), PCN=3.8).result()
    with style():
        figure = tried.draw(claim, {"F2-more": more(builder).result()}, own)
        figures.save(figure, tmp_path, "tried")
        names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
        assert names[:2] == ["as judged", "F2-more: gap = 1"]
        with pytest.raises(NothingToDraw, match=r"No setting with which X\.C1"):
            tried.draw(claim, {}, own)


def done(claim: Claim) -> Done:
    experiment = Experiment("F2", Path("f2.toml"))
    return Done(experiment, "t", "s", "f2", [], [claim], [], [], 3, "1-3", 1.0)


def test_below_a_claim_stand_reason_note_and_chart(builder: Builder, tmp_path: Path) -> None:
    runs(builder, PCN=3.8)
    claim = judged(builder, tmp_path, "expect = { PCN = 1 }")
    [told] = page.told(done(claim), {"tried-x.c1"}, "figures")
    assert told.why.startswith("PCN 4 ms is 4 times 1, more than 25 % off.")
    assert told.picture == "figures/tried-x.c1"
    [told] = page.told(done(claim), set(), "figures")
    assert told.picture == ""
    assert page.told(done(judged(builder, tmp_path, "expect = { PCN = 4 }")), set(), "f") == []


def test_several_checks_are_a_list_in_markdown() -> None:
    environment = page._environment("md")
    cell = environment.filters["cell"]
    assert cell("a | b") == "a \\| b"
    assert cell("a; b") == "• a<br>• b"
