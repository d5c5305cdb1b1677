//! Small transfers, every packet of them: when it is sent, what it says, what becomes of it.

use insta::assert_snapshot;
use unpause_protocols::congestion_point;
use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::tagging::{self, pias};
use unpause_protocols::units::Fraction;
use unpause_sim::config::{AckPriority, DelayedAck, Tags};
use unpause_sim::traffic::{ExtraDelay, FlowSpec, TrafficSpec};

use super::*;

fn window(initial_window: u32) -> newreno::Params {
    newreno::Params {
        initial_window,
        ..params()
    }
}

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
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         82.634 us  1 > 2  data 2800..4200
         83.797 us  1 > 2  data 4200..5600
         84.960 us  1 > 2  data 5600..7000
         86.123 us  1 > 2  data 7000..8400
        104.960 us  2 > 1  ack 4200
        106.123 us  2 > 1  ack 5600
        107.286 us  2 > 1  ack 7000
        108.450 us  2 > 1  ack 8400
        125.062 us  1 > 2  data 8400..9800
        126.226 us  1 > 2  data 9800..11200
        127.389 us  1 > 2  data 11200..12600
        128.552 us  1 > 2  data 12600..14000
        129.715 us  1 > 2  data 14000..15400
        130.878 us  1 > 2  data 15400..16800
        147.389 us  2 > 1  ack 9800
        148.552 us  2 > 1  ack 11200
        149.715 us  2 > 1  ack 12600
        150.878 us  2 > 1  ack 14000
        152.042 us  2 > 1  ack 15400
        153.205 us  2 > 1  ack 16800
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
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         82.634 us  1 > 2  data 2800..4200
         83.797 us  1 > 2  data 4200..5600
         84.960 us  1 > 2  data 5600..7000
        104.960 us  2 > 1  ack 4200
        106.123 us  2 > 1  ack 5600
        107.286 us  2 > 1  ack 7000
        125.062 us  1 > 2  data 7000..8400
        126.226 us  1 > 2  data 8400..9800
        127.389 us  1 > 2  data 9800..11200
        147.389 us  2 > 1  ack 8400
        148.552 us  2 > 1  ack 9800
        149.715 us  2 > 1  ack 11200
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
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         42.531 us  1 > 2  data 2800..4200
         43.694 us  1 > 2  data 4200..5600
         44.858 us  1 > 2  data 5600..7000
         63.694 us  2 > 1  ack 2800
         66.021 us  2 > 1  ack 5600
         67.184 us  2 > 1  ack 7000
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
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         42.531 us  1 > 2  data 2800..4200
         63.694 us  2 > 1  ack 2800
         83.797 us  1 > 2  data 4200..5600  dropped
        164.858 us  2 > 1  ack 4200
       1184.960 us  1 > 2  data 4200..5600
       1207.286 us  2 > 1  ack 5600
    complete: 1.2072864ms, ideal 66.0208us; sent again 1, timeouts 1
    ");
}

/// What comes out of order, or fills the gap, is acknowledged at once (RFC 5681, 4.2).
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
         42.531 us  1 > 2  data 2800..4200
         43.694 us  1 > 2  data 4200..5600
         44.858 us  1 > 2  data 5600..7000
         46.021 us  1 > 2  data 7000..8400
         47.184 us  1 > 2  data 8400..9800
         48.347 us  1 > 2  data 9800..11200
         64.858 us  2 > 1  ack 1400
         66.021 us  2 > 1  ack 1400
         67.184 us  2 > 1  ack 1400
         68.347 us  2 > 1  ack 1400
         69.510 us  2 > 1  ack 1400
         70.674 us  2 > 1  ack 1400
         88.450 us  1 > 2  data 1400..2800
        110.776 us  2 > 1  ack 11200
    complete: 110.776us, ideal 70.6736us; sent again 1, timeouts 0
    ");
}

