"""Iterations of jobs, the one in progress at the end among them.

A job that did not come through all its iterations was in one of them when the run ended. That one
takes at least the time since the one before it ended, which makes the mean a lower bound.
Iterations that had not begun are no observations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpause import schema, text
from unpause.data.result import Result


def of_jobs(result: Result) -> dict[tuple[int, str], dict[str, float | None]]:
    """By run and job the columns :data:`unpause.schema.OF_JOBS` and the bounds of them.

    Mean, slowdown and bandwidth are None where a job did not finish.
    """
    return {(row["run"], row["job"]): _numbers(row) for row in result.jobs.to_pylist()}


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether a row of table `jobs` is of a job that came through all its iterations."""
    return bool(job["iterations"] == job["iterations_planned"])


def ending(job: Mapping[str, Any]) -> str:
    """Why the job of a row of table `jobs` never came to its end, if that is known.

    Such as "failed at 12.4 ms: rank 5 to 13 gave up, H5-leaf0 down since 3.00 ms".
    """
    link, since = job.get("down_link"), job.get("down_since_ns")
    if (at := job.get("failed_at_ns")) is not None:
        ranks = f"rank {job['failed_rank']} to {job['failed_peer']}"
        down = f", {link} down since {text.time(since)}" if link and since is not None else ""
        return f"failed at {text.time(at)}: {ranks} gave up{down}"
    if (at := job.get("stuck_since_ns")) is not None:
        return f"stuck since {text.time(at)}: {f'{link} down' if link else 'deadlocked'}"
    return ""


def _numbers(job: Mapping[str, Any]) -> dict[str, float | None]:
    means = {name: job[name] if is_finished(job) else None for name in schema.OF_JOBS}
    return means | {name: job[name] for name in schema.JOB_BOUNDS}
