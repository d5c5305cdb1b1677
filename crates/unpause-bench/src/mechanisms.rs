//! The CPU time of one decision of each mechanism, in nanoseconds.
//!
//! Every mechanism sees the same packets: 1048 B each 210 ns, through a queue that swings between
//! empty and 300 KB. Inputs are made beforehand; what is timed is the state machine, its dispatch
//! and a loop around it. Loops of our own rather than a framework: they measure CPU time, which
//! other processes disturb little, and cost nothing to build.

use std::hint::black_box;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use unpause_protocols::congestion_control::{self, Ack, CongestionControl, Mechanism as _, Path};
use unpause_protocols::congestion_point::{self, CongestionPoint, Packet, Queue};
use unpause_protocols::flow_control::pfc;
use unpause_protocols::notification::{Notification, QcnFeedback};
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::{Rate, Time};
use unpause_sim::heap::{Entry, Heap};

const PACKET_BYTES: u32 = 1048;
const PACKET_TIME: Time = Time::from_ns(210);
const LINE_RATE: Rate = Rate::from_gbps(40);
const PATH: Path = Path::new(LINE_RATE, PACKET_BYTES);
/// Inputs of one batch.
const BATCH: usize = 1 << 14;
/// Batches; the fastest counts.
const BATCHES: usize = 200;

/// Prints the table.
pub fn run() {
    println!("{:<34} {:>9}", "decision", "ns");
    congestion_points();
    notification_points();
    laws();
    flow_control();
    heaps();
}

/// Times `decide`, which is called once a packet with its number and time.
fn time<T>(name: &str, inputs: &[T], mut decide: impl FnMut(Time, &T)) {
    let mut now = Time::ZERO;
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = cpu_seconds();
        for input in inputs {
            now += PACKET_TIME;
            decide(now, input);
        }
        best = best.min(cpu_seconds() - start);
    }
    println!("{name:<34} {:>9.2}", best * 1e9 / inputs.len() as f64);
}

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// Lengths of a queue that grows and shrinks by turns.
fn queues() -> Vec<Queue> {
    let turn = 2 * 300_000 / u64::from(PACKET_BYTES);
    let length = |packet: usize| {
        let at = packet as u64 % turn;
        let packets = at.min(turn - at);
        Queue {
            bytes: packets * u64::from(PACKET_BYTES),
            packets: packets as u32,
        }
    };
    (0..BATCH).map(length).collect()
}

fn congestion_points() {
    use congestion_point::Config;
    let all = [
        ("no congestion point", Config::None),
        (
            "NP-ECN (PCN), packet in and out",
            Config::NpEcn(Default::default()),
        ),
        (
            "RED (DCQCN), packet in and out",
            Config::Red(Default::default()),
        ),
        ("QCN CP, packet in and out", Config::Qcn(Default::default())),
    ];
    for (name, config) in all {
        let mut rng = random();
        let mut point = CongestionPoint::new(&config, &mut rng);
        time(name, &queues(), |now, queue| {
            let packet = Packet {
                bytes: PACKET_BYTES,
                ect: true,
                enqueued_at: now,
            };
            black_box(point.on_enqueue(now, &packet, *queue, &mut rng));
            black_box(point.on_dequeue(now, &packet, *queue, &mut rng));
        });
    }
}

fn notification_points() {
    use notification_point::Config;
    let mut rng = random();
    let marks: Vec<bool> = (0..BATCH)
        .map(|_| rng.next_u32().is_multiple_of(8))
        .collect();
    let all = [
        ("PCN NP, packet", Config::Pcn(Default::default())),
        ("DCQCN NP, packet", Config::Dcqcn(Default::default())),
    ];
    for (name, config) in all {
        let mut point = NotificationPoint::new(&config);
        time(name, &marks, |now, &marked| {
            if point.next_timer() <= now {
                black_box(point.on_timer(now));
            }
            black_box(point.on_data(now, PACKET_BYTES, marked));
        });
    }
}

