//! Frames and cells that cross a CIOQ fabric, and the queues between which they do.

use crate::fabric::PortId;
use crate::fabric::packet::Packet;

/// How many ports and classes there are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Ports.
    pub ports: usize,
    /// Classes.
    pub classes: usize,
}

/// A virtual output queue of the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Voq {
    /// Port by which its frames came in.
    pub input: PortId,
    /// Port by which they go out.
    pub output: PortId,
    /// Their class.
    pub class: u8,
}

/// An output of the fabric.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// A request has reached the arbiter of its output.
    Request(Voq),
    /// A grant has reached its input.
    Grant(Voq),
    /// The last cell of the frame at `head` has left its input.
    Left {
        /// Where it came from.
        voq: Voq,
        /// The frame's first unit there.
        head: u32,
    },
    /// A frame has reached its output.
    Frame {
        /// Where it came from.
        voq: Voq,
        /// It.
        packet: Packet,
    },
}

impl Shape {
    /// The number of a queue among all.
    pub fn index(self, voq: Voq) -> usize {
        (usize::from(voq.input) * self.ports + usize::from(voq.output)) * self.classes
            + usize::from(voq.class)
    }
    /// The queue of this number.
    pub fn voq(self, index: usize) -> Voq {
        let ports = index / self.classes;
        Voq {
            input: (ports / self.ports) as PortId,
            output: (ports % self.ports) as PortId,
            class: (index % self.classes) as u8,
        }
    }
}
