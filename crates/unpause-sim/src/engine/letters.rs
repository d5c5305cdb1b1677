//! Carries the mail of shards that processes share out among them: between the threads of a process through
//! memory, and in one letter from each process to each other.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use unpause_protocols::units::Time;
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes};

use crate::Error;
use crate::engine::barrier::{self, Barrier};
use crate::engine::exchange::{self, Exchange};
use crate::engine::mail::Mail;
use crate::engine::post::{Post, Status};
use crate::engine::sync::{Mutex, lock};
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
    /// Sends each other rank its letter, and leaves in its place the one that came from there. One thread of
    /// each rank is here at a time.
    fn swap(&self, letters: &mut [Vec<u8>]);
}

/// What a letter begins with; what is for each shard follows.
#[derive(Serialize, Deserialize)]
struct Head {
    /// Of the rank; none if its watcher has ended the run.
    status: Option<Status>,
    /// What it has sampled since it last told of it, to rank 0.
    samples: Vec<PortSample>,
    /// How many parcels there are.
    parcels: u32,
}

/// Mail, the shard that it is for, and how many packets, which are left out, follow.
type Parcel<M> = (u16, u32, M);

/// Bytes of a packet in a letter.
pub const PACKET_BYTES: usize = size_of::<Written>();

/// A packet in a letter, of which most letters have thousands: by its bytes.
#[derive(TryFromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, packed)]
struct Written {
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

impl Written {
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

/// What the threads of a rank share.
pub struct Letters<'r> {
    ranks: &'r dyn Ranks,
    /// Between the threads of this rank.
    here: Exchange,
    /// Where they wait until letters have come.
    arrival: Barrier,
    threads: usize,
    /// From each thread to each shard of other ranks. Written before threads meet, read by the first of them
    /// between that and `arrival`.
    out: Vec<Vec<Mutex<Mail>>>,
    /// For each thread, from other ranks. Written between the two, read after.
    came: Vec<Mutex<Mail>>,
    /// What ranks agreed on: how they are together, or the end.
    agreed: Mutex<Result<Status, Error>>,
    /// Where samples of all ranks go.
    sink: Option<&'r Samples<'r>>,
    /// What this rank has sampled since it last told of it.
    sampled: Mutex<Option<Vec<PortSample>>>,
}

impl<'r> Letters<'r> {
    /// For this many threads in each of `ranks`. At rank 0, `sink` takes what all of them sample.
    pub fn new(ranks: &'r dyn Ranks, threads: usize, sink: Option<&'r Samples<'r>>) -> Self {
        let shards = ranks.count() * threads;
        let mail = |count| (0..count).map(|_| Mutex::new(Mail::default())).collect();
        Self {
            ranks,
            here: Exchange::new(threads),
            arrival: Barrier::new(threads),
            threads,
            out: (0..threads).map(|_| mail(shards)).collect(),
            came: mail(threads),
            agreed: Mutex::new(Ok(Status::IDLE)),
            sink,
            sampled: Mutex::new(None),
        }
    }

    /// The part of a thread; threads are numbered from 0.
    pub fn member(&self, thread: usize) -> Member<'_, 'r> {
        Member {
            letters: self,
            here: self.here.member(),
            _at_arrival: self.arrival.member(),
            paper: (thread == 0).then(|| vec![Vec::new(); self.ranks.count()]),
        }
    }

    /// Takes what all threads of this rank have sampled, to be told with the next letter.
    pub fn tell(&self, samples: Vec<PortSample>) {
        *lock(&self.sampled) = Some(samples);
    }

    /// The shards of a rank.
    fn shards(&self, rank: usize) -> Range<usize> {
        rank * self.threads..(rank + 1) * self.threads
    }

    /// Writes to all other ranks, hears from them, and puts aside what came. `here` is what the threads of
    /// this one agreed on.
    fn correspond(
        &self,
        paper: &mut [Vec<u8>],
        here: Result<Status, Error>,
    ) -> Result<Status, Error> {
        let own = self.ranks.rank();
        let mut sampled = lock(&self.sampled).take();
        let here = here.ok();
        for (rank, letter) in paper.iter_mut().enumerate().filter(|(it, _)| *it != own) {
            let samples = match rank {
                0 => sampled.take().unwrap_or_default(),
                _ => Vec::new(),
            };
            self.write(letter, rank, here, samples);
        }
        self.ranks.swap(paper);
        let mut all = here;
        for (_, letter) in paper.iter().enumerate().filter(|(it, _)| *it != own) {
            let (head, rest): (Head, _) = read(letter);
            self.put_aside(rest, head.parcels);
            all = all.zip(head.status).map(|(a, b)| a.with(b));
            if let Some(sampled) = &mut sampled {
                sampled.extend(head.samples);
            }
        }
        if let Some((sampled, sink)) = sampled.zip(self.sink) {
            sink(in_order(sampled));
        }
        all.ok_or(Error::Interrupted)
    }

