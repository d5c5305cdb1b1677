"""Losses, failed links and storms of PAUSE, in words for `unpause explain`.

The words of `unpause run` are in the manifest. Of a storm, `victims` adds which flows
waited for the node that sent PAUSE, and until when.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from unpause.data.result import Result, Run
from unpause.text import listed, plural, time

#: At most this many storms, and places of losses, of a run are described.
_MOST = 3


def other_storms(run: Run, runs: Sequence[Run]) -> str:
    """Which other `runs` have storms; empty if none has."""
    others = {it.scheme: it.table("storms").num_rows for it in runs if it.scheme != run.scheme}
    counted = [f"{scheme} ({count})" for scheme, count in others.items() if count]
    return f"Storms under other schemes: {listed(counted)}; --scheme shows them." if counted else ""


#: Kinds of warnings about losses, and how a sentence about one begins.
_LOSSES = {
    "headroom-drops": "Lost",
    "lossless-drops": "Lost",
    "queue-drops": "Lost",
    "trimmed": "Trimmed",
    "link-down": "Link failure",
    "frame-errors": "Frame errors",
}


#: Kinds of warnings about senders that wait for something at the end of a run.
_WAITING = (
    "unfinished-flows",
    "stuck-flows",
    "waiting-flows",
    "gave-up",
    "failed-jobs",
    "stuck-jobs",
    "unfinished-jobs",
)


def losses(result: Result, run: Run) -> Iterator[str]:
    """Each loss with its reason and what helps, in the words of `unpause run`."""
    found = _by_kind(result, run)
    for kind, begin in _LOSSES.items():
        every = found.get(kind, [])
        few = begin in ("Lost", "Trimmed")
        for warning in every[:_MOST] if few else every:
            helps = warning.get("help") if few else None
            yield f"{begin}: {warning['message']}." + (f" Could help: {helps}." if helps else "")
        if few and (more := len(every) - _MOST) > 0:
            yield f"{begin}: {plural(more, 'more place')}: see table ports."


def waiting(result: Result, run: Run) -> Iterator[str]:
    """Flows and jobs that did not end, and what their senders wait for."""
    found = _by_kind(result, run)
    for kind in _WAITING:
        for warning in found.get(kind, [])[:_MOST]:
            yield f"{warning['message']}."


def _by_kind(result: Result, run: Run) -> dict[str, list[Mapping[str, Any]]]:
    """The warnings of a run."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for warning in result.manifest.get("warnings", []):
        if isinstance(warning, dict) and warning.get("run") == run.row["run"]:
            found.setdefault(warning.get("kind", ""), []).append(warning)
    return found


def storms(run: Run) -> Iterator[str]:
    """A sentence for each storm that a PFC watchdog found."""
    rows = run.table("storms").to_pylist()
    for row in rows[:_MOST]:
        yield _storm(run, row)
    if (more := len(rows) - _MOST) > 0:
        yield f"{plural(more, 'more storm')}: see table storms."


_DID = {
    "drop": "dropped {packets}",
    "forward": "sent in spite of PAUSE",
    "alert": "only reported it",
}


def _storm(run: Run, row: Mapping[str, Any]) -> str:
    link = f"{row['node']}->{row['peer']}"
    did = _DID[row["action"]].format(packets=plural(row["dropped_packets"], "packet"))
    over = row["restored_ns"]
    until = f"until {time(over)}" if over is not None else "until the end of the run"
    began, found = time(row["began_ns"]), time(row["detected_ns"])
    text = (
        f"PFC storm from {row['peer']}: {link}, priority {row['priority']}, was paused from "
        f"{began}. The watchdog detected it at {found} and {did} {until}."
    )
    return f"{text} {_victims(run, row)}".strip()


def _victims(run: Run, row: Mapping[str, Any]) -> str:
    """Which flows waited for the node that sent PAUSE, and until when."""
    table = run.table("victims")
    own = table.filter(
        pc.and_(
            pc.equal(table["root_node"], row["peer"]),
            pc.equal(table["priority"], row["priority"]),
        )
    )
    if not own.num_rows:
        return ""
    count = pc.count_distinct(own["flow_id"]).as_py()
    last = pc.max(own["last_ns"]).as_py()
    return (
        f"{plural(count, 'victim flow')} waited for {row['peer']}, the last one until {time(last)}."
    )
