"""Iterations of jobs, the one in progress at the end among them.

A job that did not come through all its iterations was in one of them when the run ended. That one
takes at least the time since the one before it ended, which makes the mean a lower bound.
Iterations that had not begun are no observations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from unpause import schema
from unpause.data import series
from unpause.data.result import Result


def of_jobs(result: Result) -> dict[tuple[int, str], dict[str, float | None]]:
    """By run and job the columns :data:`unpause.schema.OF_JOBS` and the bounds of them.

    Mean, slowdown and bandwidth are None where a job did not finish.
    """
    runs = {row["run"]: row for row in result.runs.to_pylist()}
    wanted = _wanted(result)
    found: dict[tuple[int, str], dict[str, float | None]] = {}
    for row in result.jobs.to_pylist():
        job = row["job"]
        numbers = {column: row[column] for column in schema.OF_JOBS}
        mean = numbers["mean_ns"]
        bound, slowdown = mean, numbers["slowdown"]
        if row["iterations"] < wanted.get(job, 0):
            bound = _bound(result, row, runs[row["run"]])
            alone = row["alone_ns"]
            slowdown = bound / alone if bound is not None and alone else None
            numbers = dict.fromkeys(numbers)
        found[row["run"], job] = numbers | dict(
            zip(schema.JOB_BOUNDS, (bound, slowdown), strict=True)
        )
    return found


def _wanted(result: Result) -> dict[str, int]:
    """By job how often it was to iterate; nothing where runs may differ in that."""
    varied = [sweep.get("key", "") for sweep in result.scenario.get("sweep", [])]
    varied += [key for scheme in result.scenario.get("scheme", []) for key in scheme.get("set", {})]
    if any(key.endswith("iterations") for key in varied):
        return {}
    jobs = (job for job in result.scenario.get("job", []) if "name" in job)
    return {job["name"]: job.get("iterations", 1) for job in jobs}


def _bound(result: Result, job: dict[str, Any], run: dict[str, Any]) -> float | None:
    """The mean of the iterations after the warm-up, with the one in progress at the end."""
    rows = (pc.field("run") == job["run"]) & (pc.field("job") == job["job"])
    table = result.iterations.filter(rows)
    if not table.num_rows:
        return None
    starts, ends = series.column(table, "start_ns"), series.column(table, "end_ns")
    counted = series.column(table, "iteration") >= job["warmup"]
    takes = (ends - starts)[counted]
    began = ends.max()
    if table.num_rows >= job["warmup"] and began >= (run.get("counted_from_ns") or 0.0):
        takes = np.append(takes, run["simulated_ns"] - began)
    return float(takes.mean()) if len(takes) else None
