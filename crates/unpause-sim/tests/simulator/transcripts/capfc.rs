//! CaPFC: queues of a pipelined switch that pause the inputs that fill them.

use unpause_protocols::flow_control::capfc::{EgressParams, IngressParams, Stop};
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_sim::config::{Config, FullQueue, Memory, PipelineConfig, SwitchModel};
use unpause_sim::traffic::FlowSpec;

use super::*;

const DATA: Show = Show {
    flows: &[0, 1, 2],
    data: true,
    ..NOTHING
};

/// Hosts 1 and 2 send 30 packets each to host 4 at 1 Gb/s, host 3 a few at a tenth of it; 500 ns a link.
/// The queue counts from 4 frames on, marks inputs above 8, clears marks at 4; it holds 20.
fn three_into_one(full_queue: FullQueue) -> Config {
    let slow = FlowSpec {
        offered: Some(Rate::from_mbps(100)),
        ..sized(3, 4, 8_000)
    };
    let flows = vec![sized(1, 4, 30_000), sized(2, 4, 30_000), slow];
    let mut config = config(star(&[gbps(1); 4], Time::from_ns(500)), flows, ms(2));
    config.switch.model = SwitchModel::Pipeline(PipelineConfig {
        ingress: IngressParams {
            xoff: 50_000,
            xon: 40_000,
        },
        full_queue,
        memory: Memory::Dedicated {
            ingress_bytes: 60_000,
            egress_bytes: 20 * FRAME + 1,
        },
        ..PipelineConfig::default()
    });
    config
}

fn capfc(stop: Stop) -> FullQueue {
    FullQueue::Capfc(EgressParams {
        xoff: 8 * FRAME,
        xon: 4 * FRAME,
        warn: 4 * FRAME,
        stop,
    })
}

