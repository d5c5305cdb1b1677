//! Connections of messages of jobs: some that selective repeat repairs, connections for single messages, and receives
//! that wait for ACKs.

use unpause_protocols::congestion_control;
use unpause_protocols::loss_recovery::{self, selective_repeat};
use unpause_protocols::spraying::{Config as Spraying, reps};
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Cut, Fabric, Trimming};
use unpause_sim::jobs::{Algorithm, Completion, Job, Operation, Over};
use unpause_sim::results::Results;
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;
use crate::jobs::{ack, add, alone, crowded, exchange, ideal, job, on_a_switch, takes, training};

/// Two leaves of four hosts, and two ways between them.
fn two_ways() -> Fabric {
    let mut net = Net::default();
    let leaves = [net.switch(), net.switch()];
    for leaf in leaves {
        for _ in 0..4 {
            net.host(leaf, gbps(100), us(1));
        }
    }
    for _ in 0..2 {
        let spine = net.switch();
        for leaf in leaves {
            net.link(leaf, spine, gbps(40), us(1));
        }
    }
    net.0
}

/// Ranks that do all kinds of operations over two ways.
fn over_two_ways() -> Config {
    let mut config = config(two_ways(), vec![], ms(200));
    let job = Job {
        hosts: (2..10).collect(),
        ..training(8)
    };
    add(&mut config, job);
    config.probes.acknowledged = false;
    config
}

/// Every message comes whole and in order, whatever was lost, overtaken or trimmed on its way, and however few packets of
/// how many messages are in flight.
#[test]
fn selective_repeat_repairs_losses_across_messages() {
    let without = run(&over_two_ways());
    assert_eq!(without.rank_iterations.len(), 32);
    let all = |it: &Results| -> Vec<_> {
        let messages = it.messages.iter();
        messages
            .map(|it| (it.flow, it.number, it.step, it.bytes))
            .collect()
    };
    let lossy = |window: Option<u64>| {
        let mut config = over_two_ways();
        config.switch.lossless = 0;
        config.switch.lossy_queue_bytes = 20_000;
        let params = selective_repeat::Params {
            window,
            ..selective_repeat::Params::default()
        };
        config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(params);
        config
    };
    let trimmed = |mut config: Config| {
        config.switch.trimming = Some(Trimming {
            bytes: 64,
            control_queue_bytes: 64_000,
            cut: Cut::Arriving,
        });
        config
    };
    let sprayed = |mut config: Config| {
        config.host.spraying = Spraying::Reps(reps::Params::default());
        config
    };
    let nscc = {
        let mut config = sprayed(trimmed(lossy(None)));
        config.scheme.roce = congestion_control::Config::Nscc(Default::default());
        config
    };
    let cases = [
        ("dropped", lossy(None)),
        ("three packets", lossy(Some(3_000))),
        ("sprayed", sprayed(lossy(None))),
        ("trimmed", trimmed(lossy(Some(30_000)))),
        ("sprayed and trimmed", sprayed(trimmed(lossy(None)))),
        ("NSCC", nscc),
    ];
    for (name, config) in cases {
        let results = run(&config);
        let lost = results.totals.dropped_packets + results.totals.trimmed_packets;
        assert!(lost > 10 || name == "three packets", "{name}: {lost}");
        assert_eq!(results.rank_iterations.len(), 32, "{name}");
        assert_eq!(
            all(&results),
            all(&without),
            "{name}: the same messages come"
        );
        for record in &results.flows {
            let own = results.messages.iter().filter(|it| it.flow == record.id);
            let own: Vec<_> = own.collect();
            let sum: u64 = own.iter().map(|it| it.bytes).sum();
            assert_eq!(record.delivered_bytes, sum, "{name}: {record:?}");
            assert!(own.is_sorted_by_key(|it| it.end), "{name}: {record:?}");
        }
        crate::threads::assert_threads_do_not_matter(name, &config);
    }
}

/// As front ends of other simulators do it: a step costs a round trip. On an empty fabric the receiver goes on at the
/// picosecond at which the sender has the ACK.
#[test]
fn receives_that_wait_for_acknowledgements_take_a_round_trip() {
    for ranks in [2, 5, 8] {
        let mut config = on_a_switch(ranks);
        let mut of = job(ranks, Operation::AllReduce, Algorithm::Ring, 400_000);
        of.completion = Completion::Acknowledged;
        add(&mut config, of);
        let block = 400_000_u64.div_ceil(ranks.into());
        let steps = 2 * (u64::from(ranks) - 1);
        let back = ack() * 2 + us(2);
        let results = run(&config);
        assert_eq!(takes(&results, 0), (ideal(block) + back) * steps);
        assert!(
            results
                .messages
                .iter()
                .all(|it| it.received == it.end + back)
        );
    }
    let mut config = on_a_switch(8);
    let mut of = job(8, Operation::AllToAll, Algorithm::Pairwise, 800_000);
    of.completion = Completion::Acknowledged;
    add(&mut config, of);
    let results = run(&config);
    assert_eq!(results.messages.len(), 56);
    assert!(
        results
            .messages
            .iter()
            .all(|it| it.acknowledged == Some(it.received))
    );
}

