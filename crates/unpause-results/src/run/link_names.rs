//! Names of links.

use unpause_sim::config::{NodeId, PortId};

use crate::run::Run;
use unpause_text::count::counted;

/// An egress port.
pub type Port = (NodeId, PortId);

/// Names of the links of these ports: `S0-S1`, or `S0->S1` if it is only that direction.
pub fn links(run: &Run, wires: &[Port]) -> String {
    let peer = |(node, port): Port| run.names.peers[node as usize][usize::from(port)];
    let mut pairs: Vec<(NodeId, NodeId)> = wires.iter().map(|wire| (wire.0, peer(*wire))).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let both = |(a, b): &(NodeId, NodeId)| pairs.contains(&(*b, *a));
    let named = pairs.iter().filter(|(a, b)| a < b || !both(&(*a, *b)));
    let named: Vec<String> = named
        .map(|pair| {
            let (a, b) = (run.names.name(pair.0), run.names.name(pair.1));
            match both(pair) {
                true => format!("{a}-{b}"),
                false => format!("{a}->{b}"),
            }
        })
        .collect();
    match named.len() {
        0..=4 => named.join(", "),
        count => format!(
            "{} and {}",
            named[..3].join(", "),
            counted(count - 3, "more link")
        ),
    }
}
