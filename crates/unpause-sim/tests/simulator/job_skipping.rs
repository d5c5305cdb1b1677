//! Steps of rings that repeat are skipped, and results stay the same.

use std::ops::Range;

use proptest::prelude::*;
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_sim::config::{Config, NodeKind, SchemeConfig, Skipping};
use unpause_sim::jobs::{Algorithm, Completion, Job, Operation, Over};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::jobs::{add, exchange, job};
use crate::ranks::assert_ranks_do_not_matter;
use crate::skipping::shares_on;

/// A number of hosts on one switch.
fn switch(hosts: u32) -> Config {
    let fabric = star(&vec![gbps(100); hosts as usize], us(1));
    let mut config = config(fabric, vec![], ms(50));
    config.traffic.clear();
    config
}

/// Asserts that results do not depend on skipping. Returns the share of windows that can be skipped.
fn skipped_on(config: &Config, threads: usize) -> f64 {
    shares_on(config, threads)[0]
}

/// The same on one thread.
fn skipped(config: &Config) -> f64 {
    skipped_on(config, 1)
}

/// A few all-reduces of this many blocks of this many bytes.
fn ring(ranks: u32, block: u64) -> Job {
    let bytes = block * u64::from(ranks);
    let mut job = job(ranks, Operation::AllReduce, Algorithm::Ring, bytes);
    job.iterations = 6;
    job
}

fn alone(job: Job) -> Config {
    let mut config = switch(job.hosts.len() as u32);
    add(&mut config, job);
    config
}

#[test]
fn steps_of_rings_are_skipped() {
    for ranks in [2, 3, 5, 8, 24] {
        for scheme in [SchemeConfig::default(), dcqcn()] {
            let mut config = alone(ring(ranks, 40_000));
            config.scheme = scheme;
            let skipped = skipped(&config);
            assert!(ranks < 24 || skipped > 0.5, "{ranks} ranks: {skipped}");
        }
    }
    // Without records of messages nothing else differs either.
    let mut unrecorded = ring(24, 40_000);
    unrecorded.records_messages = false;
    assert!(skipped(&alone(unrecorded)) > 0.5);
}

/// Changes to all steps alike.
#[test]
fn steps_of_any_kind_are_skipped() {
    type Change = fn(&mut Job);
    let changes: [(&str, Change); 10] = [
        ("channels", |job| exchange(job).collective.channels = 2),
        ("slices", |job| exchange(job).collective.slices = 3),
        ("reductions", |job| {
            exchange(job).reduce_rate = Some(Rate::from_gbps(400));
        }),
        ("launch", |job| job.launch = us(2)),
        ("acknowledged", |job| {
            job.completion = Completion::Acknowledged
        }),
        ("gather", |job| {
            exchange(job).collective.operation = Operation::AllGather
        }),
        ("scatter", |job| {
            exchange(job).collective.operation = Operation::ReduceScatter
        }),
        ("compute", |job| job.phases[0].compute = us(50)),
        ("jitter", |job| {
            job.phases[0].compute = us(50);
            job.phases[0].jitter = Fraction::from_q32(1 << 29);
        }),
        ("groups", |job| {
            exchange(job).groups = vec![(0..12).collect(), (12..24).collect()]
        }),
    ];
    for (name, change) in changes {
        let mut job = ring(24, 48_000);
        change(&mut job);
        let skipped = skipped(&alone(job));
        // With jitter, ranks are never again as far from one another.
        let repeats = ["reductions", "launch", "acknowledged", "compute"].contains(&name);
        assert!(!repeats || skipped > 0.2, "{name}: {skipped}");
    }
}

/// The first blocks have a byte more, and are at other ranks in each step.
#[test]
fn steps_that_differ_are_simulated() {
    let mut uneven = ring(24, 40_000);
    exchange(&mut uneven).collective.bytes += 7;
    assert!(skipped(&alone(uneven)) < 0.01);
    let mut own = ring(24, 40_000);
    own.over = Over::Messages;
    own.iterations = 1;
    assert!(skipped(&alone(own)) < 0.01);
    let mut pairwise = ring(12, 40_000);
    exchange(&mut pairwise).collective.operation = Operation::AllToAll;
    exchange(&mut pairwise).collective.algorithm = Algorithm::Pairwise;
    skipped(&alone(pairwise));
}

