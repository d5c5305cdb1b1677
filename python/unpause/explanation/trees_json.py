"""Congestion trees as JSON, with everything known of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from unpause.data.result import Result, Run
from unpause.explanation import account, advice, lateness


def as_json(result: Result, runs: Sequence[Run], at_ns: float | None) -> dict[str, Any]:
    """All trees of each of `runs`, with everything known of them."""
    return {
        "runs": [
            {
                "run": run.run,
                "scheme": run.scheme,
                "trees": trees_as_json(result, run, at_ns),
                "late": lateness.as_json(run),
            }
            for run in runs
        ]
    }


def trees_as_json(result: Result, run: Run, at_ns: float | None) -> list[dict[str, Any]]:
    """The trees of a run."""
    trees, advised = [], advice.of_run(result, run)
    found = account.trees(run, at_ns)
    names = zip(account.titles(run, found), account.places(run, found), strict=True)
    for tree, (title, place) in zip(found, names, strict=True):
        table = {"title": title, "place": place, **asdict(tree)}
        table["root"], table["cycle"] = str(tree.root), [str(it) for it in tree.cycle]
        table["left_by"] = None if tree.left_by is None else str(tree.left_by)
        table["left"] = [str(it) for it in tree.left]
        table["certain"], table["likely"] = tree.is_certain, tree.is_likely
        table["advice"] = advised(tree)
        trees.append(table)
    return trees


def plain(value: Any) -> Any:
    """Converts values that JSON lacks."""
    return value.item() if isinstance(value, np.generic) else str(value)
