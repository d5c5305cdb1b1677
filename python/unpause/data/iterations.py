"""Iterations of jobs, the one in progress at the end among them.

A job that did not come through all its iterations was in one of them when the run ended. That one
takes at least the time since the one before it ended, which makes the mean a lower bound.
Iterations that had not begun are no observations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unpause import schema
from unpause.data.result import Result


def of_jobs(result: Result) -> dict[tuple[int, str], dict[str, float | None]]:
    """By run and job the columns :data:`unpause.schema.OF_JOBS` and the bounds of them.

    Mean, slowdown and bandwidth are None where a job did not finish.
    """
    return {(row["run"], row["job"]): _numbers(row) for row in result.jobs.to_pylist()}


def is_finished(job: Mapping[str, Any]) -> bool:
    """Whether a row of table `jobs` is of a job that came through all its iterations."""
    return bool(job["iterations"] == job["iterations_planned"])


def _numbers(job: Mapping[str, Any]) -> dict[str, float | None]:
    means = {name: job[name] if is_finished(job) else None for name in schema.OF_JOBS}
    return means | {name: job[name] for name in schema.JOB_BOUNDS}
