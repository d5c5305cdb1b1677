"""The tables of a result: columns, types, units and meaning.

``run`` and ``scheme`` open every table. Times are nanoseconds since the start of the run, as
float64: the simulator counts whole picoseconds, so three decimals are exact. Sizes are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        name: Name in the Parquet file, with the unit as suffix.
        type: Arrow type.
        unit: Unit of the values, empty for names and counts.
        text: What it holds.
        nullable: Whether a value may be missing.
    """

    name: str
    type: pa.DataType
    unit: str
    text: str
    nullable: bool = False


_U8, _U16, _U32, _U64 = pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()
_F64, _STR = pa.float64(), pa.string()

_RUN = (
    Column("run", _U32, "", "number of the run in this result, from 0"),
    Column("scheme", _STR, "", "name of the scheme"),
)
_PORT = (
    Column("node", _STR, "", "node whose egress port this is"),
    Column("port", _U16, "", "port number at the node, from 0"),
    Column("peer", _STR, "", "node at the other end of the link"),
    Column("priority", _U8, "", "priority, 0 to 7"),
)

TABLES: dict[str, tuple[Column, ...]] = {
    "runs": (
        *_RUN,
        Column("seed", _U64, "", "root of every random stream"),
        # The swept values (float64, one column for each [[sweep]]) stand here.
        Column("simulated_ns", _F64, "ns", "simulated time"),
        Column("packet_hops", _U64, "packets", "packets that went over one link, control included"),
        Column("events", _U64, "", "events executed"),
        Column("data_packets", _U64, "packets", "data packets sent, retransmissions included"),
        Column("delivered_packets", _U64, "packets", "data packets that reached their receiver"),
        Column("dropped_packets", _U64, "packets", "data packets dropped in switches"),
        Column("marked_packets", _U64, "packets", "packets set to CE"),
        Column("notifications", _U64, "packets", "CNPs and CNMs sent"),
        Column("pause_frames", _U64, "frames", "XOFF frames sent, refreshes included"),
        Column("flows_started", _U64, "flows", "flows started"),
        Column("flows_completed", _U64, "flows", "flows whose last byte arrived"),
        Column(
            "deadlock_began_ns",
            _F64,
            "ns",
            "when the deadlock began that ended the run; null: none, or not looked for",
            True,
        ),
    ),
    "flows": (
        *_RUN,
        Column("flow_id", _U32, "", "order of start within the run, from 0"),
        Column("traffic", _STR, "", "name of the [[traffic]] entry"),
        Column("src", _STR, "", "sending host"),
        Column("dst", _STR, "", "receiving host"),
        Column("priority", _U8, "", "priority of the data packets"),
        Column("size_bytes", _U64, "bytes", "payload to send; null: never ends by itself", True),
        Column("start_ns", _F64, "ns", "start at the sender"),
        Column("fct_ns", _F64, "ns", "from start to arrival of the last byte; null: open", True),
        Column("ideal_fct_ns", _F64, "ns", "the same flow alone in the fabric at line rate", True),
        Column("slowdown", _F64, "", "fct_ns / ideal_fct_ns", True),
        Column("delivered_bytes", _U64, "bytes", "payload delivered in order by the end"),
        Column("retransmitted_packets", _U64, "packets", "data packets sent again"),
        Column("transport", _STR, "", "what carried it: roce or tcp"),
        Column("extra_delay_ns", _F64, "ns", "delay of its data packets at the receiving host"),
        Column("timeouts", _U64, "", "times that the sender started over; repeated SYNs count"),
        Column("gave_up", _U8, "", "1: the sender ended it after too many timeouts in a row"),
        Column("notifications", _U64, "packets", "CNPs and CNMs that reached its sender"),
    ),
    "ports": (
        *_RUN,
        *_PORT,
        Column("tx_packets", _U64, "packets", "frames sent"),
        Column("tx_bytes", _U64, "bytes", "bytes sent, with framing"),
        Column("marked_packets", _U64, "packets", "frames that this queue set to CE"),
        Column("cnm_packets", _U64, "packets", "CNMs sent by this queue's congestion point"),
        Column("dropped_packets", _U64, "packets", "frames dropped on their way into this queue"),
        Column("dropped_bytes", _U64, "bytes", "bytes dropped on their way into this queue"),
        Column(
            "headroom_dropped_packets",
            _U64,
            "packets",
            "of a lossless priority, headroom exceeded; counted at the ingress port",
        ),
        Column("max_queue_bytes", _U64, "bytes", "largest backlog of the egress queue"),
        Column("max_ingress_bytes", _U64, "bytes", "most bytes held for this ingress and priority"),
        Column("pause_frames", _U64, "frames", "XOFF frames that node sent to peer"),
        Column("pause_events", _U64, "events", "times that node's ingress went to XOFF"),
        Column("paused_ns", _F64, "ns", "how long node's egress was stopped by peer"),
        Column("stalls", _U64, "times", "the queue was full and stopped its switch's pipeline"),
        Column("stalled_ns", _F64, "ns", "for how long in all"),
    ),
    "pauses": (
        *_RUN,
        *_PORT,
        Column("start_ns", _F64, "ns", "node's egress stopped by peer, from"),
        Column("end_ns", _F64, "ns", "until; the end of the run if it was still stopped"),
    ),
    "port_series": (
        *_RUN,
        Column("time_ns", _F64, "ns", "sampling instant"),
        *_PORT,
        Column("queue_bytes", _U64, "bytes", "backlog of the egress queue now"),
        Column("ingress_bytes", _U64, "bytes", "held now for this ingress and priority"),
        Column("tx_bytes", _U64, "bytes", "bytes sent since the start of the run"),
        Column("pause_frames", _U64, "frames", "XOFF frames from node to peer since the start"),
        Column("paused_ns", _F64, "ns", "time stopped by peer since the start"),
    ),
    "flow_series": (
        *_RUN,
        Column("time_ns", _F64, "ns", "sampling instant"),
        Column("flow_id", _U32, "", "flow, as in table flows"),
        Column("traffic", _STR, "", "name of the [[traffic]] entry"),
        Column(
            "controller_rate_bps",
            _U64,
            "bit/s",
            "rate that the reaction point allows; null: TCP",
            True,
        ),
        Column("sent_bytes", _U64, "bytes", "put on the wire since the flow's start, with headers"),
        Column("delivered_bytes", _U64, "bytes", "payload delivered in order since the start"),
        Column("cwnd_bytes", _U64, "bytes", "TCP's congestion window; null: RoCE", True),
        Column("notifications", _U64, "packets", "CNPs and CNMs that have reached its sender"),
    ),
    "packets": (
        *_RUN,
        Column("time_ns", _F64, "ns", "start of transmission"),
        Column("arrival_ns", _F64, "ns", "when the last bit is at peer"),
        *_PORT,
        Column("kind", _STR, "", "data, ack, cnp, pfc, tcp-data, tcp-ack, syn, …"),
        Column("flow_id", _U32, "", "flow, as in table flows; 0 for PFC frames"),
        Column("src", _STR, "", "host that it comes from"),
        Column("dst", _STR, "", "host that it goes to"),
        Column("frame_bytes", _U16, "bytes", "size without framing"),
        Column("seq", _U32, "", "number of the packet or first byte, or the next expected"),
        Column("ect", _U8, "", "1: may be marked"),
        Column("ce", _U8, "", "1: marked, Congestion Experienced"),
        Column("cwr", _U8, "", "1: TCP's sender has cut its window"),
        Column("ece", _U8, "", "1: TCP's receiver has seen a mark"),
    ),
}

