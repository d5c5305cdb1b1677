"""PAUSEs of queues that stand long after the congestion that let them pile up.

A PAUSE is followed to the egress where its bytes wait at that moment: from the egress that holds
most of them over the PAUSE that keeps it paused, and so on. Where that leads to the root, and more
hosts send there than its link carries, the root is congested *then*. If a PAUSE leads to a queue
of which the hosts cannot overload the link, at the root or elsewhere, and the last PAUSE with a
congested root was released more than :data:`APART_NS` before, a queue was left behind: it *stands*,
because about as much arrives as the link carries.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unpause.data import capacity, series
from unpause.data.result import Run
from unpause.explanation.cause_rows import Causes

#: PAUSEs of a root further apart than this are of another episode.
APART_NS = 250_000.0
#: Kinds of roots that are there as long as PAUSE is sent because of them.
_LASTING = ("pool", "switch", "cycle")


class Sources:
    """The hosts that flows come from.

    Args:
        run: The run.
        flow_ids: Numbers of its flows, in order.
        codes: Of each flow the number of its source.
        names: The source of each number.
    """

    def __init__(
        self, run: Run, flow_ids: np.ndarray, codes: np.ndarray, names: Sequence[object]
    ) -> None:
        self.flow_ids = flow_ids
        self.codes = codes
        table = run.columns("ports", ["node", "port", "peer", "rate_bps"])
        steps = capacity.rates(run)
        #: By node and peer the lowest rate of that link, bit/s.
        self.rates: dict[tuple[str, str], float] = {}
        of_host: dict[str, dict[int, float]] = {}
        for row in table.to_pylist():
            changes = steps.get((row["node"], row["port"]))
            slowest = capacity.lowest(changes, row["rate_bps"], 0.0, np.inf)
            ends = row["node"], row["peer"]
            self.rates[ends] = min(slowest, self.rates.get(ends, np.inf))
            of_host.setdefault(row["node"], {})[row["port"]] = row["rate_bps"]
        #: By number of a source what all its links carry, bit/s.
        self.links = np.array([sum(of_host.get(str(it), {}).values()) for it in names], float)


def queues(causes: Causes, sources: Sources) -> np.ndarray:
    """By PAUSE the row of the queue that stands; -1 of the others."""
    first = causes.first
    main = _main(causes)
    at = main[_ends(causes, main)]
    rows, of_row = np.unique(at, return_inverse=True)
    # No rule applies to roots that are hosts or whole switches.
    fits = _fit(causes, rows, sources)[of_row.ravel()]
    congested = _is_congested(causes, at, fits)
    names = ("root_node", "root_peer")
    keys = [causes.codes[name][first] for name in names] + [causes.numbers["priority"][first]]
    _, root = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
    node, peer = (causes.codes[name][at] for name in ("node", "egress_peer"))
    place = node * len(causes.names["egress_peer"]) + peer
    found = np.full(len(first), -1)
    start, until = (causes.numbers[name][first] for name in ("time_ns", "until_ns"))
    in_order = np.lexsort((start, root.ravel()))
    parts = np.cumsum(np.bincount(root.ravel()))[:-1]
    for ours in np.split(in_order, parts):
        late = _since_long(start[ours], until[ours], congested[ours], (place[ours], fits[ours]))
        found[ours[late]] = at[ours[late]]
    return found


def _since_long(
    start: np.ndarray,
    until: np.ndarray,
    congested: np.ndarray,
    queue: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Which PAUSEs of a root, by time, came after it; those soon after it if others follow late.

    These have the same `queue`: its place, and whether its hosts cannot fill the link.
    """
    place, fits = queue
    last = np.maximum.accumulate(np.where(congested, until, -np.inf))
    after = ~congested & fits & (start > last) & np.isfinite(last)
    keys = np.column_stack([np.cumsum(congested), place])
    _, stretch = np.unique(keys, axis=0, return_inverse=True)
    stretch = stretch.ravel()
    longest = np.full(len(start), -np.inf)
    np.maximum.at(longest, stretch[after], (start - last)[after])
    return after & (longest[stretch] > APART_NS)


