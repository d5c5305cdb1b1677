//! Packets of one flow by different paths: switches that choose, senders that spray.

use unpause_protocols::congestion_point::red;
use unpause_protocols::flow_control::capfc::IngressParams;
use unpause_protocols::loss_recovery::{self, selective_repeat};
use unpause_protocols::spraying::{Config as Spraying, bitmap, oblivious, reps};
use unpause_protocols::units::Rate;
use unpause_sim::config::{
    Balancing, Config, InputQueuedConfig, Memory, PipelineConfig, SwitchModel,
};
use unpause_sim::fabric::{Ecmp, Fabric};
use unpause_sim::results::Results;

use crate::common::*;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

/// Paths between the two switches.
const PATHS: u16 = 4;

/// Two switches with links of these rates between them, and two hosts at each: 2, 3 and 4, 5.
fn two_switches(rates: [Rate; PATHS as usize]) -> Fabric {
    let mut net = Net::default();
    let (a, b) = (net.switch(), net.switch());
    for rate in rates {
        net.link(a, b, rate, us(1));
    }
    for switch in [a, a, b, b] {
        net.host(switch, gbps(40), us(1));
    }
    net.0
}

/// One flow across, of 1,000 packets, whose receiver takes them in any order.
fn one_flow(fabric: Fabric) -> Config {
    let mut config = config(fabric, vec![sized(2, 4, 1_000_000)], ms(2));
    config.scheme.loss_recovery = selective();
    config
}

fn selective() -> loss_recovery::Config {
    loss_recovery::Config::SelectiveRepeat(selective_repeat::Params::default())
}

/// Those between which there can be several links.
fn models() -> [SwitchModel; 3] {
    let pipeline = PipelineConfig {
        packets_per_second: 100_000_000,
        ingress: IngressParams {
            xoff: 500_000,
            xon: 400_000,
        },
        memory: Memory::Dedicated {
            ingress_bytes: 1_000_000,
            egress_bytes: 1_000_000,
        },
        ..PipelineConfig::default()
    };
    [
        SwitchModel::SharedBuffer,
        SwitchModel::Pipeline(pipeline),
        SwitchModel::InputQueued(InputQueuedConfig {
            speedup_percent: 200,
            ..InputQueuedConfig::default()
        }),
    ]
}

/// Packets of the flow by each path.
fn by_path(results: &Results) -> Vec<u64> {
    let sent = |path| port(results, 0, path, LOSSLESS).tx_packets;
    (0..PATHS).map(sent).collect()
}

/// All arrive, once, and nobody takes reordering for loss.
fn assert_clean(what: &str, results: &Results) {
    assert_eq!(results.totals.dropped_packets, 0, "{what}");
    assert_complete(results);
    assert_lossless(results);
    assert_eq!(results.totals.delivered_packets, 1_000, "{what}");
    assert_eq!(by_path(results).iter().sum::<u64>(), 1_000, "{what}");
}

#[test]
fn a_hash_keeps_a_flow_on_one_path() {
    let results = run(&one_flow(two_switches([gbps(10); 4])));
    assert_clean("ECMP", &results);
    assert_eq!(by_path(&results).iter().max(), Some(&1_000));
}

#[test]
fn every_model_balances_packets() {
    let kinds = [
        (Balancing::RoundRobin, 250..=250),
        (Balancing::Random, 200..=300),
        (Balancing::Adaptive(Default::default()), 200..=300),
        (Balancing::Flowlet { gap: ps(1) }, 200..=300),
    ];
    for model in models() {
        for (balancing, each) in &kinds {
            let what = format!("{model:?}, {balancing:?}");
            let mut config = one_flow(two_switches([gbps(40); 4]));
            config.switch.model = model.clone();
            config.switch.balancing = *balancing;
            let results = run(&config);
            assert_clean(&what, &results);
            let paths = by_path(&results);
            assert!(
                paths.iter().all(|it| each.contains(it)),
                "{what}: {paths:?}"
            );
        }
    }
}

#[test]
fn packets_closer_than_the_gap_are_a_flowlet() {
    let mut config = one_flow(two_switches([gbps(10); 4]));
    config.switch.balancing = Balancing::Flowlet { gap: us(1) };
    let results = run(&config);
    assert_clean("flowlets", &results);
    assert_eq!(by_path(&results).iter().max(), Some(&1_000));
}

#[test]
fn balanced_packets_look_lost_to_go_back_n() {
    let mut config = one_flow(two_switches([gbps(10), gbps(10), gbps(10), gbps(5)]));
    config.switch.balancing = Balancing::RoundRobin;
    let selective = run(&config);
    assert_clean("selective repeat", &selective);
    config.scheme.loss_recovery = loss_recovery::Config::GoBackN;
    let results = run(&config);
    assert!(results.flows[0].retransmitted_packets > 100, "{results:?}");
    assert_eq!(results.totals.dropped_packets, 0);
}

fn laws(paths: u32) -> [Spraying; 3] {
    let freeze = ms(10);
    [
        Spraying::Oblivious(oblivious::Params { paths }),
        Spraying::Bitmap(bitmap::Params { paths }),
        Spraying::Reps(reps::Params { paths, freeze }),
    ]
}

