"""Scenario files in a few words: `star(3, PFC, flow("f", "H0", "H2"), pfc={"xoff": "50KB"})`.

Entries of arrays of tables come first, then keys and sections by name. Links have a delay of 1 us
and a rate of 100 Gb/s, and a run takes 1 ms, unless a test says otherwise.
"""

from __future__ import annotations

import json
from typing import Any

Hosts = str | list[str]


def scenario(topology: dict[str, Any], *entries: str, **settings: Any) -> str:
    """A scenario on this topology."""
    settings = {"duration": "1ms", **settings, "topology": topology}
    keys = {name: value for name, value in settings.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in settings.items() if name not in keys}
    sections = (section(f"[{name}]", **values) for name, values in tables.items())
    return _lines(keys) + "".join(sections) + "".join(entries)


def star(hosts: int, *entries: str, rate: str = "100Gbps", delay: str = "1us", **more: Any) -> str:
    """A scenario on one switch."""
    topology = {"builder": "single-switch", "hosts": hosts, "rate": rate, "delay": delay}
    return scenario(topology, *entries, **more)


def two_switch(left: Hosts, right: Hosts, rate: str = "100Gbps", **keys: Any) -> dict[str, Any]:
    """The topology of two switches and their hosts."""
    fixed = {"builder": "two-switch", "left": left, "right": right}
    return {**fixed, "rate": rate, "delay": "1us", **keys}


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int, **keys: Any) -> dict[str, Any]:
    """The topology of leaves and spines."""
    counts = {"leaves": leaves, "spines": spines, "hosts_per_leaf": hosts_per_leaf}
    return {"builder": "leaf-spine", **counts, "host_rate": "100Gbps", "delay": "1us", **keys}


def explicit(
    hosts: Hosts, switches: Hosts, *links: str | dict[str, Any], rate: str = "100Gbps", **keys: Any
) -> dict[str, Any]:
    """A topology link by link: `"A-S0"`, or a `link` with settings of its own."""
    fixed = {"builder": "explicit", "hosts": hosts, "switches": switches, "rate": rate}
    ends = [link(each) if isinstance(each, str) else each for each in links]
    return {**fixed, "delay": "1us", **keys, "link": ends}


def link(ends: str, **keys: Any) -> dict[str, Any]:
    """A link, for instance of `"A-S0"`."""
    a, b = ends.split("-")
    return {"a": a, "b": b, **keys}


def section(header: str, **keys: Any) -> str:
    """A table; a word of Python ends in `_` as a key: `from_`."""
    return f"{header}\n{_lines(keys)}"


def entry(table: str, **keys: Any) -> str:
    """One more entry of an array of tables."""
    return section(f"[[{table}]]", **keys)


def scheme(name: str, congestion_control: str | None = None, **keys: Any) -> str:
    """A scheme to run."""
    law = {} if congestion_control is None else {"congestion_control": congestion_control}
    return entry("scheme", name=name, **law, **keys)


def traffic(kind: str, name: str, src: Hosts, dst: Hosts, **keys: Any) -> str:
    """Traffic of any kind that has senders and receivers."""
    return entry("traffic", name=name, kind=kind, from_=src, to=dst, **keys)


def flow(name: str, src: Hosts, dst: Hosts, **keys: Any) -> str:
    """A flow of each sender to each receiver."""
    return traffic("flow", name, src, dst, **keys)


def burst(name: str, src: Hosts, dst: Hosts, **keys: Any) -> str:
    """Flows that start together."""
    return traffic("burst", name, src, dst, **keys)


def _lines(keys: dict[str, Any]) -> str:
    return "".join(f"{_key(name)} = {_value(value)}\n" for name, value in keys.items())


def _key(name: str) -> str:
    return json.dumps(name) if "." in name else name.rstrip("_")


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(_lines({k: v}).strip() for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(value)


PFC = scheme("PFC")
PCN = scheme("PCN", "pcn")
DCQCN = scheme("PFC+DCQCN", "dcqcn")

#: The probe that records why packets wait.
CAUSES = {"causes": True}
