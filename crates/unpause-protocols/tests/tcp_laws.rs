//! Window-based senders against what theory says of them, on one link with a fixed propagation delay.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeSet, VecDeque};
use unpause_protocols::congestion_control::{Config, CongestionControl, dctcp};
use unpause_protocols::congestion_point::{
    self, CongestionPoint, Packet, Queue, Verdict, dctcp_red, ecn_sharp,
};
use unpause_protocols::loss_recovery::echo;
use unpause_protocols::loss_recovery::newreno::{self, Ack, Segment};
use unpause_protocols::units::{Fraction, Rate, Time};

const MSS: u64 = 1500;

struct Waiting {
    segment: Segment,
    since: Time,
    sent: Time,
    ce: bool,
}

/// One flow over one queue. The queue serves a packet per slot; everything else takes `delay` in total.
struct Link {
    sender: newreno::Sender<CongestionControl>,
    echo: echo::Echo,
    cp: CongestionPoint,
    slot: Time,
    delay: Time,
    queue: VecDeque<Waiting>,
    free_at: Time,
    /// (arrival, acknowledged, ECE, sent), in order.
    acks: VecDeque<(Time, u64, bool, Time)>,
    /// The first byte that the receiver lacks, and the segments that came early.
    lacks: u64,
    early: BTreeSet<u64>,
    /// One packet in this many is lost on its path to the queue.
    loss: u64,
    rng: Xoshiro256PlusPlus,
    now: Time,
    /// (time, packets waiting) at every departure.
    lengths: Vec<(Time, usize)>,
}

impl Link {
    fn new(config: &Config, marking: &congestion_point::Config, rate: Rate, delay: Time) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        Self {
            sender: newreno::Sender::new(&tcp(), CongestionControl::new(config, &tcp().path(rate))),
            echo: echo::Echo::new(echo::Mode::of(config)),
            cp: CongestionPoint::new(marking, &mut rng),
            slot: rate.time_for(MSS),
            delay,
            queue: VecDeque::new(),
            free_at: Time::ZERO,
            acks: VecDeque::new(),
            lacks: 0,
            early: BTreeSet::new(),
            loss: u64::MAX,
            rng,
            now: Time::ZERO,
            lengths: Vec::new(),
        }
    }

    fn state(&self) -> Queue {
        Queue {
            bytes: self.queue.len() as u64 * MSS,
            packets: self.queue.len() as u32,
        }
    }

    fn send(&mut self) {
        while let Some(segment) = self.sender.next_segment(self.now, u64::MAX) {
            if self.loss != u64::MAX && self.rng.next_u64().is_multiple_of(self.loss) {
                continue;
            }
            self.queue.push_back(Waiting {
                segment,
                since: self.now,
                sent: self.now,
                ce: false,
            });
            let packet = Packet {
                bytes: segment.bytes,
                ect: segment.ect,
                enqueued_at: self.now,
            };
            let state = self.state();
            let verdict = self.cp.on_enqueue(self.now, &packet, state, &mut self.rng);
            self.queue.back_mut().unwrap().ce = verdict == Verdict::MarkCe;
            self.free_at = self.free_at.max(self.now);
        }
    }

    fn depart(&mut self) {
        let waiting = self.queue.pop_front().unwrap();
        self.now = self.free_at.max(waiting.since);
        let packet = Packet {
            bytes: waiting.segment.bytes,
            ect: waiting.segment.ect,
            enqueued_at: waiting.since,
        };
        let state = self.state();
        let verdict = self.cp.on_dequeue(self.now, &packet, state, &mut self.rng);
        let ce = waiting.ce || verdict == Verdict::MarkCe;
        self.lengths.push((self.now, self.queue.len()));
        self.free_at = self.now + self.slot;
        if waiting.segment.start >= self.lacks {
            self.early.insert(waiting.segment.start);
        }
        while self.early.remove(&self.lacks) {
            self.lacks += MSS;
        }
        let ece = self.echo.on_data(ce, waiting.segment.cwr);
        let arrival = self.now + self.slot + self.delay;
        self.acks
            .push_back((arrival, self.lacks, ece, waiting.sent));
    }

    fn run(&mut self, until: Time) {
        self.send();
        while self.now < until {
            let departure = if self.queue.is_empty() {
                Time::NEVER
            } else {
                self.free_at
            };
            let ack = self.acks.front().map_or(Time::NEVER, |ack| ack.0);
            let timer = self.sender.next_timer();
            if timer <= ack && timer <= departure {
                self.now = timer;
                self.sender.on_timer(timer);
                self.send();
            } else if departure <= ack {
                self.depart();
            } else {
                let (now, number, ece, sent) = self.acks.pop_front().unwrap();
                self.now = now;
                let rtt = Some(now - sent);
                self.sender.on_ack(now, &Ack { number, ece, rtt });
                self.send();
            }
        }
    }

    /// Packets waiting after `from`: mean and largest.
    fn mean_and_largest_queue(&self, from: Time) -> (f64, usize) {
        let lengths = self.lengths.iter().filter(|(time, _)| *time > from);
        let (mut count, mut sum, mut largest) = (0, 0, 0);
        for (_, length) in lengths {
            count += 1;
            sum += length;
            largest = largest.max(*length);
        }
        (sum as f64 / f64::from(count), largest)
    }

    /// Share of the link's capacity used since `from`.
    fn utilisation(&self, from: Time) -> f64 {
        let packets = self.lengths.iter().filter(|(time, _)| *time > from).count();
        packets as f64 * self.slot.as_secs_f64() / (self.now - from).as_secs_f64()
    }
}

