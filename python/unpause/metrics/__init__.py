"""Metrics, by which claims are judged: named, precisely defined numbers of one or several runs.

A metric is a function with :func:`~unpause.metrics.registry.metric` above it, in any module of this
package; nothing else lists it. Its name is the function's, its documentation the docstring. It is
found in :data:`METRICS`, and as ``unpause.metrics.NAME``.

A metric of scope ``run`` takes one :class:`~unpause.data.result.Run`; a claim's ``sweep`` takes it
over the runs of a sweep (:mod:`unpause.metrics.sweep`). One of scope ``seeds`` takes the runs of a
scheme with every seed; one of scope ``share``, too, and answers in which share of them something
is so; one of scope ``model`` is computed from a mechanism or a model alone.
Further arguments stand in the claims file. A metric answers with a number in the unit given to
``metric``; infinity means "not before the run ended". It raises
:class:`~unpause.data.series.Unavailable` where the result lacks what it needs.

Links and the side on which a PAUSE counts are as in :mod:`unpause.data.series`. "Burst start" is
the start of the first flow of the traffic entry named by `burst`.
"""

import importlib
import pkgutil
from collections.abc import Callable

from unpause.metrics.registry import METRICS, Metric, metric

__all__ = ["METRICS", "Metric", "metric"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Callable[..., float]:
    if name in METRICS:
        return METRICS[name].function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *METRICS})
