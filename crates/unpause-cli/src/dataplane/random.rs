//! A random sequence: queues of several ports that fill, drain, are paused and fall silent.

use std::path::Path;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::units::Time;
use unpause_scenario::{Error, Run};

use super::sequence::{Counts, Event, Writer};
use super::tape::{Place, Tape};

/// Ports used: the first, the last, and some between.
const PORTS: [u16; 4] = [0, 1, 64, 127];
/// A queue grows no longer.
const LONGEST: usize = 300;
/// The first queue has a quarter of all packets and never fewer than this, so that it persists for ever.
const STANDING: usize = 16;
/// Of 100,000 steps, this many are silences: 10^6 packets take the clock of 2^32 ticks round once.
const SILENCES: u64 = 70;
/// The longest silence, a little less than 2^32 ns, which the clock survives.
const LONGEST_SILENCE_NS: u64 = (1 << 32) - 4096;

struct Lane {
    place: Place,
    /// Of 100 events, this many are arrivals.
    arrivals: u64,
    paused: bool,
}

struct Source {
    rng: Xoshiro256PlusPlus,
    now: u64,
    lanes: Vec<Lane>,
}

impl Source {
    fn below(&mut self, limit: u64) -> u64 {
        self.rng.next_u64() % limit
    }

    /// The time of the next event, and its queue.
    fn step(&mut self) -> usize {
        self.now += 1 + self.below(45);
        if self.below(100_000) < SILENCES {
            self.now += 3_000_000_000 + self.below(LONGEST_SILENCE_NS - 3_000_000_045);
        }
        let lanes = self.lanes.len() as u64;
        let lane = self.below(lanes + lanes / 4).saturating_sub(lanes / 4) as usize;
        if self.below(200) == 0 {
            self.lanes[lane].arrivals = 25 + self.below(40);
        }
        lane
    }
}

/// Writes a sequence of `packets` packets before congestion points of a scheme; of one priority, which has none.
pub fn random(run: &Run, packets: u64, seed: u64, out: &Path) -> Result<Counts, Error> {
    let point = &run.config.scheme.congestion_point;
    let control = run.config.host.control_priority;
    let mut tape = Tape::new(point, control, Writer::create(out)?);
    let data = (0..8).filter(|it| *it != control).step_by(3);
    let priorities: Vec<u8> = data.chain([control]).collect();
    let places = PORTS
        .iter()
        .flat_map(|port| priorities.iter().map(|priority| (*port, *priority)));
    let mut source = Source {
        rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        now: 0,
        lanes: places
            .map(|place| Lane {
                place,
                arrivals: 50,
                paused: false,
            })
            .collect(),
    };
    let mut left = packets;
    while left > 0 {
        let index = source.step();
        let now = Time::from_ns(source.now);
        let lane = &source.lanes[index];
        let (place, paused, arrivals) = (lane.place, lane.paused, lane.arrivals);
        // Mostly what changes something: a PAUSE, and some time later an XON.
        if source.below(1000) < if paused { 20 } else { 2 } {
            let pause = paused == (source.below(10) == 0);
            source.lanes[index].paused = pause;
            tape.pause(now, place, if pause { Event::Pause } else { Event::Resume })?;
        } else if source.below(100) < arrivals && tape.waiting(place) < LONGEST {
            let bytes = 60 + source.below(1459) as u32;
            // Mostly ECT(0); also Not-ECT, ECT(1), and CE from a switch before this one.
            let ecn = match source.below(20) {
                0 => 0,
                1 => 1,
                2 => 3,
                _ => 2,
            };
            tape.arrive(now, place, bytes, ecn);
        } else if !paused
            && (index > 0 || tape.waiting(place) > STANDING)
            && tape.depart(now, place)?.is_some()
        {
            left -= 1;
        }
    }
    tape.finish()
}
