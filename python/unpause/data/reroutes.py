"""Whether flows may have left the shortest paths of the whole fabric."""

from __future__ import annotations

import pyarrow.compute as pc

from unpause.data.result import Run


def begun_by(run: Run, time_ns: float) -> bool:
    """True if routes had changed by then, because links failed."""
    changes = run.columns("link_changes", ["change", "time_ns"])
    routes = changes.filter(pc.equal(changes.column("change"), "routes"))
    first = pc.min(routes.column("time_ns")).as_py()
    return first is not None and first <= time_ns
