"""The metrics by name, and how a function becomes one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

#: What a metric takes, see :mod:`unpause.metrics`.
Scope = Literal["run", "seeds", "share", "model"]


@dataclass(frozen=True)
class Metric:
    """A metric and how to call it."""

    name: str
    unit: str
    scope: Scope
    function: Callable[..., float]


METRICS: dict[str, Metric] = {}


def metric(unit: str, scope: Scope = "run"):
    """Register a function as the metric of its name.

    Raises:
        ValueError: there is another one of that name, or it has no docstring.
    """

    def register(function: Callable[..., float]) -> Callable[..., float]:
        name = function.__name__
        if name in METRICS:
            other = METRICS[name].function.__module__
            raise ValueError(f"metric {name} of {function.__module__} is there in {other}")
        if not function.__doc__:
            raise ValueError(f"metric {name} has no docstring")
        METRICS[name] = Metric(name, unit, scope, function)
        return function

    return register
