//! Real time: each shard is a thread that does what is due when it is due.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::exchange::{Batch, Exchange, GlobalPort, NextEvents, Ports, Status, Worker};
use unpause_sim::{Error, Progress, Watch};

use super::Veth;
use super::socket::PacketSocket;
use crate::codec::Codec;
use crate::split::Split;
use crate::tally::Tally;

/// A thread that has nothing due sleeps at least this long.
const REST: Duration = Duration::from_micros(20);
/// And at most this long.
const NAP: Duration = Duration::from_micros(500);
/// From when all threads are there until time begins.
const START: Duration = Duration::from_millis(20);
/// Between two calls of the watcher.
const WATCH: Duration = Duration::from_millis(50);

/// How late frames were sent: after the time at which their node would have sent them, had it been alone on
/// the machine.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    /// Lateness of each frame, microseconds, in order.
    pub sorted_us: Vec<u32>,
    /// Frames that came when their receiver had gone beyond their arrival.
    pub too_late: u64,
    /// The settings that the kernel did not permit.
    pub not_permitted: Vec<&'static str>,
}

impl Lateness {
    /// So many per cent of all frames were not later than this, microseconds.
    pub fn percentile(&self, percent: usize) -> u32 {
        let last = self.sorted_us.len().saturating_sub(1);
        let at = last * percent / 100;
        self.sorted_us.get(at).copied().unwrap_or(0)
    }
}

/// Nodes in real time over virtual Ethernet.
pub struct WallClock<'c> {
    config: &'c Config,
    split: &'c Split,
    veth: Veth,
}

impl<'c> WallClock<'c> {
    /// Over the wires of `veth`, which are those of `split`.
    pub fn new(config: &'c Config, split: &'c Split, veth: Veth) -> Self {
        Self {
            config,
            split,
            veth,
        }
    }

    /// Drives all shards until the end of the run; returns its results.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] if `watch` said so; [`Error::Exchange`] if frames cannot be sent.
    pub fn drive(
        mut self,
        workers: &mut [Worker<'_>],
        watch: &mut Watch<'_>,
    ) -> Result<(Tally, Lateness), Error> {
        let ports = Ports::new(&self.config.fabric);
        let shared = Shared {
            config: self.config,
            inboxes: workers
                .iter()
                .map(|_| Mutex::new(Batch::default()))
                .collect(),
            ready: Barrier::new(workers.len() + 1),
            origin_ns: Mutex::new(0),
            ended: AtomicBool::new(false),
        };
        let mut not_permitted = Vec::new();
        // SAFETY: no pointers are passed.
        if unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } != 0 {
            not_permitted.push("to keep memory from being paged out (mlockall)");
        }
        let sockets = self.veth.by_share(self.split, &ports);
        let mut stations = Vec::with_capacity(workers.len());
        for sockets in sockets {
            stations.push(Station::new(&shared, sockets)?);
        }
        let ended = thread::scope(|scope| {
            let threads = workers.iter_mut().zip(&mut stations);
            let threads: Vec<_> = threads
                .map(|(worker, station)| scope.spawn(|| station.run(worker)))
                .collect();
            shared.begin();
            let watched = shared.watch(watch);
            let joined = threads.into_iter().map(|thread| {
                let done = thread.join();
                done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            let all: Vec<Result<bool, Error>> = joined.collect();
            watched.map(|()| all)
        });
        // SAFETY: no pointers are passed.
        unsafe { libc::munlockall() };
        let ended = ended?.into_iter().collect::<Result<Vec<bool>, Error>>()?;
        if ended.contains(&false) {
            not_permitted.push("to go before other processes (SCHED_FIFO)");
        }
        // Frames that are still in flight belong to the receiver.
        for (worker, station) in workers.iter_mut().zip(&mut stations) {
            worker.receive(station);
        }
        let (mut tally, lateness) = sum(stations, not_permitted);
        tally.spent = Duration::from_nanos(self.config.stop.as_ps() / 1000);
        Ok((tally, lateness))
    }
}

fn sum(stations: Vec<Station<'_>>, not_permitted: Vec<&'static str>) -> (Tally, Lateness) {
    let mut tally = Tally::default();
    let mut lateness = Lateness {
        not_permitted,
        ..Lateness::default()
    };
    let (mut came, mut data_came, mut data_sent) = (0, 0, 0);
    for mut station in stations {
        tally.add(&station.tally);
        lateness.sorted_us.append(&mut station.late_us);
        lateness.too_late += station.too_late;
        came += station.came;
        data_came += station.data_came;
        data_sent += station.data_sent;
        super::namespace::at_once(station.sockets, drop);
    }
    lateness.sorted_us.sort_unstable();
    tally.lost = tally.frames.saturating_sub(came);
    tally.lost_data = data_sent - data_came;
    (tally, lateness)
}

/// State shared by the threads.
struct Shared<'c> {
    config: &'c Config,
    /// By shard: flows to come.
    inboxes: Vec<Mutex<Batch>>,
    ready: Barrier,
    /// The time of day at which simulated time begins, ns.
    origin_ns: Mutex<u64>,
    ended: AtomicBool,
}

impl Shared<'_> {
    /// Lets time begin, when all threads know the first flows.
    fn begin(&self) {
        // Read them; hand them over; take them.
        self.ready.wait();
        self.ready.wait();
        let mut origin = self
            .origin_ns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *origin = time_of_day() + START.as_nanos() as u64;
        drop(origin);
        self.ready.wait();
    }

