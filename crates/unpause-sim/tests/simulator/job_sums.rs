//! Jobs: when groups take part in their operations, and what that puts on links.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use unpause_protocols::units::{Fraction, Time};
use unpause_sim::config::{Config, NodeId, PortId};
use unpause_sim::jobs::{Algorithm, Group, Job, Operation, Phase};
use unpause_sim::results::{JobLinkRecord, Results};

use crate::common::*;
use crate::jobs::{
    ack, add, alone, crowded, exchange, ideal, job, on_a_switch, takes, two_switches,
};
use crate::ranks::assert_ranks_do_not_matter;

#[test]
fn an_operation_of_all_lasts_as_long_as_its_iteration() {
    let mut config = on_a_switch(8);
    let mut ring = job(8, Operation::AllReduce, Algorithm::Ring, 4_000_000);
    ring.iterations = 3;
    ring.phases[0].compute = us(30);
    exchange(&mut ring).reduce_rate = Some(gbps(400));
    add(&mut config, ring);
    let results = run(&config);
    let numbers: Vec<u32> = results.collectives.iter().map(|it| it.iteration).collect();
    assert_eq!(numbers, [0, 1, 2]);
    for it in &results.collectives {
        assert_eq!((it.entry, it.phase, it.group, it.ranks), (0, 0, 0, 8));
        assert_eq!(it.end - it.start + us(30), takes(&results, it.iteration));
    }
}

/// To the picosecond. Measured is an ACK more before each step but the first.
#[test]
fn a_ring_alone_is_its_closed_form() {
    for ranks in [2, 3, 8, 33] {
        for bytes in [100_000, 1_000_003] {
            let results = alone(ranks, Operation::AllReduce, Algorithm::Ring, bytes);
            let steps = 2 * (u64::from(ranks) - 1);
            let expected = ideal(bytes.div_ceil(ranks.into())) * steps;
            let [it] = results.collectives[..] else {
                panic!("one operation");
            };
            assert_eq!(it.ideal, Some(expected), "{ranks} ranks, {bytes} B");
            assert_eq!(it.end - it.start, expected + ack() * (steps - 1));
        }
    }
}

/// Alone, none is faster than that, nor slower by more than the ACKs that it waits for.
#[test]
fn operations_take_as_long_as_alone() {
    use {Algorithm as A, Operation as O};
    let all = [
        (O::AllReduce, A::HalvingDoubling),
        (O::AllReduce, A::Direct),
        (O::AllReduce, A::Rails { per_server: 4 }),
        (O::AllGather, A::Ring),
        (O::ReduceScatter, A::Direct),
        (O::AllToAll, A::Direct),
        (O::AllToAll, A::Pairwise),
        (O::Broadcast { root: 3 }, A::Ring),
        (O::SendReceive, A::Ring),
    ];
    for (operation, algorithm) in all {
        let of = job(8, operation, algorithm, 1_000_001);
        for (launch, reduces) in [(Time::ZERO, None), (us(3), Some(gbps(50)))] {
            let mut of = of.clone();
            of.launch = launch;
            exchange(&mut of).reduce_rate = reduces;
            let mut config = on_a_switch(8);
            add(&mut config, of);
            let results = run(&config);
            let it = results.collectives[0];
            let (takes, ideal) = ((it.end - it.start).as_ns_f64(), it.ideal.expect("known"));
            let late = takes / ideal.as_ns_f64() - 1.0;
            let what = &exchange(&mut config.jobs[0]).collective;
            assert!(
                (0.0..0.01).contains(&late),
                "{what:?}: {takes} ns, alone {ideal}"
            );
        }
    }
}

