//! Which flows there are, as connection set-up would tell the ends of each.

use std::iter::Peekable;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId};
use unpause_sim::followers::{self, Followers};
use unpause_sim::traffic::{FlowSpec, Traffic, Transport};

/// The values that a frame of a flow must agree with.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Entropy of ECMP.
    pub source_port: u16,
    /// The transport that carries the frames.
    pub transport: Transport,
}

/// The flows of a run, read from its traffic as far as time has come.
pub struct Directory<'c> {
    traffic: Peekable<Traffic<'c>>,
    /// End of the run. Traffic may go on for ever, and a frame may say that it comes much later.
    stop: Time,
    flows: Vec<Flow>,
    /// Flows that start when others have ended.
    followers: Followers,
}

impl From<&FlowSpec> for Flow {
    fn from(spec: &FlowSpec) -> Self {
        Self {
            src: spec.src,
            dst: spec.dst,
            source_port: spec.source_port,
            transport: spec.transport,
        }
    }
}

impl<'c> Directory<'c> {
    /// The flows of `config`.
    ///
    /// # Errors
    ///
    /// There is no such traffic.
    pub fn new(config: &'c Config) -> Result<Self, String> {
        Ok(Self {
            traffic: followers::leaders(config)?.peekable(),
            stop: config.stop,
            flows: Vec::new(),
            followers: Followers::of(config).map_err(|why| why.to_string())?,
        })
    }

    /// Flow `id`, if it has started by `now`. Flows are numbered in the order of their starts; those that start when
    /// others have ended come after all of them, and are known from the beginning.
    pub fn get(&mut self, id: u32, now: Time) -> Option<Flow> {
        if self.followers.has(id) {
            return self.followers.get(id).map(Flow::from);
        }
        let now = now.min(self.stop);
        while self.flows.len() <= id as usize {
            let next = self.traffic.next_if(|flow| flow.start <= now)?;
            self.flows.push(Flow::from(&next));
        }
        Some(self.flows[id as usize])
    }
}
