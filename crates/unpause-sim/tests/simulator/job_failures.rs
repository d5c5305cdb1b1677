//! Jobs of which a link fails: a connection that gives up ends its job, and no other.

use std::ops::ControlFlow;
use std::sync::Arc;

use unpause_protocols::loss_recovery;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, Direction, Events, Fabric, LinkEvent, NicModel, NodeKind};
use unpause_sim::jobs::program::{Draft, DraftRank, Task};
use unpause_sim::jobs::{Algorithm, Job, Operation, Over, Program};
use unpause_sim::results::{PacketKind, Results};

use crate::common::*;
use crate::jobs::{add, job};
use crate::nics::records_all;
use crate::ranks::assert_ranks_do_not_matter;
use crate::threads::assert_threads_do_not_matter;

const ITERATIONS: u32 = 20;

/// Hosts 1 to 4 and 6 to 9 at two leaves, 0 and 5, with a spine between them; link 1 leads to host 2.
fn two_leaves() -> Fabric {
    let mut net = Net::default();
    let mut leaves = Vec::new();
    for _ in 0..2 {
        let leaf = net.switch();
        leaves.push(leaf);
        for _ in 0..4 {
            let host = net.node(NodeKind::Host);
            net.link(leaf, host, gbps(100), us(1));
        }
    }
    let spine = net.switch();
    for leaf in leaves {
        net.link(leaf, spine, gbps(100), us(1));
    }
    net.0
}

/// A ring of all leaves' hosts but the last two, and one of these two. The link of host 2 fails at 300 us, and returns at `back`.
fn two_jobs(of: impl Fn(Job) -> Job, back: Option<Time>) -> Config {
    let mut config = config(two_leaves(), vec![], ms(50));
    config.traffic.clear();
    config.host.retransmit_timeout = us(200);
    config.host.retry_count = Some(2);
    let long = job(6, Operation::AllReduce, Algorithm::Ring, 600_000);
    let first = Job {
        hosts: vec![1, 2, 3, 4, 6, 7],
        iterations: ITERATIONS,
        ..long
    };
    let other = Job {
        hosts: vec![8, 9],
        iterations: ITERATIONS,
        ..job(2, Operation::AllReduce, Algorithm::Ring, 1_000_000)
    };
    add(&mut config, of(first));
    add(&mut config, other);
    let event = |at, up| LinkEvent {
        at,
        link: 1,
        direction: Direction::Both,
        up,
    };
    config.events = Events {
        links: vec![event(us(300), false)],
        detection: ms(20),
        ..Events::default()
    };
    config
        .events
        .links
        .extend(back.map(|back| event(back, true)));
    config
}

/// A ring in which ranks compute and send to one another without end in sight.
fn program(job: Job) -> Job {
    let ranks = job.hosts.len() as u32;
    let rank = |me: u32| {
        let mut rank = DraftRank::default();
        let mut before = None;
        for tag in 0..2 * u64::from(ranks) {
            let (to, from) = ((me + 1) % ranks, Some((me + ranks - 1) % ranks));
            let bytes = 100_000;
            let send = rank.add(Task::Send { to, bytes, tag }, (0, 0, 0));
            let tag = Some(tag);
            let receive = rank.add(Task::Receive { from, bytes, tag }, (0, 0, 0));
            if let Some(before) = before.replace(receive) {
                rank.wait(send, before);
            }
        }
        rank
    };
    let draft = Draft {
        ranks: (0..ranks).map(rank).collect(),
        by_number: false,
        shared: Vec::new(),
    };
    Job {
        phases: Vec::new(),
        program: Some(Arc::new(Program::new(&draft).expect("it can be run"))),
        ..job
    }
}

fn per_message(job: Job) -> Job {
    Job {
        over: Over::Messages,
        ..job
    }
}

fn launched(job: Job) -> Job {
    Job {
        launch: us(3),
        ..job
    }
}

