"""The small table that every view of runs opens with, the answer that it gives, and more lines.

A row for each scheme (at each swept value, of each result), with what an engineer decides by; means
over the seeds, or the least and the most of them. :mod:`unpause.pages.column` says which row is
better than which, :mod:`unpause.pages.answer` which one to take. Schemes are compared under the
same traffic in the same fabric only. Rows of a scheme that a swept key does not change are one.

Below: the flows that the scenario watches and its jobs, by name; then what the comparison shows and
what not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from unpause import text
from unpause.data import workload
from unpause.data.result import Result
from unpause.explanation import causes, held, job_lines, story, watched_lines
from unpause.pages import answered, column
from unpause.pages.answered import RESULT, Row, Rows
from unpause.pages.column import Cell
from unpause.pages.unlike import points, settings
from unpause.sweeps import recorded
from unpause.sweeps.grouped import Group, Runs
from unpause.sweeps.recorded import MOST_JOBS, Measure
from unpause.text import listed

#: A name of a link that is no longer than this heads its column.
_LINK_NAME = 10
#: At most this many ports with a longest queue are named.
_MOST_QUEUES = 3


@dataclass
class Overview:
    """The table and the lines below it.

    Attributes:
        title: Of the scenario.
        name_heads: What `names` are: the scheme, swept values, the result.
        names: What each row is about.
        heads: Two lines and the unit of each column.
        rows: The cells of each.
        legend: What numbers and marks mean, or why there are no marks.
        answer: Which row to take, and what decides: one to a few sentences.
        notes: More about columns.
        aside: By column whether it only says why, or at what price.
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
    answer: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    aside: list[bool] = field(default_factory=list)
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
    rows = Rows(runs.axes, _given(runs), _rows(runs), _unlike_schemes(runs))
    told = story.of_result(result) if result.runs.num_rows <= story.MOST_RUNS else {}
    watched = [] if result.axes else watched_lines.lines(told)
    asked = watched_lines.entries(told)
    name = asked[0] if len(asked) == 1 else "watched"
    found = _table(result.title, rows, name, jobs=runs.jobs)
    found.notes = [*filter(None, [_longest_queues(result, runs)]), *found.notes]
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
        schemes.setdefault(f"at {_few(sorted(of), 'or')}", []).append(scheme)
    if len(schemes) == 1:
        return f"Longest queue: {next(iter(schemes))}."
    parts = [f"{at} under {_few(under)}" for at, under in schemes.items()]
    if len(parts) > _MOST_QUEUES:
        parts[_MOST_QUEUES - 1 :] = ["elsewhere under the others"]
    return f"Longest queue: {'; '.join(parts)}."


def _few(names: Sequence[str], last: str = "and") -> str:
    return listed([*names[:3], *["others"] * (len(names) > 3)], last)


def _rows(runs: Runs, *more: str) -> list[Row]:
    return [Row(group, (*group.values, *more)) for group in runs.groups]


def _given(runs: Runs) -> set[str]:
    """The axes of traffic and fabric."""
    keys = {axis: runs.keys.get(axis, [axis]) for axis in runs.axes}
    return {axis for axis, every in keys.items() if any(map(workload.is_given, every))}


def _unlike_schemes(runs: Runs) -> dict[str, str]:
    """The schemes that carry other traffic than the first, and the keys in which it differs."""
    first, *others = runs.schemes
    found = {}
    for scheme in others:
        keys = workload.difference((runs.scenario, first), (runs.scenario, scheme))
        if keys:
            found[scheme] = ", ".join(keys[:2])
    return found


def of_sweep(runs: Runs) -> Overview:
    """The overview of a sweep."""
    rows = Rows(runs.axes, _given(runs), _rows(runs), _unlike_schemes(runs))
    found = _table(runs.title, rows, "watched", jobs=runs.jobs)
    axes = ", ".join(runs.axes)
    found.scope = (
        f"Shown: what changes with {axes}; everything else is as in the scenario." if axes else ""
    )
    if (more := len(runs.jobs) - MOST_JOBS) > 0:
        found.scope += f" {more} more job{'s' if more > 1 else ''}: sweep.parquet."
    if missing := recorded.not_recorded(runs.rows):
        found.scope = f"{found.scope} Not recorded: {', '.join(missing)}.".strip()
    return found


