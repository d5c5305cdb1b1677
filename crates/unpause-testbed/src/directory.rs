//! Which flows there are, as connection set-up would tell the ends of each.

use std::iter::Peekable;

use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId};
use unpause_sim::traffic::{Traffic, Transport};

/// What a frame of a flow must agree with.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Sender.
    pub src: NodeId,
    /// Receiver.
    pub dst: NodeId,
    /// Entropy of ECMP.
    pub source_port: u16,
    /// What carries it.
    pub transport: Transport,
}

/// The flows of a run, read from its traffic as far as time has come.
pub struct Directory<'c> {
    traffic: Peekable<Traffic<'c>>,
    /// End of the run. Traffic may go on for ever, and a frame may say that it comes much later.
    stop: Time,
    flows: Vec<Flow>,
}

impl<'c> Directory<'c> {
    /// The flows of `config`.
    ///
    /// # Errors
    ///
    /// There is no such traffic.
    pub fn new(config: &'c Config) -> Result<Self, String> {
        let traffic = Traffic::new(&config.traffic, &config.fabric, config.seed)?;
        Ok(Self {
            traffic: traffic.peekable(),
            stop: config.stop,
            flows: Vec::new(),
        })
    }

    /// Flow `id`, if it has started by `now`. Flows are numbered in the order of their starts.
    pub fn get(&mut self, id: u32, now: Time) -> Option<Flow> {
        let now = now.min(self.stop);
        while self.flows.len() <= id as usize {
            let next = self.traffic.next_if(|flow| flow.start <= now)?;
            self.flows.push(Flow {
                src: next.src,
                dst: next.dst,
                source_port: next.source_port,
                transport: next.transport,
            });
        }
        Some(self.flows[id as usize])
    }
}
