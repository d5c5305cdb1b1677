//! Headroom: what the formula gives is enough and hardly more, and too little is noticed.

use proptest::prelude::*;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, PfcThreshold};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;

const XOFF: u64 = 20_000;
/// Starved by [`LOSSLESS`]' betters.
const URGENT: u8 = 5;

/// Host 2 sends to host 1, whose link is taken entirely by urgent packets of host 3: what host 2
/// sends is never released. Host 1 sends to host 2, so that PFC frames wait for frames in flight.
fn starved(rate: Rate, delay: Time, phases: [u64; 3]) -> Config {
    let urgent = FlowSpec {
        priority: URGENT,
        start: ps(phases[0]),
        ..flow(3, 1)
    };
    let held = FlowSpec {
        start: us(20) + ps(phases[1]),
        ..flow(2, 1)
    };
    let reverse = FlowSpec {
        priority: URGENT,
        start: ps(phases[2]),
        ..flow(1, 2)
    };
    let fabric = star(&[rate; 3], delay);
    let mut config = config(fabric, vec![urgent, held, reverse], us(120));
    config.switch.lossless = 1 << LOSSLESS | 1 << URGENT;
    config.switch.pfc.threshold = static_threshold(XOFF);
    // Acknowledgements of the reverse flow would take their part of host 1's link.
    config.host.ack_every = u32::MAX;
    config
}

fn formula(rate: Rate, delay: Time, framing: u64, reaction: Time) -> u64 {
    pfc::headroom(rate, delay, FRAME + framing, 64 + framing, reaction)
}

