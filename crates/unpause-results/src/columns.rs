//! The columns of the tables: name, unit and meaning, once. Their types are those of the values that
//! [`crate::tables`] puts into them.
//!
//! Every Parquet file has them as metadata of its fields, and `docs/tables.md` and the Python package's
//! list are made of them (`make docs`).

mod holds;

pub use holds::{Holds, ORDERED, key_of};

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Unit of the values; nothing for names and counts of no unit.
    pub unit: &'static str,
    /// Its meaning.
    pub text: &'static str,
}

/// `"name" "unit" "meaning";` for each column.
macro_rules! columns {
    ($(#[$doc:meta])* $TABLE:ident: $($name:literal $unit:literal $text:literal;)+) => {
        $(#[$doc])*
        pub const $TABLE: &[Column] = &[$(Column {
            name: $name,
            unit: $unit,
            text: $text,
        }),+];
    };
}

columns! {
    /// The first columns of every table.
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
    "seed" "" "seed of all random streams";
    "simulated_ns" "ns" "simulated time; less than the duration if a deadlock ended the run";
    "counted_from_ns" "ns" "`warmup` of the scenario: flows that start before it, and iterations of jobs, are in no statistic";
    "packet_hops" "packets" "links crossed by all packets, data and control";
    "events" "" "events that the engine executed";
    "data_packets" "packets" "data packets sent by hosts, including retransmissions";
    "delivered_packets" "packets" "data packets that reached their receiver, in order or not";
    "dropped_packets" "packets" "data packets dropped in switches";
    "trimmed_packets" "packets" "data packets that switches have trimmed to their headers, not counted as dropped";
    "marked_packets" "packets" "packets set to CE";
    "notifications" "packets" "CNPs and CNMs sent";
    "pause_frames" "frames" "XOFF frames sent, including refreshes";
    "flows_started" "flows" "flows started after `counted_from_ns`";
    "flows_completed" "flows" "flows started after `counted_from_ns` whose last byte arrived";
    "deadlock_began_ns" "ns"
        "when the deadlock that ended the run began; null without a deadlock or without `probes.deadlock`";
}

columns! {
    /// One row for each flow.
    FLOWS:
    "flow_id" "" "number within the run, from 0: by start, then flows with `after` by entry";
    "traffic" "" "name of its `[[traffic]]` entry";
    "src" "" "sending host";
    "dst" "" "receiving host";
    "priority" "" "priority of its data packets; with PIAS, of the first";
    "size_bytes" "bytes" "payload to send; null if the flow has no size";
    "start_ns" "ns" "start at the sender";
    "fct_ns" "ns"
        "flow completion time: from start to the arrival of the last byte; null if it did not \
         complete";
    "ideal_fct_ns" "ns"
        "FCT of the same flow alone in the fabric at line rate, including its extra delay and TCP's handshake, but not slow start";
    "slowdown" "" "`fct_ns / ideal_fct_ns`";
    "delivered_bytes" "bytes" "payload delivered in order by the end";
    "retransmitted_packets" "packets" "data packets sent again";
    "transport" "" "transport: `roce`, `tcp` or `udp`";
    "extra_delay_ns" "ns" "delay of the flow's data packets at the receiving host";
    "timeouts" ""
        "timeouts of the sender, including those of SYNs";
    "gave_up" "" "1 if the sender gave up after too many consecutive timeouts, else 0";
    "notifications" "packets" "CNPs and CNMs that reached the sender";
}

columns! {
    /// One row for each entry of traffic with a `load`.
    LOADS:
    "traffic" "" "name of its `[[traffic]]` entry";
    "asked_load" "" "its `load` times `load_scale`";
    "offered_load" ""
        "load of the flows that started: `offered_bytes` over the time from `from_ns` to `until_ns` and the payload that the links carry, as `load_of` and `load_basis` say; null if that time is empty";
    "offered_flows" "flows" "flows that started in that time";
    "offered_bytes" "bytes" "their payload";
    "from_ns" "ns" "start of the arrivals, or `counted_from_ns` of `runs`";
    "until_ns" "ns" "end of the arrivals, at the latest that of the run";
}

columns! {
    /// After [`PORT`]: one row for each (egress port, priority).
    PORTS:
    "rate_bps" "bit/s" "rate of its link";
    "tx_packets" "packets" "frames sent to `peer`, without PFC frames";
    "tx_bytes" "bytes" "bytes sent, including preamble and gap";
    "marked_packets" "packets" "frames that this queue set to CE";
    "cnm_packets" "packets" "CNMs that this queue's congestion point sent";
    "dropped_packets" "packets"
        "frames dropped at this queue; in a pipelined switch, also those dropped at the ingress of this port; at a slow receiver, frames of lossy priorities that found its buffer full";
    "dropped_bytes" "bytes" "their bytes";
    "trimmed_packets" "packets" "frames trimmed to their headers at this queue, which is the last hop if `peer` is a host";
    "replayed_packets" "packets" "frames that the link sent again (`retry = \"llr\"`), not counted in `tx_packets` and `tx_bytes`";
    "headroom_dropped_packets" "packets"
        "frames of a lossless priority that arrived on this port and found no headroom";
    "max_queue_bytes" "bytes" "largest backlog of this egress queue";
    "max_ingress_bytes" "bytes" "largest number of bytes held that arrived on this port";
    "pause_frames" "frames" "XOFF frames that `node` sent to `peer`, including refreshes";
    "pause_events" "events" "times that `node`'s ingress went to XOFF";
    "paused_ns" "ns"
        "how long `peer` paused `node`'s egress, without the rest of frames in transmission when PAUSE took effect: this time and that of sending `tx_bytes` add up to at most the run";
    "credit_wait_ns" "ns"
        "how long `node`'s egress had packets and a free port, but no credits of `peer` (`flow_control = \"cbfc\"`); nobody paused it then";
    "stalls" "times"
        "how often this queue was full and stopped the pipeline of its switch (`flow_control = \
         \"pfc-wstop\"`)";
    "stalled_ns" "ns" "total duration of these stops";
}

columns! {
    /// After [`PORT`]: one row for each PAUSE.
    PAUSES:
    "obeyed_ns" "ns" "when PAUSE took effect at `node`'s egress";
    "start_ns" "ns"
        "start of the time in which PAUSE held the egress: `obeyed_ns` or, if a frame of any priority was in transmission, the end of that frame; `end_ns` if PAUSE ended before that";
    "end_ns" "ns" "end of the PAUSE; the end of the run if it was still in force";
}

columns! {
    /// Around [`PORT`]: samples of ports.
    PORT_SERIES:
    "time_ns" "ns" "sampling instant";
    "queue_bytes" "bytes"
        "backlog; at hosts, TCP segments in the FIFO (`tcp.qdisc = \"pfifo\"`), not data that wait in their flow";
    "queue_packets" "packets" "the same in packets";
    "ingress_bytes" "bytes"
        "bytes held that arrived on this port: of a lossless priority, or in the input buffer of a cioq switch; 0 for hosts";
    "tx_bytes" "bytes" "bytes sent since the start of the run, including preamble and gap";
    "dropped_packets" "packets" "frames dropped since the start, as in table `ports`";
    "pause_frames" "frames" "XOFF frames that `node` sent to `peer` since the start";
    "paused_ns" "ns" "time that `peer` has paused `node`'s egress since the start, as in `ports`";
}

columns! {
    /// Samples of flows.
    FLOW_SERIES:
    "time_ns" "ns" "sampling instant";
    "flow_id" "" "as in `flows`";
    "traffic" "" "name of its `[[traffic]]` entry";
    "controller_rate_bps" "bit/s"
        "rate that congestion control allows, or `rate_limit` if that is lower; null for TCP";
    "sent_bytes" "bytes"
        "bytes sent since the start of the flow, including headers, preamble, gap and retransmissions";
    "delivered_bytes" "bytes" "payload delivered in order since the start of the flow";
    "cwnd_bytes" "bytes" "congestion window; null for RoCE flows whose congestion control sets none";
    "notifications" "packets" "CNPs and CNMs that have reached its sender";
}

columns! {
    /// Around [`PORT`]: packets one by one.
    PACKETS:
    "time_ns" "ns" "start of transmission";
    "arrival_ns" "ns" "when its last bit arrives at `peer` or, with cut-through, when the switch accepts it";
    "kind" ""
        "`data`, `ack`, `nak` of RoCE; `trimmed`, `trim-nak`, `pull`, `request`; `tcp-data`, `tcp-ack`, `syn`, `syn-ack`, `fin`; `udp`; `cnp`, \
         `pcn-decrease`, `pcn-increase`, `cnm`; `pfc`";
    "flow_id" "" "as in `flows`; 0 for PFC frames";
    "src" "" "source host";
    "dst" "" "destination host";
    "frame_bytes" "bytes" "size without preamble and gap";
    "payload_bytes" "bytes" "payload; 0 if it is not data";
    "seq" ""
        "number of the packet; with TCP, of its first byte modulo 2^32; in an acknowledgement, the next one expected. An ACK after the end of a TCP flow acknowledges all of it, whatever its number";
    "ect" "" "1 if it is ECN-capable";
    "ce" "" "1 if it is marked (Congestion Experienced)";
    "cwr" "" "1 if a TCP sender signals that it has cut its window";
    "ece" "" "1 if a receiver echoes a mark: a TCP receiver, or one whose ACKs replace CNPs";
    "source_port" "" "source port of UDP or TCP: entropy of ECMP; 0 for CNMs and PFC frames";
    "sojourn_ns" "ns"
        "time in this egress queue; null at hosts, whose packets wait in their flows, and for PFC frames, which do not wait";
    "queue_bytes" "bytes" "length of this egress queue behind it; 0 at hosts";
    "rec_rate" ""
        "receive rate in a `pcn-decrease`, in the scheme's `rec_rate_unit`; null for others";
    "cnm_feedback" "" "quantised feedback of a `cnm`, 1 to 63; null for others";
    "cnm_offset_bytes" "bytes"
        "queue offset of a `cnm`, negative if the queue is too long; null for others";
    "cnm_delta_bytes" "bytes" "growth of the queue in a `cnm`; null for others";
    "pause_priorities" ""
        "priorities that a `pfc` frame addresses, bit n for priority n; null for others";
    "pause_quanta" "512 bit times"
        "pause time of a `pfc` frame, 0 for XON; null for others";
}

columns! {
    /// After [`PORT`], here the ingress: why it went to XOFF, a row for each recorded flow in each egress queue
    /// that held bytes of it.
    CAUSES:
    "cause_id" "" "number of the PAUSE within the run, by time, from 0";
    "time_ns" "ns" "when the ingress went to XOFF";
    "until_ns" "ns"
        "when it went to XON again, or when its PAUSE expired at `peer` if that was earlier and no other followed until then; the end of the run if neither happened";
    "paused_ns" "ns"
        "how long it held `peer`, as `ports` counts it; of PAUSEs that follow each other without a break the last one has all of it";
    "expired" ""
        "1 if PAUSE expired at `peer`, which then resumed although the ingress was still at XOFF, else 0";
    "held_bytes" "bytes" "held at the ingress at `time_ns`";
    "dropped_packets" "packets"
        "frames that found no headroom while it was at XOFF; if `expired` is 1, headroom may have sufficed for the frames in flight, and these arrived after PAUSE had expired";
    "root_kind" ""
        "kind of the root from which most of it came: `incast`, `slow-link`, `busy`, `pool`, `switch`, `nic` or `cycle`; null if unknown";
    "root_node" "" "switch of the root, or host whose NIC sent PAUSE; null as before";
    "root_port" ""
        "its egress port, or of a host with several NICs the one that sent PAUSE; null as before, for other hosts, and for a switch as a whole";
    "root_peer" "" "node at the other end; null as before";
    "root_share" "" "share of the bytes that leads there, up to 1; null as before";
    "seen_ns" "ns"
        "time to which the rest of this row refers: `time_ns`, or the end of the run for an ingress that was at XOFF then";
    "egress_port" ""
        "egress of `node` that held the bytes, or for `pool` the memory; null if the switch itself did";
    "egress_peer" "" "node at its other end; null as before";
    "egress_bytes" "bytes"
        "held bytes of the ingress that waited for this egress; 0 for the one that took the memory (`pool`)";
    "egress_queue_bytes" "bytes" "all bytes in its queue";
    "egress_inputs" "ports" "ports on which these bytes had arrived; in a pipeline or a crossbar also those at which packets wait for it";
    "egress_input_bps" "bit/s" "sum of the rates of their links";
    "egress_senders" "hosts" "hosts that had sent them";
    "egress_is_paused" "" "1 if the egress was itself paused at that moment, else 0";
    "egress_paused_ns" "ns" "how long it had been paused since its oldest packet arrived";
    "paused_by" "" "`cause_id` of the PAUSE that last paused it; null if none did, or a host";
    "flow_id" "" "as in `flows`; null for the flows that are not listed individually";
    "flows" "flows" "number of these flows";
    "flow_bytes" "bytes" "held bytes of the ingress of these flows, in this egress queue";
    "flow_queue_bytes" "bytes" "bytes of these flows in this egress queue, from any port";
}

columns! {
    /// After [`PORT`]: packets lost to links that were down, to errors and to routes that led nowhere.
    LOSSES:
    "reason" "" "`link-down`, `error` or `no-route`";
    "place" ""
        "where the packets were: `wire`, on the link when it failed or hit by an error; `queue`, in the egress queue before it; `port`, on \
         their way into that queue while routes still led there; `switch`, in a switch that had no route; `port` and `peer` are then those by which they arrived";
    "since_ns" "ns" "when the link failed, its error rate took effect, or those routes came into force";
    "packets" "packets" "number of packets, of any kind";
    "bytes" "bytes" "their bytes, without preamble and gap";
    "data_packets" "packets" "those that carried data, which are among `dropped_packets` of `runs`";
}

columns! {
    /// Changes of links, and when routes followed.
    LINK_CHANGES:
    "time_ns" "ns" "when";
    "change" ""
        "`down` or `up`: the link at `port` failed or returned; `rate`: it has `rate_bps` from then on; `errors`: its error rate changed; `routes`: routes changed";
    "node" "" "node that sends by it; null for routes";
    "port" "" "its port number there; null for routes";
    "peer" "" "node at the other end; null for routes";
    "rate_bps" "bit/s" "rate of the link from then on, in this direction; null for other changes";
}

columns! {
    /// Storms that PFC watchdogs found.
    STORMS:
    "action" "" "what the watchdog did: `drop`, `forward` or `alert`";
    "began_ns" "ns" "start of the pause that was in force when the storm was found";
    "detected_ns" "ns" "when it was found";
    "restored_ns" "ns" "when it ended; null if it did not";
    "dropped_packets" "packets" "packets dropped: they waited at the port, were sent to it, or arrived on it";
    "dropped_bytes" "bytes" "their bytes, without preamble and gap";
    "dropped_data_packets" "packets" "those that carried data, which are among `dropped_packets` of `runs`";
    "input_dropped_packets" "packets" "those that arrived on the port";
}

columns! {
    /// Flows that waited behind stopped ports for a root that is not on their way.
    VICTIMS:
    "flow_id" "" "as in `flows`";
    "priority" "" "priority that was paused";
    "root_node" "" "node of the root, as in `causes`";
    "root_port" ""
        "its egress port, or of a host with several NICs the one that sent PAUSE; null for other hosts, and for a switch as a whole";
    "root_peer" "" "node at the other end; null as before";
    "first_ns" "ns" "when the flow first waited";
    "last_ns" "ns" "when the flow last waited";
    "waited_ns" "ns" "total time in which its packets were held, anywhere on its path";
    "unsent_bytes" "bytes" "bytes of the flow that its host would have sent while it was paused for this root";
    "pauses" "times" "pauses in which it waited";
}

columns! {
    /// One row for each flow with a size that started, and each message of a job that arrived, with `probes.causes`.
    DELAYS:
    "flow_id" "" "as in `flows`";
    "message" "" "`number` in `messages` of a message on that connection; null: the row is of the whole flow";
    "sending_ns" "ns" "for a flow that did not finish, time in which its packets left the sender for the first time, and its last packet was on links; null if it finished";
    "delay_ns" "ns" "sum of the next fifteen columns, exact to the picosecond: `fct_ns` less `ideal_fct_ns` of `flows`; for a message `end_ns` less `start_ns` and `ideal_ns` of `messages`; for a flow that did not finish, time from its start to the end of the run less `sending_ns`";
    "turn_ns" "ns" "waits at the sender while other flows, control packets, and for a message earlier ones of its connection had their turn at the NIC";
    "rate_ns" "ns" "waits for the rate of its congestion control";
    "limit_ns" "ns" "waits for its `rate_limit` or its source";
    "open_ns" "ns" "waits for its TCP connection to open, beyond what that takes alone";
    "window_ns" "ns" "waits for a full window of its congestion control or its host";
    "pause_ns" "ns" "waits for PAUSE: at the NIC, and of the last packet in egress queues";
    "credit_ns" "ns" "waits for credit of the receiver";
    "loss_ns" "ns" "lost packets until NAKs, later ACKs or trimmed headers showed it, and packets sent again";
    "timeout_ns" "ns" "waits for a timeout; for a flow that did not finish, also for one that was still to come";
    "retry_ns" "ns" "waits for links that sent frames again (`retry`): at the NIC, and of the last packet on its way";
    "queue_ns" "ns" "waits of the last packet in egress queues behind packets of other flows, and behind those of its own that had waited so";
    "own_queue_ns" "ns" "the same behind packets of its own flow alone, beyond what the flow has by itself";
    "switch_ns" "ns" "waits of the last packet inside switches, and longer paths";
    "receiver_ns" "ns" "waits after that packet had arrived: for packets out of order, or for a slow host";
    "other_ns" "ns" "what none of these explains";
    "longest_node" "" "switch where the last packet waited longest in a queue; null if it waited in none";
    "longest_port" "" "its egress port; null as before";
    "longest_peer" "" "node at the other end; null as before";
    "longest_ns" "ns" "that wait, for PAUSE and behind packets; null as before";
    "ahead_bytes" "bytes" "bytes ahead of it in that queue when it joined; null as before";
    "own_bytes" "bytes" "bytes of these that were of its own flow; null as before";
    "largest_flow_id" "" "other flow with most bytes ahead of it; null if there was none";
    "largest_bytes" "bytes" "these bytes; null as before";
}

columns! {
    /// One row for each job.
    JOBS:
    "job" "" "name of its `[[job]]`";
    "ranks" "" "number of ranks";
    "hosts" "" "hosts of the ranks, in the order of ranks: `H0..H7, H16`";
    "placement" "" "how they were placed: `packed`, `spread`, `random` or `listed`";
    "iterations" "" "iterations that all ranks ended";
    "iterations_planned" "" "iterations that it was to do";
    "warmup" "" "iterations at the beginning that the columns below exclude: those of the job's `warmup`, and those that began before `counted_from_ns` of `runs`";
    "failed_at_ns" "ns"
        "when the first of its connections gave up, which ends the job: see `retry_count`; null if it did not fail";
    "failed_rank" "" "rank whose connection that was; null as before";
    "failed_peer" "" "rank that did not answer; null as before";
    "stuck_since_ns" "ns"
        "since when it could not come to its end: when the link went down that some of its ranks still needed at the end of the run, or when queues deadlocked; null if neither is known, if it failed, and if it is complete";
    "down_link" "" "links that were down when it failed, or at the end of the run if it is stuck: those of the two hosts, or of any; null if none was";
    "down_since_ns" "ns" "since when the first of them was down; null as before";
    "mean_ns" "ns" "mean time of a complete iteration, as in `iterations`; null if none is complete";
    "mean_at_least_ns" "ns"
        "the same with the iteration in progress at the end, which takes at least the time since the one before it: a lower bound; equal to `mean_ns` if all are complete; null if none began";
    "p50_ns" "ns" "median of the complete ones; null as `mean_ns`";
    "p99_ns" "ns" "99th percentile; null below 1,000 iterations, where fewer than ten lie beyond it";
    "max_ns" "ns" "largest; null as `mean_ns`";
    "compute_ns" "ns" "mean of the longest compute of a rank; null as before";
    "exposed_ns" "ns" "mean time of an iteration without that: exposed communication; null as before";
    "algbw_gbytes_s" "GB/s"
        "algorithm bandwidth of nccl-tests: `size_bytes` of `collectives` over the mean time from the first rank's start to the last rank's end without `compute_ns`, of each iteration no more than its own time, in 10^9 bytes per second; null unless the job is a single collective operation of all ranks";
    "busbw_gbytes_s" "GB/s" "bus bandwidth of nccl-tests: `algbw_gbytes_s` times the factor of the operation; null as before";
    "alone_ns" "ns"
        "`mean_ns` of the same job alone and without events, on the same hosts under the same scheme; null with `alone = false`";
    "slowdown" "" "`mean_ns / alone_ns`; null if it takes no time alone";
    "slowdown_at_least" "" "`mean_at_least_ns / alone_ns`; null as before";
    "ideal_ns" "ns"
        "`compute` of each step and `ideal_ns` of its slowest group in `collectives`, added up: an iteration whose ranks enter each step together; null of jobs from files, before the first complete iteration, and where `ideal_ns` is null there";
    "over_ideal" "" "`alone_ns / ideal_ns`: distance of the job alone from that; may be below 1 if iterations overlap";
    "packed_ns" "ns"
        "`mean_ns` of the same job alone on the first hosts of the fabric, as `placement = \"packed\"` has them; null with `alone = false`";
    "placement_cost" "" "`alone_ns / packed_ns`: how much longer it takes alone where it was placed";
    "critical_excess_ns" "ns"
        "mean over iterations of the `excess_ns` on their critical paths, as in `critical`; null without rows there";
    "straggler" "" "rank that ended last most often; null as before, and if half of the ranks ended together with the last one in every iteration";
    "straggler_host" "" "its host; null as before";
}

columns! {
    /// One row for each iteration that all ranks of a job ended.
    ITERATIONS:
    "job" "" "name of its `[[job]]`";
    "iteration" "" "number of the iteration, from 0";
    "start_ns" "ns" "when the last rank had ended the iteration before; of the first, when the first rank began it";
    "end_ns" "ns" "when the last rank ended it";
    "last_rank" "" "that rank";
    "skew_ns" "ns" "from the median rank's end to the last one's";
    "compute_ns" "ns" "longest compute of a rank";
    "exposed_ns" "ns" "time of the iteration without that; 0 if that is longer";
}

columns! {
    /// One row for each iteration that a rank ended.
    RANKS:
    "job" "" "name of its `[[job]]`";
    "iteration" "" "number of the iteration, from 0";
    "rank" "" "rank, from 0";
    "host" "" "its host";
    "start_ns" "ns" "when it began";
    "end_ns" "ns" "when it had ended all steps";
    "compute_ns" "ns" "how long it computed";
    "wait_ns" "ns" "the rest: it sent, received, reduced or waited";
}

columns! {
    /// One row for each message of a job that arrived.
    MESSAGES:
    "job" "" "name of its `[[job]]`";
    "iteration" "" "number of the iteration, from 0";
    "step" "" "name of the `[[job.step]]`, or the operation";
    "phase" "" "which step of the iteration that is, from 0";
    "round" "" "step of the algorithm at the receiver, from 0";
    "channel" "" "channel, from 0; the two trees of a double binary tree are channels";
    "slice" "" "slice, from 0";
    "from_rank" "" "rank that sent it";
    "to_rank" "" "rank that received it";
    "src" "" "host of the sender";
    "dst" "" "host of the receiver";
    "flow_id" "" "its connection, as in `flows`: a flow without a size";
    "number" "" "messages before it on that connection";
    "size_bytes" "bytes" "payload";
    "start_ns" "ns" "when its sender passed it to the connection";
    "end_ns" "ns" "when its last byte arrived";
    "ideal_ns" "ns" "its time alone on its path, at line rate; null if the path is not known";
    "acked_ns" "ns" "when its sender knew that it had arrived; null if no rank waited for that";
    "timeouts" "" "timeouts of its connection while it was in flight";
}

columns! {
    /// One row for each segment of the critical path of each iteration that all ranks of a job ended.
    CRITICAL:
    "job" "" "name of its `[[job]]`";
    "iteration" "" "number of the iteration, from 0";
    "segment" "" "number of the segment, from 0, in order of time";
    "kind" "" "what took the time: `compute`, `launch`, `message`, `ack` or `reduce`";
    "of_iteration" "" "iteration to which this belongs: this one, or an earlier one";
    "step" "" "name of the `[[job.step]]`, or the operation";
    "phase" "" "which step of the iteration that is, from 0";
    "rank" "" "rank that computed, launched, sent, waited for the ACK, or reduced";
    "host" "" "its host";
    "peer_rank" "" "rank that receives the message; null if there is no message";
    "peer_host" "" "its host; null as before";
    "flow_id" "" "connection of the message, as in `flows`; null as before";
    "number" "" "messages before it on that connection; null as before";
    "size_bytes" "bytes" "payload of the message; null as before";
    "start_ns" "ns" "start of the segment: the end of the previous one; for the first, the start of the iteration";
    "end_ns" "ns" "its end; for the last one, the end of the iteration";
    "ideal_ns" "ns" "for a `message`: its time alone on its path; otherwise null";
    "excess_ns" "ns" "for a `message`: the rest, in which it waited behind earlier messages of its connection, was delayed by other traffic or PAUSE, or was lost; otherwise null";
    "timeouts" "" "timeouts of its connection while it was in flight; null if there is no message";
    "down_link" "" "if there were any, links that were down meanwhile: those of the two hosts, or of any; null if none was";
    "down_since_ns" "ns" "since when the first of them was down; null as before";
}

columns! {
    /// One row for each collective operation of a group that all its ranks ended.
    COLLECTIVES:
    "job" "" "name of its `[[job]]`";
    "iteration" "" "number of the iteration, from 0";
    "step" "" "name of the `[[job.step]]`, or the operation";
    "phase" "" "which step of the iteration that is, from 0; of a file, which of the names in `step`";
    "group" "" "which group of the step took part, from 0: with `group = \"all\"` there is one; of a file, collective operations before it with the same `step`";
    "ranks" "" "ranks of the group";
    "operation" "" "what they did: `all-reduce`, `all-gather`, …";
    "algorithm" "" "how: `ring`, `direct`, …";
    "channels" "" "copies of the algorithm side by side";
    "channel" "" "number of the channel, from 0, if there are several; null: all channels together";
    "size_bytes" "bytes" "size as nccl-tests counts it, for a channel its share; for `all-to-all-v`, the most that a rank sends to others; for a `pipeline`, one message";
    "start_ns" "ns" "when the first rank began it, after its compute";
    "all_began_ns" "ns" "when the last rank began it";
    "end_ns" "ns" "when the last rank had ended it";
    "duration_ns" "ns" "from `start_ns` to `end_ns`";
    "algbw_gbytes_s" "GB/s"
        "algorithm bandwidth of nccl-tests: `size_bytes / duration_ns`, in 10^9 bytes per second; of `duration_ns` only what is left when all ranks have ended their operation before; null if nothing was sent, and for a `pipeline`";
    "busbw_gbytes_s" "GB/s" "bus bandwidth of nccl-tests: `algbw_gbytes_s` times the factor of the operation; null as before";
    "ideal_ns" "ns"
        "duration of the operation alone in the fabric: all ranks begin at the same time, each message takes its ideal time, and the messages of a NIC leave in sequence; null if a path is not known, and in jobs whose operations have more than 4,000,000 messages";
}

columns! {
    /// After a job and [`PORT`]: one row for each link and direction that a job has used.
    JOB_LINKS:
    "job" "" "name of its `[[job]]`; `priority` is that of its data";
    "data_packets" "packets" "data packets of the job that `node` sent by this port, including retransmissions";
    "data_bytes" "bytes" "their bytes, including headers, preamble and gap";
    "control_bytes" "bytes"
        "bytes of the other packets of its connections, of any priority: acknowledgements, notifications, requests; including preamble and gap";
    "paused_ns" "ns" "how long the port was paused for `priority`, as in `ports`";
}
