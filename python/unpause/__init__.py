"""A laboratory for congestion management in Ethernet fabrics.

    >>> import unpause
    >>> result = unpause.run("papers/pcn/scenarios/f2.toml")
    >>> result.runs.select(["scheme", "pause_frames"])
    >>> result.flows.filter(pc.field("traffic") == "F0")["fct_ns"]

Tables are :class:`pyarrow.Table`; pandas, Polars and DuckDB read them without a copy. Columns and
units are in :data:`unpause.schema.TABLES`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unpause.api import Progress, Result, load, run, validate
    from unpause.claims.claim import Claim, ClaimsError, Verdict
    from unpause.completions import Completion, Message
    from unpause.data.result import ResultError, Run
    from unpause.errors import ScenarioError, SweepError, TooLargeError
    from unpause.figures import NothingToDraw
    from unpause.session import Session
    from unpause.sweeps.sweep import PointsFailed, SweepProgress, sweep
    from unpause.tasks import Event, SessionError, Task
    from unpause.tuning.tune import Tuning, tune

    __version__: str

# Imported when they are asked for: the command starts without pyarrow and Matplotlib.
_WHERE = {
    "Claim": "claims.claim",
    "ClaimsError": "claims.claim",
    "Completion": "completions",
    "Event": "tasks",
    "Message": "completions",
    "NothingToDraw": "figures",
    "PointsFailed": "sweeps.sweep",
    "Progress": "api",
    "Result": "api",
    "ResultError": "data.result",
    "Run": "data.result",
    "ScenarioError": "errors",
    "Session": "session",
    "SessionError": "tasks",
    "SweepError": "errors",
    "SweepProgress": "sweeps.sweep",
    "TooLargeError": "errors",
    "Task": "tasks",
    "Tuning": "tuning.tune",
    "Verdict": "claims.claim",
    "load": "api",
    "run": "api",
    "sweep": "sweeps.sweep",
    "tune": "tuning.tune",
    "validate": "api",
}

__all__ = [
    "Claim",
    "ClaimsError",
    "Completion",
    "Event",
    "Message",
    "NothingToDraw",
    "PointsFailed",
    "Progress",
    "Result",
    "ResultError",
    "Run",
    "ScenarioError",
    "Session",
    "SessionError",
    "SweepError",
    "SweepProgress",
    "Task",
    "TooLargeError",
    "Tuning",
    "Verdict",
    "__version__",
    "load",
    "run",
    "sweep",
    "tune",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib import metadata

        try:
            value: Any = metadata.version("unpause")
        except metadata.PackageNotFoundError:  # the source tree without an installation
            value = "unknown"
    elif name in _WHERE:
        value = getattr(importlib.import_module(f"unpause.{_WHERE[name]}"), name)
    else:
        raise AttributeError(f"module 'unpause' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
