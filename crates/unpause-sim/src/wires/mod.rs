//! State of both ends of a link, beside its nodes: credits, frames that may have to be sent again, and errors. The port
//! that transmits knows what the far end does with a frame, and runs ahead by the time that frames take.

pub mod credits;
pub mod errors;
pub mod retry;

use unpause_protocols::state_visitor::Show;

use crate::fabric::NodeId;
use crate::plan::Plan;
use credits::LinkCredits;
use errors::ErringWires;
use retry::LinkRetries;

/// State of the links of a shard's nodes. Most runs use none of it.
#[derive(Debug, Show)]
pub struct Wires {
    /// Wires on which frames are lost to errors.
    #[show(refuse_if = !errors.are_quiet())]
    pub errors: ErringWires,
    /// Credits of links, if they have any.
    #[show(refuse_if = !credits.are_unused())]
    pub credits: LinkCredits,
    /// Frames that links may have to send again, if they do.
    #[show(refuse_if = !retries.are_unused())]
    pub retries: LinkRetries,
}

impl Wires {
    /// Those of the nodes that are in the shard.
    pub fn new(plan: &Plan<'_>, owns: impl Fn(NodeId) -> bool) -> Self {
        Self {
            errors: ErringWires::default(),
            credits: LinkCredits::new(plan, &owns),
            retries: LinkRetries::new(plan, &owns),
        }
    }
}
