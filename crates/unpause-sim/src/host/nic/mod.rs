//! A NIC: its end of the link, what waits there, and who may send.

use std::collections::{BTreeMap, VecDeque};

use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::engine::heap::Heap;
use crate::engine::ring::Ring;
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::link::end::End;
use crate::link::pause::PauseState;
use crate::outcome::held_back::HeldBack;
use crate::plan::Plan;

pub mod flow_list;
pub mod item;
pub mod receive_buffer;
pub mod shares;

use flow_list::FlowList;
use item::{Handle, Item};
use receive_buffer::ReceiveBuffer;
use shares::Shares;

/// What there is of each class.
#[derive(Debug, Default, Show)]
pub struct Class {
    #[show(nested)]
    pub counters: Counters,
    /// What may send, in turn.
    #[show(same = ready.len())]
    #[show(by = ready.iter().for_each(|handle| handle.show_same(visitor)))]
    pub ready: VecDeque<Handle>,
    /// PAUSE that it obeys.
    #[show(nested)]
    pub pause: PauseState,
}

/// A NIC: its end of the link, what waits there, and who may send.
#[derive(Debug, Show)]
#[repr(C)]
pub struct Nic {
    #[show(by = end.show(false, visitor))]
    pub end: End,
    #[show(skip)]
    pub port: GlobalPort,
    /// When it looks for something to send.
    #[show(earliest)]
    pub at: Time,
    /// Flows that wait for their rate limiter.
    #[show(nested)]
    pub pacing: Heap,
    #[show(nested)]
    pub control: Ring,
    #[show(nested)]
    pub classes: Vec<Class>,
    // What few packets touch.
    /// ACKs and NAKs that share the classes of data, by class; [`Acks`](super::item::Item::Acks) stands for them among
    /// flows that may send.
    #[show(nested)]
    pub acks: Vec<Ring>,
    /// TCP's SYNs, SYN-ACKs, ACKs and FINs, by class, as far as there have been any; with [`Qdisc::Pfifo`] segments, too.
    #[show(refuse_if = !replies.iter().all(Ring::is_empty))]
    pub replies: Vec<Ring>,
    /// How classes share the port, if the most urgent does not go first.
    #[show(skip = "see Host::has_shares")]
    pub shares: Option<Box<Shares>>,
    /// Its RoCE flows, if it is that of HPCC's simulator.
    #[show(skip = "see Host::in_list")]
    pub list: FlowList,
    /// By class, when the PAUSE that last stopped it had left the switch; nothing if nobody asks.
    #[show(refuse_if = !stopped_by.is_empty())]
    pub stopped_by: Vec<Time>,
    /// What flows have waited for.
    #[show(skip = "grows only where `stopped_by` is kept")]
    pub waits: Vec<HeldBack>,
    /// What a slow host has not taken yet of what came by it.
    #[show(refuse_if = buffer.is_some())]
    pub buffer: Option<Box<ReceiveBuffer>>,
}

impl Nic {
    pub fn at_rest(port: GlobalPort, plan: &Plan<'_>) -> Self {
        let classes = plan.classes.count();
        Self {
            end: End::new(&plan.ports.transmitters[port as usize]),
            port,
            at: Time::NEVER,
            pacing: Heap::default(),
            control: Ring::default(),
            classes: (0..classes).map(|_| Class::default()).collect(),
            acks: match plan.config.host.pause_acks {
                true => (0..classes).map(|_| Ring::default()).collect(),
                false => Vec::new(),
            },
            list: FlowList::default(),
            stopped_by: match plan.config.probes.causes {
                true => vec![Time::ZERO; classes],
                false => Vec::new(),
            },
            waits: Vec::new(),
            replies: Vec::new(),
            shares: Shares::new(plan),
            buffer: ReceiveBuffer::new(port, plan),
        }
    }

    /// TCP's replies of a class.
    pub fn replies_of(&mut self, class: u8) -> &mut Ring {
        let class = usize::from(class);
        if self.replies.len() <= class {
            self.replies.resize_with(class + 1, Ring::default);
        }
        &mut self.replies[class]
    }

    /// All NICs of host `id`, if it has several.
    pub fn several(id: NodeId, plan: &Plan<'_>) -> Vec<Self> {
        let ports = plan.ports.of(id);
        match ports.len() {
            0 | 1 => Vec::new(),
            _ => ports.map(|port| Self::at_rest(port, plan)).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Show)]
pub struct Counters {
    #[show(total)]
    pub tx_packets: u64,
    #[show(total)]
    pub tx_bytes: u64,
}

impl Nic {
    /// These flows wait here no more.
    pub fn remove(&mut self, flows: &BTreeMap<Item, Vec<PortId>>) {
        for (class, it) in self.classes.iter_mut().enumerate() {
            it.ready
                .retain(|handle| !flows.contains_key(&handle.item()));
            if it.ready.is_empty() {
                self.end.backlog &= !(1 << class);
            }
        }
        self.list
            .remove(|slot| flows.contains_key(&Item::Roce(slot)));
        let mut pacing = Heap::default();
        while let Some(entry) = self.pacing.pop() {
            if !flows.contains_key(&Handle::of(entry).item()) {
                pacing.push(entry);
            }
        }
        self.pacing = pacing;
    }
}
