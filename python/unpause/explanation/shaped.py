"""Egresses that the scenario lets send less than their link carries: `max_rate` of overrides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from unpause import _native
from unpause.data.result import Run
from unpause.data.setting import Setting
from unpause.explanation.trees import Tree


def limit(run: Run, tree: Tree, link_bps: int) -> int | None:
    """The highest rate (bit/s) of the root of a tree, if that is less than its link's."""
    node, peer = tree.root
    if peer is None or tree.kind in ("nic", "switch", "cycle"):
        return None
    rates: dict[bool, int] = {}
    for override in Setting(run.result, run).get("override", []):
        rate = _bps(override.get("max_rate"))
        of_queue = "priorities" in override
        # If several apply to one place, the last one counts.
        if rate is not None and _applies(override, (node, peer), tree.priority):
            rates[of_queue] = rate
    least = min(rates.values(), default=link_bps)
    return least if least < link_bps else None


def _applies(override: Mapping[str, Any], port: tuple[str, str], priority: int) -> bool:
    if priority not in override.get("priorities", [priority]):
        return False
    if "ports" in override:
        ends = (text.partition("->") for text in _listed(override["ports"]))
        return any(_is(node, port[0]) and _is(peer, port[1]) for node, _, peer in ends)
    return any(_is(text, port[0]) for text in _listed(override.get("switches", "*")))


def _listed(written: Any) -> list[str]:
    return [written] if isinstance(written, str) else [str(it) for it in written]


def _is(written: str, name: str) -> bool:
    """Whether a name is meant by a name, a pattern or a range such as ``leaf0..leaf3``."""
    first, dots, last = (it.strip() for it in written.partition(".."))
    ends = [re.fullmatch(r"(.*?)(\d+)", it) for it in (first, last, name)]
    if dots and all(ends):
        (prefix, low), (_, high), (own, number) = (it.groups() for it in ends if it)
        return own == prefix and int(low) <= int(number) <= int(high)
    return fnmatchcase(name, written.strip())


def _bps(written: Any) -> int | None:
    found = _native.in_base_unit(written) if isinstance(written, str) else None
    return found[1] // found[2] if found is not None and found[0] == "_bps" else None
