//! How long it takes what is alone in the fabric.

use unpause_protocols::units::{LinkSpeed, Time};

use super::Plan;
use crate::outcome::ideal::{self, Frames};
use crate::routing::Direction;

impl Plan<'_> {
    /// The links of the path of a flow; what a switch adds to the time of a packet counts as delay of the link before it.
    pub fn path(&self, way: &Direction) -> Option<Vec<(LinkSpeed, Time)>> {
        self.path_by(way, self.routing.group_between(way))
    }

    /// Puts the same of every path on which a flow that is alone could be fastest `into` a list: of the shortest, and of those by a
    /// third group that its packets may go by. Where links fail, that can be any.
    pub fn paths(&self, way: &Direction, into: &mut Vec<Vec<(LinkSpeed, Time)>>) {
        into.clear();
        into.extend(self.path_by(way, None));
        if !self.routing.goes_by_groups() {
            return;
        }
        let groups = if self.sprays() || !self.epochs.is_empty() {
            self.routing.groups_between(way.src, way.dst)
        } else {
            Vec::from_iter(self.routing.group_between(way))
        };
        let by_groups = groups.into_iter().map(Some);
        into.extend(by_groups.filter_map(|group| self.path_by(way, group)));
    }

    fn path_by(&self, way: &Direction, between: Option<u32>) -> Option<Vec<(LinkSpeed, Time)>> {
        let mut path = match between {
            None => self.routing.path(&self.ports, way)?,
            Some(_) => self.routing.path_by(&self.ports, way, between)?,
        };
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
