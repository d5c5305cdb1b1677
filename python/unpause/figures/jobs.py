"""Jobs: iteration times, ranks over time with the critical path, bandwidth, bytes on links."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unpause.data import iterations, schemes, series
from unpause.data.fabric import senders_and_receivers
from unpause.data.result import Result, Run
from unpause.explanation.job_lines import unit_of
from unpause.figures import overtime
from unpause.figures.registry import draws
from unpause.figures.style import (
    MOST_PANELS,
    NothingToDraw,
    from_zero,
    grid,
    legend,
    log_ticks,
    note,
    panel_axes,
    side_by_side,
)
from unpause.statistics.intervals import mean_interval
from unpause.text import are, byte_unit, plural, time, time_unit, value_text

_NO_JOBS = "The scenario has no [[job]]."
_MOST_RANKS = 64
_MOST_TICKS = 12
#: GPUs of a server of the builder `rails` that says nothing else.
_GPUS = 8
_MOST_LINKS = 16
#: Spans of a timeline this part of its width apart are drawn as one.
_TELLS_APART = 2000
#: Panels of schemes that differ by less than this share are one.
_ALIKE = 0.02
#: Iterations that are drawn at least, if so many are planned and not all are complete.
_LEAST_DRAWN = 20
#: Colours of the timeline.
_SPAN, _COMPUTE, _SENDS, _PATH, _LATE = "#E6E6E6", "#9A9A9A", "#9CC3E6", "#D55E00", "#A0006D"


@draws("job-iterations", "Iteration times of jobs", place=-0.9, table="jobs")
def draw_iterations(result: Result) -> Figure:
    """Time of each iteration, a panel for each job, a line for each scheme, and the job alone.

    Iterations that a job did not complete are shaded, with why it did not.
    """
    shown = overtime.shown(result)
    jobs = _jobs(result)
    looks, wide = shown.looks, shown.widths
    panels = [
        job for job in jobs
        if any(len(_times(run, job)[0]) or iterations.ending(_row(run, job)) for run in shown.runs)
    ]  # fmt: skip
    if not panels:
        raise NothingToDraw("No iteration of a job was complete.")
    figure, axes = panel_axes(min(len(panels), MOST_PANELS), 2, 1.75, 0.7)
    has_alone = False
    for ax, job in zip(axes, panels, strict=False):
        found = {run.scheme: _times(run, job) for run in shown.runs}
        largest = max((float(takes.max()) for _, takes in found.values() if len(takes)), default=0)
        factor, unit = time_unit(largest)
        warmup = 0
        for run in shown.runs:
            number, takes = found[run.scheme]
            look = looks[run.scheme]
            ax.plot(
                number, takes / factor, color=look.colour, linestyle=look.dash, marker=look.marker,
                markersize=3, linewidth=wide[run.scheme], label=run.scheme,
            )  # fmt: skip
            row = _row(run, job)
            warmup = max(warmup, row["warmup"])
            if row["alone_ns"] is not None:
                has_alone = True
                ax.axhline(row["alone_ns"] / factor, color=look.colour, linestyle=":", linewidth=1)
        if warmup:
            ax.axvspan(-0.5, warmup - 0.5, color="#F0F0F0", zorder=0, linewidth=0)
        last = max((float(n.max()) for n, _ in found.values() if len(n)), default=0.0)
        ax.set_xlim(-0.5, max([last, *_missing(ax, shown.runs, job, looks)]) + 0.5)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_title(job, fontweight="bold")
        ax.set_ylabel(f"iteration takes ({unit})")
        ax.set_xlabel("iteration")
        from_zero(ax)
    if has_alone:
        axes[0].plot([], [], color="#555555", linestyle=":", linewidth=1, label="alone (mean)")
    legend(figure, axes)
    rest = len(panels) - len(axes)
    note(
        figure,
        shown.note,
        "Grey: warm-up." if any(_row(run, job)["warmup"] for run in shown.runs for job in panels)
        else "",
        f"{plural(rest, 'more job')} {are(rest)} in table iterations." if rest else "",
    )  # fmt: skip
    return figure


def _missing(
    ax: Axes, runs: Sequence[Run], job: str, looks: Mapping[str, schemes.Look]
) -> list[float]:
    """Shades the iterations that a job did not complete, and says why; the last that is drawn."""
    ends = []
    for run in runs:
        row = _row(run, job)
        done, planned = row["iterations"], row["iterations_planned"]
        if done >= planned:
            continue
        last = min(planned - 1, max(_LEAST_DRAWN, 4 * done))
        colour = looks[run.scheme].colour
        ax.axvspan(done - 0.5, last + 0.5, color=colour, alpha=0.12, zorder=0, linewidth=0)
        why = iterations.ending(row).split(":")[0] or "not complete"
        name = f"{run.scheme}: " if len(runs) > 1 else ""
        ax.annotate(
            f" {name}{done} of {planned}, {why}", (done - 0.5, 0.9 - 0.12 * len(ends)),
            xycoords=("data", "axes fraction"), fontsize=7, color=colour, va="top",
            annotation_clip=False,
        )  # fmt: skip
        ends.append(float(last))
    return ends


@draws("job-timeline", "Ranks of jobs over time", place=-0.8, table="jobs")
def draw_timeline(result: Result) -> Figure:
    """Ranks over time in the longest iteration of each job, and its critical path on top."""
    shown = overtime.first(result)
    every = [(run, job) for job in _jobs(result) for run in shown.runs]
    found = [(run, job, longest) for run, job in every if (longest := _longest(run, job))]
    if not found:
        raise NothingToDraw("No iteration of a job was complete, or messages were not recorded.")
    found, alike = _that_differ(found)
    panels, rest = found[:MOST_PANELS], len(found[MOST_PANELS:])
    ranks = [min(_row(run, job)["ranks"], _MOST_RANKS) for run, job, _ in panels]
    figure, axes = panel_axes(len(panels), 2, max(1.3, 0.55 + 0.07 * max(ranks)), 0.7)
    for ax, (run, job, longest) in zip(axes, panels, strict=False):
        _timeline(ax, run, job, longest)
    for label, colour, width in (
        ("iteration of the rank", _SPAN, 5),
        ("computes", _COMPUTE, 5),
        ("one of its messages is in flight", _SENDS, 5),
        ("critical path: as fast as alone", _PATH, 1.6),
        ("critical path: delayed", _LATE, 1.6),
    ):
        axes[0].plot([], [], color=colour, linewidth=width, label=label)
    legend(figure, axes)
    many = [job for _, job, longest in panels if longest["ranks"] > _MOST_RANKS]
    note(
        figure,
        shown.note,
        "The longest iteration after the warm-up, from the end of the one before.",
        f"The first {_MOST_RANKS} ranks of {', '.join(dict.fromkeys(many))}." if many else "",
        f"Within {100 * _ALIKE:.0f} % of one that is drawn: {_some(alike)}" if alike else "",
        f"{rest} more {are(rest)} in table critical." if rest else "",
    )  # fmt: skip
    return figure


_Longest = tuple[Run, str, Mapping[str, Any]]


def _that_differ(found: list[_Longest]) -> tuple[list[_Longest], list[str]]:
    """Longest iterations without those that hardly differ from an earlier one of the same job.

    The names of the others, such as "gpt under Swift (1.86 ms)".
    """
    kept: list[_Longest] = []
    alike = []
    for run, job, longest in found:
        takes = _takes(longest)
        ours = [_takes(it) for _, other, it in kept if other == job]
        if any(abs(takes - it) <= _ALIKE * it for it in ours):
            alike.append(f"{job} under {run.scheme} ({time(takes)})")
        else:
            kept.append((run, job, longest))
    return kept, alike


def _takes(iteration: Mapping[str, Any]) -> float:
    return iteration["end_ns"] - iteration["start_ns"]


@draws("job-links", "Bytes of jobs on links", place=-0.75, table="job_links")
def draw_links(result: Result) -> Figure:
    """Bytes that each job put on the links between switches, a panel for each scheme.

    Links on which several jobs meet, or one job several times, carry more than others. Where no
    link is between switches, those of hosts.
    """
    shown = overtime.first(result)
    each = {run.scheme: _bytes_of_links(run) for run in shown.runs}
    most: dict[str, float] = {}
    jobs: dict[str, None] = {}
    for by_link in each.values():
        for link, of_jobs in by_link.items():
            most[link] = max(most.get(link, 0.0), sum(of_jobs.values()))
            jobs.update(dict.fromkeys(of_jobs))
    if not most:
        raise NothingToDraw("Bytes of jobs on links are counted with job_links = true in [probes].")
    links = sorted(most, key=lambda link: (-most[link], link))[:_MOST_LINKS]
    named = list(jobs)[: schemes.MOST_TOGETHER]
    looks = schemes.looks(named)
    factor, unit = byte_unit(max(most.values()))
    panels = _alike(each, _ALIKE * max(most.values()))[:MOST_PANELS]
    figure, axes = panel_axes(len(panels), 2, 0.6 + 0.13 * len(links), 0.7)
    for ax, together in zip(axes, panels, strict=True):
        left = np.zeros(len(links))
        for job in named:
            sent = np.array([each[together[0]].get(link, {}).get(job, 0.0) for link in links])
            ax.barh(
                range(len(links)), sent / factor, left=left, height=0.7, color=looks[job].colour,
                label=job, linewidth=0,
            )  # fmt: skip
            left += sent / factor
        ax.set_yticks(range(len(links)), links)
        ax.set_ylim(len(links) - 0.5, -0.5)
        ax.set_xlim(0, 1.05 * max(most.values()) / factor)
        ax.grid(visible=False, axis="y")
        ax.set_title(textwrap.fill(", ".join(together), 48), fontweight="bold")
        ax.set_xlabel(f"sent ({unit})")
    legend(figure, axes)
    rest, others = len(most) - len(links), len(jobs) - len(named)
    note(
        figure,
        shown.note,
        f"The {plural(len(links), 'link')} with most; {rest} more {are(rest)} in table job_links."
        if rest
        else "",
        f"{plural(others, 'more job')} {are(others)} not shown." if others else "",
    )
    return figure


def _alike(each: Mapping[str, dict[str, dict[str, float]]], most: float) -> list[list[str]]:
    """Schemes together whose bytes of no job differ by more than `most` on any link."""
    groups: list[list[str]] = []
    for scheme, by_link in each.items():
        for group in groups:
            other = each[group[0]]
            if all(
                abs(by_link.get(link, {}).get(job, 0.0) - other.get(link, {}).get(job, 0.0)) <= most
                for link in by_link.keys() | other.keys()
                for job in by_link.get(link, {}).keys() | other.get(link, {}).keys()
            ):
                group.append(scheme)
                break
        else:
            groups.append([scheme])
    return groups


def _bytes_of_links(run: Run) -> dict[str, dict[str, float]]:
    """Bytes of each job by link between switches; by any link if there is no such link."""
    hosts = senders_and_receivers(run.columns("flows", ["src", "dst"]))
    rows = run.table("job_links").to_pylist()
    between = [it for it in rows if it["node"] not in hosts and it["peer"] not in hosts]
    found: dict[str, dict[str, float]] = {}
    for it in between or rows:
        of_jobs = found.setdefault(f"{it['node']}->{it['peer']}", {})
        sent = it["data_bytes"] + it["control_bytes"]
        of_jobs[it["job"]] = of_jobs.get(it["job"], 0.0) + sent
    return found


def _timeline(ax: Axes, run: Run, job: str, longest: Mapping[str, Any]) -> None:
    start, end, number = longest["start_ns"], longest["end_ns"], longest["iteration"]
    factor, unit = time_unit(end - start)

    def at(ns: Any) -> Any:
        return (np.clip(ns, start, end) - start) / factor

    most = min(longest["ranks"], _MOST_RANKS)
    ax.set_ylim(most - 0.5, -0.5)
    ax.set_xlim(0, at(end))
    ranks = _of(run, "ranks", job, number)
    messages = _of(run, "messages", job, number)
    # Stages of pipelines compute between messages.
    pipelined = any(it["operation"] == "pipeline" for it in _of(run, "collectives", job, number))
    first = {}
    for it in messages:
        first[it["from_rank"]] = min(first.get(it["from_rank"], np.inf), it["start_ns"])
    for colour, rows in (
        (_SPAN, [(it["rank"], it["start_ns"], it["end_ns"]) for it in ranks]),
        (_SENDS, [(it["from_rank"], it["start_ns"], it["end_ns"]) for it in messages]),
        (
            _COMPUTE,
            [
                (it["rank"], it["start_ns"], it["start_ns"] + it["compute_ns"])
                for it in ranks
                # When steps in between compute is not recorded. A picosecond is rounding.
                if not pipelined
                and it["start_ns"] + it["compute_ns"] <= first.get(it["rank"], np.inf) + 1e-3
            ],
        ),
    ):
        spans: dict[int, list[tuple[float, float]]] = {}
        for y, a, b in rows:
            if y < most and b > a:
                spans.setdefault(y, []).append((at(a), at(b)))
        for y, each in spans.items():
            ax.broken_barh(
                _joined(each, at(end) / _TELLS_APART), (y - 0.4, 0.8), color=colour, linewidth=0
            )
    for it in _of(run, "critical", job, number):
        on_time = it["end_ns"] - (it["excess_ns"] or 0.0)
        to = it["peer_rank"] if it["kind"] == "message" else it["rank"]
        middle = it["rank"] + (to - it["rank"]) * _part(it["start_ns"], on_time, it["end_ns"])
        for a, b, y0, y1, colour in (
            (it["start_ns"], on_time, it["rank"], middle, _PATH),
            (on_time, it["end_ns"], middle, to, _LATE),
        ):
            if b > a:
                ax.plot([at(a), at(b)], [y0, y1], color=colour, linewidth=1.4, zorder=3)
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.grid(visible=False, axis="y")
    title = f"{job}, {run.scheme}: iteration {number}, {time(end - start)}"
    ax.set_title(textwrap.fill(title, 48), fontweight="bold", fontsize=8)
    ax.set_ylabel("rank")
    ax.set_xlabel(f"time ({unit})")


def _joined(spans: list[tuple[float, float]], gap: float) -> list[tuple[float, float]]:
    """Start and width of spans, those together that a reader cannot tell apart: there are many."""
    starts, ends = np.array(sorted(spans)).T
    until = np.maximum.accumulate(ends)
    first = np.append(True, starts[1:] > until[:-1] + gap)
    last = np.append(first[1:], True)
    return list(zip(starts[first], until[last] - starts[first], strict=True))


def _part(start: float, middle: float, end: float) -> float:
    return (middle - start) / (end - start) if end > start else 1.0


@draws("job-bandwidth", "Bus bandwidth of jobs", place=-0.7, table="jobs")
def draw_bandwidth(result: Result) -> Figure:
    """Bus bandwidth over the swept value, a panel for each job, a line for each scheme."""
    jobs = [job for job in _jobs(result) if _has_bandwidth(result, job)]
    if not jobs:
        raise NothingToDraw("No job is a single collective operation of all its ranks.")
    if len(result.axes) != 1:
        raise NothingToDraw("Bus bandwidth is drawn over one swept value, such as the size.")
    axis = result.axes[0]
    every = [run.row[axis] for scheme in result.schemes for run in result.runs_of(scheme)]
    values = list(dict.fromkeys(every))
    are_names = any(isinstance(value, str) for value in values)
    looks = schemes.looks(result.schemes[: schemes.MOST_TOGETHER])
    panels = jobs[:MOST_PANELS]
    figure, axes = grid(len(panels), 2)
    factor, unit = (
        byte_unit(max(values)) if axis.endswith("_bytes") else (1.0, unit_of(result, axis))
    )
    if are_names:
        at = {value: float(place) for place, value in enumerate(values)}
    else:
        at = {value: value / factor for value in sorted(values)}
    unknown = []
    for ax, job in zip(axes, panels, strict=True):
        highest = 0.0
        # Nothing lies between names: no lines, and schemes stand side by side.
        beside = side_by_side(len(looks)) if are_names else np.zeros(len(looks))
        for (scheme, look), aside in zip(looks.items(), beside, strict=True):
            found = [_bandwidths(result, scheme, job, axis, value) for value in at]
            # A line has a gap where nothing was complete.
            means = [mean_interval(each).mean if each else math.nan for each, _ in found]
            unknown += [
                f"{job} at {value_text(axis, value)} under {scheme}"
                for value, (each, runs) in zip(at, found, strict=True)
                if runs and not each
            ]
            ax.plot(
                [place + aside for place in at.values()], means, color=look.colour,
                linestyle="none" if are_names else look.dash, marker=look.marker,
                markersize=4 if are_names else 3, label=scheme,
            )  # fmt: skip
            highest = np.nanmax([highest, *means])
        rate, of = _line_rate(result, job)
        if rate < 3 * highest:
            ax.axhline(rate, color="#000000", linestyle=":", linewidth=0.8, label=of)
        if not are_names and min(values) > 0 and max(values) >= 8 * min(values):
            ax.set_xscale("log")
            log_ticks(ax.xaxis)
        if are_names or len(values) <= _MOST_TICKS:
            labels = [value if are_names else f"{place:g}" for value, place in at.items()]
            ax.set_xticks(list(at.values()), labels)
        ax.tick_params(labelbottom=True)
        ax.set_title(job, fontweight="bold")
        ax.set_ylabel("bus bandwidth (GB/s)")
        ax.set_xlabel(f"{axis.removesuffix('_bytes')}{f' ({unit})' if unit else ''}")
        from_zero(ax)
    legend(figure, axes)
    seeds = len(set(result.runs.column("seed").to_pylist()))
    note(
        figure,
        "As nccl-tests defines it, in 10^9 bytes per second.",
        f"Means over {seeds} seeds." if seeds > 1 else "",
        f"No iteration after the warm-up was complete: {_some(unknown)}" if unknown else "",
    )
    return figure


def _some(names: list[str]) -> str:
    """The first few names, as the end of a sentence."""
    return f"{'; '.join(names[:4])}{f'; and {len(names) - 4} more' if len(names) > 4 else ''}."


def _bandwidths(
    result: Result, scheme: str, job: str, axis: str, value: Any
) -> tuple[list[float], int]:
    """Bus bandwidths of a job in the runs with a swept value, and how many runs have the job."""
    rows = [_row(run, job) for run in result.runs_of(scheme) if run.row[axis] == value]
    rows = [row for row in rows if row is not _LEFT_OUT]
    known = [row["busbw_gbytes_s"] for row in rows if row["busbw_gbytes_s"] is not None]
    return known, len(rows)


def _has_bandwidth(result: Result, job: str) -> bool:
    table = result.jobs.filter(pc.equal(result.jobs.column("job"), job))
    return table.column("busbw_gbytes_s").null_count < table.num_rows


def _line_rate(result: Result, job: str) -> tuple[float, str]:
    """Rate at which a server sends, GB/s, and of what it is; not a number if hosts differ.

    A server of several GPUs has a NIC for each, and its NVLinks are faster than they are.
    """
    topology = result.scenario.get("topology", {})
    gpus = topology.get("gpus_per_server", _GPUS) if topology.get("builder") == "rails" else 1
    run = result.runs_of(result.schemes[0])[0]
    ranks = run.table("ranks")
    hosts = ranks.filter(pc.equal(ranks.column("job"), job)).column("host")
    ports = run.columns("ports", ["node", "rate_bps"])
    own = ports.filter(pc.is_in(ports.column("node"), pc.unique(hosts)))
    rates = sorted(pc.unique(own.column("rate_bps")).to_pylist())
    if len(rates) == 1 and gpus == 1:
        return rates[0] / 8e9, "rate of a NIC"
    if len(rates) == 2 and gpus > 1:
        return gpus * rates[0] / 8e9, f"rate of the {gpus} NICs of a server"
    return math.nan, ""


def _jobs(result: Result) -> list[str]:
    jobs = list(dict.fromkeys(result.jobs.column("job").to_pylist()))
    if not jobs:
        raise NothingToDraw(_NO_JOBS)
    return jobs


#: The values of a job under a scheme without it.
_LEFT_OUT = {
    "warmup": 0, "alone_ns": None, "ranks": 0, "busbw_gbytes_s": None, "iterations": 0,
    "iterations_planned": 0,
}  # fmt: skip


def _row(run: Run, job: str) -> dict[str, Any]:
    return next((it for it in run.table("jobs").to_pylist() if it["job"] == job), _LEFT_OUT)


def _table(run: Run, name: str, job: str) -> pa.Table:
    table = run.table(name)
    return table.filter(pc.equal(table.column("job"), job))


def _of(run: Run, name: str, job: str, iteration: int) -> list[dict[str, Any]]:
    table = _table(run, name, job)
    return table.filter(pc.equal(table.column("iteration"), iteration)).to_pylist()


def _times(run: Run, job: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of iterations, and how long each took, ns."""
    table = _table(run, "iterations", job)
    takes = series.column(table, "end_ns") - series.column(table, "start_ns")
    return series.column(table, "iteration"), takes


def _longest(run: Run, job: str) -> dict[str, Any] | None:
    """The longest iteration after the warm-up that has a critical path, and how many ranks."""
    row = _row(run, job)
    told = set(_table(run, "critical", job).column("iteration").to_pylist())
    every = _table(run, "iterations", job).to_pylist()
    known = [it for it in every if it["iteration"] in told and it["iteration"] >= row["warmup"]]
    longest = max(known, key=lambda it: it["end_ns"] - it["start_ns"], default=None)
    return None if longest is None else {**longest, "ranks": row["ranks"]}