/// Inside long messages packets repeat.
#[test]
fn long_messages_are_skipped() {
    let mut config = switch(2);
    config.stop = ms(30);
    let of = job(2, Operation::AllReduce, Algorithm::Ring, 80_000_000);
    add(&mut config, of);
    assert!(skipped(&config) > 0.3);
}

/// Rings inside of servers and between them.
#[test]
fn rings_over_several_nics_are_skipped() {
    for algorithm in [Algorithm::Ring, Algorithm::Rails { per_server: 8 }] {
        let (fabric, gpus) = crate::nvswitches::servers(8);
        let mut config = config(fabric, vec![], ms(50));
        config.traffic.clear();
        let mut of = ring(16, 400_000);
        exchange(&mut of).collective.algorithm = algorithm;
        of.hosts = gpus;
        add(&mut config, of);
        config.scheme = dcqcn();
        // A ring of eight ranks has few steps.
        let skipped = skipped(&config);
        assert!(algorithm != Algorithm::Ring || skipped > 0.1, "{skipped}");
    }
}

/// A ring over two leaves with two servers of four GPUs each, and so many spines between them. Three of four messages stay in a
/// server. The seed decides which spine each connection takes.
fn over_leaves(spines: usize, seed: u64) -> Config {
    let mut net = Net::default();
    let leaves = [net.switch(), net.switch()];
    let mut hosts = Vec::new();
    for server in 0..4 {
        let nvswitch = net.switch();
        net.0.nvswitches.push(nvswitch);
        for _ in 0..4 {
            let gpu = net.node(NodeKind::Host);
            net.link(gpu, nvswitch, gbps(2880), ps(25_000));
            net.link(gpu, leaves[server / 2], gbps(400), ps(50_000));
            hosts.push(gpu);
        }
    }
    for _ in 0..spines {
        let spine = net.switch();
        for leaf in leaves {
            net.link(leaf, spine, gbps(400), ps(50_000));
        }
    }
    let mut config = config(net.0, vec![], ms(50));
    config.traffic.clear();
    config.seed = seed;
    config.scheme = dcqcn();
    let mut of = ring(16, 200_000);
    of.iterations = 2;
    of.hosts = hosts;
    add(&mut config, of);
    config
}

/// Hops inside of a server, under a leaf and over a spine take different times, but the NICs are always busy.
#[test]
fn rings_over_leaves_are_skipped_where_acks_have_links_of_their_own() {
    let mut seeds = (1..6).map(|seed| over_leaves(4, seed));
    let apart = seeds.find(|config| skipped(config) > 0.3);
    let config = apart.expect("two connections take two spines");
    for threads in [2, 3, 7] {
        let skipped = skipped_on(&config, threads);
        assert!(skipped > 0.3, "{threads} threads: {skipped}");
    }
    let never = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    assert!(assert_ranks_do_not_matter("a ring over leaves", &config) == run(&never));
    // Messages to one leaf and ACKs of those from there need more than the only link has: its queue grows in each step.
    assert!(skipped(&over_leaves(1, 1)) < 0.01);
}

/// Most of a step is inside of a message.
#[test]
fn long_messages_of_short_operations_are_skipped() {
    let (fabric, gpus) = crate::nvswitches::servers(2);
    let mut config = config(fabric, vec![], ms(50));
    config.traffic.clear();
    config.scheme = dcqcn();
    let mut of = job(
        4,
        Operation::AllReduce,
        Algorithm::Rails { per_server: 2 },
        96_000_000,
    );
    of.hosts = gpus;
    add(&mut config, of);
    for threads in [1, 2, 3] {
        let [always, some] = shares_on(&config, threads);
        assert!(always > 0.5 && some > 0.3, "{always} {some}");
    }
}

/// Rings of two channels. Each enters a server by a NIC of its own. The watcher is called 20 times without skipping.
#[test]
fn rings_over_servers_are_skipped() {
    let (fabric, gpus) = crate::nvswitches::servers(2);
    let mut config = config(fabric, vec![], ms(50));
    config.traffic.clear();
    let mut of = job(4, Operation::AllReduce, Algorithm::Ring, 96_000_000);
    exchange(&mut of).collective.channels = 2;
    of.sit_at(gpus, &config.fabric);
    add(&mut config, of);
    for threads in [1, 2, 3, 7] {
        let [always, some] = shares_on(&config, threads);
        assert!(always > 0.4 && some > 0.3, "{always} {some}");
    }
}