fn tcp() -> newreno::Params {
    newreno::Params {
        mss: MSS as u32,
        max_burst: None,
        ..newreno::Params::default()
    }
}

fn dctcp_red(packets: u32) -> congestion_point::Config {
    congestion_point::Config::DctcpRed(dctcp_red::Params {
        threshold: dctcp_red::Threshold::Packets(packets),
    })
}

/// Mean depth and duration of the queue's swings: from each high to the next, seen over `span`.
fn swings(lengths: &[(Time, usize)], from: Time, span: Time) -> (f64, Time) {
    let lengths: Vec<_> = lengths.iter().filter(|(time, _)| *time > from).collect();
    let mean = lengths.iter().map(|length| length.1).sum::<usize>() / lengths.len();
    let (mut depths, mut crossings) = (Vec::new(), Vec::new());
    let (mut low, mut high, mut above) = (usize::MAX, 0, false);
    let mut last = Time::ZERO;
    for (time, length) in lengths {
        let is_above = *length > mean;
        // Ripples within a round trip are no swings.
        if is_above && !above && time.saturating_sub(last) > span {
            if last > Time::ZERO {
                depths.push(high - low);
                crossings.push(*time - last);
            }
            (low, high, last) = (*length, *length, *time);
        }
        above = is_above;
        low = low.min(*length);
        high = high.max(*length);
    }
    let count = depths.len();
    assert!(count > 10, "only {count} swings");
    let total = crossings.iter().fold(Time::ZERO, |sum, it| sum + *it);
    (
        depths.iter().sum::<usize>() as f64 / count as f64,
        Time::from_ps(total.as_ps() / count as u64),
    )
}

/// The DCTCP paper, section 3.3: a queue that swings by sqrt(2 (C RTT + K)) / 2 below K + 1, with a
/// period of as many round trips.
#[test]
fn dctcp_swings_as_its_steady_state_model_says() {
    let rate = Rate::from_gbps(10);
    let (rtt, k) = (Time::from_us(500), 200);
    // g below 1.386 / sqrt(2 (C RTT + K)), as the model asks.
    let params = dctcp::Params {
        g_log2: 6,
        ..dctcp::Params::default()
    };
    let slot = rate.time_for(MSS);
    let mut link = Link::new(&Config::Dctcp(params), &dctcp_red(k), rate, rtt - slot);
    let (from, until) = (Time::from_ms(500), Time::from_ms(1500));
    link.run(until);
    let bdp = rtt.as_ps() as f64 / slot.as_ps() as f64;
    let critical = bdp + f64::from(k);
    let amplitude = (2.0 * critical).sqrt() / 2.0;
    let round_trip = Time::from_ps(rtt.as_ps() + slot.as_ps() * u64::from(k));
    let (depth, period) = swings(&link.lengths, from, round_trip * 3);
    let rounds = period.as_ps() as f64 / round_trip.as_ps() as f64;
    let CongestionControl::Dctcp(law) = link.sender.law() else {
        unreachable!()
    };
    let alpha = law.alpha().as_q32() as f64 / Fraction::ONE.as_q32() as f64;
    assert!(
        (depth / amplitude - 1.0).abs() < 0.15,
        "{depth} of {amplitude}"
    );
    assert!(
        (rounds / amplitude - 1.0).abs() < 0.15,
        "{rounds} of {amplitude}"
    );
    assert!(
        (alpha / (2.0 / critical).sqrt() - 1.0).abs() < 0.15,
        "{alpha}"
    );
    assert!(link.utilisation(from) > 0.999);
    assert_eq!(link.sender.timeouts(), 0);
}

