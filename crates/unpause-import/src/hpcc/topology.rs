//! `topology.txt`.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::path::Path;

use unpause_sim::config::{Link, NodeId, NodeKind};

use super::foreign;
use super::header::{EXPECTED as HEADER, Header, Kind, is_simai};
use super::numbers;
use super::rows::{Row, Rows};
use super::simai;
use crate::fabric::topology::{Topology, positive_delay, possible_rate};
use crate::{FileError, Place};

const LINK: &str = "a link: src dst rate delay error_rate";
/// How many words that is.
const LINK_WORDS: usize = 5;

/// Reads a topology. Node n is named `Hn` if it is a host, `Sn` if it is a switch, and keeps its
/// number. More than `parallel` links between two nodes are an error; if none is given, the last of them
/// counts, as in HPCC's simulator, and a note says so. `path` is for messages.
pub fn parse_topology(
    reader: impl BufRead,
    path: &Path,
    parallel: Option<u32>,
) -> Result<Topology, FileError> {
    read(reader, path, parallel).map(|(topology, _)| topology)
}

/// The same, and the kind of its header.
pub(crate) fn read(
    reader: impl BufRead,
    path: &Path,
    parallel: Option<u32>,
) -> Result<(Topology, Kind), FileError> {
    let mut rows = Rows::new(reader, path);
    let first = rows.next(|| "the numbers of nodes, switches and links".into())?;
    foreign::refuse(&first, || rows.try_next())?;
    let first = header_words(&mut rows, first)?;
    let header = Header::of(&first)?;
    let topology = body(rows, &header, (&first, parallel)).map_err(|error| match header.kind {
        Kind::Hpcc => error,
        kind => error.of_format(kind.named()),
    })?;
    Ok((topology, header.kind))
}

/// Reads the lines that follow the header, which is `first`.
fn body<'a>(
    mut rows: Rows<'a, impl BufRead>,
    header: &Header,
    (first, parallel): (&Row<'a>, Option<u32>),
) -> Result<Topology, FileError> {
    let path = first.place.path;
    let mut topology = Topology {
        gpus_per_server: header.gpus_per_server.map(Into::into),
        ..Topology::default()
    };
    let (kinds, switches) = kinds(&mut rows, header)?;
    for (id, kind) in kinds.iter().enumerate() {
        match kind {
            NodeKind::Host => topology.add_host(format!("H{id}")),
            NodeKind::Switch => topology.add_switch(format!("S{id}")),
        };
    }
    topology.fabric.nvswitches = switches.into_iter().take(header.nvswitches).collect();
    topology.fabric.nvswitches.sort_unstable();
    let (mut lines, mut errors) = (Vec::new(), Vec::new());
    while let Some(row) = rows.link(lines.len(), header)? {
        let (link, loss) = row.link(header.nodes)?;
        topology.fabric.links.push(link);
        lines.push(row.place.line);
        errors.push(loss);
    }
    simai::note_links(&mut topology, &lines, (path, header));
    let links = Links {
        path,
        lines,
        errors,
    };
    let links = links.without_surplus(&mut topology, parallel)?;
    links.check_hosts(&topology)?;
    let lossy = (0..).zip(links.errors).filter(|(_, loss)| *loss > 0.0);
    topology.errors = lossy.collect();
    leave_out_unlinked(&mut topology, path);
    topology.validate_with(true).map_err(|error| {
        let expected = "a fabric in which every node reaches every other";
        first.place.error(error.message, expected)
    })
}

