"""Which pauses may have held a flow's packets, or its ACKs, on links that these may cross."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unpause.data import lives, reroutes, series
from unpause.data.fabric import Fabric, Pairs, Port, Stops
from unpause.data.result import Run
from unpause.data.setting import Setting

#: Pairs of hosts and stopped ports of a whole run that are looked at.
_MOST_QUESTIONS = 300_000
#: Columns of `flows` that are needed here.
COLUMNS = ("traffic", "src", "dst", "priority", "transport", "start_ns", "fct_ns")


@dataclass(frozen=True)
class Held:
    """An egress that was paused while flows were under way.

    Attributes:
        port: The egress.
        ns: For how long; of several flows the longest.
        is_sure: Whether these packets have to cross it.
        acks: Whether these are ACKs, which go from the receiver to the sender.
    """

    port: Port
    ns: float
    is_sure: bool
    acks: bool


def with_flows(run: Run) -> set[str]:
    """Transports whose ACKs have the priority of the flow. The control priority is never paused."""
    setting = Setting(run.result, run)
    found = {"tcp"} if setting.get("tcp.ack_priority", "flow") == "flow" else set()
    return found | ({"roce"} if setting.get("host.ack_priority") == "flow" else set())


def of_flows(run: Run, flows: pa.Table, at_ns: float | None = None) -> list[Held]:
    """Where `flows`, which has :data:`COLUMNS`, may have been held, longest first."""
    fabric, stops = Fabric.of(run), Stops.of(run)
    if not any(it.by_port for it in stops.values()):
        stops = _of_causes(run, fabric)
    found: dict[tuple[Port, bool], Held] = {}
    spans = _spans(run, flows)
    for acks in (False, True):
        for port, sure, rows, during in _crossings(run, fabric, stops, flows, acks=acks):
            if at_ns is not None:
                here = (during[:, 0] <= at_ns) & (at_ns < during[:, 1])
                during = during[here]
            ns = float(np.max(_within(spans[rows], during), initial=0.0))
            last = found.get((port, acks))
            if ns > (last.ns if last is not None else 0.0):
                found[port, acks] = Held(port, ns, sure, acks)
    return sorted(found.values(), key=lambda it: (it.acks, -it.ns))


def had_paused_acks(
    run: Run, fabric: Fabric, stops: dict[int, Stops], flows: pa.Table
) -> np.ndarray:
    """For each of `flows` whether its ACKs may have been paused; not looked up for very many."""
    found = np.zeros(flows.num_rows, dtype=bool)
    transports = sorted(with_flows(run))
    stops = (stops or _of_causes(run, fabric)) if transports else {}
    if not stops:
        return found
    ours = np.isin(flows.column("transport").to_pylist(), transports)
    ours &= np.isin(series.column(flows, "priority"), [it for it in stops if stops[it].by_port])
    if not ours.any():
        return found
    pairs = sum(1 for _ in series.groups(flows, ["src", "dst", "priority"]))
    ports = max(len(it.by_port) for it in stops.values())
    if pairs * ports > _MOST_QUESTIONS:
        return ours
    spans = _spans(run, flows)
    for _, _, rows, during in _crossings(run, fabric, stops, flows, acks=True):
        found[rows[_within(spans[rows], during) > 0]] = True
    return found


def lost_nics(run: Run, fabric: Fabric, stops: dict[int, Stops], flows: pa.Table) -> np.ndarray:
    """For each of `flows` whether it was sprayed over NICs of which one was paused meanwhile.

    Such a flow continues with the others, so that no table says that it waited.
    """
    found = np.zeros(flows.num_rows, dtype=bool)
    if Setting(run.result, run).get("host.spraying", "none") == "none":
        return found
    nics = Counter(port.node for port in fabric.ports)
    several = {node for node, number in nics.items() if number > 1}
    src, transport = (np.array(flows.column(it).to_pylist()) for it in ("src", "transport"))
    priorities, spans = series.column(flows, "priority"), _spans(run, flows)
    for priority, stopped in stops.items():
        for port, during in stopped.by_port.items():
            if port.node in several:
                ours = (src == port.node) & (transport == "roce") & (priorities == priority)
                rows = np.flatnonzero(ours)
                found[rows[_within(spans[rows], during) > 0]] = True
    return found


def not_counted(run: Run) -> list[str]:
    """Flows that may have lost time and are in no list of victims, by why."""
    fabric, stops = Fabric.of(run), Stops.of(run)
    flows = run.columns("flows", ["flow_id", *COLUMNS])
    known = series.column(run.columns("victims", ["flow_id"]), "flow_id")
    others = ~np.isin(series.column(flows, "flow_id"), known)
    late = {
        "flows whose ACKs were paused": had_paused_acks(run, fabric, stops, flows),
        "sprayed flows that could not use all NICs": lost_nics(run, fabric, stops, flows),
    }
    return [why for why, rows in late.items() if np.any(rows & others)]


def _crossings(
    run: Run, fabric: Fabric, stops: dict[int, Stops], flows: pa.Table, *, acks: bool
) -> list[tuple[Port, bool, np.ndarray, np.ndarray]]:
    """Stopped ports that packets may cross: whether they must, which rows of `flows`, when.

    Where routes changed packets may go anywhere; so they may where paths are not looked for.
    """
    anywhere = not fabric.searchable or reroutes.begun_by(run, run.row["simulated_ns"])
    transports = with_flows(run) if acks else None
    found = []
    for priority, stopped in stops.items():
        ours: list[tuple[tuple[str, str], np.ndarray]] = []
        for (src, dst, of, transport), rows in series.groups(
            flows, ["src", "dst", "priority", "transport"]
        ):
            if of == priority and (transports is None or transport in transports):
                ours.append(((dst, src) if acks else (src, dst), rows))
        if not ours:
            continue
        pairs = None if anywhere else Pairs(fabric, [ends for ends, _ in ours])
        for port, during in stopped.by_port.items():
            if pairs is not None:
                may, must = pairs.crossed(port)
            else:
                may = np.ones(len(ours), dtype=bool)
                must = np.array([ends[0] == port.node for ends, _ in ours], dtype=bool)
            found += [(port, bool(must[it]), ours[it][1], during) for it in np.flatnonzero(may)]
    return found


def _spans(run: Run, flows: pa.Table) -> np.ndarray:
    """From when until when flows were under way: array (n, 2)."""
    return np.column_stack([series.column(flows, "start_ns"), lives.ends_ns(run, flows)])


def _within(spans: np.ndarray, during: np.ndarray) -> np.ndarray:
    """For how long of each span these intervals last."""
    if not len(during):
        return np.zeros(len(spans))
    during = series.merged(during)
    return series.time_within(during, spans[:, 1]) - series.time_within(during, spans[:, 0])


def _of_causes(run: Run, fabric: Fabric) -> dict[int, Stops]:
    """When egresses were stopped, of results without table `pauses`: from XOFF to XON."""
    numbers = {(port.node, port.peer): port for port in fabric.ports}
    names = ["node", "peer", "priority"]
    table = run.columns("causes", [*names, "time_ns", "until_ns"])
    every = np.column_stack([series.column(table, it) for it in ("time_ns", "until_ns")])
    found: dict[int, Stops] = {}
    for (pauser, stopped, priority), rows in series.groups(table, names):
        if (port := numbers.get((stopped, pauser))) is not None:
            ours = every[rows]
            order = np.argsort(ours[:, 0], kind="stable")
            found.setdefault(priority, Stops({})).by_port[port] = ours[order]
    return found
