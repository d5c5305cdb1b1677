"""Results as traces for Perfetto (https://ui.perfetto.dev), in its published protobuf format.

A group for each run; in it a group of ports, one of flows, and one for each job. A port has a slice
for each PAUSE that stopped it, by priority, and counters for what was sampled of it; a flow is a
slice from its start to its end, with counters of what was recorded. In a job each rank has a slice
for each iteration and lanes of the messages that it sent, with an arrow from each to where it
arrived; a lane of the job has the critical path of each iteration.

An arrow leads from a PAUSE to each that followed from it, as table `causes` says: S1 stops S0,
whose queue there fills with bytes of H0, and S0 stops H0. Of a result without causes it leads to
each PAUSE that the stopped node sent meanwhile: that says what came first, not whose bytes filled
the buffer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from unpause.data import series
from unpause.data.result import Result, Run, load
from unpause.errors import ResultError
from unpause.text import plural, value_text

#: All packets are of one writer.
_SEQUENCE = 1
_GBPS = 1e-9
#: How long a PAUSE may wait for a frame that its port is sending: 1,500 B at 10 Gb/s.
_FRAME_NS = 1_200.0


def write(result: Result, file: IO[bytes]) -> int:
    """Write the trace of all runs of `result`; answers the number of events in it.

    Counters are steps: a sample like the one before it is left out. Times are whole nanoseconds.
    """
    trace = _Trace(StreamingTraceProtoBuilder(file))
    for scheme in result.schemes:
        for run in result.runs_of(scheme):
            _write_run(trace, run, _name(result, run))
    return trace.events


def _name(result: Result, run: Run) -> str:
    swept = ", ".join(f"{axis} = {value_text(axis, run.row[axis])}" for axis in result.axes)
    seed = f"seed {run.row['seed']}"
    return f"{run.scheme} ({swept}, {seed})" if swept else f"{run.scheme} ({seed})"


@dataclass
class _Trace:
    """Writes packets, and numbers tracks and arrows."""

    builder: StreamingTraceProtoBuilder
    events: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def number(self) -> int:
        """One that nothing else has."""
        return next(self._numbers)

    def track(self, name: str, parent: int = 0, unit: str | None = None, order: int = 0) -> int:
        """A new track; with a unit it is one of a counter."""
        uuid = self.number()
        packet: TracePacket = self.builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        if uuid == 1:
            packet.first_packet_on_sequence = True
            packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        track = packet.track_descriptor
        track.uuid, track.name = uuid, name
        if parent:
            track.parent_uuid = parent
        if unit == "B":
            track.counter.unit = CounterDescriptor.UNIT_SIZE_BYTES
        elif unit is not None:
            track.counter.unit_name = unit
        else:
            track.child_ordering = TrackDescriptor.EXPLICIT
        track.sibling_order_rank = order
        self.builder.write_packet(packet)
        return uuid

    def event(self, track: int, time_ns: float) -> tuple[TracePacket, Any]:
        """A packet at `time_ns`, and the event in it that is to be filled in."""
        packet = self.builder.create_packet()
        packet.trusted_packet_sequence_id = _SEQUENCE
        packet.timestamp = round(time_ns)
        packet.track_event.track_uuid = track
        return packet, packet.track_event

    def slice(
        self,
        track: int,
        name: str,
        start_ns: float,
        end_ns: float,
        notes: Iterable[tuple[str, float | int | str | None]] = (),
        arrows: tuple[Iterable[int], Iterable[int]] = ((), ()),
    ) -> None:
        """Something that lasts; `arrows` are those that start and those that end with it."""
        packet, event = self.event(track, start_ns)
        event.type, event.name = TrackEvent.TYPE_SLICE_BEGIN, name
        event.flow_ids.extend(arrows[0])
        event.terminating_flow_ids.extend(arrows[1])
        for key, value in notes:
            if value is None:
                continue
            note = event.debug_annotations.add()
            note.name = key
            if isinstance(value, str):
                note.string_value = value
            elif isinstance(value, int):
                note.int_value = value
            else:
                note.double_value = value
        self._write(packet)
        packet, event = self.event(track, end_ns)
        event.type = TrackEvent.TYPE_SLICE_END
        self._write(packet)

    def instant(self, track: int, name: str, time_ns: float, arrow: int) -> None:
        """Something that happens at once, where an arrow ends."""
        packet, event = self.event(track, time_ns)
        event.type, event.name = TrackEvent.TYPE_INSTANT, name
        event.terminating_flow_ids.append(arrow)
        self._write(packet)

    def counter(self, track: int, time_ns: np.ndarray, values: np.ndarray) -> None:
        """A counter's steps, without unknown values."""
        known = ~np.isnan(values)
        time_ns, values = time_ns[known], values[known]
        changed = np.concatenate([[True], values[1:] != values[:-1]]) if len(values) else []
        for time, value in zip(time_ns[changed], values[changed], strict=True):
            packet, event = self.event(track, float(time))
            event.type = TrackEvent.TYPE_COUNTER
            event.double_counter_value = float(value)
            self._write(packet)

    def _write(self, packet: TracePacket) -> None:
        self.builder.write_packet(packet)
        self.events += 1


