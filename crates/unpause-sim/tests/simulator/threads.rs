//! Runs on several threads.

use std::ops::ControlFlow;

use unpause_protocols::units::Time;
use unpause_sim::Error;
use unpause_sim::config::{PfcThreshold, PipelineConfig, SwitchModel};
use unpause_sim::exchange::{Exchange, Sequential, Worker};
use unpause_sim::traffic::{FlowSpec, TrafficSpec};

use crate::common::*;

/// Two switches with two hosts each, and flows both ways between them.
fn across(stop_us: u64) -> unpause_sim::config::Config {
    let mut net = Net::default();
    let (a, b) = (net.switch(), net.switch());
    net.link(a, b, gbps(40), us(1));
    let hosts = [a, a, b, b].map(|switch| net.host(switch, gbps(40), us(1)));
    let flows = (0..4).map(|i| flow(hosts[i], hosts[(i + 2) % 4])).collect();
    let mut config = config(net.0, flows, us(stop_us));
    config.scheme = pcn();
    config
}

#[test]
fn a_watcher_ends_a_run_on_any_number_of_threads() {
    let config = across(2_000);
    for (threads, times) in [(1, 1), (2, 100), (3, 20)] {
        for _ in 0..times {
            let mut calls = 0;
            let ended = unpause_sim::run_threads(&config, threads, &mut |progress| {
                calls += 1;
                assert!(progress.now < config.stop);
                ControlFlow::Break(())
            });
            assert_eq!(ended, Err(Error::Interrupted));
            assert_eq!(calls, 1);
        }
    }
}

pub fn assert_threads_do_not_matter(what: &str, config: &unpause_sim::config::Config) {
    let one = run(config);
    for threads in [2, 3, 7] {
        let go_on = &mut |_| ControlFlow::Continue(());
        let many = unpause_sim::run_threads(config, threads, go_on).expect("the run is valid");
        assert!(one == many, "{what}: {threads} threads");
    }
}

/// Every scheme, on switches of both models that can be several, with a bottleneck and both ways.
#[test]
fn threads_do_not_change_results() {
    let pipeline = SwitchModel::Pipeline(PipelineConfig {
        packets_per_second: 50_000_000,
        latency: us(1),
        ..PipelineConfig::default()
    });
    for model in [SwitchModel::SharedBuffer, pipeline] {
        for (name, scheme) in schemes() {
            let mut config = across(300);
            config.scheme = scheme;
            config.switch.model = model.clone();
            config.probes.interval = us(20);
            config.probes.ports = vec![(0, 0), (1, 0)];
            let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
                unreachable!("flows are named")
            };
            // Two more to host 4 than its link can carry, recorded on both sides.
            for (src, start) in [(2, 30), (3, 60), (5, 90)] {
                flows.push(FlowSpec {
                    recorded: true,
                    start: us(start),
                    ..sized(src, 4, 200_000)
                });
            }
            assert_threads_do_not_matter(name, &config);
        }
    }
}

/// Switches that cut through, with links of several rates, packets recorded and PAUSE followed.
#[test]
fn threads_do_not_change_what_cuts_through() {
    let pipeline = SwitchModel::Pipeline(PipelineConfig {
        packets_per_second: 50_000_000,
        latency: us(1),
        ..PipelineConfig::default()
    });
    for model in [SwitchModel::SharedBuffer, pipeline] {
        for (name, scheme) in schemes() {
            let mut config = across(300);
            for (at, link) in config.fabric.links.iter_mut().enumerate() {
                link.rate = gbps([40, 10, 100, 40, 25][at]);
            }
            config.scheme = scheme;
            config.switch.model = model.clone();
            config.switch.cut_through_bytes = Some(64);
            config.switch.pfc.threshold = static_threshold(20_000);
            config.probes.causes = true;
            config.probes.packets = vec![(0, 0), (2, 0), (1, 1)];
            assert_threads_do_not_matter(name, &config);
        }
    }
}

/// Two sites with a long link between them, of as much to do, but so many nodes in one that it is no cluster: each runs by
/// itself for as long as that link takes.
#[test]
fn sites_far_apart_meet_seldom() {
    let mut net = Net::default();
    let (a, b) = (net.switch(), net.switch());
    net.link(a, b, gbps(40), us(100));
    let near = [(); 5].map(|()| net.host(a, gbps(40), us(1)));
    let far = [(); 2].map(|()| net.host(b, gbps(100), us(1)));
    let mut flows = vec![
        sized(near[0], near[1], 2_000_000),
        sized(near[2], near[1], 2_000_000),
        sized(far[0], far[1], 2_000_000),
    ];
    // Across, some of it long after all else is over.
    for (number, start) in [0, 130, 2_900].into_iter().enumerate() {
        for (src, dst) in [(near[number], far[0]), (far[1], near[number])] {
            flows.push(FlowSpec {
                start: us(start),
                ..sized(src, dst, 100_000)
            });
        }
    }
    for (name, scheme) in schemes() {
        let mut config = config(net.0.clone(), flows.clone(), ms(4));
        config.scheme = scheme;
        config.switch.pfc.threshold = static_threshold(50_000);
        assert_threads_do_not_matter(name, &config);
        let windows = |threads| {
            let go_on = &mut |_| ControlFlow::Continue(());
            let results = unpause_sim::run_threads(&config, threads, go_on);
            results.expect("the run is valid").totals.windows.0
        };
        assert!(windows(2) * 10 < windows(1), "{name}");
    }
}

