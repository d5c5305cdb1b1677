"""Why an iteration of a job was late: its critical path, and who was behind its delays.

Of each job the longest iteration after the warm-up is looked at, and compared with the job alone,
or, where that was not run, with the median. Its critical path (table `critical`) says how much of
it was compute, how much messages would have taken alone, and how much others delayed them. Of the
message delayed most, `pauses` says which links on its path were paused while it was under way, and
`causes` where that began. If causes were recorded, table `delays` has the parts of each delay. Of
several shortest paths it is not recorded which one a connection took: then only what lies on all of
them is certain. Once routes have changed, no path is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unpause.data import reroutes, series
from unpause.data.fabric import Fabric, Port
from unpause.data.result import Run
from unpause.explanation import account, delays
from unpause.explanation.trees import Tree, every_stop
from unpause.text import percent, plural, time

#: An iteration is late if it took longer than the one it is compared with by this share.
LATE = 0.05
_MOST_STOPS = 2


@dataclass(frozen=True)
class Paused:
    """A link that was paused while a message was in flight.

    Attributes:
        link: The link, from the egress that was paused.
        paused_ns: For how long of that time.
        certain: Whether the message had to cross it.
        because: Where the PAUSE began, such as "incast at S0->H0"; empty if that is not known.
    """

    link: str
    paused_ns: float
    certain: bool
    because: str


@dataclass(frozen=True)
class Delayed:
    """The message of a critical path that took longest beyond what it takes alone.

    Attributes:
        paused: The links on its path that were paused meanwhile; None if its path is not known.
        timeouts: Timeouts of its connection meanwhile.
        down_link: If there were any, the links that were down meanwhile; None if none was.
        down_since_ns: Since when the first of them was down.
        why: The parts of its delay in words; empty if that was not recorded.
        behind: Sentences on the flows and places behind these parts.
    """

    rank: int
    peer_rank: int
    host: str
    peer_host: str
    step: str
    start_ns: float
    end_ns: float
    excess_ns: float
    paused: list[Paused] | None
    timeouts: int
    down_link: str | None
    down_since_ns: float | None
    why: str = ""
    behind: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Iteration:
    """The longest iteration of a job.

    Attributes:
        beside: What it is compared with: "alone" or "the median".
        beside_ns: How long that is.
        parts: Time of its critical path by kind: compute, launch, reduce, ack, ideal, excess.
        messages: How many there are on the path.
        delayed: The message delayed most; None if none was.
        why: The parts of the delays of all messages on the path, in words; empty if not recorded.
    """

    job: str
    iteration: int
    takes_ns: float
    beside: str
    beside_ns: float
    parts: dict[str, float]
    messages: int
    delayed: Delayed | None
    why: str = ""

    @property
    def late(self) -> float:
        """By how much it took longer, as a part of what it is compared with."""
        return self.takes_ns / self.beside_ns - 1


def of_run(run: Run) -> list[Iteration]:
    """The longest iteration of each job, in order; of jobs whose messages were recorded."""
    if not _there(run):
        return []
    found = []
    for job in run.table("jobs").to_pylist():
        beside = "alone" if job["alone_ns"] is not None else "the median"
        beside_ns = job["alone_ns"] if job["alone_ns"] is not None else job["p50_ns"]
        longest = _longest(run, job)
        if longest is None or not beside_ns:
            continue
        path = _path(run, job["job"], longest["iteration"])
        if path:
            takes = longest["end_ns"] - longest["start_ns"]
            messages = [it for it in path if it["kind"] == "message"]
            of_each = _delays(run, messages)
            found.append(
                Iteration(
                    job["job"],
                    longest["iteration"],
                    takes,
                    beside,
                    beside_ns,
                    _parts(path),
                    len(messages),
                    _delayed(run, messages, of_each),
                    delays.shares(pa.Table.from_pylist(list(of_each.values()))) if of_each else "",
                )
            )
    return found


def _there(run: Run) -> bool:
    """Whether the version that wrote the result recorded critical paths."""
    there = getattr(run.result.tables, "is_there", None)
    return there is None or there("critical")


def _longest(run: Run, job: Mapping[str, Any]) -> dict[str, Any] | None:
    table = run.table("iterations")
    table = table.filter(pc.equal(table.column("job"), job["job"]))
    rows = [it for it in table.to_pylist() if it["iteration"] >= job["warmup"]]
    return max(rows, key=lambda it: it["end_ns"] - it["start_ns"], default=None)


def _path(run: Run, job: str, iteration: int) -> list[dict[str, Any]]:
    table = run.table("critical")
    of_job = pc.equal(table.column("job"), job)
    return table.filter(pc.and_(of_job, pc.equal(table.column("iteration"), iteration))).to_pylist()


def _parts(path: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    parts = dict.fromkeys(("compute", "launch", "reduce", "ack", "ideal", "excess"), 0.0)
    for it in path:
        takes = it["end_ns"] - it["start_ns"]
        if it["kind"] == "message" and it["ideal_ns"] is not None:
            parts["ideal"] += it["ideal_ns"]
            parts["excess"] += it["excess_ns"]
        elif it["kind"] == "message":
            parts["excess"] += takes
        else:
            parts[it["kind"]] += takes
    return parts


def _key(message: Mapping[str, Any]) -> tuple[int, int]:
    return message["flow_id"], message["number"]


def _delays(
    run: Run, messages: Sequence[Mapping[str, Any]]
) -> dict[tuple[int, int], dict[str, Any]]:
    """The rows of `delays` of these messages, by connection and number, if recorded."""
    if not delays.are_there(run):
        return {}
    wanted = {_key(it) for it in messages}
    table = run.table("delays")
    flows = pa.array(sorted({flow for flow, _ in wanted}), table.schema.field("flow_id").type)
    table = table.filter(pc.is_in(table.column("flow_id"), flows))
    table = table.filter(pc.is_valid(table.column("message")))
    rows = {(row["flow_id"], row["message"]): row for row in table.to_pylist()}
    return {key: rows[key] for key in sorted(wanted & rows.keys())}


def _behind(run: Run, message: Mapping[str, Any], row: dict[str, Any] | None) -> list[str]:
    """Which flows and places are behind the delay of a message."""
    if row is None or reroutes.begun_by(run, message["end_ns"]):
        return []
    start = message["end_ns"] - message["ideal_ns"] - row["delay_ns"]
    flow = {
        "flow_id": message["flow_id"],
        "src": message["host"],
        "dst": message["peer_host"],
        "start_ns": start,
        "fct_ns": message["end_ns"] - start,
        "ideal_fct_ns": message["ideal_ns"],
        "delivered_bytes": message["size_bytes"],
    }
    return list(delays.behind(run, delays.Delay(flow, row)))


def _delayed(
    run: Run,
    messages: Sequence[Mapping[str, Any]],
    of_each: Mapping[tuple[int, int], dict[str, Any]],
) -> Delayed | None:
    worst = max(messages, key=lambda it: it["excess_ns"] or 0.0, default=None)
    if worst is None or not worst["excess_ns"]:
        return None
    row = of_each.get(_key(worst))
    return Delayed(
        worst["rank"],
        worst["peer_rank"],
        worst["host"],
        worst["peer_host"],
        worst["step"],
        worst["start_ns"],
        worst["end_ns"],
        worst["excess_ns"],
        _paused(run, worst),
        worst.get("timeouts") or 0,
        worst.get("down_link"),
        worst.get("down_since_ns"),
        delays.shares(row) if row else "",
        _behind(run, worst, row),
    )


def _paused(run: Run, message: Mapping[str, Any]) -> list[Paused] | None:
    """The links on the path of a message that were paused meanwhile, longest first."""
    fabric = Fabric.of(run)
    if not fabric.searchable or reroutes.begun_by(run, message["end_ns"]):
        return None
    flows = run.columns("flows", ["flow_id", "priority"])
    own = pc.equal(flows.column("flow_id"), message["flow_id"])
    priority = flows.filter(own).column("priority")[0].as_py()
    pauses = run.columns("pauses", ["node", "port", "peer", "priority", "start_ns", "end_ns"])
    pauses = pauses.filter(pc.equal(pauses.column("priority"), priority))
    span = message["start_ns"], message["end_ns"]
    start = np.maximum(series.column(pauses, "start_ns"), span[0])
    end = np.minimum(series.column(pauses, "end_ns"), span[1])
    held: dict[Port, float] = {}
    names = (pauses.column(name).to_pylist() for name in ("node", "port", "peer"))
    every = [Port(*it) for it in zip(*names, strict=True)]
    for at in np.flatnonzero(end > start):
        held[every[at]] = held.get(every[at], 0.0) + float(end[at] - start[at])
    ends = message["host"], message["peer_host"]
    found: dict[str, Paused] = {}
    trees = account.trees(run) if account.is_recorded(run) else []
    titles = account.titles(run, trees)
    for port, paused_ns in sorted(held.items(), key=lambda it: -it[1]):
        # Of parallel links the one that was paused longest.
        if str(port) not in found and fabric.may_cross(*ends, port):
            certain = fabric.must_cross(*ends, port)
            because = _because(port, priority, span, zip(trees, titles, strict=True))
            found[str(port)] = Paused(str(port), paused_ns, certain, because)
    return list(found.values())


def _because(
    port: Port, priority: int, span: tuple[float, float], trees: Iterable[tuple[Tree, str]]
) -> str:
    """Where the PAUSEs of a link began: the tree that stopped it for most of a time."""
    longest = 0.0
    found = ""
    for tree, title in trees:
        stops = every_stop(tree.stops)
        stopped = any((it.stopped, it.pauser) == (port.node, port.peer) for it in stops)
        if tree.priority != priority or not stopped:
            continue
        overlap = sum(max(0.0, min(b, span[1]) - max(a, span[0])) for a, b in tree.episodes)
        if overlap > longest:
            longest = overlap
            found = title if title[:2].isupper() else title[0].lower() + title[1:]
    return found


def as_json(run: Run) -> list[dict[str, Any]]:
    """All that is known of the longest iteration of each job."""
    return [{**asdict(it), "late": it.late, "sentence": sentence(it)} for it in of_run(run)]


def sentence(it: Iteration) -> str:
    """What made it late, or that it was not."""
    longest = f"iteration {it.iteration} of {it.job}, its longest, took {time(it.takes_ns)}"
    compared = "alone" if it.beside == "alone" else it.beside
    if it.late < LATE:
        return f"No iteration of {it.job} was late: {longest}, {_times(it)} {compared}."
    longer = f"{percent(100 * it.late)} longer than {compared}"
    if it.late >= 1:
        longer = f"{1 + it.late:.2g} times as long as {compared}"
    text = f"{longest[0].upper()}{longest[1:]}, {longer}"
    if made_of := _made_of(it):
        text += f": {made_of}"
    return f"{text}. {_of_delayed(it)}{_why(it)}".strip()


def _times(it: Iteration) -> str:
    return "as long as" if abs(it.late) < LATE / 10 else f"{it.late + 1:.3g} times as long as"


def _made_of(it: Iteration) -> str:
    names = {
        "compute": "compute",
        "launch": "launch",
        "reduce": "reducing",
        "ack": "waiting for ACKs",
        "ideal": "messages as fast as alone",
        "excess": "delay of messages",
    }
    parts = [f"{time(it.parts[kind])} {name}" for kind, name in names.items() if it.parts[kind] > 0]
    return f"{', '.join(parts)} on the critical path"


def _why(it: Iteration) -> str:
    """The parts of the delays, and who is behind them; empty if they were not recorded."""
    worst = it.delayed
    if worst is None or not worst.why:
        return ""
    whole = f" Delays of all {it.messages} messages: {it.why}." if it.messages > 1 else ""
    return " ".join([f" Its delay: {worst.why}.", *worst.behind]) + whole


def _of_delayed(it: Iteration) -> str:
    worst = it.delayed
    if worst is None:
        return ""
    text = (
        f"The most delayed of {plural(it.messages, 'message')} on that path is {worst.rank}->"
        f"{worst.peer_rank} of {worst.step} ({worst.host} -> {worst.peer_host}), by "
        f"{time(worst.excess_ns)}"
    )
    if worst.timeouts:
        failed = ""
        if worst.down_link and worst.down_since_ns is not None:
            failed = f" after {worst.down_link} had failed at {time(worst.down_since_ns)}"
        return f"{text}: {plural(worst.timeouts, 'timeout')} of its connection{failed}."
    if worst.paused is None:
        return f"{text}."
    if not worst.paused:
        return f"{text}; no link on its path was paused meanwhile."
    parts = []
    for paused in worst.paused[:_MOST_STOPS]:
        where = "on its path" if paused.certain else "on a path that it may have taken"
        began = f" ({paused.because})" if paused.because else ""
        parts.append(f"{paused.link}, {where}, was paused for {time(paused.paused_ns)}{began}")
    return f"{text}; meanwhile {' and '.join(parts)}."
