//! The demand of flows on the links of their paths, against the capacity of the links.

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::Config;
use unpause_sim::traffic::{ExtraDelay, FlowSpec, Transport};

use super::paths::{Paths, Way};

/// Packets times links of `flows`, all that start until `until`.
pub(super) fn hops(config: &Config, flows: &[FlowSpec], until: Time, steps: usize) -> f64 {
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
    let demand = Demand::of(config, flows, &ways, until);
    let of_flow = |(flow, ways): (&FlowSpec, &Option<Vec<Way>>)| {
        let links = ways.as_ref().map_or(mean, |ways| ways.len() as f64);
        let bytes = match ways {
            Some(ways) => demand.delivered(flow, ways),
            None => most(config, flow, &[], until).unwrap_or(0.0),
        };
        bytes * links * packets_per_byte(config, flow)
    };
    flows.iter().zip(&ways).map(of_flow).sum()
}

/// Data packets and their acknowledgements for each byte of payload.
fn packets_per_byte(config: &Config, flow: &FlowSpec) -> f64 {
    let acks = match flow.transport {
        Transport::Roce => 1.0 / f64::from(config.host.ack_every.max(1)),
        Transport::Tcp => {
            let delayed = config.host.tcp.delayed_ack;
            1.0 / f64::from(delayed.map_or(1, |acks| acks.every).max(1))
        }
        Transport::Udp => 0.0,
    };
    let whole = f64::from(payload(config, flow));
    // A flow's last packet is rarely full.
    let partial = flow.size_bytes.map_or(1.0, |size| {
        let size = (size as f64).max(1.0);
        (size / whole).ceil() * whole / size
    });
    partial * (1.0 + acks) / whole
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
    seconds: f64,
    /// Bytes of flows that ask for this many.
    asked: Vec<f64>,
    /// Number of flows that take what they get.
    greedy: Vec<f64>,
}

impl<'a> Demand<'a> {
    fn of(config: &'a Config, flows: &[FlowSpec], ways: &[Option<Vec<Way>>], until: Time) -> Self {
        let first = flows.iter().map(|flow| flow.start).min();
        let mut demand = Self {
            config,
            until,
            seconds: seconds(until.saturating_sub(first.unwrap_or_default())).max(1e-12),
            asked: vec![0.0; 2 * config.fabric.links.len()],
            greedy: vec![0.0; 2 * config.fabric.links.len()],
        };
        for (flow, ways) in flows.iter().zip(ways) {
            let Some(ways) = ways else { continue };
            let bytes = most(config, flow, ways, until);
            for way in ways {
                match bytes {
                    Some(bytes) => demand.asked[*way as usize] += bytes,
                    None => demand.greedy[*way as usize] += active(flow, until) / demand.seconds,
                }
            }
        }
        demand
    }

    /// Bytes of payload that a flow gets across.
    fn delivered(&self, flow: &FlowSpec, ways: &[Way]) -> f64 {
        let goodput = goodput(self.config, flow);
        let carried = |way: &Way| rate(self.config, *way) * self.seconds * goodput;
        match most(self.config, flow, ways, self.until) {
            Some(bytes) => {
                let share = |way: &Way| carried(way) / self.asked[*way as usize].max(1.0);
                bytes * ways.iter().map(share).fold(1.0, f64::min)
            }
            None => {
                let left = |way: &Way| {
                    let left = carried(way) - self.asked[*way as usize];
                    left.max(0.0) / self.greedy[*way as usize].max(1.0)
                };
                let left = ways.iter().map(left).fold(f64::INFINITY, f64::min);
                left * active(flow, self.until) / self.seconds
            }
        }
    }
}

/// Bytes a second of a way.
fn rate(config: &Config, way: Way) -> f64 {
    let link = &config.fabric.links[(way / 2) as usize];
    link.rate.as_bps() as f64 / 8.0
}

fn seconds(time: Time) -> f64 {
    time.as_secs_f64()
}

/// Seconds that a flow may send until then.
pub(super) fn active(flow: &FlowSpec, until: Time) -> f64 {
    seconds(flow.stop.min(until).saturating_sub(flow.start))
}

/// The most that a flow alone gets across; none if only links limit it.
fn most(config: &Config, flow: &FlowSpec, ways: &[Way], until: Time) -> Option<f64> {
    let rates = [flow.rate_limit, flow.offered].into_iter().flatten();
    let limit = rates.min().map(|rate: Rate| rate.as_bps() as f64 / 8.0);
    let Some(size) = flow.size_bytes.map(|size| size as f64) else {
        return limit.map(|limit| limit * active(flow, until));
    };
    let line = ways
        .iter()
        .map(|way| rate(config, *way))
        .fold(f64::INFINITY, f64::min);
    let line = line.min(limit.unwrap_or(f64::INFINITY)) * goodput(config, flow);
    let rtt = rtt(config, flow, ways);
    let time = (active(flow, until) - rtt / 2.0).max(0.0);
    let in_time = match flow.transport {
        Transport::Roce | Transport::Udp => line * time,
        Transport::Tcp => {
            // Its window doubles every RTT until it fills the link.
            let window = f64::from(config.host.tcp.recovery.initial_window * payload(config, flow));
            let rounds = (time / rtt.max(1e-9)).min(60.0);
            (window * (rounds.exp2() - 1.0) + window).min(line * time)
        }
    };
    Some(size.min(in_time))
}

/// Round-trip time of a flow without queues, in seconds.
fn rtt(config: &Config, flow: &FlowSpec, ways: &[Way]) -> f64 {
    let links = ways
        .iter()
        .map(|way| &config.fabric.links[(way / 2) as usize]);
    let there: f64 = links.map(|link| seconds(link.delay)).sum();
    let extra = match flow.extra_delay {
        ExtraDelay::Fixed(time) => seconds(time),
        // The middle, about.
        ExtraDelay::Drawn(which) => {
            let delays = config.host.extra_delays.get(usize::from(which));
            delays.map_or(0.0, |delays| seconds(delays.longest()) / 2.0)
        }
    };
    2.0 * there + extra
}
