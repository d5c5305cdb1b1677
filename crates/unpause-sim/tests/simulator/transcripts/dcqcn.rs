//! DCQCN: CNPs of the receiver, what the sender makes of them.

use unpause_protocols::congestion_point::{self, faults};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::Config;

use super::*;

const RATE: Show = Show {
    flows: &[0],
    data: true,
    rates: true,
    ..NOTHING
};

/// A flow alone, 40 Gb/s and 1 us a link; the switch marks packets by their number.
fn marked(mark: &[u32]) -> Config {
    let mut config = config(star(&[gbps(40); 2], us(1)), vec![flow(1, 2)], us(500));
    config.scheme = dcqcn();
    config.scheme.congestion_point =
        congestion_point::Config::Faults(faults::Params::chosen(&[], mark));
    config
}

/// The first mark makes a CNP, another within 50 us none, the next one does. The first cut takes
/// alpha / 2 = half, the second 255/512; every 55 us the rate goes half the way back to the target, which
/// is the rate before the cut.
#[test]
fn a_cnp_at_most_every_50_us() {
    assert_snapshot!(page(&marked(&[100, 110, 300]), RATE).0, @r"
          0.000 us  1 > 2  data 0
          0.100 us  flow 0 may send 40.000 Gb/s
          0.210 us  1 > 2  data 1..111 until 23.266 us  2 marked
         23.379 us  2 > 1  CNP
         23.475 us  1 > 2  data 112..121 until 25.362 us
         25.500 us  flow 0 may send 20.000 Gb/s
         25.781 us  1 > 2  data 122..252 until 80.277 us
         80.500 us  flow 0 may send 30.000 Gb/s
         80.556 us  1 > 2  data 253..308 until 95.927 us  1 marked
         96.110 us  2 > 1  CNP
         96.206 us  1 > 2  data 309..315 until 97.883 us
         98.200 us  flow 0 may send 15.059 Gb/s
         98.440 us  1 > 2  data 316..414 until 153.002 us
        153.200 us  flow 0 may send 22.529 Gb/s
        153.375 us  1 > 2  data 415..562 until 208.079 us
        208.200 us  flow 0 may send 26.265 Gb/s
        208.398 us  1 > 2  data 563..734 until 262.983 us
        263.200 us  flow 0 may send 28.132 Gb/s
        263.281 us  1 > 2  data 735..919 until 318.117 us
        318.200 us  flow 0 may send 29.066 Gb/s
        318.406 us  1 > 2  data 920..1109 until 372.922 us
        373.200 us  flow 0 may send 29.553 Gb/s
        373.206 us  1 > 2  data 1110..1303 until 427.958 us
        428.200 us  flow 0 may send 29.817 Gb/s
        428.240 us  1 > 2  data 1304..1499 until 483.071 us
        483.200 us  flow 0 may send 29.968 Gb/s
        483.351 us  1 > 2  data 1500..1559 until 499.857 us
    flow 0: 1551000 B delivered
    ");
}

/// ns3-rdma looks for marks at the end of each interval.
#[test]
fn a_polling_receiver() {
    let mut config = marked(&[100, 110, 300]);
    config.stop = us(200);
    let notification_point::Config::Dcqcn(params) = &mut config.scheme.notification_point else {
        unreachable!("DCQCN's own")
    };
    params.np_poll = true;
    assert_snapshot!(page(&config, RATE).0, @r"
          0.000 us  1 > 2  data 0
          0.100 us  flow 0 may send 40.000 Gb/s
          0.210 us  1 > 2  data 1..250 until 52.400 us  2 marked
         52.419 us  2 > 1  CNP
         52.610 us  1 > 2  data 251..259 until 54.286 us
         54.500 us  flow 0 may send 20.000 Gb/s
         54.706 us  1 > 2  data 260..373 until 102.075 us  1 marked
        102.419 us  2 > 1  CNP
        102.494 us  1 > 2  data 374..378 until 104.171 us
        104.500 us  flow 0 may send 10.000 Gb/s
        105.010 us  1 > 2  data 379..444 until 159.450 us
        159.500 us  flow 0 may send 15.000 Gb/s
        160.009 us  1 > 2  data 445..516 until 199.694 us
    flow 0: 513000 B delivered
    ");
}

/// Timer and byte counter (here 100 KB) each have cycles. Up to the fourth of either the rate recovers, from
/// the fifth on each cycle adds 40 Mb/s to the target, and when both have passed the fifth, 200 Mb/s and
/// then its multiples.
#[test]
fn recovery_additive_and_hyper_increase() {
    let mut config = marked(&[0, 240, 360, 420]);
    config.stop = us(700);
    let congestion_control::Config::Dcqcn(params) = &mut config.scheme.roce else {
        unreachable!("DCQCN's own")
    };
    params.byte_counter = Some(100_000);
    let (text, _) = page(
        &config,
        Show {
            data: false,
            ..RATE
        },
    );
    assert_snapshot!(text, @r"
          0.100 us  flow 0 may send 40.000 Gb/s
          2.419 us  2 > 1  CNP
          4.500 us  flow 0 may send 20.000 Gb/s
         44.700 us  flow 0 may send 30.000 Gb/s
         59.500 us  flow 0 may send 35.000 Gb/s
         69.800 us  flow 0 may send 37.500 Gb/s
         78.206 us  2 > 1  CNP
         80.300 us  flow 0 may send 18.823 Gb/s
        122.800 us  flow 0 may send 28.162 Gb/s
        135.300 us  flow 0 may send 32.831 Gb/s
        143.548 us  2 > 1  CNP
        145.600 us  flow 0 may send 16.543 Gb/s
        194.200 us  flow 0 may send 24.687 Gb/s
        200.600 us  flow 0 may send 28.759 Gb/s
        223.100 us  flow 0 may send 30.795 Gb/s
        249.200 us  flow 0 may send 31.813 Gb/s
        255.600 us  flow 0 may send 32.322 Gb/s
        274.200 us  flow 0 may send 32.576 Gb/s
        298.900 us  flow 0 may send 32.724 Gb/s
        310.600 us  flow 0 may send 32.817 Gb/s
        323.500 us  flow 0 may send 32.884 Gb/s
        348.000 us  flow 0 may send 32.937 Gb/s
        365.600 us  flow 0 may send 32.984 Gb/s
        372.400 us  flow 0 may send 33.027 Gb/s
        396.700 us  flow 0 may send 33.069 Gb/s
        420.600 us  flow 0 may send 33.110 Gb/s
        421.100 us  flow 0 may send 33.150 Gb/s
        445.400 us  flow 0 may send 33.191 Gb/s
        469.600 us  flow 0 may send 33.231 Gb/s
        475.600 us  flow 0 may send 33.351 Gb/s
        493.800 us  flow 0 may send 33.511 Gb/s
        517.800 us  flow 0 may send 33.691 Gb/s
        530.600 us  flow 0 may send 33.981 Gb/s
        541.600 us  flow 0 may send 34.326 Gb/s
        565.000 us  flow 0 may send 34.698 Gb/s
        585.600 us  flow 0 may send 35.185 Gb/s
        588.200 us  flow 0 may send 35.728 Gb/s
        610.700 us  flow 0 may send 36.299 Gb/s
        632.900 us  flow 0 may send 36.885 Gb/s
        640.600 us  flow 0 may send 37.578 Gb/s
        654.500 us  flow 0 may send 38.324 Gb/s
        675.500 us  flow 0 may send 39.098 Gb/s
        695.600 us  flow 0 may send 39.549 Gb/s
        696.000 us  flow 0 may send 39.774 Gb/s
    flow 0: 2557000 B delivered
    ");
}
