//! Simulated time, real frames.

use std::time::Instant;

use unpause_sim::Error;
use unpause_sim::config::Config;
use unpause_sim::exchange::{Batch, Exchange, GlobalPort, Packet, Sequential, Status};

use crate::codec::Codec;
use crate::medium::Medium;
use crate::split::Split;
use crate::tally::Tally;

/// Carries packets between shards as frames over a [`Medium`]. All frames of a window are sent, and received
/// again, before the next begins. What is not of packets (flows to come) goes through memory, as
/// connections are set up beside the data path.
pub struct LockStep<'c, M> {
    codec: Codec<'c>,
    medium: M,
    inner: Sequential,
    tally: Tally,
    /// The error that ended the run.
    failed: Option<String>,
    frame: Vec<u8>,
    sending: Vec<(GlobalPort, Packet)>,
    /// By port: frames under way.
    under_way: Vec<usize>,
    /// Data packets among them.
    data_under_way: Vec<usize>,
    /// Ports with frames under way.
    touched: Vec<GlobalPort>,
}

impl<'c, M: Medium> LockStep<'c, M> {
    /// Over the wires of `medium`, which are those of `split`.
    ///
    /// # Errors
    ///
    /// There is no such traffic.
    pub fn new(config: &'c Config, split: &Split, medium: M) -> Result<Self, String> {
        let codec = Codec::new(config)?;
        let ports = codec.ports().transmitters.len();
        Ok(Self {
            codec,
            medium,
            inner: Sequential::new(split.shards),
            tally: Tally::default(),
            failed: None,
            frame: vec![0; Codec::longest(config)],
            sending: Vec::new(),
            under_way: vec![0; ports],
            data_under_way: vec![0; ports],
            touched: Vec::new(),
        })
    }

    /// The counts of the run.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The medium that packets travel over.
    pub fn medium(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Sends all packets of a batch; those that have come are in it afterwards, and no others.
    fn cross(&mut self, batch: &mut Batch) -> Result<(), String> {
        let mut sending = std::mem::take(&mut self.sending);
        std::mem::swap(&mut sending, &mut batch.packets);
        for (port, packet) in sending.drain(..) {
            let length = self
                .codec
                .encode(port, &packet, &mut self.frame)
                .map_err(|error| format!("a packet does not fit into a frame: {error}"))?;
            let sent = self.medium.send(port, &self.frame[..length]);
            sent.map_err(|error| format!("a frame cannot be sent: {error}"))?;
            self.tally.sent(packet.kind, length);
            let under_way = &mut self.under_way[port as usize];
            if *under_way == 0 {
                self.touched.push(port);
            }
            *under_way += 1;
            self.data_under_way[port as usize] += usize::from(packet.kind.is_data());
            if *under_way >= self.medium.capacity() {
                self.receive(port, batch)?;
            }
        }
        self.sending = sending;
        while let Some(port) = self.touched.pop() {
            self.receive(port, batch)?;
        }
        Ok(())
    }

    fn receive(&mut self, port: GlobalPort, batch: &mut Batch) -> Result<(), String> {
        let expected = std::mem::take(&mut self.under_way[port as usize]);
        let data = std::mem::take(&mut self.data_under_way[port as usize]);
        let before = batch.packets.len();
        let (codec, tally) = (&mut self.codec, &mut self.tally);
        let mut take = |bytes: &[u8]| match codec.decode(port, bytes) {
            Ok(packet) => {
                batch.packets.push((port, packet));
                true
            }
            Err(refusal) => {
                tally.refuse(port, refusal);
                false
            }
        };
        let received = self.medium.receive(port, expected, &mut take);
        received.map_err(|error| format!("frames cannot be received: {error}"))?;
        let came = &batch.packets[before..];
        self.tally.lost += expected.saturating_sub(came.len()) as u64;
        let came = came.iter().filter(|(_, packet)| packet.kind.is_data());
        self.tally.lost_data += data.saturating_sub(came.count()) as u64;
        Ok(())
    }
}

impl<M: Medium> Exchange for LockStep<'_, M> {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Batch]) {
        let start = Instant::now();
        for batch in outboxes
            .iter_mut()
            .filter(|outbox| !outbox.packets.is_empty())
        {
            if self.failed.is_none() {
                self.failed = self.cross(batch).err();
            }
        }
        self.tally.spent += start.elapsed();
        self.inner.send(shard, status, outboxes);
    }

    fn synchronize(&mut self) -> Result<Status, Error> {
        match self.failed.take() {
            Some(why) => Err(Error::Exchange(why)),
            None => self.inner.synchronize(),
        }
    }

    fn deliver(&mut self, shard: usize, take: impl FnMut(&mut Batch)) {
        self.inner.deliver(shard, take);
    }

    fn interrupt(&mut self) {
        self.inner.interrupt();
    }

    fn lost_data_packets(&self) -> u64 {
        self.tally.lost_data
    }
}
