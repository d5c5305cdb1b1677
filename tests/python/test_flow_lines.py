"""``explain --flow`` for flows that are neither victims nor named at a root."""

from __future__ import annotations

import re
from typing import Any

import pytest

import unpause
from scenarios import CAUSES, entry, flow, scheme, section, star
from unpause.data.result import Run
from unpause.explanation import flow_lines

ONE_SWITCH = star(4, seed=1, pfc={"xoff": "50KB"}, probes=CAUSES)
STORM = entry("event", kind="pause-storm", node="H0", at="50us", until="400us")


def _flow(name: str, ends: str, **keys: Any) -> str:
    src, dst = ends.split("->")
    size = {} if "offered" in keys else {"size": "1MB"}
    return flow(name, src, dst, **size, **keys)


def _run(*parts: str) -> Run:
    text = "".join([ONE_SWITCH, *parts, scheme("x")])
    return unpause.run(text, progress=False).runs_of("x")[0]


def _said(run: Run, name: str, at_ns: float | None = None) -> str:
    return " ".join(" ".join(flow_lines.lines(run, name, 100, at_ns)).split())


def test_a_flow_that_was_stopped_on_its_own_path_waited() -> None:
    run = _run(_flow("f", "H1->H0", start="40us"), STORM, _flow("far", "H2->H3"))
    [filled] = {it["cause_id"] for it in run.table("causes").to_pylist() if it["flow_id"] == 1}
    assert filled == 1
    said = _said(run, "f")
    assert "waited for no PAUSE" not in said
    assert "1 of 2 PAUSEs was sent by ingresses that held its packets." in said
    paused = {f"{it['node']}->{it['peer']}": it for it in run.table("pauses").to_pylist()}
    assert set(paused) == {"S0->H0", "H1->S0"}
    for link in paused:
        assert re.search(f"{link} (was paused )?for 3", said)
    assert "S0->H0 and H1->S0 were paused at that time" in _said(run, "f", 100_000.0)
    assert "waited for no PAUSE, and none was sent for its packets." in _said(run, "f", 1_000.0)
    # No link of this one was ever paused.
    assert _said(run, "far").endswith("waited for no PAUSE, and none was sent for its packets.")


def test_who_filled_a_busy_link_is_named() -> None:
    two = section("[switch]", lossless=[1, 2])
    low, high = _flow("low", "H1->H0", priority=1), _flow("high", "H2->H0", priority=2)
    run = _run(two, low, high, _flow("other", "H2->H3", priority=2))
    assert "(Busy link S0->H0, priority 1)" in _said(run, "low")
    assert "high (H2 -> H0) used S0->H0 in priority 2 meanwhile" in _said(run, "high")
    assert "used S0->H0" not in _said(run, "other")


@pytest.mark.parametrize("own", [True, False])
def test_acks_that_were_paused_are_named(own: bool) -> None:
    """Those of `a` leave H1, which is paused because of H0."""
    host = section("[host]", ack_priority="flow" if own else "control", window="100KB")
    run = _run(host, _flow("f", "H1->H0"), _flow("a", "H2->H1", start="45us"), STORM)
    said = _said(run, "a")
    assert ("path of its ACKs, H1->S0 was paused for 3" in said) is own
    assert ("waits of ACKs are not counted" in said) is own
