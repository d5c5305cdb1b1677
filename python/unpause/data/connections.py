"""Connections of jobs: flows without a size that are idle while their ranks compute.

Table `messages` says when one of them had something to send.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import iterations, series
from unpause.data.result import Run


def of_jobs(run: Run, flows: pa.Table) -> np.ndarray:
    """For each row of `flows` (columns `traffic`, `size_bytes`) whether it is one."""
    jobs = [job["name"] for job in run.result.scenario.get("job", [])]
    if not jobs:
        return np.zeros(flows.num_rows, dtype=bool)
    ours = pc.and_(
        pc.is_in(flows.column("traffic"), pa.array(jobs, pa.string())),
        pc.is_null(flows.column("size_bytes")),
    )
    return np.asarray(ours.to_numpy(zero_copy_only=False), dtype=bool)


def under_way(run: Run, flow_ids: np.ndarray, traffic: np.ndarray) -> np.ndarray | None:
    """When connections had a message in flight: intervals (n, 2) in ns, unordered.

    `traffic` names the job of each. If a job did not complete, the time after its last message
    also counts, because a message that was under way at the end of the run has no row. None if one
    of the jobs does not record its messages.
    """
    table = run.columns("messages", ["job", "flow_id", "start_ns", "end_ns"])
    recorded = set(pc.unique(table.column("job")).to_pylist())
    if not set(traffic) <= recorded:
        return None
    ours = np.isin(series.column(table, "flow_id"), flow_ids)
    times = np.column_stack([series.column(table, name)[ours] for name in ("start_ns", "end_ns")])
    incomplete = _incomplete(run) & set(traffic)
    if not incomplete:
        return times
    after = [
        max(table.filter(pc.equal(table.column("job"), job)).column("end_ns").to_pylist())
        for job in incomplete
    ]
    end = run.row["simulated_ns"]
    return np.concatenate([times, [[start, end] for start in after if start < end]])


def iterating(run: Run, traffic: np.ndarray) -> np.ndarray:
    """When jobs named in `traffic` had an iteration: intervals (n, 2) in ns, unordered.

    If a job did not complete, the time after its last iteration also counts.
    """
    table = run.columns("iterations", ["job", "start_ns", "end_ns"])
    table = table.filter(pc.is_in(table.column("job"), pa.array(sorted(set(traffic)))))
    times = np.column_stack([series.column(table, name) for name in ("start_ns", "end_ns")])
    names, ends = table.column("job").to_numpy(), times[:, 1]
    unended = [
        [np.max(ends[names == job], initial=_start_ns(run, job)), run.row["simulated_ns"]]
        for job in _incomplete(run) & set(traffic)
    ]
    return np.concatenate([times, np.reshape(unended, (-1, 2))])


def _start_ns(run: Run, job: str) -> float:
    flows = run.columns("flows", ["traffic", "start_ns"])
    return float(np.min(series.column(flows.filter(pc.field("traffic") == job), "start_ns")))


def _incomplete(run: Run) -> set[str]:
    """Jobs that did not come through their iterations."""
    jobs = run.columns("jobs", ["job", "iterations", "iterations_planned"]).to_pylist()
    return {job["job"] for job in jobs if not iterations.is_finished(job)}