/// Stop-Max: the input with the most packets of the queue is paused, with each packet that comes above
/// the threshold; all go on together.
#[test]
fn the_fullest_input_is_paused() {
    let (text, results) = page(&three_into_one(capfc(Stop::Max)), DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 4  data 0..9 until 75.456 us
          0.000 us  2 > 4  data 0..9 until 75.456 us
          0.000 us  3 > 4  data 0
         82.272 us  sw > 1  XOFF p3 for 33.55392ms
         83.284 us  1 stops p3
         83.840 us  2 > 4  data 10..12 until 100.608 us
         83.840 us  3 > 4  data 1
        106.424 us  sw > 2  XOFF p3 for 33.55392ms
        107.436 us  2 stops p3
        167.680 us  3 > 4  data 2
        190.264 us  sw > 1  XON p3
        190.264 us  sw > 2  XON p3
        191.276 us  1 goes on with p3
        191.276 us  2 goes on with p3
        191.276 us  1 > 4  data 10..16 until 241.580 us
        191.276 us  2 > 4  data 13..19 until 241.580 us
        248.396 us  sw > 1  XOFF p3 for 33.55392ms
        249.408 us  1 stops p3
        249.964 us  2 > 4  data 20..22 until 266.732 us
        251.520 us  3 > 4  data 3
        272.548 us  sw > 2  XOFF p3 for 33.55392ms
        273.560 us  2 stops p3
        335.360 us  3 > 4  data 4
        349.560 us  sw > 1  XON p3
        349.560 us  sw > 2  XON p3
        350.572 us  1 goes on with p3
        350.572 us  2 goes on with p3
        350.572 us  1 > 4  data 17..23 until 400.876 us
        350.572 us  2 > 4  data 23..29 until 400.876 us
        407.692 us  sw > 1  XOFF p3 for 33.55392ms
        408.704 us  1 stops p3
        419.200 us  3 > 4  data 5
        483.704 us  sw > 1  XON p3
        484.716 us  1 goes on with p3
        484.716 us  1 > 4  data 24..29 until 526.636 us
        503.040 us  3 > 4  data 6
        586.880 us  3 > 4  data 7
    flow 0: complete after 584.812us
    flow 1: complete after 517.74us
    flow 2: complete after 618.348us
    ");
}

/// Stop-Calibrate: as few inputs as have 80 % of the packets.
#[test]
fn inputs_with_most_packets_are_paused() {
    let cut = Fraction::of(4, 5);
    let (text, results) = page(&three_into_one(capfc(Stop::Calibrate { cut })), DATA);
    assert_lossless(&results);
    assert_snapshot!(text, @r"
          0.000 us  1 > 4  data 0..9 until 75.456 us
          0.000 us  2 > 4  data 0..9 until 75.456 us
          0.000 us  3 > 4  data 0
         82.272 us  sw > 1  XOFF p3 for 33.55392ms
         82.272 us  sw > 2  XOFF p3 for 33.55392ms
         83.284 us  1 stops p3
         83.284 us  2 stops p3
         83.840 us  3 > 4  data 1
        165.112 us  sw > 1  XON p3
        165.112 us  sw > 2  XON p3
        166.124 us  1 goes on with p3
        166.124 us  2 goes on with p3
        166.124 us  1 > 4  data 10..16 until 216.428 us
        166.124 us  2 > 4  data 10..16 until 216.428 us
        167.680 us  3 > 4  data 2
        223.244 us  sw > 1  XOFF p3 for 33.55392ms
        223.244 us  sw > 2  XOFF p3 for 33.55392ms
        224.256 us  1 stops p3
        224.256 us  2 stops p3
        251.520 us  3 > 4  data 3
        299.256 us  sw > 1  XON p3
        299.256 us  sw > 2  XON p3
        300.268 us  1 goes on with p3
        300.268 us  2 goes on with p3
        300.268 us  1 > 4  data 17..24 until 358.956 us
        300.268 us  2 > 4  data 17..24 until 358.956 us
        335.360 us  3 > 4  data 4
        364.772 us  sw > 1  XOFF p3 for 33.55392ms
        364.772 us  sw > 2  XOFF p3 for 33.55392ms
        365.784 us  1 stops p3
        365.784 us  2 stops p3
        419.200 us  3 > 4  data 5
        441.784 us  sw > 1  XON p3
        441.784 us  sw > 2  XON p3
        442.796 us  1 goes on with p3
        442.796 us  2 goes on with p3
        442.796 us  1 > 4  data 25..29 until 476.332 us
        442.796 us  2 > 4  data 25..29 until 476.332 us
        499.916 us  sw > 1  XOFF p3 for 33.55392ms
        499.916 us  sw > 2  XOFF p3 for 33.55392ms
        500.928 us  1 stops p3
        500.928 us  2 stops p3
        503.040 us  3 > 4  data 6
        542.392 us  sw > 1  XON p3
        542.392 us  sw > 2  XON p3
        543.404 us  1 goes on with p3
        543.404 us  2 goes on with p3
        586.880 us  3 > 4  data 7
    flow 0: complete after 568.044us
    flow 1: complete after 576.428us
    flow 2: complete after 618.348us
    ");
}

/// PFC alone does not see the queue: its 21st packet is dropped.
#[test]
fn pfc_drops_at_a_full_egress() {
    let (text, results) = page(&three_into_one(FullQueue::Drop), DATA);
    assert!(results.totals.dropped_packets > 0);
    assert_snapshot!(text, @r"
          0.000 us  1 > 4  data 0..10 until 83.840 us
          0.000 us  2 > 4  data 0..10 until 83.840 us
          0.000 us  3 > 4  data 0
         83.840 us  3 > 4  data 1
         92.224 us  1 > 4  data 11..18 until 150.912 us
         92.224 us  2 > 4  data 11..17 until 142.528 us
        150.912 us  2 > 4  data 18  dropped
        159.296 us  1 > 4  data 19
        159.296 us  2 > 4  data 19  dropped
        167.680 us  1 > 4  data 20
        167.680 us  2 > 4  data 20  dropped
        167.680 us  3 > 4  data 2  dropped
        176.064 us  1 > 4  data 21
        176.064 us  2 > 4  data 21  dropped
        184.448 us  1 > 4  data 22
        184.448 us  2 > 4  data 22  dropped
        192.832 us  1 > 4  data 23
        192.832 us  2 > 4  data 23  dropped
        201.216 us  1 > 4  data 24
        201.216 us  2 > 4  data 24  dropped
        209.600 us  1 > 4  data 25
        209.600 us  2 > 4  data 25  dropped
        217.984 us  1 > 4  data 26
        217.984 us  2 > 4  data 26  dropped
        226.368 us  1 > 4  data 27
        226.368 us  2 > 4  data 27  dropped
        234.752 us  1 > 4  data 28
        234.752 us  2 > 4  data 28  dropped
        243.136 us  1 > 4  data 29
        243.136 us  2 > 4  data 29  dropped
        251.520 us  3 > 4  data 3
        335.360 us  3 > 4  data 4
        419.200 us  3 > 4  data 5
        450.668 us  4 > 3  NAK 2
        503.040 us  3 > 4  data 2
        586.880 us  3 > 4  data 3
        670.720 us  3 > 4  data 4
        754.560 us  3 > 4  data 5
        838.400 us  3 > 4  data 6
        922.240 us  3 > 4  data 7
    flow 0: complete after 442.284us
    flow 1: not complete
    flow 2: complete after 953.708us; sent again 4, timeouts 0
    ");
}
