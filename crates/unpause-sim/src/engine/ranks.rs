//! Exchange between shards that are distributed over processes: between the threads of a process through memory, and in one
//! message from each process to each other.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

use crate::Error;
use crate::engine::barrier::{self, Barrier};
use crate::engine::batch::Batch;
use crate::engine::exchange::{Exchange, Status};
use crate::engine::sync::{Mutex, lock};
use crate::engine::threads::{self, ThreadExchange};
use crate::fabric::NodeId;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::GlobalPort;
use crate::outcome::results::PortSample;
use crate::outcome::series::{Samples, in_order};

const SAME: &str = "all ranks are the same program";

/// The processes of a run, numbered from 0. All of them do the same in the same order.
pub trait Ranks: Sync {
    /// Number of this one.
    fn rank(&self) -> usize;
    /// How many there are.
    fn count(&self) -> usize;
    /// Sends each other rank the message at its place, and leaves there the one that has come from it. One thread of each rank
    /// is here at a time.
    fn exchange(&self, buffers: &mut [Vec<u8>]);
}

/// The head of a message; sections for shards follow.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Of the rank; `None` if its watcher has ended the run.
    status: Option<Status>,
    /// Samples since its last message, for rank 0.
    samples: Vec<PortSample>,
    /// How many sections there are.
    sections: u32,
}

/// The shard that a batch is for, how many packets follow, and the batch without them.
type Section<M> = (u16, u32, M);

/// Bytes of a packet in a message.
pub const PACKET_BYTES: usize = size_of::<PacketBytes>();

/// A packet in a message, of which most messages have thousands: by its bytes.
#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
struct PacketBytes {
    port: GlobalPort,
    time: u64,
    stamp: u64,
    flow: u32,
    seq: u32,
    src: NodeId,
    dst: NodeId,
    slot: u32,
    aux: u32,
    bytes: u16,
    source_port: u16,
    ingress: u16,
    kind: Kind,
    bits: u8,
}

impl PacketBytes {
    fn of(&(port, packet): &(GlobalPort, Packet)) -> Self {
        Self {
            port,
            time: packet.time.as_ps(),
            stamp: packet.stamp,
            flow: packet.flow,
            seq: packet.seq,
            src: packet.src,
            dst: packet.dst,
            slot: packet.slot,
            aux: packet.aux,
            bytes: packet.bytes,
            source_port: packet.source_port,
            ingress: packet.ingress,
            kind: packet.kind,
            bits: packet.bits,
        }
    }

    fn read(&self) -> (GlobalPort, Packet) {
        let packet = Packet {
            time: Time::from_ps(self.time),
            stamp: self.stamp,
            flow: self.flow,
            seq: self.seq,
            src: self.src,
            dst: self.dst,
            slot: self.slot,
            aux: self.aux,
            bytes: self.bytes,
            source_port: self.source_port,
            ingress: self.ingress,
            kind: self.kind,
            bits: self.bits,
        };
        (self.port, packet)
    }
}

/// The exchange that the threads of a rank share.
pub struct RankExchange<'r> {
    ranks: &'r dyn Ranks,
    /// Between the threads of this rank.
    here: ThreadExchange,
    /// Where they wait until messages have come.
    arrival: Barrier,
    threads: usize,
    /// From each thread to each shard of other ranks. Written before threads synchronize, read by the first of them between that
    /// and `arrival`.
    out: Vec<Vec<Mutex<Batch>>>,
    /// For each thread, from other ranks. Written between the two, read after.
    came: Vec<Mutex<Batch>>,
    /// The agreement of the ranks: their common status, or the end.
    agreed: Mutex<Result<Status, Error>>,
    /// Where samples of all ranks go.
    sink: Option<&'r Samples<'r>>,
    /// Samples of this rank since its last message.
    sampled: Mutex<Option<Vec<PortSample>>>,
}

impl<'r> RankExchange<'r> {
    /// For this many threads in each of `ranks`. At rank 0, `sink` takes what all of them sample.
    pub fn new(ranks: &'r dyn Ranks, threads: usize, sink: Option<&'r Samples<'r>>) -> Self {
        let shards = ranks.count() * threads;
        let batch = |count| (0..count).map(|_| Mutex::new(Batch::default())).collect();
        Self {
            ranks,
            here: ThreadExchange::new(threads),
            arrival: Barrier::new(threads),
            threads,
            out: (0..threads).map(|_| batch(shards)).collect(),
            came: batch(threads),
            agreed: Mutex::new(Ok(Status::IDLE)),
            sink,
            sampled: Mutex::new(None),
        }
    }

    /// The part of a thread; threads are numbered from 0.
    pub fn member(&self, thread: usize) -> Member<'_, 'r> {
        Member {
            exchange: self,
            here: self.here.member(),
            _at_arrival: self.arrival.member(),
            buffers: (thread == 0).then(|| vec![Vec::new(); self.ranks.count()]),
        }
    }

    /// Takes what all threads of this rank have sampled, for the next message.
    pub fn add_samples(&self, samples: Vec<PortSample>) {
        *lock(&self.sampled) = Some(samples);
    }

    /// The shards of a rank.
    fn shards(&self, rank: usize) -> Range<usize> {
        rank * self.threads..(rank + 1) * self.threads
    }

