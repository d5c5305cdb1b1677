//! The packet processor: one server for all ingress FIFOs, then a fixed latency.

use std::collections::VecDeque;

use unpause_protocols::units::Time;

use crate::chassis::Discipline;
use crate::config::{PipelineConfig, Queueing};
use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// A packet on its way from the server to its egress queue.
#[derive(Clone, Copy, Debug)]
pub struct Processed {
    /// When it is there, by the processor's clock.
    exit: Time,
    /// The egress.
    pub to: PortId,
    /// The packet; it knows the port by which it came.
    pub packet: Packet,
}

/// The processor. It has a clock of its own, which stands still while it is stalled.
#[derive(Debug)]
pub struct Processor {
    /// Packets that have not been served, a packet of each ingress port in turn.
    waiting: Discipline,
    /// Packets that have been served, in order.
    processed: VecDeque<Processed>,
    service: Time,
    latency: Time,
    /// The server is busy until then, by the processor's clock.
    busy_until: Time,
    /// How far the clock is behind.
    behind: Time,
    stalled_since: Option<Time>,
}

impl Processor {
    /// An idle processor of a switch with `ports` ports.
    pub fn new(config: &PipelineConfig, ports: usize) -> Self {
        Self {
            waiting: Discipline::new(Queueing::Voq, ports),
            processed: VecDeque::new(),
            service: config.service(),
            latency: config.latency,
            busy_until: Time::ZERO,
            behind: Time::ZERO,
            stalled_since: None,
        }
    }

    /// A packet has come in by port `from`.
    #[inline]
    pub fn arrive(&mut self, packet: &Packet, from: PortId) {
        self.waiting.push(packet, from).ingress = from;
    }

    /// When the server takes the next packet.
    #[inline]
    pub fn next_service(&self) -> Time {
        if self.stalled_since.is_some() || self.waiting.is_empty() {
            return Time::NEVER;
        }
        self.busy_until + self.behind
    }

    /// Takes the next packet; its egress is set by [`Processor::process`].
    #[inline]
    pub fn serve(&mut self) -> Packet {
        self.waiting.pop()
    }

    /// The packet just taken goes out by `to`.
    #[inline]
    pub fn process(&mut self, now: Time, packet: Packet, to: PortId) {
        self.discard(now);
        let exit = self.busy_until + self.latency;
        self.processed.push_back(Processed { exit, to, packet });
    }

    /// The packet just taken goes nowhere.
    pub fn discard(&mut self, now: Time) {
        self.busy_until = now - self.behind + self.service;
    }

    /// When the next packet is at its egress queue.
    #[inline]
    pub fn next_exit(&self) -> Time {
        match self.processed.front() {
            Some(first) if self.stalled_since.is_none() => first.exit + self.behind,
            _ => Time::NEVER,
        }
    }

    /// The next packet to exit.
    #[inline]
    pub fn head(&self) -> Option<&Processed> {
        self.processed.front()
    }

    /// The next packet exits.
    #[inline]
    pub fn exit(&mut self) {
        self.processed.pop_front();
    }

    /// Everything stops: the next packet has no room.
    pub fn stall(&mut self, now: Time) {
        self.stalled_since = Some(now);
    }

    /// True while everything stands still.
    #[inline]
    pub fn is_stalled(&self) -> bool {
        self.stalled_since.is_some()
    }

    /// Goes on where it stopped; answers since when it has stood still.
    pub fn resume(&mut self, now: Time) -> Option<Time> {
        let since = self.stalled_since.take()?;
        // What came while it stood still finds an idle server now, not before.
        self.busy_until = self.busy_until.max(since - self.behind);
        self.behind += now - since;
        Some(since)
    }

    /// Every packet, with the egress of those that have one.
    pub fn held(&self) -> impl Iterator<Item = (Option<PortId>, &Packet)> {
        let processed = self.processed.iter();
        let processed = processed.map(|processed| (Some(processed.to), &processed.packet));
        let waiting = self.waiting.iter().map(|packet| (None, packet));
        waiting.chain(processed)
    }

    /// Every packet.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let processed = self.processed.iter().map(|processed| &processed.packet);
        self.waiting.iter().chain(processed)
    }
}