/// The words of the header that begins in `first`; words behind those of HPCC come next.
fn header_words<'a>(
    rows: &mut Rows<'a, impl BufRead>,
    first: Row<'a>,
) -> Result<Row<'a>, FileError> {
    let numbers = first.words();
    if is_simai(&numbers) {
        let (head, tail) = first.split(6);
        if tail.width() > 0 {
            rows.put_back(tail);
        }
        return Ok(head);
    }
    let is_numbers = numbers.iter().take(4).all(|it| it.parse::<u64>().is_ok());
    let is_whole = match first.width() {
        3 => return Ok(first),
        1 | 2 if is_numbers => {
            let refused = first.place.error(first.quoted(), HEADER);
            return if rows.rewrap(&first, 3, 1)? {
                rows.next(String::new)
            } else {
                Err(refused)
            };
        }
        // Of four or six numbers some are ids of switches, if links follow.
        4 | 6 => match rows.try_next()? {
            Some(next) => {
                let is_link = next.is_link();
                rows.put_back(next);
                !is_link
            }
            None => true,
        },
        _ => !is_numbers,
    };
    if is_whole || !is_numbers {
        return Ok(first);
    }
    let (head, tail) = first.split(3);
    rows.put_back(tail);
    Ok(head)
}

/// The kind of each node, and which are switches as they are listed. Their ids may stand on several lines, and links behind
/// them.
fn kinds<'a>(
    rows: &mut Rows<'a, impl BufRead>,
    header: &Header,
) -> Result<(Vec<NodeKind>, Vec<NodeId>), FileError> {
    let mut kinds = vec![NodeKind::Host; header.nodes as usize];
    let mut listed = Vec::new();
    while listed.len() < header.most_switches {
        let missing = header.switches.saturating_sub(listed.len());
        let row = rows.next(|| format!("{missing} more ids of switches"))?;
        if listed.len() == header.switches && row.is_link() {
            rows.put_back(row);
            break;
        }
        if header.kind == Kind::SimAi && row.is_link() {
            let expected = format!("{missing} more ids of switches");
            return Err(row.place.error(row.quoted(), expected));
        }
        for (index, text) in row.words().into_iter().enumerate() {
            let expected = || format!("{} different ids of switches", header.switches);
            if listed.len() == header.most_switches {
                let refused = row.at(text).error(format!("`{text}`"), expected());
                return if rows.rewrap(&row.split(index).1, LINK_WORDS, header.links)? {
                    Ok((kinds, listed))
                } else {
                    Err(refused)
                };
            }
            let id = row.node(text, header.nodes)?;
            if kinds[id as usize] == NodeKind::Switch {
                return Err(row.at(text).error(format!("`{text}`"), expected()));
            }
            kinds[id as usize] = NodeKind::Switch;
            listed.push(id);
        }
    }
    Ok((kinds, listed))
}

impl<'a, R: BufRead> Rows<'a, R> {
    /// The row of link `index`; none behind the last. Where a line is no link, words are taken across lines, if they are as
    /// many as the links have. Of SimAI's files, whose number of links may be wrong, all links are read.
    fn link(&mut self, index: usize, header: &Header) -> Result<Option<Row<'a>>, FileError> {
        let links = header.links;
        let is_simai = header.kind == Kind::SimAi;
        if index >= links {
            let beyond = if is_simai { self.try_next()? } else { None };
            return Ok(beyond.filter(Row::is_link));
        }
        let row = match self.try_next()? {
            None if is_simai && index > 0 => return Ok(None),
            Some(row) => row,
            None => self.next(|| format!("{LINK} ({index} of {links} read)"))?,
        };
        if row.width() == LINK_WORDS {
            return Ok(Some(row));
        }
        let refused = row.place.error(row.quoted(), row.expected());
        if self.rewrap(&row, LINK_WORDS, links - index)? {
            self.try_next()
        } else {
            Err(refused)
        }
    }
}

