//! How much ingress and egress queues of a pipelined switch hold.

use crate::config::Memory as Limits;
use crate::fabric::PortId;

/// The part of the switch's memory that is in use.
#[derive(Clone, Debug)]
pub struct Memory {
    limits: Limits,
    /// With a pool: bytes of each ingress (port, class) that are anywhere in the switch.
    stored: Vec<u64>,
    /// Bytes of the pool that are taken.
    pool: u64,
    /// The same as egress queues count them: in total, and by port.
    egress: u64,
    egress_of_port: Vec<u64>,
}

impl Memory {
    /// Nothing in use.
    pub fn new(limits: Limits, ports: usize, classes: usize) -> Self {
        Self {
            limits,
            stored: vec![0; ports * classes],
            pool: 0,
            egress: 0,
            egress_of_port: vec![0; ports],
        }
    }

    /// Takes memory for a packet that comes in, where `waiting` bytes of its ingress queue `index`
    /// have not reached their egress queues; false if there is none.
    #[inline]
    pub fn admit(&mut self, index: usize, waiting: u64, size: u64) -> bool {
        match self.limits {
            Limits::Dedicated { ingress_bytes, .. } => waiting + size <= ingress_bytes,
            Limits::Shared {
                queue_bytes,
                pool_bytes,
                ..
            } => {
                let stored = &mut self.stored[index];
                let more = beyond(*stored + size, queue_bytes) - beyond(*stored, queue_bytes);
                let fits = self.pool + more <= pool_bytes;
                if fits {
                    self.pool += more;
                    *stored += size;
                }
                fits
            }
        }
    }

    /// Gives back what a packet took when it came in by ingress queue `index`.
    #[inline]
    pub fn free(&mut self, index: usize, size: u64) {
        if let Limits::Shared { queue_bytes, .. } = self.limits {
            let stored = &mut self.stored[index];
            self.pool -= beyond(*stored, queue_bytes) - beyond(*stored - size, queue_bytes);
            *stored -= size;
        }
    }

    /// True if a packet may join an egress queue of `waiting` bytes at `port`.
    #[inline]
    pub fn fits(&self, port: PortId, waiting: u64, size: u64) -> bool {
        match self.limits {
            // Algorithm 1, line 2: a packet that would make the queue as long as MAX is too much.
            Limits::Dedicated { egress_bytes, .. } => waiting + size < egress_bytes,
            Limits::Shared {
                queue_bytes,
                pool_bytes,
                queue_share_bytes,
                port_share_bytes,
            } => {
                let share = beyond(waiting + size, queue_bytes);
                let more = share - beyond(waiting, queue_bytes);
                let of_port = self.egress_of_port[port as usize];
                more == 0
                    || share <= queue_share_bytes
                        && of_port + more <= port_share_bytes
                        && self.egress + more <= pool_bytes
            }
        }
    }

    /// A packet joins an egress queue of `waiting` bytes at `port`.
    #[inline]
    pub fn join(&mut self, port: PortId, waiting: u64, size: u64) {
        if let Limits::Shared { queue_bytes, .. } = self.limits {
            let more = beyond(waiting + size, queue_bytes) - beyond(waiting, queue_bytes);
            self.egress_of_port[port as usize] += more;
            self.egress += more;
        }
    }

    /// A packet leaves an egress queue at `port`, in which `waiting` bytes are left.
    #[inline]
    pub fn leave(&mut self, port: PortId, waiting: u64, size: u64) {
        if let Limits::Shared { queue_bytes, .. } = self.limits {
            let less = beyond(waiting + size, queue_bytes) - beyond(waiting, queue_bytes);
            self.egress_of_port[port as usize] -= less;
            self.egress -= less;
        }
    }
}

/// The part of `bytes` that a queue's own memory does not hold.
fn beyond(bytes: u64, own: u64) -> u64 {
    bytes.saturating_sub(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Limits = Limits::Shared {
        queue_bytes: 8_000,
        pool_bytes: 350_000,
        queue_share_bytes: 80_000,
        port_share_bytes: 100_000,
    };

    /// Packets of 1000 B that fit into the queue of a class of port 0, and join it.
    fn fill(memory: &mut Memory, waiting: &mut u64, port: PortId) -> u64 {
        let mut packets = 0;
        while memory.fits(port, *waiting, 1_000) {
            memory.join(port, *waiting, 1_000);
            *waiting += 1_000;
            packets += 1;
        }
        packets
    }

    #[test]
    fn egress_queues_are_limited_each_by_port_and_in_all() {
        let mut memory = Memory::new(PAPER, 8, 3);
        let mut queues = [[0; 3]; 8];
        // 8 own and 80 of the pool, 8 and the port's other 20, 8.
        let packets = queues[0].each_mut().map(|it| fill(&mut memory, it, 0));
        assert_eq!(packets, [88, 28, 8]);
        for port in 1..8_u16 {
            let packets = queues[port as usize]
                .each_mut()
                .map(|it| fill(&mut memory, it, port));
            let expected = match port {
                1 | 2 => [88, 28, 8],
                // 50 of the pool are left.
                3 => [58, 8, 8],
                _ => [8, 8, 8],
            };
            assert_eq!(packets, expected, "port {port}");
        }
        for port in 0..8_u16 {
            for waiting in &mut queues[port as usize] {
                while *waiting > 0 {
                    *waiting -= 1_000;
                    memory.leave(port, *waiting, 1_000);
                }
            }
        }
        assert_eq!(
            (memory.egress, &memory.egress_of_port[..]),
            (0, &[0; 8][..])
        );
    }

    #[test]
    fn the_pool_is_taken_at_the_ingress_and_given_back_when_a_packet_leaves() {
        let mut memory = Memory::new(PAPER, 8, 3);
        let admitted = (0..1_000).take_while(|_| memory.admit(0, 0, 1_000)).count();
        assert_eq!((admitted, memory.pool), (358, 350_000));
        assert_eq!((0..9).filter(|_| memory.admit(1, 0, 1_000)).count(), 8);
        (0..358).for_each(|_| memory.free(0, 1_000));
        assert_eq!((memory.pool, memory.stored[0]), (0, 0));
        assert!(memory.admit(1, 0, 1_000));
        assert_eq!(memory.pool, 1_000);
    }

    #[test]
    fn dedicated_memory_counts_what_waits() {
        let limits = Limits::Dedicated {
            ingress_bytes: 10_000,
            egress_bytes: 5_000,
        };
        let mut memory = Memory::new(limits, 2, 1);
        assert!(memory.admit(0, 9_000, 1_000) && !memory.admit(0, 9_001, 1_000));
        assert!(memory.fits(0, 3_999, 1_000) && !memory.fits(0, 4_000, 1_000));
    }
}
