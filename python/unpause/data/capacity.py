"""What a link could have carried where its rate changes in a run.

Table ``ports`` has the topology's rate, table ``link_changes`` what became of it.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from unpause.data.result import Run

#: When a rate begins (ns), and the rate from then on (bit/s).
Steps = tuple[np.ndarray, np.ndarray]


def rates(run: Run) -> dict[tuple[str, int], Steps]:
    """The rates of the egresses whose link's rate changes, by node and port; without the first."""
    table = run.table("link_changes")
    table = table.filter(pc.equal(table["change"], "rate"))
    steps: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    for row in table.to_pylist():
        times, found = steps.setdefault((row["node"], row["port"]), ([], []))
        times.append(row["time_ns"])
        found.append(float(row["rate_bps"]))
    return {port: (np.array(times), np.array(found)) for port, (times, found) in steps.items()}


def carried_most(steps: Steps | None, rate_bps: float, time_ns: np.ndarray) -> np.ndarray:
    """Bits that an egress could have sent from the start of a run up to each of `time_ns`.

    Args:
        steps: Its own of :func:`rates`; None if it has but one rate.
        rate_bps: The topology's.
        time_ns: Not before the start.
    """
    time_ns = np.asarray(time_ns, float)
    if steps is None:
        return rate_bps * time_ns / 1e9
    times = np.concatenate([[0.0], steps[0]])
    bps = np.concatenate([[rate_bps], steps[1]])
    before = np.concatenate([[0.0], np.cumsum(np.diff(times) * bps[:-1])])
    place = np.searchsorted(times, time_ns, side="right") - 1
    return (before[place] + (time_ns - times[place]) * bps[place]) / 1e9


def bits_between(steps: Steps | None, rate_bps: float, spans: np.ndarray) -> float:
    """Bits that an egress could have sent in all of `spans`, each a row of start and end (ns)."""
    most = carried_most(steps, rate_bps, spans.ravel()).reshape(spans.shape)
    return float(np.sum(most[:, 1] - most[:, 0]))


def lowest(steps: Steps | None, rate_bps: float, start_ns: float, end_ns: float) -> float:
    """The lowest rate in force at some time from `start_ns` to `end_ns`."""
    if steps is None:
        return rate_bps
    times, bps = steps
    before = int(np.searchsorted(times, start_ns, side="right"))
    after = int(np.searchsorted(times, end_ns, side="right"))
    first = float(bps[before - 1]) if before else rate_bps
    return min([first, *bps[before:after].tolist()])
