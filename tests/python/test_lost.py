"""Why frames were lost after XOFF: not every loss is a matter of headroom."""

from __future__ import annotations

from typing import Any, NamedTuple

import unpause
from scenarios import CAUSES, burst, entry, scheme, star
from unpause.explanation import account, advice
from unpause.explanation.tree_lines import lost
from unpause.explanation.trees import Tree

Keys = dict[str, Any]


class _Told(NamedTuple):
    tree: Tree
    lost: str
    advice: str


def _run(*more: str, last: int = 2, size: str = "500KB", host: Keys, pfc: Keys) -> unpause.Result:
    sent = burst("f", f"H1..H{last}", "H0", size=size)
    pfc = {"xoff": "50KB", **pfc}
    text = star(6, scheme("x"), sent, *more, seed=1, probes=CAUSES, host=host, pfc=pfc)
    return unpause.run(text, progress=False)


def _told(*more: str, pfc: Keys, host: Keys | None = None, **sizes: Any) -> _Told:
    result = _run(*more, pfc=pfc, host=host or {}, **sizes)
    [run] = result.runs_of("x")
    [tree] = account.trees(run)
    assert tree.lost > 0
    return _Told(tree, lost(tree), advice.of_run(result, run)(tree))


def test_a_host_that_ignores_pause_needs_no_headroom() -> None:
    for pfc in ({"headroom": "40KB"}, {}):
        tree, said, advised = _told(pfc=pfc, host={"ignore_pause": ["H1"]})
        assert said.startswith("PAUSE on S0->H1 was never obeyed: ")
        assert advised.startswith("let H1 obey PAUSE ([host] ignore_pause)")
        # H1 got PAUSE, and went on.
        assert (tree.hosts, tree.links) == (1, 1)


def test_xoff_frames_may_be_lost_to_errors() -> None:
    all_lost = entry("event", kind="error-rate", link="S0->H1", loss=1.0)
    _, said, advised = _told(all_lost, pfc={"headroom": "40KB"}, last=4)
    assert said.startswith("XOFF frames were lost to frame errors on S0->H1: ")
    assert advised.startswith("repair S0->H1: ")


def test_a_pool_is_exhausted_before_the_headroom_of_a_port() -> None:
    pool = {"headroom_pool": "30KB"}
    for pfc in ({"headroom": "30KB", **pool}, pool):
        _, said, advised = _told(pfc=pfc, last=5, size="100KB")
        assert said.startswith("The headroom pool was exhausted before the headroom of S0->H")
        assert advised.startswith(
            "[pfc] headroom_pool (30KB) was exhausted: raise pfc.headroom_pool to "
        )
    # The advice helps.
    helped = _run(pfc={"headroom": "30KB"}, host={}, last=5, size="100KB")
    ports = helped.tables["ports"].to_pylist()
    assert not any(it["headroom_dropped_packets"] for it in ports)


def test_headroom_that_is_too_small_is_still_named() -> None:
    for pool in ({}, {"headroom_pool": "300KB"}):
        _, said, advised = _told(pfc={"headroom": "5KB", **pool}, last=5)
        assert said.startswith("Headroom too small: ")
        assert advised.startswith("[pfc] headroom (5KB) is too small: set pfc.headroom to 27.2 KB")
