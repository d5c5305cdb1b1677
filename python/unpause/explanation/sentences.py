"""The account of a scheme in one sentence: who was paused by whom, who was a victim, what it took.

One run and several runs have the same list of parts (:data:`_PARTS`). Each part is written from all
runs at once: a number that differs between them is a range, and what holds in some of them only
says in how many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from unpause.data.result import Result
from unpause.explanation import flap_lines, flaps, story
from unpause.explanation.story import Carried, Fairness, Pauser, Story
from unpause.statistics import censored
from unpause.text import plural, rate, size, span, time

_MOST_PAUSERS = 2
_MOST_JOBS = 2
#: From this ratio on a job takes longer, as in :func:`_beside`.
_LONGER = 1.05
_MOST_SCHEMES = 24
#: Of runs that differ in kind at most this many kinds are described.
_MOST_KINDS = 3


def of_result(result: Result) -> list[tuple[str, str]]:
    """Schemes with their summaries, in order; nothing for very many runs."""
    if result.runs.num_rows > story.MOST_RUNS or len(result.schemes) > _MOST_SCHEMES:
        return []
    stories = story.of_result(result)
    first = result.schemes[0]
    return [
        (scheme, of_runs(runs, () if scheme == first else stories[first], result.axes))
        for scheme, runs in stories.items()
    ]


def of_run(run: Story, base: Story | None = None) -> str:
    """The sentence of one run, beside that of the first scheme."""
    return of_runs([run], [base] if base is not None else [])


def of_runs(runs: Sequence[Story], bases: Sequence[Story] = (), axes: Sequence[str] = ()) -> str:
    """The sentence of the runs of a scheme, beside those of the first scheme."""
    by_point = {_point(base, axes): base for base in bases}
    pairs = [by_point.get(_point(run, axes)) for run in runs]
    known = [base for base in pairs if base is not None]
    noun = "run" if axes else "seed"
    every = _Runs(runs, known if len(known) == len(runs) else None, len(runs), noun)
    text = "; ".join(filter(None, (part(every) for part in _PARTS)))
    if len(runs) == 1:
        return f"{text}."
    over = f" over {', '.join(axes)}" if axes else ""
    return f"In {plural(len(runs), noun)}{over}, per {noun}: {text}."


def _point(run: Story, axes: Sequence[str]) -> Hashable:
    """The seed and the swept values of a run, which the schemes have in common."""
    return tuple(run.run.row.get(name) for name in ("seed", *axes))


@dataclass(frozen=True)
class _Runs:
    """Runs that one part of the sentence is about: all of a scheme or some.

    Attributes:
        runs: Their stories.
        bases: The stories of the first scheme at the same seeds and values; None if one is missing.
        every: How many runs the scheme has.
        noun: What one is called.
    """

    runs: Sequence[Story]
    bases: Sequence[Story] | None
    every: int
    noun: str

    def only(self, rows: Sequence[int]) -> _Runs:
        """Those at some places of the list."""
        bases = None if self.bases is None else [self.bases[row] for row in rows]
        return _Runs([self.runs[row] for row in rows], bases, self.every, self.noun)

    def in_some(self, count: int) -> str:
        """Such as "in 2 of 3 seeds"; empty if it is all of them."""
        return "" if count == self.every else f"in {count:,} of {plural(self.every, self.noun)}"

    def by_kind(self, kind: Callable[[Story], Hashable], write: Callable[[_Runs], str]) -> str:
        """What is written of the runs of each kind, the most frequent first; None is no kind."""
        kinds: dict[Hashable, list[int]] = {}
        for row, run in enumerate(self.runs):
            if (of := kind(run)) is not None:
                kinds.setdefault(of, []).append(row)
        rows = sorted(kinds.values(), key=lambda rows: -len(rows))
        parts = [
            f"{self.in_some(len(some))} {write(self.only(some))}".strip()
            for some in rows[:_MOST_KINDS]
        ]
        if more := sum(map(len, rows[_MOST_KINDS:])):
            parts.append(f"{self.in_some(more)} otherwise")
        return "; ".join(parts)

    def beside(self, ratios: Sequence[float], more: str, less: str, same: str) -> str:
        """A comparison with the first scheme."""
        assert self.bases is not None
        return f", {_beside(ratios, more, less, same)} under {self.bases[0].run.scheme}"


def _numbers(values: Sequence[float]) -> str:
    return span(values, lambda number: f"{round(number):,}")


def _counted(values: Sequence[float], noun: str) -> str:
    """Such as "1 PAUSE", "0 to 1 PAUSEs"."""
    return f"{_numbers(values)} {noun}{'' if set(values) == {1} else 's'}"


def _of_deadlock(every: _Runs) -> str:
    """Which nodes waited for one another, and since when."""

    def kind(run: Story) -> Hashable:
        began = run.run.row.get("deadlock_began_ns")
        return (run.deadlock, began is None) if run.deadlock or began is not None else None

    def write(some: _Runs) -> str:
        cycle = f" {some.runs[0].deadlock}" if some.runs[0].deadlock else ""
        began = [run.run.row.get("deadlock_began_ns") for run in some.runs]
        since = [ns for ns in began if ns is not None]
        if not since:
            return f"PFC deadlock{cycle} at the end of the run"
        return f"PFC deadlock{cycle} after {span(since, time)}, which ended the run"

    return every.by_kind(kind, write)


def _of_slower_jobs(every: _Runs) -> str:
    """Jobs that take longer than under the first scheme; they matter more than fewer PAUSEs."""
    if every.bases is None:
        return ""
    pairs = zip(every.runs, every.bases, strict=True)
    ratios = {id(run): _longer(run, base) for run, base in pairs}

    def write(some: _Runs) -> str:
        assert some.bases is not None
        jobs = list(ratios[id(some.runs[0])])
        each = {job: [ratios[id(run)][job] for run in some.runs] for job in jobs}
        beside = [
            (job, _beside(found, "longer", "shorter", "as long")) for job, found in each.items()
        ]
        if (more := len(jobs) - _MOST_JOBS) > 0:
            beside[_MOST_JOBS:] = [(plural(more, "more job"), "longer than")]
        base = some.bases[0].run.scheme
        return " and ".join(f"{job} took {how} under {base}" for job, how in beside)

    return every.by_kind(lambda run: tuple(ratios[id(run)]) or None, write)


def _longer(run: Story, base: Story) -> dict[str, float]:
    """By job that takes longer, how many times as long its mean iteration takes."""
    means, others = (dict(_job_means(it)) for it in (run, base))
    ratios = {job: mean / others[job] for job, mean in means.items() if job in others}
    return {job: ratio for job, ratio in ratios.items() if ratio >= _LONGER}


def _job_means(story: Story) -> list[tuple[str, float]]:
    rows = story.run.columns("jobs", ["job", "mean_ns"]).to_pylist()
    return [(row["job"], row["mean_ns"]) for row in rows if row["mean_ns"]]


def _of_pauses(every: _Runs) -> str:
    def kind(run: Story) -> Hashable:
        return "held" if run.pausers else "sent" if run.pauses else "none"

    def write(some: _Runs) -> str:
        if some.runs[0].pausers:
            return _of_pausers(some)
        if some.runs[0].pauses:
            pauses = [run.pauses for run in some.runs]
            return f"{_counted(pauses, 'PAUSE')}, which held no frame back"
        if some.bases is not None and all(base.pauses for base in some.bases):
            avoided = _counted([base.pauses for base in some.bases], "PAUSE")
            return f"avoids all {avoided} of {some.bases[0].run.scheme}"
        return "no PAUSE"

    return every.by_kind(kind, write)


def _of_pausers(some: _Runs) -> str:
    """The first pausers by name, the others by their number."""
    each: dict[str, list[Pauser]] = {}
    places: dict[str, int] = {}
    for run in some.runs:
        rest = len(run.pausers)
        for place, pauser in enumerate(run.pausers):
            each.setdefault(pauser.node, []).append(pauser)
            places[pauser.node] = places.get(pauser.node, 0) + place - rest
    order = sorted(each, key=lambda node: (not each[node][0].is_host, places[node]))
    parts = []
    for node in order[:_MOST_PAUSERS]:
        text = _of_pauser(each[node])
        where = some.in_some(len(each[node])) if len(each[node]) < len(some.runs) else ""
        parts.append(f"{text} {where}".strip())
    if rest := set(order[_MOST_PAUSERS:]):
        others = [[it for it in run.pausers if it.node in rest] for run in some.runs]
        nodes = _counted([len(pausers) for pausers in others], "other node")
        events = [sum(pauser.events for pauser in pausers) for pausers in others]
        parts.append(f"{nodes} sent another {_counted(events, 'PAUSE')}")
    return ", ".join(parts)


def _of_pauser(runs: Sequence[Pauser]) -> str:
    """Such as "S1 paused S0 for 2.8 ms (51 PAUSEs)"; up to that by several links or priorities."""
    node = runs[0].node
    who = f"the NIC of {node}" if runs[0].is_host else node
    peers = list(dict.fromkeys(peer for run in runs for peer in run.stopped))
    count = _counted([run.events for run in runs], "PAUSE")
    if len(peers) > 2:
        neighbours = _counted([len(run.stopped) for run in runs], "neighbour")
        longest = span([max(run.stopped.values()) for run in runs], time)
        return f"{who} paused {neighbours} for up to {longest} each ({count})"
    times = []
    for peer in peers:
        up_to = "up to " if any(peer in run.several for run in runs) else ""
        times.append(f"{peer} for {up_to}{span([run.stopped.get(peer, 0) for run in runs], time)}")
    return f"{who} paused {' and '.join(times)} ({count})"


def _of_drops(every: _Runs) -> str:
    parts = []
    for column, what in (("dropped_packets", "dropped"), ("trimmed_packets", "trimmed")):
        counts = [run.run.row.get(column) or 0 for run in every.runs]
        if any(counts):
            were = "was" if set(counts) == {1} else "were"
            parts.append(f"{_counted(counts, 'data packet')} {were} {what}")
    return ", ".join(parts)


def _of_failures(every: _Runs) -> str:
    """What links that failed did to flows."""
    found = {id(run): flaps.of_run(run.run) for run in every.runs}

    def kind(run: Story) -> Hashable:
        failures = found[id(run)]
        return None if failures is None else bool(sum(failures.packets.values()))

    def write(some: _Runs) -> str:
        return flap_lines.short([it for run in some.runs if (it := found[id(run)])])

    return every.by_kind(kind, write)


def _of_victims(every: _Runs) -> str:
    """How many victims there were, and the one that was hit worst."""
    runs = every.runs
    unsure = any(run.victims is None or run.maybe_more for run in runs)
    victims = [run.victims or [] for run in runs]
    if not any(victims):
        return "no victim" if not unsure and any(run.pauses for run in runs) else ""
    count = f"{'at least ' if unsure else ''}{_counted(list(map(len, victims)), 'victim flow')}"
    exact = all(run.exact for run in runs)
    first = [of_run[0] for of_run in victims if of_run]
    worst = max(first, key=lambda victim: victim.stopped_ns)
    # Of one flow in all runs the range, else the worst of all.
    same = first if {victim.flow for victim in first} == {worst.flow} else [worst]
    life = span([victim.stopped_ns for victim in same], time)
    lives = [victim.life_ns for victim in same if victim.life_ns is not None]
    if len(lives) == len(same):
        life += f" of its {span(lives, time)}"
    slowdowns = [victim.slowdown for victim in same if victim.slowdown is not None]
    slowed = ""
    if len(slowdowns) == len(same):
        slowed = f" (slowdown {span(slowdowns, lambda number: f'{number:.3g}')})"
    if exact:
        alone, stood = " because of congestion off its path", f"which waited for {life}"
    else:
        alone, stood = "", f"whose path was paused for {life}"
    if max(map(len, victims)) == 1 and len(same) == len(first):
        return f"{count}: {worst.flow}, {stood}{alone}{slowed}"
    together = [sum(victim.stopped_ns for victim in of_run) for of_run in victims]
    waited = "waited" if exact else "were paused"
    return (
        f"{count}, which {waited} for {span(together, time)} in total; worst hit: {worst.flow}, "
        f"{stood}{slowed}"
    )


def _of_link(every: _Runs) -> str:
    def write(some: _Runs) -> str:
        each = [run.carried for run in some.runs if run.carried is not None]
        had = "it had flows"
        if not all(carried.certain for carried in each):
            had = "flows that may use it were active"
        shares = span([carried.share for carried in each], _percent)
        rates = span([carried.rate_bps for carried in each], rate)
        longest = span([carried.longest_queue_bytes for carried in each], size)
        return (
            f"{each[0].port} was {shares} utilised while {had} ({rates}), its longest queue "
            f"{longest}"
        )

    return every.by_kind(lambda run: _port(run.carried), write)


def _port(carried: Carried | None) -> Hashable:
    return None if carried is None else carried.port


def _of_past(every: _Runs) -> str:
    """Goodput of endless flows that avoid the congested port, compared with the first scheme."""

    def kind(run: Story) -> Hashable:
        if not run.past or run.carried is None:
            return None
        return run.past[0].flow if len(run.past) == 1 else len(run.past)

    def write(some: _Runs) -> str:
        means = [_mean_bps(run) for run in some.runs]
        first = some.runs[0].past
        if len(first) == 1:
            text = f"{first[0].flow}, which does not use that link, averaged {span(means, rate)}"
        else:
            text = f"{len(first):,} flows that do not use that link averaged {span(means, rate)}"
        if some.bases is not None and all(base.past and _mean_bps(base) for base in some.bases):
            beside = zip(means, some.bases, strict=True)
            ratios = [mean / _mean_bps(base) for mean, base in beside]
            text += some.beside(ratios, "more", "less", "as much")
        return text

    return every.by_kind(kind, write)


def _mean_bps(run: Story) -> float:
    return sum(past.goodput_bps for past in run.past) / len(run.past)


def _of_end(every: _Runs) -> str:
    """When the flows with a size were done, or how many were not."""
    bases = every.bases or every.runs
    at_once = {id(run): base.at_once for run, base in zip(every.runs, bases, strict=True)}

    def kind(run: Story) -> Hashable:
        if not run.sized:
            return None
        how = "not done" if run.last_ns is None else "last"
        if how == "last" and not at_once[id(run)] and len(run.fct):
            how = "tail"
        return how, run.sized == 1

    writers = {"not done": _unfinished, "tail": _tail, "last": _last}

    def write(some: _Runs) -> str:
        how, _ = kind(some.runs[0])  # type: ignore[misc]
        return writers[how](some)

    return every.by_kind(kind, write)


def _flows(some: _Runs) -> str:
    """The flows with a size, and a note that others are left out."""
    endless = [run.endless for run in some.runs]
    note = f" ({_counted(endless, 'endless flow')} not counted)" if any(endless) else ""
    sized = [run.sized for run in some.runs]
    return f"the flow{note}" if set(sized) == {1} else f"{_numbers(sized)} flows{note}"


def _unfinished(some: _Runs) -> str:
    if some.runs[0].sized == 1:
        return f"{_flows(some)} was not done at the end"
    unfinished = [run.unfinished for run in some.runs]
    were = "was" if set(unfinished) == {1} else "were"
    return f"{_numbers(unfinished)} of {_flows(some)} {were} not done at the end"


def _tail(some: _Runs) -> str:
    bases = some.bases or ()
    percent = censored.common_tail(run.fct for run in (*some.runs, *bases))
    slow = [found.at_least for run in some.runs if (found := run.fct.percentile(percent))]
    which = "largest" if percent == censored.LARGEST else censored.name(percent)
    text = f"{_flows(some)} had a {which} FCT of {span(slow, time)}"
    others = [base.fct.percentile(percent) for base in bases]
    than = [other.value for other in others if other and other.value]
    if len(than) == len(slow):
        ratios = [ours / theirs for ours, theirs in zip(slow, than, strict=True)]
        text += some.beside(ratios, "more", "less", "as much")
    return text


def _last(some: _Runs) -> str:
    last = [run.last_ns or 0.0 for run in some.runs]
    if some.runs[0].sized == 1:
        text = f"{_flows(some)} was done {span(last, time)} after its start"
    else:
        text = f"all {_flows(some)} done {span(last, time)} after the first started"
    than = [base.last_ns for base in some.bases or () if base.last_ns]
    if len(than) == len(last):
        ratios = [ours / theirs for ours, theirs in zip(last, than, strict=True)]
        text += some.beside(ratios, "longer", "shorter", "as long")
    return text


def _of_shares(every: _Runs) -> str:
    def kind(run: Story) -> Hashable:
        fair = run.fair
        if fair is not None:
            even = None if fair.after_ns is None else fair.after_ns > 0
            return fair.event, even, fair.flows, fair.recorded
        return "slowest" if run.slowest is not None and run.slowest[1] > 1.1 else None

    def write(some: _Runs) -> str:
        if fair := [run.fair for run in some.runs if run.fair is not None]:
            return _of_fairness(fair)
        slowest = [run.slowest for run in some.runs if run.slowest is not None]
        count = _numbers([count for count, _ in slowest])
        times = span([times for _, times in slowest], lambda times: f"{times:.3g}")
        return (
            f"among {count} identical flows the slowest took {times} times as long as the fastest"
        )

    return every.by_kind(kind, write)


def _of_fairness(runs: Sequence[Fairness]) -> str:
    """From when on recorded flows had equal shares: after the last start or end of any flow."""
    fair = runs[0]
    flows = f"the {fair.flows} recorded flows"
    if fair.flows < fair.recorded:
        flows = f"{fair.flows} of the {fair.recorded} recorded flows"
    own = fair.event == "start"
    last = f"the last other flow {fair.event}"
    since_ns = span([each.since_ns for each in runs], time)
    at = "" if own else f"{since_ns}, "
    if fair.after_ns is None:
        within = f"within {span([each.within_ns for each in runs], time)}"
        since = "" if own else f" after {last} ({since_ns})"
        return f"{flows} did not converge to fair shares of their link {within}{since}"
    if fair.after_ns == 0:
        since = "from the start" if own else f"as soon as {last}"
    else:
        after = span([each.after_ns or 0.0 for each in runs], time)
        since = f"after {after}" if own else f"{after} after {last}"
    return f"{flows} shared their link fairly {since} ({at}Jain >= 0.95)"


#: All that the sentence may have, in order; each is empty where there is nothing to say.
_PARTS: tuple[Callable[[_Runs], str], ...] = (
    _of_deadlock,
    _of_slower_jobs,
    _of_pauses,
    _of_drops,
    _of_failures,
    _of_victims,
    _of_link,
    _of_past,
    _of_end,
    _of_shares,
)


def _beside(ratios: Sequence[float], more: str, less: str, same: str) -> str:
    """Such as "20 % more than", "4.3 times as long as"; within 5 % it is the same."""
    low, high = min(ratios), max(ratios)
    if low >= 0.95 and high < 1.05:
        return f"{same} as"
    if high >= 2:
        times = span(ratios, lambda ratio: f"{ratio:.3g}" if ratio >= 10 else f"{ratio:.2g}")
        return f"{times} times {same} as"
    by = span([abs(ratio - 1) for ratio in ratios], _rounded)
    if low < 1 < high:
        return f"{_rounded(1 - low)} {less} to {_rounded(high - 1)} {more} than"
    return f"{by} {more if high > 1 else less} than"


def _rounded(share: float) -> str:
    return f"{100 * share:.2g} %"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.2g} %"
