//! Causes of PAUSEs, and the packets that they held up, as results have them.

use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;

use crate::fabric::{NodeId, PortId};

/// One transition to XOFF, with what held the bytes; its place among all of a run is its number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CauseRecord {
    /// Switch that sent the PAUSE.
    pub node: NodeId,
    /// Port by which the bytes had come, and by which the PAUSE went.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// When the ingress went to XOFF.
    pub time: Time,
    /// When it went to XON again; when its PAUSE ran out at the peer if that was earlier and no other followed until
    /// then; the end of the run if neither came.
    pub until: Time,
    /// For how long it held the neighbour's transmitter, counted like [`crate::outcome::results::PortRecord::paused`]. A pause
    /// of several PAUSEs that followed each other without a break counts with the last.
    pub paused: Time,
    /// PAUSE ran out at the peer, which then sent on although this ingress was still XOFF.
    pub expired: bool,
    /// Bytes that the ingress held at `time`.
    pub held_bytes: u64,
    /// Frames that found no headroom from `time` until it went to XON again, or to the end of the run.
    pub dropped_packets: u64,
    /// The holders at `time`, most bytes first, and after those the holders at the end of the run if
    /// it was still XOFF.
    pub holders: Vec<Holder>,
    /// Who had the memory that XOFF depends on, if that rather than `holders` was why.
    pub taken: Option<Taken>,
    /// Where most of it began; none if that is unknown.
    pub root: Option<Root>,
}

/// An egress of the same switch whose queue holds the memory that a threshold depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Taken {
    /// The egress port.
    pub port: PortId,
    /// Which part of the threshold that there would be without others' queues was missing.
    pub share: f64,
}

/// An egress queue that held bytes of an ingress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// When that was seen.
    pub at: Time,
    /// Egress port that the bytes were to leave by; none if they waited for the switch itself.
    pub egress: Option<PortId>,
    /// Bytes of the ingress that waited for it.
    pub bytes: u64,
    /// Everything in that egress queue.
    pub queue_bytes: u64,
    /// Ports by which that had come, or at which packets wait for the egress.
    pub inputs: u32,
    /// Hosts that these had come from.
    pub senders: u32,
    /// Rates of the links of these ports, added up, in bit/s; of these hosts, if that is less and what is in the
    /// queue is left from a pause.
    pub input_bps: u64,
    /// Whether these hosts cannot send more than the link carries.
    pub hosts_fit: bool,
    /// Whether, if so, other priorities had part of the link.
    pub is_shared: bool,
    /// Whether the egress was paused at that moment.
    pub is_paused: bool,
    /// How long the egress was paused since the oldest packet in it had come.
    pub paused: Time,
    /// When the PAUSE that last did so left its peer.
    pub sent: Option<Time>,
    /// Number of the PAUSE that last did so.
    pub paused_by: Option<u32>,
    /// Flows, the largest by name.
    pub flows: Vec<FlowShare>,
}

impl Holder {
    /// An egress without anything in it.
    pub(crate) fn empty(at: Time) -> Self {
        Self {
            at,
            egress: None,
            bytes: 0,
            queue_bytes: 0,
            inputs: 0,
            senders: 0,
            input_bps: 0,
            hosts_fit: false,
            is_shared: false,
            is_paused: false,
            paused: Time::ZERO,
            sent: None,
            paused_by: None,
            flows: Vec::new(),
        }
    }
}

/// The share of a flow in an egress queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowShare {
    /// The flow; none for flows that are not listed individually.
    pub flow: Option<u32>,
    /// How many flows that are.
    pub flows: u32,
    /// Bytes that had come by the ingress that went to XOFF.
    pub bytes: u64,
    /// Bytes in the queue, by whichever port they had come.
    pub queue_bytes: u64,
}

/// Where a PAUSE, or a chain of them, began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Root {
    /// The kind of root.
    pub kind: RootKind,
    /// Switch, or host whose NIC sent PAUSE.
    pub node: NodeId,
    /// Its egress port, or of a host with several NICs the one that sent PAUSE; none for a switch as a whole, or a host with one.
    pub port: Option<PortId>,
    /// Which part of the bytes leads there, up to 1.
    pub share: f64,
}

/// The kind of a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RootKind {
    /// Several hosts send more into an egress than its link carries.
    Incast,
    /// One host does, over links that are faster.
    SlowLink,
    /// An egress that no more was sent to than it carries: others share its link.
    Busy,
    /// The switch did not get the packets to their egress fast enough.
    Switch,
    /// A host sent PAUSE.
    Nic,
    /// Queues wait for one another forever.
    Cycle,
    /// The memory that a threshold depends on was taken, most of it by the queue of this egress.
    Pool,
}

