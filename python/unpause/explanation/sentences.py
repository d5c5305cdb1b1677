"""One sentence for each scheme: who was paused by whom, who was a victim, what it took."""

from __future__ import annotations

from collections.abc import Sequence

from unpause.data.result import Result
from unpause.explanation import flap_lines, flaps, story
from unpause.explanation.story import Carried, Fairness, Pauser, Story
from unpause.text import rate, size, time

_MOST_PAUSERS = 2
_MOST_SCHEMES = 24


def of_result(result: Result) -> list[tuple[str, str]]:
    """Schemes with their summaries, in order; nothing for very many runs."""
    if result.runs.num_rows > story.MOST_RUNS or len(result.schemes) > _MOST_SCHEMES:
        return []
    told = story.of_result(result)
    base = told[result.schemes[0]]
    found = []
    for scheme, stories in told.items():
        against = base if scheme != result.schemes[0] else None
        if len(stories) == 1:
            text = of_run(stories[0], against[0] if against and len(against) == 1 else None)
        else:
            text = of_runs(stories, result.axes)
        found.append((scheme, text))
    return found


def of_run(told: Story, base: Story | None = None) -> str:
    """The sentence of one run, beside that of the first scheme."""
    parts = [
        _of_deadlock(told),
        _paused(told, base),
        _of_drops(told),
        _of_failures(told),
        _of_victims(told),
        _of_link(told.carried),
        _of_past(told, base),
        _of_end(told, base),
        _of_shares(told),
    ]
    return "; ".join(part for part in parts if part) + "."


def of_runs(stories: Sequence[Story], axes: Sequence[str]) -> str:
    """The sentence of several runs of a scheme: from the least to the most of each number."""
    over = f"{len(stories)} {'runs over ' + ', '.join(axes) if axes else 'seeds'}"
    pauses = [told.pauses for told in stories]
    parts = [f"{_range(pauses)} PAUSEs" if any(pauses) else "no PAUSE"]
    if any(told.pausers for told in stories):
        paused = [sum(p.total_ns for p in told.pausers) for told in stories]
        parts[0] += f"; links were paused for {_time_range(paused)} in total"
    if deadlocked := sum(_is_deadlocked(told) for told in stories):
        parts.insert(0, f"PFC deadlocked in {deadlocked:,} of them")
    if any(pauses) and (text := _victims_of_all(stories)):
        parts.append(text)
    if all(told.carried for told in stories):
        shares = [100 * told.carried.share for told in stories if told.carried]
        first = stories[0].carried
        assert first is not None
        parts.append(f"{first.port} was {_range(shares)} % utilised ({rate(first.rate_bps)})")
    ends = [told.last_ns for told in stories if told.last_ns is not None]
    if len(ends) == len(stories):
        endless = _endless(max(told.endless for told in stories))
        parts.append(f"all flows{endless} were done {_time_range(ends)} after the first started")
    elif unfinished := [told.unfinished for told in stories if told.sized]:
        parts.append(f"{_range(unfinished)} flows were not done at the end")
    return f"In {over}: {'; '.join(parts)}."


def _victims_of_all(stories: Sequence[Story]) -> str:
    """How many victims the runs had, as far as all of them can tell."""
    if any(told.victims is None for told in stories):
        return ""
    victims = [len(told.victims or ()) for told in stories]
    least = "at least " if any(told.maybe_more for told in stories) else ""
    if not any(victims):
        return "" if least else "no victim"
    noun = "victim flow" if max(victims) == 1 else "victim flows"
    return f"{least}{_range(victims)} {noun}"


def _is_deadlocked(told: Story) -> bool:
    return bool(told.deadlock) or told.run.row.get("deadlock_began_ns") is not None


