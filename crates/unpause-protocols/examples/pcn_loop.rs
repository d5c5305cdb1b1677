//! Two PCN senders share a bottleneck: 40 Gb/s links, CNPs that take 25 us to come back.
//!
//! The whole fabric is one queue served a packet every 200 ns; the mechanisms are the real ones.
//!
//! `cargo run -p unpause-protocols --example pcn_loop`

use std::collections::VecDeque;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_control::{self, CongestionControl, Mechanism as _, Path};
use unpause_protocols::congestion_point::{self, CongestionPoint, Packet, Queue, Verdict};
use unpause_protocols::notification::Notification;
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::{Fraction, Rate, Time};

const LINK: Rate = Rate::from_gbps(40);
const BYTES: u32 = 1000;
const FEEDBACK_DELAY: Time = Time::from_us(25);

/// Both ends of one flow, and the notifications under way between them.
struct Flow {
    sender: CongestionControl,
    receiver: NotificationPoint,
    next_send: Time,
    returning: VecDeque<(Time, Notification)>,
}

impl Flow {
    fn starting_at(start: Time) -> Self {
        // The paper's guideline: w_min = 0.1 / flows that share the bottleneck.
        let reaction = congestion_control::Config::Pcn(congestion_control::pcn::Params {
            w_min: Fraction::of(1, 20),
            ..congestion_control::pcn::Params::default()
        });
        let notification =
            notification_point::Config::Pcn(notification_point::pcn::Params::default());
        Self {
            sender: CongestionControl::new(&reaction, &Path::new(LINK, 1000)),
            receiver: NotificationPoint::new(&notification),
            next_send: start,
            returning: VecDeque::new(),
        }
    }

    fn run_timers(&mut self, now: Time, rng: &mut Xoshiro256PlusPlus) {
        while self.receiver.next_timer() <= now {
            let answer = self.receiver.on_timer(now);
            self.returning
                .extend(answer.map(|answer| (now + FEEDBACK_DELAY, answer)));
        }
        while let Some((due, notification)) = self.returning.front().copied() {
            if due > now {
                break;
            }
            self.returning.pop_front();
            self.sender.on_notification(now, &notification, rng);
        }
    }
}

fn main() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let marking = congestion_point::Config::NpEcn(congestion_point::np_ecn::Params::default());
    let mut switch = CongestionPoint::new(&marking, &mut rng);
    let mut flows = [Time::ZERO, Time::from_us(500)].map(Flow::starting_at);
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let queue = |waiting: &VecDeque<usize>| Queue {
        bytes: waiting.len() as u64 * u64::from(BYTES),
        packets: waiting.len() as u32,
    };
    println!("   time   queue (kB)   rate of each flow (Mb/s)");
    for slot in 0..20_000 {
        let now = LINK.time_for(u64::from(BYTES)) * slot;
        let packet = Packet {
            bytes: BYTES,
            ect: true,
            enqueued_at: now,
        };
        for (id, flow) in flows.iter_mut().enumerate() {
            flow.run_timers(now, &mut rng);
            if flow.next_send <= now {
                waiting.push_back(id);
                switch.on_enqueue(now, &packet, queue(&waiting), &mut rng);
                flow.next_send += flow.sender.rate().time_for(u64::from(BYTES));
            }
        }
        if let Some(id) = waiting.pop_front() {
            let verdict = switch.on_dequeue(now, &packet, queue(&waiting), &mut rng);
            flows[id]
                .receiver
                .on_data(now, BYTES, verdict == Verdict::MarkCe);
        }
        if slot % 625 == 0 {
            let rates = flows
                .each_ref()
                .map(|flow| flow.sender.rate().as_bps() / 1_000_000);
            println!(
                "{:>5} us {:>12} {:>12} {:>12}",
                now.as_ps() / 1_000_000,
                waiting.len() * BYTES as usize / 1000,
                rates[0],
                rates[1]
            );
        }
    }
}
