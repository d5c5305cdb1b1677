"""Results as traces for Perfetto (https://ui.perfetto.dev), in its published protobuf format.

A group for each run; in it a group of ports and one of flows. A port has a slice for each PAUSE
that stopped it, by priority, and counters for what was sampled of it; a flow is a slice from its
start to its end, with counters of what was recorded.

An arrow leads from a PAUSE to each that the stopped node sent meanwhile: S1 stops S0, S0 fills up
and stops H0. It says what came first, not whose bytes filled the buffer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    CounterDescriptor,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

from unpause import series
from unpause.errors import ResultError
from unpause.result import Result, Run, load

#: All packets are of one writer.
_SEQUENCE = 1
_GBPS = 1e-9


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
    swept = ", ".join(f"{axis} = {run.row[axis]:g}" for axis in result.axes)
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

    def counter(self, track: int, time_ns: np.ndarray, values: np.ndarray) -> None:
        """A counter's steps; what is unknown is left out."""
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


def _write_ports(trace: _Trace, run: Run, parent: int) -> None:
    pauses = run.table("pauses")
    sampled = run.table("port_series")
    of_port: dict[tuple[str, str], int] = {}

    def track(node: str, peer: str) -> int:
        if (node, peer) not in of_port:
            of_port[node, peer] = trace.track(f"{node}->{peer}", parent, order=len(of_port))
        return of_port[node, peer]

    groups = sorted(series.groups(sampled, ["node", "peer", "priority"]), key=lambda it: it[0])
    priorities = {priority for (_, _, priority), _ in groups}
    for (node, peer, priority), rows in groups:
        of = f" of priority {priority}" if len(priorities) > 1 else ""
        _write_samples(trace, sampled.take(pa.array(rows)), track(node, peer), of)
    arrows = _arrows(pauses, trace.number)
    for (node, peer, priority), rows in series.groups(pauses, ["node", "peer", "priority"]):
        lane = trace.track(f"PAUSE of priority {priority}", track(node, peer))
        start, end = (series.column(pauses, name)[rows] for name in ("start_ns", "end_ns"))
        for row, begin, until in zip(rows, start, end, strict=True):
            trace.slice(lane, f"stopped by {peer}", begin, until, arrows=arrows.get(row, ((), ())))


def _write_samples(trace: _Trace, samples: pa.Table, track: int, of: str) -> None:
    time = series.column(samples, "time_ns")
    for name, text in (("queue_bytes", "queue"), ("ingress_bytes", "held of ingress")):
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


def _arrows(pauses: pa.Table, number: Callable[[], int]) -> dict[int, tuple[list[int], list[int]]]:
    """By row of `pauses` the arrows that start and that end with it.

    A PAUSE follows from the one that stopped its sender last, if that was still in force.
    """
    found: dict[int, tuple[list[int], list[int]]] = {}
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
                arrow = number()
                found.setdefault(int(causes[at]), ([], []))[0].append(arrow)
                found.setdefault(int(row), ([], []))[1].append(arrow)
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
    """Entry point of ``python -m unpause.perfetto``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m unpause.perfetto", description="Write a result as a trace for Perfetto."
    )
    parser.add_argument("directory", type=Path, help="of a result")
    parser.add_argument("--out", type=Path, help="where to [default: trace.pftrace in it]")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    options = parser.parse_args(arguments)
    file = options.out or options.directory / "trace.pftrace"
    if file.exists() and not options.force:
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
    print(f"{file}: {events} events, {size:.1f} MB; open it at https://ui.perfetto.dev")
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
    sys.exit(main())
