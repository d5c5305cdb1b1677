//! QCN: CNMs of an output queue, and how a rate limiter recovers by bytes and by time.

use unpause_protocols::congestion_control;
use unpause_protocols::units::Time;
use unpause_sim::config::Config;
use unpause_sim::traffic::FlowSpec;

use super::*;

const RATES: Show = Show {
    flows: &[0, 1],
    rates: true,
    ..NOTHING
};

/// Hosts 1 and 2 send to host 3, host 2 until the time given; 10 Gb/s and 1 us a link.
fn two_into_one(stop: Time) -> Config {
    let second = FlowSpec { stop, ..flow(2, 3) };
    let mut config = config(
        star(&[gbps(10); 3], us(1)),
        vec![flow(1, 3), second],
        us(400),
    );
    config.scheme = qcn();
    config
}

/// Samples come the faster the worse the last was. Feedback is that of the queue's length above 26 KB and
/// twice its growth, in 63 steps of 130 KB; a cut is Qfb / 128, at most half.
#[test]
fn a_queue_is_sampled_and_its_sources_told() {
    let (text, results) = page(&two_into_one(Time::NEVER), RATES);
    assert!(results.totals.notifications > 0);
    assert_snapshot!(text, @r"
          0.100 us  flow 0 may send 10.000 Gb/s
          0.100 us  flow 1 may send 10.000 Gb/s
         53.819 us  sw > 1  CNM to flow 0: Qfb 63, offset -40024 B, delta 66024 B
         54.900 us  flow 0 may send 5.078 Gb/s
         62.203 us  sw > 2  CNM to flow 1: Qfb 30, offset -47360 B, delta 7336 B
         63.300 us  flow 1 may send 7.656 Gb/s
         87.703 us  sw > 1  CNM to flow 0: Qfb 35, offset -55744 B, delta 8384 B
         88.800 us  flow 0 may send 3.690 Gb/s
        110.711 us  sw > 2  CNM to flow 1: Qfb 34, offset -60984 B, delta 5240 B
        111.800 us  flow 1 may send 5.623 Gb/s
        139.765 us  sw > 2  CNM to flow 1: Qfb 26, offset -58888 B, delta -2096 B
        140.900 us  flow 1 may send 4.480 Gb/s
        180.248 us  sw > 1  CNM to flow 0: Qfb 14, offset -49456 B, delta -9432 B
        181.300 us  flow 0 may send 3.286 Gb/s
        291.000 us  flow 1 may send 7.240 Gb/s
        390.072 us  sw > 2  CNM to flow 1: Qfb 7, offset -24304 B, delta -4192 B
        391.200 us  flow 1 may send 6.844 Gb/s
        392.500 us  flow 0 may send 6.643 Gb/s
    flow 0: 196000 B delivered
    flow 1: 277000 B delivered
    ");
}

/// The other flow has gone. Each cycle of 150 KB, and each of the timer, here 60 us, takes the rate half
/// the way to its target, here the line rate.
#[test]
fn a_limiter_recovers_by_bytes_and_by_time() {
    let mut config = two_into_one(us(150));
    config.stop = us(450);
    let congestion_control::Config::Qcn(params) = &mut config.scheme.roce else {
        unreachable!("QCN's own")
    };
    params.time_reset = us(60);
    let before = page(&two_into_one(Time::NEVER), RATES).0;
    assert_snapshot!(difference(&page(&config, RATES).0, &before), @r"
        148.800 us  flow 0 may send 6.845 Gb/s
        184.890 us  sw > 1  CNM to flow 0: Qfb 5, offset -43168 B, delta -15720 B
        186.000 us  flow 0 may send 6.577 Gb/s
        200.900 us  flow 1 may send 7.240 Gb/s
        246.000 us  flow 0 may send 8.289 Gb/s
        265.700 us  flow 0 may send 9.144 Gb/s
        313.200 us  flow 0 may send 9.572 Gb/s
        377.200 us  flow 0 may send 9.786 Gb/s
        387.500 us  flow 0 may send 9.893 Gb/s
        435.000 us  flow 0 may send 9.947 Gb/s
    flow 0: 389000 B delivered
    flow 1: 144000 B delivered
    ");
}
