//! The columns of the tables: name, unit and meaning, once. Their types are those of the values that
//! [`crate::tables`] puts into them.
//!
//! Every Parquet file has them as metadata of its fields, and `docs/tables.md` and the Python package's
//! list are made of them (`make docs`).

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub name: &'static str,
    /// Unit of the values; nothing for names and counts of no unit.
    pub unit: &'static str,
    pub text: &'static str,
}

/// `"name" "unit" "meaning";` for each column.
macro_rules! columns {
    ($(#[$doc:meta])* $TABLE:ident: $($name:literal $unit:literal $text:literal;)+) => {
        $(#[$doc])*
        pub(crate) const $TABLE: &[Column] = &[$(Column {
            name: $name,
            unit: $unit,
            text: $text,
        }),+];
    };
}

columns! {
    /// What every table opens with.
    RUN:
    "run" ""
        "number of the run in this result, from 0: schemes in the order of the file, within \
         each the points of the sweep";
    "scheme" "" "name of the scheme";
}

columns! {
    /// An egress port and a priority of it.
    PORT:
    "node" "" "node whose port this is";
    "port" "" "port number at the node, from 0, in the order of the topology's links";
    "peer" "" "node at the other end";
    "priority" "" "priority, 0 to 7";
}

columns! {
    /// One row for each run.
    RUNS:
    "seed" "" "root of every random stream";
    "simulated_ns" "ns" "simulated time; less than the duration if a deadlock ended the run";
    "packet_hops" "packets" "packets that went over one link, data and control";
    "events" "" "events that the engine executed";
    "data_packets" "packets" "data packets that hosts sent, retransmissions included";
    "delivered_packets" "packets" "data packets that reached their receiver, in order or not";
    "dropped_packets" "packets" "data packets dropped in switches";
    "marked_packets" "packets" "packets set to CE";
    "notifications" "packets" "CNPs and CNMs sent";
    "pause_frames" "frames" "XOFF frames sent, refreshes included";
    "flows_started" "flows" "flows started";
    "flows_completed" "flows" "flows whose last byte arrived";
    "deadlock_began_ns" "ns"
        "when the deadlock began that ended the run; null if there was none, or \
         `probes.deadlock` is not set";
}

columns! {
    /// One row for each flow.
    FLOWS:
    "flow_id" "" "order of start within the run, from 0";
    "traffic" "" "name of its `[[traffic]]` entry";
    "src" "" "sending host";
    "dst" "" "receiving host";
    "priority" "" "priority of its data packets; with PIAS, of the first";
    "size_bytes" "bytes" "payload to send; null if it never ends by itself";
    "start_ns" "ns" "start at the sender";
    "fct_ns" "ns"
        "flow completion time: from start to the arrival of the last byte; null if it did not \
         complete";
    "ideal_fct_ns" "ns"
        "FCT of the same flow alone in the fabric at line rate, with its extra delay and with \
         TCP's handshake; slow start does not count";
    "slowdown" "" "`fct_ns / ideal_fct_ns`";
    "delivered_bytes" "bytes" "payload delivered in order by the end";
    "retransmitted_packets" "packets" "data packets sent again";
    "transport" "" "what carried it: `roce` or `tcp`";
    "extra_delay_ns" "ns" "delay of its data packets at the receiving host";
    "timeouts" ""
        "times that its sender started over because nothing came back, SYNs sent again included";
    "gave_up" "" "1 if its sender ended it after too many timeouts in a row, else 0";
    "notifications" "packets" "CNPs and CNMs that reached its sender";
}

columns! {
    /// After [`PORT`]: one row for each (egress port, priority).
    PORTS:
    "rate_bps" "bit/s" "rate of its link";
    "tx_packets" "packets" "frames sent to `peer`; PFC frames are not among them";
    "tx_bytes" "bytes" "bytes sent, with preamble and gap";
    "marked_packets" "packets" "frames that this queue set to CE";
    "cnm_packets" "packets" "CNMs that this queue's congestion point sent";
    "dropped_packets" "packets"
        "frames dropped on their way into this queue; of a pipelined switch, also those \
         dropped at the ingress of this port";
    "dropped_bytes" "bytes" "their bytes";
    "headroom_dropped_packets" "packets"
        "frames of a lossless priority that came in by this port and found no headroom";
    "max_queue_bytes" "bytes" "largest backlog of this egress queue";
    "max_ingress_bytes" "bytes" "most bytes held at one time that came in by this port";
    "pause_frames" "frames" "XOFF frames that `node` sent to `peer`, refreshes included";
    "pause_events" "events" "times that `node`'s ingress went to XOFF";
    "paused_ns" "ns" "how long `node`'s egress was stopped by `peer`";
    "stalls" "times"
        "how often this queue was full and stopped the pipeline of its switch (`flow_control = \
         \"pfc-wstop\"`)";
    "stalled_ns" "ns" "for how long in all";
}

columns! {
    /// After [`PORT`]: one row for each PAUSE.
    PAUSES:
    "start_ns" "ns" "from when";
    "end_ns" "ns" "until when; the end of the run if it was still stopped";
}

columns! {
    /// Around [`PORT`]: samples of ports.
    PORT_SERIES:
    "time_ns" "ns" "sampling instant";
    "queue_bytes" "bytes" "backlog now; 0 for hosts, whose packets wait in their flows";
    "ingress_bytes" "bytes"
        "held now of what came in by this port: of a lossless priority, or in the input buffer \
         of a cioq switch; 0 for hosts";
    "tx_bytes" "bytes" "bytes sent since the start of the run, with preamble and gap";
    "pause_frames" "frames" "XOFF frames that `node` sent to `peer` since the start";
    "paused_ns" "ns" "time that `node`'s egress was stopped by `peer` since the start";
}

columns! {
    /// Samples of flows.
    FLOW_SERIES:
    "time_ns" "ns" "sampling instant";
    "flow_id" "" "as in `flows`";
    "traffic" "" "name of its `[[traffic]]` entry";
    "controller_rate_bps" "bit/s"
        "rate that congestion control allows now, or `rate_limit` if that is lower; null for TCP";
    "sent_bytes" "bytes"
        "put on the wire since the start of the flow, with headers, preamble and gap, \
         retransmissions included";
    "delivered_bytes" "bytes" "payload delivered in order since the start of the flow";
    "cwnd_bytes" "bytes" "congestion window now; null for a RoCE flow whose law sets none";
    "notifications" "packets" "CNPs and CNMs that have reached its sender";
}

columns! {
    /// Around [`PORT`]: packets one by one.
    PACKETS:
    "time_ns" "ns" "start of transmission";
    "arrival_ns" "ns" "when its last bit is at `peer`";
    "kind" ""
        "`data`, `ack`, `nak` of RoCE; `tcp-data`, `tcp-ack`, `syn`, `syn-ack`; `cnp`, `pcn- \
         decrease`, `pcn-increase`, `cnm`; `pfc`";
    "flow_id" "" "as in `flows`; 0 for PFC frames";
    "src" "" "host that it comes from";
    "dst" "" "host that it goes to";
    "frame_bytes" "bytes" "size without preamble and gap";
    "payload_bytes" "bytes" "bytes of its flow that it carries; 0 if it is not data";
    "seq" ""
        "number of the packet, with TCP of its first byte modulo 2^32; of an acknowledgement \
         the next one expected. An ACK after the end of a TCP flow acknowledges all of it, \
         whatever its number";
    "ect" "" "1 if it may be marked";
    "ce" "" "1 if it is marked, Congestion Experienced";
    "cwr" "" "1 if a TCP sender says that it has cut its window";
    "ece" "" "1 if a TCP receiver says that it has seen a mark";
    "source_port" "" "source port of UDP or TCP: entropy of ECMP; 0 for CNMs and PFC frames";
    "sojourn_ns" "ns"
        "how long it was in this egress queue; null at hosts, whose packets wait in their flows, \
         and for PFC frames, which do not wait";
    "queue_bytes" "bytes" "what it left behind in this egress queue; 0 at hosts";
    "rec_rate" ""
        "receive rate in a `pcn-decrease`, in the scheme's `rec_rate_unit`; null for others";
    "cnm_feedback" "" "quantised feedback of a `cnm`, 1 to 63; null for others";
    "cnm_offset_bytes" "bytes"
        "queue offset of a `cnm`, negative if the queue is too long; null for others";
    "cnm_delta_bytes" "bytes" "growth of the queue in a `cnm`; null for others";
    "pause_priorities" ""
        "priorities that a `pfc` frame is about, bit n for priority n; null for others";
    "pause_quanta" "512 bit times"
        "for how long a `pfc` frame stops them; 0 lets them go on; null for others";
}
