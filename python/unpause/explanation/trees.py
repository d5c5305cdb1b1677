"""A congestion tree, as :mod:`unpause.explanation.causes` puts it together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from unpause.explanation.lost import Reason

#: A root is certain if that part of the bytes leads there, and that part for one reason.
CERTAIN = 0.9
#: Below this it is one of several places.
LIKELY = 0.6


class Egress(NamedTuple):
    """An egress port: node and the node at the other end; None for a host or whole switch."""

    node: str
    peer: str | None

    def __str__(self) -> str:
        return f"{self.node}->{self.peer}" if self.peer else self.node


@dataclass
class Stop:
    """All PAUSEs of a tree from one switch to one neighbour.

    Attributes:
        pauser: Who sent them.
        stopped: Who was stopped.
        pauses: How many.
        paused_ns: How long they held its port, as table `ports` counts it.
        below: The stops that followed from these, longest first.
    """

    pauser: str
    stopped: str
    pauses: int
    paused_ns: float
    below: list[Stop] = field(default_factory=list)


@dataclass(frozen=True)
class Culprit:
    """Flows of a traffic entry that filled the root: which part of its queue was theirs.

    Attributes:
        traffic: The entry.
        flows: How many of them are listed by name.
        share: Which part of the queue was of the entry.
        sources: The hosts of those that are told of by name.
        of_flow: By number of a flow the part that is known to be its own.
    """

    traffic: str
    flows: int
    share: float
    sources: tuple[str, ...]
    of_flow: dict[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Victim:
    """A flow that waited for a root that is not on its path."""

    flow_id: int
    traffic: str
    src: str
    dst: str
    waited_ns: float
    unsent_bytes: int


@dataclass(frozen=True)
class Tree:
    """All PAUSEs of one root.

    Attributes:
        root: Where they began.
        kind: What was there, as `root_kind` of the table; "standing" of a queue that was left.
        share: Which part of the bytes leads there; of a queue that stands, to what had left it.
        sure: Which part of the PAUSEs says that the root is of this kind.
        priority: That was stopped.
        episodes: From when until when, ns.
        pauses: Transitions to XOFF.
        paused_ns: How long links were paused, as table `ports` counts it, added up over all.
        hosts: Hosts that were stopped, and obeyed.
        links: Links on which a PAUSE held anything.
        stops: What the root stopped, with what followed.
        lost: Frames that found no headroom meanwhile.
        expired: PAUSEs that ran out while the ingress was full, and were not sent again.
        inputs: Most ports that filled the root at once, their rate in bit/s, hosts behind them.
        queue_bytes: Longest queue seen there.
        culprits: Largest share first.
        others: The part of the queue that is of flows that are not told of by name.
        victims: Longest waits first, also those for queues that the tree left.
        why_lost: Why most of them were.
        left_by: Of a queue that stands, where the congestion was that had let it pile up.
        left: The queues that stood when the congestion of this tree was over.
        cycle: The egresses that wait for one another, if that is the root.
    """

    root: Egress
    kind: str
    share: float
    sure: float
    priority: int
    episodes: list[tuple[float, float]]
    pauses: int
    paused_ns: float
    hosts: int
    links: int
    stops: list[Stop]
    lost: int
    expired: int
    inputs: tuple[int, float, int]
    queue_bytes: int
    culprits: list[Culprit]
    others: float
    victims: list[Victim]
    cycle: list[Egress]
    why_lost: Reason | None = None
    left_by: Egress | None = None
    left: list[Egress] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether nearly all observations agree."""
        return self.share >= CERTAIN and self.sure >= CERTAIN

    @property
    def is_likely(self) -> bool:
        """Whether most observations agree."""
        return self.share >= LIKELY and self.sure >= LIKELY

    @property
    def harm(self) -> tuple[bool, float, float]:
        """By what trees are ordered: deadlocks first, then waits of victims, then standstill."""
        waited = sum(victim.waited_ns for victim in self.victims)
        return self.kind == "cycle", waited, self.paused_ns


def every_stop(stops: Iterable[Stop]) -> Iterator[Stop]:
    """All of them, and all below."""
    for stop in stops:
        yield stop
        yield from every_stop(stop.below)
