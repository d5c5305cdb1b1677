"""Flows that wait for others to end before they start (``after``), in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.result import Run
from unpause.data.setting import Setting
from unpause.text import plural, time


def started(run: Run, flow: Mapping[str, Any]) -> Iterator[str]:
    """The flow that `flow` waited for last before it started; nothing if it waited for none."""
    entry = _entry(run, flow["traffic"])
    if entry is None or entry.get("after_match") == "each":
        return
    before = _before(run, entry)
    end = "dst" if entry.get("after_end", "delivered") == "delivered" else "src"
    before = before.filter(pc.equal(before.column(end), flow["src"]))
    before = before.filter(pc.is_valid(before.column("fct_ns")))
    if not before.num_rows:
        return
    ended = series.column(before, "start_ns") + series.column(before, "fct_ns")
    last = before.slice(int(np.argmax(ended)), 1).to_pylist()[0]
    of = f", the last of {before.num_rows} that it waited for" if before.num_rows > 1 else ""
    whose = f"flow {last['flow_id']}, {last['traffic']} ({last['src']} -> {last['dst']})"
    yield (
        f"It started at {time(flow['start_ns'])}, after {whose}{of}, had arrived at "
        f"{time(float(ended.max()))}."
    )


def waiting(run: Run, name: str) -> str | None:
    """Why no flow of an entry started; None if the entry waits for no other."""
    entry = _entry(run, name)
    if entry is None:
        return None
    before = _before(run, entry)
    missing = before.filter(pc.is_null(before.column("fct_ns")))
    names = " and ".join(_names(entry))
    if not missing.num_rows:
        return (
            f"{name} did not start: it waits for {names}, which had not ended long enough before."
        )
    worst = missing.to_pylist()[0]
    return (
        f"{name} did not start: it waits for {names}, and {missing.num_rows} of "
        f"{plural(before.num_rows, 'flow')} did not finish, such as flow {worst['flow_id']}, "
        f"{worst['traffic']} ({worst['src']} -> {worst['dst']})."
    )


def _entry(run: Run, name: str) -> dict[str, Any] | None:
    """The entry of this name, if it waits for others."""
    found = [it for it in Setting(run.result, run).traffic([name]) if it.get("after")]
    return found[0] if found else None


def _names(entry: Mapping[str, Any]) -> list[str]:
    after = entry["after"]
    return [after] if isinstance(after, str) else list(after)


def _before(run: Run, entry: Mapping[str, Any]) -> pa.Table:
    """The flows of the entries that an entry waits for."""
    flows = run.table("flows")
    return flows.filter(pc.is_in(flows.column("traffic"), pa.array(_names(entry), pa.string())))
