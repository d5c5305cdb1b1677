//! Receivers that give credits.

use unpause_protocols::units::Time;

/// RCCC: a receiving host grants credits to the controlled RoCE flows that come to it, without which they send nothing but
/// what they may speculate on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Credits {
    /// Round trip of a full packet through the empty network, from which the most credit of a flow follows. `None`: that of
    /// the flow's path.
    pub base_rtt: Option<Time>,
    /// Receivers grant less while packets are marked or trimmed on their way, before the last hop. `None`: if some switch has
    /// less capacity toward the core of the fabric than toward hosts.
    pub oversubscribed: Option<bool>,
}
