"""The small table that every view of runs opens with, and what stands below it.

A row for each scheme (at each swept value, of each result), with what an engineer decides by; means
over the seeds. In a column a row is marked as best if none is better beyond noise and one is worse
beyond noise, and as worst the other way round: by :func:`unpause.intervals.difference` at 5 %, and
in what is printed. With one seed nothing is marked, nor where a number is a bound only.

Below: the flows that the scenario watches and its jobs, by name; then what the comparison shows and
what not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unpause import job_lines, story, text
from unpause.grouped import Group, Measure, Runs, value_text
from unpause.intervals import mean_interval
from unpause.result import Result
from unpause.watched import Watched

#: A name of a link that is no longer than this heads its column.
_LINK_NAME = 10
#: With more schemes only the first of them are named in a sentence.
_MOST_SCHEMES = 8
#: Of more jobs only the first have a column.
_MOST_JOBS = 3
#: Of more rows none is marked.
_MOST_COMPARED = 60


@dataclass(frozen=True)
class _Kind:
    """A column: what of a run, its head, and which numbers are better."""

    head: tuple[str, str]
    of: Callable[[Mapping[str, Any]], float | None]
    unit: Callable[[float], tuple[float, str]]
    less_is_better: bool = True
    #: Of rows: what stands before their mean if that is a bound.
    bound: Callable[[Sequence[Mapping[str, Any]]], str] = lambda _: ""
    #: Whether bounds can be compared all the same.
    bounds_count: bool = False
    #: Whether it is shown although it is 0 in every row.
    always: bool = False


@dataclass(frozen=True)
class Cell:
    """A number as text.

    Attributes:
        value: The mean, "-" if there is none.
        half: Half of its 95 % interval, empty if that is nothing.
        mark: "+" for the best, "-" for the worst, else empty.
    """

    value: str
    half: str = ""
    mark: str = ""


@dataclass
class Overview:
    """The table and the lines below it.

    Attributes:
        title: Of the scenario.
        name_heads: What `names` are: the scheme, swept values, the result.
        names: What each row is about.
        heads: Two lines and the unit of each column.
        rows: The cells of each.
        legend: What the marks mean, or why there are none.
        watched: A sentence for each watched entry.
        jobs: A sentence for each job.
        scope: What the comparison shows, and what it does not.
    """

    title: str
    name_heads: list[str]
    names: list[tuple[str, ...]]
    heads: list[tuple[str, str, str]]
    rows: list[list[Cell]]
    legend: str
    watched: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    scope: str = ""

    @property
    def told(self) -> list[str]:
        """What is said of single entries and jobs."""
        return [*self.watched, *self.jobs]


def of_result(result: Result) -> Overview:
    """Of a result of `unpause run`."""
    runs = Runs.of_result(result)
    groups = [(_names(runs, group), group) for group in runs.groups]
    told = story.of_result(result) if result.runs.num_rows <= story.MOST_RUNS else {}
    watched = [] if result.axes else _watched(told)
    asked = _entries(told)
    heads = ["scheme", *map(_axis, runs.axes)]
    name = asked[0] if len(asked) == 1 else "watched"
    found = _table(result.title, heads, groups, name, _of_jobs(result))
    found.watched = watched
    found.jobs = job_lines.of_result(result)
    found.scope = _scope(result, runs)
    return found


def of_sweep(runs: Runs) -> Overview:
    """Of the table of a sweep."""
    groups = [(_names(runs, group), group) for group in runs.groups]
    found = _table(runs.title, ["scheme", *map(_axis, runs.axes)], groups, "watched")
    axes = ", ".join(runs.axes)
    found.scope = (
        f"Shown: what changes with {axes}; all else is as in the scenario." if axes else ""
    )
    return found


def of_compared(names: Sequence[str], results: Sequence[Runs]) -> Overview:
    """Of several results: schemes of one name one below the other."""
    groups = []
    for scheme in dict.fromkeys(scheme for runs in results for scheme in runs.schemes):
        for name, runs in zip(names, results, strict=True):
            of = runs.of_scheme(scheme)
            groups += [((*_names(runs, group), name), group) for group in of]
    heads = ["scheme", *map(_axis, results[0].axes), "result"]
    return _table(results[0].title, heads, groups, "watched")


def _names(runs: Runs, group: Group) -> tuple[str, ...]:
    values = zip(runs.axes, group.values, strict=True)
    return (group.scheme, *(value_text(name, value) for name, value in values))


def _axis(name: str) -> str:
    """The last word of a key, without the unit, which its values have."""
    last = name.rpartition(".")[2]
    return last.removesuffix("_bytes").removesuffix("_bps").removesuffix("_ns")


def _share(row: Mapping[str, Any]) -> float | None:
    share = row["congested_share"]
    return None if share is None else 100 * share


def _unfinished(row: Mapping[str, Any]) -> float | None:
    return row["flows_sized"] - row["flows_completed"] if row["flows_sized"] else None


def _plain(_: float) -> tuple[float, str]:
    return 1.0, ""


def _at_least(rows: Sequence[Mapping[str, Any]]) -> str:
    return "" if all(row["victims_complete"] for row in rows) else ">="


def _longer(rows: Sequence[Mapping[str, Any]]) -> str:
    return "" if all(row["recovered"] for row in rows) else ">"


def _kinds(link: str, watched: str) -> list[_Kind]:
    def column(name: str) -> Callable[[Mapping[str, Any]], float | None]:
        return lambda row: row[name]

    return [
        _Kind(("victim", "flows"), column("victim_flows"), _plain, bound=_at_least, always=True),
        _Kind(("they", "waited"), column("victim_wait_ns"), text.time_unit, bound=_at_least),
        _Kind(("links", "paused"), column("paused_ns"), text.time_unit),
        _Kind(("slowdown", "p99"), column("slowdown_p99"), _plain),
        _Kind((link, "used"), _share, lambda _: (1.0, "%"), less_is_better=False),
        _Kind(("longest", "queue"), column("max_queue_bytes"), text.byte_unit),
        _Kind(("not", "done"), _unfinished, _plain),
        _Kind(("packets", "dropped"), column("dropped_packets"), _plain),
        _Kind((watched, "goodput"), column("watched_bps"), text.rate_unit, less_is_better=False),
        _Kind(
            ("recovers", "after"),
            column("recovery_ns"),
            text.time_unit,
            bound=_longer,
            bounds_count=True,
            always=True,
        ),
    ]


def _of_jobs(result: Result) -> list[_Kind]:
    """How long iterations of the first jobs took on average."""

    def column(means: Mapping[tuple[Any, ...], float]) -> Callable[[Mapping[str, Any]], Any]:
        axes = result.axes
        return lambda row: means.get((row["scheme"], tuple(row[it] for it in axes), row["seed"]))

    jobs = list(job_lines.iterations(result).items())[:_MOST_JOBS]
    return [_Kind((job, "iteration"), column(means), text.time_unit) for job, means in jobs]


def _table(
    title: str,
    name_heads: list[str],
    groups: Sequence[tuple[tuple[str, ...], Group]],
    watched: str,
    more: Sequence[_Kind] = (),
) -> Overview:
    rows = [row for _, group in groups for row in group.rows]
    links = {row["congested_link"] for row in rows if row["congested_link"]}
    link = links.pop() if len(links) == 1 else "busiest link"
    kinds = [
        kind
        for kind in [*more, *_kinds(link if len(link) <= _LINK_NAME else "link", watched)]
        if any(kind.of(row) or (kind.always and kind.of(row) is not None) for row in rows)
    ]
    columns = [_column(kind, [group for _, group in groups]) for kind in kinds]
    heads = [(*kind.head, unit) for kind, (unit, _) in zip(kinds, columns, strict=True)]
    cells = [[cells[i] for _, cells in columns] for i in range(len(groups))]
    legend = _legend([group for _, group in groups], cells)
    if len(link) > _LINK_NAME and link != "busiest link":
        legend = f"Link: {link}. {legend}"
    names = [names for names, _ in groups]
    return Overview(title, name_heads, names, heads, cells, legend.strip())


def _column(kind: _Kind, groups: Sequence[Group]) -> tuple[str, list[Cell]]:
    """The unit, and the cells from top to bottom."""
    measure = Measure("", kind.of, str, kind.unit)
    intervals = [mean_interval(list(group.by_seed(measure).values())) for group in groups]
    known = [abs(it.mean) for it in intervals if not math.isnan(it.mean)]
    factor, unit = kind.unit(max(known, default=0.0))
    cells = []
    for group, interval in zip(groups, intervals, strict=True):
        if math.isnan(interval.mean):
            cells.append(Cell("-"))
            continue
        # A tiny spread is that of rounding.
        wide = interval.count > 1 and interval.half > 1e-9 * abs(interval.mean)
        half = f"±{_digits(interval.half / factor, 2)}" if wide else ""
        rows = [row for row in group.rows if kind.of(row) is not None]
        bound = kind.bound(rows)
        # At least none says nothing.
        value = (
            "?" if bound == ">=" and not interval.mean else bound + _digits(interval.mean / factor)
        )
        cells.append(Cell(value, half))
    if not kind.bounds_count and any(kind.bound(group.rows) for group in groups):
        return unit, cells
    return unit, _marked(kind, measure, groups, cells)


def _marked(
    kind: _Kind, measure: Measure, groups: Sequence[Group], cells: Sequence[Cell]
) -> list[Cell]:
    """The cells with marks: schemes compete at the same swept values."""
    found = list(cells)
    points = list(dict.fromkeys(group.values for group in groups))
    several = len({group.scheme for group in groups}) > 1 or len(points) == 1
    for point in points if several else [None]:
        at = [
            i
            for i, group in enumerate(groups)
            if cells[i].value != "-" and (point is None or group.values == point)
        ]
        for i, mark in _best_and_worst(kind, measure, [(i, groups[i], cells[i]) for i in at]):
            found[i] = Cell(cells[i].value, cells[i].half, mark)
    return found


def _best_and_worst(
    kind: _Kind, measure: Measure, rows: Sequence[tuple[int, Group, Cell]]
) -> list[tuple[int, str]]:
    if not 2 <= len(rows) <= _MOST_COMPARED:
        return []
    sign = 1 if kind.less_is_better else -1
    means = [sign * mean_interval(list(it[1].by_seed(measure).values())).mean for it in rows]

    def apart(one: int, other: int) -> bool:
        if rows[one][2].value == rows[other][2].value:
            return False
        difference = rows[one][1].against(rows[other][1], measure)
        return difference is not None and difference.known and not difference.noise

    found = []
    for one, (place, _, _) in enumerate(rows):
        others = [other for other in range(len(rows)) if apart(one, other)]
        better = any(means[other] < means[one] for other in others)
        worse = any(means[other] > means[one] for other in others)
        if better != worse:
            found.append((place, "-" if better else "+"))
    return found


def _legend(groups: Sequence[Group], cells: Sequence[Sequence[Cell]]) -> str:
    seeds = max((len(group.by_seed(_SEED)) for group in groups), default=0)
    if len(groups) < 2:
        return "Means over the seeds, ± half of the 95 % interval." if seeds > 1 else ""
    if seeds < 2:
        return "One seed: no best or worst is marked, because the noise is not known."
    if not any(cell.mark for row in cells for cell in row):
        return f"Nothing differs beyond the noise of {seeds} seeds (t-test, 5 %)."
    return (
        f"Means over {seeds} seeds, ± half of the 95 % interval. + best, - worst, where the "
        "difference is beyond noise (t-test, 5 %)."
    )


_SEED = Measure("", lambda row: row["seed"], str, _plain)


def _digits(number: float, digits: int = 3) -> str:
    """So many significant digits, no exponent; whole numbers are written out."""
    if number == 0:
        return "0"
    if number == round(number) and abs(number) < 1e6:
        return f"{number:.0f}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{min(places, 6)}f}"


def _entries(told: Mapping[str, Sequence[story.Story]]) -> list[str]:
    every = [it.name for stories in told.values() for each in stories for it in each.watched]
    return list(dict.fromkeys(every))


def _watched(told: Mapping[str, Sequence[story.Story]]) -> list[str]:
    """A sentence for each entry that is watched."""
    found = []
    for name in _entries(told):
        by_scheme = _by_scheme(told, name)
        more = len(by_scheme) - _MOST_SCHEMES
        first = dict(list(by_scheme.items())[:_MOST_SCHEMES])
        rest = f"; {more} more schemes" if more > 0 else ""
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
    """Whether its flows share a congested link, where the runs know."""
    known = {
        scheme: {link for it in ours for link in it.crossed or ()}
        for scheme, ours in by_scheme.items()
        if all(it.crossed is not None for it in ours)
    }
    if not known:
        return ""
    links = list(dict.fromkeys(link for crossed in known.values() for link in sorted(crossed)))
    if not links:
        return " (shares no congested link)"
    on_path = f"{', '.join(links[:2])}{' and others' if len(links) > 2 else ''}"
    if all(known.values()):
        return f" (crosses {on_path}, where PAUSE began)"
    some = [scheme for scheme, crossed in known.items() if crossed]
    return f" (crosses {on_path}, where PAUSE began under {', '.join(some)})"


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
    return f"{', '.join(parts)} on average, all the time that it ran"


def _around_burst(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    rates: list[str] = []
    back: dict[str, list[str]] = {}
    for scheme, ours in by_scheme.items():
        rates.append(f"{_got_of(ours)} under {scheme}")
        if how := recovered(ours):
            back.setdefault(how.removeprefix("recovered "), []).append(scheme)
    found = f"during the burst it got, of what it had before, {', '.join(rates)}"
    if back:
        each = ", ".join(f"{how} under {_listed(names)}" for how, names in back.items())
        found += f"; recovered {each}"
    return found


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def got(name: str, ours: Sequence[Watched]) -> str:
    """What an entry got in the burst of what it had before, a mean over its runs."""
    return f"{name}: {_got_of(ours)}"


def _got_of(ours: Sequence[Watched]) -> str:
    around = [it.around for it in ours if it.around is not None]
    during = _mean([it.during_bps for it in around]) / 1e9
    return f"{during:.3g} of {text.rate(_mean([it.before_bps for it in around]))}"


def recovered(ours: Sequence[Watched]) -> str:
    """When an entry had recovered after the burst, a mean over its runs; empty if not known."""
    around = [it.around for it in ours if it.around is not None]
    if not around or any(it.looked_ns is None for it in around):
        return ""
    return f"recovered {_recovered(around)}"


def who(told: Mapping[str, Sequence[story.Story]]) -> dict[str, str]:
    """By watched entry whether it shares a congested link, where that is known."""
    every = {name: _whose_congestion(_by_scheme(told, name)) for name in _entries(told)}
    return {name: whose.strip(" ()") for name, whose in every.items() if whose}


def _recovered(around: Sequence[Any]) -> str:
    times = [it.recovery_ns for it in around if it.recovery_ns is not None]
    if len(times) < len(around):
        looked = text.time(min(it.looked_ns for it in around if it.recovery_ns is None))
        of = f" in {len(around) - len(times)} of {len(around)} runs" if times else ""
        return f"not within {looked}{of}"
    mean = _mean(times)
    return f"{text.time(mean)} after it" if mean else "at once"


def _of_sized(by_scheme: Mapping[str, Sequence[Watched]]) -> str:
    parts = []
    for scheme, ours in by_scheme.items():
        slow = [it.slowdown_p99 for it in ours if it.slowdown_p99 is not None]
        told = [f"p99 slowdown {_mean(slow):.3g}"] if slow else []
        if any(it.unfinished for it in ours):
            told.append(f"{_digits(_mean([it.unfinished for it in ours]))} not done")
        if all(it.waited_ns is not None for it in ours) and any(it.waited_ns for it in ours):
            waited = text.time(_mean([it.waited_ns or 0.0 for it in ours]))
            told.append(f"waited {waited} for congestion off their path")
        parts.append(f"{' and '.join(told) or 'nothing measured'} under {scheme}")
    return ", ".join(parts)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _scope(result: Result, runs: Runs) -> str:
    """What the comparison shows, and what it does not."""
    missing = []
    if runs.seeds < 2:
        missing.append("which differences are noise (--seeds 5)")
    if any(row["pause_events"] and row["victims_complete"] is not True for row in runs.rows):
        missing.append("every victim ([probes] causes = true)")
    if not any(it.get("watch") is True for it in _traffic(result)):
        missing.append("a flow by name ([[traffic]] watch = true)")
    missing.append("other loads, thresholds and link rates (unpause sweep)")
    shown = f"{len(runs.schemes)} schemes" if len(runs.schemes) > 1 else "one scheme"
    also = _other_settings(result)
    differ = f" The schemes also differ in {also}." if also else ""
    return f"Shown: {shown} under one workload.{differ} Not shown: {'; '.join(missing)}."


def _traffic(result: Result) -> list[dict[str, Any]]:
    return [it for it in result.scenario.get("traffic", []) if isinstance(it, dict)]


def _other_settings(result: Result) -> str:
    """Keys that a scheme changes in other tables, and another does not, or to another value."""
    names = set(result.schemes)
    schemes = [it for it in result.scenario.get("scheme", []) if it.get("name") in names]
    if len(schemes) < 2:
        return ""
    each = {it["name"]: it.get("set", {}) for it in schemes}
    common = [
        key
        for key, value in next(iter(each.values())).items()
        if all(other.get(key) == value for other in each.values())
    ]
    parts = []
    for name, keys in each.items():
        own = [key for key in keys if key not in common]
        if own:
            more = f" and {len(own) - 2} more" if len(own) > 2 else ""
            parts.append(f"{', '.join(own[:2])}{more} ({name})")
    return ", ".join(parts[:3]) + (" and others" if len(parts) > 3 else "")
