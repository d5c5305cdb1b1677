"""A scenario as a search sees it: its scheme, the values of today and those of the literature."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from unpause.errors import SweepError
from unpause.sweeps import axes
from unpause.sweeps.axes import Axis
from unpause.sweeps.points import Plan
from unpause.text import listed, nearest
from unpause.tuning.space import Parameter, Setting, quantity


@dataclass(frozen=True)
class Default:
    """A default of the program.

    Attributes:
        text: As the list of keys has it: a value, or words.
        origin: Its source; empty if it has none.
    """

    text: str
    origin: str

    @property
    def value(self) -> Any:
        """It as a scenario has it; None if it is words."""
        is_quoted = self.text.startswith('"') and self.text.endswith('"')
        value = self.text[1:-1] if is_quoted else self.text
        found = quantity(value)
        if found is None:
            return None
        is_number = not found[0] and value.replace(".", "").isdigit()
        return (float(value) if "." in value else int(value)) if is_number else value


def scheme_of(keys: Sequence[str], wanted: str, names: Sequence[str]) -> str:
    """The scheme to tune: the one that is wanted, that of a key, or the only one.

    Raises:
        SweepError: there is no such scheme, or several could be meant.
    """
    if wanted:
        if wanted not in names:
            raise SweepError(
                f"there is no scheme {wanted!r}{nearest(wanted, names)} (known: {listed(names)})"
            )
        return wanted
    steps = [axes.split_key(key) for key in keys]
    named = dict.fromkeys(each[1] for each in steps if each[0] == "scheme" and len(each) > 1)
    if len(named) > 1:
        raise SweepError(f"one scheme is tuned at a time; the keys name {listed(list(named))}")
    for name in named:
        if name not in names and not name.isdigit():
            raise SweepError(
                f"there is no scheme {name!r}{nearest(name, names)} (known: {listed(names)})"
            )
        return names[int(name)] if name.isdigit() and int(name) < len(names) else name
    if len(names) > 1:
        raise SweepError(
            f"the scenario has several schemes\nhint: --scheme NAME chooses one of {listed(names)}"
        )
    return names[0]


def conditions(robust: Mapping[str, Any], document: Mapping[str, Any]) -> list[Axis]:
    """The axes of `--robust`; ``load`` is that of the only traffic that has a load.

    Raises:
        SweepError: an axis makes no sense, or several loads could be meant.
    """
    found = {}
    for key, values in robust.items():
        if key == "load":
            entries = [each["name"] for each in document.get("traffic", []) if "load" in each]
            if len(entries) != 1:
                there = f"{listed(entries)} have one" if entries else "no traffic has one"
                raise SweepError(
                    f"--robust load: the load of which traffic? {there}\n"
                    "hint: write traffic.NAME.load=…, or load_scale=0.5,1,1.5 for all of them"
                )
            key = f'traffic."{entries[0]}".load'
        if axes.split_key(key) == ["seed"]:
            raise SweepError("--robust seed: --seeds sets how many seeds each setting runs with")
        found[key] = values
    return axes.read(found)


def check_sweeps(document: Mapping[str, Any]) -> None:
    """Refuses a scenario whose runs would be many for one setting.

    Raises:
        SweepError: it has a sweep of its own.
    """
    if sweeps := document.get("sweep"):
        key = sweeps[0].get("key")
        raise SweepError(
            f"the file has a [[sweep]] over {key}, and a search needs one run for each setting\n"
            f"hint: remove that sweep, or search with all its values: --robust {key}=…"
        )


def check_values(plan: Plan, scheme: str, parameters: Sequence[Parameter]) -> None:
    """Refuses keys and values that no setting can have.

    Raises:
        SweepError: with the scenario's own message.
    """
    ends = [{each.key: each.ends[at] for each in parameters} for at in (0, -1)]
    for each in parameters:
        for value in each.ends:
            # Some values fit only with large, others only with small values of other keys.
            first = ends[0] if value == each.ends[0] else ends[1]
            try:
                plan.check_value(Axis(each.key, (value,)), value, first, [scheme])
            except SweepError:
                plan.check_value(Axis(each.key, (value,)), value, ends[first is ends[0]], [scheme])


def today(document: Mapping[str, Any], scheme: str, key: str) -> Any:
    """The value that the file sets for a key; None if it sets none."""
    steps = axes.split_key(key)
    entry = next(each for each in document["scheme"] if each["name"] == scheme)
    for path, value in entry.get("set", {}).items():
        if axes.split_key(path) == steps:
            return value
    at: Any = document
    for step in steps:
        if isinstance(at, list):
            by_name = {each.get("name"): each for each in at}
            by_place = {str(place): each for place, each in enumerate(at)}
            at = by_name.get(step, by_place.get(step))
        elif isinstance(at, Mapping):
            at = at.get(step)
        else:
            return None
    return at


@cache
def _list() -> dict[str, Any]:
    """What ``unpause list`` knows of all keys."""
    command = [sys.executable, "-m", "unpause", "list", "--output", "json"]
    listed = subprocess.run(command, capture_output=True, check=True, timeout=60)
    answer: dict[str, Any] = json.loads(listed.stdout)
    return answer


def default(key: str) -> Default | None:
    """The default of a key with its source; None where the program has none of its own."""
    steps = axes.split_key(key)
    every = _list()
    if steps[0] == "scheme" and len(steps) == 4:
        kinds = ("congestion_controls", "markings", "loss_recoveries")
        tables = [each for kind in kinds for each in every[kind] if each["name"] == steps[2]]
    else:
        tables = [each for each in every["tables"] if each["path"] == ".".join(steps[:-1])]
    for table in tables:
        for each in table["keys"]:
            if each["name"] == steps[-1]:
                return Default(each["default"], each["origin"])
    return None


def literature(parameters: Sequence[Parameter], now: Mapping[str, Any]) -> tuple[Setting, str]:
    """The defaults that have a source, where the file sets another value, and all their sources.

    No setting if the file has them all, and no sources if none has one.
    """
    found: dict[str, Any] = {}
    sources: dict[str, None] = {}
    for each in parameters:
        known = default(each.key)
        value = known.value if known and known.origin else None
        if known is None or value is None:
            continue
        sources[known.origin] = None
        if now[each.key] is not None and quantity(value) != quantity(now[each.key]):
            found[each.key] = value
    return found, "; ".join(sources)
