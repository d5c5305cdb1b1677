//! Runs whose shards exchange batches in another way than between threads.

use std::ops::ControlFlow;

use unpause_sim::config::Config;
use unpause_sim::exchange::{Batch, Exchange, Sequential, Status};
use unpause_sim::results::Results;
use unpause_sim::{Error, run_over};

use crate::common::*;

/// Three hosts at a switch; two of them send 200 KB to the third.
fn incast() -> Config {
    let mut net = Net::default();
    let switch = net.switch();
    let hosts = [0; 3].map(|_| net.host(switch, gbps(40), us(1)));
    let flows = vec![
        sized(hosts[1], hosts[0], 200_000),
        sized(hosts[2], hosts[0], 200_000),
    ];
    let mut config = config(net.0, flows, us(2_000));
    config.scheme = pcn();
    config.host.retransmit_timeout = us(100);
    config
}

/// Every node in a shard of its own.
fn each_node(config: &Config, exchange: &mut impl Exchange) -> Result<Results, Error> {
    let shards: Vec<u16> = (0..config.fabric.nodes.len() as u16).collect();
    run_over(
        config,
        &shards,
        exchange,
        &mut |_| ControlFlow::Continue(()),
    )
}

/// Faults in the exchange of batches.
enum Fault {
    /// One data packet in this many is lost.
    Loses(u64),
    /// It fails at this meeting.
    Fails(u64),
}

struct Faulty {
    inner: Sequential,
    fault: Fault,
    meetings: u64,
    seen: u64,
    lost: u64,
}

impl Faulty {
    fn new(config: &Config, fault: Fault) -> Self {
        Self {
            inner: Sequential::new(config.fabric.nodes.len()),
            fault,
            meetings: 0,
            seen: 0,
            lost: 0,
        }
    }
}

impl Exchange for Faulty {
    fn send(&mut self, shard: usize, status: Status, outboxes: &mut [Batch]) {
        if let Fault::Loses(one_in) = self.fault {
            for batch in &mut *outboxes {
                batch.packets.retain(|(_, packet)| {
                    self.seen += u64::from(packet.kind.is_data());
                    let lost = packet.kind.is_data() && self.seen.is_multiple_of(one_in);
                    self.lost += u64::from(lost);
                    !lost
                });
            }
        }
        self.inner.send(shard, status, outboxes);
    }

    fn synchronize(&mut self) -> Result<Status, Error> {
        self.meetings += 1;
        match self.fault {
            Fault::Fails(at) if at == self.meetings => Err(Error::Exchange("cut".into())),
            _ => self.inner.synchronize(),
        }
    }

    fn deliver(&mut self, shard: usize, take: impl FnMut(&mut Batch)) {
        self.inner.deliver(shard, take);
    }

    fn interrupt(&mut self) {
        self.inner.interrupt();
    }

    fn lost_data_packets(&self) -> u64 {
        self.lost
    }
}

#[test]
fn a_shard_for_each_node_has_the_same_results() {
    let config = incast();
    let mut exchange = Sequential::new(config.fabric.nodes.len());
    assert!(each_node(&config, &mut exchange).expect("the run is valid") == run(&config));
}

#[test]
fn packets_lost_between_shards_are_sent_again() {
    let config = incast();
    let mut exchange = Faulty::new(&config, Fault::Loses(100));
    let results = each_node(&config, &mut exchange).expect("the run is valid");
    assert!(exchange.lost > 0);
    let again: u64 = results
        .flows
        .iter()
        .map(|it| it.retransmitted_packets)
        .sum();
    assert!(again >= exchange.lost, "{again} of {}", exchange.lost);
    assert!(results.flows.iter().all(|flow| flow.fct.is_some()));
}

#[test]
fn a_batch_that_cannot_be_carried_ends_the_run() {
    let config = incast();
    let ended = each_node(&config, &mut Faulty::new(&config, Fault::Fails(10)));
    assert_eq!(ended, Err(Error::Exchange("cut".into())));
}
