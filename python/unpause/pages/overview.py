"""The small table that every view of runs opens with, and what stands below it.

A row for each scheme (at each swept value, of each result), with what an engineer decides by; means
over the seeds. In a column a row is marked as best if none is better beyond noise and one is worse
beyond noise, and all with a better mean are; as worst the other way round: by
:func:`unpause.statistics.intervals.difference` at 5 %, by at least 2 %, and in what is printed.
With one seed nothing is marked, nor where a number is a bound only, nor as best what another column
paid for.

Below: the flows that the scenario watches and its jobs, by name; then what the comparison shows and
what not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from unpause import text
from unpause.data.result import Result
from unpause.explanation import causes, held, job_lines, story, watched_lines
from unpause.pages import unlike
from unpause.statistics.intervals import mean_interval
from unpause.sweeps import recorded
from unpause.sweeps.grouped import NOT_RECORDED, Group, Runs
from unpause.sweeps.recorded import MOST_JOBS, Kind, Measure
from unpause.text import value_text

#: A name of a link that is no longer than this heads its column.
_LINK_NAME = 10
#: At most this many ports with a longest queue are named.
_MOST_QUEUES = 3
#: With more rows none is marked.
_MOST_COMPARED = 60
#: Means that differ by less of the larger one are as good as each other.
_LEAST_APART = 0.02


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
        """Sentences about single entries and jobs."""
        return [*self.watched, *self.jobs]


def of_result(result: Result) -> Overview:
    """The overview of a result of `unpause run`."""
    runs = Runs.of_result(result)
    groups = [(_names(runs, group), group) for group in runs.groups]
    told = story.of_result(result) if result.runs.num_rows <= story.MOST_RUNS else {}
    watched = [] if result.axes else watched_lines.lines(told)
    asked = watched_lines.entries(told)
    heads = ["scheme", *map(_axis, runs.axes)]
    name = asked[0] if len(asked) == 1 else "watched"
    found = _table(result.title, heads, groups, name, jobs=runs.jobs)
    found.legend = " ".join(filter(None, [_longest_queues(result, runs), found.legend]))
    found.watched = watched
    found.jobs = job_lines.of_result(result)
    found.scope = _scope(result, runs)
    return found


def _longest_queues(result: Result, runs: Runs) -> str:
    """At which ports the longest queues were, where it is not the link of the table in all runs."""
    if result.runs.num_rows > story.MOST_RUNS:
        return ""
    links = {row["congested_link"] for row in runs.rows}
    places: dict[str, dict[str, None]] = {}
    for scheme in result.schemes:
        for run in result.runs_of(scheme):
            ports = run.columns("ports", ["node", "peer", "max_queue_bytes"])
            if not ports.num_rows or not pc.max(ports.column("max_queue_bytes")).as_py():
                continue
            row = ports.column("max_queue_bytes").to_numpy().argmax()
            node, peer, _ = (column[int(row)].as_py() for column in ports.columns)
            places.setdefault(scheme, {})[f"{node}->{peer}"] = None
    if {place for of in places.values() for place in of} <= links:
        return ""
    # In one seed or point it may be here, in another there.
    schemes: dict[str, list[str]] = {}
    for scheme, of in places.items():
        schemes.setdefault(f"at {_listed(sorted(of), 'or')}", []).append(scheme)
    if len(schemes) == 1:
        return f"Longest queue: {next(iter(schemes))}."
    parts = [f"{at} under {_listed(under)}" for at, under in schemes.items()]
    if len(parts) > _MOST_QUEUES:
        parts[_MOST_QUEUES - 1 :] = ["elsewhere under the others"]
    return f"Longest queue: {'; '.join(parts)}."


def _listed(names: Sequence[str], last: str = "and") -> str:
    shown = [*names[:3], *["others"] * (len(names) > 3)]
    return f" {last} ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def of_sweep(runs: Runs) -> Overview:
    """The overview of a sweep."""
    groups = [(_names(runs, group), group) for group in runs.groups]
    found = _table(
        runs.title, ["scheme", *map(_axis, runs.axes)], groups, "watched", jobs=runs.jobs
    )
    axes = ", ".join(runs.axes)
    found.scope = (
        f"Shown: what changes with {axes}; everything else is as in the scenario." if axes else ""
    )
    if (more := len(runs.jobs) - MOST_JOBS) > 0:
        found.scope += f" {more} more job{'s' if more > 1 else ''}: sweep.parquet."
    if missing := recorded.not_recorded(runs.rows):
        found.scope = f"{found.scope} Not recorded: {', '.join(missing)}.".strip()
    return found


def of_compared(names: Sequence[str], results: Sequence[Runs]) -> Overview:
    """The overview of several results: schemes of one name one below the other."""
    every = [(group.scheme, group.values) for runs in results for group in runs.groups]
    schemes = list(dict.fromkeys(scheme for runs in results for scheme in runs.schemes))
    groups = []
    # Rows of the same swept values one below the other.
    for key in sorted(dict.fromkeys(every), key=lambda key: schemes.index(key[0])):
        for name, runs in zip(names, results, strict=True):
            of = [group for group in runs.groups if (group.scheme, group.values) == key]
            groups += [((*_names(runs, group), name), group) for group in of]
    heads = ["scheme", *map(_axis, results[0].axes), "result"]
    each = [(name, _links(runs.rows)) for name, runs in zip(names, results, strict=True)]
    links = ", ".join(f"{_listed(links, 'or')} in {name}" for name, links in each if links)
    jobs = list(dict.fromkeys(job for runs in results for job in runs.jobs))
    found = _table(results[0].title, heads, groups, "watched", links, jobs)
    found.scope = unlike.points(names, results)
    return found


def _names(runs: Runs, group: Group) -> tuple[str, ...]:
    values = zip(runs.axes, group.values, strict=True)
    return (group.scheme, *(value_text(name, value) for name, value in values))


def _axis(name: str) -> str:
    """The last word of a key, without the unit, which its values have."""
    return text.key_text(name.rpartition(".")[2])


def _congested(group: Group) -> int:
    """In how many runs a link was congested."""
    return sum(row.get("congested_share") is not None for row in group.rows)


def _table(
    title: str,
    name_heads: list[str],
    groups: Sequence[tuple[tuple[str, ...], Group]],
    watched: str,
    links: str = "",
    jobs: Sequence[str] = (),
) -> Overview:
    """The table; `links` says where each link is the most congested, if that is not one."""
    rows = [row for _, group in groups for row in group.rows]
    every = _links(rows)
    link = every[0] if len(every) == 1 else "link"
    head = link if len(link) <= _LINK_NAME else "link"
    kinds = [
        kind
        for kind in recorded.kinds(jobs, head, watched)
        if any(kind.of(row) or (kind.always and kind.of(row) is not None) for row in rows)
    ]
    columns = [_column(kind, [group for _, group in groups]) for kind in kinds]
    heads = [(*kind.head, unit) for kind, (unit, _) in zip(kinds, columns, strict=True)]
    cells = [[cells[i] for _, cells in columns] for i in range(len(groups))]
    legend = _legend([group for _, group in groups], cells)
    if any(0 < _congested(group) < len(group.rows) for _, group in groups):
        legend += " Utilisation: mean over the runs in which a link was congested."
    if len(every) > 1:
        links = links or _listed(every, "or")
        legend = f"Link: the most congested of each run, {links}. {legend}"
    elif len(link) > _LINK_NAME:
        legend = f"Link: {link}. {legend}"
    names = [names for names, _ in groups]
    return Overview(title, name_heads, names, heads, cells, legend.strip())


def _links(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The links whose utilisation is known."""
    links = (row.get("congested_link") for row in rows)
    return list(dict.fromkeys(link for link in links if link))


