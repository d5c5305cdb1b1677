"""The interactive page of a run, in a real browser where there is one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import unpause
from conftest import Builder, Opened
from scenarios import flow, scheme, star
from test_explain import SHARED
from unpause import text
from unpause.pages import explore
from unpause.pages.explored import Detail

PROBES = 'causes = true\nports = ["S0->S1", "S1->R1"]\ninterval = "5us"'
RECORDED = SHARED.replace('name = "F1"', 'name = "F1"\nrecord = true')


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("explored") / "shared"
    unpause.run(RECORDED.replace("causes = true", PROBES), progress=False).write(at)
    assert explore.main([str(at)]) == 0
    return at


@pytest.fixture(scope="module")
def page(directory: Path, opened: Opened) -> Iterator[Any]:
    """The page, opened; at the end it has asked for nothing."""
    address = (directory / "explore.html").as_uri()
    with opened(address) as (page, asked):
        yield page
        assert asked == [address]


def _pauses(directory: Path, node: str, peer: str, scheme: str) -> list[dict[str, Any]]:
    [run] = unpause.load(directory).runs_of(scheme)
    rows = run.table("pauses").to_pylist()
    return [row for row in rows if (row["node"], row["peer"]) == (node, peer)]


def test_a_link_shows_its_pauses(page: Any, directory: Path) -> None:
    page.locator('.hit[data-port="S0->S1"]').dispatch_event("click")
    said = page.locator("#detail").inner_text()
    rows = _pauses(directory, "S0", "S1", "PFC")
    together = sum(row["end_ns"] - row["start_ns"] for row in rows)
    found = re.search(r"PFC: paused (\d+) times, ([0-9.]+) us", said)
    assert found, said
    assert int(found[1]) == len(rows)
    assert float(found[2]) == pytest.approx(together / 1e3, rel=1e-2)
    assert page.evaluate('stoppedFor(run(), "S0->S1")') == pytest.approx(together, rel=1e-3)
    titles = page.locator("#charts .u-title").all_inner_texts()
    assert titles == ["S0->S1: paused", "S0->S1: queue", "S0->S1: sent"]
    assert page.locator("#list tr.chosen").inner_text().startswith("S0->S1")


def test_a_link_is_one_line(page: Any) -> None:
    """Its two halves meet in the middle."""
    ends = page.evaluate("""["S0->S1", "S1->S0"].map((name) =>
        ["x1", "y1", "x2", "y2"].map((end) => {
          return Number(drawnLinks.get(name).line.getAttribute(end)); }))""")
    (x1, y1, x2, y2), (other_x1, other_y1, *middle) = ends
    assert [x2, y2] == middle == [(x1 + other_x1) / 2, (y1 + other_y1) / 2]
    assert "hosts and links that carried nothing" in page.locator(".legend").inner_text()


def test_the_slider_moves_the_picture(page: Any, directory: Path) -> None:
    rows = _pauses(directory, "H0", "S0", "PFC")
    middle = (rows[0]["start_ns"] + rows[0]["end_ns"]) / 2
    end = unpause.load(directory).runs.to_pylist()[0]["simulated_ns"]

    def stopped(time_ns: float) -> bool:
        page.evaluate(f"go({time_ns})")
        line = page.evaluate('drawnLinks.get("H0->S0").line.getAttribute("class")')
        return "stopped" in line

    assert stopped(middle)
    assert not stopped(rows[0]["start_ns"] - 1_000)
    page.evaluate("zoom(0, state.end)")
    page.locator("#slider").fill("5000")
    assert page.evaluate("state.now") == pytest.approx(end / 2)
    page.keyboard.press("[")
    starts = [
        row["start_ns"] for row in unpause.load(directory).pauses.to_pylist() if not row["run"]
    ]
    last = max(start for start in starts if start < end / 2)
    assert page.evaluate("state.now") == pytest.approx(last, abs=1)


def test_queues_are_those_of_the_table(page: Any, directory: Path) -> None:
    [run] = unpause.load(directory).runs_of("PFC")
    rows = run.table("port_series").to_pylist()
    most = max(row["queue_bytes"] for row in rows if row["node"] == "S1")
    shown = page.evaluate('Math.max(...values(run(), run().ports["S1->R1"].queue_bytes))')
    assert shown == most


def test_recorded_flows_are_those_of_the_table(page: Any, directory: Path) -> None:
    page.locator("#find").fill("F1")
    page.locator("#list").get_by_role("button", name="F1", exact=True).click()
    titles = page.locator("#charts .u-title").all_inner_texts()
    assert titles == ["F1: goodput", "F1: rate allowed", "F1: notifications so far"]
    page.locator("#find").fill("")
    [run] = unpause.load(directory).runs_of("PFC+PCN")
    rows = run.table("flow_series").to_pylist()
    shown = page.evaluate("Array.from(values(current[1], current[1].flows.F1.controller_rate_bps))")
    rates = [row["controller_rate_bps"] for row in rows]
    # In steps of 100 kb/s.
    assert [min(shown), max(shown)] == pytest.approx([min(rates), max(rates)], abs=5e4)
    got = page.evaluate("Array.from(values(current[1], current[1].flows.F1.delivered_bytes))")
    assert got[-1] == pytest.approx(rows[-1]["delivered_bytes"], abs=256)


def test_trees_are_those_of_explain(page: Any) -> None:
    said = page.locator("#trees").inner_text()
    assert "Incast at S1->R1" in said
    assert "S1 paused S0" in said
    assert "1 victim: F0 (H0 -> R0)" in said
    page.get_by_role("button", name="S0 paused H0").click()
    assert page.locator("#chosen").inner_text() == "H0->S0"


def test_schemes_and_themes_can_be_chosen(page: Any) -> None:
    page.locator("#scheme").select_option(label="PFC+PCN")
    assert page.evaluate("state.line") == 1
    page.locator("#scheme").select_option(label="PFC")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.locator("#theme").click()
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 420", timeout=5_000)


def test_tables_are_those_of_the_result(page: Any, directory: Path) -> None:
    [run] = unpause.load(directory).runs_of("PFC")
    flows = run.table("flows").to_pylist()
    page.get_by_role("tab", name="Flows").click()
    rows = page.locator("#table tbody tr")
    assert rows.count() == len(flows)
    page.locator("#table th", has_text="FCT").get_by_role("button").click()
    page.locator("#filter").fill("burst B3")
    assert rows.count() == 1
    [flow] = [it for it in flows if it["src"] == "B3"]
    said = rows.first.inner_text().split("\t")
    assert said[:4] == [f"#{flow['flow_id']}", "burst", "B3", "R1"]
    assert said[7] == text.time(flow["fct_ns"])
    page.locator("#filter").fill("")
    slowest = max(it["fct_ns"] for it in flows if it["fct_ns"] is not None)
    times = [it.split("\t")[7] for it in rows.all_inner_texts()]
    assert next(filter(None, times)) == text.time(slowest)
    page.get_by_role("tab", name="Causes").click()
    causes = {row["cause_id"] for row in run.table("causes").to_pylist()}
    assert f"of {len(causes)} rows" in page.locator("#about-table").inner_text()
    page.get_by_role("tab", name="Victims").click()
    [victim] = run.table("victims").to_pylist()
    assert text.time(victim["waited_ns"]) in page.locator("#table tbody").inner_text()
    page.get_by_role("tab", name="Schemes").click()
    ports = unpause.load(directory).runs_of("PFC+PCN")[0].table("ports").to_pylist()
    row = rows.nth(1).inner_text().split("\t")
    assert row[:2] == ["PFC+PCN", str(sum(it["pause_events"] for it in ports))]


def test_flows_are_marked_where_they_start_and_end(page: Any, directory: Path) -> None:
    [run] = unpause.load(directory).runs_of("PFC")
    flows = [it for it in run.table("flows").to_pylist() if it["src"] == "B3"]
    found = page.evaluate('eventsOf("B3->S1")')
    assert [(it["time"], it["text"]) for it in found] == [
        (flows[0]["start_ns"], "burst B3->R1 starts"),
        (pytest.approx(flows[0]["start_ns"] + flows[0]["fct_ns"], abs=1), "burst B3->R1 ends"),
    ]


def test_a_window_is_one_for_all(page: Any) -> None:
    page.evaluate('choose("S0->S1")')
    page.evaluate("zoom(2e5, 4e5)")
    page.wait_for_function(
        "plots.every((it) => it.scales.x.min === 0.2 && it.scales.x.max === 0.4)"
    )
    page.locator("#slider").fill("5000")
    assert page.evaluate("state.now") == pytest.approx(3e5)
    page.locator("#whole").click()
    assert page.evaluate("state.to === state.end")


def test_short_pauses_do_not_make_a_bar_longer(page: Any) -> None:
    drawn = page.evaluate("""() => {
        const drawn = [];
        const ctx = { save() {}, restore() {}, fillRect(x, y, w) { drawn.push([x, x + w]); } };
        const plot = { ctx, bbox: { left: 0, top: 0, width: 100, height: 10 },
          scales: { x: { min: 0, max: 100 } }, valToPos: (it) => it };
        const start = Array.from({ length: 500 }, (_, i) => (10 + i / 100) * 1e6);
        bars(plot, start, start.map((it) => it + 2e3), 0, 1, "red", 1);
        return drawn;
    }""")
    assert drawn[0][0] == pytest.approx(10)
    assert drawn[-1][1] <= 16
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(drawn))


def test_keys_do_what_the_help_says(page: Any) -> None:
    page.evaluate("document.activeElement.blur(); go(5e5)")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("state.now") > 5e5
    page.keyboard.press("s")
    assert page.evaluate("state.line") == 1
    page.keyboard.press("S")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.press("Tab")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")


def test_paper_is_white(page: Any) -> None:
    page.evaluate('document.documentElement.dataset.theme = "dark"')
    page.emulate_media(media="print")
    page.evaluate('dispatchEvent(new Event("beforeprint"))')
    assert page.evaluate("isDark()") is False
    assert not page.locator("#slider").is_visible()
    assert page.locator("#trees").is_visible()
    page.evaluate('dispatchEvent(new Event("afterprint"))')
    assert page.evaluate("isDark()") is True
    page.emulate_media(media="screen")


def test_a_host_that_is_idle_in_the_first_run_only_is_drawn(tmp_path: Path) -> None:
    """H3 sends under the second scheme, H4 under none."""
    text = star(
        5,
        scheme("A"),
        scheme("B"),
        flow("both", "H1", "H0", size="10KB"),
        flow("second", "H3", "H2", size="10KB", schemes=["B"]),
        duration="100us",
    )
    result = unpause.run(text, progress=False)
    [fabric] = about(explore.page(result))["fabrics"]
    assert [name for name, _ in fabric["nodes"]] == ["H0", "H1", "H2", "H3", "S0"]


def test_the_pauses_of_two_results_have_names(
    directory: Path, tmp_path: Path, opened: Opened
) -> None:
    """Bars of one scheme have one colour in both results."""
    result = unpause.load(directory)
    file = tmp_path / "both.html"
    file.write_text(explore.in_one_file(explore.Explored({"a": result, "b": result})), "utf-8")
    with opened(file.as_uri()) as (page, _):
        named = page.evaluate("""() => {
            const written = [];
            const own = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
              written.push([text, y]); return own.call(this, text, x, y); };
            choose("S0->S1");
            return new Promise((done) => setTimeout(() => done(written), 200));
        }""")
    rows = {
        text: y for text, y in named if text in {"a: PFC", "a: PFC+PCN", "b: PFC", "b: PFC+PCN"}
    }
    assert list(rows) == ["a: PFC", "a: PFC+PCN", "b: PFC", "b: PFC+PCN"]
    assert sorted(rows.values()) == list(rows.values())
    assert len(set(rows.values())) == 4


def test_several_seeds_can_be_chosen(tmp_path: Path, opened: Opened) -> None:
    at = tmp_path / "seeds"
    unpause.run(SHARED, duration="500us", seeds=3, progress=False).write(at)
    assert explore.main([str(at)]) == 0
    with opened((at / "explore.html").as_uri()) as (page, _):
        options = page.locator("#point option").all_inner_texts()
        assert options == ["seed 1", "seed 2", "seed 3"]
        page.locator("#point").select_option(label="seed 3")
        page.wait_for_function("state.point === 2")
        assert page.evaluate("run().number") == 4
        run = unpause.load(at).runs_of("PFC")[2]
        events = sum(row["pause_events"] for row in run.table("ports").to_pylist())
        assert page.evaluate("run().pauses") == events


def test_claims_stand_with_their_verdicts(
    tmp_path: Path, pcn_f2: Callable[[], Builder], opened: Opened
) -> None:
    at = pcn_f2().write(tmp_path / "f2")
    assert explore.main([str(at)]) == 0
    claims = unpause.load(at).claims()
    with opened((at / "explore.html").as_uri()) as (page, _):
        page.get_by_role("tab", name="Claims").click()
        rows = page.locator("#table tbody tr")
        assert rows.count() == len(claims)
        said = rows.nth(0).inner_text()
        assert claims[0].id in said
        assert claims[0].verdict.value in said
        page.locator("#filter").fill("PCN-F3.")
        assert rows.count() == sum("PCN-F3." in it.id for it in claims) > 1


def about(html: str) -> dict[str, Any]:
    """The data of a page before its runs."""
    data = re.search(r'<script id="about" type="application/json">(.*?)</script>', html, re.S)
    assert data
    return json.loads(data[1])


def test_what_is_left_out_is_said(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "DETAILS", (Detail(5, 10),))
    left_out = about(explore.page(unpause.load(directory)))["leftOut"]
    assert "PFC: gaps between PAUSEs of less than 3e+03 us." in left_out
    assert "PFC: of table flows all but the slowest 5 of 12." in left_out
    assert left_out[-1] == "`unpause view` shows everything."


def test_schemes_without_a_colour_are_left_out(tmp_path: Path) -> None:
    more = "".join(f'[[scheme]]\nname = "x{number}"\n' for number in range(9))
    eleven = SHARED.replace("[[traffic]]", more + "[[traffic]]", 1)
    unpause.run(eleven, duration="50us", progress=False).write(tmp_path / "eleven")
    result = unpause.load(tmp_path / "eleven")
    assert len(result.schemes) == 11
    shown = about(explore.page(result))
    assert [it["label"] for it in shown["lines"]] == result.schemes[:10]
    assert len({it["colour"] for it in shown["lines"]}) == 10
    assert len(shown["runs"]) == 10
    assert shown["leftOut"] == ["All but the first 10 of 11 schemes."]
    # Side by side, schemes of one name share a colour; a chart has room for twelve lines.
    both = explore.Explored({"a": result, "b": result})
    names = [f"a: {name}" for name in result.schemes[:10]]
    assert [it["label"] for it in both.lines] == [*names, "b: PFC", "b: PFC+PCN"]
    assert both.left_out == ["All but the first 12 of 22 schemes."]


def test_what_does_not_fit_is_told_with_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = tmp_path / "seeds"
    unpause.run(SHARED, duration="500us", seeds=3, progress=False).write(at)
    whole = explore.page(unpause.load(at))
    frames = re.findall(r'<script id="run-\d".*?>(.*?)</script>', whole)
    monkeypatch.setattr(explore, "MOST_BYTES", sum(map(len, frames[:3])))
    less = explore.page(unpause.load(at))
    assert (less.count('<script id="run-'), len(frames)) == (2, 6)
    assert "All but the first 1 of 3 seeds and swept values." in about(less)["leftOut"]
    # Not even the first fits: it is told with fewest rows.
    monkeypatch.setattr(explore, "MOST_BYTES", 100)
    monkeypatch.setattr(explore, "DETAILS", (Detail(2_000, 100_000), Detail(3, 100_000)))
    least = about(explore.page(unpause.load(at)))["leftOut"]
    assert "PFC: of table flows all but the slowest 3 of 12." in least


def test_without_causes_it_says_how_to_get_trees(tmp_path: Path) -> None:
    quiet = tmp_path / "quiet"
    scenario = SHARED.replace("causes = true", "")
    unpause.run(scenario, duration="50us", progress=False).write(quiet)
    assert "Add causes = true under [probes]" in explore.page(unpause.load(quiet))


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("link.loss", 1e-9, "1e-9"),
        ("link.loss", 2.5e-10, "2.5e-10"),
        ("n", 1_000_000.0, "1000000"),
        ("pfc.xoff_bytes", 65_536.0, "65.536 KB"),
        ("placement", "packed", "packed"),
    ],
)
def test_swept_values_are_written_as_the_command_line_does(
    name: str, value: float | str, written: str
) -> None:
    assert text.value_text(name, value) == written