fn laws() {
    use congestion_control::Config;
    // A notification every 256 packets, about 54 us.
    let message = |notification| {
        (0..BATCH)
            .map(|packet| (packet % 256 == 0).then_some(notification))
            .collect::<Vec<Option<Notification>>>()
    };
    let pcn = |packet: usize| Notification::Pcn {
        congested: (packet / 256).is_multiple_of(8),
        rec_rate: 2_000_000,
    };
    let pcn: Vec<_> = (0..BATCH)
        .map(|packet| (packet % 256 == 0).then(|| pcn(packet)))
        .collect();
    let qcn = message(Notification::Qcn(QcnFeedback {
        qfb: 20,
        q_offset: -20_000,
        q_delta: 3_000,
    }));
    let all = [
        ("PCN RP, packet", Config::Pcn(Default::default()), pcn),
        ("QCN RP, packet", Config::Qcn(Default::default()), qcn),
        (
            "DCQCN RP, packet",
            Config::Dcqcn(Default::default()),
            message(Notification::Cnp),
        ),
    ];
    for (name, config, messages) in all {
        let mut rng = random();
        let mut point = CongestionControl::new(&config, &PATH);
        time(name, &messages, |now, message| {
            if point.next_timer() <= now {
                point.on_timer(now, &mut rng);
            }
            if let Some(notification) = message {
                point.on_notification(now, notification, &mut rng);
            }
            point.on_sent(now, PACKET_BYTES, true, &mut rng);
            black_box(point.rate());
        });
    }
    let mut rng = random();
    let rtts: Vec<Time> = (0..BATCH)
        .map(|_| Time::from_ns(20_000 + u64::from(rng.next_u32() % 100_000)))
        .collect();
    let mut point = CongestionControl::new(&Config::Timely(Default::default()), &PATH);
    time("TIMELY RP, RTT", &rtts, |now, &rtt| {
        point.on_ack(&Ack {
            rtt: Some(rtt),
            bytes: u64::from(PACKET_BYTES),
            ..Ack::at(now)
        });
        black_box(point.rate());
    });
}

fn flow_control() {
    let params = pfc::Params::default();
    let pause = params.pause_duration(LINE_RATE);
    let mut ingress = pfc::Ingress::new();
    // By turns eight packets come and eight go, across XOFF and XON.
    let comes: Vec<bool> = (0..BATCH).map(|packet| packet % 16 < 8).collect();
    time("PFC, packet in or out", &comes, |now, &comes| {
        let action = if comes {
            ingress.on_admit(now, PACKET_BYTES, 6_000, pause, &params)
        } else {
            ingress.on_release(now, PACKET_BYTES, 2_000)
        };
        black_box(action);
    });
}

/// The hold model: take the earliest entry, put it back later.
fn heaps() {
    for pending in [8u32, 64, 1024, 16_384] {
        let mut rng = random();
        let delays: Vec<u64> = (0..BATCH)
            .map(|_| u64::from(rng.next_u32() % 1_000_000))
            .collect();
        let mut heap = Heap::default();
        for key in 0..pending {
            heap.push(Entry::new(Time::from_ps(u64::from(key) * 977), key, 0));
        }
        let name = format!("event heap, replace of {pending}");
        time(&name, &delays, |_, &delay| {
            if let Some(first) = heap.peek() {
                let later = first.time() + Time::from_ps(delay);
                heap.replace_top(Entry::new(later, first.key(), 0));
            }
        });
        let name = format!("event heap, pop and push of {pending}");
        time(&name, &delays, |_, &delay| {
            if let Some(first) = heap.pop() {
                let later = first.time() + Time::from_ps(delay);
                heap.push(Entry::new(later, first.key(), 0));
            }
        });
    }
}

/// CPU time of this thread.
fn cpu_seconds() -> f64 {
    // SAFETY: clock_gettime fills the zeroed structure that it is given.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time);
        time
    };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
