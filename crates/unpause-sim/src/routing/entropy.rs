//! The fields that a choice among equal next hops reads of a packet or of a flow, beside its addresses.

use crate::fabric::NodeId;
use crate::fabric::packet::{FORWARD, Kind, Packet};

/// The fields in which flows between the same hosts differ.
pub trait Entropy {
    /// Source port of the flow.
    fn source_port(&self) -> u16;
    /// The flow, if that is known.
    fn flow(&self) -> Option<u32>;
    /// It goes from the flow's receiver to its sender.
    fn is_feedback(&self) -> bool;
}

impl Entropy for Packet {
    #[inline]
    fn source_port(&self) -> u16 {
        self.source_port
    }
    fn flow(&self) -> Option<u32> {
        Some(self.flow)
    }
    fn is_feedback(&self) -> bool {
        match self.kind {
            Kind::Data | Kind::Segment | Kind::Datagram | Kind::Syn => false,
            // That which ends TCP's handshake goes to the receiver.
            Kind::TcpAck => !self.is(FORWARD),
            _ => true,
        }
    }
}

/// Packets of a flow, all those that go one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Direction {
    /// Where they start.
    pub src: NodeId,
    /// Where they end.
    pub dst: NodeId,
    /// Source port of the flow.
    pub source_port: u16,
    /// The flow, if that is known.
    pub flow: Option<u32>,
    /// They go from the flow's receiver to its sender.
    pub is_feedback: bool,
}

impl Entropy for Direction {
    fn source_port(&self) -> u16 {
        self.source_port
    }
    fn flow(&self) -> Option<u32> {
        self.flow
    }
    fn is_feedback(&self) -> bool {
        self.is_feedback
    }
}