    /// Calls the watcher until the run is over.
    fn watch(&self, watch: &mut Watch<'_>) -> Result<(), Error> {
        let origin = *self
            .origin_ns
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        loop {
            let now = since(origin, time_of_day());
            if now >= self.config.stop || self.ended.load(Ordering::Relaxed) {
                return Ok(());
            }
            let progress = Progress {
                now,
                packet_hops: 0,
                windows: 0,
            };
            if watch(progress).is_break() {
                self.ended.store(true, Ordering::Relaxed);
                return Err(Error::Interrupted);
            }
            thread::sleep(WATCH);
        }
    }
}

fn time_of_day() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Simulated time at a time of day.
fn since(origin_ns: u64, at_ns: u64) -> Time {
    Time::from_ns(at_ns.saturating_sub(origin_ns))
}

/// A thread's shard, with its ports.
struct Station<'s> {
    shared: &'s Shared<'s>,
    codec: Codec<'s>,
    sockets: Vec<(GlobalPort, PacketSocket)>,
    origin_ns: u64,
    /// The time up to which its nodes have been run.
    reached: Time,
    /// By port: when the last bit of the last frame was in.
    line_free: Vec<Time>,
    batch: Batch,
    frame: Vec<u8>,
    tally: Tally,
    late_us: Vec<u32>,
    too_late: u64,
    came: u64,
    data_came: u64,
    data_sent: u64,
    failed: Option<String>,
}

impl<'s> Station<'s> {
    fn new(
        shared: &'s Shared<'s>,
        sockets: Vec<(GlobalPort, PacketSocket)>,
    ) -> Result<Self, Error> {
        let codec = Codec::new(shared.config).map_err(Error::Exchange)?;
        let ports = codec.ports().transmitters.len();
        Ok(Self {
            shared,
            codec,
            sockets,
            origin_ns: 0,
            reached: Time::ZERO,
            line_free: vec![Time::ZERO; ports],
            batch: Batch::default(),
            frame: vec![0; Codec::longest(shared.config)],
            tally: Tally::default(),
            // Half a million frames before it has to grow.
            late_us: Vec::with_capacity(1 << 19),
            too_late: 0,
            came: 0,
            data_came: 0,
            data_sent: 0,
            failed: None,
        })
    }

    /// Runs to the end; answers whether the thread may go before others.
    fn run(&mut self, worker: &mut Worker<'_>) -> Result<bool, Error> {
        let urgent = be_urgent();
        let begun = worker.advance(Time::ZERO);
        worker.send(self);
        self.shared.ready.wait();
        worker.receive(self);
        self.shared.ready.wait();
        self.shared.ready.wait();
        let origin = &self.shared.origin_ns;
        self.origin_ns = *origin.lock().unwrap_or_else(PoisonError::into_inner);
        let done = begun.and_then(|()| self.until_the_end(worker));
        if done.is_err() {
            self.shared.ended.store(true, Ordering::Relaxed);
        }
        done.map(|()| urgent)
    }