impl Row<'_> {
    /// It has the columns of a link, the third of which is a rate.
    fn is_link(&self) -> bool {
        match self.words()[..] {
            [_, _, rate, delay, _] => {
                numbers::rate(rate).is_some() && delay.parse::<NodeId>().is_err()
            }
            _ => false,
        }
    }

    /// The columns expected in place of a row that is no link.
    fn expected(&self) -> String {
        match self.width() {
            0..=LINK_WORDS => LINK.to_owned(),
            _ => format!("{LINK}, each on a line of its own"),
        }
    }

    /// The link, and the share of frames that it loses to errors.
    fn link(&self, nodes: NodeId) -> Result<(Link, f64), FileError> {
        let [a, b, rate, delay, error_rate] = self.columns(LINK)?;
        let ends = (self.node(a, nodes)?, self.node(b, nodes)?);
        let wrong = |text: &str, expected: &str| self.at(text).error(format!("`{text}`"), expected);
        if ends.0 == ends.1 {
            let found = format!("a link from node {a} to itself");
            return Err(self.at(b).error(found, "two nodes"));
        }
        let link_rate = numbers::rate(rate)
            .ok_or_else(|| wrong(rate, "a rate such as `100Gbps`, or in bit/s without a unit"))?;
        let link_delay = numbers::delay(delay).ok_or_else(|| {
            wrong(
                delay,
                "a delay such as `0.001ms`, or in seconds without a unit",
            )
        })?;
        let loss = error_rate.parse::<f64>().ok();
        let loss = loss.filter(|loss| (0.0..=1.0).contains(loss));
        let loss = loss.ok_or_else(|| {
            wrong(
                error_rate,
                "an error rate from 0 to 1: the share of packets that the link loses",
            )
        })?;
        let possible = "a rate above zero and up to 8000Gbps";
        possible_rate("rate", link_rate).map_err(|_| wrong(rate, possible))?;
        positive_delay("delay", link_delay).map_err(|_| wrong(delay, "a delay above zero"))?;
        let link = Link {
            a: ends.0,
            b: ends.1,
            rate: link_rate,
            delay: link_delay,
        };
        Ok((link, loss))
    }
}

/// Where the links of a topology stand.
struct Links<'a> {
    path: &'a Path,
    lines: Vec<usize>,
    /// The share of frames that each loses to errors.
    errors: Vec<f64>,
}

impl Links<'_> {
    /// Takes out, or refuses, what is more than `parallel` links between two nodes.
    fn without_surplus(
        mut self,
        topology: &mut Topology,
        parallel: Option<u32>,
    ) -> Result<Self, FileError> {
        let pair = |link: &Link| (link.a.min(link.b), link.a.max(link.b));
        let links = &mut topology.fabric.links;
        if let Some(most) = parallel {
            let mut counts = HashMap::new();
            for (link, line) in links.iter().zip(&self.lines) {
                let count = counts.entry(pair(link)).or_insert(0_u32);
                *count += 1;
                if *count > most {
                    let expected = format!("at most {most} (`parallel` of the topology)");
                    let found = format!("another link between nodes {} and {}", link.a, link.b);
                    return Err(Place::of_line(self.path, *line).error(found, expected));
                }
            }
            return Ok(self);
        }
        let last: HashMap<_, _> = links.iter().map(pair).zip(0_usize..).collect();
        let kept = |(index, link): &(usize, &Link)| last[&pair(link)] == *index;
        let (all, first) = (links.len(), links.iter().enumerate().find(|it| !kept(it)));
        let Some((first, link)) = first else {
            return Ok(self);
        };
        let (a, b, line) = (link.a, link.b, self.lines[first]);
        let kept: Vec<usize> = links
            .iter()
            .enumerate()
            .filter(kept)
            .map(|it| it.0)
            .collect();
        *links = kept.iter().map(|index| links[*index]).collect();
        self.lines = kept.iter().map(|index| self.lines[*index]).collect();
        self.errors = kept.iter().map(|index| self.errors[*index]).collect();
        let (less, all) = (all - kept.len(), all);
        topology.notes.push(format!(
            "{}: {less} of {all} links carry nothing, as in HPCC's simulator, where the last of several links between the same two nodes counts (line {line}: nodes {a} and {b}); for parallel links set `parallel` in [topology]",
            self.path.display(),
        ));
        Ok(self)
    }

    /// Hosts have links to switches only.
    fn check_hosts(&self, topology: &Topology) -> Result<(), FileError> {
        let kinds = &topology.fabric.nodes;
        let is_host = |node: NodeId| kinds[node as usize] == NodeKind::Host;
        let mut links = topology.fabric.links.iter().zip(&self.lines);
        match links.find(|(link, _)| is_host(link.a) && is_host(link.b)) {
            None => Ok(()),
            Some((link, line)) => {
                let found = format!("a link of host {} to host {}", link.a, link.b);
                let expected = "hosts linked to switches: hosts do not forward packets, here as in ns-3, so that hosts \
                                linked to one another reach their neighbours only";
                Err(Place::of_line(self.path, *line).error(found, expected))
            }
        }
    }
}

