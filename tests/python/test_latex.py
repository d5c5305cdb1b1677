"""Tables for LaTeX and figures as PDF."""

from __future__ import annotations

from pathlib import Path

import pytest

import unpause
from conftest import Builder
from scenarios import PFC, burst, star
from unpause.commands import latex
from unpause.pages import overview
from unpause.pages.overview import Cell, Overview

SWEPT = star(
    3,
    PFC,
    burst("f", "H0..H1", "H2", size="200KB"),
    rate="40Gbps",
    title="Two flows into one port",
    duration="200us",
)


def test_what_latex_reads_as_commands_is_escaped() -> None:
    assert latex.escaped("S0->H1: 50 % & ECN♯_{a} ~ \\x") == (
        r"S0-\textgreater{}H1: 50 \% \& ECN$\sharp$\_\{a\} \textasciitilde{} \textbackslash{}x"
    )


def test_a_table_has_best_in_bold_and_worst_in_italics() -> None:
    told = Overview(
        title="A & B",
        name_heads=["scheme", "load"],
        names=[("PFC", "50 %"), ("PCN", "50 %")],
        heads=[("slowdown", "p99", ""), ("recovers", "after", "ms")],
        rows=[
            [Cell("9.1", "±0.2", "!"), Cell(">3", "")],
            [Cell("2", "±0.1", "*"), Cell("-")],
        ],
        legend="Means of 3 seeds; * best, ! worst.",
    )
    assert latex.table(told) == "\n".join(
        [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering\small\setlength{\tabcolsep}{4pt}",
            r"  \begin{tabular}{llrr}",
            r"    \toprule",
            r"     &  & slowdown & recovers \\",
            r"    scheme & load & p99 & after (ms) \\",
            r"    \midrule",
            r"    PFC & 50 \% & \textit{9.1 $\pm$0.2} & $>$3 \\",
            r"    PCN & 50 \% & \textbf{2 $\pm$0.1} & -- \\",
            r"    \bottomrule",
            r"  \end{tabular}",
            r"  \caption{A \& B. Means of 3 seeds; bold: best, italics: worst.}",
            r"\end{table}",
            "",
        ]
    )


@pytest.fixture
def made(builder: Builder) -> Builder:
    for scheme in ("PFC", "PCN"):
        run = builder.run(scheme)
        builder.flow(run, "t", size_bytes=1_000, fct_ns=1_000.0, slowdown=1.5)
        builder.pause(run, "S0->H0", 1, 2)
    return builder


@pytest.fixture
def directory(made: Builder, tmp_path: Path) -> Path:
    return made.write(tmp_path / "result")


def test_a_result_becomes_a_table_and_figures(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert latex.main([str(directory)]) == 0
    folder = directory / "latex"
    names = sorted(file.name for file in folder.iterdir())
    assert "table.tex" in names
    assert any(name.endswith(".pdf") for name in names)
    said = capsys.readouterr().out
    assert all(str(folder / name) in said for name in names)
    first = {name: (folder / name).read_bytes() for name in names}
    assert all(body.startswith(b"%PDF-") for name, body in first.items() if name.endswith(".pdf"))
    # Nothing is replaced unless that is asked for; then the same comes out.
    assert latex.main([str(directory)]) == 1
    assert "exists" in capsys.readouterr().err
    assert latex.main([str(directory), "--force"]) == 0
    assert {name: (folder / name).read_bytes() for name in names} == first


def test_no_link_is_followed(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "outside").mkdir()
    (directory / "latex").symlink_to(tmp_path / "outside")
    assert latex.main([str(directory), "--force"]) == 1
    assert "is a link" in capsys.readouterr().err
    assert list((tmp_path / "outside").iterdir()) == []


def test_the_table_is_that_of_the_summary(made: Builder) -> None:
    told = overview.of_result(made.result())
    for name in told.names:
        assert latex.escaped(name[0]) in latex.table(told)


def test_a_sweep_has_its_table_and_its_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    unpause.sweep(SWEPT, {"pfc.xoff": ["32KB", "64KB"]}, out=out, progress=False)
    assert latex.main([str(out)]) == 0
    capsys.readouterr()
    assert {it.name for it in (out / "latex").iterdir()} == {"table.tex", "sweep.pdf"}
    table = (out / "latex" / "table.tex").read_text()
    assert r"PFC & 32 KB &" in table
    assert r"PFC & 64 KB &" in table
    assert table.count(r"\\") == 2 + 2
