"""Runs grouped over seeds, how they differ, and the directories of sweeps."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import unpause
from conftest import MS, Builder, Opened
from scenarios import DCQCN, PFC, burst, star
from unpause import ResultError
from unpause.commands import compare, report, sweep_csv
from unpause.commands import sweep as sweep_command
from unpause.pages import overview, textual, unlike
from unpause.pages.summary import Summary, summarise
from unpause.statistics import student
from unpause.statistics.intervals import difference, mean_interval
from unpause.sweeps.grouped import Runs, read
from unpause.sweeps.recorded import measures

FCT = next(measure for measure in measures([]) if measure.name == "FCT mean")


def test_an_interval_is_students() -> None:
    # Of 9, 10, 11: s = 1, t(0.975, 2) = 4.3027.
    found = mean_interval([9, 10, 11])
    assert (found.mean, found.count) == (10, 3)
    assert found.half == pytest.approx(4.30265 / 3**0.5, rel=1e-5)
    assert np.isnan(mean_interval([9]).half)


def test_the_same_seeds_are_compared_pair_by_pair() -> None:
    rng = np.random.default_rng(1)
    seeds = range(1, 9)
    theirs = {seed: float(v) for seed, v in zip(seeds, rng.normal(100, 30, 8), strict=True)}
    # A seed's workload decides most; 5 more in each is no chance.
    ours = {seed: v + 5 + 0.1 * seed for seed, v in theirs.items()}
    paired = difference(ours, theirs)
    assert paired.p == pytest.approx(
        stats.ttest_rel(list(ours.values()), list(theirs.values())).pvalue
    )
    assert not paired.noise
    assert paired.test == "paired t-test, 8 seeds"
    # With other seeds nobody could tell.
    welch = difference({seed + 100: v for seed, v in ours.items()}, theirs)
    expected = stats.ttest_ind(list(ours.values()), list(theirs.values()), equal_var=False)
    assert welch.p == pytest.approx(expected.pvalue)
    assert welch.noise


@pytest.mark.parametrize("degrees", [1, 2, 3, 4.7, 9, 30, 99, 1000, 1e5])
def test_students_distribution_is_scipys(degrees: float) -> None:
    for t in (-50, -8, -3, -1, -0.1, 0, 0.5, 2, 40):
        expected = stats.t.cdf(t, degrees)
        assert student.below(degrees, t) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    for share in (0.6, 0.95, 0.975, 0.999):
        expected = stats.t.ppf(share, degrees)
        assert student.quantile(degrees, share) == pytest.approx(expected, rel=1e-9)


def test_welchs_test_is_scipys() -> None:
    a, b = [3.0, 3.5, 4.1, 2.9], [3.9, 4.4, 5.0, 4.2, 9.0]
    found = difference(dict(enumerate(a)), dict(enumerate(b)))
    assert found.test.startswith("Welch")
    assert found.p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)


def test_equal_runs_are_the_same_and_one_seed_is_unknown() -> None:
    same = difference({1: 5.0, 2: 6.0}, {1: 5.0, 2: 6.0})
    assert same.same
    assert not same.noise
    assert not difference({1: 5.0}, {1: 6.0}).known
    # Without any spread, no difference is chance.
    assert difference({1: 5.0, 2: 6.0}, {1: 4.0, 2: 5.0}).p == 0


def test_a_false_alarm_is_as_frequent_as_it_is_said() -> None:
    rng = np.random.default_rng(2)
    alarms = 0
    for _ in range(2000):
        a, b = rng.normal(10, 2, (2, 5))
        found = difference(dict(enumerate(a)), dict(enumerate(b)))
        alarms += not found.noise
    assert 0.03 < alarms / 2000 < 0.07


def seeds(builder: Builder, factor: float, noise: float, count: int = 5) -> Builder:
    """PFC and PCN over seeds; PCN's FCT is `factor` times PFC's, give or take `noise`."""
    rng = np.random.default_rng(3)
    for scheme in ("PFC", "PCN"):
        for seed in range(1, count + 1):
            run = builder.run(scheme, seed=seed)
            fct_ms = 10 * (1 if scheme == "PFC" else factor * (1 + noise * rng.normal()))
            builder.flow(run, "f", size_bytes=1000, fct_ns=fct_ms * MS)
    return builder


def test_the_summary_marks_what_is_within_noise(builder: Builder) -> None:
    summary = summarise(Runs.of_result(seeds(builder, 1.01, 0.2).result()))
    column = summary.heads.index("FCT mean")
    assert column in summary.noise[1]
    # Equal numbers differ no more than that.
    assert column in summarise(Runs.of_result(seeds(Builder(), 1, 0).result())).noise[1]
    assert not any(summarise(Runs.of_result(seeds(Builder(), 1, 0, count=1).result())).noise)
    clear = summarise(Runs.of_result(seeds(Builder(), 1.5, 0.01).result()))
    assert column not in clear.noise[1]
    assert "±" in clear.rows[1][column]


def test_compare_says_what_differs_and_by_which_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = seeds(Builder(), 1.0, 0.02).write(tmp_path / "a")
    b = seeds(Builder(), 1.4, 0.02).write(tmp_path / "b")
    assert compare.main([str(a), str(b), "--width", "80"]) == 0
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "PFC, b against a: the same." in out
    assert "PCN, b against a: FCT mean +40 %, FCT max +40 %." in out
    assert "paired t-test, 5 seeds, two-sided at 5 %" in out


def test_compare_of_one_seed_promises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = seeds(Builder(), 1.0, 0, count=1).write(tmp_path / "a")
    b = seeds(Builder(), 1.4, 0, count=1).write(tmp_path / "b")
    assert compare.main([str(a), str(b)]) == 0
    assert "One seed each, so noise cannot be estimated." in capsys.readouterr().out
    c = seeds(Builder(), 1.4, 0.02, count=3).write(tmp_path / "c")
    assert compare.main([str(a), str(c)]) == 0
    assert "a: one seed, so noise cannot be estimated." in capsys.readouterr().out


def test_a_page_marks_what_seeds_do_not_explain(
    tmp_path: Path, opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    a = seeds(Builder(), 1.0, 0.02).write(tmp_path / "a")
    b = seeds(Builder(), 1.4, 0.02).write(tmp_path / "b")
    c = seeds(Builder(), 1.01, 0.2).write(tmp_path / "c")
    for directory in (a, b, c):
        _with_ports(directory)
    page = tmp_path / "page.html"
    assert compare.main([str(a), str(b), str(c), "--out", str(page)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"interactive: {page}"
    with opened(page.as_uri()) as (it, asked):
        assert asked == [page.as_uri()]
        assert it.locator("h1").inner_text() == "Made by hand: a, b, c"
        assert "PCN, b against a: FCT mean +40 %" in it.locator("#said").inner_text()
        cells = it.locator("#table td.apart")
        assert {text.split(" +")[1] for text in cells.all_inner_texts()} == {"40 %"}
        row = it.locator("#table tbody tr", has=it.locator("td.apart")).first
        assert row.inner_text().split("\t")[:2] == ["PCN", "b"]
        noise = it.locator("#table tbody tr", has=it.locator("td.noise")).first
        assert noise.inner_text().split("\t")[:2] == ["PCN", "c"]
        labels = it.locator("#scheme option").all_inner_texts()
        assert labels == ["a: PFC", "a: PCN", "b: PFC", "b: PCN", "c: PFC", "c: PCN"]
    assert compare.main([str(a), str(b), "--out", str(page)]) == 1
    assert "--force replaces it" in capsys.readouterr().err
    assert compare.main([str(a), str(b), "--out", str(page), "--force", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert compare.main([str(a), "--out", str(tmp_path / "other.html")]) == 1
    assert "needs two results" in capsys.readouterr().err


def _with_ports(directory: Path) -> None:
    """The fabric that a page draws."""
    made = Builder()
    for run in range(10):
        scheme = "PFC" if run < 5 else "PCN"
        made.rows["runs"].append({"run": run, "scheme": scheme})
        for node, peer in (("H0", "S0"), ("S0", "R0")):
            made.add("ports", run=run, scheme=scheme, node=node, peer=peer, rate_bps=10**10)
    pq.write_table(made.tables()["ports"], directory / "ports.parquet")


def test_what_cannot_be_compared_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = seeds(Builder(), 1.0, 0).write(tmp_path / "a")
    other = Builder()
    other.run("QCN")
    b = other.write(tmp_path / "b")
    assert compare.main([str(a), str(b)]) == 1
    assert "a and b share no scheme" in capsys.readouterr().err
    assert compare.main([str(a), str(tmp_path / "nowhere")]) == 1
    assert "no such directory" in capsys.readouterr().err


SCENARIO = star(
    5, PFC, DCQCN, burst("incast", "H1..H4", "H0", size="500KB"), title="An incast", duration="2ms"
)


@pytest.fixture
def swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, Path]]:
    """Sweeps the scenario from the command line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "incast.toml").write_text(SCENARIO, "utf-8")

    def run(*vary: str) -> tuple[int, Path]:
        options = [part for axis in vary for part in ("--vary", axis)]
        return sweep_command.main(["incast.toml", *options, "-o", "out"]), tmp_path / "out"

    return run


