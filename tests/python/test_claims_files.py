"""Claims: mistakes in their files, and what is written and printed of verdicts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conftest import Builder
from test_claims import CHECK, durations
from unpause.claims import claim as claims
from unpause.claims import verdicts, wording
from unpause.claims.claim import ClaimsError
from unpause.commands import report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[claim]\n", "Expected"),
        ("[[claim]]\nid = 'X.C1'\nkind = 'C'\n", "X.C1: text is missing"),
        (CHECK, "X.C1: burst_duration_ms: expected one of expect, at_least"),
        (CHECK + "expect = { PFC = 1 }\nat_most = 3\n", "found ['expect', 'at_most']"),
        (CHECK + "at_most = 3\n", "schemes is missing"),
        (CHECK.replace("kind", "knd"), "kind is missing"),
        (CHECK.replace('text = "made up"', 'text = "a"\nnotte = "b"'), "did you mean 'note'?"),
        (
            CHECK + 'sweep = { column = "n", pick = "median" }\nat_most = 3\n',
            "X.C1: burst_duration_ms: sweep: pick is one of min, max",
        ),
        (
            CHECK.replace('"burst_duration_ms"\nargs = { burst = "burst" }', '"deadlocked_share"')
            + 'sweep = { pick = "min" }\nat_most = 3\n',
            "deadlocked_share is not of one run",
        ),
        (CHECK + "schemes = ['A']\nexpect = { A = 1 }\nassumed = 'limit'\n", "beside at_least"),
        (CHECK + "schemes = ['A']\nat_most = 1\nassumed = 'x'\n", "one of limit, to 1"),
        (CHECK.replace("[[claim.check]]\n", "") + "expct = 3\n", "did you mean 'expect'?"),
        (CHECK + "expct = 3\n", "unknown key 'expct'; did you mean 'expect'?"),
        (
            CHECK.replace("burst_duration_ms", "burst_duration_us") + "at_most = 3\n",
            "unknown metric 'burst_duration_us'; did you mean 'burst_duration_ms'?",
        ),
        (
            CHECK.replace('burst = "burst"', 'brust = "burst"') + "at_most = 3\n",
            "missing a required argument: 'burst'",
        ),
    ],
)
def test_mistakes_in_a_claims_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ClaimsError, match=r"wrong\.toml") as raised:
        claims.read(file)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim = 3\n", ": claim: expected tables under [[claim]], found 3"),
        (CHECK.replace("[[claim.check]]", "[claim.check]") + "at_most = 3\n",
         ":2: X.C1: check: expected tables under [[claim.check]], found one table"),
        (CHECK + 'at_most = "three"\n', ":6: X.C1: at_most: expected a number, found 'three'"),
        (CHECK + "expect = 3\n", ":6: X.C1: expect: expected a table, found 3"),
        (CHECK + 'expect = { PFC = "a lot" }\n', "expect: PFC: expected a number, found 'a lot'"),
    ],
)  # fmt: skip
def test_what_is_of_another_type_is_told_with_its_line(
    tmp_path: Path, text: str, message: str
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ClaimsError) as raised:
        claims.read(file)
    assert str(raised.value).startswith(str(file))
    assert message in str(raised.value)


def test_keys_of_a_claim_hold_for_all_of_its_checks(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    head, common = CHECK.split("[[claim.check]]\n")
    alone = head + common + 'label = "a"\nexpect = { PFC = 1 }\n'
    own = "[[claim.check]]\n"
    bounds = (
        f'{own}label = "a"\nexpect = {{ PFC = 1 }}\n'
        f'{own}metric = "deadlocked_share"\nargs = {{}}\nschemes = ["PFC"]\nat_most = 3\n'
    )
    file.write_text(alone + (head + common + bounds).replace("X.C1", "X.C2"), "utf-8")
    one, two = claims.read(file)
    assert (one.checks[0].label, one.checks[0].judge) == ("a", "expect")
    assert two.checks[0] == one.checks[0]
    assert two.checks[1].metric.name == "deadlocked_share"


def test_unknown_experiment(builder: Builder) -> None:
    builder.run("PFC")
    with pytest.raises(ClaimsError, match="'PCN-F22'; did you mean 'PCN-F2'"):
        claims.evaluate(builder.result(), ["PCN-F22"])


def test_the_shipped_claims_cover_the_catalogue() -> None:
    stated = [c for file in claims.files() for c in claims.read(file)]
    ids = [c.id for c in stated]
    assert len(ids) == len(set(ids))
    stated_of_f2 = ["C1", "C2", "C3", "C4", "Q1", "Q2", "Q3", "Q4", "Q5", "C5"]
    f2 = [f"PCN-F2.{x}" for x in [*stated_of_f2, "D1", "D2", "D3", "D4"]]
    f3 = [f"PCN-F3.{x}" for x in ["Q1", "Q2", "Q3", "Q4", "Q5"]]
    f5 = [f"PCN-F5.{x}" for x in ["C1", "C2", "D1"]]
    assert [i for i in ids if i.startswith(("PCN-F2.", "PCN-F3.", "PCN-F5."))] == f2 + f3 + f5


def test_written_claims(pcn_f2: Callable[[], Builder], tmp_path: Path) -> None:
    found = pcn_f2().result().claims()
    verdicts.write(found, tmp_path)
    data = json.loads((tmp_path / "claims.json").read_text("utf-8"))
    assert [c["id"] for c in data] == [c.id for c in found]
    assert data[0]["verdict"] == found[0].verdict.value
    table = pq.read_table(tmp_path / "claims.parquet")
    assert table.schema == verdicts.to_table([]).schema
    row = table.filter(table["claim"].to_numpy() == "PCN-F2.D1").to_pylist()[0]
    assert row["scheme"] == "PFC"
    assert row["expected"] == 3.22
    assert row["measured"] == pytest.approx(3.22)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (3.07, "3.07"),
        (123.4, "123"),
        (999.7, "1,000"),
        (1234.5, "1,234"),
        (0.012, "0.012"),
        (2e-5, "2.00e-05"),
        (3e7, "30,000,000"),
        (math.inf, "∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert wording.number(value) == text


def test_claims_in_the_terminal(pcn_f2: Callable[[], Builder], snapshot) -> None:
    found = pcn_f2().result().claims()
    assert report.claims_text(found, width=120) == snapshot


def test_a_note_is_shown_where_the_claim_does_not_hold(builder: Builder, tmp_path: Path) -> None:
    durations(builder, PFC=3.4)
    file = tmp_path / "made-up.toml"
    text = CHECK.replace('text = "made up"', 'text = "made up"\nnote = "the moon"')
    for limit, note in ((2, "the moon"), (4, "")):
        file.write_text(f"{text}schemes = ['PFC']\nat_most = {limit}\n", "utf-8")
        [claim] = claims.evaluate(builder.result(), ["X"], [file])
        assert claim.note == note
        assert ("the moon" in report.claims_text([claim])) == bool(note)
