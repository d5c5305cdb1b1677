"""Why frames were lost after XOFF: not every loss is a matter of headroom."""

from __future__ import annotations

from typing import NamedTuple

import unpause
from unpause.explanation import account, advice
from unpause.explanation.tree_lines import lost
from unpause.explanation.trees import Tree

SCENARIO = """
seed = 1
duration = "1ms"
[topology]
builder = "single-switch"
hosts = 6
rate = "100Gbps"
delay = "1us"
[probes]
causes = true
[host]
{host}
[pfc]
xoff = "50KB"
{pfc}
[[scheme]]
name = "x"
[[traffic]]
name = "f"
kind = "burst"
from = "H1..H{last}"
to = "H0"
size = "{size}"
"""
ERRORS = """
[[event]]
kind = "error-rate"
link = "S0->H1"
loss = {loss}
"""


class _Told(NamedTuple):
    tree: Tree
    lost: str
    advice: str


def _told(*, pfc: str, host: str = "", last: int = 2, size: str = "500KB", more: str = "") -> _Told:
    text = SCENARIO.format(pfc=pfc, host=host, last=last, size=size) + more
    result = unpause.run(text, progress=False)
    [run] = result.runs_of("x")
    [tree] = account.trees(run)
    assert tree.lost > 0
    return _Told(tree, lost(tree), advice.of_run(result, run)(tree))


def test_a_host_that_ignores_pause_needs_no_headroom() -> None:
    for pfc in ('headroom = "40KB"', ""):
        tree, said, advised = _told(pfc=pfc, host='ignore_pause = ["H1"]')
        assert said.startswith("PAUSE on S0->H1 was never obeyed: ")
        assert advised.startswith("let H1 obey PAUSE ([host] ignore_pause)")
        # H1 got PAUSE, and went on.
        assert (tree.hosts, tree.links) == (1, 1)


def test_xoff_frames_may_be_lost_to_errors() -> None:
    all_lost = ERRORS.format(loss="1.0")
    _, said, advised = _told(pfc='headroom = "40KB"', last=4, more=all_lost)
    assert said.startswith("XOFF frames were lost to frame errors on S0->H1: ")
    assert advised.startswith("repair S0->H1: ")


def test_a_pool_is_exhausted_before_the_headroom_of_a_port() -> None:
    both = 'headroom = "30KB"\nheadroom_pool = "30KB"'
    for pfc in (both, 'headroom_pool = "30KB"'):
        _, said, advised = _told(pfc=pfc, last=5, size="100KB")
        assert said.startswith("The headroom pool was exhausted before the headroom of S0->H")
        assert advised.startswith("[pfc] headroom_pool (30KB) was exhausted: raise it, or remove")
    # The advice helps.
    text = SCENARIO.format(pfc='headroom = "30KB"', host="", last=5, size="100KB")
    ports = unpause.run(text, progress=False).tables["ports"].to_pylist()
    assert not any(it["headroom_dropped_packets"] for it in ports)


def test_headroom_that_is_too_small_is_still_named() -> None:
    for pool in ("", '\nheadroom_pool = "300KB"'):
        _, said, advised = _told(pfc='headroom = "5KB"' + pool, last=5)
        assert said.startswith("Headroom too small: ")
        assert advised.startswith("[pfc] headroom (5KB) is too small: remove it")