/// A flow that waited behind paused ports for a root that is not on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VictimRecord {
    /// The flow.
    pub flow: u32,
    /// Node of the root.
    pub node: NodeId,
    /// [`Root::port`].
    pub port: Option<PortId>,
    /// Priority that was paused.
    pub priority: u8,
    /// When it first waited.
    pub first: Time,
    /// When it last did.
    pub last: Time,
    /// For how long in total its packets were held, anywhere on its path.
    pub waited: Time,
    /// Bytes of it that its host would have sent while it was paused for that.
    pub unsent_bytes: u64,
    /// Pauses that it waited in.
    pub pauses: u32,
}

/// A PAUSE that ran out at the transmitter that obeyed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// When.
    pub time: Time,
    /// Node that went on.
    pub node: NodeId,
    /// Its egress port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// When that PAUSE had left the peer.
    pub sent: Time,
    /// When the next one that stopped it left the peer.
    pub next_sent: Option<Time>,
}

/// Of a flow, what an egress held back while it was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// From when the flow could have sent.
    pub start: Time,
    /// When the pause was over.
    pub end: Time,
    /// Node that was stopped.
    pub node: NodeId,
    /// Its egress port.
    pub port: PortId,
    /// Priority.
    pub priority: u8,
    /// The flow.
    pub flow: u32,
    /// Bytes of it that a host would have sent meanwhile; 0 at a switch.
    pub bytes: u64,
    /// When the PAUSE that was in force last left the peer.
    pub sent: Time,
}

/// Flows listed by name, of those with most bytes of the ingress and of those with most in the queue.
const LARGEST: usize = 4;

/// The bytes of an ingress in an egress queue, and the others there, flow by flow.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// By flow.
    flows: Vec<FlowShare>,
}

impl Held {
    /// Adds bytes of the ingress, and of all.
    pub fn add(&mut self, flow: u32, bytes: u64, queue_bytes: u64) {
        let at = self.flows.binary_search_by_key(&Some(flow), |it| it.flow);
        let at = at.unwrap_or_else(|at| {
            let share = FlowShare {
                flow: Some(flow),
                flows: 1,
                bytes: 0,
                queue_bytes: 0,
            };
            self.flows.insert(at, share);
            at
        });
        self.flows[at].bytes += bytes;
        self.flows[at].queue_bytes += queue_bytes;
    }

    /// Bytes of the ingress.
    pub fn bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.bytes).sum()
    }

    /// Bytes of all.
    pub fn queue_bytes(&self) -> u64 {
        self.flows.iter().map(|flow| flow.queue_bytes).sum()
    }

    /// The largest flows, and the others together; the others alone, who have nothing, if there is none.
    pub fn into_shares(mut self) -> Vec<FlowShare> {
        let flows = &mut self.flows;
        let most_in_queue = |it: &FlowShare| (std::cmp::Reverse(it.queue_bytes), it.flow);
        let most_of_ingress = |it: &FlowShare| (std::cmp::Reverse(it.bytes), it.flow);
        flows.sort_unstable_by_key(most_of_ingress);
        let first = LARGEST.min(flows.len());
        flows[first..].sort_unstable_by_key(most_in_queue);
        let rest = flows.split_off((2 * LARGEST).min(flows.len()));
        if !rest.is_empty() || flows.is_empty() {
            flows.push(FlowShare {
                flow: None,
                flows: rest.len() as u32,
                bytes: rest.iter().map(|it| it.bytes).sum(),
                queue_bytes: rest.iter().map(|it| it.queue_bytes).sum(),
            });
        }
        self.flows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_told_by_name_and_nothing_is_lost() {
        let mut held = Held::default();
        for flow in 0..20 {
            held.add(flow, u64::from(flow), u64::from(100 - flow));
        }
        let shares = held.into_shares();
        let named: Vec<u32> = shares.iter().filter_map(|it| it.flow).collect();
        assert_eq!(named, [19, 18, 17, 16, 0, 1, 2, 3]);
        let rest = shares[8];
        assert_eq!((rest.flow, rest.flows), (None, 12));
        assert_eq!(shares.iter().map(|it| it.bytes).sum::<u64>(), 190);
        let all = shares.iter().map(|it| it.queue_bytes).sum::<u64>();
        assert_eq!(all, 2000 - 190);
    }
}
