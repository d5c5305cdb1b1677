//! Flows that start when others have ended.

use super::spec::FlowSpec;
use crate::fabric::NodeId;
use unpause_protocols::names::Names;

/// An entry of traffic whose flows start when flows of other entries have ended. Its times count from then.
///
/// A flow waits for flows that end at its own sender, so that nothing has to be told to another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    /// Index of the entry in [`crate::config::Config::traffic`].
    pub entry: u16,
    /// The entries whose flows have to end.
    pub after: Vec<u16>,
    /// The event that counts as the end of a flow.
    pub ending: Ending,
    /// Which flows wait for which.
    pub matching: Matching,
}

/// The event that counts as the end of a flow, and thereby which host observes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Names)]
pub enum Ending {
    /// Its last byte has been delivered, at its receiver.
    #[default]
    Delivered,
    /// Its last byte has been acknowledged, at its sender.
    Acknowledged,
}

impl Ending {
    /// The host at which `flow` ends.
    pub fn host(self, flow: &FlowSpec) -> NodeId {
        match self {
            Self::Delivered => flow.dst,
            Self::Acknowledged => flow.src,
        }
    }
}

/// Which flows wait for which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Names)]
pub enum Matching {
    /// A flow waits for all flows that end at its sender.
    #[default]
    All,
    /// The n-th flow of the entry waits for the n-th flow of the one entry before.
    Each,
}
