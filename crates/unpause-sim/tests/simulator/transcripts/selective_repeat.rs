//! Selective repeat of RoCE: ACKs, NAKs that say what has come, two timeouts.

use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::loss_recovery::{self, selective_repeat};
use unpause_sim::config::Config;

use super::*;

/// So many packets from host 1 to host 2, 10 Gb/s and 10 us a link; the switch drops packets by their
/// number at its queue.
fn pair(packets: u64, drop: &[u32], params: selective_repeat::Params) -> Config {
    let fabric = star(&[gbps(10); 2], us(10));
    let mut config = config(fabric, vec![sized(1, 2, packets * 1000)], ms(2));
    config.switch.lossless = 0;
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(drop, &[]));
    config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(params);
    config
}

/// A round trip of 40 us.
fn irn() -> selective_repeat::Params {
    selective_repeat::Params {
        base_rtt: us(40),
        ..selective_repeat::Params::default()
    }
}

/// Each packet that comes after a gap is answered and kept; each that is missing is sent again once.
#[test]
fn what_is_missing_is_sent_again_alone() {
    assert_snapshot!(page(&pair(10, &[2, 5], irn()), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..4 until 3.354 us
          4.192 us  1 > 2  data 5  dropped
          5.030 us  1 > 2  data 6..9 until 7.546 us
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         25.030 us  2 > 1  NAK 2
         26.707 us  2 > 1  NAK 2
         27.546 us  2 > 1  NAK 2
         28.384 us  2 > 1  NAK 2
         29.222 us  2 > 1  NAK 2
         44.298 us  1 > 2  data 2
         46.813 us  1 > 2  data 5
         65.974 us  2 > 1  ack 5..10 until 68.490 us (2 of them)
    flow 0: complete after 68.4896us; sent again 2, timeouts 0
    ");
}

/// The retransmission is lost, too: only the timeout recovers, counted from the last news.
#[test]
fn a_packet_lost_twice_waits_for_the_timeout() {
    assert_snapshot!(page(&pair(10, &[2, 10], irn()), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..9 until 7.546 us
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         25.030 us  2 > 1  NAK 2
         25.869 us  2 > 1  NAK 2
         26.707 us  2 > 1  NAK 2
         27.546 us  2 > 1  NAK 2
         28.384 us  2 > 1  NAK 2
         29.222 us  2 > 1  NAK 2
         44.298 us  1 > 2  data 2  dropped
        149.328 us  1 > 2  data 2
        171.005 us  2 > 1  ack 10
    flow 0: complete after 171.0048us; sent again 2, timeouts 1
    ");
}

/// Nothing comes after the last packet that could show the loss: few are in flight, so the short timeout counts.
#[test]
fn the_last_packet_is_lost() {
    assert_snapshot!(page(&pair(10, &[9], irn()), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..8 until 6.707 us
          7.546 us  1 > 2  data 9  dropped
         21.677 us  2 > 1  ack 1..9 until 28.384 us
        148.490 us  1 > 2  data 9
        170.166 us  2 > 1  ack 10
    flow 0: complete after 170.1664us; sent again 1, timeouts 1
    ");
}

/// The window is 4 packets, from the one that is missing on.
#[test]
fn a_window_reaches_from_the_first_packet_missing() {
    let params = selective_repeat::Params {
        window: Some(4_000),
        ..irn()
    };
    assert_snapshot!(page(&pair(8, &[1], params), PACKETS).0, @r"
          0.000 us  1 > 2  data 0
          0.838 us  1 > 2  data 1  dropped
          1.677 us  1 > 2  data 2..3 until 2.515 us
         21.677 us  2 > 1  ack 1
         23.354 us  2 > 1  NAK 1
         24.192 us  2 > 1  NAK 1
         41.782 us  1 > 2  data 4
         43.459 us  1 > 2  data 1
         63.459 us  2 > 1  NAK 1
         65.136 us  2 > 1  ack 5
         85.242 us  1 > 2  data 5..7 until 86.918 us
        106.918 us  2 > 1  ack 6..8 until 108.595 us
    flow 0: complete after 108.5952us; sent again 1, timeouts 0
    ");
}

/// Two packets may overtake another one.
#[test]
fn reordering_is_no_loss_up_to_a_limit() {
    let params = selective_repeat::Params {
        reordering: Some(2),
        ..irn()
    };
    assert_snapshot!(page(&pair(10, &[2, 8], params), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..7 until 5.869 us
          6.707 us  1 > 2  data 8  dropped
          7.546 us  1 > 2  data 9
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         25.030 us  2 > 1  NAK 2
         25.869 us  2 > 1  NAK 2
         26.707 us  2 > 1  NAK 2
         27.546 us  2 > 1  NAK 2
         29.222 us  2 > 1  NAK 2
         45.974 us  1 > 2  data 2
         67.651 us  2 > 1  ack 8
        187.757 us  1 > 2  data 8
        209.434 us  2 > 1  ack 10
    flow 0: complete after 209.4336us; sent again 2, timeouts 1
    ");
}

/// An ACK for each fourth packet only, but for all that come out of order, and for the one that fills the gap.
#[test]
fn gaps_are_answered_at_once() {
    let mut config = pair(10, &[3], irn());
    config.host.ack_every = 4;
    assert_snapshot!(page(&config, PACKETS).0, @r"
          0.000 us  1 > 2  data 0..2 until 1.677 us
          2.515 us  1 > 2  data 3  dropped
          3.354 us  1 > 2  data 4..9 until 7.546 us
         25.030 us  2 > 1  NAK 3
         25.869 us  2 > 1  NAK 3
         26.707 us  2 > 1  NAK 3
         27.546 us  2 > 1  NAK 3
         28.384 us  2 > 1  NAK 3
         29.222 us  2 > 1  NAK 3
         45.136 us  1 > 2  data 3
         66.813 us  2 > 1  ack 10
    flow 0: complete after 66.8128us; sent again 1, timeouts 0
    ");
}
