"""What failures of links did to flows and neighbours, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unpause.data import series
from unpause.explanation.flaps import PLACES, Flaps
from unpause.text import plural, span, time, were

_MOST_LINKS = 2
_MOST_PAUSED = 2


def short(runs: Sequence[Flaps]) -> str:
    """Such as "9 of 16 flows sent packets again after leaf0-spine1 failed, none gave up"."""
    named = [tuple(dict.fromkeys(link for it in run.outages for link in it.links)) for run in runs]
    links = span([len(every) for every in named], lambda number: f"{number:.0f}") + " links"
    if len(set(named)) == 1 and len(named[0]) <= _MOST_LINKS:
        links = ", ".join(named[0])
    if not any(sum(run.packets.values()) for run in runs):
        return f"nothing was lost when {links} failed"
    return f"{_again(runs)} packets again after {links} failed, {_gave_up(runs)}{_others(runs)}"


def _numbers(values: Sequence[float]) -> str:
    return span(values, lambda number: f"{number:,.0f}")


def _again(runs: Sequence[Flaps]) -> str:
    """Such as "9 of 16 flows sent"; a flow may wait for its timeout until the run ends."""
    if any(run.resent for run in runs):
        flows = _numbers([run.flows for run in runs])
        noun = "flow" if flows == "1" else "flows"
        return f"{_numbers([len(run.resent) for run in runs])} of {flows} {noun} sent"
    return "until the end no flow sent" if any(run.data_packets for run in runs) else "no flow sent"


def _gave_up(runs: Sequence[Flaps]) -> str:
    counts = [len(run.gave_up) for run in runs]
    return f"{_numbers(counts)} gave up" if any(counts) else "none gave up"


def _others(runs: Sequence[Flaps]) -> str:
    """A note that flows may have sent packets again for another reason."""
    drops = [run.other_drops for run in runs]
    if not any(drops):
        return ""
    noun, verb = ("packet", "was") if set(drops) == {1} else ("packets", "were")
    return f" ({_numbers(drops)} data {noun} {verb} lost elsewhere)"


def lost(told: Flaps) -> str:
    """Such as "766 packets were lost: 21 on the wire, 2 in the queue, 743 at the dead port"."""
    every = {place: number for place, number in told.packets.items() if number}
    total = sum(every.values())
    if not total:
        return "nothing was lost"
    where = ", ".join(f"{number:,} {PLACES[place]}" for place, number in every.items())
    return f"{plural(total, 'packet')} {were(total)} lost: {where}"


def flows(told: Flaps) -> str:
    """Such as "9 of 16 flows sent 1,887 packets again, none gave up"."""
    what = plural(told.resent_packets, "packet") if told.resent else "packets"
    return f"{_again([told])} {what} again, {_gave_up([told])}{_others([told])}"


def paused(told: Flaps) -> str:
    """Who paused whom from a failure until routes were back, and afterwards."""
    during = {link: it.during_ns for link, it in told.paused.items() if it.during_ns > 0}
    after = {link: it.after_ns for link, it in told.paused.items() if it.after_ns > 0}
    if not during and not after:
        return "nobody was paused"
    said = _pausers(during) if during else "nobody was paused"
    if any(it.up_ns is None for it in told.outages):
        rest = f"; at other times afterwards, {_pausers(after)}" if after else ""
        return f"while links were down, {said}{rest}"
    if after:
        return f"until routes were back, {said}; at other times afterwards, {_pausers(after)}"
    return f"until routes were back, {said}; nobody was paused afterwards"


def _pausers(by_link: Mapping[str, float]) -> str:
    by_node: dict[str, dict[str, float]] = {}
    for link, paused_ns in by_link.items():
        node, stopped = series.ends(link)
        by_node.setdefault(node, {})[stopped] = paused_ns
    nodes = sorted(by_node, key=lambda node: (-max(by_node[node].values()), node))
    parts = []
    for node in nodes[:_MOST_PAUSED]:
        stopped = sorted(by_node[node].items(), key=lambda it: (-it[1], it[0]))
        if len(stopped) > 2:
            times = f"{len(stopped)} neighbours for up to {time(stopped[0][1])} each"
        else:
            times = " and ".join(f"{peer} for {time(ns)}" for peer, ns in stopped)
        parts.append(f"{node} paused {times}")
    if (more := len(nodes) - _MOST_PAUSED) > 0:
        parts.append(f"{plural(more, 'other node')} paused neighbours")
    return ", ".join(parts)


def whole(told: Flaps) -> str:
    """All of it, in one sentence."""
    return f"{lost(told)}; {flows(told)}; {paused(told)}."
