use super::*;

const LINE: u64 = 100_000_000_000;

fn params() -> Params {
    Params {
        base_rtt: Time::from_us(10),
        mi_thresh: 0,
        tx_unit: 1,
        queue_unit: 1,
        ..Params::default()
    }
}

fn sender(params: Params) -> Hpcc {
    Hpcc::new(&params, &Path::new(Rate::from_bps(LINE), 1000))
}

fn hop(ns: u64, tx_bytes: u64, queue_bytes: u64) -> Hop {
    Hop {
        time: Time::from_ns(ns),
        tx_bytes,
        queue_bytes,
        rate: Rate::from_bps(LINE),
    }
}

fn ack(sender: &mut Hpcc, acknowledged: u64, sent: u64, hops: &[Hop]) {
    sender.on_ack(&Ack {
        bytes: 1000,
        acknowledged,
        sent,
        telemetry: hops,
        ..Ack::at(Time::ZERO)
    });
}

/// Within a step of 2^-24 of what real numbers give.
#[expect(
    clippy::float_arithmetic,
    reason = "what is expected, not what is done"
)]
fn assert_rate(sender: &Hpcc, expected: f64) {
    let rate = sender.rate as f64;
    assert!(
        (rate / expected - 1.0).abs() < 1e-5,
        "{rate} for {expected}"
    );
}

#[test]
fn the_first_window_is_what_the_link_carries_in_a_base_rtt() {
    let sender = sender(params());
    assert_eq!(sender.window(), Some(125_000));
    let path = Path {
        base_rtt: Time::from_us(2),
        bandwidth_delay: 2_500,
        ..Path::new(Rate::from_bps(LINE), 1000)
    };
    let own = Params {
        per_path: true,
        ..params()
    };
    // Two and a half packets: a third goes while less than the window is in flight.
    assert_eq!(Hpcc::new(&own, &path).window(), Some(3_000));
}

/// Algorithm 1 by hand: U = 12 500 B / (T 100 Gb/s) + 62 500 B queued / BDP over 1 us of T = 10 us.
#[test]
fn a_queue_of_half_a_window_on_a_full_link_cuts_by_its_use() {
    let mut sender = sender(params());
    ack(&mut sender, 1000, 100_000, &[hop(1_000, 0, 62_500)]);
    assert_eq!(sender.rate, LINE);
    ack(&mut sender, 2000, 100_000, &[hop(2_000, 12_500, 62_500)]);
    // u = 1.5, of which a tenth is taken in.
    let used: f64 = 1.0 * 0.9 + 1.5 * 0.1;
    assert_rate(&sender, LINE as f64 / (used / 0.95) + 50e6);
    // The next ACK of the round trip starts from the same reference.
    ack(&mut sender, 3000, 100_000, &[hop(3_000, 25_000, 62_500)]);
    let used = used * 0.9 + 1.5 * 0.1;
    assert_rate(&sender, LINE as f64 / (used / 0.95) + 50e6);
    let reference = LINE as f64;
    // Beyond what was sent at the first ACK, it becomes the reference.
    ack(&mut sender, 101_000, 200_000, &[hop(13_000, 150_000, 0)]);
    let full = 1.0;
    assert_rate(&sender, reference / (full / 0.95) + 50e6);
    let reference = sender.rate as f64;
    ack(&mut sender, 102_000, 200_000, &[hop(23_000, 212_500, 0)]);
    // Half used over a whole base RTT.
    assert_rate(&sender, (reference / (0.5 / 0.95) + 50e6).min(LINE as f64));
}

/// Algorithm 1: a round trip ends with the ACK of more than had been sent at its start (`ack.seq >
/// lastUpdateSeq`), not of as much.
#[test]
fn a_round_trip_ends_beyond_what_was_sent_at_its_start() {
    let reference = |acknowledged: u64| {
        let mut sender = sender(params());
        ack(&mut sender, 1000, 100_000, &[hop(1_000, 0, 62_500)]);
        let hops = &[hop(11_000, 125_000, 62_500)];
        ack(&mut sender, acknowledged, 200_000, hops);
        sender.references[0].rate
    };
    assert_eq!(reference(100_000), LINE);
    assert!(reference(100_001) < LINE);
}