def _write_run(trace: _Trace, run: Run, name: str) -> None:
    root = trace.track(name, order=run.run)
    _write_ports(trace, run, trace.track("ports", root, order=0))
    _write_flows(trace, run, trace.track("flows", root, order=1))
    for at, job in enumerate(run.table("jobs").column("job").to_pylist()):
        _write_job(trace, run, job, trace.track(f"job {job}", root, order=2 + at))


def _write_job(trace: _Trace, run: Run, job: str, parent: int) -> None:
    def rows(table: str) -> list[dict[str, Any]]:
        whole = run.table(table)
        return whole.filter(pc.equal(whole.column("job"), job)).to_pylist()

    path = trace.track("critical path", parent)
    for it in rows("critical"):
        of = f" {it['rank']}->{it['peer_rank']}" if it["peer_rank"] is not None else ""
        notes = [(key, it[key]) for key in ("iteration", "of_iteration", "step", "rank", "host")]
        notes += [(key, it[key]) for key in ("ideal_ns", "excess_ns", "flow_id", "number")]
        trace.slice(path, f"{it['kind']}{of}", it["start_ns"], it["end_ns"], notes)
    ranks: dict[int, int] = {}
    for it in sorted(rows("ranks"), key=lambda it: (it["rank"], it["iteration"])):
        rank = it["rank"]
        if rank not in ranks:
            ranks[rank] = trace.track(f"rank {rank} ({it['host']})", parent, order=1 + rank)
        notes = [(key, it[key]) for key in ("compute_ns", "wait_ns")]
        name = f"iteration {it['iteration']}"
        trace.slice(ranks[rank], name, it["start_ns"], it["end_ns"], notes)
    lanes: dict[int, list[tuple[float, int]]] = {}
    for it in sorted(rows("messages"), key=lambda it: (it["start_ns"], it["flow_id"])):
        if it["from_rank"] in ranks and it["to_rank"] in ranks:
            own = lanes.setdefault(it["from_rank"], [])
            _write_message(trace, it, own, (ranks[it["from_rank"]], ranks[it["to_rank"]]))


def _write_message(
    trace: _Trace, it: dict[str, Any], lanes: list[tuple[float, int]], tracks: tuple[int, int]
) -> None:
    """A slice on the first lane of its sender that is free, and an arrow to its receiver.

    `lanes` are until when each is taken, and its track.
    """
    at = next((i for i, (until, _) in enumerate(lanes) if until <= it["start_ns"]), len(lanes))
    if at == len(lanes):
        lanes.append((0.0, trace.track("sends", tracks[0], order=at)))
    lanes[at] = (it["end_ns"], lanes[at][1])
    arrow = trace.number()
    notes = [(key, it[key]) for key in ("iteration", "round", "channel", "slice", "size_bytes")]
    notes += [(key, it[key]) for key in ("ideal_ns", "flow_id", "number")]
    name = f"{it['step']} to {it['to_rank']}"
    trace.slice(lanes[at][1], name, it["start_ns"], it["end_ns"], notes, ((arrow,), ()))
    trace.instant(tracks[1], f"{it['step']} from {it['from_rank']}", it["end_ns"], arrow)


def _write_ports(trace: _Trace, run: Run, parent: int) -> None:
    pauses = run.table("pauses")
    sampled = run.table("port_series")
    link = ["node", "peer", "port"]
    samples, stops = (series.groups(table, [*link, "priority"]) for table in (sampled, pauses))
    samples, stops = (sorted(it, key=lambda group: group[0]) for it in (samples, stops))
    names = _port_names([key[:3] for key, _ in (*samples, *stops)])
    of_port: dict[tuple[Any, ...], int] = {}

    def track(key: tuple[Any, ...]) -> int:
        if key not in of_port:
            of_port[key] = trace.track(names[key], parent, order=len(of_port))
        return of_port[key]

    priorities = {priority for (*_, priority), _ in samples}
    for (*key, priority), rows in samples:
        of = f" of priority {priority}" if len(priorities) > 1 else ""
        _write_samples(trace, sampled.take(pa.array(rows)), track(tuple(key)), of)
    told = _Told(run, pauses)
    arrows = _numbered(told.pairs if told.rows else _meanwhile(pauses), trace.number)
    for (*key, priority), rows in stops:
        lane = trace.track(f"PAUSE of priority {priority}", track(tuple(key)))
        start, end = (series.column(pauses, name)[rows] for name in ("start_ns", "end_ns"))
        for row, begin, until in zip(rows, start, end, strict=True):
            notes = told.notes(int(row))
            what = f"stopped by {key[1]}"
            trace.slice(lane, what, begin, until, notes, arrows.get(row, ((), ())))


