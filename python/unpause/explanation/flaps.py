"""Links that failed in a run: when routes followed, what was lost where, and who was paused.

An *outage* is the time in which links are down that failed together and returned together. All
numbers are those of tables `link_changes`, `losses`, `flows` and `pauses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from unpause.data import series
from unpause.data.fabric import senders_and_receivers
from unpause.data.result import Run
from unpause.data.setting import Setting, in_ns
from unpause.errors import ResultError
from unpause.text import plural

#: Where packets were lost, as table `losses` calls it, in words, in the order of what happens.
PLACES = {
    "wire": "on the wire",
    "queue": "in the queue",
    "port": "at the dead port",
    "switch": "without a route",
}
#: `detection` of ``[routing]``, unless the scenario says.
_DETECTION_NS = 50_000.0

#: An egress: node and port.
_End = tuple[str, int]


@dataclass
class Loss:
    """The packets lost at one kind of place (:data:`PLACES`).

    Attributes:
        packets: Of any kind.
        data_packets: Those with data.
        spans: From when to when packets could be lost there, ns.
    """

    packets: int = 0
    data_packets: int = 0
    spans: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Outage:
    """Links that were down together.

    Attributes:
        links: Their names: "S0-S1", or "S0->S1" of one direction.
        ends: The egresses that send by them, such as "S0->S1".
        down_ns: When they failed.
        up_ns: When they returned; None if they did not.
        ends_moved_ns: When the switches at their ends no longer used them; None if never.
        all_moved_ns: The same of all switches.
        back_ns: When routes led over them again; None if never.
        lost: What was lost, by place.
    """

    links: tuple[str, ...]
    ends: tuple[str, ...]
    down_ns: float
    up_ns: float | None
    ends_moved_ns: float | None
    all_moved_ns: float | None
    back_ns: float | None
    lost: Mapping[str, Loss]

    @property
    def name(self) -> str:
        """The links, of more than three the first two and how many more."""
        if len(self.links) <= 3:
            return ", ".join(self.links)
        return f"{', '.join(self.links[:2])} and {plural(len(self.links) - 2, 'more link')}"

    @property
    def packets(self) -> int:
        """Lost packets of any kind, at all places."""
        return sum(it.packets for it in self.lost.values())

    def until_ns(self, end_ns: float) -> float:
        """When all was as before; `end_ns`, the end of the run, if it never was."""
        if self.up_ns is None:
            return end_ns
        known = (self.up_ns, self.ends_moved_ns, self.all_moved_ns, self.back_ns)
        return min(end_ns, max(it for it in known if it is not None))


@dataclass(frozen=True)
class Paused:
    """How long a link was paused: before the first outage, during outages, and otherwise after."""

    before_ns: float
    during_ns: float
    after_ns: float


@dataclass(frozen=True)
class Flaps:
    """The outages of a run, and what they did to flows.

    Attributes:
        outages: In order of time.
        flows: How many flows there were.
        resent: Numbers of the flows that sent packets again, without those that had ended before.
        resent_packets: How many packets in all.
        gave_up: Numbers of the flows whose sender gave up.
        deaf: How many flows never send a packet again, because they are UDP.
        other_drops: Data packets that were lost in the run for other reasons.
        paused: How long links were paused, by name, longest first: "S1->H0" if S1 paused H0.
    """

    outages: Sequence[Outage]
    flows: int
    resent: frozenset[int]
    resent_packets: int
    gave_up: frozenset[int]
    deaf: int
    other_drops: int
    paused: Mapping[str, Paused]

    @property
    def hit(self) -> frozenset[int]:
        """Flows that sent packets again or gave up."""
        return self.resent | self.gave_up

    @property
    def packets(self) -> dict[str, int]:
        """Lost packets by place, of all outages."""
        return {place: sum(it.lost[place].packets for it in self.outages) for place in PLACES}

    @property
    def data_packets(self) -> int:
        """Lost packets with data, of all outages."""
        return _data(self.outages)


def _data(outages: Sequence[Outage]) -> int:
    return sum(loss.data_packets for it in outages for loss in it.lost.values())


def of_run(run: Run) -> Flaps | None:
    """The outages of a run; None if no link failed."""
    if (outages := _outages(run)) is None:
        return None
    names = ["flow_id", "retransmitted_packets", "gave_up", "transport", "start_ns", "fct_ns"]
    flows = run.table("flows").select(names)
    ends = pc.add(flows["start_ns"], flows["fct_ns"])
    had_ended = pc.fill_null(pc.less(ends, min(it.down_ns for it in outages)), False)
    again = pc.greater(flows["retransmitted_packets"], 0)
    resent = flows.filter(pc.and_(again, pc.invert(had_ended)))
    given_up = flows.filter(pc.equal(flows["gave_up"], 1))
    return Flaps(
        outages,
        flows.num_rows,
        frozenset(resent["flow_id"].to_pylist()),
        int(pc.sum(resent["retransmitted_packets"]).as_py() or 0),
        frozenset(given_up["flow_id"].to_pylist()),
        flows.filter(pc.equal(flows["transport"], "udp")).num_rows,
        run.row["dropped_packets"] - _data(outages),
        _paused(run, outages),
    )


def _outages(run: Run) -> list[Outage] | None:
    changes = run.table("link_changes").to_pylist()
    wires = [row for row in changes if row["change"] in ("down", "up")]
    if not any(row["change"] == "down" for row in wires):
        return None
    routes = {row["time_ns"] for row in changes if row["change"] == "routes"}
    setting = Setting(run.result, run)
    detection = _time(setting, "routing.detection", _DETECTION_NS)
    convergence = _time(setting, "routing.convergence", 0.0)
    together: dict[tuple[float, float | None], list[dict[str, Any]]] = {}
    for row in wires:
        if row["change"] == "down":
            back = (it["time_ns"] for it in wires
                    if it["change"] == "up" and it["time_ns"] > row["time_ns"]
                    and _end(it) == _end(row))  # fmt: skip
            together.setdefault((row["time_ns"], min(back, default=None)), []).append(row)
    hosts = senders_and_receivers(run.table("flows"))
    order = sorted(together, key=lambda it: (it[0], np.inf if it[1] is None else it[1]))

    def followed(at_ns: float | None, after_ns: float) -> float | None:
        # Times are exact to the picosecond; sums of them are rounded.
        if at_ns is None:
            return None
        return next((it for it in routes if abs(it - at_ns - after_ns) < 1e-3), None)

    def moved_at_ends(rows: Sequence[Mapping[str, Any]], down: float) -> float | None:
        # Nothing leads around the link of a host: its switch sends there until all routes change.
        all_hosts = all({row["node"], row["peer"]} & hosts for row in rows)
        return followed(down, detection + convergence if all_hosts else detection)

    found = [
        Outage(
            _names(together[down, up]),
            tuple(dict.fromkeys(f"{row['node']}->{row['peer']}" for row in together[down, up])),
            down,
            up,
            moved_at_ends(together[down, up], down),
            followed(down, detection + convergence),
            followed(up, detection + convergence),
            {place: Loss() for place in PLACES},
        )
        for down, up in order
    ]
    ends = [{_end(row) for row in together[key]} for key in order]
    _add_losses(run, found, ends, routes, hosts)
    return found


def _time(setting: Setting, path: str, default: float) -> float:
    written = setting.get(path)
    found = in_ns(written) if isinstance(written, str) else None
    return default if found is None else float(found)


def _end(row: Mapping[str, Any]) -> _End:
    return str(row["node"]), int(row["port"])


def _names(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each link once: "S0-S1" if both directions failed."""
    pairs = dict.fromkeys((row["node"], row["peer"]) for row in rows)
    return tuple(
        f"{a}-{b}" if (b, a) in pairs else f"{a}->{b}"
        for a, b in pairs
        if (b, a) not in pairs or list(pairs).index((a, b)) < list(pairs).index((b, a))
    )


