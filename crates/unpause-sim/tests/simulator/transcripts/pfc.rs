//! PFC: XOFF and XON, refresh, thresholds, headroom, reaction.

use unpause_protocols::flow_control::pfc::{Params, PauseMode, PauseTime};
use unpause_sim::config::{Config, PfcThreshold};
use unpause_sim::traffic::TrafficSpec;

use super::*;

const DATA: Show = Show {
    flows: &[0, 1],
    data: true,
    ..NOTHING
};

/// Hosts 1 and 2 send this many packets each to host 3: 10 Gb/s, 1 us, 838.4 ns a frame. XOFF above
/// four frames, XON at two; a PAUSE of 100 quanta is 5.12 us.
fn two_into_one(packets: u64) -> Config {
    let fabric = star(&[gbps(10); 3], us(1));
    let flows = [1, 2].map(|src| sized(src, 3, packets * 1000));
    let mut config = config(fabric, flows.to_vec(), us(200));
    config.switch.pfc.threshold = static_threshold(4 * FRAME);
    config.switch.pfc.params.pause_time = PauseTime::Quanta(100);
    config
}

/// The fifth frame of an input raises XOFF. The output serves both inputs, so each drains at half its
/// rate; half a pause after the last frame it is repeated.
#[test]
fn xoff_is_repeated_until_xon() {
    let (text, results) = page(&two_into_one(20), DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..9 until 7.546 us
          0.000 us  2 > 3  data 0..9 until 7.546 us
          7.707 us  sw > 2  XOFF p3 for 5.12us
          8.384 us  1 > 3  data 10
          8.384 us  2 > 3  data 10
          8.546 us  sw > 1  XOFF p3 for 5.12us
          8.758 us  2 stops p3
          9.222 us  1 > 3  data 11
          9.597 us  1 stops p3
         10.267 us  sw > 2  XOFF p3 for 5.12us
         11.106 us  sw > 1  XOFF p3 for 5.12us
         12.827 us  sw > 2  XOFF p3 for 5.12us
         13.666 us  sw > 1  XOFF p3 for 5.12us
         15.387 us  sw > 2  XOFF p3 for 5.12us
         16.091 us  sw > 2  XON p3
         16.226 us  sw > 1  XOFF p3 for 5.12us
         16.930 us  sw > 1  XON p3
         17.142 us  2 goes on with p3
         17.142 us  2 > 3  data 11
         17.981 us  1 goes on with p3
         17.981 us  1 > 3  data 12..19 until 23.850 us
         17.981 us  2 > 3  data 12..19 until 23.850 us
         24.011 us  sw > 2  XOFF p3 for 5.12us
         24.850 us  sw > 1  XOFF p3 for 5.12us
         25.062 us  2 stops p3
         25.901 us  1 stops p3
         26.571 us  sw > 2  XOFF p3 for 5.12us
         27.410 us  sw > 1  XOFF p3 for 5.12us
         29.131 us  sw > 2  XOFF p3 for 5.12us
         29.970 us  sw > 1  XOFF p3 for 5.12us
         30.344 us  sw > 1  XON p3
         31.182 us  sw > 2  XON p3
         31.395 us  1 goes on with p3
         32.234 us  2 goes on with p3
    flow 0: complete after 35.536us
    flow 1: complete after 36.3744us
    ");
}

/// A pause of 15 quanta, 768 ns, runs out while the frame that would repeat it waits for one of host 3
/// to host 2; host 1's does not.
#[test]
fn a_pause_runs_out() {
    let mut config = two_into_one(9);
    config.switch.pfc.params.pause_time = PauseTime::Quanta(15);
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!("flows are named")
    };
    flows.push(sized(3, 2, 30_000));
    let (text, results) = page(&config, DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..8 until 6.707 us
          0.000 us  2 > 3  data 0..8 until 6.918 us
          7.866 us  sw > 2  XOFF p3 for 768ns
          8.546 us  sw > 1  XOFF p3 for 768ns
          8.755 us  sw > 2  XOFF p3 for 768ns
          8.917 us  2 stops p3
          8.930 us  sw > 1  XOFF p3 for 768ns
          9.314 us  sw > 1  XOFF p3 for 768ns
          9.597 us  1 stops p3
          9.685 us  2 goes on with p3
          9.698 us  sw > 1  XOFF p3 for 768ns
          9.698 us  sw > 2  XOFF p3 for 768ns
          9.802 us  sw > 2  XOFF p3 for 768ns
          9.806 us  2 stops p3
         10.082 us  sw > 1  XOFF p3 for 768ns
         10.466 us  sw > 1  XOFF p3 for 768ns
         10.574 us  2 goes on with p3
         10.691 us  sw > 2  XOFF p3 for 768ns
         10.749 us  2 stops p3
         10.850 us  sw > 1  XOFF p3 for 768ns
         11.234 us  sw > 1  XOFF p3 for 768ns
         11.581 us  sw > 2  XOFF p3 for 768ns
         11.618 us  sw > 1  XOFF p3 for 768ns
         11.621 us  2 goes on with p3
         11.742 us  2 stops p3
         12.002 us  sw > 1  XOFF p3 for 768ns
         12.427 us  sw > 1  XON p3
         12.510 us  2 goes on with p3
         12.523 us  sw > 2  XOFF p3 for 768ns
         12.632 us  2 stops p3
         13.400 us  2 goes on with p3
         13.413 us  sw > 2  XON p3
         13.478 us  1 goes on with p3
         13.574 us  2 stops p3
         14.342 us  2 goes on with p3
    flow 0: complete after 17.7776us
    flow 1: complete after 18.6688us
    ");
}

/// ns3-rdma: 5 us, again after 2 us, and for each packet that comes above XOFF.
#[test]
fn ns3_rdma_pauses_for_each_arrival() {
    let mut config = two_into_one(12);
    config.switch.pfc.params = Params::ns3_rdma();
    assert_eq!(config.switch.pfc.params.mode, PauseMode::Ns3Rdma);
    let (text, _) = page(&config, DATA);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..9 until 7.546 us
          0.000 us  2 > 3  data 0..9 until 7.546 us
          7.707 us  sw > 2  XOFF p3 for 5us
          8.384 us  1 > 3  data 10
          8.384 us  2 > 3  data 10
          8.546 us  sw > 1  XOFF p3 for 5us
          8.546 us  sw > 2  XOFF p3 for 5us
          8.758 us  2 stops p3
          9.222 us  1 > 3  data 11
          9.384 us  sw > 1  XOFF p3 for 5us
          9.384 us  sw > 2  XOFF p3 for 5us
          9.597 us  1 stops p3
         10.222 us  sw > 1  XOFF p3 for 5us
         10.222 us  sw > 2  XOFF p3 for 5us
         11.061 us  sw > 1  XOFF p3 for 5us
         12.222 us  sw > 2  XOFF p3 for 5us
         13.061 us  sw > 1  XOFF p3 for 5us
         14.222 us  sw > 2  XOFF p3 for 5us
         15.061 us  sw > 1  XOFF p3 for 5us
         16.091 us  sw > 2  XON p3
         16.930 us  sw > 1  XON p3
         17.142 us  2 goes on with p3
         17.142 us  2 > 3  data 11
         17.981 us  1 goes on with p3
    flow 0: complete after 22.1216us
    flow 1: complete after 22.96us
    ");
}

/// Half of what is free: two inputs that fill alike are stopped at a quarter of the shared memory each,
/// 6000 B.
#[test]
fn a_dynamic_threshold_shrinks_as_memory_fills() {
    let mut config = two_into_one(20);
    config.switch.pfc.headroom_bytes = Some(6_000);
    // A dynamic threshold has a frame more of headroom.
    config.switch.buffer_bytes = Some(3 * (6_000 + FRAME) + 24_000);
    config.switch.pfc.threshold = PfcThreshold::Dynamic {
        shift: 1,
        xon_gap_bytes: 2 * FRAME,
    };
    let (text, results) = page(&config, DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..11 until 9.222 us
          0.000 us  2 > 3  data 0..11 until 9.222 us
          9.384 us  sw > 2  XOFF p3 for 5.12us
         10.061 us  1 > 3  data 12
         10.061 us  2 > 3  data 12
         10.222 us  sw > 1  XOFF p3 for 5.12us
         10.435 us  2 stops p3
         10.899 us  1 > 3  data 13
         11.274 us  1 stops p3
         11.944 us  sw > 2  XOFF p3 for 5.12us
         12.782 us  sw > 1  XOFF p3 for 5.12us
         14.504 us  sw > 2  XOFF p3 for 5.12us
         15.342 us  sw > 1  XOFF p3 for 5.12us
         16.091 us  sw > 2  XON p3
         16.930 us  sw > 1  XON p3
         17.142 us  2 goes on with p3
         17.142 us  2 > 3  data 13
         17.981 us  1 goes on with p3
         17.981 us  1 > 3  data 14..19 until 22.173 us
         17.981 us  2 > 3  data 14..19 until 22.173 us
         22.334 us  sw > 2  XOFF p3 for 5.12us
         23.173 us  sw > 1  XOFF p3 for 5.12us
         23.386 us  2 stops p3
         24.224 us  1 stops p3
         24.894 us  sw > 2  XOFF p3 for 5.12us
         25.733 us  sw > 1  XOFF p3 for 5.12us
         26.990 us  sw > 1  XON p3
         27.454 us  sw > 2  XOFF p3 for 5.12us
         27.829 us  sw > 2  XON p3
         28.042 us  1 goes on with p3
         28.880 us  2 goes on with p3
    flow 0: complete after 35.536us
    flow 1: complete after 36.3744us
    ");
}

/// Bytes that arrive after XOFF take headroom: by the formula up to 2 frames, the PFC frame and 2 us of the
/// link, 4660 B. One byte less than what comes is a loss.
#[test]
fn headroom_takes_what_is_in_flight() {
    let mut config = two_into_one(12);
    let (_, results) = page(&config, DATA);
    assert_lossless(&results);
    // The frame that crosses the threshold is not headroom's.
    let beyond = port(&results, 0, 1, LOSSLESS).max_ingress_bytes - 5 * FRAME;
    assert!(beyond <= 4_660);
    config.switch.pfc.headroom_bytes = Some(beyond - 1);
    let (text, _) = page(&config, DATA);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..8 until 6.707 us
          0.000 us  2 > 3  data 0..7 until 5.869 us
          6.707 us  2 > 3  data 8  dropped
          7.546 us  1 > 3  data 9  dropped
          7.546 us  2 > 3  data 9  dropped
          7.707 us  sw > 2  XOFF p3 for 5.12us
          8.384 us  1 > 3  data 10  dropped
          8.384 us  2 > 3  data 10  dropped
          8.546 us  sw > 1  XOFF p3 for 5.12us
          8.758 us  2 stops p3
          9.222 us  1 > 3  data 11  dropped
          9.597 us  1 stops p3
         10.267 us  sw > 2  XOFF p3 for 5.12us
         11.061 us  sw > 2  XON p3
         11.106 us  sw > 1  XOFF p3 for 5.12us
         11.899 us  sw > 1  XON p3
         12.112 us  2 goes on with p3
         12.112 us  2 > 3  data 11
         12.950 us  1 goes on with p3
         17.930 us  3 > 2  NAK 8
         20.035 us  2 > 3  data 8..11 until 22.550 us
    flow 0: not complete
    flow 1: complete after 26.2272us; sent again 4, timeouts 0
    ");
}

/// The transmitter obeys 2 us after the frame has arrived, XON as well as XOFF.
#[test]
fn a_transmitter_takes_its_time() {
    let mut config = two_into_one(12);
    config.switch.pfc.reaction = us(2);
    let (text, results) = page(&config, DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 3  data 0..9 until 7.546 us
          0.000 us  2 > 3  data 0..9 until 7.546 us
          7.707 us  sw > 2  XOFF p3 for 5.12us
          8.384 us  1 > 3  data 10
          8.384 us  2 > 3  data 10
          8.546 us  sw > 1  XOFF p3 for 5.12us
          9.222 us  1 > 3  data 11
          9.222 us  2 > 3  data 11
         10.267 us  sw > 2  XOFF p3 for 5.12us
         10.758 us  2 stops p3
         11.106 us  sw > 1  XOFF p3 for 5.12us
         11.597 us  1 stops p3
         12.827 us  sw > 2  XOFF p3 for 5.12us
         13.666 us  sw > 1  XOFF p3 for 5.12us
         15.387 us  sw > 2  XOFF p3 for 5.12us
         16.226 us  sw > 1  XOFF p3 for 5.12us
         16.930 us  sw > 1  XON p3
         17.768 us  sw > 2  XON p3
         19.981 us  1 goes on with p3
         20.819 us  2 goes on with p3
    flow 0: complete after 22.1216us
    flow 1: complete after 22.96us
    ");
}
