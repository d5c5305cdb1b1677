//! Settings of the pipelined switch.

use unpause_protocols::flow_control::capfc;
use unpause_protocols::units::Time;

/// A switch whose ingress FIFOs feed one packet processor; a packet that has been processed must go
/// to its egress queue. The model and the defaults are those of the CaPFC paper (IFIP Networking
/// 2016), section IV and Table II.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineConfig {
    /// Packets that the processor takes in a second, from all ingress FIFOs in turn.
    pub packets_per_second: u64,
    /// From when the processor is done with a packet until that is at its egress queue.
    pub latency: Time,
    /// When the ingress of a lossless priority sends XOFF and XON.
    pub ingress: capfc::IngressParams,
    /// The treatment of a packet whose egress queue is full.
    pub full_queue: FullQueue,
    /// How much an ingress and an egress queue hold.
    pub memory: Memory,
}

/// The treatment of a packet of a lossless priority that has been processed and whose egress queue is
/// full. One of a lossy priority is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FullQueue {
    /// It is dropped: PFC without drops at the ingress only.
    Drop,
    /// The processor stops, with every packet in it, until there is room.
    Stop,
    /// It is dropped; but inputs that have filled the queue have been paused before.
    Capfc(capfc::EgressParams),
}

/// Limits of ingress and egress queues of each (port, priority), bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Memory of its own for each queue.
    Dedicated {
        /// Largest ingress queue, packets in the processor included.
        ingress_bytes: u64,
        /// An egress queue never holds so much.
        egress_bytes: u64,
    },
    /// Some memory for each queue, and a pool for what is beyond. A packet is stored once; what it
    /// takes of the pool is reckoned by the ingress queue it came by until it leaves the switch, and
    /// what egress queues have beyond their own memory is limited besides.
    Shared {
        /// Memory of each queue.
        queue_bytes: u64,
        /// The pool.
        pool_bytes: u64,
        /// Largest part of the pool for an egress queue.
        queue_share_bytes: u64,
        /// Largest part of the pool for the egress queues of a port.
        port_share_bytes: u64,
    },
}

impl Default for PipelineConfig {
    /// Of the paper's 25 us a hop, 12.3 us are the transmission of 1538 B at 1 Gb/s.
    fn default() -> Self {
        Self {
            packets_per_second: 1_000_000,
            latency: Time::from_ns(12_700),
            ingress: capfc::IngressParams::default(),
            full_queue: FullQueue::Drop,
            memory: Memory::Dedicated {
                ingress_bytes: 60_000,
                egress_bytes: 60_000,
            },
        }
    }
}

impl PipelineConfig {
    /// How long the processor takes for a packet.
    pub fn service(&self) -> Time {
        Time::from_ps(1_000_000_000_000 / self.packets_per_second.max(1))
    }
}
