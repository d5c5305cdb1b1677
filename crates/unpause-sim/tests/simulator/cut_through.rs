//! Switches that send a frame on before all of it is there.

use proptest::prelude::*;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{
    CioqConfig, Config, Fabric, PfcThreshold, PipelineConfig, SpinesConfig, SwitchModel,
};
use unpause_sim::traffic::FlowSpec;

use crate::common::*;

const HEADER: u32 = 64;

fn cutting(fabric: Fabric, flows: Vec<FlowSpec>) -> Config {
    let mut config = config(fabric, flows, ms(20));
    config.switch.cut_through_bytes = Some(HEADER);
    config
}

/// FCT of a flow from host 1 to host 2, which is alone.
fn alone(config: &Config) -> Time {
    let results = run(config);
    assert_lossless(&results);
    assert_complete(&results);
    let flow = &results.flows[0];
    assert_eq!(flow.fct, flow.ideal_fct);
    fct(flow)
}

fn links(rates: &[u64]) -> Vec<(Rate, Time)> {
    rates.iter().map(|rate| (gbps(*rate), us(1))).collect()
}

/// Worked by hand, in ps: a frame of 1048 B over links of 1 us each.
#[test]
fn a_lone_frame_pays_for_its_header_at_each_switch_and_for_its_length_once() {
    let golden: [(&[u64], u32, u64); 9] = [
        // 64 B last 12.8 ns at 40 Gb/s, the frame 209.6 ns.
        (&[40, 40], 0, 2_000_000 + 12_800 + 209_600),
        (&[40, 40, 40], 0, 3_000_000 + 2 * 12_800 + 209_600),
        (&[40; 6], 0, 6_000_000 + 5 * 12_800 + 209_600),
        // Preamble and gap go before the header and before the frame: 84 B and 1068 B.
        (&[40, 40, 40], 20, 3_000_000 + 2 * 16_800 + 213_600),
        // From 40 to 10 Gb/s with the header; the frame lasts 838.4 ns there.
        (&[40, 10], 0, 2_000_000 + 12_800 + 838_400),
        // From 10 to 40 Gb/s so late that both ends are at once: the last bit comes, and is gone.
        (&[10, 40], 0, 2_000_000 + 838_400),
        (&[10, 40], 20, 2_000_000 + 854_400),
        // The same, and with the header back to 10 Gb/s.
        (
            &[10, 40, 10],
            0,
            3_000_000 + 838_400 - 209_600 + 12_800 + 838_400,
        ),
        // Ever slower: a header at 400 and one at 100 Gb/s.
        (&[400, 100, 25], 0, 3_000_000 + 1_280 + 5_120 + 335_360),
    ];
    for (rates, framing, expected) in golden {
        let mut config = cutting(chain(&links(rates)), vec![sized(1, 2, 1000)]);
        config.fabric.framing_bytes = framing;
        assert_eq!(alone(&config), ps(expected), "{rates:?}, framing {framing}");
    }
}

/// A frame of 64 B has nothing behind its header.
#[test]
fn the_smallest_frame_gains_nothing() {
    let config = cutting(chain(&links(&[40, 40])), vec![sized(1, 2, 1)]);
    assert_eq!(alone(&config), ps(2_000_000 + 2 * 12_800));
}

/// The processor has the header, and the frame comes after it.
#[test]
fn a_pipelined_switch_cuts_through() {
    let pipeline = PipelineConfig {
        packets_per_second: 1_000_000_000,
        latency: us(1),
        ..PipelineConfig::default()
    };
    // 1 ns of service and 1 us; from 10 to 40 Gb/s that is time enough for all to come.
    for (rates, expected) in [
        ([40, 40], 2_000_000 + 12_800 + 1_001_000 + 209_600),
        ([10, 40], 2_000_000 + 51_200 + 1_001_000 + 209_600),
    ] {
        let mut config = cutting(chain(&links(&rates)), vec![sized(1, 2, 1000)]);
        config.switch.model = SwitchModel::Pipeline(pipeline.clone());
        assert_eq!(alone(&config), ps(expected), "{rates:?}");
    }
}

