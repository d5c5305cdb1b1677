"""Roots that an override lets send less than their link carries."""

from __future__ import annotations

import pytest

import unpause
from unpause.commands import explain
from unpause.explanation import account, advice

ONE_SENDER = """
seed = 1
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 4
rate = "100Gbps"
delay = "1us"
[probes]
causes = true
[pfc]
xoff = "50KB"
[[override]]
{where}
max_rate = "10Gbps"
[[scheme]]
name = "x"
[[traffic]]
name = "f"
kind = "flow"
from = "H1"
to = "H0"
size = "500KB"
"""
#: All of these are S0->H0, priority 3.
WHERE = [
    'ports = "S0->H0"',
    'ports = ["S0->H3", "S0->H0..H1"]\npriorities = [3]',
    'ports = "S*->H*"',
    'switches = "S0"',
    "priorities = [2, 3]",
]


@pytest.mark.parametrize("where", WHERE)
def test_max_rate_is_named_where_it_fills_a_link(where: str) -> None:
    source = ONE_SENDER.format(where=where)
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
    elsewhere = ONE_SENDER.format(where='ports = "S0->H2..H3"')
    burst = elsewhere.replace('from = "H1"', 'from = "H1..H3"').replace('"flow"', '"burst"')
    result = unpause.run(burst, progress=False)
    text = "\n".join(explain.lines(result, result.runs_of("x"), 100, None))
    assert "1. Incast at S0->H0, 100 Gb/s: " in text
    assert "max_rate" not in text