def _paused(told: Story, base: Story | None) -> str:
    if not told.pauses and not told.pausers:
        if base is not None and base.pauses:
            return f"avoids all {base.pauses:,} PAUSEs of {base.run.scheme}"
        return "no PAUSE"
    if not told.pausers:
        return f"{_pauses(told.pauses)}, which held no frame back"
    shown = [_of_pauser(pauser) for pauser in told.pausers[:_MOST_PAUSERS]]
    rest = told.pausers[_MOST_PAUSERS:]
    if rest:
        nodes = f"{len(rest)} other node{'s' if len(rest) > 1 else ''}"
        shown.append(f"{nodes} sent another {_pauses(sum(p.events for p in rest))}")
    return ", ".join(shown)


def _of_pauser(pauser: Pauser) -> str:
    """Such as "S1 paused S0 for 2.8 ms (51 PAUSEs)"; up to that by several links or priorities."""
    who = f"the NIC of {pauser.node}" if pauser.is_host else pauser.node
    stopped = list(pauser.stopped.items())
    count = _pauses(pauser.events)
    if len(stopped) > 2:
        names = f"{len(stopped)} neighbours"
        return f"{who} paused {names} for up to {time(stopped[0][1])} each ({count})"
    up_to = {peer: "up to " * (peer in pauser.several) for peer in pauser.stopped}
    times = " and ".join(f"{peer} for {up_to[peer]}{time(paused)}" for peer, paused in stopped)
    return f"{who} paused {times} ({count})"


def _pauses(count: int) -> str:
    return f"{count:,} PAUSE{'s' if count != 1 else ''}"


def _of_deadlock(told: Story) -> str:
    """Which nodes waited for one another, and since when."""
    if not _is_deadlocked(told):
        return ""
    cycle = f" {told.deadlock}" if told.deadlock else ""
    began = told.run.row.get("deadlock_began_ns")
    if began is None:
        return f"PFC deadlock{cycle} at the end of the run"
    return f"PFC deadlock{cycle} after {time(began)}, which ended the run"


def _of_drops(told: Story) -> str:
    parts = []
    for column, what in (("dropped_packets", "dropped"), ("trimmed_packets", "trimmed")):
        if number := told.run.row.get(column):
            were = "packet was" if number == 1 else "packets were"
            parts.append(f"{number:,} data {were} {what}")
    return ", ".join(parts)


def _of_failures(told: Story) -> str:
    """What links that failed did to flows."""
    found = flaps.of_run(told.run)
    return flap_lines.short(found) if found else ""


def _of_victims(told: Story) -> str:
    victims = told.victims
    if not victims:
        known = victims is not None and told.pauses and not told.maybe_more
        return "no victim" if known else ""
    worst = victims[0]
    least = "at least " if told.maybe_more else ""
    life = time(worst.stopped_ns)
    if worst.life_ns is not None:
        life += f" of its {time(worst.life_ns)}"
    if told.exact:
        waited, stood = "waited", f"which waited for {life} because of congestion off its path"
    else:
        waited, stood = "paused", f"whose path was paused for {life}"
    slowed = "" if worst.slowdown is None else f" (slowdown {worst.slowdown:.3g})"
    if len(victims) == 1:
        return f"{least}1 victim flow: {worst.flow}, {stood}{slowed}"
    together = time(sum(victim.stopped_ns for victim in victims))
    if told.exact:
        stood = f"which waited for {life}"
    return (
        f"{least}{len(victims):,} victim flows, which {waited if told.exact else 'were paused'} "
        f"for {together} in total; worst hit: {worst.flow}, {stood}{slowed}"
    )


def _of_link(carried: Carried | None) -> str:
    if carried is None:
        return ""
    had = "it had flows" if carried.certain else "flows that may use it were active"
    return (
        f"{carried.port} was {_percent(carried.share)} utilised while {had} "
        f"({rate(carried.rate_bps)}), its longest queue {size(carried.longest_queue_bytes)}"
    )


def _of_past(told: Story, base: Story | None) -> str:
    """Goodput of endless flows that avoid the congested port, compared with the first scheme."""
    if not told.past or told.carried is None:
        return ""
    mean = _mean_bps(told)
    if len(told.past) == 1:
        text = f"{told.past[0].flow}, which does not use that link, averaged {rate(mean)}"
    else:
        text = f"{len(told.past):,} flows that do not use that link averaged {rate(mean)}"
    if base is not None and base.past and _mean_bps(base):
        than = _beside(mean / _mean_bps(base), "more", "less", "as much")
        text += f", {than} under {base.run.scheme}"
    return text


