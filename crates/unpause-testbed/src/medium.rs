//! The media that frames travel over.

use std::collections::VecDeque;
use std::io;

use unpause_sim::exchange::GlobalPort;

/// Wires between ports. A wire is named by the port at its receiving end.
pub trait Medium {
    /// Frames that a wire holds for sure, at least 1.
    fn capacity(&self) -> usize;

    /// Sends a frame into the wire that ends at `port`.
    ///
    /// # Errors
    ///
    /// It cannot be sent.
    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()>;

    /// Hands over what has come at `port` until `take` has answered `expected` times that a frame counts, or
    /// nothing more is to be hoped for.
    ///
    /// # Errors
    ///
    /// It cannot be received.
    fn receive(
        &mut self,
        port: GlobalPort,
        expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()>;
}

/// Wires in memory, for machines where no others may be made.
#[derive(Debug, Default)]
pub struct Memory {
    wires: Vec<Wire>,
}

/// Frames one behind the other.
#[derive(Debug, Default)]
struct Wire {
    bytes: Vec<u8>,
    lengths: VecDeque<usize>,
}

impl Memory {
    /// Wires into this many ports.
    pub fn new(ports: usize) -> Self {
        Self {
            wires: (0..ports).map(|_| Wire::default()).collect(),
        }
    }
}

impl Medium for Memory {
    fn capacity(&self) -> usize {
        256
    }

    fn send(&mut self, port: GlobalPort, frame: &[u8]) -> io::Result<()> {
        let wire = &mut self.wires[port as usize];
        wire.bytes.extend_from_slice(frame);
        wire.lengths.push_back(frame.len());
        Ok(())
    }

    fn receive(
        &mut self,
        port: GlobalPort,
        _expected: usize,
        take: &mut dyn FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        let wire = &mut self.wires[port as usize];
        let mut at = 0;
        for length in wire.lengths.drain(..) {
            take(&wire.bytes[at..at + length]);
            at += length;
        }
        wire.bytes.clear();
        Ok(())
    }
}
