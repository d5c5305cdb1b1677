"""For how long a PAUSE holds that is sent once only: `mode = "once"` of ``[pfc]``."""

from __future__ import annotations

from typing import Any

from unpause import _native
from unpause.result import Run

_BITS_OF_A_QUANTUM = 512
_MOST_QUANTA = 65_535


def by_link(run: Run) -> dict[tuple[str, str], float]:
    """By sender and receiver of PAUSE the time (ns) after which one has run out.

    Empty unless PAUSE is sent once, and if what it asks for is varied: nothing is known then.
    """
    if any(axis.startswith("pfc") or axis == "pause_quanta" for axis in run.result.axes):
        return {}
    pfc = _pfc(run)
    if pfc.get("mode") != "once":
        return {}
    fixed = _native.in_base_unit(str(pfc["pause_time"])) if "pause_time" in pfc else None
    quanta = pfc.get("pause_quanta", _MOST_QUANTA)
    table = run.columns("ports", ["node", "peer", "rate_bps"])
    columns = (table.column(name).to_pylist() for name in table.column_names)
    found = {}
    for node, peer, bps in zip(*columns, strict=True):
        if fixed is not None:
            found[peer, node] = fixed[1] / fixed[2]
        elif bps:
            found[peer, node] = quanta * _BITS_OF_A_QUANTUM * 1e9 / bps
    return found


def _pfc(run: Run) -> dict[str, Any]:
    """The scenario's table, with what the scheme sets instead."""
    scenario = run.result.scenario
    schemes = scenario.get("scheme", [])
    own = next((it for it in schemes if it.get("name") == run.scheme), {})
    instead = own.get("set", {})
    pfc = {**scenario.get("pfc", {}), **instead.get("pfc", {})}
    for key, value in instead.items():
        table, _, name = key.partition(".")
        if table == "pfc" and name:
            pfc[name] = value
    return pfc
