"""The load that entries of traffic bring, beside the one that they ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

import unpause
from tests.python.conftest import Builder
from unpause.commands import report
from unpause.explanation import loads

TWO = """
duration = "2ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "10Gbps"
delay = "1us"
[[scheme]]
name = "PFC"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "web"
kind = "poisson"
load = 0.3
size = "10KB"
"""


def test_a_sentence_has_both_loads_of_all_seeds(builder: Builder) -> None:
    for seed, offered in ((1, 0.656), (2, 0.7213)):
        run = builder.run("PFC", seed=seed)
        for name, asked in (("web", 0.7), ("late", 0.1)):
            share = offered if name == "web" else None
            builder.add("loads", run=run, scheme="PFC", traffic=name, asked_load=asked,
                        offered_load=share)  # fmt: skip
    assert loads.of_result(builder.result()) == [
        ("Load", "flows bring web 0.656 to 0.721 of the 0.7 that it asks for.")
    ]


def test_a_result_without_a_load_has_no_sentence(builder: Builder) -> None:
    builder.run("PFC")
    assert loads.of_result(builder.result()) == []


def test_the_report_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = unpause.run(TWO, progress=False)
    result.write(tmp_path / "r")
    rows = result.loads.to_pylist()
    assert [row["scheme"] for row in rows] == ["PFC", "DCQCN"]
    assert rows[0]["offered_bytes"] == sum(
        result.runs_of("PFC")[0].table("flows")["size_bytes"].to_pylist()
    )
    built = report.build(tmp_path / "r")
    text = f"flows bring web {rows[0]['offered_load']:.3g} of the 0.3 that it asks for."
    assert built.sentences[-1] == ("Load", text)
    assert text in (tmp_path / "r" / "report.html").read_text("utf-8")