/// The identity of each message, whatever its connection.
fn contents(results: &Results) -> Vec<[u64; 8]> {
    let each = results.messages.iter().map(|it| {
        let place = [it.iteration, it.phase, it.step, it.channel, it.slice];
        let [iteration, phase, step, channel, slice] = place.map(u64::from);
        let (from, to) = (it.from.into(), it.to.into());
        [iteration, phase, step, channel, slice, from, to, it.bytes]
    });
    let mut all: Vec<_> = each.collect();
    all.sort_unstable();
    all
}

#[test]
fn a_message_may_have_a_connection_of_its_own() {
    for ranks in [2, 5, 8] {
        let kept = alone(ranks, Operation::AllReduce, Algorithm::Ring, 400_000);
        let mut config = on_a_switch(ranks);
        let mut of = job(ranks, Operation::AllReduce, Algorithm::Ring, 400_000);
        of.over = Over::Messages;
        add(&mut config, of);
        let results = run(&config);
        // One message at a time between two ranks: nothing shares anything.
        assert_eq!(takes(&results, 0), takes(&kept, 0));
        assert_eq!(results.flows.len(), kept.messages.len());
        assert_eq!(contents(&results), contents(&kept));
        let mut ports: Vec<u16> = results.flows.iter().map(|it| it.source_port).collect();
        ports.sort_unstable();
        ports.dedup();
        assert!(ports.len() > results.flows.len() * 9 / 10, "{ports:?}");
        for (flow, message) in results.flows.iter().zip(&results.messages) {
            assert_eq!((flow.id, 0), (message.flow, message.number));
            assert_eq!(flow.delivered_bytes, message.bytes);
        }
    }
    // Slices follow one another over a connection, and share the link where each has its own.
    let sliced = |over| {
        let mut config = on_a_switch(4);
        let mut of = job(4, Operation::SendReceive, Algorithm::Ring, 400_000);
        exchange(&mut of).collective.slices = 4;
        of.over = over;
        add(&mut config, of);
        let results = run(&config);
        let from_first = results.messages.into_iter().filter(|it| it.from == 0);
        let ends: Vec<Time> = from_first.map(|it| it.end).collect();
        (ends[0], ends[3])
    };
    let (kept, own) = (sliced(Over::Connections), sliced(Over::Messages));
    assert_eq!(kept.0, ideal(100_000));
    assert!(own.0 > kept.0 * 3 && own.1 <= kept.1, "{own:?}, {kept:?}");
}

/// Under every law, and with losses under either repair, the same messages come, and threads do not matter.
#[test]
fn messages_of_their_own_connections_all_come() {
    let quiet = |over| {
        let mut config = crowded();
        config.traffic[0] = TrafficSpec::Flows(Vec::new());
        config.stop = ms(200);
        let job = &mut config.jobs[0];
        job.over = over;
        job.completion = Completion::Acknowledged;
        let flows = job.flows(config.seed);
        config.traffic[usize::from(job.entry)] = TrafficSpec::Flows(flows);
        config
    };
    let kept = contents(&run(&quiet(Over::Connections)));
    assert!(kept.len() > 1_000, "{}", kept.len());
    for (name, scheme) in schemes() {
        let mut config = quiet(Over::Messages);
        config.scheme = scheme;
        assert!(contents(&run(&config)) == kept, "{name}");
    }
    let params = selective_repeat::Params::default();
    for recovery in [
        loss_recovery::Config::GoBackN,
        loss_recovery::Config::SelectiveRepeat(params),
    ] {
        let mut config = quiet(Over::Messages);
        config.scheme.loss_recovery = recovery;
        config.switch.lossless = 0;
        config.switch.lossy_queue_bytes = 20_000;
        config.host.retransmit_timeout = us(300);
        let results = run(&config);
        assert!(results.totals.dropped_packets > 100);
        assert!(contents(&results) == kept);
        assert_eq!(results.rank_iterations.len(), 32);
        crate::threads::assert_threads_do_not_matter("messages as flows", &config);
    }
}