def _add_losses(
    run: Run,
    outages: Sequence[Outage],
    ends: Sequence[set[_End]],
    routes: set[float],
    hosts: set[str],
) -> None:
    """Adds what each outage lost; `ends` are its egresses, `routes` the times at which they change.

    What had no route counts for the last outage before those routes came into force.
    """
    whole = float(run.row["simulated_ns"])
    for row in run.table("losses").to_pylist():
        outage: Outage | None
        place, since = row["place"], row["since_ns"]
        if place not in PLACES or row["reason"] == "error":
            continue
        until = since
        if place == "switch":
            before = [it for it in outages if it.down_ns <= since]
            outage = max(before, key=lambda it: it.down_ns, default=None)
            until = min((at for at in routes if at > since), default=whole)
        else:
            outage = next(
                (it for it, own in zip(outages, ends, strict=True)
                 if it.down_ns == since and _end(row) in own), None
            )  # fmt: skip
            if place == "port" and outage is not None:
                to_host = row["peer"] in hosts
                moved = outage.all_moved_ns if to_host else outage.ends_moved_ns
                known = [it for it in (moved, outage.up_ns) if it is not None]
                until = min(known, default=whole)
        if outage is None:
            raise ResultError(
                f"{run.result.directory}: damaged: losses.parquet has a loss at {since:g} ns that "
                "no failure in link_changes.parquet explains; run the scenario again"
            )
        loss = outage.lost[place]
        loss.packets += row["packets"]
        loss.data_packets += row["data_packets"]
        if (since, until) not in loss.spans:
            loss.spans.append((since, until))


def spans(outages: Iterable[Outage], end_ns: float) -> np.ndarray:
    """From each failure until all was as before, merged: array (n, 2)."""
    every = [(it.down_ns, it.until_ns(end_ns)) for it in outages]
    return series.merged(np.array(sorted(every)).reshape(-1, 2))


def _paused(run: Run, outages: Sequence[Outage]) -> dict[str, Paused]:
    """By link for how long it was paused, priorities together."""
    whole = float(run.row["simulated_ns"])
    during = spans(outages, whole)
    found = {}
    for link, every in series.pauses_by_link(run).items():
        intervals = series.merged(every)
        held = series.time_within(intervals, during.ravel())
        inside = float(np.sum(np.diff(held.reshape(-1, 2), axis=1)))
        total = float(series.time_within(intervals, np.array([whole]))[0])
        if total > 0:
            found[link] = Paused(float(held[0]), inside, total - float(held[0]) - inside)
    return dict(sorted(found.items(), key=lambda it: (-it[1].during_ns, -it[1].after_ns, it[0])))
