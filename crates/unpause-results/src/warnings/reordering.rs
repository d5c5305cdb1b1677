//! RoCE flows that sent again what had only been overtaken.

use unpause_protocols::loss_recovery::Config as Recovery;
use unpause_sim::results::FlowRecord;
use unpause_sim::traffic::Transport;

use crate::run::measured::Measured;
use crate::warnings::foreseen::Foreseen;
use unpause_text::count::counted;

/// A message, where packets took different paths and none was lost.
pub fn of(measured: &Measured) -> Option<Foreseen> {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let lost = results.totals.dropped_packets + results.totals.trimmed_packets;
    let sprays = config.switch.balancing.sprays() || config.host.sprays();
    if !sprays || lost > 0 || !results.losses.is_empty() {
        return None;
    }
    let overtaken = |it: &&FlowRecord| {
        it.transport == Transport::Roce && it.retransmitted_packets > 0 && it.timeouts == 0
    };
    let flows = results.flows.iter().filter(overtaken);
    let packets: u64 = flows.clone().map(|it| it.retransmitted_packets).sum();
    if packets == 0 {
        return None;
    }
    let count = flows.count();
    let (why, help) = match config.scheme.loss_recovery {
        Recovery::GoBackN => (
            "go-back-N treats packets that arrive out of order as lost",
            "set loss_recovery = \"selective-repeat\" in the scheme, or switch.balancing = \"ecmp\"",
        ),
        Recovery::SelectiveRepeat(_) => (
            "selective repeat treats packets as lost when `reordering` others have overtaken them",
            "set a larger `reordering`, or remove it",
        ),
    };
    Some(Foreseen {
        kind: "reordering",
        message: format!(
            "{} retransmitted {} although none was lost: {why}",
            counted(count, "flow"),
            counted(packets, "packet")
        ),
        help: help.to_owned(),
        key: Vec::new(),
    })
}
