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
         54.706 us  1 > 3  data 260..373 until 102.162 us  marked
        102.419 us  3 > 1  CNP: decrease, receive rate 19953 Mb/s
        102.582 us  1 > 3  data 374..378 until 104.262 us  marked
        104.500 us  flow 0 may send 19.797 Gb/s
        104.685 us  1 > 3  data 379..491 until 152.117 us  marked
        152.419 us  3 > 1  CNP: decrease, receive rate 19953 Mb/s
        152.540 us  1 > 3  data 492..609 until 202.090 us  marked
        202.419 us  3 > 1  CNP: decrease, receive rate 30350 Mb/s
        202.513 us  1 > 3  data 610..727 until 252.062 us  57 marked
        252.419 us  3 > 1  CNP: increase
        252.486 us  1 > 3  data 728..732 until 254.180 us
        254.500 us  flow 0 may send 19.955 Gb/s
        254.600 us  1 > 3  data 733..846 until 302.076 us
        302.419 us  3 > 1  CNP: increase
        302.497 us  1 > 3  data 847..851 until 304.177 us
        304.500 us  flow 0 may send 20.189 Gb/s
        304.592 us  1 > 3  data 852..967 until 352.350 us
        352.419 us  3 > 1  CNP: increase
        352.765 us  1 > 3  data 968..972 until 354.427 us
        354.500 us  flow 0 may send 20.532 Gb/s
        354.835 us  1 > 3  data 973..1089 until 402.201 us
        402.419 us  3 > 1  CNP: increase
        402.610 us  1 > 3  data 1090..1094 until 404.243 us
        404.500 us  flow 0 may send 21.033 Gb/s
        404.642 us  1 > 3  data 1095..1214 until 452.076 us
        452.419 us  3 > 1  CNP: increase
        452.475 us  1 > 3  data 1215..1220 until 454.454 us
        454.500 us  flow 0 may send 21.753 Gb/s
        454.840 us  1 > 3  data 1221..1344 until 502.247 us
        502.419 us  3 > 1  CNP: increase
        502.633 us  1 > 3  data 1345..1349 until 504.175 us
        504.500 us  flow 0 may send 22.764 Gb/s
        504.543 us  1 > 3  data 1350..1479 until 552.053 us
        552.419 us  3 > 1  CNP: increase
        552.421 us  1 > 3  data 1480..1485 until 554.263 us
        554.500 us  flow 0 may send 24.145 Gb/s
        554.610 us  1 > 3  data 1486..1623 until 602.182 us
        602.419 us  3 > 1  CNP: increase
        602.529 us  1 > 3  data 1624..1629 until 604.265 us
        604.500 us  flow 0 may send 25.948 Gb/s
        604.588 us  1 > 3  data 1630..1778 until 652.408 us
        652.419 us  3 > 1  CNP: increase
        652.731 us  1 > 3  data 1779..1784 until 654.346 us
        654.500 us  flow 0 may send 28.164 Gb/s
        654.644 us  1 > 3  data 1785..1937 until 699.893 us
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
