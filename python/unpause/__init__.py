"""A laboratory for congestion management in Ethernet fabrics.

    >>> import unpause
    >>> result = unpause.run("papers/pcn/scenarios/f2.toml")
    >>> result.runs.select(["scheme", "pause_frames"])
    >>> result.flows.filter(pc.field("traffic") == "F0")["fct_ns"]

Tables are :class:`pyarrow.Table`; pandas, Polars and DuckDB read them without a copy. Columns and
units are in :data:`unpause.schema.TABLES`.
"""

from importlib import metadata

from unpause.api import Progress, run, validate
from unpause.claims import Claim, ClaimsError, Verdict
from unpause.errors import ScenarioError, SweepError
from unpause.figures import NothingToDraw
from unpause.result import Result, ResultError, Run, load
from unpause.sweep import PointsFailed, SweepProgress, sweep

try:
    __version__ = metadata.version("unpause")
except metadata.PackageNotFoundError:  # the source tree without an installation
    __version__ = "unknown"

__all__ = [
    "Claim",
    "ClaimsError",
    "NothingToDraw",
    "PointsFailed",
    "Progress",
    "Result",
    "ResultError",
    "Run",
    "ScenarioError",
    "SweepError",
    "SweepProgress",
    "Verdict",
    "__version__",
    "load",
    "run",
    "sweep",
    "validate",
]
