//! The window that a host gives its flows, whatever their law.

use unpause_protocols::congestion_control::{self, Path, Settings as _};
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use crate::fabric::NodeId;
use crate::plan::Plan;
use crate::routing::Direction;
use crate::traffic::FlowSpec;

/// The window of a flow.
#[derive(Clone, Copy, Debug)]
pub struct HostWindow {
    bytes: u64,
    payload_bytes: u64,
    /// Of the sender's link, if the window shrinks with the flow's rate.
    line_rate: Option<Rate>,
    /// Of its path, if that is known.
    rtt: Option<Time>,
}

impl HostWindow {
    /// That of a flow from a link of rate `line`, if hosts have windows.
    pub fn new(spec: &FlowSpec, line: Rate, plan: &Plan<'_>) -> Option<Self> {
        let config = plan.config.host.window?;
        let is_asked = config.bytes.is_none() || plan.config.probes.causes;
        let path = is_asked.then(|| PathOf::flow(spec, plan)).flatten();
        let of_path = || path.map(|path| path.window_bytes());
        Some(Self {
            bytes: config.bytes.or_else(of_path)?,
            payload_bytes: u64::from(plan.config.host.payload_bytes),
            line_rate: config.by_rate.then_some(line),
            rtt: path.map(|path| path.rtt),
        })
    }

    /// The rate of a flow that sends one window of packets of `packet_bytes` in each round trip of an empty path.
    pub fn rate(&self, rate: Rate, packet_bytes: u64) -> Option<Rate> {
        let rtt = self.rtt.filter(|rtt| *rtt > Time::ZERO)?;
        let bits = u128::from(8 * self.packets(rate, 0) * packet_bytes);
        let bps = bits * 1_000_000_000_000 / u128::from(rtt.as_ps());
        Some(Rate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX)))
    }

    /// Packets that may be in flight at `rate`: while less payload than the window is, another one goes. Those in flight lack
    /// `short_bytes` of full ones.
    pub fn packets(&self, rate: Rate, short_bytes: u64) -> u64 {
        let bytes = match self.line_rate {
            None => self.bytes,
            Some(line) => {
                let scaled = u128::from(self.bytes) * u128::from(rate.as_bps());
                (scaled / u128::from(line.as_bps().max(1))) as u64
            }
        };
        (bytes.max(1).saturating_add(short_bytes)).div_ceil(self.payload_bytes)
    }
}

/// A path as HPCC's simulator knows it before a flow starts.
#[derive(Clone, Copy, Debug)]
pub struct PathOf {
    /// Of the longest path that packets may take: propagation there and back, and the payload of a full packet over every link, each in whole
    /// nanoseconds.
    pub rtt: Time,
    /// Of its slowest link.
    pub rate: Rate,
}

impl PathOf {
    /// The way of a flow; `None` if there is none.
    pub fn flow(spec: &FlowSpec, plan: &Plan<'_>) -> Option<Self> {
        Self::between(spec.src, spec.dst, spec.source_port, plan)
    }

    /// The way of a flow of this source port; `None` if there is none.
    pub fn between(src: NodeId, dst: NodeId, source_port: u16, plan: &Plan<'_>) -> Option<Self> {
        let way = Direction {
            src,
            dst,
            source_port,
            flow: None,
            is_feedback: false,
        };
        let path = plan.routing.longest_path(&plan.ports, &way)?;
        let payload = u64::from(plan.config.host.payload_bytes);
        let mut rtt = 0;
        let mut slowest = LinkSpeed::MAX;
        for (speed, delay) in path {
            rtt += 2 * (delay.as_ps() / 1000) + speed.rate().whole_ns_for(payload);
            slowest = slowest.min(speed.rate());
        }
        Some(Self {
            rtt: Time::from_ns(rtt),
            rate: slowest,
        })
    }

    /// Bytes that its slowest link carries in a round trip.
    pub fn window_bytes(&self) -> u64 {
        self.rate.bytes_in(self.rtt)
    }
}

/// The path of a flow as its law knows it.
pub fn path_of(
    law: &congestion_control::Config,
    spec: &FlowSpec,
    line_rate: Rate,
    packet_bytes: u32,
    plan: &Plan<'_>,
) -> Path {
    let mut path = Path::new(line_rate, packet_bytes);
    path.payload_bytes = plan.config.host.payload_bytes;
    path.trims = plan.config.switch.trimming.is_some();
    if law.reads_path()
        && let Some(way) = PathOf::flow(spec, plan)
    {
        path.base_rtt = way.rtt;
        path.bandwidth_delay = way.window_bytes();
    }
    path
}
