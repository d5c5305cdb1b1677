//! The demand of flows on the links of their paths, against the capacity of the links.

use std::collections::BTreeSet;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{Config, NodeId};
use unpause_sim::traffic::{ExtraDelay, FlowSpec, Transport};

use super::paths::{Paths, Way};

/// Flows that ask for the links, until some time.
pub(super) struct Asked<'a> {
    /// Those that were read.
    pub flows: &'a [FlowSpec],
    /// How many flows each of them stands for.
    pub weight: f64,
    /// Whatever moves later is not counted.
    pub until: Time,
    /// The part of the links' rates that the run was seen to use: 1 where nothing is known.
    pub pace: f64,
}

/// What flows send, and what is held for them at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// Packets times links of all of them.
    pub hops: f64,
    /// Flows at work at the same time, at most.
    pub live: f64,
    /// Packets of those on wires and in queues.
    pub in_flight: f64,
}

/// The packets of all the flows.
pub(super) fn sent(config: &Config, asked: &Asked<'_>, steps: usize) -> Sent {
    let flows = asked.flows;
    let mut paths = Paths::new(&config.fabric, steps);
    let mut known = (0.0, 0.0);
    let ways: Vec<Option<Vec<Way>>> = flows
        .iter()
        .zip(0..)
        .map(|(flow, number)| paths.ways(flow.src, flow.dst, number))
        .inspect(|ways| {
            if let Some(ways) = ways {
                known = (known.0 + ways.len() as f64, known.1 + 1.0);
            }
        })
        .collect();
    let mean = known.0 / f64::max(known.1, 1.0);
    let demand = Demand::of(config, asked, &ways);
    let of_flow = |(flow, ways): (&FlowSpec, &Option<Vec<Way>>)| {
        let acks = acks(config, flow);
        let bytes = match ways {
            Some(ways) => {
                let (there, back) = demand.carried(flow, ways);
                there + acks * back
            }
            None => demand.most(flow, &[], 0.0).unwrap_or(0.0) * mean * (1.0 + acks),
        };
        bytes * packets_per_byte(config, flow)
    };
    let hops = asked.weight * flows.iter().zip(&ways).map(of_flow).sum::<f64>();
    Sent {
        hops,
        ..demand.held(asked, &ways)
    }
}

/// Acknowledgements for each data packet.
fn acks(config: &Config, flow: &FlowSpec) -> f64 {
    match flow.transport {
        Transport::Roce => 1.0 / f64::from(config.host.ack_every.max(1)),
        Transport::Tcp => {
            let delayed = config.host.tcp.delayed_ack;
            1.0 / f64::from(delayed.map_or(1, |acks| acks.every).max(1))
        }
        Transport::Udp => 0.0,
    }
}

/// Data packets for each byte of payload.
fn packets_per_byte(config: &Config, flow: &FlowSpec) -> f64 {
    let whole = f64::from(payload(config, flow));
    // A flow's last packet is rarely full.
    let partial = flow.size_bytes.map_or(1.0, |size| {
        let size = (size as f64).max(1.0);
        (size / whole).ceil() * whole / size
    });
    partial / whole
}

/// Payload of a full packet.
fn payload(config: &Config, flow: &FlowSpec) -> u32 {
    match flow.transport {
        Transport::Roce | Transport::Udp => config.host.payload_bytes,
        Transport::Tcp => config.host.tcp.recovery.mss,
    }
}

/// Share of a link that is payload.
fn goodput(config: &Config, flow: &FlowSpec) -> f64 {
    let payload = f64::from(payload(config, flow));
    payload / (payload + f64::from(config.host.header_bytes + config.fabric.framing_bytes))
}

/// The demand of flows on each direction of each link.
struct Demand<'a> {
    config: &'a Config,
    until: Time,
    pace: f64,
    seconds: f64,
    /// Bytes of flows that ask for this many.
    asked: Vec<f64>,
    /// Number of flows that take what they get.
    greedy: Vec<f64>,
}