#: What a sweep's table has after the columns of `runs`: statistics of each run.
STATISTICS: tuple[Column, ...] = (
    Column("flows_sized", _U64, "flows", "flows started that have a size, so that they can end"),
    Column("fct_mean_ns", _F64, "ns", "mean FCT of the flows completed", True),
    Column("fct_p50_ns", _F64, "ns", "median FCT", True),
    Column("fct_p95_ns", _F64, "ns", "95th percentile of the FCT", True),
    Column("fct_p99_ns", _F64, "ns", "99th percentile of the FCT", True),
    Column("fct_max_ns", _F64, "ns", "largest FCT", True),
    Column("slowdown_mean", _F64, "", "mean slowdown of the flows completed", True),
    Column("slowdown_p50", _F64, "", "median slowdown", True),
    Column("slowdown_p95", _F64, "", "95th percentile of the slowdown", True),
    Column("slowdown_p99", _F64, "", "99th percentile of the slowdown", True),
    Column("slowdown_max", _F64, "", "largest slowdown", True),
    Column("delivered_bytes", _U64, "bytes", "payload delivered in order, all flows"),
    Column("retransmitted_packets", _U64, "packets", "data packets sent again, all flows"),
    Column("pause_events", _U64, "events", "times that any ingress went to XOFF"),
    Column("paused_ns", _F64, "ns", "time that egresses were stopped, all ports and priorities"),
    Column("max_queue_bytes", _U64, "bytes", "largest backlog of any egress queue"),
)


def arrow_schema(table: str) -> pa.Schema:
    """Arrow schema of `table` (without swept columns)."""
    return pa.schema([pa.field(c.name, c.type, c.nullable) for c in TABLES[table]])


def sweep_columns(runs: pa.Table) -> list[str]:
    """Names of the columns of table `runs` that hold swept values."""
    known = {c.name for c in TABLES["runs"]}
    return [name for name in runs.column_names if name not in known]
