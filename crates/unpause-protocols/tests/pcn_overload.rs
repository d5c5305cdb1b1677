//! Two line-rate senders into one egress: the first control period of PCN, end to end.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use unpause_protocols::congestion_control::{self, CongestionControl, Mechanism as _, Path};
use unpause_protocols::congestion_point::{self, CongestionPoint, Packet, Queue, Verdict, np_ecn};
use unpause_protocols::notification::Notification;
use unpause_protocols::notification_point::{self, NotificationPoint};
use unpause_protocols::units::{Rate, Time};

const LINK: Rate = Rate::from_gbps(40);
const BYTES: u32 = 1000;

#[test]
fn both_senders_end_just_below_half_the_link_within_one_period() {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let np_ecn = congestion_point::Config::NpEcn(np_ecn::Params::default());
    let mut switch = CongestionPoint::new(&np_ecn, &mut rng);
    let np = notification_point::Config::Pcn(notification_point::pcn::Params::default());
    let mut receivers = [NotificationPoint::new(&np), NotificationPoint::new(&np)];
    let slot = LINK.time_for(u64::from(BYTES));
    let queue = |packets: u32| Queue {
        bytes: u64::from(packets * BYTES),
        packets,
    };
    let mut packets = 0;
    // 250 slots of 200 ns are one period.
    for i in 0..250 {
        let now = slot * i;
        let packet = Packet {
            bytes: BYTES,
            ect: true,
            enqueued_at: now,
        };
        for _ in 0..2 {
            packets += 1;
            switch.on_enqueue(now, &packet, queue(packets), &mut rng);
        }
        packets -= 1;
        let verdict = switch.on_dequeue(now, &packet, queue(packets), &mut rng);
        assert_eq!(verdict, Verdict::MarkCe);
        assert_eq!(receivers[i as usize % 2].on_data(now, BYTES, true), None);
    }
    for receiver in &mut receivers {
        let cnp = receiver.on_timer(receiver.next_timer());
        let expected = Notification::Pcn {
            congested: true,
            rec_rate: 20_000_000,
        };
        assert_eq!(cnp, Some(expected));
        let rp = congestion_control::Config::Pcn(congestion_control::pcn::Params::default());
        let mut sender = CongestionControl::new(&rp, &Path::new(LINK, 1000));
        sender.on_notification(Time::from_us(75), &expected, &mut rng);
        assert_eq!(sender.rate(), Rate::from_bps(20_000_000_000 / 128 * 127));
    }
}
