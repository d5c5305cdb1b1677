//! Small transfers, every packet of them: when it is sent, its fields, and whether it arrives.

use insta::assert_snapshot;
use unpause_protocols::congestion_point;
use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::tagging::{self, pias};
use unpause_protocols::units::Fraction;
use unpause_sim::config::{AckPriority, DelayedAck, Tags};
use unpause_sim::traffic::{ExtraDelay, TrafficSpec};

use super::*;

#[test]
fn one_byte() {
    let (text, results) = transcript(&pair(reno(params()), 1, &[], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1
         60.307 us  2 > 1  ack 1
    complete: 60.3072us, ideal 60.3072us; sent again 0, timeouts 0
    ");
    // SYN, SYN-ACK and the segment, each of the least size, over two links of 10 us.
    let one_way = 2 * (10_000_000 + 64 * 800);
    assert_eq!(fct(&results.flows[0]), ps(3 * one_way));
    assert_eq!(results.flows[0].ideal_fct, results.flows[0].fct);
}

#[test]
fn no_bytes() {
    let (text, _) = transcript(&pair(reno(params()), 0, &[], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  ack 0
    complete: 60.3072us, ideal 60.3072us; sent again 0, timeouts 0
    ");
}

/// The handshake's last ACK is lost: the receiver asks again.
#[test]
fn no_bytes_and_a_lost_ack() {
    let mut config = pair(reno(params()), 0, &[1], &[]);
    config.host.tcp.ack_priority = AckPriority::Flow;
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  ack 0  dropped
       1020.102 us  2 > 1  SYN-ACK  dropped
       3020.102 us  2 > 1  SYN-ACK
       3040.205 us  1 > 2  ack 0
    complete: 3.0603072ms, ideal 60.3072us; sent again 0, timeouts 0
    ");
}

#[test]
fn a_lost_syn() {
    let mut config = pair(reno(params()), 1, &[0], &[]);
    config.host.tcp.ack_priority = AckPriority::Flow;
    // The first packet of each direction is lost: SYN, then SYN-ACK.
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN  dropped
       1000.000 us  1 > 2  SYN
       1020.102 us  2 > 1  SYN-ACK  dropped
       3000.000 us  1 > 2  SYN
       3020.102 us  2 > 1  SYN-ACK
       3040.205 us  1 > 2  data 0..1
       3060.307 us  2 > 1  ack 1
    complete: 3.0603072ms, ideal 60.3072us; sent again 0, timeouts 2
    ");
}

#[test]
fn nobody_answers() {
    let mut config = pair(reno(params()), 1, &[], &[]);
    config.host.tcp.ack_priority = AckPriority::Flow;
    config.host.tcp.syn_tries = 4;
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::random(Fraction::ONE));
    let (text, results) = transcript(&config);
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN  dropped
       1000.000 us  1 > 2  SYN  dropped
       3000.000 us  1 > 2  SYN  dropped
       7000.000 us  1 > 2  SYN  dropped
    complete: never, ideal 60.3072us; sent again 0, timeouts 4, gave up
    ");
    assert!(results.flows[0].gave_up);
}

#[test]
fn slow_start_is_clocked_by_acks() {
    let (text, _) = transcript(&pair(reno(window(2)), 12 * MSS, &[], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..2800, 2 until 41.368 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         82.634 us  1 > 2  data 2800..8400, 4 until 86.123 us
        104.960 us  2 > 1  ack 4200..8400, 4 until 108.450 us
        125.062 us  1 > 2  data 8400..16800, 6 until 130.878 us
        147.389 us  2 > 1  ack 9800..16800, 6 until 153.205 us
    complete: 153.2048us, ideal 75.3264us; sent again 0, timeouts 0
    ");
}

#[test]
fn at_most_two_segments_leave_at_once() {
    let law = newreno::Params {
        max_burst: Some(2),
        ..window(10)
    };
    assert_snapshot!(transcript(&pair(reno(law), 8 * MSS, &[], &[])).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..2800, 2 until 41.368 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         82.634 us  1 > 2  data 2800..7000, 3 until 84.960 us
        104.960 us  2 > 1  ack 4200..7000, 3 until 107.286 us
        125.062 us  1 > 2  data 7000..11200, 3 until 127.389 us
        147.389 us  2 > 1  ack 8400..11200, 3 until 149.715 us
    complete: 149.7152us, ideal 70.6736us; sent again 0, timeouts 0
    ");
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut config = pair(reno(window(5)), 5 * MSS, &[], &[]);
    config.host.tcp.delayed_ack = Some(DelayedAck {
        every: 2,
        timeout: us(100),
    });
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..7000, 5 until 44.858 us
         63.694 us  2 > 1  ack 2800..7000, 3 until 67.184 us
    complete: 67.184us, ideal 67.184us; sent again 0, timeouts 0
    ");
    // The third segment waits for the fourth, which is lost.
    let mut config = pair(reno(window(3)), 4 * MSS, &[3], &[]);
    config.host.tcp.delayed_ack = Some(DelayedAck {
        every: 2,
        timeout: us(100),
    });
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..4200, 3 until 42.531 us
         63.694 us  2 > 1  ack 2800
         83.797 us  1 > 2  data 4200..5600  dropped
        164.858 us  2 > 1  ack 4200
       1184.960 us  1 > 2  data 4200..5600
       1207.286 us  2 > 1  ack 5600
    complete: 1.2072864ms, ideal 66.0208us; sent again 1, timeouts 1
    ");
}

/// A segment out of order, or one that fills a gap, is acknowledged immediately (RFC 5681, 4.2).
#[test]
fn delayed_acks_do_not_delay_the_news_of_a_loss() {
    let mut config = pair(reno(window(8)), 8 * MSS, &[1], &[]);
    config.host.tcp.delayed_ack = Some(DelayedAck {
        every: 4,
        timeout: us(100),
    });
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800  dropped
         42.531 us  1 > 2  data 2800..11200, 6 until 48.347 us
         64.858 us  2 > 1  ack 1400, 6 until 70.674 us
         88.450 us  1 > 2  data 1400..2800
        110.776 us  2 > 1  ack 11200
    complete: 110.776us, ideal 70.6736us; sent again 1, timeouts 0
    ");
}

/// PIAS: the more a flow has sent, the lower the priority of its segments; a segment sent again has
/// that of the first time.
#[test]
fn pias_lowers_the_priority_by_bytes_sent() {
    let mut config = pair(reno(window(6)), 8 * MSS, &[1], &[]);
    config.host.tcp.tags = Some(Tags {
        law: tagging::Config::Pias(pias::Params::of(&[2 * MSS, 4 * MSS])),
        priorities: vec![6, 5, 4],
    });
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 p6
         41.368 us  1 > 2  data 1400..2800 p6  dropped
         42.531 us  1 > 2  data 2800..4200 p5
         43.694 us  1 > 2  data 4200..5600 p5  dropped
         44.858 us  1 > 2  data 5600..7000 p4
         46.021 us  1 > 2  data 7000..8400 p4  dropped
         62.531 us  2 > 1  ack 1400, 3 until 67.184 us
         82.634 us  1 > 2  data 8400..11200 p4, 2 until 83.797 us
        104.960 us  2 > 1  ack 1400, 2 until 106.123 us
        125.062 us  1 > 2  data 1400..2800 p6
        147.389 us  2 > 1  ack 4200
        167.491 us  1 > 2  data 4200..5600 p5
        189.818 us  2 > 1  ack 7000
        209.920 us  1 > 2  data 7000..8400 p4
        232.246 us  2 > 1  ack 11200
    complete: 232.2464us, ideal 70.6736us; sent again 3, timeouts 0
    ");
}

/// Data wait for 50 us at the receiving host, the handshake does not.
#[test]
fn an_extra_delay_is_part_of_the_round_trip() {
    let mut config = pair(reno(window(1)), 2 * MSS, &[], &[]);
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    flows[0].extra_delay = ExtraDelay::Fixed(us(50));
    let (text, results) = transcript(&config);
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400
        112.531 us  2 > 1  ack 1400
        132.634 us  1 > 2  data 1400..2800
        204.960 us  2 > 1  ack 2800
    complete: 204.96us, ideal 113.6944us; sent again 0, timeouts 0
    ");
    assert_eq!(results.flows[0].extra_delay, us(50));
}

/// A rate limit spaces segments out: 1454 B at 1 Gb/s are 11.632 us.
#[test]
fn a_rate_limit_paces_segments() {
    let mut config = pair(reno(window(4)), 4 * MSS, &[], &[]);
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!()
    };
    flows[0].rate_limit = Some(gbps(1));
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..2800, 2 until 51.837 us
         62.531 us  2 > 1  ack 1400
         63.469 us  1 > 2  data 2800..4200
         74.163 us  2 > 1  ack 2800
         75.101 us  1 > 2  data 4200..5600
         85.795 us  2 > 1  ack 4200..5600, 2 until 97.427 us
    complete: 97.4272us, ideal 66.0208us; sent again 0, timeouts 0
    ");
}
