"""Text of others that a terminal, a spreadsheet, TeX or a page would obey."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import unpause
from unpause import plain, printed
from unpause.commands import latex, sweep_csv
from unpause.pages import notebook

HOSTILE = "good\x1b[8m\x07\u202eevil\x9b31m\r"
TITLE = json.dumps(HOSTILE)
SCENARIO = f"""\
title = {TITLE}
duration = "50us"
[topology]
builder = "single-switch"
hosts = 3
rate = "40Gbps"
delay = "1us"
[[scheme]]
name = "=PFC"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[traffic]]
name = "-F\\u001b[31m"
kind = "flow"
from = "H0"
to = "H1"
size = "10KB"
record = true
[[job]]
name = "@job\\u202e"
ranks = 2
collective = "all-reduce"
size = "1KB"
iterations = 1
"""
ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose names are hostile, with its report, and what the command printed."""
    folder = tmp_path_factory.mktemp("plain")
    (folder / "s.toml").write_text(SCENARIO, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "unpause", "run", "s.toml", "--out", "out"],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_bytes(done.stdout + done.stderr)
    return folder / "out"


def test_nothing_of_a_scenario_reaches_the_terminal_as_an_escape(out: Path) -> None:
    text = (out.parent / "printed").read_bytes().decode("utf-8")
    assert "good\ufffd[8m" in text
    assert not ODD.search(text)
    for words in (["compare", "out", "out"], ["explain", "out"], ["validate", "s.toml"]):
        done = subprocess.run(
            [sys.executable, "-m", "unpause", *words],
            cwd=out.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not ODD.search(done.stdout + done.stderr), words


def test_pages_have_no_such_characters(out: Path) -> None:
    pages = [*out.glob("*.html"), *out.glob("figures/*.svg")]
    assert len(pages) > 2
    for page in pages:
        text = page.read_text("utf-8")
        assert not ODD.search(text), page
        # A report has the source of the scenario as it was written.
        assert page.name == "report.html" or not re.search(r"\\u(202e|001b)", text), page
    assert not ODD.search(notebook.html(unpause.load(out)))


def test_a_table_for_tex_has_no_such_characters(out: Path, tmp_path: Path) -> None:
    assert latex.main([str(out), "--out", str(tmp_path / "tex")]) == 0
    text = (tmp_path / "tex" / "table.tex").read_text("utf-8")
    assert not ODD.search(text)
    assert "\ufffd" not in text
    assert r"good\textbf{?}[8m" in text


def test_cells_of_csv_are_no_formulas_and_numbers_stay_numbers(out: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unpause", "export", str(out), "--force"], check=False
    )
    assert done.returncode == 0
    for file in (out / "csv").glob("*.csv"):
        text = file.read_text("utf-8")
        assert not ODD.search(text), file
        assert not re.search(r'(^|,)"?[=@]', text, re.MULTILINE), file
    assert "'=PFC" in (out / "csv" / "runs.csv").read_text("utf-8")
    assert "'-F\ufffd[31m" in (out / "csv" / "flows.csv").read_text("utf-8")
    table = pa.table({"scheme": ["=1+1", "PFC"], "=x": [-1.5, 2.0]})
    lines = sweep_csv.text(table).splitlines()
    assert lines[0].startswith("scheme,'=x,") or lines[0].startswith('"scheme","\'=x",')
    assert lines[1].replace('"', "").startswith("'=1+1,-1.5,")


def test_colours_are_only_of_this_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "utf-8"

        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", printed.Printed(terminal))
    print(printed.said([("PFC\x1b[8m", "all \x1b[31mgood")], 80))
    assert terminal.getvalue() == "\x1b[1mPFC\ufffd[8m\x1b[0m: all \ufffd[31mgood\n"


def test_json_is_cleaned_without_another_meaning() -> None:
    values = ["a\\u202e", "\u202e\x1b\x07\b", "tab\tend\n", "\\\u200f", "ü\u2028"]
    found = json.loads(plain.in_json(json.dumps(values)))
    assert found == ["a\\u202e", "\ufffd" * 4, "tab\tend\n", "\\\ufffd", "ü\ufffd"]


def test_a_figure_is_a_picture_in_a_notebook(out: Path) -> None:
    figure = unpause.load(out).figure("fct-cdf")
    assert figure._repr_png_().startswith(b"\x89PNG")
    IPython = pytest.importorskip("IPython.core.formatters", reason="IPython is not installed")
    data, _ = IPython.DisplayFormatter().format(figure)
    assert data["image/png"].startswith(b"\x89PNG")


def test_a_mean_over_samples_of_a_port_is_that_of_the_port() -> None:
    result = unpause.run(SCENARIO + '[probes]\ninterval = "5us"\nports = ["S0->H1"]\n')
    rows = result.priority_series.num_rows
    frame = result.to_pandas("port_series")
    instants = len(set(result.priority_series["time_ns"].to_pylist())) * 2
    assert len(frame) == instants < rows
    assert "priority" not in frame.columns
    each = result.to_pandas("port_series", priorities=True)
    assert len(each) == rows
    assert each.index.name == "priority"
    # The same of the accessor: the mean of each instant is the port's, not that of its priorities.
    sent = result.port_series.to_pandas().groupby(["run", "time_ns"]).tx_bytes.mean()
    assert sent.sum() == each.tx_bytes.sum()
    assert frame.tx_bytes.sum() == each.tx_bytes.sum() > 0
