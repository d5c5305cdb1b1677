"""The runs of a result that are explained, and those that have a flow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute as pc

from unpause.data.result import Result, Run
from unpause.errors import ResultError
from unpause.explanation import messages, predecessors
from unpause.explanation.causes import flows_named
from unpause.text import key_text, nearest, plural, value_text


def the_runs(
    result: Result,
    scheme: str | None = None,
    seed: int | None = None,
    point: Sequence[str] = (),
) -> list[Run]:
    """The first run of each scheme that is wanted.

    Args:
        result: The result.
        scheme: Only this one.
        seed: Only runs with this seed.
        point: Only runs with these swept values, such as "place=packed".

    Raises:
        ResultError: there is no such scheme, seed or swept value, or no run has all of them.
    """
    return [runs[0] for runs in _wanted(result, scheme, seed, point)]


def with_flow(
    result: Result,
    name: str,
    scheme: str | None = None,
    seed: int | None = None,
    point: Sequence[str] = (),
) -> list[Run]:
    """The first run of each scheme that is wanted and has the flow, entry, job or message `name`.

    Raises:
        ResultError: as by :func:`the_runs`; or no such run has it, with those that do.
    """
    wanted = _wanted(result, scheme, seed, point)
    having = [next((run for run in runs if has_flow(run, name)), None) for runs in wanted]
    if found := [run for run in having if run is not None]:
        return found
    raise ResultError(_no_flow(result, name, [run for runs in wanted for run in runs]))


def has_flow(run: Run, name: str) -> bool:
    """Whether a run has this flow, entry, job or message."""
    if (message := messages.parsed(name)) is not None:
        return messages.of_number(run, *message) is not None
    return flows_named(run, name).num_rows > 0 or predecessors.waiting(run, name) is not None


def run_name(run: Run) -> str:
    """Such as "PFC (place=packed, seed 1)"."""
    values = [f"{key_text(it)}={value_text(it, run.row[it])}" for it in run.result.axes]
    return f"{run.scheme} ({', '.join([*values, 'seed ' + str(run.row['seed'])])})"


def _wanted(
    result: Result, scheme: str | None, seed: int | None, point: Sequence[str]
) -> list[list[Run]]:
    """The runs of each scheme that has some."""
    if scheme is not None and scheme not in result.schemes:
        names = ", ".join(result.schemes)
        near = nearest(scheme, result.schemes)
        raise ResultError(f"no scheme {scheme!r}{near} (known: {names})")
    names = [scheme] if scheme is not None else result.schemes
    every = [result.runs_of(name) for name in names]
    for text in point:
        axis, value = _value(result, text)
        every = [[run for run in runs if _text(run, axis) == value] for runs in every]
    at_point = [run for runs in every for run in runs]
    if not at_point:
        raise ResultError(f"no run has {' and '.join(point)} together")
    if seed is not None:
        every = [[run for run in runs if run.row["seed"] == seed] for runs in every]
        if not any(every):
            seeds = sorted({run.row["seed"] for run in at_point})
            at = f" at {' '.join(point)}" if point else ""
            raise ResultError(f"no run has seed {seed}{at}; there are {', '.join(map(str, seeds))}")
    return [runs for runs in every if runs]


def _text(run: Run, axis: str) -> str:
    return value_text(axis, run.row[axis]).replace(" ", "")


def _value(result: Result, text: str) -> tuple[str, str]:
    """The swept column and the value that a text such as "place=packed" names."""
    by_name: dict[str, str] = {key_text(axis): axis for axis in result.axes}
    key, equals, value = text.partition("=")
    if not equals:
        raise ResultError(f"--point {text!r} is not KEY=VALUE, such as place=packed")
    if not by_name:
        raise ResultError(f"--point {text!r}: this result is of no sweep")
    axis = by_name.get(key) or (key if key in result.axes else None)
    if axis is None:
        near = nearest(key, by_name)
        raise ResultError(f"nothing swept is called {key!r}{near} (known: {_listed(by_name)})")
    runs = [run for scheme in result.schemes for run in result.runs_of(scheme)]
    known = dict.fromkeys(_text(run, axis) for run in runs)
    if (value := value.replace(" ", "")) not in known:
        near = nearest(value, known)
        raise ResultError(f"no run has {key} = {value}{near} (known: {_listed(known)})")
    return axis, value


def _no_flow(result: Result, name: str, looked: Sequence[Run]) -> str:
    """That no run has it: with those beside them that do, else with what there is."""
    seen = {run.run for run in looked}
    others = [run for scheme in result.schemes for run in result.runs_of(scheme)]
    elsewhere = [run_name(run) for run in others if run.run not in seen and has_flow(run, name)]
    where = run_name(looked[0]) if len(looked) == 1 else plural(len(looked), "run")
    if elsewhere:
        return f"no flow {name!r} in {where}; there is one in {_listed(elsewhere, 3)}"
    if (message := messages.parsed(name)) is not None:
        return f"no message {name!r} in {where}: {messages.known(looked[0], message[0])}"
    if name.isdigit():
        last = max(_last(run) for run in looked)
        there = f"flows are 0 to {last}" if last >= 0 else "no flow started"
        return f"no flow {name!r} in {where}: {there}"
    entries: dict[str, None] = {}
    for run in looked:
        names: list[Any] = pc.unique(run.columns("flows", ["traffic"]).column(0)).to_pylist()
        entries |= dict.fromkeys(names)
    return f"no flow {name!r}{nearest(name, entries)} (known: {_listed(entries)})"


def _last(run: Run) -> int:
    ids = run.columns("flows", ["flow_id"]).column(0)
    return int(pc.max(ids).as_py()) if len(ids) else -1


def _listed(names: Iterable[str], most: int = 12) -> str:
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return f"{', '.join(every[:most])}{more}"
