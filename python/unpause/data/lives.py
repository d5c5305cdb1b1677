"""When flows were under way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import connections, series
from unpause.data.result import Run
from unpause.data.setting import Setting, in_ns


def ends_ns(run: Run, flows: pa.Table) -> np.ndarray:
    """When each of `flows` (columns `traffic`, `start_ns`, `fct_ns`) ended.

    That is when its last byte was delivered. A flow without an end in table `flows` ended when its
    entry has it stop sending (`stop`, or `on` after its start), at the latest with the run.
    """
    start = series.column(flows, "start_ns")
    end = start + series.column(flows, "fct_ns")
    last = np.full(len(end), float(run.row["simulated_ns"]))
    unended = np.isnan(end)
    if not unended.any():
        return end
    for entry in _entries(run, flows):
        ours = np.asarray(pc.equal(flows.column("traffic"), entry["name"]).to_numpy())
        if (stop := _time(entry, "stop")) is not None:
            last[ours] = np.minimum(last[ours], stop)
        if (sends := _time(entry, "on")) is not None:
            last[ours] = np.minimum(last[ours], start[ours] + sends)
    return np.where(unended, np.maximum(last, start), end)


def under_way(run: Run, flows: pa.Table) -> np.ndarray:
    """When any of `flows` was: intervals (n, 2) in ns that do not overlap, by time.

    The connections of a job are while its messages are, or its iterations if it does not record
    those. `flows` has the columns `flow_id`, `traffic`, `size_bytes`, `start_ns` and `fct_ns`.
    """
    kept = connections.of_jobs(run, flows)
    others = flows.filter(pa.array(~kept))
    spans = np.column_stack([series.column(others, "start_ns"), ends_ns(run, others)])
    if kept.any():
        ours = flows.filter(pa.array(kept))
        ids, names = (ours.column(it).to_numpy() for it in ("flow_id", "traffic"))
        of_jobs = connections.under_way(run, ids, names)
        of_jobs = connections.iterating(run, names) if of_jobs is None else of_jobs
        spans = np.concatenate([spans, of_jobs])
    return series.merged(spans[np.argsort(spans[:, 0], kind="stable")])


def goodput_bps(run: Run, flows: pa.Table) -> float | None:
    """Payload delivered in order of `flows`, over the time in which any of them was under way.

    So a longer run, or a pause between bursts, does not change it. None if none ever was. `flows`
    has the columns of :func:`under_way` and `delivered_bytes`.
    """
    spans = under_way(run, flows)
    lasted = float(np.sum(spans[:, 1] - spans[:, 0]))
    delivered = float(series.column(flows, "delivered_bytes").sum())
    return 8e9 * delivered / lasted if lasted > 0 else None


def _entries(run: Run, flows: pa.Table) -> list[dict[str, Any]]:
    """The entries of these flows that stop."""
    names = pc.unique(flows.column("traffic")).to_pylist()
    return [it for it in Setting(run.result, run).traffic(names) if "stop" in it or "on" in it]


def _time(entry: dict[str, Any], key: str) -> float | None:
    written = entry.get(key)
    return in_ns(written) if isinstance(written, str) else None
