//! Gives the logs of `testbed/dpdk` to the state machines: every mark, CNP and rate that its programs decided by
//! the C library must be what Rust decides on the same arrivals.
//!
//! `replay --period=PS --w-min=Q32 --rate=BPS LOG…`

use std::collections::{BTreeMap, VecDeque};
use std::process::ExitCode;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use unpause_protocols::congestion_control::{Mechanism, Path, pcn as sender};
use unpause_protocols::congestion_point::{Mechanism as _, Packet, Queue, Verdict, np_ecn};
use unpause_protocols::notification::Notification;
use unpause_protocols::notification_point::{Mechanism as _, pcn as receiver};
use unpause_protocols::units::{Fraction, Rate, Time};

/// Parameters that the programs had.
#[derive(Default)]
struct Told {
    period: u64,
    w_min: u64,
    rate: u64,
}

/// A line of a log.
struct Event<'a> {
    time: Time,
    name: &'a str,
    id: u32,
    numbers: [u64; 3],
}

impl<'a> Event<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.split(',');
        let number = |it: Option<&str>| it?.parse::<u64>().ok();
        let time = Time::from_ps(number(fields.next())?);
        let name = fields.next()?;
        let id = number(fields.next())? as u32;
        let numbers = [
            number(fields.next())?,
            number(fields.next())?,
            number(fields.next())?,
        ];
        Some(Self {
            time,
            name,
            id,
            numbers,
        })
    }
}

/// Decisions, and those that were others.
#[derive(Default)]
struct Count {
    decisions: u64,
    others: u64,
}

impl Count {
    fn compare(&mut self, same: bool) {
        self.decisions += 1;
        self.others += u64::from(!same);
    }
}

/// Of a packet that bore CE before a pipeline's program decided.
const UNSEEN: u64 = 2;

/// A switch's queue with NP-ECN.
struct MarkingQueue {
    point: np_ecn::NpEcn,
    waiting: VecDeque<Packet>,
    bytes: u64,
}

impl MarkingQueue {
    fn new(rng: &mut Xoshiro256PlusPlus) -> Self {
        Self {
            point: np_ecn::NpEcn::new(&np_ecn::Params::default(), rng),
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    fn queue(&self) -> Queue {
        Queue {
            bytes: self.bytes,
            packets: self.waiting.len() as u32,
        }
    }

    fn on(&mut self, event: &Event<'_>, rng: &mut Xoshiro256PlusPlus, marks: &mut Count) {
        let (now, [bytes, _, marked]) = (event.time, event.numbers);
        let verdict = match event.name {
            "enqueue" => {
                let packet = Packet {
                    bytes: bytes as u32,
                    ect: true,
                    enqueued_at: now,
                };
                self.waiting.push_back(packet);
                self.bytes += bytes;
                self.point.on_enqueue(now, &packet, self.queue(), rng)
            }
            "dequeue" => {
                let packet = self.waiting.pop_front().expect("what leaves has entered");
                self.bytes -= u64::from(packet.bytes);
                self.point.on_dequeue(now, &packet, self.queue(), rng)
            }
            "pause" => return self.point.on_pause(now),
            "resume" => return self.point.on_resume(now, self.queue()),
            _ => return,
        };
        if marked != UNSEEN {
            marks.compare((verdict == Verdict::MarkCe) == (marked == 1));
        }
    }
}

/// A receiver, and the CNPs that it owes.
struct Receiver {
    point: receiver::Pcn,
    owed: VecDeque<Notification>,
}

impl Receiver {
    fn on(&mut self, event: &Event<'_>, cnps: &mut Count) {
        while self.point.next_timer() <= event.time {
            self.owed
                .extend(self.point.on_timer(self.point.next_timer()));
        }
        let [a, b, _] = event.numbers;
        if event.name == "data" {
            let told = self.point.on_data(event.time, a as u32, b == 1);
            self.owed.extend(told);
        } else {
            cnps.compare(self.owed.pop_front() == Some(message(a, b)));
        }
    }
}

/// A CNP of PCN by its number in the C interface.
fn message(kind: u64, rec_rate: u64) -> Notification {
    Notification::Pcn {
        congested: kind == 3,
        rec_rate: rec_rate as u32,
    }
}

/// Marks, CNPs and rates in a log.
fn replay(log: &str, told: &Told) -> [Count; 3] {
    let rng = &mut Xoshiro256PlusPlus::seed_from_u64(0);
    let mut counts = [Count::default(), Count::default(), Count::default()];
    let [marks, cnps, rates] = &mut counts;
    let mut queues = BTreeMap::new();
    let mut receivers = BTreeMap::new();
    let mut senders = BTreeMap::new();
    for event in log.lines().skip(1).filter_map(Event::parse) {
        match event.name {
            "data" | "cnp_sent" => {
                let params = receiver::Params {
                    period: Time::from_ps(told.period),
                    ..receiver::Params::default()
                };
                let it = receivers.entry(event.id).or_insert_with(|| Receiver {
                    point: receiver::Pcn::new(&params),
                    owed: VecDeque::new(),
                });
                it.on(&event, cnps);
            }
            "cnp" => {
                let params = sender::Params {
                    w_min: Fraction::from_q32(told.w_min),
                    ..sender::Params::default()
                };
                let path = Path::new(Rate::from_bps(told.rate), 1082);
                let law = senders.entry(event.id);
                let law = law.or_insert_with(|| sender::Pcn::new(&params, &path));
                let [kind, rec_rate, rate] = event.numbers;
                law.on_notification(event.time, &message(kind, rec_rate), rng);
                rates.compare(law.rate().as_bps() == rate);
            }
            _ => {
                let queue = queues.entry(event.id);
                let queue = queue.or_insert_with(|| MarkingQueue::new(rng));
                queue.on(&event, rng, marks);
            }
        }
    }
    let unsent = receivers
        .values()
        .map(|receiver| receiver.owed.len() as u64);
    cnps.others += unsent.sum::<u64>();
    counts
}

fn main() -> ExitCode {
    let mut told = Told::default();
    let mut all = [Count::default(), Count::default(), Count::default()];
    for argument in std::env::args().skip(1) {
        let number = |text: &str| text.parse().expect("a number");
        match argument.split_once('=') {
            Some(("--period", text)) => told.period = number(text),
            Some(("--w-min", text)) => told.w_min = number(text),
            Some(("--rate", text)) => told.rate = number(text),
            _ => {
                let log = std::fs::read_to_string(&argument).expect("a log can be read");
                for (all, of_log) in all.iter_mut().zip(replay(&log, &told)) {
                    all.decisions += of_log.decisions;
                    all.others += of_log.others;
                }
            }
        }
    }
    let names = ["marking decisions", "CNPs", "rates"];
    let said = names.iter().zip(&all);
    let said: Vec<_> = said
        .map(|(name, it)| format!("{} {name}, {} others than Rust's", it.decisions, it.others))
        .collect();
    println!("replay: {}", said.join("; "));
    let good = all.iter().all(|it| it.decisions > 0 && it.others == 0);
    ExitCode::from(u8::from(!good))
}
