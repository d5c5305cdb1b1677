//! `topology.txt`.

use std::io::{self, BufRead, Write};
use std::path::Path;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::{NodeId, NodeKind};

use super::rows::{Row, Rows};
use crate::import::{FileError, Place};
use crate::limits;
use crate::text::quantity::{parse_duration, parse_rate};
use crate::topology::{Topology, positive_delay, whole_rate};

/// Reads a topology. Node n is named `Hn` if it is a host, `Sn` if it is a switch, and keeps its
/// number. More than `parallel` links between two nodes are an error. `path` is for messages.
pub fn parse_topology(
    reader: impl BufRead,
    path: &Path,
    parallel: u32,
) -> Result<Topology, FileError> {
    let mut rows = Rows::new(reader, path);
    const HEADER: &str = "the numbers of nodes, switches and links";
    let header = rows.next(|| HEADER.into())?;
    let [nodes, switches, links] = header.columns(HEADER)?;
    let nodes: NodeId = header.number(nodes, "a number of nodes")?;
    header.at_most(nodes.into(), limits::NODES, "nodes")?;
    let switches: usize = header.number(switches, "a number of switches")?;
    let links: usize = header.number(links, "a number of links")?;
    header.at_most(links as u64, limits::LINKS, "links")?;

    let mut topology = Topology::default();
    for (id, kind) in kinds(&mut rows, nodes, switches)?.iter().enumerate() {
        match kind {
            NodeKind::Host => topology.add_host(format!("H{id}")),
            NodeKind::Switch => topology.add_switch(format!("S{id}")),
        };
    }
    let mut lines = Vec::new();
    for index in 0..links {
        const LINK: &str = "a link: src dst rate delay error_rate";
        let row = rows.next(|| format!("{LINK} ({index} of {links} read)"))?;
        let (a, b, rate, delay) = row.link(LINK, nodes)?;
        topology.connect(a, b, rate, delay);
        lines.push(row.place.line);
    }
    if let Some(index) = topology.surplus_link(parallel) {
        let link = topology.fabric.links[index];
        let line = lines[index];
        return Err(Place { path, line }.error(
            format!("another link between nodes {} and {}", link.a, link.b),
            format!("at most {parallel} (`parallel` of the topology)"),
        ));
    }
    let line = lines.last().copied().unwrap_or(1);
    topology.validate().map_err(|error| {
        let expected = "a connected fabric whose hosts have one link each";
        Place { path, line }.error(error.message, expected)
    })
}

/// What each node is. The ids of switches may stand on several lines.
fn kinds(
    rows: &mut Rows<'_, impl BufRead>,
    nodes: NodeId,
    switches: usize,
) -> Result<Vec<NodeKind>, FileError> {
    let mut kinds = vec![NodeKind::Host; nodes as usize];
    let mut found = 0;
    while found < switches {
        let row = rows.next(|| format!("{} more ids of switches", switches - found))?;
        for text in row.text.split_whitespace() {
            let id = row.node(text, nodes)?;
            if found == switches || kinds[id as usize] == NodeKind::Switch {
                let expected = format!("{switches} different ids of switches");
                return Err(row.place.error(format!("`{text}`"), expected));
            }
            kinds[id as usize] = NodeKind::Switch;
            found += 1;
        }
    }
    Ok(kinds)
}

impl Row<'_> {
    /// A link: its ends, rate and delay.
    fn link(
        &self,
        expected: &str,
        nodes: NodeId,
    ) -> Result<(NodeId, NodeId, Rate, Time), FileError> {
        let [a, b, rate, delay, error_rate] = self.columns(expected)?;
        let (a, b) = (self.node(a, nodes)?, self.node(b, nodes)?);
        let wrong = |found: String, expected: &str| self.place.error(found, expected);
        let quoted = |text: &str| format!("`{text}`");
        if a == b {
            return Err(wrong(
                format!("a link from node {a} to itself"),
                "two nodes",
            ));
        }
        let link_rate = parse_rate(rate)
            .map_err(|error| wrong(format!("`{rate}` ({error})"), "a rate such as `100Gbps`"))?;
        let link_delay = parse_duration(delay)
            .map_err(|error| wrong(format!("`{delay}` ({error})"), "a delay such as `0.001ms`"))?;
        if error_rate.parse::<f64>() != Ok(0.0) {
            let expected = "an error rate of 0: links here lose nothing";
            return Err(wrong(quoted(error_rate), expected));
        }
        let whole = "a rate at which a byte lasts whole picoseconds";
        whole_rate("rate", link_rate).map_err(|_| wrong(quoted(rate), whole))?;
        positive_delay("delay", link_delay)
            .map_err(|_| wrong(quoted(delay), "a delay above zero"))?;
        Ok((a, b, link_rate, link_delay))
    }
}

/// Writes a topology file. Nodes keep their numbers and lose their names.
pub fn write_topology(out: &mut impl Write, topology: &Topology) -> io::Result<()> {
    let fabric = &topology.fabric;
    let switches: Vec<String> = (0..fabric.nodes.len())
        .filter(|&node| fabric.nodes[node] == NodeKind::Switch)
        .map(|node| node.to_string())
        .collect();
    writeln!(
        out,
        "{} {} {}",
        fabric.nodes.len(),
        switches.len(),
        fabric.links.len()
    )?;
    writeln!(out, "{}", switches.join(" "))?;
    for link in &fabric.links {
        let (ns, ps) = (link.delay.as_ps() / 1000, link.delay.as_ps() % 1000);
        let fraction = if ps == 0 {
            String::new()
        } else {
            format!(".{ps:03}")
        };
        writeln!(
            out,
            "{} {} {}bps {ns}{fraction}ns 0",
            link.a,
            link.b,
            link.rate.as_bps()
        )?;
    }
    Ok(())
}