/// CUBIC keeps 0.7 of the window that lost a packet (RFC 9438, 4.6), where NewReno keeps half. Of 11 segments
/// 7.7: with the eight duplicate ACKs, 15 segments may be beyond the last one acknowledged while the loss is
/// repaired.
#[test]
fn cubic_keeps_seven_tenths_after_a_loss() {
    let (text, _) = transcript(&pair(cubic(window(10)), 20 * MSS, &[1], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800  dropped
         42.531 us  1 > 2  data 2800..4200
         43.694 us  1 > 2  data 4200..5600
         44.858 us  1 > 2  data 5600..7000
         46.021 us  1 > 2  data 7000..8400
         47.184 us  1 > 2  data 8400..9800
         48.347 us  1 > 2  data 9800..11200
         49.510 us  1 > 2  data 11200..12600
         50.674 us  1 > 2  data 12600..14000
         62.531 us  2 > 1  ack 1400
         64.858 us  2 > 1  ack 1400
         66.021 us  2 > 1  ack 1400
         67.184 us  2 > 1  ack 1400
         68.347 us  2 > 1  ack 1400
         69.510 us  2 > 1  ack 1400
         70.674 us  2 > 1  ack 1400
         71.837 us  2 > 1  ack 1400
         73.000 us  2 > 1  ack 1400
         82.634 us  1 > 2  data 14000..15400
         83.797 us  1 > 2  data 15400..16800
         84.960 us  1 > 2  data 16800..18200
         86.123 us  1 > 2  data 18200..19600
         87.286 us  1 > 2  data 1400..2800
         91.939 us  1 > 2  data 19600..21000
         93.102 us  1 > 2  data 21000..22400
        104.960 us  2 > 1  ack 1400
        106.123 us  2 > 1  ack 1400
        107.286 us  2 > 1  ack 1400
        108.450 us  2 > 1  ack 1400
        109.613 us  2 > 1  ack 19600
        114.266 us  2 > 1  ack 21000
        115.429 us  2 > 1  ack 22400
        125.062 us  1 > 2  data 22400..23800
        126.226 us  1 > 2  data 23800..25200
        127.389 us  1 > 2  data 25200..26600
        128.552 us  1 > 2  data 26600..28000
        147.389 us  2 > 1  ack 23800
        148.552 us  2 > 1  ack 25200
        149.715 us  2 > 1  ack 26600
        150.878 us  2 > 1  ack 28000
    complete: 150.8784us, ideal 84.632us; sent again 1, timeouts 0
    ");
}

/// RFC 3168: ECE from the mark until the segment with CWR, which follows the cut.
#[test]
fn classic_ecn_echoes_until_cwr() {
    let (text, _) = transcript(&pair(ecn(window(6)), 16 * MSS, &[], &[2]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 ECT
         41.368 us  1 > 2  data 1400..2800 ECT
         42.531 us  1 > 2  data 2800..4200 ECT  marked
         43.694 us  1 > 2  data 4200..5600 ECT
         44.858 us  1 > 2  data 5600..7000 ECT
         46.021 us  1 > 2  data 7000..8400 ECT
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         64.858 us  2 > 1  ack 4200 ECE
         66.021 us  2 > 1  ack 5600 ECE
         67.184 us  2 > 1  ack 7000 ECE
         68.347 us  2 > 1  ack 8400 ECE
         82.634 us  1 > 2  data 8400..9800 ECT
         83.797 us  1 > 2  data 9800..11200 ECT
         87.286 us  1 > 2  data 11200..12600 ECT CWR
         88.450 us  1 > 2  data 12600..14000 ECT
        104.960 us  2 > 1  ack 9800 ECE
        106.123 us  2 > 1  ack 11200 ECE
        109.613 us  2 > 1  ack 12600
        110.776 us  2 > 1  ack 14000
        125.062 us  1 > 2  data 14000..15400 ECT
        126.226 us  1 > 2  data 15400..16800 ECT
        129.715 us  1 > 2  data 16800..18200 ECT
        130.878 us  1 > 2  data 18200..19600 ECT
        147.389 us  2 > 1  ack 15400
        148.552 us  2 > 1  ack 16800
        152.042 us  2 > 1  ack 18200
        153.205 us  2 > 1  ack 19600
        167.491 us  1 > 2  data 19600..21000 ECT
        168.654 us  1 > 2  data 21000..22400 ECT
        189.818 us  2 > 1  ack 21000
        190.981 us  2 > 1  ack 22400
    complete: 190.9808us, ideal 79.9792us; sent again 0, timeouts 0
    ");
}

/// The ACKs of the marked segments and no others have ECE; one cut for both.
#[test]
fn dctcp_echoes_each_mark() {
    let (text, _) = transcript(&pair(dctcp(window(6)), 16 * MSS, &[], &[2, 3]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 ECT
         41.368 us  1 > 2  data 1400..2800 ECT
         42.531 us  1 > 2  data 2800..4200 ECT  marked
         43.694 us  1 > 2  data 4200..5600 ECT  marked
         44.858 us  1 > 2  data 5600..7000 ECT
         46.021 us  1 > 2  data 7000..8400 ECT
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         64.858 us  2 > 1  ack 4200 ECE
         66.021 us  2 > 1  ack 5600 ECE
         67.184 us  2 > 1  ack 7000
         68.347 us  2 > 1  ack 8400
         82.634 us  1 > 2  data 8400..9800 ECT
         83.797 us  1 > 2  data 9800..11200 ECT
         87.286 us  1 > 2  data 11200..12600 ECT CWR
         88.450 us  1 > 2  data 12600..14000 ECT
        104.960 us  2 > 1  ack 9800
        106.123 us  2 > 1  ack 11200
        109.613 us  2 > 1  ack 12600
        110.776 us  2 > 1  ack 14000
        125.062 us  1 > 2  data 14000..15400 ECT
        126.226 us  1 > 2  data 15400..16800 ECT
        129.715 us  1 > 2  data 16800..18200 ECT
        130.878 us  1 > 2  data 18200..19600 ECT
        147.389 us  2 > 1  ack 15400
        148.552 us  2 > 1  ack 16800
        152.042 us  2 > 1  ack 18200
        153.205 us  2 > 1  ack 19600
        167.491 us  1 > 2  data 19600..21000 ECT
        168.654 us  1 > 2  data 21000..22400 ECT
        189.818 us  2 > 1  ack 21000
        190.981 us  2 > 1  ack 22400
    complete: 190.9808us, ideal 79.9792us; sent again 0, timeouts 0
    ");
}

/// RFC 8257, 3.2: where the mark changes, what is pending is acknowledged without it.
#[test]
fn dctcp_with_delayed_acks_tells_marked_bytes_apart() {
    let mut config = pair(dctcp(window(8)), 8 * MSS, &[], &[3, 4]);
    config.host.tcp.delayed_ack = Some(DelayedAck {
        every: 4,
        timeout: us(100),
    });
    assert_snapshot!(transcript(&config).0, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 ECT
         41.368 us  1 > 2  data 1400..2800 ECT
         42.531 us  1 > 2  data 2800..4200 ECT
         43.694 us  1 > 2  data 4200..5600 ECT  marked
         44.858 us  1 > 2  data 5600..7000 ECT  marked
         46.021 us  1 > 2  data 7000..8400 ECT
         47.184 us  1 > 2  data 8400..9800 ECT
         48.347 us  1 > 2  data 9800..11200 ECT
         66.021 us  2 > 1  ack 4200
         68.347 us  2 > 1  ack 7000 ECE
         70.674 us  2 > 1  ack 11200
    complete: 70.6736us, ideal 70.6736us; sent again 0, timeouts 0
    ");
}

#[test]
fn fast_retransmit_repairs_one_loss_without_a_timeout() {
    let (text, results) = transcript(&pair(reno(window(8)), 12 * MSS, &[2], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         42.531 us  1 > 2  data 2800..4200  dropped
         43.694 us  1 > 2  data 4200..5600
         44.858 us  1 > 2  data 5600..7000
         46.021 us  1 > 2  data 7000..8400
         47.184 us  1 > 2  data 8400..9800
         48.347 us  1 > 2  data 9800..11200
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         66.021 us  2 > 1  ack 2800
         67.184 us  2 > 1  ack 2800
         68.347 us  2 > 1  ack 2800
         69.510 us  2 > 1  ack 2800
         70.674 us  2 > 1  ack 2800
         82.634 us  1 > 2  data 11200..12600
         83.797 us  1 > 2  data 12600..14000
         84.960 us  1 > 2  data 14000..15400
         86.123 us  1 > 2  data 15400..16800
         88.450 us  1 > 2  data 2800..4200
        104.960 us  2 > 1  ack 2800
        106.123 us  2 > 1  ack 2800
        107.286 us  2 > 1  ack 2800
        108.450 us  2 > 1  ack 2800
        110.776 us  2 > 1  ack 16800
    complete: 110.776us, ideal 75.3264us; sent again 1, timeouts 0
    ");
    let flow = &results.flows[0];
    assert_eq!((flow.retransmitted_packets, flow.timeouts), (1, 0));
}

#[test]
fn a_lost_retransmission_costs_one_timeout() {
    let (text, results) = transcript(&pair(reno(window(8)), 12 * MSS, &[2, 12], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400
         41.368 us  1 > 2  data 1400..2800
         42.531 us  1 > 2  data 2800..4200  dropped
         43.694 us  1 > 2  data 4200..5600
         44.858 us  1 > 2  data 5600..7000
         46.021 us  1 > 2  data 7000..8400
         47.184 us  1 > 2  data 8400..9800
         48.347 us  1 > 2  data 9800..11200
         62.531 us  2 > 1  ack 1400
         63.694 us  2 > 1  ack 2800
         66.021 us  2 > 1  ack 2800
         67.184 us  2 > 1  ack 2800
         68.347 us  2 > 1  ack 2800
         69.510 us  2 > 1  ack 2800
         70.674 us  2 > 1  ack 2800
         82.634 us  1 > 2  data 11200..12600
         83.797 us  1 > 2  data 12600..14000
         84.960 us  1 > 2  data 14000..15400
         86.123 us  1 > 2  data 15400..16800
         88.450 us  1 > 2  data 2800..4200  dropped
        104.960 us  2 > 1  ack 2800
        106.123 us  2 > 1  ack 2800
        107.286 us  2 > 1  ack 2800
        108.450 us  2 > 1  ack 2800
       1083.797 us  1 > 2  data 2800..4200
       1106.123 us  2 > 1  ack 16800
    complete: 1.1061232ms, ideal 75.3264us; sent again 2, timeouts 1
    ");
    assert_eq!(results.flows[0].timeouts, 1);
}

#[test]
fn timeouts_double() {
    let (text, results) = transcript(&pair(reno(params()), 1, &[0, 1, 2, 3], &[]));
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1  dropped
       1040.205 us  1 > 2  data 0..1  dropped
       3040.205 us  1 > 2  data 0..1  dropped
       7040.205 us  1 > 2  data 0..1  dropped
      15040.205 us  1 > 2  data 0..1
      15060.307 us  2 > 1  ack 1
    complete: 15.0603072ms, ideal 60.3072us; sent again 4, timeouts 4
    ");
    assert_eq!(results.flows[0].timeouts, 4);
}

/// Later segments have a higher priority and overtake the first ones, which wait behind other
/// traffic. Three duplicate ACKs take that for a loss; a reorder-resistant connection does not.
#[test]
fn reordering_is_a_loss_only_where_duplicate_acks_say_so() {
    let reordered = |duplicate_threshold, limited_transmit| {
        let law = newreno::Params {
            duplicate_threshold,
            limited_transmit,
            ..window(8)
        };
        let mut config = pair(reno(law), 8 * MSS, &[], &[]);
        config.fabric = star(&[gbps(10); 3], us(10));
        config.host.tcp.tags = Some(Tags {
            law: tagging::Config::Pias(pias::Params::of(&[2 * MSS])),
            priorities: vec![1, 2],
        });
        let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
            unreachable!()
        };
        flows.push(FlowSpec {
            priority: 1,
            ..sized(3, 2, 100_000)
        });
        transcript(&config)
    };
    let (text, results) = reordered(3, true);
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 p1
         41.368 us  1 > 2  data 1400..2800 p1
         42.531 us  1 > 2  data 2800..4200 p2
         43.694 us  1 > 2  data 4200..5600 p2
         44.858 us  1 > 2  data 5600..7000 p2
         46.021 us  1 > 2  data 7000..8400 p2
         47.184 us  1 > 2  data 8400..9800 p2
         48.347 us  1 > 2  data 9800..11200 p2
         63.083 us  2 > 1  ack 1400
         65.085 us  2 > 1  ack 1400
         66.248 us  2 > 1  ack 1400
         67.411 us  2 > 1  ack 1400
         68.574 us  2 > 1  ack 1400
         69.738 us  2 > 1  ack 1400
         70.901 us  2 > 1  ack 1400
         72.064 us  2 > 1  ack 11200
         87.514 us  1 > 2  data 1400..2800 p1
        115.147 us  2 > 1  ack all
    complete: 72.064us, ideal 70.6736us; sent again 1, timeouts 0
    ");
    assert_eq!(results.flows[0].retransmitted_packets, 1);
    let (text, results) = reordered(u32::MAX, false);
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  SYN
         20.102 us  2 > 1  SYN-ACK
         40.205 us  1 > 2  data 0..1400 p1
         41.368 us  1 > 2  data 1400..2800 p1
         42.531 us  1 > 2  data 2800..4200 p2
         43.694 us  1 > 2  data 4200..5600 p2
         44.858 us  1 > 2  data 5600..7000 p2
         46.021 us  1 > 2  data 7000..8400 p2
         47.184 us  1 > 2  data 8400..9800 p2
         48.347 us  1 > 2  data 9800..11200 p2
         63.083 us  2 > 1  ack 1400
         65.085 us  2 > 1  ack 1400
         66.248 us  2 > 1  ack 1400
         67.411 us  2 > 1  ack 1400
         68.574 us  2 > 1  ack 1400
         69.738 us  2 > 1  ack 1400
         70.901 us  2 > 1  ack 1400
         72.064 us  2 > 1  ack 11200
    complete: 72.064us, ideal 70.6736us; sent again 0, timeouts 0
    ");
    let flow = &results.flows[0];
    assert_eq!((flow.retransmitted_packets, flow.timeouts), (0, 0));
    assert_eq!(results.totals.dropped_packets, 0);
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
         62.531 us  2 > 1  ack 1400
         64.858 us  2 > 1  ack 1400
         67.184 us  2 > 1  ack 1400
         82.634 us  1 > 2  data 8400..9800 p4
         83.797 us  1 > 2  data 9800..11200 p4
        104.960 us  2 > 1  ack 1400
        106.123 us  2 > 1  ack 1400
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
         40.205 us  1 > 2  data 0..1400
         51.837 us  1 > 2  data 1400..2800
         62.531 us  2 > 1  ack 1400
         63.469 us  1 > 2  data 2800..4200
         74.163 us  2 > 1  ack 2800
         75.101 us  1 > 2  data 4200..5600
         85.795 us  2 > 1  ack 4200
         97.427 us  2 > 1  ack 5600
    complete: 97.4272us, ideal 66.0208us; sent again 0, timeouts 0
    ");
}
