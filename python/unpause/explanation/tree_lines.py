"""A congestion tree in words, as ``explain`` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from unpause import printed
from unpause.explanation.trees import CERTAIN, Stop, Tree, Victim, every_stop
from unpause.text import plural, rate, size, time, were

_MOST_STOPS = 6
_MOST_FLOWS = 3


def of_tree(tree: Tree, columns: int, at_ns: float | None) -> Iterator[str]:
    """All of a tree, but for its title and what could help."""
    body = [
        f"{plural(tree.pauses, 'PAUSE')}, {time(tree.paused_ns)} in total on "
        f"{plural(tree.links, 'link')}, {plural(tree.hosts, 'host')} paused. {sure(tree)}"
    ]
    if tree.left_by is not None:
        body.append(
            f"{size(tree.queue_bytes)} in the queue, which does not drain: about as much arrives "
            "as the link carries."
        )
    elif tree.inputs[0] and tree.kind != "cycle":
        body.append(
            f"Filled by {plural(tree.inputs[2], 'host')} over {plural(tree.inputs[0], 'port')} "
            f"({rate(tree.inputs[1])} combined); "
            f"{size(tree.queue_bytes)} in the queue."
        )
    if tree.cycle:
        body.append("Each waits for the next: " + ", ".join(map(str, [*tree.cycle, tree.cycle[0]])))
    if tree.lost:
        body.append(lost(tree))
    for text in body:
        yield indented(text, columns)
    yield from paused(tree.stops, columns)
    for text in (*culprits(tree), *victims(tree, at_ns)):
        yield indented(text, columns)


def when(tree: Tree) -> str:
    """From when until when."""
    start, end = tree.episodes[0][0], tree.episodes[-1][1]
    several = f" in {len(tree.episodes)} episodes" if len(tree.episodes) > 1 else ""
    return f"{time(start)} to {time(end)}{several}"


def lost(tree: Tree) -> str:
    """What was lost, and why."""
    lost = f"{plural(tree.lost, 'frame')} {were(tree.lost)} lost after XOFF"
    why = tree.why_lost
    if why is None or why.kind == "headroom":
        return f"Headroom too small: {lost}."
    if why.kind == "expired":
        ran_out = plural(tree.expired, "PAUSE")
        repeated = f"{were(tree.expired)} not repeated"
        return f"{ran_out} expired while the ingress was still full, and {repeated}: {lost}."
    links = f"{', '.join(why.links[:3])}{' and others' * (len(why.links) > 3)}"
    most = "" if why.frames == tree.lost else f", {why.frames:,} of them for this reason"
    reasons = {
        "ignored": f"PAUSE on {links} was never obeyed",
        "errors": f"XOFF frames were lost to frame errors on {links}",
        "unclear": f"Headroom too small, or XOFF frames lost to frame errors on {links}",
        "pool": f"The headroom pool was exhausted before the headroom of {links}",
    }
    return f"{reasons[why.kind]}: {lost}{most}."


def sure(tree: Tree) -> str:
    """How sure the root is."""
    where = f"back to {tree.left_by}" if tree.left_by is not None else "there"
    there = f"{100 * tree.share:.0f} % of the bytes lead {where}"
    if tree.sure < CERTAIN:
        there += f", {100 * tree.sure:.0f} % of them for this reason"
    if tree.is_certain:
        return f"Certain: {there}."
    return f"{'Likely' if tree.is_likely else 'Perhaps'}: {there}."


def paused(stops: Sequence[Stop], columns: int, before: str = "   ") -> Iterator[str]:
    """Who paused whom, each below what it followed from."""
    shown = list(stops[:_MOST_STOPS]) if len(stops) > _MOST_STOPS + 1 else list(stops)
    rest = stops[len(shown) :]
    for at, stop in enumerate(shown):
        last = at == len(shown) - 1 and not rest
        what = f"{plural(stop.pauses, 'time')}, {time(stop.paused_ns)}"
        text = f"{stop.pauser} paused {stop.stopped} {what}"
        yield f"{before}{'└─' if last else '├─'} {text}"[:columns]
        yield from paused(stop.below, columns, before + ("   " if last else "│  "))
    if rest:
        pausers = sorted({stop.pauser for stop in rest})
        who = pausers[0] if len(pausers) == 1 else f"{len(pausers)} switches"
        longest = time(max(stop.paused_ns for stop in rest))
        total = sum(1 for _ in every_stop(rest))
        text = f"{who} paused {len(rest)} more, up to {longest} each"
        further = f", {total - len(rest)} below them" if total > len(rest) else ""
        yield f"{before}└─ {text}{further}"[:columns]


def culprits(tree: Tree) -> Iterator[str]:
    """Whose bytes were in the queue."""
    if not tree.culprits:
        return
    parts = []
    for it in tree.culprits[:_MOST_FLOWS]:
        who = f"{it.traffic}" + (
            f" ({plural(it.flows, 'flow')} of {plural(len(it.sources), 'host')})"
            if it.flows > 1
            else f" ({it.sources[0]})"
        )
        parts.append(f"{who} {100 * it.share:.0f} %")
    more = sum(it.share for it in tree.culprits[_MOST_FLOWS:]) + tree.others
    if more >= 0.005:
        parts.append(f"other flows {100 * more:.0f} %")
    yield f"In its queue: {', '.join(parts)}."


def victims(tree: Tree, at_ns: float | None) -> Iterator[str]:
    """Who waited for it."""
    if not tree.victims:
        return
    parts = [
        f"{it.traffic} ({it.src} -> {it.dst}) {waited([it], ', {} not sent')}"
        for it in tree.victims[:_MOST_FLOWS]
    ]
    rest = tree.victims[_MOST_FLOWS:]
    if rest:
        parts.append(f"{len(rest)} more waited {time(sum(it.waited_ns for it in rest))} in total")
    whole = " in the whole run" if at_ns is not None else ""
    if tree.left:
        queue = "the queue" if len(tree.left) == 1 else "the queues"
        whole += f", of this and of {queue} that it left at {', '.join(map(str, tree.left[:3]))}"
    yield f"{plural(len(tree.victims), 'victim')}{whole}: {'; '.join(parts)}."


def waited(victims: Sequence[Victim], unsent: str) -> str:
    """For how long they waited, and what their hosts did not send, if they were paused."""
    in_total = " in total" if len(victims) > 1 else ""
    text = f"waited {time(sum(it.waited_ns for it in victims))}{in_total}"
    total = sum(it.unsent_bytes for it in victims)
    return text + (unsent.format(size(total)) if total else "")


def indented(text: str, columns: int) -> str:
    """Lines below the title of a tree."""
    return "\n".join("   " + line for line in printed.wrapped(text, columns - 3).split("\n"))
