//! PCN: CNPs with a receive rate, decrease and increase.

use unpause_protocols::units::Rate;
use unpause_sim::config::Config;
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use super::*;

const FIRST: Show = Show {
    flows: &[0],
    data: true,
    rates: true,
    ..NOTHING
};

/// Hosts 1 and 2 send to host 3 from the start, host 2 up to 120 us; 40 Gb/s and 1 us a link.
fn two_into_one() -> Config {
    let second = FlowSpec {
        stop: us(120),
        ..flow(2, 3)
    };
    let mut config = config(
        star(&[gbps(40); 3], us(1)),
        vec![flow(1, 3), second],
        us(700),
    );
    config.scheme = pcn();
    config
}

/// A period of 50 us with more than 95 % marks: down to 127/128 of what was received, never up. In other
/// periods the rate grows by a share w of what is missing to the line rate; w is 1/128 at first, then
/// w (1 - w) + w / 2.
#[test]
fn down_to_what_is_received_then_up() {
    assert_snapshot!(page(&two_into_one(), FIRST).0, @r"
          0.000 us  1 > 3  data 0
          0.100 us  flow 0 may send 40.000 Gb/s
          0.210 us  1 > 3  data 1..250 until 52.400 us  marked
         52.419 us  3 > 1  CNP: decrease, receive rate 20121 Mb/s
         52.610 us  1 > 3  data 251..259 until 54.286 us  marked
         54.500 us  flow 0 may send 19.964 Gb/s
         54.706 us  1 > 3  data 260..373 until 102.160 us  marked
        102.419 us  3 > 1  CNP: decrease, receive rate 19953 Mb/s
        102.580 us  1 > 3  data 374..378 until 104.260 us  marked
        104.500 us  flow 0 may send 19.798 Gb/s
        104.684 us  1 > 3  data 379..491 until 152.113 us  marked
        152.419 us  3 > 1  CNP: decrease, receive rate 19953 Mb/s
        152.537 us  1 > 3  data 492..609 until 202.083 us  marked
        202.419 us  3 > 1  CNP: decrease, receive rate 30350 Mb/s
        202.507 us  1 > 3  data 610..727 until 252.054 us  57 marked
        252.419 us  3 > 1  CNP: increase
        252.477 us  1 > 3  data 728..732 until 254.171 us
        254.500 us  flow 0 may send 19.956 Gb/s
        254.591 us  1 > 3  data 733..846 until 302.066 us
        302.419 us  3 > 1  CNP: increase
        302.486 us  1 > 3  data 847..851 until 304.166 us
        304.500 us  flow 0 may send 20.190 Gb/s
        304.582 us  1 > 3  data 852..967 until 352.337 us
        352.419 us  3 > 1  CNP: increase
        352.752 us  1 > 3  data 968..972 until 354.413 us
        354.500 us  flow 0 may send 20.533 Gb/s
        354.822 us  1 > 3  data 973..1089 until 402.186 us
        402.419 us  3 > 1  CNP: increase
        402.594 us  1 > 3  data 1090..1094 until 404.228 us
        404.500 us  flow 0 may send 21.034 Gb/s
        404.626 us  1 > 3  data 1095..1214 until 452.059 us
        452.419 us  3 > 1  CNP: increase
        452.457 us  1 > 3  data 1215..1220 until 454.450 us
        454.500 us  flow 0 may send 21.753 Gb/s
        454.836 us  1 > 3  data 1221..1344 until 502.242 us
        502.419 us  3 > 1  CNP: increase
        502.627 us  1 > 3  data 1345..1349 until 504.169 us
        504.500 us  flow 0 may send 22.765 Gb/s
        504.537 us  1 > 3  data 1350..1480 until 552.414 us
        552.419 us  3 > 1  CNP: increase
        552.782 us  1 > 3  data 1481..1485 until 554.255 us
        554.500 us  flow 0 may send 24.146 Gb/s
        554.602 us  1 > 3  data 1486..1623 until 602.172 us
        602.419 us  3 > 1  CNP: increase
        602.520 us  1 > 3  data 1624..1629 until 604.256 us
        604.500 us  flow 0 may send 25.949 Gb/s
        604.579 us  1 > 3  data 1630..1778 until 652.397 us
        652.419 us  3 > 1  CNP: increase
        652.721 us  1 > 3  data 1779..1784 until 654.336 us
        654.500 us  flow 0 may send 28.164 Gb/s
        654.634 us  1 > 3  data 1785..1937 until 699.882 us
    flow 0: 1930000 B delivered
    ");
}

/// A packet every 104.8 us: in a period without one the receiver says nothing.
#[test]
fn no_packets_no_cnp() {
    let mut config = two_into_one();
    config.traffic = vec![TrafficSpec::Flows(vec![FlowSpec {
        offered: Some(Rate::from_mbps(80)),
        ..sized(1, 3, 6_000)
    }])];
    assert_snapshot!(page(&config, FIRST).0, @r"
          0.000 us  1 > 3  data 0
          0.100 us  flow 0 may send 40.000 Gb/s
         52.419 us  3 > 1  CNP: increase
        104.800 us  1 > 3  data 1
        152.419 us  3 > 1  CNP: increase
        209.600 us  1 > 3  data 2
        252.419 us  3 > 1  CNP: increase
        314.400 us  1 > 3  data 3
        352.419 us  3 > 1  CNP: increase
        419.200 us  1 > 3  data 4
        452.419 us  3 > 1  CNP: increase
        524.000 us  1 > 3  data 5
    flow 0: complete after 526.4192us
    ");
}
