"""What else differs between schemes or results that are compared: keys, and swept values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unpause import _native
from unpause.data import workload
from unpause.data.result import Result
from unpause.sweeps.grouped import Runs
from unpause.text import key_text, value_text

#: The most keys and points that are named.
_MOST = 6
#: Tables that say nothing of what is simulated, or are compared by other means.
_ASIDE = ("title", "source", "report", "scheme", "sweep", "seed")
#: The most keys of the same schemes, and the most such groups, that are named.
_MOST_KEYS = 2
_MOST_GROUPS = 3


def settings(result: Result) -> str:
    """Keys that the schemes set to different values: "switch.lossless (NSCC)"; empty for none.

    A scheme that does not set a key has the scenario's value. Keys of `pfc` are compared between
    schemes with a lossless priority, since they have no effect in others.
    """
    names = set(result.schemes)
    schemes = [it for it in result.scenario.get("scheme", []) if it.get("name") in names]
    each = {it["name"]: it.get("set", {}) for it in schemes}
    groups: dict[tuple[str, ...], list[str]] = {}
    for key in dict.fromkeys(key for keys in each.values() for key in keys):
        values = {
            name: _in_base_unit(keys.get(key, _value(result.scenario, key)))
            for name, keys in each.items()
            if not (key.startswith("pfc.") and keys.get("switch.lossless") == [])
        }
        first = next(iter(values.values()), None)
        if any(value != first for value in values.values()):
            own = tuple(name for name in values if key in each[name])
            groups.setdefault(own, []).append(key)
    parts = []
    for own, keys in groups.items():
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        parts.append(f"{', '.join(keys[:_MOST_KEYS])}{more} ({', '.join(own)})")
    return ", ".join(parts[:_MOST_GROUPS]) + (" and others" if len(parts) > _MOST_GROUPS else "")


def _value(table: Any, path: str) -> Any:
    """The value of a key of the scenario as it is written; None if it is not."""
    for step in _native.split_path(path) or []:
        table = _by_name(table)
        table = table.get(step) if isinstance(table, Mapping) else None
    return table


def _in_base_unit(written: Any) -> Any:
    """A size, time or rate as a number, so that 400 KB and 400000 B are the same."""
    found = _native.in_base_unit(written) if isinstance(written, str) else None
    return written if found is None else (found[0], found[1] / found[2])


def scenarios(names: Sequence[str], results: Sequence[Runs]) -> list[str]:
    """A sentence for each result whose scenario is not the first one's, or not known."""
    old = [name for name, runs in zip(names, results, strict=True) if not _is_known(runs)]
    found = [
        f"The scenario of {name} was not recorded: its traffic may be another one." for name in old
    ]
    first = results[0]
    for name, result in zip(names[1:], results[1:], strict=True):
        if {name, names[0]}.intersection(old):
            continue
        keys = list(_keys(first.scenario, result.scenario))
        if keys:
            found.append(f"The scenario of {name} differs from that of {names[0]} in {_few(keys)}.")
    return found


def _is_known(runs: Runs) -> bool:
    """Whether it is known what ran: sweeps of older versions have the title only."""
    return bool(runs.scenario.keys() - {"title"})


def workloads(names: Sequence[str], results: Sequence[Runs]) -> dict[str, str]:
    """The results with other traffic than the first, and the keys in which it differs.

    Keys that are swept do not count: each of their values is a row of its own.
    """
    found = {}
    first = results[0]
    for name, result in zip(names[1:], results[1:], strict=True):
        if not _is_known(first) or not _is_known(result):
            continue
        swept = {key for keys in first.keys.values() for key in keys}
        both = [scheme for scheme in first.schemes if scheme in result.schemes]
        keys = [
            key
            for scheme in both
            for key in workload.difference((first.scenario, scheme), (result.scenario, scheme))
            if key not in swept
        ]
        if keys:
            found[name] = _few(list(dict.fromkeys(keys)))
    return found


def points(names: Sequence[str], results: Sequence[Runs]) -> str:
    """Which schemes and swept values not all results have; empty if all have the same."""
    each = [{(group.scheme, group.values) for group in runs.groups} for runs in results]
    parts = []
    for name, runs, own in zip(names, results, each, strict=True):
        alone = [
            _point(runs.axes, group.scheme, group.values)
            for group in runs.groups
            if (group.scheme, group.values) in own.difference(set.intersection(*each))
        ]
        if alone:
            parts.append(f"{_few(alone)} ({name})")
    return f"Not in all results, and not compared: {'; '.join(parts)}." if parts else ""


def _point(axes: Sequence[str], scheme: str, values: Sequence[Any]) -> str:
    each = (f"{key_text(a)} {value_text(a, v)}" for a, v in zip(axes, values, strict=True))
    return " ".join([scheme, *each])


def _few(names: Sequence[str]) -> str:
    more = len(names) - _MOST
    return ", ".join(names[:_MOST]) + (f" and {more} more" if more > 0 else "")


def _keys(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Paths of the values that differ; a table that one of them lacks as a whole."""
    one, other = _by_name(one), _by_name(other)
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        if one != other:
            yield path
        return
    for key in dict.fromkeys([*one, *other]):
        if path or key not in _ASIDE:
            yield from _keys(one.get(key), other.get(key), f"{path}.{key}" if path else str(key))


def _by_name(value: Any) -> Any:
    """A list of tables that have names as a table of them."""
    if not isinstance(value, list) or not value:
        return value
    named = [isinstance(it, Mapping) and "name" in it for it in value]
    return {str(it["name"]): it for it in value} if all(named) else value