def _port_names(ports: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], str]:
    """A name of node and peer, with the port number if links are parallel."""
    every = set(ports)
    links = Counter((node, peer) for node, peer, _ in every)
    return {
        (node, peer, port): f"{node}->{peer}" + f" port {port}" * (links[node, peer] > 1)
        for node, peer, port in every
    }


def _write_samples(trace: _Trace, samples: pa.Table, track: int, of: str) -> None:
    time = series.column(samples, "time_ns")
    for name, text in (("queue_bytes", "queue"), ("ingress_bytes", "held by ingress")):
        values = series.column(samples, name)
        if values.any():
            trace.counter(trace.track(text + of, track, "B"), time, values)
    _write_rate(trace, trace.track("sent" + of, track, "Gb/s"), samples, "tx_bytes")


def _write_rate(trace: _Trace, track: int, samples: pa.Table, counter: str) -> None:
    """The rate from each sample to the next, at the first of the two."""
    time, sent = series.column(samples, "time_ns"), series.column(samples, counter)
    if len(time) > 1:
        rate = np.append(8 * np.diff(sent) / np.diff(time), 0.0)
        trace.counter(track, time, rate)


def _numbered(
    pairs: Iterable[tuple[int, int]], number: Callable[[], int]
) -> dict[int, tuple[list[int], list[int]]]:
    """By row of `pauses` the arrows that start and that end with it."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for cause, effect in pairs:
        arrow = number()
        found.setdefault(cause, ([], []))[0].append(arrow)
        found.setdefault(effect, ([], []))[1].append(arrow)
    return found


class _Told:
    """What table `causes` says of rows of `pauses`.

    A PAUSE is a row of `causes` where it was sent, and one of `pauses` from when it arrived.

    Attributes:
        rows: By `cause_id` the row of `pauses`.
        pairs: Rows of `pauses`: a PAUSE, and one that followed from it.
    """

    def __init__(self, run: Run, pauses: pa.Table) -> None:
        names = ["cause_id", "time_ns", "seen_ns", "node", "port", "peer", "priority", "paused_by"]
        told = ["root_kind", "root_node", "root_peer", "root_share"]
        table = run.columns("causes", [*names, *told])
        ids = series.column(table, "cause_id")
        first = np.flatnonzero(np.diff(ids, prepend=-1.0) != 0)
        self._first = table.take(pa.array(first))
        self.rows = self._matched(pauses, ids[first])
        self._cause = {
            self.rows[number]: at
            for at, number in enumerate(ids[first].astype(int))
            if number in self.rows
        }
        by = series.column(table, "paused_by")
        seen = series.column(table, "seen_ns") == series.column(table, "time_ns")
        seen &= ~np.isnan(by)
        known = {(int(a), int(b)) for a, b in zip(by[seen], ids[seen], strict=True)}
        rows = ((self.rows.get(a), self.rows.get(b)) for a, b in sorted(known))
        self.pairs = [(a, b) for a, b in rows if a is not None and b is not None]

    def _matched(self, pauses: pa.Table, ids: np.ndarray) -> dict[int, int]:
        sent = series.column(self._first, "time_ns")
        start, end = (series.column(pauses, name) for name in ("obeyed_ns", "end_ns"))
        there = _by_link(pauses, "node", "peer")
        found = {}
        for link, of_causes in _by_link(self._first, "peer", "node").items():
            rows = there.get(link, np.empty(0, int))
            rows = rows[np.argsort(start[rows], kind="stable")]
            at = np.searchsorted(start[rows], sent[of_causes], side="left")
            there_yet = at < len(rows)
            # All take about as long; one that finds its port still stopped makes no new row.
            late = start[rows[at[there_yet]]] - sent[of_causes[there_yet]]
            longest = 2 * float(np.median(late)) + _FRAME_NS if len(late) else 0.0
            free = 0
            for cause, first in zip(of_causes, at, strict=True):
                place = max(free, first)
                if place < len(rows) and start[rows[place]] - sent[cause] <= longest:
                    found[int(ids[cause])] = int(rows[place])
                    free = place + 1
                elif place and end[rows[place - 1]] > sent[cause]:
                    found[int(ids[cause])] = int(rows[place - 1])
        return found

    def notes(self, row: int) -> list[tuple[str, float | str | None]]:
        """Where the PAUSE of a row began."""
        at = self._cause.get(row)
        if at is None:
            return []
        it = {name: self._first.column(name)[at].as_py() for name in self._first.column_names}
        root = it["root_node"]
        if root is not None and it["root_peer"] is not None:
            root = f"{root}->{it['root_peer']}"
        return [("root", root), ("root_kind", it["root_kind"]), ("root_share", it["root_share"])]


def _by_link(table: pa.Table, stopped: str, by: str) -> dict[tuple[Any, ...], np.ndarray]:
    """Rows by who is stopped by whom, over which of the links in parallel, in which priority.

    Both ends number their ports in the order of the links.
    """
    names = [stopped, by, "port", "priority"]
    every = {key: rows for key, rows in series.groups(table, names)}
    ports: dict[tuple[Any, Any], set[int]] = {}
    for node, peer, port, _ in every:
        ports.setdefault((node, peer), set()).add(port)
    order = {link: sorted(numbers) for link, numbers in ports.items()}
    return {
        (node, peer, order[node, peer].index(port), priority): rows
        for (node, peer, port, priority), rows in every.items()
    }


def _meanwhile(pauses: pa.Table) -> list[tuple[int, int]]:
    """Rows of `pauses`: one that stopped a node last and was still in force, and one it sent."""
    found = []
    start, end = series.column(pauses, "start_ns"), series.column(pauses, "end_ns")
    stopped = {key: rows for key, rows in series.groups(pauses, ["node", "priority"])}
    for (_, peer, priority), rows in series.groups(pauses, ["node", "peer", "priority"]):
        if (peer, priority) not in stopped:
            continue
        causes = stopped[peer, priority]
        causes = causes[np.argsort(start[causes], kind="stable")]
        before = np.searchsorted(start[causes], start[rows], side="right") - 1
        for row, at in zip(rows, before, strict=True):
            while at >= 0 and end[causes[at]] <= start[row]:
                at -= 1
            if at >= 0 and causes[at] != row:
                found.append((int(causes[at]), int(row)))
    return found


def _write_flows(trace: _Trace, run: Run, parent: int) -> None:
    flows, recorded = run.table("flows"), run.table("flow_series")
    over_time = dict(series.groups(recorded, ["flow_id"]))
    last = float(run.row["simulated_ns"])
    for flow in flows.to_pylist():
        name = f"{flow['traffic']} {flow['src']}->{flow['dst']}"
        # Perfetto shows tracks of one name and parent as one, with as many lanes as they need.
        lane = trace.track(flow["src"], parent)
        fct = flow["fct_ns"]
        end = last if fct is None else flow["start_ns"] + fct
        notes = [(key, flow[key]) for key in ("size_bytes", "delivered_bytes", "slowdown")]
        notes.append(("flow_id", flow["flow_id"]))
        if fct is None:
            notes.append(("end", "not completed"))
        trace.slice(lane, name, flow["start_ns"], max(end, flow["start_ns"]), notes)
        rows = over_time.get((flow["flow_id"],))
        if rows is None:
            continue
        samples = recorded.take(pa.array(rows))
        time = series.column(samples, "time_ns")
        for column, text, unit, scale in (
            ("controller_rate_bps", "rate allowed", "Gb/s", _GBPS),
            ("cwnd_bytes", "congestion window", "B", 1.0),
        ):
            values = series.column(samples, column)
            if not np.isnan(values).all():
                counter = trace.track(f"{name}: {text}", parent, unit)
                trace.counter(counter, time, values * scale)
        _write_rate(trace, trace.track(f"{name}: sent", parent, "Gb/s"), samples, "sent_bytes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause export --perfetto``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause export --perfetto",
        description="Write a result as a trace for Perfetto.",
    )
    parser.add_argument("directory", type=Path, help="of a result")
    parser.add_argument("--out", type=Path, help="where to [default: trace.pftrace in it]")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    options = parser.parse_args(arguments)
    file = options.out or options.directory / "trace.pftrace"
    if file.is_dir():
        name = file / "trace.pftrace"
        print(f"error: {file} is a directory\nhint: name a file: {name}", file=sys.stderr)
        return 1
    if os.path.lexists(file) and not options.force:
        print(f"error: {file} exists\nhint: --force replaces it", file=sys.stderr)
        return 1
    try:
        events = _write_whole(load(options.directory), file)
    except KeyboardInterrupt:
        return 130
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    size = file.stat().st_size / 1e6
    print(f"{file}: {plural(events, 'event')}, {size:.1f} MB; open it at https://ui.perfetto.dev")
    return 0


def _write_whole(result: Result, file: Path) -> int:
    """The file is there when it is complete, or not at all."""
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=f".{file.name}.", delete=False) as new:
        try:
            events = write(result, new)
            new.flush()
            os.chmod(new.name, 0o644)
            os.replace(new.name, file)
        except BaseException:
            os.unlink(new.name)
            raise
    return events


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
