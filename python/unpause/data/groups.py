"""Groups of switches, as in a dragonfly, and whether flows go by a third group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unpause.data.result import Run
from unpause.data.setting import Setting

#: How the builder names switches.
_SWITCH = re.compile(r"group(\d+)-switch\d+")


@dataclass(frozen=True)
class Groups:
    """The groups of the nodes of a fabric.

    Attributes:
        of: By name.
        hosts: The nodes that are no switches.
        by_third: Whether flows between two groups go by a third one.
    """

    of: dict[str, int]
    hosts: frozenset[str]
    by_third: bool

    @classmethod
    def find(cls, run: Run, links: Sequence[tuple[str, str]]) -> Groups | None:
        """Groups of a run with these links; None if its topology has none."""
        topology = run.result.scenario.get("topology", {})
        if topology.get("builder") != "dragonfly":
            return None
        names = dict.fromkeys(name for link in links for name in link)
        found = {name: int(match[1]) for name in names if (match := _SWITCH.fullmatch(name))}
        hosts = frozenset(name for name in names if name not in found)
        for node, peer in links:
            for host, switch in ((node, peer), (peer, node)):
                if host in hosts and switch in found:
                    found.setdefault(host, found[switch])
        by_third = Setting(run.result, run).get("switch.balancing") == "valiant"
        return cls(found, hosts, by_third)

    def part(self, node: str, peer: str) -> bool:
        """Whether a link leads from one group to another."""
        return self.of.get(node) != self.of.get(peer)
