"""What could be changed about a congestion tree: the first rule of docs/explain.md that applies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpause.causes import Tree
from unpause.text import rate


def of_tree(tree: Tree, scheme: Mapping[str, Any], rate_bps: int, is_host: bool) -> str:
    """One sentence.

    Args:
        tree: The tree.
        scheme: The scheme's table in the scenario.
        rate_bps: Of the root's link; 0 if it has none.
        is_host: Whether the root's link leads to a host.
    """
    if tree.kind == "cycle":
        return (
            "break the cycle: let no route go up again after it has come down, or give what "
            "turns a corner another lossless priority"
        )
    if tree.lost:
        return (
            "give every lossless ingress the headroom that its link needs: leave [pfc] headroom "
            "out, and it follows from rate, length and frame size"
        )
    if tree.kind == "nic":
        return f"look at {tree.root.node}: its NIC does not take what is sent to it"
    if tree.kind == "switch":
        return f"a faster processor in {tree.root.node}, or larger input buffers there"
    if tree.kind == "slow-link":
        return (
            f"one sender on a faster link is enough to fill {tree.root}: limit its rate to "
            f"{rate(rate_bps)}, or let a congestion control do so"
        )
    if tree.kind == "busy":
        return (
            f"other priorities fill {tree.root}: give this one a share of it ([switch] scheduler)"
        )
    if scheme.get("congestion_control", "none") == "none":
        return (
            "nothing tells senders to slow down: PAUSE alone holds them, and whoever shares a link "
            "with them; add a congestion_control to the scheme"
        )
    if not is_host:
        return (
            f"{tree.root} is a link between switches: spread these flows over more equal paths, "
            "or give the fabric more capacity than hosts can send"
        )
    *_, senders = tree.inputs
    return (
        f"{senders} hosts sent to one, more than {scheme['congestion_control']} had slowed them by "
        "then: start fewer at a time or below line rate, or raise XOFF where the buffer has room"
    )