/// Makes of hosts without a link, which HPCC's simulator accepts, nodes without ports that take no part.
fn leave_out_unlinked(topology: &mut Topology, path: &Path) {
    if topology.names.len() == 1 {
        return;
    }
    let mut unlinked = vec![true; topology.names.len()];
    for link in &topology.fabric.links {
        unlinked[link.a as usize] = false;
        unlinked[link.b as usize] = false;
    }
    let nodes: Vec<&str> = (0..)
        .zip(&unlinked)
        .filter(|(_, unlinked)| **unlinked)
        .map(|(node, _)| topology.name(node))
        .collect();
    let Some(first) = nodes.first() else {
        return;
    };
    topology.notes.push(match nodes.len() {
        1 => format!("{}: {first} has no link and is not used", path.display()),
        count => format!(
            "{}: {count} nodes have no link and are not used; the first is {first}",
            path.display()
        ),
    });
    // Named as switches are, so that the file which is written of it reads the same.
    for id in (0..unlinked.len()).filter(|id| unlinked[*id]) {
        topology.fabric.nodes[id] = NodeKind::Switch;
        topology.names[id] = format!("S{id}");
    }
}

/// Writes a topology file, of SimAI if there are servers with GPUs, else of HPCC. Nodes keep their numbers and lose their
/// names.
pub fn write_topology(out: &mut impl Write, topology: &Topology) -> io::Result<()> {
    let fabric = &topology.fabric;
    let nvswitches = &fabric.nvswitches;
    let others: Vec<NodeId> = (0..fabric.nodes.len() as NodeId)
        .filter(|&node| fabric.nodes[node as usize] == NodeKind::Switch)
        .filter(|&node| !fabric.is_nvswitch(node))
        .collect();
    let (nodes, links) = (fabric.nodes.len(), fabric.links.len());
    match topology.gpus_per_server {
        Some(gpus) => {
            let (nvswitches, others) = (nvswitches.len(), others.len());
            writeln!(out, "{nodes} {gpus} {nvswitches} {others} {links} GPU")?;
        }
        None if nvswitches.is_empty() => writeln!(out, "{nodes} {} {links}", others.len())?,
        None => return Err(io::Error::other("NVSwitches need servers with GPUs")),
    }
    let listed = nvswitches.iter().chain(&others).map(NodeId::to_string);
    writeln!(out, "{}", listed.collect::<Vec<_>>().join(" "))?;
    let errors: HashMap<usize, f64> = topology.errors.iter().copied().collect();
    for (index, link) in fabric.links.iter().enumerate() {
        let (ns, ps) = (link.delay.as_ps() / 1000, link.delay.as_ps() % 1000);
        let fraction = if ps == 0 {
            String::new()
        } else {
            format!(".{ps:03}")
        };
        writeln!(
            out,
            "{} {} {}bps {ns}{fraction}ns {}",
            link.a,
            link.b,
            link.rate.as_bps(),
            errors.get(&index).unwrap_or(&0.0)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
