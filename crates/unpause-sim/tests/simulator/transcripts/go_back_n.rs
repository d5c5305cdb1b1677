//! Go-back-N of RoCE: ACK, NAK, timeout.

use unpause_protocols::congestion_point::{self, faults};
use unpause_sim::config::{Config, NicModel};
use unpause_sim::results::{PacketKind, PacketRecord};

use super::*;

/// So many packets from host 1 to host 2, 10 Gb/s and 10 us a link; the switch drops packets by their
/// number at its queue.
fn pair(packets: u64, drop: &[u32]) -> Config {
    let fabric = star(&[gbps(10); 2], us(10));
    let mut config = config(fabric, vec![sized(1, 2, packets * 1000)], ms(1));
    config.switch.lossless = 0;
    config.host.retransmit_timeout = us(200);
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(drop, &[]));
    config
}

/// Packets after a gap are discarded, and the gap is reported once.
#[test]
fn one_nak_for_a_gap() {
    assert_snapshot!(page(&pair(8, &[2]), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..7 until 5.869 us
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         44.298 us  1 > 2  data 2..7 until 48.490 us
         65.974 us  2 > 1  ack 3..8 until 70.166 us
    flow 0: complete after 70.1664us; sent again 6, timeouts 0
    ");
}

/// Packet 2 is lost again: the receiver has said what it misses, and says no more. The sender waits
/// for the timeout, counted from the NAK.
#[test]
fn no_second_nak_for_a_gap() {
    assert_snapshot!(page(&pair(8, &[2, 8]), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..7 until 5.869 us
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         44.298 us  1 > 2  data 2  dropped
         45.136 us  1 > 2  data 3..7 until 48.490 us
        244.298 us  1 > 2  data 2..7 until 248.490 us
        265.974 us  2 > 1  ack 3..8 until 270.166 us
    flow 0: complete after 270.1664us; sent again 12, timeouts 1
    ");
}

/// A new gap after progress is reported anew.
#[test]
fn another_gap_another_nak() {
    assert_snapshot!(page(&pair(8, &[2, 10]), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..1 until 0.838 us
          1.677 us  1 > 2  data 2  dropped
          2.515 us  1 > 2  data 3..7 until 5.869 us
         21.677 us  2 > 1  ack 1..2 until 22.515 us
         24.192 us  2 > 1  NAK 2
         44.298 us  1 > 2  data 2..3 until 45.136 us
         45.974 us  1 > 2  data 4  dropped
         46.813 us  1 > 2  data 5..7 until 48.490 us
         65.974 us  2 > 1  ack 3..4 until 66.813 us
         68.490 us  2 > 1  NAK 4
         88.595 us  1 > 2  data 4..7 until 91.110 us
        110.272 us  2 > 1  ack 5..8 until 112.787 us
    flow 0: complete after 112.7872us; sent again 10, timeouts 0
    ");
}

/// Nothing comes after the last packet that could show the gap.
#[test]
fn the_last_packet_is_lost() {
    assert_snapshot!(page(&pair(8, &[7]), PACKETS).0, @r"
          0.000 us  1 > 2  data 0..6 until 5.030 us
          5.869 us  1 > 2  data 7  dropped
         21.677 us  2 > 1  ack 1..7 until 26.707 us
        246.813 us  1 > 2  data 7
        268.490 us  2 > 1  ack 8
    flow 0: complete after 268.4896us; sent again 1, timeouts 1
    ");
}

/// An ACK for each fourth packet, and for the last.
#[test]
fn some_packets_ask_for_an_ack() {
    let mut config = pair(10, &[]);
    config.host.ack_every = 4;
    let (text, results) = page(&config, PACKETS);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 2  data 0..9 until 7.546 us
         24.192 us  2 > 1  ack 4..10 until 29.222 us (3 of them)
    flow 0: complete after 29.2224us
    ");
}

/// A packet that asked for an ACK is lost; the NAK says as much.
#[test]
fn a_nak_acknowledges() {
    let mut config = pair(10, &[3]);
    config.host.ack_every = 4;
    assert_snapshot!(page(&config, PACKETS).0, @r"
          0.000 us  1 > 2  data 0..2 until 1.677 us
          2.515 us  1 > 2  data 3  dropped
          3.354 us  1 > 2  data 4..9 until 7.546 us
         25.030 us  2 > 1  NAK 3
         45.136 us  1 > 2  data 3..9 until 50.166 us
         66.813 us  2 > 1  ack 4..10 until 71.843 us (3 of them)
    flow 0: complete after 71.8432us; sent again 7, timeouts 0
    ");
}

/// Two NAKs of a gap take the sender back twice: what comes a second time is acknowledged again, but not by a host like
/// that of HPCC's simulator. After a timeout, of which there is none
/// there, it is, until the sender hears something.
#[test]
fn duplicates_are_acknowledged_unless_as_in_hpccs_simulator() {
    let acks = |config: &Config| {
        let (_, results) = page(config, PACKETS);
        assert!(results.flows[0].retransmitted_packets > 0);
        let ack = |it: &&PacketRecord| it.kind == PacketKind::Ack && it.node == 2;
        results.packets.iter().filter(ack).count()
    };
    let mut config = pair(90, &[2]);
    config.host.nak_interval = Some(us(20));
    assert_eq!(acks(&config), 138);
    config.host.nic = NicModel::Hpcc;
    assert_eq!(acks(&config), 90);

    // The timeout is shorter than the round trip: all 60 packets come twice, 24 of them again after the flow is complete.
    config = pair(60, &[]);
    config.host.retransmit_timeout = us(30);
    assert_eq!(acks(&config), 120);
    // There, those do that are sent before an ACK of the first 60 comes.
    config.host.nic = NicModel::Hpcc;
    assert_eq!(acks(&config), 98);
}