impl<'a> Demand<'a> {
    fn of(config: &'a Config, asked: &Asked<'_>, ways: &[Option<Vec<Way>>]) -> Self {
        let until = asked.until;
        let first = asked.flows.iter().map(|flow| flow.start).min();
        let mut demand = Self {
            config,
            until,
            pace: asked.pace,
            seconds: seconds(until.saturating_sub(first.unwrap_or_default())).max(1e-12),
            asked: vec![0.0; 2 * config.fabric.links.len()],
            greedy: vec![0.0; 2 * config.fabric.links.len()],
        };
        for (flow, ways) in asked.flows.iter().zip(ways) {
            let Some(ways) = ways else { continue };
            for link in along(config, flow, ways) {
                match demand.most(flow, ways, link.there) {
                    Some(bytes) => demand.asked[link.way as usize] += asked.weight * bytes,
                    None => {
                        let share = crossing(flow, until, link.there) / demand.seconds;
                        demand.greedy[link.way as usize] += asked.weight * share;
                    }
                }
            }
        }
        demand
    }

    /// Bytes of payload of a flow that cross the links of its path, all links together; and those whose acknowledgements do.
    fn carried(&self, flow: &FlowSpec, ways: &[Way]) -> (f64, f64) {
        let goodput = goodput(self.config, flow);
        let whole = |way: &Way| self.rate(*way) * self.seconds * goodput;
        let share = |way: &Way| whole(way) / self.asked[*way as usize].max(1.0);
        let left = |way: &Way| {
            let left = whole(way) - self.asked[*way as usize];
            left.max(0.0) / self.greedy[*way as usize].max(1.0)
        };
        let (share, left) = (
            ways.iter().map(share).fold(1.0, f64::min),
            ways.iter().map(left).fold(f64::INFINITY, f64::min),
        );
        let crosses = |after| match self.most(flow, ways, after) {
            Some(bytes) => bytes * share,
            None => left * crossing(flow, self.until, after) / self.seconds,
        };
        let links = along(self.config, flow, ways);
        let sum = |after: fn(&Link) -> f64| links.iter().map(|link| crosses(after(link))).sum();
        (sum(|link| link.there), sum(|link| link.back))
    }

    /// Bytes a second of a way that are used.
    fn rate(&self, way: Way) -> f64 {
        let link = &self.config.fabric.links[(way / 2) as usize];
        link.rate.as_bps() as f64 / 8.0 * self.pace
    }

    /// The most that a flow alone gets across a link that is so many seconds away from the sender; none if only links limit it.
    fn most(&self, flow: &FlowSpec, ways: &[Way], before: f64) -> Option<f64> {
        let config = self.config;
        let time = crossing(flow, self.until, before);
        let rates = [flow.rate_limit, flow.offered].into_iter().flatten();
        let limit = rates.min().map(|rate: Rate| rate.as_bps() as f64 / 8.0);
        let Some(size) = flow.size_bytes.map(|size| size as f64) else {
            return limit.map(|limit| limit * time);
        };
        let line = self.line(ways).min(limit.unwrap_or(f64::INFINITY)) * goodput(config, flow);
        let rtt = rtt(config, flow, ways);
        let in_time = match flow.transport {
            Transport::Roce | Transport::Udp => line * time,
            Transport::Tcp => {
                // Its window doubles every RTT until it fills the link.
                let window = config.host.tcp.recovery.initial_window * payload(config, flow);
                let window = f64::from(window);
                let rounds = (time / rtt.max(1e-9)).min(60.0);
                (window * (rounds.exp2() - 1.0) + window).min(line * time)
            }
        };
        Some(size.min(in_time))
    }

    /// Bytes a second of the slowest way.
    fn line(&self, ways: &[Way]) -> f64 {
        let rates = ways.iter().map(|way| self.rate(*way));
        rates.fold(f64::INFINITY, f64::min)
    }

