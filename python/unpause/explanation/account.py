"""The one account of why a run paused: sentences, ``explain``, page and notebook are all of it.

With ``[probes] causes = true`` trees, deadlock and victims are those of tables `causes` and
`victims`. Else :mod:`unpause.explanation.victims` says what can be told from the totals.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from unpause.data.fabric import Fabric, Port
from unpause.data.result import Run
from unpause.explanation import causes, shaped
from unpause.explanation.trees import Culprit, Egress, Tree

#: Runs whose trees are kept for the next question.
_KEPT_RUNS = 12

_KINDS = {
    "incast": "Incast at {root}",
    "slow-link": "Slow link {root}",
    "busy": "Busy link {root}",
    "pool": "Shared buffer taken at {root}",
    "switch": "{root} does not forward fast enough",
    "nic": "PAUSE from {root}",
    "cycle": "Deadlock {root}",
    "standing": "Standing queue at {root}, left by {left_by}",
}


def is_recorded(run: Run) -> bool:
    """Whether the run has written why it paused."""
    if causes.is_older(run.result):
        return False
    return causes.are_there(run.result) or run.columns("causes", ["cause_id"]).num_rows > 0


def trees(run: Run, at_ns: float | None = None) -> list[Tree]:
    """As :func:`unpause.explanation.causes.of_run`; those of whole runs are put together once."""
    if at_ns is not None:
        return causes.of_run(run, at_ns)
    cache = run.result.__dict__.setdefault("_trees_by_run", {})
    if run.run not in cache:
        while len(cache) >= _KEPT_RUNS:
            del cache[next(iter(cache))]
        cache[run.run] = causes.of_run(run)
    return list(cache[run.run])


def ring(cycle: Sequence[Egress]) -> str:
    """Such as "L2->S0->L3->S1->L2"; empty for an empty cycle."""
    return "->".join([*(egress.node for egress in cycle), cycle[0].node]) if cycle else ""


def deadlock(trees: Sequence[Tree]) -> str:
    """The cycle of the first tree that is one, as :func:`ring`; empty if there is none."""
    return next((ring(tree.cycle) or f"through {tree.root}" for tree in trees
                 if tree.kind == "cycle"), "")  # fmt: skip


def titles(run: Run, trees: Sequence[Tree]) -> list[str]:
    """A title of each tree, such as "Incast at S0->H0"; with its priority if there are several."""
    found = []
    nics = {tree.root for tree in trees if tree.kind == "nic"}
    rates = link_rates(run)
    for tree, where in zip(trees, places(run, trees), strict=True):
        _, comma, priority = where.partition(",")
        root = deadlock([tree]) or tree.root
        if tree.kind == "nic":
            root = _nic(tree.root)
        left_by = _nic(tree.left_by) if tree.left_by in nics else _congestion(tree.left_by)
        is_shaped = tree.kind == "busy" and shaped.limit(run, tree, rates.get(tree.root, 0))
        kind = "Shaped link {root}" if is_shaped else _KINDS[tree.kind]
        text = kind.format(root=root, left_by=left_by)
        found.append(text + comma + priority)
    return found


def link_rates(run: Run) -> dict[Egress, int]:
    """The rate of the link of each egress (bit/s)."""
    table = run.columns("ports", ["node", "peer", "rate_bps"])
    rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return {Egress(node, peer): bps for node, peer, bps in rows}


def _nic(at: Egress) -> str:
    """A NIC, by its host, or by its link if the host has several."""
    return f"the NIC {at}" if at.peer else f"the NIC of {at}"


def _congestion(at: Egress | None) -> str:
    """The event at the root of a tree, at an egress or in the only NIC of a host."""
    return "" if at is None else f"congestion at {at}" if at.peer else _nic(at)


def places(run: Run, trees: Sequence[Tree]) -> list[str]:
    """The root of each tree, or that it is a deadlock or a queue that stands.

    With its priority if there are several.
    """
    lossless = run.result.scenario.get("switch", {}).get("lossless", [])
    several = len(lossless) > 1 or len({tree.priority for tree in trees}) > 1
    names = {"cycle": "deadlock", "standing": "standing at {root}"}
    return [
        names.get(tree.kind, "{root}").format(root=tree.root)
        + (f", priority {tree.priority}" if several else "")
        for tree in trees
    ]


def same(one: Tree, other: Tree) -> bool:
    """Whether trees of two runs are of one kind and place; deadlocks are, whatever their cycle."""
    is_cycle = one.kind == "cycle"
    if is_cycle != (other.kind == "cycle") or one.priority != other.priority:
        return False
    if one.left_by != other.left_by:
        return False
    return is_cycle or one.root == other.root


def roots(fabric: Fabric, trees: Sequence[Tree]) -> list[Port]:
    """The egresses where trees began, most harm first; of a NIC, the egress that leads to it.

    Where a queue stands nothing began.
    """
    found: dict[Port, None] = {}
    for tree in (it for it in trees if it.left_by is None):
        for port in fabric.ports:
            if tree.kind == "nic":
                is_root = port.peer == tree.root.node
                is_root &= tree.root.peer in (None, port.node)
            else:
                is_root = port.node == tree.root.node and port.peer == tree.root.peer
            if is_root:
                found[port] = None
    return list(found)


def all_led_somewhere(run: Run) -> bool:
    """Whether every PAUSE was followed to a root; otherwise there may be more victims."""
    return not pc.any(pc.is_null(run.columns("causes", ["root_kind"]).column("root_kind"))).as_py()


def part_of_queue(who: str, entry: Culprit, flow: int | None) -> str:
    """Which part of a queue was of an entry, or of one flow of it as far as its bytes are known.

    Nothing is said of a flow that had no part.
    """
    whole = f"{100 * entry.share:.0f} %"
    if flow is None:
        return f"{entry.traffic} was {whole}"
    own = entry.of_flow.get(flow, 0.0)
    # Small flows are counted together, without their names.
    unnamed = entry.share - sum(entry.of_flow.values())
    if unnamed < 0.005:
        return f"{who} was {100 * own:.0f} %, all of {entry.traffic} {whole}," if own else ""
    bound = f"at least {100 * own:.0f} %" if own else f"at most {100 * unnamed:.0f} %"
    return f"{who} was {bound}, all of {entry.traffic} {whole},"