/// Throughput in segments per round trip is sqrt(3 / 2p).
#[test]
fn newreno_obeys_the_square_root_formula() {
    let rtt = Time::from_ms(1);
    for loss in [300, 1000, 3000] {
        // Far from the link's rate.
        let none = congestion_point::Config::None;
        let config = Config::NewReno(Default::default());
        let mut link = Link::new(&config, &none, Rate::from_gbps(400), rtt);
        link.loss = loss;
        link.run(Time::from_ms(60_000));
        let rounds = link.now.as_ps() as f64 / rtt.as_ps() as f64;
        let window = (link.sender.acknowledged() / MSS) as f64 / rounds;
        let formula = (1.5 * loss as f64).sqrt();
        assert!(
            (window / formula - 1.0).abs() < 0.15,
            "{window} of {formula}"
        );
    }
}

/// With one threshold of a bandwidth-delay product, halving keeps the link busy; with a sixth of it
/// DCTCP does and halving does not.
#[test]
fn lambda_is_one_for_ecn_tcp_and_a_sixth_for_dctcp() {
    let rate = Rate::from_gbps(10);
    let rtt = Time::from_us(300);
    let slot = rate.time_for(MSS);
    let bdp = rtt.as_ps() / slot.as_ps();
    let ecn_tcp = Config::EcnTcp(Default::default());
    let dctcp = Config::Dctcp(dctcp::Params {
        ..dctcp::Params::default()
    });
    let utilisation = |config: &Config, k: u64| {
        let mut link = Link::new(config, &dctcp_red(k as u32), rate, rtt - slot);
        link.run(Time::from_ms(400));
        link.utilisation(Time::from_ms(100))
    };
    assert!(utilisation(&ecn_tcp, bdp) > 0.999);
    assert!(utilisation(&ecn_tcp, bdp / 6) < 0.97);
    assert!(utilisation(&dctcp, bdp / 6) > 0.995);
}

/// A flow with a small RTT under a threshold for large ones: DCTCP-RED-Tail leaves a standing queue
/// close to K; ECN# removes it at no cost in throughput.
#[test]
fn ecn_sharp_removes_the_standing_queue() {
    let rate = Rate::from_gbps(10);
    let slot = rate.time_for(MSS);
    let params = dctcp::Params {
        ..dctcp::Params::default()
    };
    let run = |marking: &congestion_point::Config| {
        let delay = Time::from_us(80) - slot;
        let mut link = Link::new(&Config::Dctcp(params), marking, rate, delay);
        link.run(Time::from_ms(400));
        let (mean, largest) = link.mean_and_largest_queue(Time::from_ms(100));
        (mean, largest, link.utilisation(Time::from_ms(100)))
    };
    let tail = run(&dctcp_red(183));
    let sharp = |variant| {
        run(&congestion_point::Config::EcnSharp(ecn_sharp::Params {
            variant,
            ..ecn_sharp::Params::large_scale()
        }))
    };
    let code = sharp(ecn_sharp::Variant::AuthorsCode);
    let paper = sharp(ecn_sharp::Variant::Paper);
    assert!(tail.0 > 150.0, "{tail:?}");
    assert!(tail.2 > 0.999, "{tail:?}");
    for (mean, _, utilisation) in [code, paper] {
        assert!(mean < tail.0 / 5.0, "{mean}");
        assert!(utilisation > 0.97, "{utilisation}");
    }
}
