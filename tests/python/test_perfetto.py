"""Traces, decoded with Perfetto's published schema."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

import unpause
from conftest import MS, Builder
from test_explain import SHARED
from unpause.commands import perfetto
from unpause.data.result import ResultError


class Decoded:
    """A trace by the names of its tracks."""

    def __init__(self, builder: Builder) -> None:
        file = io.BytesIO()
        self.written = perfetto.write(builder.result(), file)
        self._decode(file.getvalue())

    @classmethod
    def of(cls, written: bytes) -> Decoded:
        found = cls.__new__(cls)
        found._decode(written)
        return found

    def _decode(self, written: bytes) -> None:
        trace = Trace.FromString(written)
        descriptors = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
        self.tracks = {track.uuid: track for track in descriptors}
        self.packets: list[TracePacket] = [p for p in trace.packet if p.HasField("track_event")]

    def path(self, uuid: int) -> tuple[str, ...]:
        track = self.tracks[uuid]
        above = self.path(track.parent_uuid) if track.parent_uuid else ()
        return (*above, track.name)

    def begun(self, *within: str) -> list[TracePacket]:
        """Beginnings of slices on tracks whose path ends so."""
        return [
            packet
            for packet in self.packets
            if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN
            and self.path(packet.track_event.track_uuid)[-len(within) :] == within
        ]

    def counted(self, *within: str) -> list[tuple[int, float]]:
        """Times and values of a counter."""
        return [
            (packet.timestamp, packet.track_event.double_counter_value)
            for packet in self.packets
            if packet.track_event.type == TrackEvent.TYPE_COUNTER
            and self.path(packet.track_event.track_uuid)[-len(within) :] == within
        ]


def test_every_pause_and_flow_is_a_slice_that_ends(builder: Builder) -> None:
    for scheme in ("PFC", "PCN"):
        run = builder.run(scheme)
        builder.pause(run, "S1->S0", 1.0, 1.4)
        builder.pause(run, "S1->S0", 2.0, 2.2)
        builder.flow(run, "F0", start_ns=0.5 * MS, fct_ns=2 * MS, size_bytes=1000, slowdown=1.5)
        builder.flow(run, "F1", start_ns=1 * MS)
    decoded = Decoded(builder)
    kinds = Counter(packet.track_event.type for packet in decoded.packets)
    assert kinds == {TrackEvent.TYPE_SLICE_BEGIN: 8, TrackEvent.TYPE_SLICE_END: 8}
    assert decoded.written == 16
    pauses = decoded.begun("PFC (seed 1)", "ports", "S0->S1", "PAUSE of priority 3")
    assert [packet.timestamp for packet in pauses] == [1_000_000, 2_000_000]
    assert {packet.track_event.name for packet in pauses} == {"stopped by S1"}
    flows = decoded.begun("PCN (seed 1)", "flows", "H0")
    assert [packet.track_event.name for packet in flows] == ["F0 H0->R0", "F1 H0->R0"]
    notes = {note.name: note for note in flows[0].track_event.debug_annotations}
    assert notes["size_bytes"].int_value == 1000
    assert notes["slowdown"].double_value == 1.5
    # A flow that did not complete lasts until the run ends.
    ends = [p.timestamp for p in decoded.packets if p.track_event.type == TrackEvent.TYPE_SLICE_END]
    assert max(ends) == 25 * MS
    assert "end" in {note.name for note in flows[1].track_event.debug_annotations}


def test_ranks_are_tracks_and_messages_are_arrows(builder: Builder) -> None:
    run = builder.run("PFC")
    own = {"run": run, "scheme": "PFC", "job": "gpt", "step": "sum"}
    builder.add("jobs", **own, ranks=2)
    for rank in (0, 1):
        builder.add("ranks", **own, rank=rank, host=f"H{rank}", start_ns=0.0, end_ns=900.0)
    # The first two are in flight together, the third after them.
    for start, end, to in ((100.0, 500.0, 1), (200.0, 600.0, 1), (500.0, 900.0, 1)):
        ends = {"from_rank": 0, "to_rank": to, "start_ns": start, "end_ns": end}
        builder.add("messages", **own, **ends, size_bytes=1000)
    builder.add("critical", **own, kind="compute", start_ns=0.0, end_ns=100.0)
    builder.add("critical", **own, kind="message", peer_rank=1, start_ns=100.0, end_ns=900.0)
    decoded = Decoded(builder)
    group = ("PFC (seed 1)", "job gpt")
    path = [(it.timestamp, it.track_event.name) for it in decoded.begun(*group, "critical path")]
    assert path == [(0, "compute"), (100, "message 0->1")]
    assert [it.track_event.name for it in decoded.begun(*group, "rank 1 (H1)")] == ["iteration 0"]
    sent = decoded.begun(*group, "rank 0 (H0)", "sends")
    assert [it.track_event.name for it in sent] == ["sum to 1"] * 3
    assert len({it.track_event.track_uuid for it in sent}) == 2
    arrived = {
        packet.track_event.terminating_flow_ids[0]: packet
        for packet in decoded.packets
        if packet.track_event.type == TrackEvent.TYPE_INSTANT
    }
    ends = [arrived[it.track_event.flow_ids[0]] for it in sent]
    assert [it.timestamp for it in ends] == [500, 600, 900]
    assert {decoded.path(it.track_event.track_uuid)[-1] for it in ends} == {"rank 1 (H1)"}


def test_arrows_lead_from_a_pause_to_those_sent_meanwhile(builder: Builder) -> None:
    run = builder.run("PFC")
    builder.pause(run, "S1->S0", 1.0, 1.4)
    builder.pause(run, "S0->H0", 1.1, 1.5)
    builder.pause(run, "S0->H1", 1.2, 1.3)
    # S0 has been released: nothing stops it now.
    builder.pause(run, "S0->H1", 1.45, 1.6)
    decoded = Decoded(builder)
    (cause,) = decoded.begun("S0->S1", "PAUSE of priority 3")
    (of_h0,) = decoded.begun("H0->S0", "PAUSE of priority 3")
    first, second = decoded.begun("H1->S0", "PAUSE of priority 3")
    starting = set(cause.track_event.flow_ids)
    assert len(starting) == 2
    ending = [list(p.track_event.terminating_flow_ids) for p in (of_h0, first, second)]
    assert {arrow for arrows in ending for arrow in arrows} == starting
    assert [len(arrows) for arrows in ending] == [1, 1, 0]


def test_arrows_are_those_of_the_causes() -> None:
    result = unpause.run(SHARED, progress=False)
    file = io.BytesIO()
    perfetto.write(result, file)
    decoded = Decoded.of(file.getvalue())
    [run] = result.runs_of("PFC")
    rows = run.table("causes").to_pylist()
    links = {row["cause_id"]: (row["peer"], row["node"]) for row in rows}
    sent = {row["cause_id"]: row["time_ns"] for row in rows}
    expected = Counter(
        (links[by], links[effect])
        for by, effect in {
            (row["paused_by"], row["cause_id"])
            for row in rows
            if row["paused_by"] is not None and row["seen_ns"] == row["time_ns"]
        }
    )
    assert expected[("S0", "S1"), ("H0", "S0")] > 10
    begun = decoded.begun("PAUSE of priority 3")
    ours = [it for it in begun if decoded.path(it.track_event.track_uuid)[0] == "PFC (seed 1)"]
    ends = {
        arrow: (decoded.path(it.track_event.track_uuid)[-2], it.timestamp)
        for it in ours
        for arrow in it.track_event.terminating_flow_ids
    }
    found: Counter[Any] = Counter()
    for it in ours:
        start = tuple(decoded.path(it.track_event.track_uuid)[-2].split("->"))
        for arrow in it.track_event.flow_ids:
            link, time = ends[arrow]
            assert it.timestamp < time
            found[start, tuple(link.split("->"))] += 1
    assert found == expected
    # A slice begins when the PAUSE arrives, a propagation and a frame or two after it was sent.
    of_h0 = sorted(sent[number] for number, link in links.items() if link == ("H0", "S0"))
    begins = [
        it.timestamp for it in ours if decoded.path(it.track_event.track_uuid)[-2] == "H0->S0"
    ]
    assert all(1_000 <= late - early < 3_000 for early, late in zip(of_h0, begins, strict=True))
    notes = {note.name: note.string_value for note in ours[0].track_event.debug_annotations}
    assert (notes["root"], notes["root_kind"]) == ("S1->R1", "incast")


def test_an_arrow_leads_from_what_held_the_bytes_not_from_what_came_last(builder: Builder) -> None:
    run = builder.run("PFC")
    # Each is sent 5 us before it arrives; S1's second is sent before its first has arrived.
    sent = [("S1", "S0", 1.0), ("S1", "S0", 1.004), ("S2", "S0", 1.05), ("S0", "H0", 1.06)]
    for number, (node, peer, time) in enumerate(sent):
        builder.add(
            "causes",
            run=run,
            scheme="PFC",
            cause_id=number,
            node=node,
            peer=peer,
            priority=3,
            time_ns=time * MS,
            seen_ns=time * MS,
            paused_by=1 if node == "S0" else None,
        )
    for link, start, end in (
        ("S1->S0", 1.005, 1.007),
        ("S1->S0", 1.009, 1.5),
        ("S2->S0", 1.055, 1.5),
        ("S0->H0", 1.065, 1.5),
    ):
        builder.pause(run, link, start, end)
    decoded = Decoded(builder)
    first, second = decoded.begun("S0->S1", "PAUSE of priority 3")
    (last,) = decoded.begun("S0->S2", "PAUSE of priority 3")
    (effect,) = decoded.begun("H0->S0", "PAUSE of priority 3")
    assert not first.track_event.flow_ids
    assert not last.track_event.flow_ids
    assert list(second.track_event.flow_ids) == list(effect.track_event.terminating_flow_ids) != []


def test_counters_are_steps(builder: Builder) -> None:
    run = builder.run("PFC")
    time = np.array([1.0, 2.0, 3.0, 4.0])
    builder.port_samples(run, "S0->S1", time, queue_bytes=np.array([0, 5, 5, 0]), tx_gbps=10)
    builder.flow(run, "F0", start_ns=0)
    builder.flow_rates(run, "F0", time, np.full(4, 10.0), np.array([40.0, 40.0, 10.0, 10.0]))
    decoded = Decoded(builder)
    queue = decoded.counted("S0->S1", "queue")
    assert queue == [(1_000_000, 0), (2_000_000, 5), (4_000_000, 0)]
    # The rate from a sample to the next; there is none after the last.
    assert decoded.counted("S0->S1", "sent") == [(1_000_000, pytest.approx(10)), (4_000_000, 0)]
    assert decoded.counted("F0 H0->R0: rate allowed") == [(1_000_000, 40), (3_000_000, 10)]
    units = {decoded.path(u)[-1]: t.counter for u, t in decoded.tracks.items()}
    assert units["queue"].unit == units["queue"].UNIT_SIZE_BYTES
    assert units["sent"].unit_name == "Gb/s"


def test_a_swept_run_is_named_by_its_values(builder: Builder) -> None:
    builder.run("PCN", seed=1, flows=2)
    builder.run("PCN", seed=1, flows=4)
    decoded = Decoded(builder)
    roots = [track.name for track in decoded.tracks.values() if not track.parent_uuid]
    assert roots == ["PCN (flows = 2, seed 1)", "PCN (flows = 4, seed 1)"]


def test_a_file_is_replaced_only_by_force_and_never_left_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    builder = Builder()
    builder.run("PFC")
    monkeypatch.setattr(perfetto, "load", lambda _: builder.result())
    assert perfetto.main([str(tmp_path)]) == 0
    file = tmp_path / "trace.pftrace"
    assert Trace.FromString(file.read_bytes()).packet
    before = file.read_bytes()
    assert perfetto.main([str(tmp_path)]) == 1
    assert "--force replaces it" in capsys.readouterr().err

    def broken(*_: object) -> int:
        raise ResultError("flows.parquet is damaged")

    monkeypatch.setattr(perfetto, "write", broken)
    assert perfetto.main([str(tmp_path), "--force"]) == 1
    assert capsys.readouterr().err == "error: flows.parquet is damaged\n"
    assert [path.name for path in tmp_path.iterdir()] == ["trace.pftrace"]
    assert file.read_bytes() == before
