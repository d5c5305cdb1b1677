//! A flow at its receiver.

use unpause_protocols::loss_recovery::numbers;
use unpause_protocols::notification_point::NotificationPoint;
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::layout::Layout;
use crate::engine::log::FlowEnd;
use crate::fabric::NodeId;
use crate::plan::Plan;
use crate::traffic::FlowSpec;

/// A flow at its receiver.
#[derive(Debug, Show)]
#[repr(C, align(64))]
pub struct Receiver {
    /// Flow.
    #[show(same = u64::from(*flow) << 32 | u64::from(*sender_slot))]
    pub flow: u32,
    /// Its slot at the sender, known from its first packet on.
    #[show(skip = "shown with `flow`")]
    pub sender_slot: u32,
    /// The state of its loss recovery.
    #[show(by = recovery.show(*flow, visitor))]
    pub recovery: numbers::Receiver,
    /// The time of the timer that counts; other entries of the flow among the timers are out of date.
    #[show(time)]
    pub timer_at: Time,
    /// Its notification point.
    #[show(nested)]
    pub notification_point: NotificationPoint,
    #[show(skip)]
    pub spec: FlowSpec,
    #[show(skip)]
    pub payload_bytes: u32,
    /// Of a connection, or of datagrams: bytes by which its packets were smaller than full ones.
    #[show(total)]
    pub short_bytes: u64,
}

impl Receiver {
    /// A flow before its first packet.
    pub fn new(flow: u32, spec: &FlowSpec, plan: &Plan<'_>) -> Self {
        Self {
            flow,
            notification_point: NotificationPoint::new(&plan.config.scheme.notification_point),
            timer_at: Time::NEVER,
            sender_slot: 0,
            recovery: numbers::Receiver::new(Layout::of(spec.size_bytes, plan).packets),
            spec: *spec,
            payload_bytes: plan.config.host.payload_bytes,
            short_bytes: 0,
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
    /// Payload bytes delivered: in order, except datagrams.
    pub fn delivered_bytes(&self) -> u64 {
        let full = u64::from(self.recovery.expected()) * u64::from(self.payload_bytes);
        let bytes = full - self.short_bytes;
        self.spec.size_bytes.map_or(bytes, |size| size.min(bytes))
    }
    /// Counts a message of a connection, which has arrived.
    pub fn count_message(&mut self, bytes: u64, plan: &Plan<'_>) {
        let packets = Layout::of(Some(bytes), plan).packets;
        self.short_bytes += u64::from(packets) * u64::from(self.payload_bytes) - bytes;
    }
    /// Its record at the end.
    pub fn end(&self, completed: Option<Time>) -> FlowEnd {
        FlowEnd {
            id: self.flow,
            group: self.spec.group,
            src: self.spec.src,
            dst: self.spec.dst,
            source_port: self.spec.source_port,
            destination_port: self.spec.destination_port,
            priority: self.spec.priority,
            size_bytes: self.spec.size_bytes,
            start: self.spec.start,
            fct: completed.map(|now| now - self.spec.start),
            delivered_bytes: self.delivered_bytes(),
            transport: self.spec.transport,
            extra_delay: self.extra_delay(),
            opened: false,
        }
    }
}
