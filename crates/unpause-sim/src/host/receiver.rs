//! A flow at its receiver.

use unpause_protocols::notification_point::NotificationPoint;
use unpause_protocols::units::Time;

use crate::fabric::NodeId;
use crate::host::sender::Layout;
use crate::log::FlowEnd;
use crate::plan::Plan;
use crate::traffic::FlowSpec;

/// A flow at its receiver.
#[derive(Debug)]
pub struct Receiver {
    /// Flow.
    pub flow: u32,
    /// Its notification point.
    pub notification_point: NotificationPoint,
    /// Of its entries among the timers, the one due then counts.
    pub timer_at: Time,
    /// Its place in the sender's table, once a packet has told it.
    pub sender_slot: u32,
    /// Packet number expected next.
    pub expected: u32,
    spec: FlowSpec,
    packets: u32,
    payload_bytes: u32,
    nak_sent: bool,
}

/// What the receiver makes of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The one expected.
    InOrder,
    /// In order, and the last.
    Complete,
    /// Had it already.
    Duplicate,
    /// A gap, to be reported.
    Gap,
    /// A gap that has been reported.
    KnownGap,
}

impl Receiver {
    /// A flow of which nothing has arrived.
    pub fn new(flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> Self {
        Self {
            flow,
            notification_point: NotificationPoint::new(&plan.config.scheme.notification_point),
            timer_at: Time::NEVER,
            sender_slot: 0,
            expected: 0,
            spec: *spec,
            packets: Layout::of(spec.size_bytes, plan).packets,
            payload_bytes: plan.config.host.payload_bytes,
            nak_sent: false,
        }
    }

    /// Go-back-N: only the packet expected is taken.
    #[inline]
    pub fn on_data(&mut self, seq: u32) -> Reception {
        if seq == self.expected {
            self.expected += 1;
            self.nak_sent = false;
            if self.expected == self.packets {
                Reception::Complete
            } else {
                Reception::InOrder
            }
        } else if seq < self.expected {
            Reception::Duplicate
        } else if self.nak_sent {
            Reception::KnownGap
        } else {
            self.nak_sent = true;
            Reception::Gap
        }
    }

    /// Sender.
    pub fn src(&self) -> NodeId {
        self.spec.src
    }
    /// Entropy of ECMP.
    pub fn source_port(&self) -> u16 {
        self.spec.source_port
    }
    /// Start at the sender.
    pub fn start(&self) -> Time {
        self.spec.start
    }
    /// Sampled into the flow series.
    pub fn recorded(&self) -> bool {
        self.spec.recorded
    }
    /// How long the host holds its packets back.
    pub fn extra_delay(&self) -> Time {
        self.spec.extra_delay.time()
    }
    /// Payload bytes delivered in order.
    pub fn delivered_bytes(&self) -> u64 {
        let bytes = u64::from(self.expected) * u64::from(self.payload_bytes);
        self.spec.size_bytes.map_or(bytes, |size| size.min(bytes))
    }
    /// What is to be said of it at the end.
    pub fn end(&self, completed: Option<Time>) -> FlowEnd {
        FlowEnd {
            id: self.flow,
            group: self.spec.group,
            src: self.spec.src,
            dst: self.spec.dst,
            source_port: self.spec.source_port,
            priority: self.spec.priority,
            size_bytes: self.spec.size_bytes,
            start: self.spec.start,
            fct: completed.map(|now| now - self.spec.start),
            delivered_bytes: self.delivered_bytes(),
            transport: self.spec.transport,
            extra_delay: self.extra_delay(),
        }
    }
}
