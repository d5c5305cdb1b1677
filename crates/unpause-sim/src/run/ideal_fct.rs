//! Ideal completion times of flows and messages, each alone on its path.

use unpause_protocols::units::{LinkSpeed, Time};

use crate::engine::log::FlowEnd;
use crate::host::flow::layout::Layout;
use crate::jobs::ideal::Alone;
use crate::outcome::ideal::{self, Frames};
use crate::plan::Plan;
use crate::routing::Direction;
use crate::traffic::Transport;

/// Ideal FCT of flows; the paths of the flow before are kept, as bursts repeat it.
#[derive(Default)]
pub struct IdealFct {
    of: Option<Direction>,
    paths: Paths,
    /// NICs by which its packets leave.
    nics: u64,
    /// From the receiver to the sender, when they are needed.
    back: Option<Paths>,
}

/// Those of which it could take any: more than one where flows go by a third group.
type Paths = Vec<Vec<(LinkSpeed, Time)>>;

/// How long frames take on the fastest of these paths.
fn fastest(
    paths: &Paths,
    frames: Frames,
    early: impl Fn(u64, LinkSpeed, LinkSpeed) -> Time,
) -> Option<Time> {
    let takes = |path: &Vec<(LinkSpeed, Time)>| ideal::fct(path, frames, &early);
    paths.iter().map(takes).min()
}

impl IdealFct {
    /// How long one frame of `wire_bytes` of the flow takes; `None` if its path is not known.
    pub fn of_frame(&mut self, flow: &FlowEnd, wire_bytes: u64, plan: &Plan<'_>) -> Option<Time> {
        self.turn_to(flow, plan);
        let framing = plan.ports.framing_bytes;
        let early = |bytes, came, goes| plan.early(bytes - framing, came, goes);
        fastest(&self.paths, Frames::one(wire_bytes), early)
    }

    /// Finds the paths of the flow, unless they are those of the flow before; answers its way.
    fn turn_to(&mut self, flow: &FlowEnd, plan: &Plan<'_>) -> Direction {
        let there = way_of(flow, plan);
        if self.of != Some(there) {
            plan.paths(&there, &mut self.paths);
            self.nics = plan.nics_of(&there);
            self.back = None;
            self.of = Some(there);
        }
        there
    }

    /// How long it takes; `None` if its path is not known, or it has no size.
    pub fn of(&mut self, flow: &FlowEnd, plan: &Plan<'_>) -> Option<Time> {
        let there = self.turn_to(flow, plan);
        let size = flow.size_bytes?;
        let framing = plan.ports.framing_bytes;
        let early = |bytes, came, goes| plan.early(bytes - framing, came, goes);
        if flow.transport != Transport::Tcp {
            let frames = Layout::of(flow.size_bytes, plan).frames(framing);
            let frames = match flow.transport {
                Transport::Roce => frames.share_of(self.nics),
                _ => frames,
            };
            return Some(fastest(&self.paths, frames, early)? + flow.extra_delay);
        }
        if !flow.opened {
            let data = fastest(&self.paths, plan.tcp.frames(size, framing), early)?;
            return Some(data + flow.extra_delay);
        }
        if self.back.is_none() {
            let back = Direction {
                src: flow.dst,
                dst: flow.src,
                is_feedback: true,
                ..there
            };
            plan.paths(&back, self.back.insert(Paths::new()));
        }
        let control = Frames::one(u64::from(plan.tcp.control_bytes) + framing);
        let handshake =
            fastest(&self.paths, control, early)? + fastest(self.back.as_ref()?, control, early)?;
        Some(match size {
            // The handshake's ACK ends it, which is not delayed.
            0 => handshake + fastest(&self.paths, control, early)?,
            _ => {
                let data = fastest(&self.paths, plan.tcp.frames(size, framing), early)?;
                handshake + data + flow.extra_delay
            }
        })
    }
}

/// The way of its data.
fn way_of(flow: &FlowEnd, plan: &Plan<'_>) -> Direction {
    Direction {
        src: flow.src,
        dst: flow.dst,
        source_port: flow.source_port,
        flow: plan.routing.tells_flows_apart().then_some(flow.id),
        is_feedback: false,
    }
}

/// A message over a RoCE connection that is alone; `None` if its path is not known.
pub fn alone(
    ideal: &mut IdealFct,
    connection: &FlowEnd,
    bytes: u64,
    plan: &Plan<'_>,
) -> Option<Alone> {
    let message = FlowEnd {
        size_bytes: Some(bytes),
        ..*connection
    };
    let takes = ideal.of(&message, plan)?;
    let there = way_of(&message, plan);
    let back = Direction {
        src: message.dst,
        dst: message.src,
        is_feedback: true,
        ..there
    };
    let frames = Layout::of(Some(bytes), plan).frames(plan.ports.framing_bytes);
    let (speed, _) = *ideal.paths.first()?.first()?;
    let frames = frames.share_of(ideal.nics);
    let all = frames.full * frames.full_bytes + frames.last_bytes;
    Some(Alone {
        nic: plan.routing.nic(&there)?,
        leaves: speed.time_for(all),
        takes,
        told: Time::ZERO,
        ack: plan.ack_time(&back),
    })
}