#[test]
fn below_the_target_it_adds_a_step_for_some_round_trips_first() {
    let mut sender = sender(Params {
        mi_thresh: 2,
        ..params()
    });
    ack(&mut sender, 1000, 1000, &[hop(0, 0, 0)]);
    let mut tx = 0;
    let mut rates = Rates::default();
    // Twice over the target, then half used.
    for round in 1..=5_u64 {
        tx += if round == 1 { 250_000 } else { 62_500 };
        let at = round * 10_000;
        ack(
            &mut sender,
            1000 * round + 1,
            1000 * (round + 1),
            &[hop(at, tx, 0)],
        );
        rates.push(sender.rate);
    }
    let [first, second, third, fourth, _] = rates.0;
    let cut = LINE as f64 * 0.95 / 2.0 + 50e6;
    assert!((first as f64 / cut - 1.0).abs() < 1e-5, "{first}");
    assert_eq!((second - first, third - second), (50_000_000, 50_000_000));
    assert!(fourth > 80_000_000_000);
}

#[derive(Default)]
struct Rates([u64; 5], usize);

impl Rates {
    fn push(&mut self, value: u64) {
        self.0[self.1] = value;
        self.1 += 1;
    }
}

#[test]
fn the_busiest_hop_decides_and_a_rate_for_each_takes_the_lowest() {
    for multi_rate in [false, true] {
        let mut sender = sender(Params {
            multi_rate,
            ..params()
        });
        ack(&mut sender, 1000, 1000, &[hop(0, 0, 0), hop(500, 0, 0)]);
        let hops = [hop(10_000, 62_500, 0), hop(10_500, 125_000, 125_000)];
        ack(&mut sender, 2000, 2000, &hops);
        // The second hop: full, and its queue at the other record was empty.
        assert_rate(&sender, LINE as f64 * 0.95 + 50e6);
    }
}

#[test]
fn without_fast_reaction_only_round_trips_count() {
    let mut sender = sender(Params {
        fast_react: false,
        ..params()
    });
    ack(&mut sender, 1000, 5000, &[hop(0, 0, 0)]);
    ack(&mut sender, 2000, 5000, &[hop(10_000, 250_000, 0)]);
    assert_eq!(sender.rate, LINE);
    ack(&mut sender, 6000, 9000, &[hop(20_000, 500_000, 0)]);
    assert!(sender.rate < LINE / 2 + 50_000_000);
}

#[test]
fn a_sample_without_a_queue_counts_at_the_end_of_a_round_trip_only() {
    let mut sender = sender(Params {
        sample_feedback: true,
        ..params()
    });
    ack(&mut sender, 1000, 5000, &[hop(0, 0, 0)]);
    ack(&mut sender, 2000, 5000, &[hop(5_000, 125_000, 0)]);
    assert_eq!(sender.rate, LINE);
    ack(&mut sender, 6000, 9000, &[hop(10_000, 250_000, 0)]);
    assert_rate(&sender, LINE as f64 * 0.95 / 2.0 + 50e6);
}

#[test]
fn counters_are_known_to_their_units_and_unknown_rates_by_another() {
    let sender = sender(Params {
        tx_unit: 128,
        queue_unit: 80,
        unknown_rate: Some(Rate::from_gbps(25)),
        ..params()
    });
    let record = sender.record(&hop(1, 1000, 1000));
    assert_eq!((record.tx_units, record.queue_units), (7, 12));
    let slow = Hop {
        rate: Rate::from_gbps(40),
        ..hop(0, 0, 0)
    };
    assert_eq!(
        (sender.ps_per_byte(&slow), sender.ps_per_byte(&hop(0, 0, 0))),
        ((320, 1), (80, 1))
    );
}
