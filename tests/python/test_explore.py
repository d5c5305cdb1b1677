"""The page to move about in a run, in a real browser where there is one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import unpause
from test_explain import SHARED
from unpause import explore

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PROBES = """
ports = ["S0->S1", "S1->R1"]
interval = "5us"
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("explored") / "shared"
    unpause.run(SHARED + PROBES, progress=False).write(at)
    assert explore.main([str(at)]) == 0
    return at


@pytest.fixture(scope="module")
def page(directory: Path) -> Iterator[Any]:
    """The page, opened; at the end it has had no error and asked for nothing."""
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        errors, asked = [], []
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((directory / "explore.html").as_uri())
        page.wait_for_selector("body[data-ready]")
        yield page
        assert errors == []
        assert asked == [(directory / "explore.html").as_uri()]
        browser.close()


def _pauses(directory: Path, node: str, peer: str, scheme: str) -> list[dict[str, Any]]:
    [run] = unpause.load(directory).runs_of(scheme)
    rows = run.table("pauses").to_pylist()
    return [row for row in rows if (row["node"], row["peer"]) == (node, peer)]


def test_a_link_shows_its_pauses(page: Any, directory: Path) -> None:
    page.locator('.hit[data-port="S0->S1"]').dispatch_event("click")
    said = page.locator("#detail").inner_text()
    rows = _pauses(directory, "S0", "S1", "PFC")
    together = sum(row["end_ns"] - row["start_ns"] for row in rows)
    found = re.search(r"PFC: stopped (\d+) times, ([0-9.]+) us", said)
    assert found, said
    assert int(found[1]) == len(rows)
    assert float(found[2]) == pytest.approx(together / 1e3, rel=1e-3)
    titles = page.locator("#charts .u-title").all_inner_texts()
    assert titles == ["S0->S1: stopped by PAUSE", "S0->S1: queue", "S0->S1: sent"]
    assert page.locator("#list tr.chosen").inner_text().startswith("S0->S1")


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
    page.locator("#slider").fill("5000")
    assert page.evaluate("now") == pytest.approx(end / 2)
    page.keyboard.press("[")
    starts = [
        row["start_ns"] for row in unpause.load(directory).pauses.to_pylist() if not row["run"]
    ]
    last = max(start for start in starts if start < end / 2)
    assert page.evaluate("now") == pytest.approx(last, abs=1)


def test_queues_are_those_of_the_table(page: Any, directory: Path) -> None:
    [run] = unpause.load(directory).runs_of("PFC")
    rows = run.table("port_series").to_pylist()
    most = max(row["queue_bytes"] for row in rows if row["node"] == "S1")
    shown = page.evaluate('Math.max(...once(data.runs[0].ports["S1->R1"].queue, 1))')
    assert shown == most


def test_trees_are_those_of_explain(page: Any) -> None:
    said = page.locator("#trees").inner_text()
    assert "Incast at S1->R1" in said
    assert "S1 stopped S0" in said
    assert "Victims: F0 (H0 -> R0)" in said
    page.get_by_role("button", name="S0 stopped H0").click()
    assert page.locator("#chosen").inner_text() == "H0->S0"


def test_schemes_and_themes_can_be_chosen(page: Any) -> None:
    page.locator("#scheme").select_option("PFC+PCN")
    assert page.evaluate("scheme") == 1
    page.locator("#scheme").select_option("PFC")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.locator("#theme").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_function("document.documentElement.scrollWidth <= 420", timeout=5_000)


def test_what_is_left_out_is_said(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "MOST_PAUSES", 10)
    text = explore.page(unpause.load(directory))
    data = re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S)
    assert data
    assert "gaps between PAUSEs" in json.loads(data[1])["leftOut"][0]


def test_without_causes_it_says_how_to_get_trees(tmp_path: Path) -> None:
    quiet = tmp_path / "quiet"
    scenario = SHARED.replace("causes = true", "")
    unpause.run(scenario, duration="50us", progress=False).write(quiet)
    assert "With causes = true in [probes]" in explore.page(unpause.load(quiet))