/// Request and grant go while the rest of the frame comes; it crosses when it is whole.
#[test]
fn a_cioq_fabric_asks_with_the_header_and_carries_whole_frames() {
    let spines = Some(SpinesConfig::default());
    // Of 838.4 ns 51.2 ns are the header.
    for (latency, spines, expected) in [
        // Two halves of 100 ns, and the pipe of 100 ns; the frame is whole as the grant comes.
        (100, None, 2_000_000 + 838_400 + 100_000 + 838_400),
        // The grant comes 1 us after the header: the rest is there since 212.8 ns.
        (1_000, None, 2_000_000 + 51_200 + 2_000_000 + 838_400),
        // Five cells follow the first at 25 Gb/s, of 256 B each, one after the other.
        (
            1_000,
            spines,
            2_000_000 + 51_200 + 2_000_000 + 4 * 81_920 + 838_400,
        ),
    ] {
        let fabric = star(&[gbps(10); 2], us(1));
        let mut config = cutting(fabric, vec![sized(1, 2, 1000)]);
        config.switch.model = SwitchModel::Cioq(CioqConfig {
            latency: Time::from_ns(latency),
            spines,
            ..CioqConfig::default()
        });
        config.switch.pfc.threshold = static_threshold(110_000);
        let results = run(&config);
        assert_lossless(&results);
        let flow = &results.flows[0];
        assert_eq!(fct(flow), ps(expected), "{latency} ns, {spines:?}");
        assert!(flow.ideal_fct <= flow.fct);
    }
}

/// Once there is a queue, switches that cut through differ by when the first frame leaves, and by nothing else.
#[test]
fn behind_a_queue_nothing_is_gained() {
    let fabric = || star(&[gbps(40); 4], us(1));
    let flows = || {
        vec![
            sized(1, 4, 100_000),
            sized(2, 4, 100_000),
            sized(3, 4, 100_000),
        ]
    };
    let stored = run(&config(fabric(), flows(), ms(1)));
    let cut = run(&cutting(fabric(), flows()));
    let behind_header = ps((FRAME - u64::from(HEADER)) * 200);
    for (stored, cut) in stored.flows.iter().zip(&cut.flows) {
        assert_eq!(fct(stored) - fct(cut), behind_header);
    }
    // By the header all of a frame counts, of those that leave at the time of a header as of the others.
    let longest = |results: &unpause_sim::results::Results| {
        let queues = results.ports.iter().map(|port| port.max_queue_bytes);
        queues.max().unwrap_or_default()
    };
    assert_eq!(longest(&cut), longest(&stored));
}

/// XOFF goes out by the header, headroom is what it was.
#[test]
fn pfc_loses_nothing() {
    let rates = [[10, 40, 100, 10], [100, 10, 40, 25], [40, 40, 40, 40]];
    for rates in rates {
        for framing in [0, 20] {
            let fabric = star(&rates.map(gbps), us(2));
            let flows = (1..4).map(|src| sized(src, 4, 2_000_000)).collect();
            let mut config = cutting(fabric, flows);
            config.fabric.framing_bytes = framing;
            for threshold in [
                static_threshold(3 * FRAME),
                PfcThreshold::Dynamic {
                    shift: 3,
                    xon_gap_bytes: 2 * FRAME,
                },
            ] {
                config.switch.pfc.threshold = threshold;
                config.switch.buffer_bytes = Some(600_000);
                let results = run(&config);
                assert_lossless(&results);
                assert_complete(&results);
                assert!(results.totals.pause_frames > 0, "{rates:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A flow alone is never later than with store-and-forward, never ahead of a header at each switch, and what its
    /// ideal is said to be, but for its own ACKs.
    #[test]
    fn a_lone_flow_is_never_later_than_with_store_and_forward(
        rates in prop::collection::vec(prop::sample::select(vec![10_u64, 25, 40, 100, 400]), 2..6),
        delay in 1_u64..3_000_000,
        framing in prop::sample::select(vec![0_u32, 20]),
        header in 1_u32..1048,
        size in 1_u64..6_000,
        pipelined in any::<bool>(),
    ) {
        let path: Vec<_> = rates.iter().map(|rate| (gbps(*rate), ps(delay))).collect();
        let mut config = config(chain(&path), vec![sized(1, 2, size)], ms(5));
        config.fabric.framing_bytes = framing;
        if pipelined {
            config.switch.model = SwitchModel::Pipeline(PipelineConfig {
                packets_per_second: 1_000_000_000,
                latency: Time::from_ns(300),
                ..PipelineConfig::default()
            });
        }
        // A processor may have an ACK before it when a frame comes.
        let ack = match &config.switch.model {
            SwitchModel::Pipeline(pipeline) => pipeline.service() * (path.len() as u64 - 1),
            _ => Time::ZERO,
        };
        let stored = fct(&run(&config).flows[0]);
        config.switch.cut_through_bytes = Some(header);
        let results = run(&config);
        assert_lossless(&results);
        assert_complete(&results);
        let cut = fct(&results.flows[0]);
        let ideal = results.flows[0].ideal_fct.expect("the flow is complete");
        prop_assert!(ideal <= cut && cut <= ideal + ack);
        prop_assert!(cut <= stored + ack);
        let ends = path.len() as u64 * delay + size * (8_000 / rates.iter().min().unwrap());
        prop_assert!(cut >= ps(ends));
    }
}
