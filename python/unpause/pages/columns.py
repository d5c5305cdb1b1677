"""The columns of the opening table: what of a run each shows, and which numbers are better."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unpause import schema, text
from unpause.sweeps.grouped import MOST_JOBS


@dataclass(frozen=True)
class Kind:
    """A column: what of a run, its head, and which numbers are better."""

    head: tuple[str, str]
    of: Callable[[Mapping[str, Any]], float | None]
    unit: Callable[[float], tuple[float, str]]
    less_is_better: bool = True
    #: The sign before the mean of rows if that is a bound.
    bound: Callable[[Sequence[Mapping[str, Any]]], str] = lambda _: ""
    #: Whether bounds can be compared all the same.
    bounds_count: bool = False
    #: Whether it is shown although it is 0 in every row.
    always: bool = False
    #: Whether the best mean may be marked: not if rows reached it at the expense of another column.
    earned: Callable[[Sequence[Mapping[str, Any]]], bool] = lambda _: True
    #: What the number of a run is of: rows about different things are not compared.
    about: Callable[[Mapping[str, Any]], Any] = lambda _: None
    #: Whether a row without a number is worse than any.
    missing_is_worst: bool = False


def _share(row: Mapping[str, Any]) -> float | None:
    share = row["congested_share"]
    return None if share is None else 100 * share


def _unfinished(row: Mapping[str, Any]) -> float | None:
    return row["flows_sized"] - row["flows_completed"] if row["flows_sized"] else None


def _plain(_: float) -> tuple[float, str]:
    return 1.0, ""


def _at_least(rows: Sequence[Mapping[str, Any]]) -> str:
    return "" if all(row["victims_complete"] for row in rows) else ">="


def _without_losses(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether links paused, or nothing was lost: no PAUSE is no merit where packets are lost."""
    lost = any(_lost(row) for row in rows)
    return not lost or any(row["paused_ns"] for row in rows)


def _lost(row: Mapping[str, Any]) -> float:
    return (row.get("dropped_packets") or 0) + (row.get("trimmed_packets") or 0)


def _all_done(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no flow was left that would have had a large slowdown."""
    return not any(_unfinished(row) for row in rows)


def _had_slowed(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether there was anything to recover from after the burst."""
    return any(row["recovery_ns"] for row in rows)


def _longer(rows: Sequence[Mapping[str, Any]]) -> str:
    return "" if all(row["recovered"] for row in rows) else ">"


def every_kind(jobs: Sequence[str], link: str, watched: str) -> list[Kind]:
    """All columns, those of `jobs` first; `link` and `watched` head theirs."""

    def column(name: str) -> Callable[[Mapping[str, Any]], float | None]:
        return lambda row: row[name]

    def later(name: str) -> Callable[[Mapping[str, Any]], float | None]:
        """Sweeps of versions before do not have it."""
        return lambda row: row.get(name)

    return [
        *_of_jobs(jobs),
        Kind(
            ("victim", "flows"),
            column("victim_flows"),
            _plain,
            bound=_at_least,
            always=True,
            earned=_without_losses,
        ),
        Kind(
            ("total", "wait"),
            column("victim_wait_ns"),
            text.time_unit,
            bound=_at_least,
            earned=_without_losses,
        ),
        Kind(("links", "paused"), column("paused_ns"), text.time_unit, earned=_without_losses),
        Kind(("slowdown", "p99"), column("slowdown_p99"), _plain, earned=_all_done),
        Kind(
            (link, "used"),
            _share,
            lambda _: (1.0, "%"),
            less_is_better=False,
            about=column("congested_link"),
        ),
        Kind(("longest", "queue"), column("max_queue_bytes"), text.byte_unit),
        Kind(("not", "done"), _unfinished, _plain),
        Kind(("packets", "dropped"), column("dropped_packets"), _plain),
        Kind(("packets", "trimmed"), later("trimmed_packets"), _plain),
        Kind(("packets", "resent"), later("retransmitted_packets"), _plain),
        Kind((watched, "goodput"), column("watched_bps"), text.rate_unit, less_is_better=False),
        Kind(
            ("recovers", "after"),
            column("recovery_ns"),
            text.time_unit,
            bound=_longer,
            bounds_count=True,
            always=True,
            earned=_had_slowed,
        ),
    ]


def _of_jobs(jobs: Sequence[str]) -> list[Kind]:
    """How long iterations of the first jobs took on average."""

    def column(job: str) -> Callable[[Mapping[str, Any]], float | None]:
        return lambda row: row.get(schema.job_column(job, "mean_ns"))

    return [
        Kind((job, "iteration"), column(job), text.time_unit, missing_is_worst=True)
        for job in jobs[:MOST_JOBS]
    ]
