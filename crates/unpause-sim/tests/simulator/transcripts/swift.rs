//! Swift: RTT samples and what they make of the window.

use unpause_protocols::congestion_control::{self, swift};
use unpause_protocols::units::Rate;
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::traffic::FlowSpec;

use super::*;

const RTTS: Show = Show {
    flows: &[0],
    data: true,
    rtts: true,
    ..NOTHING
};

/// Host 1 sends to host 3 with a target of 40 us; host 2 sends 0.9 Gb/s there from 60 us to 160 us and obeys
/// nobody. 1 Gb/s and 1 us a link: a packet takes 8.384 us of a link, and the RTT of the empty network, from a
/// packet's last bit to its ACK, is 13.44 us.
fn beside_a_stream() -> Config {
    let stream = FlowSpec {
        controlled: false,
        rate_limit: Some(Rate::from_mbps(900)),
        start: us(60),
        stop: us(160),
        ..flow(2, 3)
    };
    let mut config = config(
        star(&[gbps(1); 3], us(1)),
        vec![flow(1, 3), stream],
        us(400),
    );
    config.scheme = SchemeConfig {
        roce: congestion_control::Config::Swift(swift::Params {
            base_target: us(40),
            fs_range: us(0),
            ..swift::Params::default()
        }),
        ..SchemeConfig::default()
    };
    config
}

/// Below the target the window grows by a packet in a round trip; above it, it is cut by 0.8 of the share of
/// the RTT that is beyond, half of it at most and once in a round trip. The ACKs of 228 and 245 us let nothing
/// go: more than the window is in flight.
#[test]
fn an_rtt_above_the_target_cuts_the_window_once_in_a_round_trip() {
    assert_snapshot!(page(&beside_a_stream(), RTTS).0, @r"
          0.000 us  1 > 3  data 0..2 until 16.768 us
         18.768 us  3 > 1  ack 1, RTT 13.44us
         25.152 us  1 > 3  data 3
         27.152 us  3 > 1  ack 2, RTT 13.44us
         33.536 us  1 > 3  data 4
         35.536 us  3 > 1  ack 3, RTT 13.44us
         41.920 us  1 > 3  data 5
         43.920 us  3 > 1  ack 4, RTT 13.44us
         50.304 us  1 > 3  data 6
         52.304 us  3 > 1  ack 5, RTT 13.44us
         58.688 us  1 > 3  data 7
         60.688 us  3 > 1  ack 6, RTT 13.44us
         67.072 us  1 > 3  data 8
         69.072 us  3 > 1  ack 7, RTT 13.44us
         75.456 us  1 > 3  data 9
         77.456 us  3 > 1  ack 8, RTT 13.44us
         83.840 us  1 > 3  data 10..11 until 92.224 us
         94.224 us  3 > 1  ack 9, RTT 21.824us
        100.608 us  1 > 3  data 12
        110.992 us  3 > 1  ack 10, RTT 30.208us
        114.048 us  1 > 3  data 13
        127.760 us  3 > 1  ack 11, RTT 38.592us
        130.816 us  1 > 3  data 14
        144.528 us  3 > 1  ack 12, RTT 46.976us
        147.584 us  1 > 3  data 15
        161.296 us  3 > 1  ack 13, RTT 55.36us
        164.352 us  1 > 3  data 16
        178.064 us  3 > 1  ack 14, RTT 58.688us
        181.120 us  1 > 3  data 17
        203.216 us  3 > 1  ack 15, RTT 67.072us
        206.272 us  1 > 3  data 18
        228.368 us  3 > 1  ack 16, RTT 75.456us
        245.136 us  3 > 1  ack 17, RTT 75.456us
        253.520 us  3 > 1  ack 18, RTT 67.072us
        256.576 us  1 > 3  data 19
        261.904 us  3 > 1  ack 19, RTT 50.304us
        264.960 us  1 > 3  data 20
        275.344 us  3 > 1  ack 20, RTT 13.44us
        278.400 us  1 > 3  data 21
        283.728 us  3 > 1  ack 21, RTT 13.44us
        286.784 us  1 > 3  data 22..23 until 295.168 us
        297.168 us  3 > 1  ack 22, RTT 13.44us
        303.552 us  1 > 3  data 24
        305.552 us  3 > 1  ack 23, RTT 13.44us
        311.936 us  1 > 3  data 25
        313.936 us  3 > 1  ack 24, RTT 13.44us
        320.320 us  1 > 3  data 26
        322.320 us  3 > 1  ack 25, RTT 13.44us
        328.704 us  1 > 3  data 27
        330.704 us  3 > 1  ack 26, RTT 13.44us
        337.088 us  1 > 3  data 28
        339.088 us  3 > 1  ack 27, RTT 13.44us
        345.472 us  1 > 3  data 29
        347.472 us  3 > 1  ack 28, RTT 13.44us
        353.856 us  1 > 3  data 30
        355.856 us  3 > 1  ack 29, RTT 13.44us
        362.240 us  1 > 3  data 31
        364.240 us  3 > 1  ack 30, RTT 13.44us
        370.624 us  1 > 3  data 32
        372.624 us  3 > 1  ack 31, RTT 13.44us
        379.008 us  1 > 3  data 33
        381.008 us  3 > 1  ack 32, RTT 13.44us
        387.392 us  1 > 3  data 34
        389.392 us  3 > 1  ack 33, RTT 13.44us
        395.776 us  1 > 3  data 35
        397.776 us  3 > 1  ack 34, RTT 13.44us
    flow 0: 34000 B delivered
    ");
}