/// With s to send a slice and a latency a, L steps take (L - 1) max(s + a, ks) + ks + a: here slices keep links busy, and here
/// they do not.
#[test]
fn a_sliced_ring_alone_is_its_closed_form() {
    for (ranks, frames, slices) in [(4_u64, 200, 4), (8, 3, 2), (5, 40, 8)] {
        let slice = frames * 1000;
        let k = u64::from(slices);
        let mut ring = job(
            ranks as u32,
            Operation::AllReduce,
            Algorithm::Ring,
            ranks * k * slice,
        );
        exchange(&mut ring).collective.slices = slices;
        let mut config = on_a_switch(ranks as u32);
        assert_eq!(config.host.payload_bytes, 1000);
        add(&mut config, ring);
        let results = run(&config);
        let sends = ideal(2 * slice) - ideal(slice);
        let latency = ideal(slice) - sends;
        let steps = 2 * (ranks - 1);
        let expected = (sends + latency).max(sends * k) * (steps - 1) + sends * k + latency;
        let it = results.collectives[0];
        assert_eq!(it.ideal, Some(expected), "{ranks} ranks, {slices} slices");
        let late = (it.end - it.start).as_ns_f64() / expected.as_ns_f64() - 1.0;
        assert!((0.0..0.02).contains(&late), "{late}");
    }
}

#[test]
fn channels_have_times_of_their_own() {
    let mut ring = job(4, Operation::AllReduce, Algorithm::Ring, 900_001);
    exchange(&mut ring).collective.channels = 2;
    exchange(&mut ring).collective.slices = 3;
    ring.iterations = 2;
    let mut config = on_a_switch(4);
    add(&mut config, ring);
    let results = run(&config);
    let channels: Vec<_> = results.collectives.iter().map(|it| it.channel).collect();
    assert_eq!(channels, [None, Some(0), Some(1)].repeat(2));
    for of in results.collectives.chunks(3) {
        assert_eq!(of[0].end, of[1].end.max(of[2].end));
        assert_eq!(of[0].ideal, of[1].ideal.max(of[2].ideal));
        assert!(of.iter().all(|it| it.start == of[0].start && it.ranks == 4));
        assert!(of.iter().all(|it| it.ideal <= Some(it.end - it.start)));
    }
}

/// A ring of two and a ring of two others, of which one waits for a rank that computes for longer.
#[test]
fn each_group_has_times_of_its_own() {
    let mut config = on_a_switch(4);
    let mut pairs = job(4, Operation::AllReduce, Algorithm::Ring, 1_000_000);
    exchange(&mut pairs).groups = [[0, 2], [1, 3]].map(Group::from_iter).to_vec();
    pairs.phases[0].compute = us(100);
    pairs.phases[0].jitter = Fraction::of(1, 2);
    let silent = Phase {
        collective: None,
        ..pairs.phases[0].clone()
    };
    pairs.phases.insert(0, silent);
    let compute = |rank: u32| {
        let of =
            |place: u32| pairs.phases[place as usize].compute_of(config.seed, 0, (0, place, rank));
        of(0) + of(1)
    };
    let times: Vec<Time> = (0..4).map(compute).collect();
    add(&mut config, pairs);
    let results = run(&config);
    let found = &results.collectives;
    assert_eq!(found.len(), 2);
    for (it, (a, b)) in found.iter().zip([(0, 2), (1, 3)]) {
        assert_eq!((it.phase, it.ranks), (1, 2));
        assert_eq!(it.start, times[a].min(times[b]));
        assert_eq!(it.all_began, times[a].max(times[b]));
        let ends = results.rank_iterations.iter();
        let ends = ends.filter(|rank| [a, b].contains(&(rank.rank as usize)));
        assert_eq!(Some(it.end), ends.map(|rank| rank.end).max());
    }
    assert_eq!(found[0].group, 0);
    assert_eq!(found[1].group, 1);
}

#[test]
fn what_not_all_ranks_have_ended_is_left_out() {
    let mut config = on_a_switch(8);
    let mut ring = job(8, Operation::AllReduce, Algorithm::Ring, 4_000_000);
    ring.iterations = 100;
    add(&mut config, ring);
    config.stop = ms(3);
    let results = run(&config);
    let complete = results
        .rank_iterations
        .chunk_by(|a, b| a.iteration == b.iteration);
    let complete = complete.filter(|it| it.len() == 8).count();
    assert_eq!(results.collectives.len(), complete);
    assert!((2..100).contains(&complete), "{complete}");
}

