//! Ideal completion times of flows and messages, each alone on its path.

use unpause_protocols::units::{LinkSpeed, Time};

use crate::engine::log::FlowEnd;
use crate::host::layout::Layout;
use crate::jobs::ideal::Alone;
use crate::outcome::ideal::{self, Frames};
use crate::plan::Plan;
use crate::routing::Direction;
use crate::traffic::Transport;

/// Ideal FCT of flows; the path of the flow before is kept, as bursts repeat it.
#[derive(Default)]
pub struct IdealFct {
    of: Option<Direction>,
    path: Vec<(LinkSpeed, Time)>,
    /// From the receiver to the sender, when it is needed.
    back: Option<Vec<(LinkSpeed, Time)>>,
}

impl IdealFct {
    /// How long it takes; `None` if its path is not known, or it has no size.
    pub fn of(&mut self, flow: &FlowEnd, plan: &Plan<'_>) -> Option<Time> {
        let there = way_of(flow, plan);
        if self.of != Some(there) {
            self.path = plan.path(&there)?;
            self.back = None;
            self.of = Some(there);
        }
        let size = flow.size_bytes?;
        let framing = plan.ports.framing_bytes;
        let early = |bytes, came, goes| plan.early(bytes - framing, came, goes);
        if flow.transport != Transport::Tcp {
            let frames = Layout::of(flow.size_bytes, plan).frames(framing);
            return Some(ideal::fct(&self.path, frames, early) + flow.extra_delay);
        }
        if !flow.opened {
            let data = ideal::fct(&self.path, plan.tcp.frames(size, framing), early);
            return Some(data + flow.extra_delay);
        }
        if self.back.is_none() {
            let back = Direction {
                src: flow.dst,
                dst: flow.src,
                is_feedback: true,
                ..there
            };
            self.back = plan.path(&back);
        }
        let control = Frames::one(u64::from(plan.tcp.control_bytes) + framing);
        let handshake = ideal::fct(&self.path, control, early)
            + ideal::fct(self.back.as_ref()?, control, early);
        Some(match size {
            // The handshake's ACK ends it, which is not delayed.
            0 => handshake + ideal::fct(&self.path, control, early),
            _ => {
                let data = ideal::fct(&self.path, plan.tcp.frames(size, framing), early);
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
    let (speed, _) = *ideal.path.first()?;
    let all = frames.full * frames.full_bytes + frames.last_bytes;
    Some(Alone {
        nic: plan.routing.nic(&there)?,
        leaves: speed.time_for(all),
        takes,
        told: Time::ZERO,
        ack: plan.ack_time(&back),
    })
}