def _main(causes: Causes) -> np.ndarray:
    """By PAUSE the row of the egress that held most of its bytes."""
    rows = np.flatnonzero(causes.is_holder)
    rows = rows[np.lexsort((-causes.numbers["egress_bytes"][rows], causes.pause[rows]))]
    is_first = np.diff(causes.pause[rows], prepend=-1) != 0
    found = causes.first.copy()
    found[causes.pause[rows[is_first]]] = rows[is_first]
    return found


def _ends(causes: Causes, main: np.ndarray) -> np.ndarray:
    """By PAUSE the one at the end of its chain, all by place: whose egress was not paused."""
    ids = causes.numbers["cause_id"][causes.first]
    by = causes.numbers["paused_by"][main]
    own = np.arange(len(ids))
    place = np.minimum(np.searchsorted(ids, by), len(ids) - 1)
    follows = (causes.numbers["egress_is_paused"][main] == 1) & (ids[place] == by) & (place < own)
    ahead = np.where(follows, place, own)
    while not np.array_equal(further := ahead[ahead], ahead):
        ahead = further
    return ahead


def _is_congested(causes: Causes, at: np.ndarray, fits: np.ndarray) -> np.ndarray:
    """By PAUSE whether its root was congested then; `at` has the rows of queues that led to it.

    Whether their hosts fit the links is `fits`.
    """
    first = causes.first
    kinds = np.array([str(name) for name in causes.names["root_kind"]])
    kind = kinds[causes.codes["root_kind"][first]]
    node = _same(causes, ("node", at), ("root_node", first))
    egress = node & _same(causes, ("egress_peer", at), ("root_peer", first))
    # Of a host with several NICs, the link of the one.
    nic = node & _same(causes, ("peer", at), ("root_peer", first))
    has_one = np.array([it is None for it in causes.names["root_peer"]])
    nic = np.where(has_one[causes.codes["root_peer"][first]], node, nic)
    found = np.where(kind == "nic", nic, egress) | np.isin(kind, (*_LASTING, "None"))
    return found & ~((kind == "incast") & fits)


def _same(causes: Causes, one: tuple[str, np.ndarray], other: tuple[str, np.ndarray]) -> np.ndarray:
    """Whether two columns of names have the same in these rows."""
    number: dict[object, int] = {}

    def numbers(name: str, rows: np.ndarray) -> np.ndarray:
        every = [number.setdefault(it, len(number)) for it in causes.names[name]]
        return np.array(every)[causes.codes[name][rows]]

    return numbers(*one) == numbers(*other)


def _fit(causes: Causes, rows: np.ndarray, sources: Sources) -> np.ndarray:
    """Whether the hosts that filled these egresses are all known and their links no faster."""
    if not len(rows):
        return np.zeros(0, dtype=bool)
    every = causes.rows_of(causes.first[np.unique(causes.pause[rows])])
    every = every[causes.is_seen[every] & ~np.isnan(causes.numbers["flow_id"][every])]
    # The flows of these in the given egress.
    keys = causes.pause * len(causes.names["egress_peer"]) + causes.codes["egress_peer"]
    order = np.argsort(keys[rows])
    place = order[np.minimum(np.searchsorted(keys[rows][order], keys[every]), len(rows) - 1)]
    is_there = keys[rows][place] == keys[every]
    every, place = every[is_there], place[is_there]
    flow = series.rows_of(sources.flow_ids, causes.numbers["flow_id"][every])
    pairs = np.unique(np.column_stack([place, sources.codes[flow]]), axis=0)
    known = np.bincount(pairs[:, 0], minlength=len(rows))
    sent = np.bincount(pairs[:, 0], weights=sources.links[pairs[:, 1]], minlength=len(rows))
    ends = [(causes.name("node", row), causes.name("egress_peer", row)) for row in rows]
    carried = np.array([sources.rates.get(it, 0.0) for it in ends])
    return (known == causes.numbers["egress_senders"][rows]) & (sent <= carried)
