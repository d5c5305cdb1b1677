"""The comparison with ns-3: its verdicts, and that the document says what is on record."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from pathlib import Path

import pytest

from validation import fabric, scheduling, table, tcp
from validation.compare import ALIKE, DIFFERS, OPEN, Quantity, compare, interval, verdict
from validation.runs import write_flows

ROOT = Path(__file__).parents[2]
QUEUE = Quantity("mean queue", "packets", 0.05, absolute=0.5, digits=1)


def record() -> dict:
    return json.loads((ROOT / "validation" / "ns3.json").read_text())


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0, ALIKE),
        (-1, 1, ALIKE),
        (-1.01, 1, OPEN),
        (0.5, 1.01, OPEN),
        (-3, 3, OPEN),
        (1.01, 3, DIFFERS),
        (-3, -1.01, DIFFERS),
    ],
)
def test_alike_is_an_interval_within_the_limit_and_differs_one_outside(
    low: float, high: float, expected: str
) -> None:
    assert verdict(low, high, 1.0) == expected


def test_interval_is_student_s() -> None:
    # Mean 3, variance 2.5, t for 4 degrees of freedom 2.776.
    low, high = interval([1, 2, 3, 4, 5])
    assert (low, high) == pytest.approx((3 - 2.776 * 0.5**0.5, 3 + 2.776 * 0.5**0.5))
    assert interval([7]) == (7, 7)


def test_interval_covers_the_mean_in_about_95_of_100_trials() -> None:
    draw = random.Random(1)
    trials = [interval([draw.gauss(10, 3) for _ in range(4)]) for _ in range(2000)]
    assert 0.93 < sum(low <= 10 <= high for low, high in trials) / 2000 < 0.97


def test_runs_are_compared_in_pairs() -> None:
    # Seeds scatter by 20, ns-3 is above by 1 in each: within 5 % of 70, beyond 1 % of it.
    ours = [50.0, 60.0, 80.0, 90.0]
    row = compare("case", QUEUE, ours, [value + 1 for value in ours])
    assert (row.ours, row.ns3, row.seeds) == (70, 71, 4)
    assert row.ratio == pytest.approx(71 / 70)
    assert (row.low, row.high, row.limit) == pytest.approx((1, 1, 3.5))
    assert row.verdict == ALIKE
    strict = Quantity("mean queue", "packets", 0.01)
    assert compare("case", strict, ours, [value + 1 for value in ours]).verdict == DIFFERS
    assert compare("case", QUEUE, ours, [40, 80, 60, 100]).verdict == OPEN


def test_the_absolute_limit_holds_where_values_are_small() -> None:
    assert compare("case", QUEUE, [0.0], [0.5]).verdict == ALIKE
    row = compare("case", QUEUE, [0.0], [0.6])
    assert (row.verdict, row.ratio) == (DIFFERS, None)


@pytest.mark.parametrize(
    ("ours", "ns3"),
    [([], []), ([1.0], [1.0, 2.0]), ([1.0] * 10, [1.0] * 10), ([1.0], [float("nan")])],
)
def test_runs_that_cannot_be_compared_are_refused(ours: list[float], ns3: list[float]) -> None:
    with pytest.raises(ValueError, match="case, mean queue"):
        compare("case", QUEUE, ours, ns3)


def test_the_table_tells_values_ratio_interval_and_why() -> None:
    rows = table.as_record(
        [
            compare("a", QUEUE, [50.0, 60.0], [50.0, 60.0]),
            compare("a", Quantity("packets", "", 0, digits=0), [100.0], [100.0]),
            compare("never heard of", QUEUE, [10.0], [20.0]),
        ]
    )
    assert table.markdown(rows).splitlines()[2:] == [
        "| a | mean queue | 2 | 55.0 packets | 55.0 packets | 1.000 (1.000 to 1.000) | alike |",
        "|  | packets | 1 | 100 | 100 | 1.0000 | alike |",
        "| never heard of | mean queue | 1 | 10.0 packets | 20.0 packets | 2.0000 | differs |",
        "",
        "- **never heard of**: not explained.",
    ]


def test_a_verdict_that_changes_is_told() -> None:
    before = {"cases": table.as_record([compare("a", QUEUE, [10.0], [10.0])]), "variants": []}
    after = {"cases": table.as_record([compare("a", QUEUE, [10.0], [20.0])]), "variants": []}
    assert table.changed(before, before) == []
    assert table.changed(after, before) == ["a, mean queue: alike on record, differs now"]
    assert table.changed({"cases": [], "variants": []}, before) == [
        "a, mean queue: alike on record, not there now"
    ]


def test_the_record_s_verdicts_follow_from_its_numbers() -> None:
    for row in record()["cases"] + record()["variants"]:
        assert row["verdict"] == verdict(row["low"], row["high"], row["limit"])
        if row["seeds"] == 1:
            assert row["ns3"] - row["ours"] == pytest.approx(row["low"], abs=1e-9)


def test_the_record_has_every_case() -> None:
    names = {row["case"] for row in record()["cases"]}
    expected = {case.name for case in [*tcp.CASES, *scheduling.CASES]} | {"fat-tree, paced flows"}
    assert names == expected


def test_the_document_has_the_table_on_record() -> None:
    text = (ROOT / "docs" / "validation.md").read_text("utf-8")
    assert table.replaced(text, record()) == text


def test_every_difference_on_record_is_explained() -> None:
    rows = record()["cases"] + record()["variants"]
    differing = {row["case"] for row in rows if row["verdict"] != ALIKE}
    assert differing == set(table.reasons())


def test_flows_are_written_as_hpcc_writes_them(tmp_path: Path) -> None:
    write_flows(tmp_path / "flows.txt", fabric.flows()[:1])
    count, line = (tmp_path / "flows.txt").read_text().splitlines()
    src, dst, priority, _, size, start = line.split()
    assert (count, src, priority) == ("1", "0", "0")
    assert dst != src
    assert int(size) % 1000 == 0
    assert float(start) == pytest.approx(fabric.flows()[0].start_s, abs=1e-12)


def test_rows_are_kept_in_full() -> None:
    row = compare("a", QUEUE, [10.0], [20.0])
    assert table.as_record([row]) == [asdict(row) | {"ratio": 2.0}]