def _mean_bps(told: Story) -> float:
    return sum(past.goodput_bps for past in told.past) / len(told.past)


def _of_end(told: Story, base: Story | None) -> str:
    if not told.sized:
        return ""
    endless = _endless(told.endless)
    flows = f"{told.sized:,} flows{endless}" if told.sized > 1 else f"the flow{endless}"
    if told.last_ns is None:
        if told.sized == 1:
            return f"{flows} was not done at the end"
        were = "was" if told.unfinished == 1 else "were"
        return f"{told.unfinished:,} of {flows} {were} not done at the end"
    if not (base or told).at_once and told.fct_p99_ns is not None:
        text = f"{flows} had a p99 FCT of {time(told.fct_p99_ns)}"
        if base is not None and base.fct_p99_ns:
            ratio = told.fct_p99_ns / base.fct_p99_ns
            text += f", {_beside(ratio, 'more', 'less', 'as much')} under {base.run.scheme}"
        return text
    text = f"{flows} was done {time(told.last_ns)} after its start"
    if told.sized > 1:
        text = f"all {flows} done {time(told.last_ns)} after the first started"
    if base is not None and base.last_ns:
        than = _beside(told.last_ns / base.last_ns, "longer", "shorter", "as long")
        text += f", {than} under {base.run.scheme}"
    return text


def _endless(flows: int) -> str:
    """A note that flows without a size are left out."""
    return f" ({flows:,} endless flow{'s' if flows > 1 else ''} not counted)" if flows else ""


def _of_shares(told: Story) -> str:
    if told.fair is not None:
        return _of_fairness(told.fair)
    if told.slowest is not None and told.slowest[1] > 1.1:
        count, times = told.slowest
        slowest = f"the slowest took {times:.3g} times as long as the fastest"
        return f"among {count:,} identical flows {slowest}"
    return ""


def _of_fairness(fair: Fairness) -> str:
    """From when on recorded flows had equal shares: after the last start or end of any flow."""
    flows = f"the {fair.flows} recorded flows"
    if fair.flows < fair.recorded:
        flows = f"{fair.flows} of the {fair.recorded} recorded flows"
    own = fair.event == "start"
    last = f"the last other flow {fair.event}"
    at = "" if own else f"{time(fair.since_ns)}, "
    if fair.after_ns is None:
        within = f"within {time(fair.within_ns)}"
        since = "" if own else f" after {last} ({time(fair.since_ns)})"
        return f"{flows} did not converge to fair shares of their link {within}{since}"
    if fair.after_ns == 0:
        since = "from the start" if own else f"as soon as {last}"
    else:
        since = f"after {time(fair.after_ns)}" if own else f"{time(fair.after_ns)} after {last}"
    return f"{flows} shared their link fairly {since} ({at}Jain >= 0.95)"


def _beside(ratio: float, more: str, less: str, same: str) -> str:
    """Such as "20 % more than", "4.3 times as long as"; within 5 % it is the same."""
    if 0.95 <= ratio < 1.05:
        return f"{same} as"
    if ratio >= 2:
        return f"{ratio:.3g} times {same} as" if ratio >= 10 else f"{ratio:.2g} times {same} as"
    return f"{abs(100 * (ratio - 1)):.2g} % {more if ratio > 1 else less} than"


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    low_text, high_text = f"{round(low):,}", f"{round(high):,}"
    return low_text if low_text == high_text else f"{low_text} to {high_text}"


def _time_range(values: Sequence[float]) -> str:
    low, high = time(min(values)), time(max(values))
    if low.split(" ")[-1] == high.split(" ")[-1]:
        return high if low == high else f"{low.split(' ')[0]} to {high}"
    return f"{low} to {high}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