def of_compared(
    names: Sequence[str], results: Sequence[Runs], unlike: Mapping[str, str] | None = None
) -> Overview:
    """The overview of several results: schemes of one name one below the other.

    Args:
        names: Of the results.
        results: Their runs.
        unlike: By result how its traffic differs from that of the first one, where it does.
    """
    every = [(group.scheme, group.values) for runs in results for group in runs.groups]
    schemes = list(dict.fromkeys(scheme for runs in results for scheme in runs.schemes))
    axes = [*results[0].axes, RESULT]
    rows = []
    # Rows of the same swept values one below the other.
    for key in sorted(dict.fromkeys(every), key=lambda key: schemes.index(key[0])):
        for name, runs in zip(names, results, strict=True):
            rows += [row for row in _rows(runs, name) if (row.scheme, row.values[:-1]) == key]
    each = [(name, _links(runs.rows)) for name, runs in zip(names, results, strict=True)]
    links = ", ".join(f"{_few(links, 'or')} in {name}" for name, links in each if links)
    jobs = list(dict.fromkeys(job for runs in results for job in runs.jobs))
    compared = Rows(axes, _given(results[0]), rows, unlike or {})
    found = _table(results[0].title, compared, "watched", links, jobs)
    found.scope = points(names, results)
    return found


def _axis(name: str) -> str:
    """The last word of a key, without the unit, which its values have."""
    return text.key_text(name.rpartition(".")[2])


def _congested(group: Group) -> int:
    """In how many runs a link was congested."""
    return sum(row.get("congested_share") is not None for row in group.rows)


def _table(
    title: str,
    rows: Rows,
    watched: str,
    links: str = "",
    jobs: Sequence[str] = (),
) -> Overview:
    """The table; `links` says where each link is the most congested, if that is not one."""
    groups = [row.group for row in rows.rows]
    runs = [run for group in groups for run in group.rows]
    every = _links(runs)
    link = every[0] if len(every) == 1 else "link"
    head = link if len(link) <= _LINK_NAME else "link"
    columns = [
        column.of(kind, groups, rows.sets)
        for kind in recorded.kinds(jobs, head, watched, runs)
        if any(kind.of(run) or (kind.always and kind.of(run) is not None) for run in runs)
    ]
    cells = [[each.cells[i] for each in columns] for i in range(len(groups))]
    legend, notes = _legend(groups, cells), []
    if len(every) > 1:
        links = links or _few(every, "or")
        legend = f"Link: the most congested of each run, {links}. {legend}"
    elif len(link) > _LINK_NAME:
        legend = f"Link: {link}. {legend}"
    if any(each.head[0] == "slowdown" for each in columns):
        legend = f"{recorded.note_on_flows(runs)} {legend}"
    if any(0 < _congested(group) < len(group.rows) for group in groups):
        notes.append("Utilisation: mean over the runs in which a link was congested.")
    return Overview(
        title,
        ["scheme", *map(_axis, rows.axes)],
        [*map(rows.texts, rows.rows)],
        [each.head for each in columns],
        cells,
        legend.strip(),
        answered.sentences(rows, columns),
        notes,
        [not each.decides for each in columns],
    )


def _links(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The links whose utilisation is known."""
    links = (row.get("congested_link") for row in rows)
    return list(dict.fromkeys(link for link in links if link))


def _legend(groups: Sequence[Group], cells: Sequence[Sequence[Cell]]) -> str:
    counts = [len(group.by_seed(_SEED)) for group in groups] or [0]
    seeds = max(counts)
    several = f"{seeds} seeds" if min(counts) == seeds else f"{min(counts)} to {seeds} seeds"
    if seeds < 2:
        few = "One seed: nothing is marked; --seeds 5 shows what is noise."
        return few if len(groups) > 1 else ""
    means = f"Means of {several} ± 95 % interval, or their range"
    if len(groups) < 2 or not any(cell.mark for row in cells for cell in row):
        return f"{means}."
    return f"{means}; * best, ! worst beyond noise."


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
    also = settings(result)
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