#[test]
fn senders_spray_over_all_paths() {
    for spraying in laws(64) {
        let mut config = one_flow(two_switches([gbps(10); 4]));
        config.host.spraying = spraying.clone();
        let results = run(&config);
        let what = format!("{spraying:?}");
        assert_clean(&what, &results);
        let paths = by_path(&results);
        assert!(paths.iter().all(|it| *it > 50), "{what}: {paths:?}");
        // On one path of 10 Gb/s it takes 838 us.
        assert!(fct(&results.flows[0]) < us(500), "{what}");
    }
}

/// Two flows that have as much room as they need, unless they use the slow path as often as the others.
#[test]
fn who_learns_from_marks_leaves_a_slow_path_alone() {
    let slow_share = |spraying: Spraying| {
        let fabric = two_switches([gbps(40), gbps(40), gbps(40), gbps(4)]);
        let mut config = config(fabric, vec![sized(2, 4, 4_000_000)], ms(20));
        config.scheme.loss_recovery = selective();
        config.scheme.congestion_point =
            unpause_protocols::congestion_point::Config::Red(red::Params {
                kmin: 5_000,
                kmax: 5_001,
                ..red::Params::default()
            });
        config.host.spraying = spraying;
        let results = run(&config);
        assert_complete(&results);
        let paths = by_path(&results);
        paths[3] as f64 / paths.iter().sum::<u64>() as f64
    };
    let [oblivious, bitmap, reps] = laws(64).map(slow_share);
    assert!(oblivious > 0.2, "{oblivious}");
    assert!(bitmap < 0.8 * oblivious, "{bitmap} of {oblivious}");
    assert!(reps < 0.7 * oblivious, "{reps} of {oblivious}");
}

/// Neither threads nor ranks change what comes of it.
#[test]
fn threads_and_ranks_do_not_matter() {
    for balancing in [
        Balancing::RoundRobin,
        Balancing::Random,
        Balancing::Adaptive(Default::default()),
        Balancing::Flowlet { gap: us(1) },
    ] {
        for spraying in laws(16) {
            let mut config = one_flow(two_switches([gbps(10), gbps(10), gbps(10), gbps(5)]));
            let across = [(3, 5, 200_000), (5, 2, 100_000), (4, 3, 100_000)];
            let flows = across.map(|(src, dst, bytes)| sized(src, dst, bytes));
            config
                .traffic
                .push(unpause_sim::traffic::TrafficSpec::Flows(flows.into()));
            config.scheme.congestion_point = dcqcn().congestion_point;
            config.switch.balancing = balancing;
            config.host.spraying = spraying;
            let what = format!("{balancing:?}, {:?}", config.host.spraying);
            assert_threads_do_not_matter(&what, &config);
            let results = run(&config);
            assert_complete(&results);
            assert_eq!(
                assert_ranks_do_not_matter(&what, &config),
                results,
                "{what}"
            );
        }
    }
}

/// A link that fails loses what is on it; REPS, frozen, keeps to paths that work.
#[test]
fn a_timeout_is_repaired_by_other_paths() {
    for spraying in laws(64) {
        let mut config = one_flow(two_switches([gbps(10); 4]));
        config.events = unpause_sim::config::Events {
            links: vec![unpause_sim::config::LinkEvent {
                at: us(100),
                link: 3,
                up: false,
                direction: unpause_sim::config::Direction::Both,
            }],
            ..Default::default()
        };
        config.host.spraying = spraying;
        let results = run(&config);
        assert_complete(&results);
    }
}

fn refusal(change: impl Fn(&mut Config)) -> String {
    let mut config = one_flow(two_switches([gbps(10); 4]));
    change(&mut config);
    let run = unpause_sim::run(&config, &mut |_| std::ops::ControlFlow::Continue(()));
    run.expect_err("it cannot be run").to_string()
}

#[test]
fn what_cannot_be_is_refused() {
    let spray = |config: &mut Config, paths| config.host.spraying = laws(paths)[0].clone();
    let refused = [
        refusal(|config| {
            spray(config, 64);
            config.scheme.loss_recovery = loss_recovery::Config::GoBackN;
        }),
        refusal(|config| {
            spray(config, 64);
            config.fabric.ecmp = Ecmp::Hpcc;
        }),
        refusal(|config| spray(config, 48)),
        refusal(|config| spray(config, 1)),
        refusal(|config| spray(config, 1 << 15)),
        refusal(|config| config.host.spraying = laws(512)[1].clone()),
        refusal(|config| {
            config.switch.balancing = Balancing::Random;
            config.fabric.ecmp = Ecmp::Hpcc;
        }),
        refusal(|config| {
            config.switch.balancing = Balancing::Adaptive(Default::default());
            config.switch.model = SwitchModel::InputQueued(InputQueuedConfig {
                speedup_percent: 100,
                ..InputQueuedConfig::default()
            });
        }),
    ];
    let expected = [
        "go-back-N treats packets that arrive out of order as lost",
        "the hash of HPCC's simulator knows flows",
        "a flow cannot have 48 entropy values",
        "a flow cannot have 1 entropy values",
        "a flow cannot have 32768 entropy values",
        "a flow cannot have 512 entropy values",
        "switches cannot choose by a hash and by another rule",
        "frames do not wait at the outputs",
    ];
    for (refused, expected) in refused.iter().zip(expected) {
        assert!(refused.contains(expected), "{refused}");
    }
}
