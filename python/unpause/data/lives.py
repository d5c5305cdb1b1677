"""When flows were under way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
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


def _entries(run: Run, flows: pa.Table) -> list[dict[str, Any]]:
    """The entries of these flows that stop."""
    names = pc.unique(flows.column("traffic")).to_pylist()
    return [it for it in Setting(run.result, run).traffic(names) if "stop" in it or "on" in it]


def _time(entry: dict[str, Any], key: str) -> float | None:
    written = entry.get(key)
    return in_ns(written) if isinstance(written, str) else None