type Variant = (&'static str, fn(Job) -> Job, fn(&mut Config));

const VARIANTS: [Variant; 6] = [
    ("steps", |job| job, |_| ()),
    ("programs", program, |_| ()),
    ("a flow for each message", per_message, |_| ()),
    ("launches", launched, |_| ()),
    (
        "NICs with lists",
        |job| job,
        |config| config.host.nic = NicModel::Hpcc,
    ),
    (
        "selective repeat",
        |job| job,
        |config| {
            let params = loss_recovery::selective_repeat::Params::default();
            config.scheme.loss_recovery = loss_recovery::Config::SelectiveRepeat(params);
        },
    ),
];

/// Iterations of a job that all its ranks have come through.
fn complete(results: &Results, config: &Config, job: usize) -> u32 {
    let job = &config.jobs[job];
    let ended = |number: u32| {
        let own = results.rank_iterations.iter();
        let own = own.filter(|it| it.entry == job.entry && it.iteration == number);
        own.count() == job.hosts.len()
    };
    (0..job.iterations).filter(|number| ended(*number)).count() as u32
}

/// Data packets that have left, those that have come, and those that were lost, are the same number.
fn assert_all_accounted(results: &Results) {
    let totals = &results.totals;
    let lost: u64 = results.losses.iter().map(|it| it.data_packets).sum();
    assert_eq!(totals.dropped_packets, lost);
    assert_eq!(totals.data_packets, totals.delivered_packets + lost);
}

/// Rank 0 sends to rank 1, which is cut off: one of the two gives up. From when the others know, the job sends nothing. The other job
/// takes as long as without the failure.
#[test]
fn a_connection_that_gives_up_ends_its_job() {
    for (what, of, change) in VARIANTS {
        let mut config = two_jobs(of, None);
        change(&mut config);
        records_all(&mut config);
        let results = run(&config);
        assert_all_accounted(&results);
        let [failure] = results.job_failures[..] else {
            panic!("{what}: one job fails: {:?}", results.job_failures);
        };
        assert_eq!(failure.entry, config.jobs[0].entry, "{what}");
        assert!(
            [(0, 1), (1, 2)].contains(&(failure.rank, failure.peer)),
            "{what}"
        );
        let flow = &results.flows[failure.flow as usize];
        assert!(
            flow.gave_up && flow.gave_up_at == Some(failure.at),
            "{what}"
        );
        assert_eq!(flow.timeouts, 3, "{what}: two retries, then the end");
        assert!(
            us(800) < failure.at && failure.at < us(1500),
            "{what}: {failure:?}"
        );
        assert!(complete(&results, &config, 0) < ITERATIONS);
        let stopped = failure.stops;
        assert_eq!(stopped, failure.at + us(100), "{what}");
        let of_job = |flow: u32| results.flows[flow as usize].group == failure.entry;
        let data = |it: &&_| {
            let it: &unpause_sim::results::PacketRecord = it;
            it.kind == PacketKind::Data && it.node == it.src && of_job(it.flow)
        };
        let last = results.packets.iter().filter(data).map(|it| it.time).max();
        assert!(last.is_some_and(|last| last < stopped), "{what}: {last:?}");
        let late = results
            .messages
            .iter()
            .find(|it| it.entry == failure.entry && it.start > stopped);
        assert!(late.is_none(), "{what}: {late:?}");

        let mut alone = config.clone();
        alone.events = Events::default();
        let alone = run(&alone);
        let of_other = |results: &Results| {
            let own = results.rank_iterations.iter();
            own.filter(|it| it.entry == 1).copied().collect::<Vec<_>>()
        };
        assert_eq!(of_other(&results).len(), 2 * ITERATIONS as usize);
        assert_eq!(of_other(&results), of_other(&alone), "{what}");
        let last = results.packets.iter().map(|it| it.time).max();
        assert!(
            last < Some(ms(20)),
            "{what}: nothing is left after {last:?}"
        );
    }
}

/// A link that returns before the retries are used up lets its job go on.
#[test]
fn a_link_that_returns_in_time_lets_its_job_go_on() {
    for (what, of, change) in VARIANTS {
        let mut config = two_jobs(of, Some(us(700)));
        change(&mut config);
        let results = run(&config);
        assert_all_accounted(&results);
        assert_eq!(results.job_failures, [], "{what}");
        assert_eq!(complete(&results, &config, 0), ITERATIONS, "{what}");
        let timeouts: u64 = results.flows.iter().map(|it| it.timeouts).sum();
        assert!(timeouts > 0, "{what}: the failure cost timeouts");
    }
}

/// Without a limit of retries, a job whose link is gone waits forever, and does not fail.
#[test]
fn without_a_retry_count_jobs_wait() {
    let mut config = two_jobs(|job| job, None);
    config.host.retry_count = None;
    let results = run(&config);
    assert_eq!(results.job_failures, []);
    assert!(complete(&results, &config, 0) < ITERATIONS);
    assert_eq!(results.totals.simulated, config.stop);
}

/// All ranks stop at the same time, however nodes are divided among threads and processes.
#[test]
fn failures_are_the_same_on_any_number_of_threads() {
    for (what, of, change) in VARIANTS {
        for back in [None, Some(us(700))] {
            let mut config = two_jobs(of, back);
            change(&mut config);
            assert_threads_do_not_matter(what, &config);
        }
    }
    let steps = two_jobs(|job| job, None);
    assert_ranks_do_not_matter("a job that fails", &steps);
    let mut far = steps;
    // Shards run on their own for as long as the long links take.
    for link in far.fabric.links.iter_mut().skip(8) {
        link.delay = us(150);
    }
    far.host.retransmit_timeout = ms(1);
    assert_threads_do_not_matter("leaves far from each other", &far);
    assert_eq!(run(&far).job_failures.len(), 1);
}

/// Every rank has a connection to a host whose link is down from the start: all of them give up at the same time, and the job stops
/// once, however many shards tell one another.
#[test]
fn connections_that_give_up_at_once_stop_their_job_once() {
    let exchange = |first: Job| Job {
        hosts: first.hosts,
        ..job(6, Operation::AllToAll, Algorithm::Direct, 600)
    };
    let mut config = two_jobs(exchange, None);
    config.host.retry_count = Some(0);
    config.events.links[0].at = ps(1);
    let one = run(&config);
    assert_eq!(one.job_failures.len(), 1);
    for shards in 2..=4 {
        let go_on = &mut |_| ControlFlow::Continue(());
        let several = unpause_sim::run_sequential(&config, shards, go_on);
        assert!(several.expect("it is valid") == one, "{shards} shards");
    }
}
