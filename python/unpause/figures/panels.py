"""Metrics that panels of figures show, as an entry of a paper states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from unpause.data.result import Run
from unpause.metrics import METRICS


def measure(panel: Mapping[str, Any], *more: Mapping[str, Any]) -> Callable[[Run], float]:
    """The ``metric`` of a panel, with its ``args`` and `more` of them."""
    args: dict[str, Any] = {}
    for each in (panel.get("args", {}), *more):
        args |= each
    return partial(METRICS[panel["metric"]].function, **args)
