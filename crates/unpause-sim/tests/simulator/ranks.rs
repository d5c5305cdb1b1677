//! Runs that are distributed over several processes; here their messages go through channels.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use unpause_protocols::congestion_control::{self, hpcc};
use unpause_protocols::congestion_point;
use unpause_sim::config::{Config, DeadlockProbe, SchemeConfig};
use unpause_sim::exchange::Ranks;
use unpause_sim::results::{FlowRecord, PortSample, Results};
use unpause_sim::traffic::{FlowSpec, Transport};
use unpause_sim::{Error, run_ranks, run_sampled};

use crate::common::*;

/// A rank that is a thread of this process: to each and from each.
struct Rank {
    number: usize,
    to: Vec<Sender<Vec<u8>>>,
    from: Vec<Mutex<Receiver<Vec<u8>>>>,
}

impl Ranks for Rank {
    fn rank(&self) -> usize {
        self.number
    }

    fn count(&self) -> usize {
        self.to.len()
    }

    fn exchange(&self, buffers: &mut [Vec<u8>]) {
        for (to, buffer) in self.to.iter().zip(&mut *buffers) {
            to.send(std::mem::take(buffer)).expect("nobody has gone");
        }
        for (from, buffer) in self.from.iter().zip(buffers) {
            *buffer = from.lock().unwrap().recv().expect("nobody has gone");
        }
    }
}

fn ranks(count: usize) -> Vec<Rank> {
    let mut ranks: Vec<Rank> = (0..count)
        .map(|number| Rank {
            number,
            to: Vec::new(),
            from: Vec::new(),
        })
        .collect();
    for from in 0..count {
        for to in 0..count {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(Mutex::new(receiver));
        }
    }
    ranks
}

/// The results of a rank, and the samples that left it early.
type Ended = (Result<Option<Results>, Error>, Vec<PortSample>);

/// The results of each rank.
fn on_ranks(config: &Config, count: usize, threads: usize, stop_at: Option<usize>) -> Vec<Ended> {
    let run = |rank: Rank| {
        let samples = Mutex::new(Vec::new());
        let take = |some| samples.lock().unwrap().extend::<Vec<_>>(some);
        let watch = &mut |_| {
            if stop_at == Some(rank.number) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let results = run_ranks(config, &rank, threads, watch, Some(&take));
        (results, samples.into_inner().unwrap())
    };
    thread::scope(|scope| {
        let threads = ranks(count)
            .into_iter()
            .map(|rank| scope.spawn(move || run(rank)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    })
}

/// Answers the results.
pub fn assert_ranks_do_not_matter(what: &str, config: &Config) -> Results {
    let early = Mutex::new(Vec::new());
    let take = |some| early.lock().unwrap().extend::<Vec<_>>(some);
    let go_on = &mut |_| ControlFlow::Continue(());
    let one = run_sampled(config, 1, go_on, &take).expect("the run is valid");
    let early = early.into_inner().unwrap();
    assert_eq!(early.is_empty(), config.probes.ports.is_empty(), "{what}");
    for (count, threads) in [(1, 1), (2, 1), (4, 1), (2, 2), (3, 3)] {
        let what = format!("{what}: {count} ranks of {threads} threads");
        let mut all = on_ranks(config, count, threads, None).into_iter();
        let (first, samples) = all.next().expect("there is rank 0");
        let first = first.expect("it ran on one").expect("rank 0 has it all");
        assert!(first == one, "{what}");
        assert!(samples == early, "{what}: samples");
        for (other, samples) in all {
            assert_eq!(other, Ok(None), "{what}");
            assert!(samples.is_empty(), "{what}");
        }
    }
    one
}

/// Three switches in a row with two hosts each, and flows between all of them.
fn row(stop_us: u64) -> Config {
    let mut net = Net::default();
    let switches = [0; 3].map(|_| net.switch());
    for pair in switches.windows(2) {
        net.link(pair[0], pair[1], gbps(40), us(1));
    }
    let hosts: Vec<_> = switches
        .iter()
        .flat_map(|&switch| [switch; 2])
        .map(|switch| net.host(switch, gbps(40), us(1)))
        .collect();
    let mut flows = Vec::new();
    for (at, &src) in hosts.iter().enumerate() {
        flows.push(flow(src, hosts[(at + 2) % 6]));
        flows.push(FlowSpec {
            recorded: true,
            start: us(20 * at as u64),
            ..sized(src, hosts[0], 100_000)
        });
    }
    flows.push(FlowSpec {
        transport: Transport::Tcp,
        priority: 5,
        start: us(50),
        ..sized(hosts[1], hosts[4], 200_000)
    });
    flows.retain(|flow| flow.src != flow.dst);
    flows.sort_by_key(|flow| flow.start);
    let mut config = config(net.0, flows, us(stop_us));
    config.probes.interval = us(10);
    config.probes.ports = vec![(0, 0), (1, 0), (2, 1)];
    config.probes.pauses = true;
    config.probes.causes = true;
    config.probes.packets = vec![(1, 0)];
    config.probes.deadlock = Some(DeadlockProbe {
        interval: us(50),
        hold: us(100),
    });
    config
}

#[test]
fn ranks_do_not_change_results() {
    let hpcc = SchemeConfig {
        congestion_point: congestion_point::Config::Telemetry(Default::default()),
        roce: congestion_control::Config::Hpcc(hpcc::Params::default()),
        ..SchemeConfig::default()
    };
    let pint = SchemeConfig {
        congestion_point: congestion_point::Config::Pint(Default::default()),
        roce: congestion_control::Config::Pint(Default::default()),
        ..SchemeConfig::default()
    };
    let told = [("HPCC", hpcc), ("PINT", pint)];
    for (name, scheme) in schemes().into_iter().chain(told) {
        let mut config = row(400);
        config.scheme = scheme;
        let results = assert_ranks_do_not_matter(name, &config);
        assert!(!results.packets.is_empty() && !results.flow_series.is_empty());
        let sent = |flow: &FlowRecord| flow.transport == Transport::Tcp && flow.delivered_bytes > 0;
        assert!(results.flows.iter().any(sent), "{name}");
    }
}

/// Rank 0, or another.
#[test]
fn a_watcher_ends_a_run_on_all_ranks() {
    let config = row(2_000);
    for (stop_at, threads) in [(0, 1), (1, 1), (0, 2), (2, 2)] {
        for (ended, _) in on_ranks(&config, 3, threads, Some(stop_at)) {
            assert_eq!(ended, Err(Error::Interrupted));
        }
    }
}

#[test]
fn what_cannot_be_run_all_ranks_say() {
    let mut config = row(400);
    config.fabric.links.remove(0);
    for (ended, _) in on_ranks(&config, 2, 2, None) {
        assert!(matches!(ended, Err(Error::Invalid(_))), "{ended:?}");
    }
}