    /// Sends to all other ranks, receives from them, and keeps what has come for the threads of this one, which agreed on
    /// `here`.
    fn exchange_ranks(
        &self,
        buffers: &mut [Vec<u8>],
        here: Result<Status, Error>,
    ) -> Result<Status, Error> {
        let own = self.ranks.rank();
        let mut sampled = lock(&self.sampled).take();
        let here = here.ok();
        for (rank, buffer) in buffers.iter_mut().enumerate().filter(|(it, _)| *it != own) {
            let samples = match rank {
                0 => sampled.take().unwrap_or_default(),
                _ => Vec::new(),
            };
            self.write(buffer, rank, here, samples);
        }
        self.ranks.exchange(buffers);
        let mut all = here;
        for (_, buffer) in buffers.iter().enumerate().filter(|(it, _)| *it != own) {
            let (header, rest): (Header, _) = read(buffer);
            self.keep(rest, header.sections);
            all = all.zip(header.status).map(|(a, b)| a.with(b));
            if let Some(sampled) = &mut sampled {
                sampled.extend(header.samples);
            }
        }
        if let Some((sampled, sink)) = sampled.zip(self.sink) {
            sink(in_order(sampled));
        }
        all.ok_or(Error::Interrupted)
    }

    fn write(
        &self,
        buffer: &mut Vec<u8>,
        to: usize,
        status: Option<Status>,
        samples: Vec<PortSample>,
    ) {
        let mut sending = Vec::new();
        for from in &self.out {
            let shards = self
                .shards(to)
                .map(|shard| (shard as u16, lock(&from[shard])));
            sending.extend(shards.filter(|(_, batch)| !batch.is_empty()));
        }
        let header = Header {
            status,
            samples,
            sections: sending.len() as u32,
        };
        buffer.clear();
        append(buffer, &header);
        for (shard, mut batch) in sending {
            let count = batch.packets.len();
            append::<Section<&Batch>>(buffer, &(shard, count as u32, &batch));
            buffer.reserve(count * PACKET_BYTES);
            for packet in &batch.packets {
                buffer.extend_from_slice(PacketBytes::of(packet).as_bytes());
            }
            batch.clear();
        }
    }

    fn keep(&self, mut rest: &[u8], sections: u32) {
        let first = self.shards(self.ranks.rank()).start;
        for _ in 0..sections {
            let ((shard, count, mut batch), behind): (Section<Batch>, _) = read(rest);
            let mut came = lock(&self.came[usize::from(shard) - first]);
            came.append(&mut batch);
            let packets = <[PacketBytes]>::try_ref_from_prefix_with_elems(behind, count as usize);
            let (packets, behind) = packets.expect(SAME);
            came.packets.extend(packets.iter().map(PacketBytes::read));
            rest = behind;
        }
    }
}

/// Appends a value.
fn append<T: Serialize>(buffer: &mut Vec<u8>, value: &T) {
    let written = postcard::to_extend(value, std::mem::take(buffer));
    *buffer = written.expect("memory takes it");
}

/// Reads a value, and returns what follows it.
fn read<'b, T: Deserialize<'b>>(buffer: &'b [u8]) -> (T, &'b [u8]) {
    postcard::take_from_bytes(buffer).expect(SAME)
}

/// Collects what all ranks have at rank 0, in their order; `None` at the others.
pub fn gather<T: Serialize + DeserializeOwned>(ranks: &dyn Ranks, own: Vec<T>) -> Option<Vec<T>> {
    let mut buffers = vec![Vec::new(); ranks.count()];
    if ranks.rank() != 0 {
        append(&mut buffers[0], &own);
        ranks.exchange(&mut buffers);
        return None;
    }
    ranks.exchange(&mut buffers);
    let others = buffers[1..].iter().flat_map(|it| read::<Vec<T>>(it).0);
    Some(own.into_iter().chain(others).collect())
}

/// A thread's part in [`RankExchange`].
pub struct Member<'l, 'r> {
    exchange: &'l RankExchange<'r>,
    here: threads::Member<'l>,
    _at_arrival: barrier::Member<'l>,
    /// A message for each rank: the first thread writes them.
    buffers: Option<Vec<Vec<u8>>>,
}

impl Exchange for Member<'_, '_> {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Batch]) {
        let exchange = self.exchange;
        let here = exchange.shards(exchange.ranks.rank());
        let thread = shard - here.start;
        for (to, batch) in outboxes.iter_mut().enumerate() {
            if !here.contains(&to) && !batch.is_empty() {
                std::mem::swap(batch, &mut lock(&exchange.out[thread][to]));
            }
        }
        self.here.send(thread, status, &mut outboxes[here]);
    }

    fn synchronize(&mut self) -> Result<Status, Error> {
        let here = self.here.synchronize();
        if let Some(buffers) = &mut self.buffers {
            let agreed = self.exchange.exchange_ranks(buffers, here);
            *lock(&self.exchange.agreed) = agreed;
        }
        let arrival = &self.exchange.arrival;
        arrival.wait(arrival.arrive());
        lock(&self.exchange.agreed).clone()
    }

    fn deliver(&mut self, shard: usize, mut take: impl FnMut(&mut Batch)) {
        let thread = shard - self.exchange.shards(self.exchange.ranks.rank()).start;
        self.here.deliver(thread, &mut take);
        take(&mut lock(&self.exchange.came[thread]));
    }

    fn interrupt(&mut self) {
        self.here.interrupt();
    }
}
