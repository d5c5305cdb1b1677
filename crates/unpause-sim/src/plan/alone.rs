//! How long it takes what is alone in the fabric.

use unpause_protocols::units::{LinkSpeed, Time};

use super::Plan;
use crate::outcome::ideal::{self, Frames};
use crate::routing::Direction;

impl Plan<'_> {
    /// The links of a path; what a switch adds to the time of a packet counts as delay of the link before it.
    pub fn path(&self, way: &Direction) -> Option<Vec<(LinkSpeed, Time)>> {
        let mut path = self.routing.path(&self.ports, way)?;
        if let Some((_, to_switches)) = path.split_last_mut() {
            for (_, delay) in to_switches {
                *delay += self.switch_latency();
            }
        }
        Some(path)
    }

    /// How long an ACK takes over this path, from when its first bit leaves.
    pub fn ack_time(&self, way: &Direction) -> Time {
        let framing = self.ports.framing_bytes;
        let frames = Frames::one(u64::from(self.config.host.ack_bytes) + framing);
        let early = |bytes, came, goes| self.early(bytes - framing, came, goes);
        let path = self.path(way);
        path.map_or(Time::ZERO, |path| ideal::fct(&path, frames, early))
    }
}
