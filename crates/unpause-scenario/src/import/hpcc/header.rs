//! The first line of a topology: five kinds, told apart by its words and by the line that follows.

use unpause_sim::config::NodeId;

use super::rows::Row;
use crate::import::FileError;
use crate::limits;

pub(super) const EXPECTED: &str = "the numbers of nodes, switches and links (also four numbers as of ns3-datacenter, or \
                                   six as of Reverie)";

/// Who writes such a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `nodes switches links`.
    Hpcc,
    /// `nodes switches tors links` of ns3-datacenter, or `nodes switches switches links` of intcc.
    Four,
    /// `nodes switches tors links leaf_server_rate spine_leaf_rate`.
    Reverie,
}

impl Kind {
    /// What it is called.
    pub fn named(self) -> &'static str {
        match self {
            Self::Hpcc => "three numbers, nodes, switches and links (HPCC)",
            Self::Four => "four numbers, links last (ns3-datacenter, intcc)",
            Self::Reverie => "six numbers, rates last (Reverie)",
        }
    }
}

/// What the first line says.
pub(super) struct Header {
    pub kind: Kind,
    pub nodes: NodeId,
    /// The least there can be.
    pub switches: usize,
    /// The most there can be: of intcc two kinds are counted, where ns3-datacenter counts some of them again.
    pub most_switches: usize,
    pub links: usize,
}

impl Header {
    pub fn of(row: &Row<'_>) -> Result<Self, FileError> {
        let (kind, nodes, switches, more, links) = match row.words()[..] {
            [nodes, switches, links] => (Kind::Hpcc, nodes, switches, None, links),
            [nodes, switches, more, links] => (Kind::Four, nodes, switches, Some(more), links),
            [nodes, switches, tors, links, leaf, spine] => {
                row.number::<usize>(tors, "a number of switches of hosts")?;
                for rate in [leaf, spine] {
                    row.number::<f64>(rate, "a rate in bit/s")?;
                }
                (Kind::Reverie, nodes, switches, None, links)
            }
            _ => return Err(row.place.error(row.shown(), EXPECTED)),
        };
        row.at_most(nodes, limits::NODES, "nodes")?;
        row.at_most(links, limits::LINKS, "links")?;
        let switches: usize = row.number(switches, "a number of switches")?;
        let more = more.map(|more| row.number(more, "a number of switches"));
        Ok(Self {
            kind,
            nodes: row.number(nodes, "a number of nodes")?,
            switches,
            most_switches: switches.saturating_add(more.unwrap_or(Ok(0))?),
            links: row.number(links, "a number of links")?,
        })
    }
}
