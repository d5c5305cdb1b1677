//! TCP: connections that a host opens, connections that it accepts. They know of no host.

mod number;
mod pool;
mod ranges;
pub mod receiver;
pub mod sender;

use slab::Slab;
use unpause_protocols::units::Time;

use crate::config::Qdisc;
use crate::engine::log::{Log, SenderSample};
use crate::engine::ring::Ring;
use crate::fabric::packet::Packet;
use crate::plan::Plan;
use crate::traffic::FlowSpec;

use pool::Pool;
use receiver::Receiver;
use sender::Sender;

/// TCP's part of a host.
#[derive(Debug)]
pub struct Tcp {
    pub senders: Slab<Sender>,
    pub receivers: Slab<Receiver>,
    /// Connections of its senders that outlive flows.
    pub pool: Pool,
    /// Where segments wait.
    pub qdisc: Qdisc,
}

impl Tcp {
    /// True if it has never had a flow.
    pub fn is_idle(&self) -> bool {
        let Self {
            senders,
            receivers,
            pool,
            qdisc: _,
        } = self;
        senders.is_empty() && receivers.is_empty() && pool.is_empty()
    }

    /// No connections.
    pub fn new(qdisc: Qdisc) -> Self {
        Self {
            senders: Slab::new(),
            receivers: Slab::new(),
            pool: Pool::default(),
            qdisc,
        }
    }

    /// Packets and bytes that wait in a NIC's FIFO, if it is one.
    pub fn queued(&self, fifo: Option<&Ring>) -> (u32, u64) {
        match (self.qdisc, fifo) {
            (Qdisc::Fq, _) | (_, None) => (0, 0),
            (Qdisc::Pfifo, Some(fifo)) => {
                let bytes = fifo.iter().map(|packet| u64::from(packet.bytes)).sum();
                (fifo.len(), bytes)
            }
        }
    }

    /// Makes place for a flow to be received.
    pub fn expect(&mut self, flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> u32 {
        self.receivers.insert(Receiver::new(flow, spec, plan)) as u32
    }

    /// The flow that a packet belongs to, and its extra delay.
    pub fn extra_delay(&mut self, packet: &Packet, plan: &Plan<'_>) -> Option<(u32, Time)> {
        let receiver = self.receivers.get_mut(packet.slot as usize)?;
        if receiver.flow == packet.flow {
            receiver.meet(packet, plan.config);
        }
        Some((receiver.flow, receiver.spec.extra_delay.time()))
    }

    /// Samples recorded flows.
    pub fn sample(&self, now: Time, log: &mut Log) {
        for (_, sender) in self.senders.iter().filter(|(_, it)| it.spec.recorded) {
            log.sender_series.push(SenderSample {
                time: now,
                flow: sender.flow,
                rate: None,
                cwnd_bytes: Some(sender.cwnd()),
                sent_bytes: sender.sent_bytes,
                notifications: 0,
            });
        }
        for (_, receiver) in self.receivers.iter().filter(|(_, it)| it.spec.recorded) {
            if receiver.spec.start <= now {
                let delivered = receiver.delivered_bytes();
                log.receiver_series.push((now, receiver.flow, delivered));
            }
        }
    }

    /// The run is over.
    pub fn finish(&self, now: Time, log: &mut Log) {
        let open = self.receivers.iter().filter(|(_, it)| it.spec.start < now);
        log.flows
            .extend(open.map(|(_, receiver)| receiver.end(None)));
        let senders = self.senders.iter();
        log.senders
            .extend(senders.filter_map(|(_, sender)| sender.end()));
    }

    /// The sender at a slot, if it is that of the flow.
    pub fn sender(&mut self, slot: u32, flow: u32) -> Option<&mut Sender> {
        self.senders
            .get_mut(slot as usize)
            .filter(|it| it.flow == flow)
    }

    /// The receiver at a slot, if it is that of the flow.
    pub fn receiver(&mut self, slot: u32, flow: u32) -> Option<&mut Receiver> {
        self.receivers
            .get_mut(slot as usize)
            .filter(|it| it.flow == flow)
    }
}
