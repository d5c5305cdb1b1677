"""The workload of a scenario: what it asks of the network, under each of its schemes.

Schemes and results with different workloads are not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: Keys of the scenario's top level that say how much traffic there is, or for how long.
_WHOLE = ("duration", "load_scale")
#: Keys that say how an entry sends, or what is recorded of it, not what it sends.
_SENDING = {
    "traffic": {
        "connections",
        "controlled",
        "name",
        "priority",
        "priority_by_size",
        "rate_limit",
        "record",
        "schemes",
        "slow_start_after_idle",
        "source_port",
        "tcp",
        "transport",
        "watch",
    },
    "job": {
        "algorithm",
        "alone",
        "channels",
        "completion",
        "connection",
        "messages",
        "name",
        "placement",
        "priority",
        "reduce_rate",
        "schemes",
        "slices",
    },
}
#: First words of keys that say in which fabric this is, or what happens to it.
_FABRIC = ("topology", "event", "link", "slow_receiver")
#: What ends the name of a swept column.
_UNITS = ("_bytes", "_bps", "_ns")


def is_given(key: str) -> bool:
    """Whether a key says what the network has to carry or what it is made of, not what one chooses.

    Schemes are compared at each value of such a key, and not across them.
    """
    first, *rest = key.split(".")
    if key in _WHOLE or first in _FABRIC:
        return True
    last = rest[-1] if rest else ""
    for unit in _UNITS:
        last = last.removesuffix(unit)
    return bool(last) and first in _SENDING and last not in _SENDING[first]


def difference(
    one: tuple[Mapping[str, Any], str], other: tuple[Mapping[str, Any], str]
) -> list[str]:
    """The keys in which two workloads differ, each that of a scenario under one of its schemes."""
    a, b = (dict(_keys(*it)) for it in (one, other))
    return [key for key in dict.fromkeys([*a, *b]) if a.get(key) != b.get(key)]


def _keys(scenario: Mapping[str, Any], scheme: str) -> Iterator[tuple[str, Any]]:
    own = next((it for it in scenario.get("scheme", []) if it.get("name") == scheme), {})
    changed = own.get("set", {})
    for key in _WHOLE:
        yield key, changed.get(key, scenario.get(key))
    for table, sending in _SENDING.items():
        places: dict[str, int] = {}
        for at, entry in enumerate(scenario.get(table, [])):
            if scheme not in entry.get("schemes", [scheme]):
                continue
            name = str(entry.get("name", at))
            start = f"{table}.{name}."
            more = {k.removeprefix(start): v for k, v in changed.items() if k.startswith(start)}
            asked = {k: v for k, v in {**entry, **more}.items() if k not in sending}
            # Entries that ask for the same are the same, by whatever name each scheme has them.
            text = repr(sorted(asked.items(), key=lambda it: it[0]))
            if "schemes" in entry:
                places[text] = places.get(text, 0) + 1
                yield f"{table} {text} {places[text]}", True
            else:
                for key, value in asked.items():
                    yield start + key, value
