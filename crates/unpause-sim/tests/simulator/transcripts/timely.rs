//! TIMELY: RTT samples and what they make of the rate.

use unpause_protocols::congestion_control::timely::Params;
use unpause_protocols::congestion_point::{self, faults};
use unpause_sim::config::{AckPriority, Config, NicModel, RateChange};
use unpause_sim::traffic::FlowSpec;

use super::*;

const RTTS: Show = Show {
    flows: &[0],
    data: true,
    rtts: true,
    rates: true,
    ..NOTHING
};

/// Host 1 sends segments of 16 KB to host 3, each as a burst; host 2 sends `rate` Gb/s there from
/// 100 us to 300 us and obeys nobody. 10 Gb/s and 1 us a link.
fn beside_a_stream(law: Params, rate: u64) -> Config {
    let stream = FlowSpec {
        controlled: false,
        rate_limit: Some(gbps(rate)),
        start: us(100),
        stop: us(300),
        ..flow(2, 3)
    };
    let mut config = config(
        star(&[gbps(10); 3], us(1)),
        vec![flow(1, 3), stream],
        us(400),
    );
    config.host.ack_every = 16;
    config.scheme = timely(law);
    config
}

/// Below 50 us the rate grows by 10 Mb/s for each segment; above, it falls by 0.8 of the gradient, which
/// is the smoothed difference of RTTs over `min_rtt`.
#[test]
fn segments_measure_and_the_gradient_decides() {
    assert_snapshot!(page(&beside_a_stream(Params::segment(), 5), RTTS).0, @r"
          0.000 us  1 > 3  data 0
          0.100 us  flow 0 may send 10.000 Gb/s
          0.838 us  1 > 3  data 1..19 until 15.930 us
         16.253 us  3 > 1  ack 16, RTT 4.944us
         16.768 us  1 > 3  data 20..35 until 29.344 us
         29.667 us  3 > 1  ack 32, RTT 4.944us
         30.182 us  1 > 3  data 36..51 until 42.758 us
         43.082 us  3 > 1  ack 48, RTT 4.944us
         43.597 us  1 > 3  data 52..67 until 56.173 us
         56.496 us  3 > 1  ack 64, RTT 4.944us
         57.011 us  1 > 3  data 68..83 until 69.587 us
         69.910 us  3 > 1  ack 80, RTT 4.944us
         70.426 us  1 > 3  data 84..99 until 83.002 us
         83.325 us  3 > 1  ack 96, RTT 4.944us
         83.840 us  1 > 3  data 100..115 until 96.416 us
         96.739 us  3 > 1  ack 112, RTT 4.944us
         97.254 us  1 > 3  data 116..135 until 113.184 us
        113.507 us  3 > 1  ack 128, RTT 8.2976us
        114.022 us  1 > 3  data 136..159 until 133.306 us
        133.629 us  3 > 1  ack 144, RTT 15.0048us
        134.144 us  1 > 3  data 160..183 until 153.427 us
        153.750 us  3 > 1  ack 160, RTT 21.712us
        154.266 us  1 > 3  data 184..207 until 173.549 us
        173.872 us  3 > 1  ack 176, RTT 28.4192us
        174.387 us  1 > 3  data 208..231 until 193.670 us
        193.994 us  3 > 1  ack 192, RTT 35.1264us
        194.509 us  1 > 3  data 232..255 until 213.792 us
        214.115 us  3 > 1  ack 208, RTT 41.8336us
        214.630 us  1 > 3  data 256..279 until 233.914 us
        234.237 us  3 > 1  ack 224, RTT 48.5408us
        234.752 us  1 > 3  data 280..303 until 254.035 us
        254.358 us  3 > 1  ack 240, RTT 55.248us
        254.874 us  1 > 3  data 304..305 until 255.712 us
        256.500 us  flow 0 may send 7.317 Gb/s
        256.550 us  1 > 3  data 306..321 until 274.045 us
        274.480 us  3 > 1  ack 256, RTT 61.9552us
        274.883 us  1 > 3  data 322..324 until 276.560 us
        276.600 us  flow 0 may send 5.354 Gb/s
        277.398 us  1 > 3  data 325..335 until 285.782 us
        294.602 us  3 > 1  ack 272, RTT 68.6624us
        296.800 us  flow 0 may send 3.918 Gb/s
        307.448 us  1 > 3  data 336..344 until 314.155 us
        314.723 us  3 > 1  ack 288, RTT 75.3696us
        314.993 us  1 > 3  data 345..347 until 316.670 us
        316.900 us  flow 0 may send 2.867 Gb/s
        317.509 us  1 > 3  data 348..351 until 320.024 us
        334.845 us  3 > 1  ack 304, RTT 82.0768us
        337.000 us  flow 0 may send 2.097 Gb/s
        354.966 us  3 > 1  ack 320, RTT 88.784us
        357.100 us  flow 0 may send 1.535 Gb/s
        377.603 us  3 > 1  ack 336, RTT 93.087905us
        379.800 us  flow 0 may send 1.252 Gb/s
        398.563 us  3 > 1  ack 352, RTT 79.806571us
    flow 0: 352000 B delivered
    ");
}

/// Patched TIMELY looks at the RTT itself, beyond 50 us, with a gain of 0.008.
#[test]
fn the_patch_steers_to_a_target() {
    let [segments, patched] =
        [Params::segment(), Params::patched()].map(|law| page(&beside_a_stream(law, 5), RTTS).0);
    assert_snapshot!(difference(&patched, &segments), @r"
        256.500 us  flow 0 may send 9.992 Gb/s
        256.550 us  1 > 3  data 306..327 until 274.168 us
        274.480 us  3 > 1  ack 256, RTT 61.9552us
        275.006 us  1 > 3  data 328..329 until 275.845 us
        276.600 us  flow 0 may send 9.972 Gb/s
        276.683 us  1 > 3  data 330..351 until 294.327 us
        294.602 us  3 > 1  ack 272, RTT 68.6624us
        295.202 us  1 > 3  data 352..353 until 296.040 us
        296.800 us  flow 0 may send 9.943 Gb/s
        296.879 us  1 > 3  data 354..375 until 314.563 us
        314.723 us  3 > 1  ack 288, RTT 75.3696us
        315.401 us  1 > 3  data 376..377 until 316.239 us
        316.900 us  flow 0 may send 9.902 Gb/s
        317.078 us  1 > 3  data 378..399 until 334.816 us
        334.845 us  3 > 1  ack 304, RTT 82.0768us
        335.787 us  1 > 3  data 400..401 until 336.626 us
        337.000 us  flow 0 may send 9.852 Gb/s
        337.464 us  1 > 3  data 402..422 until 354.434 us
        354.966 us  3 > 1  ack 320, RTT 88.784us
        355.272 us  1 > 3  data 423..425 until 356.949 us
        357.100 us  flow 0 may send 9.790 Gb/s
        357.788 us  1 > 3  data 426..446 until 374.843 us
        375.088 us  3 > 1  ack 336, RTT 95.479926us
        375.681 us  1 > 3  data 447..448 until 376.807 us
        377.200 us  flow 0 may send 9.719 Gb/s
        377.645 us  1 > 3  data 449..469 until 394.801 us
        395.210 us  3 > 1  ack 352, RTT 102.150122us
        395.639 us  1 > 3  data 470..472 until 397.316 us
        397.400 us  flow 0 may send 9.638 Gb/s
        398.154 us  1 > 3  data 473..475 until 399.831 us
    flow 0: 355000 B delivered
    ");
}

/// As in HPCC's simulator: a NAK measures, too, and may be what ends a round trip where the ACK before it is lost; the
/// next one then ends with the first packet that is sent again.
#[test]
fn a_nak_ends_a_round_trip_in_hpccs_simulator() {
    let law = Params {
        t_low: us(1),
        t_high: us(30),
        ..Params::hpcc()
    };
    // The ACK before the NAK comes to its queue as late as the packet that the NAK reports comes to its own.
    let shift = FlowSpec {
        controlled: false,
        ..sized(3, 1, 1000)
    };
    let flows = vec![sized(1, 2, 100_000), shift];
    let show = Show {
        flows: &[0],
        rates: true,
        ..NOTHING
    };
    let mut config = config(star(&[gbps(10); 3], us(10)), flows, us(300));
    config.switch.lossless = 0;
    config.host.nic = NicModel::Hpcc;
    config.host.rate_change = RateChange::NextPacket;
    config.host.ack_priority = AckPriority::Flow;
    config.scheme = timely(law);
    let lost = faults::Params::chosen(&[51], &[]);
    config.scheme.congestion_point = congestion_point::Config::Faults(lost);
    assert_snapshot!(page(&config, show).0, @r"
          0.100 us  flow 0 may send 10.000 Gb/s
         65.326 us  2 > 1  NAK 51
         85.500 us  flow 0 may send 7.744 Gb/s
        127.300 us  flow 0 may send 5.997 Gb/s
        169.500 us  flow 0 may send 4.644 Gb/s
    flow 0: complete after 161.913964us; sent again 49, timeouts 0
    ");
}
