"""One sentence for each scheme: who was paused by whom, who was a victim, what it took."""

from __future__ import annotations

from collections.abc import Sequence

from unpause import story
from unpause.result import Result
from unpause.story import Carried, Pauser, Story
from unpause.text import rate, size, time

_MOST_PAUSERS = 2
_MOST_RUNS = 60
_MOST_SCHEMES = 24


def of_result(result: Result) -> list[tuple[str, str]]:
    """Scheme and what it comes to, the first scheme first; nothing for very many runs."""
    if result.runs.num_rows > _MOST_RUNS or len(result.schemes) > _MOST_SCHEMES:
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
        _paused(told, base),
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
    if any(pauses):
        paused = [sum(sum(p.stopped.values()) for p in told.pausers) for told in stories]
        parts[0] += f", {_time_range(paused)} of standstill in all"
    if all(told.victims is not None for told in stories) and any(pauses):
        victims = [len(told.victims or ()) for told in stories]
        noun = "victim" if max(victims) == 1 else "victims"
        parts.append(f"{_range(victims)} {noun}" if any(victims) else "no victim")
    if all(told.carried for told in stories):
        shares = [100 * told.carried.share for told in stories if told.carried]
        first = stories[0].carried
        assert first is not None
        parts.append(f"{first.port} carried {_range(shares)} % of its {rate(first.rate_bps)}")
    ends = [told.last_ns for told in stories if told.last_ns is not None]
    if len(ends) == len(stories):
        parts.append(f"all flows were done after {_time_range(ends)}")
    elif unfinished := [told.unfinished for told in stories if told.sized]:
        parts.append(f"{_range(unfinished)} flows were not done at the end")
    return f"In {over}: {'; '.join(parts)}."


def _paused(told: Story, base: Story | None) -> str:
    if not told.pausers and not told.pauses:
        if base is not None and base.pauses:
            return f"avoids all {base.pauses:,} PAUSEs of {base.run.scheme}"
        return "no PAUSE"
    shown = [_of_pauser(pauser) for pauser in told.pausers[:_MOST_PAUSERS]]
    rest = told.pausers[_MOST_PAUSERS:]
    if rest:
        count = f"{len(rest)} more node{'s' if len(rest) > 1 else ''}"
        shown.append(f"{count} stopped others {sum(p.events for p in rest):,} times")
    return ", ".join(shown)


def _of_pauser(pauser: Pauser) -> str:
    """Such as "S1 stopped S0 for 2.8 ms (51 PAUSEs)"."""
    who = f"the NIC of {pauser.node}" if pauser.is_host else pauser.node
    stopped = list(pauser.stopped.items())
    count = f"{pauser.events:,} PAUSE{'s' if pauser.events != 1 else ''}"
    if len(stopped) > 2:
        names = f"{len(stopped)} neighbours"
        return f"{who} stopped {names} for up to {time(stopped[0][1])} ({count})"
    times = " and ".join(f"{peer} for {time(paused)}" for peer, paused in stopped)
    return f"{who} stopped {times} ({count})"


def _of_failures(told: Story) -> str:
    """A deadlock, and packets lost."""
    row = told.run.row
    parts = []
    if (began := row.get("deadlock_began_ns")) is not None:
        parts.append(f"PFC deadlocked after {time(began)}, which ended the run")
    if dropped := row.get("dropped_packets"):
        parts.append(f"{dropped:,} packets were dropped")
    return "; ".join(parts)


def _of_victims(told: Story) -> str:
    victims = told.victims
    if not victims:
        known = victims is not None and told.pauses and not told.maybe_more
        return "no victim" if known else ""
    worst = victims[0]
    least = "at least " if told.maybe_more else ""
    stood = f"whose way was stopped for {time(worst.stopped_ns)} of its {time(worst.life_ns)}"
    slowed = "" if worst.slowdown is None else f" (slowdown {worst.slowdown:.3g})"
    if len(victims) == 1:
        return f"{least}1 victim: {worst.flow}, {stood}{slowed}"
    together = time(sum(victim.stopped_ns for victim in victims))
    return (
        f"{least}{len(victims):,} victims, stopped for {together} together; "
        f"worst {worst.flow}, {stood}{slowed}"
    )


def _of_link(carried: Carried | None) -> str:
    if carried is None:
        return ""
    return (
        f"{carried.port} carried {_percent(carried.share)} of its {rate(carried.rate_bps)} while "
        f"flows wanted it, longest queue {size(carried.longest_queue_bytes)}"
    )


def _of_past(told: Story, base: Story | None) -> str:
    """What endless flows got that avoid the congested port, beside what the first scheme gave."""
    if not told.past or told.carried is None:
        return ""
    mean = _mean_bps(told)
    who = told.past[0].flow if len(told.past) == 1 else f"{len(told.past):,} flows"
    text = f"{who} past it got {rate(mean)}{'' if len(told.past) == 1 else ' on average'}"
    if base is not None and base.past and _mean_bps(base):
        text += f", {_as(mean / _mean_bps(base), 'as much as')} with {base.run.scheme}"
    return text


def _mean_bps(told: Story) -> float:
    return sum(past.goodput_bps for past in told.past) / len(told.past)


def _of_end(told: Story, base: Story | None) -> str:
    if not told.sized:
        return ""
    flows = f"{told.sized:,} flows" if told.sized > 1 else "the flow"
    if told.last_ns is None:
        return f"{told.unfinished:,} of {flows} were not done at the end"
    if not (base or told).at_once and told.fct_p99_ns is not None:
        text = f"{flows} had a p99 FCT of {time(told.fct_p99_ns)}"
        if base is not None and base.fct_p99_ns:
            ratio = told.fct_p99_ns / base.fct_p99_ns
            text += f", {_as(ratio, 'that')} with {base.run.scheme}"
        return text
    text = f"all {flows} done after {time(told.last_ns)}" if told.sized > 1 else (
        f"the flow was done after {time(told.last_ns)}"
    )  # fmt: skip
    if base is not None and base.last_ns:
        text += f", {_as(told.last_ns / base.last_ns, 'as long as')} with {base.run.scheme}"
    return text


def _of_shares(told: Story) -> str:
    if told.fair is not None:
        flows = f"the {told.fair.flows} recorded flows that share a link"
        if told.fair.after_ns is None:
            return f"{flows} had no equal shares within {time(told.fair.within_ns)}"
        if told.fair.after_ns == 0:
            return f"{flows} had equal shares at once"
        return f"{flows} had equal shares after {time(told.fair.after_ns)}"
    if told.slowest is not None and told.slowest[1] > 1.1:
        count, times = told.slowest
        return f"the slowest of {count:,} equal flows took {times:.3g} times the fastest's time"
    return ""


def _as(ratio: float, what: str) -> str:
    """Such as "4.3 times as long as", or without the times if there is no difference."""
    if 0.95 <= ratio < 1.05:
        return {"that": "the same as"}.get(what, what)
    return f"{ratio:.3g} times {what}" if ratio >= 10 else f"{ratio:.2g} times {what}"


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