/// Three switches in a ring, so that nodes are not in two halves; flows start when everything else is over.
#[test]
fn threads_do_not_change_a_ring_of_three() {
    let mut net = Net::default();
    let switches = [(); 3].map(|()| net.switch());
    for at in 0..3 {
        net.link(switches[at], switches[(at + 1) % 3], gbps(40), us(1));
    }
    let hosts = switches.map(|switch| net.host(switch, gbps(40), us(1)));
    // Two from a host, one to each of the others.
    let flows = (0..600).map(|number| FlowSpec {
        start: us(50) * (number / 2) as u64 + Time::from_ns(500) * (number % 2) as u64,
        ..sized(
            hosts[number / 2 % 3],
            hosts[(number / 2 + number % 2 + 1) % 3],
            10_000,
        )
    });
    let config = config(net.0, flows.collect(), ms(40));
    assert_eq!(run(&config).totals.flows_completed, 600);
    assert_threads_do_not_matter("a ring of three", &config);
}

/// Hosts go on with packets of their own switch while what comes from the other one is awaited.
#[test]
fn hosts_run_ahead_of_mail() {
    let config = across(300);
    let mut ahead = 0;
    let drive = |workers: &mut [Worker<'_>]| {
        let mut exchange = Sequential::new(workers.len());
        let hops = |workers: &[Worker<'_>]| workers.iter().map(Worker::packet_hops).sum::<u64>();
        loop {
            for worker in &mut *workers {
                worker.send(&mut exchange);
            }
            let before = hops(workers);
            for worker in &mut *workers {
                worker.run_ahead();
            }
            ahead += hops(workers) - before;
            let due = exchange.synchronize()?.due;
            for worker in &mut *workers {
                worker.receive(&mut exchange);
            }
            if due.earliest() >= config.stop {
                return Ok(0);
            }
            for worker in &mut *workers {
                worker.window(&due)?;
            }
        }
    };
    let shard_of = unpause_sim::shards_of_nodes(&config, 2).expect("the run is valid");
    let results =
        unpause_sim::run_unsynchronized(&config, &shard_of, drive).expect("the run is valid");
    let one = run(&config);
    assert!(results == one);
    // They send every third packet, data one way and ACKs the other.
    let of_hosts = one.totals.packet_hops / 3;
    assert!(ahead > of_hosts * 9 / 10, "{ahead} of {of_hosts}");
}

/// In a large fabric switches prefetch, which nobody else may notice. Large it is by hosts that have no part
/// in it; those that do send to one that stops its switch by PFC.
#[test]
fn looking_ahead_changes_nothing() {
    for (name, scheme) in schemes() {
        let mut config = across(300);
        config.scheme = scheme;
        config.switch.pfc.threshold = PfcThreshold::Static {
            xoff_bytes: 20_000,
            xon_bytes: 10_000,
        };
        let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
            unreachable!("flows are named")
        };
        flows.extend([3, 5].map(|src| sized(src, 4, 200_000)));
        let small = run(&config);
        assert!(small.totals.pause_frames > 0, "{name}");
        let mut net = Net(config.fabric);
        let switch = net.switch();
        for _ in 0..2048 {
            net.host(switch, gbps(40), us(1));
        }
        config.fabric = net.0;
        assert!(small == run(&config), "{name}");
    }
}

/// Rather than leave the others waiting forever.
#[test]
fn a_panic_of_one_thread_ends_the_run() {
    let config = across(2_000);
    for threads in [1, 2, 3] {
        let run = || {
            let _ = unpause_sim::run_threads(&config, threads, &mut |_| panic!("on purpose"));
        };
        assert!(std::panic::catch_unwind(run).is_err());
    }
}

/// A host that receives a recorded flow late and sends one early is sampled from the early one on,
/// whichever of them its thread meets first.
#[test]
fn sampling_begins_with_the_first_recorded_flow_on_any_number_of_threads() {
    let mut config = across(1_000);
    let recorded = |src, dst, start| FlowSpec {
        recorded: true,
        start: us(start),
        ..flow(src, dst)
    };
    let flows = vec![recorded(2, 4, 100), recorded(5, 2, 500)];
    config.traffic = vec![TrafficSpec::Flows(flows)];
    config.probes.interval = us(50);
    let one = run(&config);
    let go_on = &mut |_| ControlFlow::Continue(());
    let two = unpause_sim::run_threads(&config, 2, go_on).expect("the run is valid");
    assert_eq!(one.flow_series.len(), two.flow_series.len());
    assert!(one == two);
}

/// Both ends of a recorded flow are sampled from its start on, though nothing reaches the receiver before the end; so no
/// count depends on the number of threads.
#[test]
fn a_receiver_is_sampled_before_anything_comes() {
    let mut config = across(2_000);
    let mut events = |recorded| {
        let late = FlowSpec {
            recorded,
            start: us(1_998),
            ..flow(2, 4)
        };
        config.traffic = vec![TrafficSpec::Flows(vec![late])];
        config.probes.interval = Time::from_ns(100);
        run(&config).totals.events
    };
    // At 1998.1 us to 1999.9 us. The end of the run is no event.
    assert_eq!(events(true) - events(false), 2 * 19);
}
