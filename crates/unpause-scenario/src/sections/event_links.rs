//! The links that events name.

use serde_spanned::Spanned;
use unpause_sim::config::{Direction, Fabric, NodeId};
use unpause_text::error::{Checked, Problem};

use unpause_import::fabric::names::Names;

/// The links of `"S0-S1"`, or of `"S0->S1"` that direction.
pub(super) fn links_of(
    text: &Spanned<String>,
    names: &Names,
    fabric: &Fabric,
) -> Checked<Vec<(usize, Direction)>> {
    let (a, b, one_way) = ends(text, names)?;
    let links = fabric.links.iter().enumerate();
    let found: Vec<_> = links
        .filter_map(|(at, link)| {
            let direction = match (link.a == a && link.b == b, link.a == b && link.b == a) {
                (true, _) => Direction::Forward,
                (_, true) => Direction::Backward,
                (false, false) => return None,
            };
            Some((at, if one_way { direction } else { Direction::Both }))
        })
        .collect();
    if found.is_empty() {
        let peers = names.peers[a as usize].iter();
        let peers: Vec<&str> = peers.take(8).map(|peer| names.name(*peer)).collect();
        return Problem::new(format!(
            "there is no link between {} and {}",
            names.name(a),
            names.name(b)
        ))
        .at(text.span(), "not a link of this topology")
        .help(format!(
            "{} has links to {}",
            names.name(a),
            peers.join(", ")
        ))
        .err();
    }
    Ok(found)
}

/// Both ends of a link, and whether only the direction from the first to the second is meant. Names may have hyphens.
pub(super) fn ends(text: &Spanned<String>, names: &Names) -> Checked<(NodeId, NodeId, bool)> {
    let written = text.get_ref().as_str();
    if let Some((from, to)) = written.split_once("->") {
        let node = |name: &str| names.node(name.trim(), &text.span());
        return Ok((node(from)?, node(to)?, true));
    }
    let hyphens = written.match_indices('-').map(|(at, _)| at);
    let split = |at: usize| (written[..at].trim(), written[at + 1..].trim());
    let pairs: Vec<(&str, &str)> = hyphens.map(split).collect();
    let known = pairs
        .iter()
        .find_map(|(a, b)| Some((names.index(a)?, names.index(b)?, false)));
    match (known, &pairs[..]) {
        (Some(known), _) => Ok(known),
        (None, [(a, b), ..]) => {
            let node = |name: &str| names.node(name, &text.span());
            Ok((node(a)?, node(b)?, false))
        }
        (None, []) => Problem::new(format!("`{written}` is not a link"))
            .at(text.span(), "here")
            .help("write the names of both ends: \"S0-S1\", or \"S0->S1\" for the one direction")
            .err(),
    }
}
