"""Why frames of a congestion tree were lost after XOFF."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from unpause.data.result import Run
from unpause.data.setting import Setting, at_rate, in_bytes

#: A port with less than this many frames of its headroom left had none.
_FRAMES = 2


@dataclass(frozen=True)
class Reason:
    """Why most of the lost frames were.

    Attributes:
        kind: "expired", "ignored", "errors", "pool" or "headroom"; "unclear" if that is errors or
            headroom.
        frames: How many were lost for that.
        links: Where their XOFF went, such as "S0->H1"; most frames first.
    """

    kind: str
    frames: int
    links: tuple[str, ...]


def reason(
    run: Run, lost: dict[tuple[str, str], int], priority: int, expired: int
) -> Reason | None:
    """Of frames by who had sent XOFF to whom; None if there are none."""
    if not lost:
        return None
    if expired:
        return Reason("expired", sum(lost.values()), _links(lost))
    of_kind: dict[str, Counter[tuple[str, str]]] = {}
    look = _Look(run, priority)
    for link, frames in lost.items():
        of_kind.setdefault(look.kind(link), Counter())[link] = frames
    kind, links = max(of_kind.items(), key=lambda it: it[1].total())
    return Reason(kind, links.total(), _links(links))


def obeyed(run: Run) -> set[tuple[str, str, int]]:
    """Who paused whom at any time, in which priority, and was obeyed."""
    names = ["node", "peer", "priority", "paused_ns"]
    rows = run.columns("ports", names).to_pylist()
    return {(it["peer"], it["node"], it["priority"]) for it in rows if it["paused_ns"]}


def _links(lost: dict[tuple[str, str], int]) -> tuple[str, ...]:
    order = sorted(lost, key=lambda it: (-lost[it], it))
    return tuple(f"{pauser}->{stopped}" for pauser, stopped in order)


class _Look:
    def __init__(self, run: Run, priority: int) -> None:
        self.set = Setting(run.result, run)
        self.priority = priority
        self.obeyed = obeyed(run)
        losses = run.columns("losses", ["node", "peer", "reason", "packets", "data_packets"])
        # PFC frames are no data.
        self.errors = {
            (it["node"], it["peer"])
            for it in losses.to_pylist()
            if it["reason"] == "error" and it["packets"] > it["data_packets"]
        }
        names = ["node", "peer", "priority", "rate_bps", "max_ingress_bytes"]
        names += ["tx_bytes", "tx_packets"]
        rows = run.columns("ports", names).to_pylist()
        self.ingress = {(it["node"], it["peer"]): it for it in rows if it["priority"] == priority}
        causes = run.columns("causes", ["node", "peer", "priority", "held_bytes"]).to_pylist()
        #: What an ingress held when it went to XOFF, at least.
        self.at_xoff: dict[tuple[str, str], int] = {}
        for it in causes:
            link = it["node"], it["peer"]
            if it["priority"] == priority:
                least = self.at_xoff.get(link, it["held_bytes"])
                self.at_xoff[link] = min(least, it["held_bytes"])

    def kind(self, link: tuple[str, str]) -> str:
        """Why frames were lost that arrived by this link after its XOFF."""
        has_obeyed = (*link, self.priority) in self.obeyed
        if link in self.errors:
            # Headroom that is not written is enough.
            keys = ("pfc.headroom", "pfc.headroom_delays", "pfc.headroom_pool")
            is_written = any(self.set.get(key) is not None for key in keys)
            return "unclear" if has_obeyed and is_written else "errors"
        if not has_obeyed and self._may_ignore():
            return "ignored"
        return "pool" if self._has_room(link) else "headroom"

    def _may_ignore(self) -> bool:
        """Whether the scenario has nodes that do not obey PAUSE of a priority."""
        overrides: list[dict[str, Any]] = self.set.get("override", [])
        keys = {"lossless", "pfc_to_queue"}
        return bool(self.set.get("host.ignore_pause")) or any(keys & it.keys() for it in overrides)

    def _has_room(self, link: tuple[str, str]) -> bool:
        """Whether a port had headroom of its own left, while the pool of all had none."""
        if self.set.get("pfc.headroom_pool") is None:
            return False
        row, first = self.ingress.get(link), self.at_xoff.get(link)
        if row is None or first is None:
            return False
        own = in_bytes(at_rate(self.set.get("pfc.headroom"), row["rate_bps"]))
        if any("headroom" in it for it in self.set.get("override", [])):
            return False
        # What follows from the link is enough for it.
        left = None if own is None else own - (row["max_ingress_bytes"] - first)
        return left is None or left >= _FRAMES * self._frame(link)

    def _frame(self, link: tuple[str, str]) -> float:
        """Bytes of a frame that arrived by this link, on average."""
        row = self.ingress.get((link[1], link[0]))
        return row["tx_bytes"] / max(1, row["tx_packets"]) if row is not None else 0.0