def _column(kind: Kind, groups: Sequence[Group]) -> tuple[str, list[Cell]]:
    """The unit, and the cells from top to bottom."""
    measure = Measure("", kind.of, str, kind.unit)
    intervals = [mean_interval(list(group.by_seed(measure).values())) for group in groups]
    known = [abs(it.mean) for it in intervals if not math.isnan(it.mean)]
    factor, unit = kind.unit(max(known, default=0.0))
    cells = []
    for group, interval in zip(groups, intervals, strict=True):
        if math.isnan(interval.mean):
            cells.append(Cell("-" if group.records(kind.needs) else NOT_RECORDED))
            continue
        # A tiny spread is that of rounding.
        wide = interval.count > 1 and interval.half > 1e-9 * abs(interval.mean)
        half = f"±{text.digits(interval.half / factor, 2)}" if wide else ""
        rows = [row for row in group.rows if kind.of(row) is not None]
        bound = kind.bound(rows)
        # At least none says nothing.
        value = (
            "?"
            if bound == ">=" and not interval.mean
            else bound + text.digits(interval.mean / factor)
        )
        cells.append(Cell(value, half))
    if not kind.bounds_count and any(kind.bound(group.rows) for group in groups):
        return unit, cells
    return unit, _marked(kind, measure, groups, cells)


