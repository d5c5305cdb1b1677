//! Transfers over networks that lose and reorder: every byte arrives once and in order.

use std::ops::ControlFlow;

use proptest::prelude::*;
use unpause_protocols::loss_recovery::{newreno, rto};
use unpause_protocols::tagging::{self, pias};
use unpause_protocols::units::Fraction;
use unpause_sim::config::{DelayedAck, Tags};
use unpause_sim::traffic::{Connections, Delays, ExtraDelay, FlowSpec, Pool};

use super::*;

#[derive(Clone, Debug)]
struct Case {
    /// Sender, receiver, bytes, start in us.
    flows: Vec<(u32, u32, u64, u64)>,
    law: usize,
    mss: u32,
    max_burst: Option<u32>,
    tso: Option<u32>,
    /// Flows go over open connections.
    pooled: bool,
    reorder_resistant: bool,
    loss_percent: u64,
    /// Whether ACKs are lost, too.
    acks_in_data_priority: bool,
    delayed_ack: Option<u32>,
    /// Later bytes are more urgent and overtake.
    overtaking: bool,
    queue_frames: u64,
    seed: u64,
}

fn case() -> impl Strategy<Value = Case> {
    let size = prop_oneof![Just(0), Just(1), 1u64..5_000, 1u64..200_000];
    let flow = (1u32..5, 1u32..4, size, 0u64..3_000);
    (
        prop::collection::vec(flow, 1..6),
        (0usize..3, prop::sample::select(vec![1400u32, 1, 536, 8000])),
        (
            prop::option::of(1u32..4),
            prop::option::of(1u32..20),
            any::<[bool; 2]>(),
        ),
        0u64..12,
        any::<bool>(),
        prop::option::of(1u32..5),
        any::<bool>(),
        2u64..60,
        0u64..1000,
    )
        .prop_map(
            |(
                flows,
                (law, mss),
                (max_burst, tso, [pooled, reorder_resistant]),
                loss_percent,
                acks,
                delayed_ack,
                overtaking,
                queue_frames,
                seed,
            )| {
                Case {
                    flows: flows
                        .into_iter()
                        .map(|(src, hop, bytes, start)| {
                            // One-byte segments: a few hundred are enough.
                            let bytes = if mss == 1 { bytes % 300 } else { bytes };
                            (src, (src + hop - 1) % 4 + 1, bytes, start)
                        })
                        .filter(|(src, dst, ..)| src != dst)
                        .collect(),
                    law,
                    mss,
                    max_burst,
                    tso,
                    pooled,
                    reorder_resistant,
                    loss_percent,
                    acks_in_data_priority: acks,
                    delayed_ack,
                    overtaking,
                    queue_frames,
                    seed,
                }
            },
        )
}

impl Case {
    fn config(&self) -> Config {
        let mut net = Net::default();
        let (a, b) = (net.switch(), net.node(unpause_sim::config::NodeKind::Host));
        // Hosts 1 to 4, of which the last two are behind another switch.
        net.link(a, b, gbps(10), us(2));
        let second = net.host(a, gbps(40), us(1));
        let third = net.node(unpause_sim::config::NodeKind::Host);
        let fourth = net.node(unpause_sim::config::NodeKind::Host);
        assert_eq!((second, third, fourth), (2, 3, 4));
        let far = net.switch();
        net.link(a, far, gbps(10), us(3));
        net.link(far, third, gbps(10), us(1));
        net.link(far, fourth, gbps(25), us(1));
        let mut tcp = newreno::Params {
            mss: self.mss,
            max_burst: self.max_burst,
            tso: self.tso,
            retries: 1_000,
            rto: rto::Params {
                min: us(500),
                max: ms(10),
                ..rto::Params::default()
            },
            ..params()
        };
        if self.reorder_resistant {
            tcp.duplicate_threshold = u32::MAX;
            tcp.limited_transmit = false;
        }
        let law = [reno, ecn, dctcp][self.law](tcp);
        let flows = self.flows.iter().map(|&(src, dst, bytes, start)| FlowSpec {
            start: us(start),
            source_port: bytes as u16,
            extra_delay: ExtraDelay::Drawn(0),
            connections: if self.pooled {
                Connections::Pool(Pool::new(start % 2 == 0))
            } else {
                Connections::New
            },
            ..tcp_flow(src, dst, Some(bytes))
        });
        let mut config = config(net.0, flows.collect(), ms(60_000));
        config.seed = self.seed;
        config.switch.lossless = 0;
        config.switch.lossy_queue_bytes = self.queue_frames * u64::from(self.mss + 54);
        (config.scheme.tcp, config.host.tcp.recovery) = law;
        config.scheme.congestion_point = congestion_point::Config::Faults(faults::Params::random(
            Fraction::of(self.loss_percent, 100),
        ));
        config.host.extra_delays = vec![Delays::OneOf([0, 5, 40].map(us).into())];
        config.host.tcp.syn_tries = 1_000;
        config.host.tcp.syn_timeout = us(500);
        config.host.tcp.delayed_ack = self.delayed_ack.map(|every| DelayedAck {
            every,
            timeout: us(100),
        });
        if !self.acks_in_data_priority {
            config.host.tcp.ack_priority = AckPriority::Control;
        }
        if self.overtaking {
            config.host.tcp.tags = Some(Tags {
                law: tagging::Config::Pias(pias::Params::of(&[2_000, 20_000])),
                priorities: vec![1, 2, 4],
            });
        }
        config
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        max_shrink_iters: 2_000,
        ..ProptestConfig::with_cases(150)
    })]

    /// The engine asserts by itself that packets are conserved.
    #[test]
    fn every_byte_arrives_once_and_in_order(case in case()) {
        let config = case.config();
        let results = run(&config);
        let totals = &results.totals;
        prop_assert_eq!(results.flows.len(), case.flows.len());
        let mut segments = 0;
        for flow in &results.flows {
            prop_assert!(flow.fct.is_some() && !flow.gave_up, "{:?}", flow);
            prop_assert_eq!(Some(flow.delivered_bytes), flow.size_bytes);
            prop_assert!(flow.fct >= flow.ideal_fct, "{:?}", flow);
            segments += flow.delivered_bytes.div_ceil(u64::from(case.mss));
            segments += flow.retransmitted_packets;
        }
        prop_assert_eq!(totals.data_packets, segments);
        prop_assert_eq!(totals.delivered_packets + totals.dropped_packets, segments);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn threads_do_not_change_what_tcp_does(case in case()) {
        let config = case.config();
        let results = run(&config);
        let go_on = &mut |_| ControlFlow::Continue(());
        let many = unpause_sim::run_threads(&config, 3, go_on);
        prop_assert!(results == many.expect("it ran on one"));
    }
}

/// Numbers on the wire wrap after 4 GiB; bytes of the flow do not.
#[test]
fn a_flow_of_more_than_four_gigabytes() {
    let bytes = 5_000_000_001;
    let law = newreno::Params {
        mss: 60_000,
        ..params()
    };
    // The last one chosen is beyond the wrap.
    let mut config = pair(
        dctcp(law),
        bytes,
        &[1_000, 71_000, 71_600, 71_601, 75_000],
        &[],
    );
    config.fabric = star(&[gbps(400), gbps(400)], us(2));
    config.stop = ms(200);
    let results = run(&config);
    assert_complete(&results);
    let flow = &results.flows[0];
    assert_eq!((flow.retransmitted_packets, flow.timeouts), (5, 0));
    let slowdown = fct(flow).as_secs_f64() / flow.ideal_fct.unwrap().as_secs_f64();
    assert!(slowdown < 1.1, "{slowdown}");
}