    fn write(
        &self,
        letter: &mut Vec<u8>,
        to: usize,
        status: Option<Status>,
        samples: Vec<PortSample>,
    ) {
        let mut sending = Vec::new();
        for from in &self.out {
            let shards = self
                .shards(to)
                .map(|shard| (shard as u16, lock(&from[shard])));
            sending.extend(shards.filter(|(_, mail)| !mail.is_empty()));
        }
        let head = Head {
            status,
            samples,
            parcels: sending.len() as u32,
        };
        letter.clear();
        append(letter, &head);
        for (shard, mut mail) in sending {
            let count = mail.packets.len();
            append::<Parcel<&Mail>>(letter, &(shard, count as u32, &mail));
            letter.reserve(count * PACKET_BYTES);
            for packet in &mail.packets {
                letter.extend_from_slice(Written::of(packet).as_bytes());
            }
            mail.clear();
        }
    }

    fn put_aside(&self, mut rest: &[u8], parcels: u32) {
        let first = self.shards(self.ranks.rank()).start;
        for _ in 0..parcels {
            let ((shard, count, mut mail), behind): (Parcel<Mail>, _) = read(rest);
            let mut came = lock(&self.came[usize::from(shard) - first]);
            came.append(&mut mail);
            let packets = <[Written]>::try_ref_from_prefix_with_elems(behind, count as usize);
            let (packets, behind) = packets.expect(SAME);
            came.packets.extend(packets.iter().map(Written::read));
            rest = behind;
        }
    }
}

/// Writes a value behind what is there.
fn append<T: Serialize>(letter: &mut Vec<u8>, value: &T) {
    let written = postcard::to_extend(value, std::mem::take(letter));
    *letter = written.expect("memory takes it");
}

/// Reads a value, and answers what is behind it.
fn read<'b, T: Deserialize<'b>>(letter: &'b [u8]) -> (T, &'b [u8]) {
    postcard::take_from_bytes(letter).expect(SAME)
}

/// Brings what all ranks have to rank 0, in their order; none at the others.
pub fn gather<T: Serialize + DeserializeOwned>(ranks: &dyn Ranks, own: Vec<T>) -> Option<Vec<T>> {
    let mut letters = vec![Vec::new(); ranks.count()];
    if ranks.rank() != 0 {
        append(&mut letters[0], &own);
        ranks.swap(&mut letters);
        return None;
    }
    ranks.swap(&mut letters);
    let others = letters[1..].iter().flat_map(|it| read::<Vec<T>>(it).0);
    Some(own.into_iter().chain(others).collect())
}

/// A thread's part in [`Letters`].
pub struct Member<'l, 'r> {
    letters: &'l Letters<'r>,
    here: exchange::Member<'l>,
    _at_arrival: barrier::Member<'l>,
    /// A letter for each rank: the first thread writes them.
    paper: Option<Vec<Vec<u8>>>,
}

impl Post for Member<'_, '_> {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Mail]) {
        let letters = self.letters;
        let here = letters.shards(letters.ranks.rank());
        let thread = shard - here.start;
        for (to, mail) in outboxes.iter_mut().enumerate() {
            if !here.contains(&to) && !mail.is_empty() {
                std::mem::swap(mail, &mut lock(&letters.out[thread][to]));
            }
        }
        self.here.send(thread, status, &mut outboxes[here]);
    }

    fn meet(&mut self) -> Result<Status, Error> {
        let here = self.here.meet();
        if let Some(paper) = &mut self.paper {
            let agreed = self.letters.correspond(paper, here);
            *lock(&self.letters.agreed) = agreed;
        }
        let arrival = &self.letters.arrival;
        arrival.wait(arrival.arrive());
        lock(&self.letters.agreed).clone()
    }

    fn deliver(&mut self, shard: usize, mut hand_over: impl FnMut(&mut Mail)) {
        let thread = shard - self.letters.shards(self.letters.ranks.rank()).start;
        self.here.deliver(thread, &mut hand_over);
        hand_over(&mut lock(&self.letters.came[thread]));
    }

    fn interrupt(&mut self) {
        self.here.interrupt();
    }
}