def _marked(
    kind: Kind, measure: Measure, groups: Sequence[Group], cells: Sequence[Cell]
) -> list[Cell]:
    """The cells with marks: schemes compete at the same swept values."""
    found = list(cells)
    points = list(dict.fromkeys(group.values for group in groups))
    several = len({group.scheme for group in groups}) > 1 or len(points) == 1
    for point in points if several else [None]:
        at = [
            i
            for i, group in enumerate(groups)
            if cells[i].value not in ("-", NOT_RECORDED)
            and (point is None or group.values == point)
        ]
        measured = [row for i in at for row in groups[i].rows if kind.of(row) is not None]
        if len({kind.about(row) for row in measured}) > 1:
            continue
        every = sum(point in (None, group.values) for group in groups)
        for i, mark in _best_and_worst(kind, measure, [(i, groups[i], cells[i]) for i in at]):
            if mark == "+" or not kind.missing_is_worst or len(at) == every:
                found[i] = Cell(cells[i].value, cells[i].half, mark)
    return found


def _best_and_worst(
    kind: Kind, measure: Measure, rows: Sequence[tuple[int, Group, Cell]]
) -> list[tuple[int, str]]:
    if not 2 <= len(rows) <= _MOST_COMPARED:
        return []
    sign = 1 if kind.less_is_better else -1
    means = [sign * mean_interval(list(it[1].by_seed(measure).values())).mean for it in rows]

    def apart(one: int, other: int) -> bool:
        if rows[one][2].value == rows[other][2].value:
            return False
        if abs(means[one] - means[other]) < _LEAST_APART * max(abs(means[one]), abs(means[other])):
            return False
        difference = rows[one][1].against(rows[other][1], measure)
        return difference is not None and difference.known and not difference.noise

    found = []
    # Starting with the worst and with the best, until the first gap.
    for mark, order in (("-", -1), ("+", 1)):
        for one in sorted(range(len(rows)), key=lambda it: order * means[it]):
            others = [other for other in range(len(rows)) if apart(one, other)]
            beyond = [other for other in others if order * (means[other] - means[one]) < 0]
            if beyond or not others:
                break
            place, group, _ = rows[one]
            if mark == "-" or kind.earned(group.rows):
                found.append((place, mark))
    return found


def _legend(groups: Sequence[Group], cells: Sequence[Sequence[Cell]]) -> str:
    counts = [len(group.by_seed(_SEED)) for group in groups] or [0]
    seeds = max(counts)
    told = f"{seeds} seeds" if min(counts) == seeds else f"{min(counts)} to {seeds} seeds"
    if len(groups) < 2:
        return "Means over the seeds, ± half of the 95 % interval." if seeds > 1 else ""
    if seeds < 2:
        return "One seed: no best or worst is marked, because the noise is not known."
    if not any(cell.mark for row in cells for cell in row):
        return f"Nothing differs beyond the noise of {told} (t-test, 5 %)."
    return (
        f"Means over {told}, ± half of the 95 % interval. + best, - worst, where the "
        "difference is beyond noise (t-test, 5 %)."
    )


_SEED = Measure("", lambda row: row["seed"], str, lambda _: (1.0, ""))


def _scope(result: Result, runs: Runs) -> str:
    """A sentence on what the comparison shows and leaves out."""
    missing = []
    if runs.seeds < 2:
        missing.append("which differences are noise (--seeds 5)")
    untold = result.runs.num_rows > story.MOST_RUNS
    if untold:
        missing.append(
            "victims, utilisation, watched flows and sentences, because there are more than "
            f"{story.MOST_RUNS} runs (unpause sweep has all but the sentences)"
        )
    else:
        missing += _uncounted(result, runs)
    if not untold and not any(it.get("watch") is True for it in _traffic(result)):
        missing.append("a flow by name ([[traffic]] watch = true)")
    missing.append("other loads, thresholds and link rates (unpause sweep)")
    shown = f"{len(runs.schemes)} schemes" if len(runs.schemes) > 1 else "one scheme"
    also = unlike.settings(result)
    differ = f" The schemes also differ in {also}." if also else ""
    return f"Shown: {shown} under one workload.{differ} Not shown: {'; '.join(missing)}."


def _uncounted(result: Result, runs: Runs) -> list[str]:
    """Which victims may be missing."""
    unsure = [row for row in runs.rows if row["victims_complete"] is not True]
    found = []
    if any(row["pause_events"] for row in unsure):
        if not causes.are_there(result):
            found.append("every victim ([probes] causes = true)")
        else:
            every = [run for scheme in runs.schemes for run in result.runs_of(scheme)]
            why = list(dict.fromkeys(it for run in every for it in held.not_counted(run)))
            found += why or ["victims of PAUSEs whose root is not known"]
    if any(not row["pause_events"] and row["victims_complete"] is False for row in unsure):
        found.append("which flows waited for credits")
    return found


def _traffic(result: Result) -> list[dict[str, Any]]:
    return [it for it in result.scenario.get("traffic", []) if isinstance(it, dict)]