def test_a_sweep_prints_a_table_and_writes_chart_report_and_csv(
    swept: Callable[..., tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = swept("pfc.xoff=64KB,256KB", "seed=1..2")
    assert code == 0
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    rows = [line.split() for line in said.splitlines() if line.startswith("PFC")]
    assert rows[0][:3] == ["PFC", "64", "KB"]
    assert "Means of 2 seeds" in said
    assert {"sweep.csv", "report.html", "figures"} <= {file.name for file in out.iterdir()}
    csv = (out / "sweep.csv").read_text("utf-8").splitlines()
    assert len(csv) == 1 + 8
    assert "pfc.xoff_bytes" in csv[0]
    html = (out / "report.html").read_text("utf-8")
    assert "An incast" in html
    assert "data:image/svg+xml" in html
    runs = read(out)
    assert runs.axes == ["pfc.xoff_bytes"]
    assert runs.seeds == 2
    assert len(runs.groups) == 4


def test_a_sweep_can_be_compared_and_reported(
    swept: Callable[..., tuple[int, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out = swept("pfc.xoff=64KB,256KB")
    capsys.readouterr()
    assert compare.main([str(out), str(out)]) == 0
    assert "PFC, pfc.xoff_bytes 64 KB" in capsys.readouterr().out
    other = out.parent / "other"
    shutil.copytree(out, other)
    assert compare.main([str(out), str(other), "--out", str(out.parent / "page.html")]) == 1
    assert "is a sweep" in capsys.readouterr().err
    for force in ([], ["--force"]):
        assert compare.main([str(out), str(other), "--out", str(tmp_path), *force]) == 1
        assert "is a directory" in capsys.readouterr().err
    assert sweep_csv.main([str(out)]) == 0
    assert (out / "csv" / "sweep.csv").read_bytes() == (out / "sweep.csv").read_bytes()
    assert sweep_csv.main([str(out)]) == 1
    assert "--force replaces it" in capsys.readouterr().err
    assert sweep_csv.main([str(out), "--force", "--out", str(out / "other")]) == 0
    (out / "report.html").unlink()
    assert report.main([str(out)]) == 0
    assert (out / "report.html").is_file()
    (out / "sweep.parquet").unlink()
    with pytest.raises(ResultError, match="not there yet"):
        read(out)


def test_two_keys_are_drawn_as_a_map(swept: Callable[..., tuple[int, Path]]) -> None:
    _, out = swept("pfc.xoff=64KB,256KB", "traffic.incast.size=100KB,500KB")
    built = report.build_sweep(out)
    assert built.drawn == ["sweep"]


def test_points_that_fail_are_named_and_the_others_shown(
    swept: Callable[..., tuple[int, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = swept("pfc.xoff=64KB,256KB", "pfc.xon=50KB,100KB")
    assert code == 1
    said = capsys.readouterr()
    assert "PFC, pfc.xoff=64KB, pfc.xon=100KB" in said.err
    assert "\nPFC+DCQCN " in said.out
    assert "PFC, pfc.xoff=64KB, pfc.xon=100KB" in (out / "report.html").read_text("utf-8")


def test_tables_fit_the_terminal() -> None:
    heads = ["scheme", "xoff", *(f"measure {i}" for i in range(12))]
    rows = [["PFC+DCQCN, 交换机", "64 KB", *(f"{i}.00 ms" for i in range(12))]]
    text = textual.table(Summary(heads, rows), 60)
    assert all(textual._wide(line) <= 60 for line in text.splitlines())
    assert text.count("PFC+DCQCN") > 1
    assert all(f"measure {i}" in text for i in range(12))


def test_a_result_with_a_sweep_of_its_own_has_groups() -> None:
    text = SCENARIO + '[[sweep]]\nname = "n"\nkey = "seed"\nvalues = [1, 2]\n'
    result = unpause.run(text, progress=False)
    assert result.axes == []
    runs = Runs.of_result(result)
    assert [(g.scheme, len(g.rows)) for g in runs.groups] == [("PFC", 2), ("PFC+DCQCN", 2)]
    assert runs.groups[0].by_seed(FCT).keys() == {1, 2}


def test_keys_that_differ_between_scenarios_are_named(tmp_path: Path) -> None:
    made = []
    for name, changed in (
        ("one", 'duration = "1ms"\n[topology]\nbuilder = "star"\n'),
        ("two", 'duration = "2ms"\n[topology]\nbuilder = "star"\n[pfc]\nxoff = "64KB"\n'),
        ("three", 'duration = "1ms"\n[topology]\nbuilder = "star"\n'),
    ):
        builder = seeds(Builder(), 1.5, 0.01, count=2)
        size = "2KB" if name == "two" else "1KB"
        builder.source = (
            f'title = "{name}"\n{changed}[[traffic]]\nname = "a"\nsize = "{size}"\n'
            '[[traffic]]\nname = "b"\n'
        )
        made.append(builder.write(tmp_path / name))
    results = [Runs.of_result(unpause.load(path)) for path in made]
    assert unlike.scenarios(["one", "two", "three"], results) == [
        "The scenario of two differs from that of one in duration, traffic.a.size, pfc."
    ]
    # Older sweeps kept no text of their scenario.
    old = replace(results[0], scenario={"title": "one"})
    assert unlike.scenarios(["one", "two"], [results[0], old]) == [
        "The scenario of two was not recorded: its traffic may be another one."
    ]
    assert unlike.workloads(["one", "two"], [results[0], old]) == {}


def test_the_command_names_the_keys_that_differ(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for duration in ("1ms", "2ms"):
        made = seeds(Builder(), 1.5, 0.01, count=2)
        made.source = f'title = "t"\nduration = "{duration}"\n'
        paths.append(str(made.write(tmp_path / duration)))
    assert compare.main([*paths, "--width", "200"]) == 0
    said = "The scenario of 2ms differs from that of 1ms in duration.\nPFC, 2ms against 1ms: "
    assert said in capsys.readouterr().out


def test_a_statistic_that_an_older_sweep_lacks_is_not_recorded() -> None:
    new = unpause.sweep(SCENARIO, {"seed": [1, 2]}, progress=False)
    old = new.drop_columns(["fct_max_at_least_ns"])
    runs = [Runs.of_sweep(table) for table in (old, new)]
    summary = compare.compared(["old", "new"], runs)
    place = summary.heads.index("FCT max")
    assert summary.rows[0][place] == "not recorded"
    assert summary.rows[1][place].endswith("s")
    assert overview.of_sweep(runs[0]).scope.endswith("Not recorded: fct_max_at_least_ns.")
    assert "Not recorded" not in overview.of_sweep(runs[1]).scope
    assert "fct_max_at_least_ns" in sweep_csv.text(old)
