"""Roots that an override lets send less than their link carries."""

from __future__ import annotations

from typing import Any

import pytest

import unpause
from scenarios import CAUSES, burst, entry, scheme, star
from unpause.commands import explain
from unpause.explanation import account, advice


def _sent(where: dict[str, Any], *senders: str) -> str:
    flow = burst("f", list(senders) or "H1", "H0", size="500KB")
    own = entry("override", **where, max_rate="10Gbps")
    return star(4, own, scheme("x"), flow, seed=1, probes=CAUSES, pfc={"xoff": "50KB"})


#: All of these are S0->H0, priority 3.
WHERE = [
    {"ports": "S0->H0"},
    {"ports": ["S0->H3", "S0->H0..H1"], "priorities": [3]},
    {"ports": "S*->H*"},
    {"switches": "S0"},
    {"priorities": [2, 3]},
]


@pytest.mark.parametrize("where", WHERE)
def test_max_rate_is_named_where_it_fills_a_link(where: dict[str, Any]) -> None:
    source = _sent(where)
    result = unpause.run(source, progress=False)
    [run] = result.runs_of("x")
    [tree] = account.trees(run)
    assert account.titles(run, [tree]) == ["Shaped link S0->H0"]
    text = "\n".join(explain.lines(result, [run], 100, None))
    assert "1. Shaped link S0->H0, 10 Gb/s of 100 Gb/s (max_rate): " in text
    said = advice.of_run(result, run)(tree)
    assert said.startswith(
        "S0->H0 sends 10 Gb/s of its 100 Gb/s at most (max_rate of [[override]])"
    )
    freed = unpause.run(source.replace("10Gbps", "100Gbps"), progress=False)
    assert not freed.runs.to_pylist()[0]["pause_frames"]


def test_another_port_of_that_rate_is_not_named() -> None:
    source = _sent({"ports": "S0->H2..H3"}, "H1", "H2", "H3")
    result = unpause.run(source, progress=False)
    text = "\n".join(explain.lines(result, result.runs_of("x"), 100, None))
    assert "1. Incast at S0->H0, 100 Gb/s: " in text
    assert "max_rate" not in text
