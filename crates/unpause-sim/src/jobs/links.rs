//! The bytes that jobs send over links, counted as packets leave.

use serde::{Deserialize, Serialize};
use unpause_protocols::state_visitor::Show;

use super::records::JobLinkRecord;
use crate::fabric::packet::Packet;
use crate::fabric::ports::{GlobalPort, Ports};

/// The bytes of a job on a link.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Show)]
struct Sent {
    #[show(skip)]
    entry: u16,
    #[show(total)]
    data_packets: u64,
    #[show(total)]
    data_bytes: u64,
    #[show(total)]
    control_bytes: u64,
}

/// Flows of a job with numbers one after the other.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Flows {
    first: u32,
    /// The number after the last.
    end: u32,
    entry: u16,
}

/// The bytes of jobs on the links behind the ports of a shard.
#[derive(Debug, Default, Serialize, Deserialize, Show)]
pub struct JobLinks {
    /// In order of their numbers.
    #[show(skip)]
    flows: Vec<Flows>,
    /// By port, as far as any has sent something: a few jobs each.
    #[show(by = ports.iter_mut().for_each(|port| port.show(visitor)))]
    ports: Vec<Vec<Sent>>,
}

impl JobLinks {
    /// Flow `id`, which comes after all that are known, is a connection of the job of this entry.
    pub fn expect(&mut self, id: u32, entry: u16) {
        match self.flows.last_mut() {
            Some(last) if last.entry == entry && last.end == id => last.end += 1,
            _ => self.flows.push(Flows {
                first: id,
                end: id + 1,
                entry,
            }),
        }
    }

    /// True if flows of jobs are known, which are counted.
    pub fn is_counting(&self) -> bool {
        !self.flows.is_empty()
    }

    /// A packet leaves by a port and takes this many bytes there.
    pub fn count(&mut self, port: GlobalPort, packet: &Packet, wire_bytes: u64) {
        if packet.kind.is_of_link() {
            return;
        }
        let at = self.flows.partition_point(|it| it.end <= packet.flow);
        let Some(of) = self.flows.get(at).filter(|it| it.first <= packet.flow) else {
            return;
        };
        let port = port as usize;
        if self.ports.len() <= port {
            self.ports.resize_with(port + 1, Vec::new);
        }
        let jobs = &mut self.ports[port];
        let known = jobs.iter().position(|it| it.entry == of.entry);
        let known = known.unwrap_or_else(|| {
            jobs.push(Sent {
                entry: of.entry,
                ..Sent::default()
            });
            jobs.len() - 1
        });
        let sent = &mut jobs[known];
        if packet.kind.is_data() {
            sent.data_packets += 1;
            sent.data_bytes += wire_bytes;
        } else {
            sent.control_bytes += wire_bytes
        }
    }

    /// Adds what another shard has counted: each port is in one of them.
    pub fn merge(&mut self, other: Self) {
        if self.ports.len() < other.ports.len() {
            self.ports.resize_with(other.ports.len(), Vec::new);
        }
        for (own, more) in self.ports.iter_mut().zip(other.ports) {
            own.extend(more);
        }
    }

    /// By (entry, node, port).
    pub fn records(&self, ports: &Ports) -> Vec<JobLinkRecord> {
        let of_port = |(port, jobs): (usize, &'_ Vec<Sent>)| {
            let (node, port) = ports.place(port as GlobalPort);
            let record = |it: &Sent| JobLinkRecord {
                entry: it.entry,
                node,
                port,
                data_packets: it.data_packets,
                data_bytes: it.data_bytes,
                control_bytes: it.control_bytes,
            };
            jobs.iter().map(record).collect::<Vec<_>>()
        };
        let all = self.ports.iter().enumerate().flat_map(of_port);
        let mut all: Vec<JobLinkRecord> = all.collect();
        all.sort_unstable_by_key(|it| (it.entry, it.node, it.port));
        all
    }
}