    /// The most flows that are at work at once, and their packets, if each gets its share of the links.
    fn held(&self, asked: &Asked<'_>, ways: &[Option<Vec<Way>>]) -> Sent {
        let mut changes: Vec<(f64, f64, f64)> = Vec::with_capacity(2 * ways.len());
        for (flow, ways) in asked.flows.iter().zip(ways) {
            let ways = ways.as_deref().unwrap_or_default();
            let line = self.line(ways);
            let round = rtt(self.config, flow, ways);
            let size = flow.size_bytes.map_or(f64::INFINITY, |size| size as f64);
            let share = |way: &Way| {
                line * self.seconds / self.asked[*way as usize].max(line * self.seconds)
            };
            let share = ways.iter().map(share).fold(1.0, f64::min);
            // A round trip is on the wires, and half as much in queues.
            let bytes = size.min(1.5 * line * round);
            let packets = if ways.is_empty() {
                1.0
            } else {
                bytes / f64::from(payload(self.config, flow))
            };
            let start = seconds(flow.start);
            changes.push((start, 1.0, packets));
            changes.push((start + size / (line * share) + round, -1.0, -packets));
        }
        changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
        // A host has no more on its way than one flow of its own that has its links alone.
        let senders: BTreeSet<NodeId> = asked.flows.iter().map(|flow| flow.src).collect();
        let largest = changes.iter().map(|(_, _, packets)| *packets);
        let at_most = largest.fold(0.0, f64::max) * senders.len() as f64;
        let (mut now, mut most) = (Sent::default(), Sent::default());
        for (_, flows, packets) in changes {
            now.live += flows;
            now.in_flight += packets;
            most.live = most.live.max(now.live);
            most.in_flight = most.in_flight.max(now.in_flight);
        }
        // Those that were not read are at work, too, if all begin at once; else later.
        let starts = asked.flows.iter().map(|flow| flow.start);
        let at_once = starts.clone().min() == starts.max();
        let weight = if at_once { asked.weight } else { 1.0 };
        Sent {
            live: most.live * weight,
            in_flight: (most.in_flight * weight).min(at_most),
            hops: 0.0,
        }
    }
}

/// A link of a path. What has not come there by the end of a run has not crossed it.
struct Link {
    way: Way,
    /// Seconds that packets take from the sender to it, without queues.
    there: f64,
    /// Until their acknowledgements are at it.
    back: f64,
}

/// The links of a path in order.
fn along(config: &Config, flow: &FlowSpec, ways: &[Way]) -> Vec<Link> {
    // Behind the first way they come from the end.
    let (first, rest) = ways.split_at(ways.len().min(1));
    let whole = rtt(config, flow, ways);
    let mut there = 0.0;
    let mut path = Vec::with_capacity(ways.len());
    for way in first.iter().chain(rest.iter().rev()) {
        if path.len() == 1 {
            there += extra_delay(config, flow) / 2.0;
        }
        let delay = seconds(config.fabric.links[(way / 2) as usize].delay);
        path.push(Link {
            way: *way,
            there,
            back: whole - there - delay,
        });
        there += delay;
    }
    path
}

fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

/// Seconds that a flow may send until then.
pub(super) fn active(flow: &FlowSpec, until: Time) -> f64 {
    seconds(flow.stop.min(until).saturating_sub(flow.start))
}

/// Seconds in which what a flow sends until then crosses a link that is so many seconds away from the sender.
fn crossing(flow: &FlowSpec, until: Time, before: f64) -> f64 {
    let end = seconds(flow.stop).min(seconds(until) - before);
    (end - seconds(flow.start)).max(0.0)
}

/// Round-trip time of a flow without queues, in seconds.
fn rtt(config: &Config, flow: &FlowSpec, ways: &[Way]) -> f64 {
    let links = ways
        .iter()
        .map(|way| &config.fabric.links[(way / 2) as usize]);
    let there: f64 = links.map(|link| seconds(link.delay)).sum();
    2.0 * there + extra_delay(config, flow)
}

/// What hosts add to the RTT of a flow, in seconds.
fn extra_delay(config: &Config, flow: &FlowSpec) -> f64 {
    match flow.extra_delay {
        ExtraDelay::Fixed(time) => seconds(time),
        // The middle, about.
        ExtraDelay::Drawn(which) => {
            let delays = config.host.extra_delays.get(usize::from(which));
            delays.map_or(0.0, |delays| seconds(delays.longest()) / 2.0)
        }
    }
}
