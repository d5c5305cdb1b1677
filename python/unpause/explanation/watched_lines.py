"""A sentence about each entry of watched flows, with all schemes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from unpause import text
from unpause.explanation import story
from unpause.explanation.waits import LEAST_PART, Wait, Way
from unpause.explanation.watched import Watched
from unpause.statistics import censored

#: With more schemes only the first of them are named in a sentence.
_MOST_SCHEMES = 8
#: At most this many places that flows waited for under a scheme are named, and ways from each.
_MOST_WAITS = 4
_MOST_WAYS = 3


def entries(told: Mapping[str, Sequence[story.Story]]) -> list[str]:
    """The entries that are watched."""
    every = [it.name for stories in told.values() for each in stories for it in each.watched]
    return list(dict.fromkeys(every))


def lines(told: Mapping[str, Sequence[story.Story]]) -> list[str]:
    """A sentence for each entry that is watched."""
    found = []
    for name in entries(told):
        by_scheme = _by_scheme(told, name)
        more = len(by_scheme) - _MOST_SCHEMES
        first = dict(list(by_scheme.items())[:_MOST_SCHEMES])
        rest = f"; {text.plural(more, 'more scheme')}" if more > 0 else ""
        found.append(f"{name}{_whose_congestion(by_scheme)}: {_of_entry(first)}{rest}.")
    return found


def _by_scheme(told: Mapping[str, Sequence[story.Story]], name: str) -> dict[str, list[Watched]]:
    """The runs of each scheme that have flows of an entry."""
    found = {
        scheme: [it for each in stories for it in each.watched if it.name == name]
        for scheme, stories in told.items()
    }
    return {scheme: ours for scheme, ours in found.items() if ours}


def _whose_congestion(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    """Which congested links its flows cross, and for which others they waited, as far as known."""
    parts = [crossed] if (crossed := _crossed(by_scheme)) else []
    # Schemes with the same root and the same PAUSEs are named together.
    alike: dict[tuple[str, str], list[str]] = {}
    for scheme, ours in by_scheme.items():
        under = f" under {scheme}" if len(by_scheme) > 1 else ""
        for root, how, why in _waits(ours):
            alike.setdefault((root, why), []).append(f"{under}{how}")
    parts += [
        f"waited for congestion at {root}{_under(schemes)}: {why}"
        for (root, why), schemes in alike.items()
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _under(schemes: Sequence[str]) -> str:
    """Such as " under PFC and PCN", of schemes that each have " under" before them."""
    first, *more = schemes
    return _listed([first, *(scheme.removeprefix(" under ") for scheme in more)])


def _waits(ours: Sequence[Watched]) -> Iterator[tuple[str, str, str]]:
    """Roots off the path that matter, each with how long of all it was waited for, and the PAUSEs.

    How long is said where there are several roots, in how many runs where it is not all.
    """
    together: dict[str, Wait] = {}
    times: dict[str, list[float]] = {}
    for it in ours:
        for wait in it.waits:
            together.setdefault(wait.root, Wait(wait.root)).add(wait)
            times.setdefault(wait.root, []).append(wait.ns)
    every = sum(wait.ns for wait in together.values())
    matter = sorted(together.values(), key=lambda wait: -wait.ns)
    matter = [wait for wait in matter if wait.ns >= LEAST_PART * every]
    for wait in matter[:_MOST_WAITS]:
        found = times[wait.root]
        some = "" if len(found) == len(ours) else f"in {len(found)} of {len(ours)} seeds"
        part = f"{text.span(found, text.time)}, {100 * wait.ns / every:.0f} %"
        inside = ", ".join(filter(None, [some, part if len(together) > 1 else ""]))
        yield wait.root, f" ({inside})" if inside else "", _ways(wait)
    if rest := matter[_MOST_WAITS:]:
        part = 100 * sum(wait.ns for wait in rest) / every
        yield text.plural(len(rest), "other link"), f" ({part:.0f} %)", "see table victims"


def _ways(wait: Wait) -> str:
    """The PAUSEs from a root to where flows were held, each way with its part if there are some."""
    # Ways that differ in the last neighbour only are one.
    together: dict[tuple[Way, str], tuple[list[str], list[float]]] = {}
    for way, ns in sorted(wait.ways.items(), key=lambda it: -it[1]):
        *before, (pauser, stopped) = way
        names, times = together.setdefault((tuple(before), pauser), ([], []))
        names.append(stopped)
        times.append(ns)
    parts = []
    rest = 0.0
    matter = {key: it for key, it in together.items() if sum(it[1]) >= LEAST_PART * wait.ns}
    for (before, pauser), (names, times) in matter.items():
        if len(parts) == _MOST_WAYS:
            rest += sum(times)
            continue
        last = (pauser, _listed(names if len(names) <= 3 else [*names[:2], "others"]))
        way = _listed([f"{by} paused {whom}" for by, whom in (*before, last)])
        part = f" ({100 * sum(times) / wait.ns:.0f} %)" if len(matter) > 1 else ""
        parts.append(f"{way}{part}")
    if rest:
        parts.append(f"in other ways ({100 * rest / wait.ns:.0f} %)")
    return ", or ".join(parts)


def _crossed(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    """Whether its flows cross a congested link, where the runs know; empty if none is known."""
    known = {
        scheme: {link for it in ours for link in it.crossed or ()}
        for scheme, ours in by_scheme.items()
        if all(it.crossed is not None for it in ours)
    }
    if not known:
        return ""
    links = list(dict.fromkeys(link for crossed in known.values() for link in sorted(crossed)))
    if not links:
        under = "" if len(known) == len(by_scheme) else f" under {_listed(list(known))}"
        return f"crosses no congested link{under}"
    every = [it.crossed for ours in by_scheme.values() for it in ours if it.crossed]
    all_do = all(crossed.get(link, True) for crossed in every for link in links)
    who = "crosses" if all_do else "some of its flows cross"
    on_path = f"{', '.join(links[:2])}{' and others' if len(links) > 2 else ''}"
    some = [scheme for scheme, crossed in known.items() if crossed]
    under = "" if len(some) == len(by_scheme) else f" under {_listed(some)}"
    return f"{who} {on_path}, where congestion began{under}"


def _of_entry(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    every = [it for ours in by_scheme.values() for it in ours]
    if all(it.around for it in every):
        return _around_burst(by_scheme)
    if all(it.sized == it.flows for it in every):
        return _of_sized(by_scheme)
    parts = [
        f"{text.rate(_mean([it.goodput_bps for it in ours]))} under {scheme}"
        for scheme, ours in by_scheme.items()
    ]
    return f"{', '.join(parts)} on average while it ran"


def _around_burst(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    rates: list[str] = []
    back: dict[str, list[str]] = {}
    for scheme, ours in by_scheme.items():
        rates.append(f"{_got_of(ours)} under {scheme}")
        if known := recovery(ours):
            back.setdefault(str(known), []).append(scheme)
    found = f"during the burst it got, of its goodput before, {', '.join(rates)}"
    if back:
        each = ", ".join(f"{how} under {_listed(names)}" for how, names in back.items())
        found += f"; recovered {each}"
    return found


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def got(name: str, ours: Sequence[Watched]) -> str:
    """Goodput of an entry during the burst and before, means over its runs."""
    return f"{name}: {_got_of(ours)}"


def _got_of(ours: Sequence[Watched]) -> str:
    around = [it.around for it in ours if it.around is not None]
    during, before = (
        _mean([getattr(it, name) for it in around]) for name in ("during_bps", "before_bps")
    )
    factor, unit = text.rate_unit(max(during, before))
    return f"{during / factor:.3g} of {before / factor:.3g} {unit}"


@dataclass(frozen=True)
class Recovery:
    """How long after the burst an entry had recovered, in one or more runs.

    Attributes:
        mean_ns: The mean over the runs. A run in which it did not recover counts with the time for
            which that was looked for, so that the mean is a lower bound.
        missing: In how many runs it did not recover.
        runs: How many runs were long enough to tell.
        alike: Whether it was looked for equally long in all runs without recovery.
    """

    mean_ns: float
    missing: int
    runs: int
    alike: bool

    @property
    def mean(self) -> str:
        """The mean in words."""
        return f"{'more than ' if self.missing else ''}{text.time(self.mean_ns)}"

    def __str__(self) -> str:
        if not self.missing:
            return f"{self.mean} after it" if self.mean_ns else "at once"
        if self.missing == self.runs and self.alike:
            return f"not within {text.time(self.mean_ns)}"
        where = f"in {self.missing} of {self.runs} runs not yet when measuring ended"
        return f"on average {self.mean} after it ({where})"


def recovery(ours: Sequence[Watched]) -> Recovery | None:
    """When an entry had recovered; None if no run was long enough to tell."""
    around = [it.around for it in ours if it.around is not None]
    known = [(it, it.at_least_ns) for it in around if it.at_least_ns is not None]
    if not known:
        return None
    bounds = [text.time(at_least) for it, at_least in known if it.recovery_ns is None]
    mean = _mean([at_least for _, at_least in known])
    return Recovery(mean, len(bounds), len(known), len(set(bounds)) == 1)


def who(told: Mapping[str, Sequence[story.Story]]) -> dict[str, str]:
    """By watched entry whether it shares a congested link, where that is known."""
    every = {name: _crossed(_by_scheme(told, name)) for name in entries(told)}
    return {name: whose for name, whose in every.items() if whose}


def _of_sized(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    parts = []
    percent = censored.common_tail(it.slowdown for ours in by_scheme.values() for it in ours)
    for scheme, ours in by_scheme.items():
        slow = [it.slowdown.percentile(percent) for it in ours]
        known = [estimate for estimate in slow if estimate]
        mean = _mean([estimate.at_least for estimate in known]) if known else 0.0
        sign = "" if all(estimate.is_exact for estimate in known) else "≥ "
        said = [f"{censored.name(percent)} slowdown {sign}{mean:.3g}"] if known else []
        unfinished = [it.unfinished for it in ours]
        if any(unfinished):
            said.append(f"{text.span(unfinished, text.count)} not done")
        said += _waited(ours)
        parts.append(f"{' and '.join(said) or 'nothing measured'} under {scheme}")
    return ", ".join(parts)


def _waited(ours: Sequence[Watched]) -> Iterator[str]:
    """For how long flows waited: a range over the seeds, and in how many, if it was not in all."""
    times = [it.waited_ns for it in ours if it.waited_ns is not None]
    waited = [ns for ns in times if ns]
    if len(times) < len(ours) or not waited:
        return
    several = any(it.flows > 1 for it in ours)
    in_total = " in total" if several else ""
    some = "" if len(waited) == len(ours) else f" in {len(waited)} of {len(ours)} seeds"
    whose = "their" if several else "its"
    yield f"waited {text.span(waited, text.time)}{in_total}{some} for congestion off {whose} path"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
