//! A connection's reaction to a loss or a mark, packet by packet.

use insta::assert_snapshot;
use unpause_protocols::loss_recovery::newreno;
use unpause_protocols::tagging::{self, pias};
use unpause_sim::config::{DelayedAck, Tags};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use super::*;

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
         42.531 us  1 > 2  data 2800..14000, 8 until 50.674 us
         62.531 us  2 > 1  ack 1400, 9 until 73.000 us
         82.634 us  1 > 2  data 14000..19600, 4 until 86.123 us
         87.286 us  1 > 2  data 1400..2800
         91.939 us  1 > 2  data 19600..22400, 2 until 93.102 us
        104.960 us  2 > 1  ack 1400, 4 until 108.450 us
        109.613 us  2 > 1  ack 19600..22400, 3 until 115.429 us
        125.062 us  1 > 2  data 22400..28000, 4 until 128.552 us
        147.389 us  2 > 1  ack 23800..28000, 4 until 150.878 us
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
         40.205 us  1 > 2  data 0..2800 ECT, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..4200 ECT  marked
         43.694 us  1 > 2  data 4200..8400 ECT, 3 until 46.021 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         64.858 us  2 > 1  ack 4200..8400 ECE, 4 until 68.347 us
         82.634 us  1 > 2  data 8400..11200 ECT, 2 until 83.797 us
         87.286 us  1 > 2  data 11200..12600 ECT CWR
         88.450 us  1 > 2  data 12600..14000 ECT
        104.960 us  2 > 1  ack 9800..11200 ECE, 2 until 106.123 us
        109.613 us  2 > 1  ack 12600..14000, 2 until 110.776 us
        125.062 us  1 > 2  data 14000..19600 ECT, 4 until 130.878 us
        147.389 us  2 > 1  ack 15400..19600, 4 until 153.205 us
        167.491 us  1 > 2  data 19600..22400 ECT, 2 until 168.654 us
        189.818 us  2 > 1  ack 21000..22400, 2 until 190.981 us
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
         40.205 us  1 > 2  data 0..2800 ECT, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..5600 ECT  marked, 2 until 43.694 us
         44.858 us  1 > 2  data 5600..8400 ECT, 2 until 46.021 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         64.858 us  2 > 1  ack 4200..5600 ECE, 2 until 66.021 us
         67.184 us  2 > 1  ack 7000..8400, 2 until 68.347 us
         82.634 us  1 > 2  data 8400..11200 ECT, 2 until 83.797 us
         87.286 us  1 > 2  data 11200..12600 ECT CWR
         88.450 us  1 > 2  data 12600..14000 ECT
        104.960 us  2 > 1  ack 9800..14000, 4 until 110.776 us
        125.062 us  1 > 2  data 14000..19600 ECT, 4 until 130.878 us
        147.389 us  2 > 1  ack 15400..19600, 4 until 153.205 us
        167.491 us  1 > 2  data 19600..22400 ECT, 2 until 168.654 us
        189.818 us  2 > 1  ack 21000..22400, 2 until 190.981 us
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
         40.205 us  1 > 2  data 0..4200 ECT, 3 until 42.531 us
         43.694 us  1 > 2  data 4200..7000 ECT  marked, 2 until 44.858 us
         46.021 us  1 > 2  data 7000..11200 ECT, 3 until 48.347 us
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
         40.205 us  1 > 2  data 0..2800, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..4200  dropped
         43.694 us  1 > 2  data 4200..11200, 5 until 48.347 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         66.021 us  2 > 1  ack 2800, 5 until 70.674 us
         82.634 us  1 > 2  data 11200..16800, 4 until 86.123 us
         88.450 us  1 > 2  data 2800..4200
        104.960 us  2 > 1  ack 2800, 4 until 108.450 us
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
         40.205 us  1 > 2  data 0..2800, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..4200  dropped
         43.694 us  1 > 2  data 4200..11200, 5 until 48.347 us
         62.531 us  2 > 1  ack 1400..2800, 2 until 63.694 us
         66.021 us  2 > 1  ack 2800, 5 until 70.674 us
         82.634 us  1 > 2  data 11200..16800, 4 until 86.123 us
         88.450 us  1 > 2  data 2800..4200  dropped
        104.960 us  2 > 1  ack 2800, 4 until 108.450 us
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
         40.205 us  1 > 2  data 0..2800 p1, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..11200 p2, 6 until 48.347 us
         63.083 us  2 > 1  ack 1400, 7 until 70.901 us
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
         40.205 us  1 > 2  data 0..2800 p1, 2 until 41.368 us
         42.531 us  1 > 2  data 2800..11200 p2, 6 until 48.347 us
         63.083 us  2 > 1  ack 1400, 7 until 70.901 us
         72.064 us  2 > 1  ack 11200
    complete: 72.064us, ideal 70.6736us; sent again 0, timeouts 0
    ");
    let flow = &results.flows[0];
    assert_eq!((flow.retransmitted_packets, flow.timeouts), (0, 0));
    assert_eq!(results.totals.dropped_packets, 0);
}