fn phases() -> impl Strategy<Value = [u64; 3]> {
    prop::array::uniform3(0u64..1_000_000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_formula_is_enough(
        gbps_index in 0usize..4,
        delay_ns in 1u64..10_000,
        reaction_ns in prop_oneof![Just(0), 1u64..5_000],
        framing in prop_oneof![Just(0u32), Just(20)],
        phases in phases(),
    ) {
        let rate = gbps([10, 25, 40, 100][gbps_index]);
        let (delay, reaction) = (Time::from_ns(delay_ns), Time::from_ns(reaction_ns));
        let mut config = starved(rate, delay, phases);
        config.fabric.framing_bytes = framing;
        config.switch.pfc.reaction = reaction;
        let results = run(&config);
        prop_assert_eq!(results.totals.dropped_packets, 0);
        let ingress = port(&results, 0, 1, LOSSLESS);
        let headroom = formula(rate, delay, u64::from(framing), reaction);
        prop_assert!(ingress.max_ingress_bytes > XOFF);
        prop_assert!(ingress.max_ingress_bytes <= XOFF + FRAME + headroom);
        prop_assert_eq!(ingress.pause_events, 1);
    }

    /// With a reserve, headroom takes the frame that crosses the threshold, too.
    #[test]
    fn the_default_is_enough_with_a_reserve(
        gbps_index in 0usize..4,
        delay_ns in 1u64..10_000,
        reserve_bytes in prop_oneof![Just(0), 1u64..5_000],
        phases in phases(),
    ) {
        let rate = gbps([10, 25, 40, 100][gbps_index]);
        let mut config = starved(rate, Time::from_ns(delay_ns), phases);
        config.switch.pfc.threshold = PfcThreshold::Reserved {
            shift: 7,
            reserve_bytes,
            xon_gap_bytes: 0,
        };
        let results = run(&config);
        prop_assert_eq!(results.totals.dropped_packets, 0);
        prop_assert_eq!(port(&results, 0, 1, LOSSLESS).pause_events, 1);
    }

    /// Bytes in flight fill 3.9 frames beside the two of the formula: wherever in their frames
    /// the ends are, in the worst case all is needed but a fraction of a frame.
    #[test]
    fn a_frame_less_is_not_enough_in_the_worst_case(phases in phases()) {
        let rate = gbps(40);
        let wire = 39 * FRAME / 10 - 64;
        let delay = ps(wire * 200 / 2);
        let headroom = formula(rate, delay, 0, Time::ZERO);
        prop_assert_eq!(headroom, 59 * FRAME / 10);
        let worst = (0..12).map(|step| {
            let mut config = starved(rate, delay, phases);
            let TrafficSpec::Flows(flows) = &mut config.traffic[0] else { unreachable!() };
            flows[2].start = ps(phases[2] + step * 209_600 / 12);
            let results = run(&config);
            assert_lossless(&results);
            config.switch.pfc.headroom_bytes = Some(headroom - FRAME);
            let short = run(&config);
            let most = port(&results, 0, 1, LOSSLESS).max_ingress_bytes;
            (most, short.totals.dropped_packets)
        });
        let (most, dropped) = worst.max().expect("several steps");
        prop_assert!(most > XOFF + headroom - FRAME, "{most}");
        prop_assert!(dropped > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Lossy packets may take all the shared memory there is: the lossless one that finds none is
    /// still kept, and what follows it too.
    #[test]
    fn full_shared_memory_costs_no_lossless_packet(
        phases in phases(),
        tenths in 0u64..60,
        shift in -3i32..4,
    ) {
        let rate = gbps(40);
        let delay = ps(tenths * FRAME * 200 / 20 + 1);
        let mut config = starved(rate, delay, phases);
        let host = config.fabric.nodes.len() as u32;
        config.fabric.nodes.push(unpause_sim::config::NodeKind::Host);
        let link = unpause_sim::config::Link { b: host, ..config.fabric.links[0] };
        config.fabric.links.push(link);
        let lossy = FlowSpec { priority: 1, ..flow(host, 1) };
        config.traffic.push(TrafficSpec::Flows(vec![lossy]));
        let headroom = formula(rate, delay, 0, Time::ZERO);
        config.switch.lossy_queue_bytes = 1_000_000;
        config.switch.buffer_bytes = Some(4 * 2 * (headroom + FRAME) + 50_000);
        config.switch.pfc.threshold = PfcThreshold::Dynamic {
            shift,
            xon_gap_bytes: 2 * FRAME,
        };
        let results = run(&config);
        prop_assert!(port(&results, 0, 0, 1).dropped_packets > 0);
        for port in &results.ports {
            prop_assert_eq!(port.headroom_dropped_packets, 0, "{:?}", port);
        }
    }
}

/// Too little headroom: drops are counted where they happen, and go-back-N repairs the flows.
#[test]
fn drops_for_want_of_headroom_are_counted_and_repaired() {
    let flows = [2, 3, 4].map(|src| sized(src, 1, 500_000)).to_vec();
    let mut config = config(star(&[gbps(40); 4], us(2)), flows, ms(200));
    config.host.retransmit_timeout = us(200);
    config.switch.pfc.threshold = static_threshold(XOFF);
    let right = run(&config);
    assert_lossless(&right);
    assert_complete(&right);

    config.switch.pfc.headroom_bytes = Some(2 * FRAME);
    let results = run(&config);
    assert_complete(&results);
    let ingress = |port_id| port(&results, 0, port_id, LOSSLESS).headroom_dropped_packets;
    let dropped = results.totals.dropped_packets;
    assert!(dropped > 0);
    assert_eq!(ingress(0), 0);
    assert_eq!(ingress(1) + ingress(2) + ingress(3), dropped);
    let egress = port(&results, 0, 0, LOSSLESS);
    assert_eq!(egress.dropped_packets, dropped);
    assert_eq!(egress.dropped_bytes, dropped * FRAME);
    let retransmitted: u64 = results.flows.iter().map(|f| f.retransmitted_packets).sum();
    assert!(retransmitted >= dropped);
    assert_eq!(results.totals.data_packets, 1500 + retransmitted);
    for port_id in 1..4 {
        let held = port(&results, 0, port_id, LOSSLESS).max_ingress_bytes;
        assert!(held <= XOFF + FRAME + 2 * FRAME, "{held}");
    }
}

/// The reaction delay has its own share of the headroom; without it, packets are lost.
#[test]
fn a_slow_peer_needs_the_headroom_of_its_reaction() {
    let rate = gbps(40);
    let reaction = pfc::reaction_time(rate);
    let mut config = starved(rate, us(1), [0; 3]);
    config.switch.pfc.reaction = reaction;
    let results = run(&config);
    assert_eq!(results.totals.dropped_packets, 0);
    let sent = port(&results, 2, 0, LOSSLESS).tx_packets;
    let in_reaction = reaction.as_ps() / (FRAME * 200);
    config.switch.pfc.reaction = Time::ZERO;
    let prompt = port(&run(&config), 2, 0, LOSSLESS).tx_packets;
    assert!(sent.abs_diff(prompt + in_reaction) <= 1, "{sent} {prompt}");

    config.switch.pfc.reaction = reaction;
    config.switch.pfc.headroom_bytes = Some(formula(rate, us(1), 0, Time::ZERO));
    assert!(run(&config).totals.dropped_packets > 0);
}