/// By node and port: all that jobs have put there, and all that ports have sent.
fn sums(results: &Results) -> [BTreeMap<(NodeId, PortId), u64>; 2] {
    let mut sums = [BTreeMap::new(), BTreeMap::new()];
    for it in &results.job_links {
        *sums[0].entry((it.node, it.port)).or_default() += it.data_bytes + it.control_bytes;
    }
    for it in results.ports.iter().filter(|it| it.tx_bytes > 0) {
        *sums[1].entry((it.node, it.port)).or_default() += it.tx_bytes;
    }
    sums
}

fn at_hosts(hosts: &[NodeId], operation: Operation, algorithm: Algorithm) -> Job {
    Job {
        hosts: hosts.to_vec(),
        iterations: 3,
        ..job(hosts.len() as u32, operation, algorithm, 2_000_000)
    }
}

#[test]
fn jobs_that_are_alone_have_put_on_links_what_ports_have_sent() {
    for (name, scheme) in schemes() {
        let mut config = config(two_switches(40), vec![], ms(20));
        config.scheme = scheme;
        config.probes.job_links = true;
        let (ring, direct) = (Algorithm::Ring, Algorithm::Direct);
        add(
            &mut config,
            at_hosts(&[2, 6, 3, 7, 4], Operation::AllReduce, ring),
        );
        add(
            &mut config,
            at_hosts(&[5, 8, 9, 2], Operation::AllToAll, direct),
        );
        let results = run(&config);
        let [of_jobs, sent] = sums(&results);
        assert_eq!(of_jobs, sent, "{name}");
        let at_hosts = results.job_links.iter().filter(|it| it.node >= 2);
        let packets: u64 = at_hosts.map(|it| it.data_packets).sum();
        assert_eq!(packets, results.totals.data_packets, "{name}");
        let entries: Vec<u16> = results.job_links.iter().map(|it| it.entry).collect();
        assert!(
            entries.contains(&1) && entries.contains(&2) && entries.is_sorted(),
            "{name}"
        );
    }
}

/// Frames with their headers, preambles and gaps, of messages of this many bytes.
fn on_wire(config: &Config, messages: u64, bytes: u64) -> u64 {
    let host = &config.host;
    let frames = bytes.div_ceil(host.payload_bytes.into());
    let around = host.header_bytes + config.fabric.framing_bytes;
    messages * (bytes + frames * u64::from(around))
}

/// Around a ring of N ranks over two switches, one message of S/N goes over the trunk in each of 2 (N - 1) steps and directions.
#[test]
fn a_ring_puts_its_bytes_on_the_trunk() {
    let mut config = config(two_switches(100), vec![sized(3, 8, 700_000)], ms(50));
    config.probes.job_links = true;
    let hosts: Vec<NodeId> = (2..10).collect();
    let ring = at_hosts(&hosts, Operation::AllReduce, Algorithm::Ring);
    add(&mut config, ring);
    let results = run(&config);
    let trunk = |node: NodeId| {
        let all = results.job_links.iter();
        let found: Vec<&JobLinkRecord> = all.filter(|it| (it.node, it.port) == (node, 0)).collect();
        assert_eq!(found.len(), 1);
        found[0].data_bytes
    };
    let expected = on_wire(&config, 3 * 14, 250_000);
    assert_eq!((trunk(0), trunk(1)), (expected, expected));
    let other = on_wire(&config, 1, 700_000);
    let sent = |priority| port(&results, 0, 0, priority).tx_bytes;
    assert_eq!(sent(3), expected + other);
    // The acknowledgements of the other flow go the other way.
    let all = results
        .job_links
        .iter()
        .filter(|it| it.node == 0 && it.port == 0);
    assert_eq!(sent(7), all.map(|it| it.control_bytes).sum::<u64>());
}

#[test]
fn counting_changes_nothing_else() {
    let mut config = crowded();
    let not = run(&config);
    assert!(not.job_links.is_empty());
    config.probes.job_links = true;
    let counted = run(&config);
    assert!(!counted.job_links.is_empty());
    for threads in [3, 7] {
        let more = unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()));
        assert!(
            more.expect("the run is valid") == counted,
            "{threads} threads"
        );
    }
    config.stop = ms(4);
    let few = assert_ranks_do_not_matter("jobs", &config);
    assert!(!few.job_links.is_empty() && !few.collectives.is_empty());
    let but_for_links = Results {
        job_links: Vec::new(),
        ..counted
    };
    assert!(not == but_for_links);
}