    fn until_the_end(&mut self, worker: &mut Worker<'_>) -> Result<(), Error> {
        let stop = self.shared.config.stop;
        while self.reached < stop && !self.shared.ended.load(Ordering::Relaxed) {
            worker.receive(self);
            // Frames that were sent before now may be in the ring only in a moment; their links are longer.
            let now = since(self.origin_ns, time_of_day()).min(stop);
            worker.advance(now)?;
            self.reached = now;
            worker.send(self);
            if let Some(why) = self.failed.take() {
                return Err(Error::Exchange(why));
            }
            let now = since(self.origin_ns, time_of_day());
            let until = worker.next().min(stop).saturating_sub(now);
            let until = Duration::from_nanos(until.as_ps() / 1000);
            thread::sleep(until.clamp(REST, NAP));
        }
        Ok(())
    }

    fn take(&mut self, port: GlobalPort, bytes: &[u8], at_ns: u64) {
        let mut packet = match self.codec.decode(port, bytes) {
            Ok(packet) => packet,
            Err(refusal) => return self.tally.refuse(port, refusal),
        };
        self.came += 1;
        self.data_came += u64::from(packet.kind.is_data());
        let ports = self.codec.ports();
        let link = &ports.transmitters[port as usize];
        let lasts = link.speed.time_for(ports.wire_bytes(&packet));
        // The line takes one frame after the other, and each for as long as its bytes last.
        let free = &mut self.line_free[port as usize];
        *free = since(self.origin_ns, at_ns).max(*free) + lasts;
        let arrival = *free + link.delay;
        let late = arrival.saturating_sub(packet.time);
        self.late_us.push((late.as_ps() / 1_000_000) as u32);
        if arrival < self.reached {
            self.too_late += 1;
        }
        packet.time = arrival.max(self.reached);
        self.batch.packets.push((port, packet));
    }
}

impl Exchange for Station<'_> {
    fn send(&mut self, _shard: usize, _status: Status, outboxes: &mut [Batch]) {
        for (batch, inbox) in outboxes.iter_mut().zip(&self.shared.inboxes) {
            for (port, packet) in batch.packets.drain(..) {
                let length = self.codec.encode(port, &packet, &mut self.frame);
                let from = self.codec.ports().transmitters[port as usize].peer_port;
                let socket = self.sockets.iter().find(|(own, _)| *own == from);
                let sent = length
                    .map_err(|error| error.to_string())
                    .and_then(|length| {
                        let (_, socket) = socket.ok_or("a port without a wire")?;
                        self.tally.sent(packet.kind, length);
                        self.data_sent += u64::from(packet.kind.is_data());
                        let sent = socket.send(&self.frame[..length]);
                        sent.map_err(|error| error.to_string())
                    });
                if let Err(error) = sent {
                    self.failed = Some(format!("a frame cannot be sent: {error}"));
                }
            }
            if !batch.is_empty() {
                let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
                inbox.append(batch);
            }
        }
    }

    /// Waits for no other thread.
    fn synchronize(&mut self) -> Result<Status, Error> {
        Ok(Status::due(NextEvents::both(self.reached)))
    }

    fn deliver(&mut self, shard: usize, mut take: impl FnMut(&mut Batch)) {
        let inbox = &self.shared.inboxes[shard];
        let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
        self.batch.append(&mut inbox);
        drop(inbox);
        let mut sockets = std::mem::take(&mut self.sockets);
        for (port, socket) in &mut sockets {
            let mut take = |bytes: &[u8], at_ns| {
                self.take(*port, bytes, at_ns);
                true
            };
            while socket.receive(&mut take).is_some() {}
        }
        self.sockets = sockets;
        take(&mut self.batch);
    }

    fn interrupt(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }
}

/// Lets this thread go before others; false if that is not permitted.
fn be_urgent() -> bool {
    let priority = libc::sched_param { sched_priority: 10 };
    // SAFETY: the structure is there, and 0 is this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const priority) == 0 }
}