#[test]
fn two_jobs_are_skipped_together_where_both_repeat() {
    let two = |other: Job| {
        let mut config = switch(48);
        add(&mut config, ring(24, 40_000));
        add(&mut config, other);
        config
    };
    let mut beside = ring(24, 40_000);
    beside.hosts = (25..49).collect();
    assert!(skipped(&two(beside.clone())) > 0.3);
    // The second begins when the first has come far, and has other steps.
    beside.start = us(700);
    exchange(&mut beside).collective.bytes = 24 * 56_000;
    skipped(&two(beside));
    // Both at the same hosts.
    skipped(&two(ring(24, 40_000)));
    let mut later = ring(24, 30_000);
    later.start = us(333);
    later.launch = us(1);
    skipped(&two(later));
}

#[test]
fn samples_causes_and_other_flows_are_not_passed_over() {
    let mut config = alone(ring(24, 40_000));
    config.probes.ports = vec![(0, 1), (3, 0)];
    config.probes.interval = us(100);
    assert!(skipped(&config) > 0.1);
    config.probes.causes = true;
    skipped(&config);
    let mut config = alone(ring(24, 40_000));
    let joins = sized(3, 9, 200_000);
    config.traffic.push(TrafficSpec::Flows(vec![joins]));
    skipped(&config);
}

#[test]
fn threads_and_ranks_skip_the_same_steps() {
    let mut config = alone(ring(24, 40_000));
    config.scheme = dcqcn();
    for threads in [1, 2, 3, 7] {
        let skipped = skipped_on(&config, threads);
        assert!(skipped > 0.5, "{threads} threads: {skipped}");
    }
    let never = Config {
        skipping: Skipping::Never,
        ..config.clone()
    };
    assert!(assert_ranks_do_not_matter("a ring", &config) == run(&never));
}

/// A ring of some kind, of as many ranks and with blocks of as many bytes.
fn any_ring(ranks: Range<u32>, block: Range<u64>) -> impl Strategy<Value = Job> {
    let size = (ranks, block, 1_u32..3, 1_u32..3);
    let kind = (0_usize..3, any::<bool>(), any::<bool>(), 0_u64..3_000);
    (size, kind, 0_u64..50_000).prop_map(|(size, kind, start)| {
        let (ranks, block, channels, slices) = size;
        let (operation, acknowledged, reduces, launch) = kind;
        let mut job = ring(ranks, block * u64::from(channels));
        job.iterations = 3;
        job.start = Time::from_ns(start);
        job.launch = Time::from_ns(launch);
        if acknowledged {
            job.completion = Completion::Acknowledged;
        }
        let exchange = exchange(&mut job);
        exchange.reduce_rate = reduces.then_some(Rate::from_gbps(300));
        let it = &mut exchange.collective;
        (it.channels, it.slices) = (channels, if reduces { 1 } else { slices });
        let operations = [
            Operation::AllReduce,
            Operation::AllGather,
            Operation::ReduceScatter,
        ];
        it.operation = operations[operation].clone();
        job
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_shows_of_random_rings(
        jobs in proptest::collection::vec(any_ring(2..14, 1..90_000), 1..3),
        apart in 0_u32..14,
        (ack_every, threads) in (1_u32..5, 1_usize..4),
        with_flow in any::<bool>(),
    ) {
        for scheme in [SchemeConfig::default(), dcqcn(), pcn()] {
            let mut config = switch(28);
            config.scheme = scheme;
            config.host.ack_every = ack_every;
            for (at, mut job) in (0..).zip(jobs.clone()) {
                for host in &mut job.hosts {
                    *host += at * apart;
                }
                add(&mut config, job);
            }
            if with_flow {
                config.traffic.push(TrafficSpec::Flows(vec![sized(2, 1, 300_000)]));
            }
            skipped_on(&config, threads);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]
    /// States are compared at the same points of steps, and inside of messages.
    #[test]
    fn nothing_shows_of_random_rings_of_long_messages(
        job in any_ring(2..5, 300_000..1_500_000),
        with_flow in any::<bool>(),
        threads in 1_usize..4,
    ) {
        for scheme in [SchemeConfig::default(), dcqcn(), pcn()] {
            let mut config = alone(job.clone());
            config.scheme = scheme;
            if with_flow {
                config.traffic.push(TrafficSpec::Flows(vec![sized(2, 1, 300_000)]));
            }
            skipped_on(&config, threads);
        }
    }
}
