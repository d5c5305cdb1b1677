//! Queues before a congestion point each, and what happens at them on file.

use std::collections::{BTreeMap, VecDeque};

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_point::{Config, CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::units::Time;
use unpause_scenario::Error;

use super::sequence::{Counts, Event, Record, Writer};

/// Egress port and priority.
pub type Place = (u16, u8);

/// A packet that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    packet: Packet,
    found: Queue,
    ecn: u8,
    mark: bool,
}

/// A FIFO and its congestion point.
#[derive(Debug)]
struct Lane {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    point: CongestionPoint,
}

impl Lane {
    fn queue(&self) -> Queue {
        Queue {
            bytes: self.bytes,
            packets: self.waiting.len() as u32,
        }
    }
}

/// Records departures and changes of PAUSE with the state machine's marks.
#[derive(Debug)]
pub struct Tape {
    config: Config,
    /// The priority without a congestion point.
    control: u8,
    lanes: BTreeMap<Place, Lane>,
    rng: Xoshiro256PlusPlus,
    writer: Writer,
}

/// The smallest frame that is made of a record.
const LEAST_BYTES: u32 = 60;

impl Tape {
    /// Queues that are empty.
    pub fn new(config: &Config, control: u8, writer: Writer) -> Self {
        Self {
            config: config.clone(),
            control,
            lanes: BTreeMap::new(),
            // None of the programs' state machines draws.
            rng: Xoshiro256PlusPlus::seed_from_u64(0),
            writer,
        }
    }

    fn lane(&mut self, place: Place) -> (&mut Lane, &mut Xoshiro256PlusPlus) {
        let rng = &mut self.rng;
        let config = if place.1 == self.control {
            &Config::None
        } else {
            &self.config
        };
        let lane = self.lanes.entry(place).or_insert_with(|| Lane {
            waiting: VecDeque::new(),
            bytes: 0,
            point: CongestionPoint::new(config, rng),
        });
        (lane, rng)
    }

    /// Packets waiting.
    pub fn waiting(&mut self, place: Place) -> usize {
        self.lane(place).0.waiting.len()
    }

    /// A packet comes, with these two bits of ECN.
    pub fn arrive(&mut self, now: Time, place: Place, bytes: u32, ecn: u8) {
        let (lane, rng) = self.lane(place);
        let found = lane.queue();
        let packet = Packet {
            bytes,
            ect: ecn != 0,
            enqueued_at: now,
        };
        let joined = Queue {
            bytes: found.bytes + u64::from(bytes),
            packets: found.packets + 1,
        };
        let verdict = lane.point.on_enqueue(now, &packet, joined, rng);
        lane.bytes = joined.bytes;
        lane.waiting.push_back(Waiting {
            packet,
            found,
            ecn,
            mark: verdict == Verdict::MarkCe,
        });
    }

    /// The packet at the head leaves; answers whether the state machine marks it, `None` if there is none.
    pub fn depart(&mut self, now: Time, place: Place) -> Result<Option<bool>, Error> {
        let (lane, rng) = self.lane(place);
        let Some(head) = lane.waiting.pop_front() else {
            return Ok(None);
        };
        lane.bytes -= u64::from(head.packet.bytes);
        let left = lane.queue();
        let verdict = lane.point.on_dequeue(now, &head.packet, left, rng);
        let mark = head.mark || verdict == Verdict::MarkCe;
        self.writer.push(&Record {
            enqueued_ns: head.packet.enqueued_at.as_ps() / 1000,
            dequeued_ns: now.as_ps() / 1000,
            found: head.found,
            left,
            port: place.0,
            priority: place.1,
            event: Event::Departure,
            bytes: head.packet.bytes.max(LEAST_BYTES),
            ecn: head.ecn,
            mark,
        })?;
        Ok(Some(mark))
    }

    /// A PAUSE takes effect, or ends. Only NP-ECN's program is told.
    pub fn pause(&mut self, now: Time, place: Place, event: Event) -> Result<(), Error> {
        let (lane, _) = self.lane(place);
        let left = lane.queue();
        if event == Event::Pause {
            lane.point.on_pause(now);
        } else {
            lane.point.on_resume(now, left);
        }
        if !matches!(self.config, Config::NpEcn(_)) {
            return Ok(());
        }
        self.writer.push(&Record {
            enqueued_ns: now.as_ps() / 1000,
            dequeued_ns: now.as_ps() / 1000,
            found: left,
            left,
            port: place.0,
            priority: place.1,
            event,
            bytes: LEAST_BYTES,
            ecn: 0,
            mark: false,
        })
    }

    /// Packets that do not wait, so often up to `until` that no wrap of 32 bits of nanoseconds is missed: a
    /// switch that has run since time 0.
    pub fn run_idle(&mut self, until: Time, place: Place) -> Result<(), Error> {
        /// A little less than 2^32 ns, and a whole number of ticks.
        const EVERY: Time = Time::from_ns((1 << 32) - 4096);
        let mut now = EVERY;
        while now < until {
            self.arrive(now, place, LEAST_BYTES, 0);
            self.depart(now, place)?;
            now += EVERY;
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(self) -> Result<Counts, Error> {
        self.writer.finish()
    }
}
