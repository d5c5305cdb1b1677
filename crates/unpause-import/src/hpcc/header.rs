//! The first line of a topology: five kinds, told apart by its words and by the line that follows.

use std::num::NonZeroU32;

use unpause_sim::config::NodeId;

use super::numbers;
use super::rows::Row;
use crate::FileError;
use unpause_text::limits;

pub(super) const EXPECTED: &str = "the numbers of nodes, switches and links (also four numbers as of ns3-datacenter, \
                                   six as of Reverie, or five and a GPU type as of SimAI)";

/// Who writes such a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `nodes switches links`.
    Hpcc,
    /// `nodes switches tors links` of ns3-datacenter, or `nodes switches switches links` of intcc.
    Four,
    /// `nodes switches tors links leaf_server_rate spine_leaf_rate`.
    Reverie,
    /// `nodes gpus_per_server nvswitches switches links gpu_type`.
    SimAi,
}

impl Kind {
    /// The name of the format.
    pub fn named(self) -> &'static str {
        match self {
            Self::Hpcc => "three numbers, nodes, switches and links (HPCC)",
            Self::Four => "four numbers, links last (ns3-datacenter, intcc)",
            Self::Reverie => "six numbers, rates last (Reverie)",
            Self::SimAi => "five numbers, links last, and a GPU type (SimAI)",
        }
    }
}

/// The content of the first line.
pub(super) struct Header {
    pub kind: Kind,
    pub nodes: NodeId,
    /// The least there can be.
    pub switches: usize,
    /// The most there can be: of intcc two kinds are counted, where ns3-datacenter counts some of them again.
    pub most_switches: usize,
    /// How many of them, the first that are named, are NVSwitches.
    pub nvswitches: usize,
    /// GPUs of each server, of SimAI.
    pub gpus_per_server: Option<NonZeroU32>,
    pub links: usize,
}

/// True for the words of SimAI's header, one of which may not be the number that it should, or for those that begin with
/// them. The sixth is no number, nor a rate, as where links follow on the same line.
pub(super) fn is_simai(words: &[&str]) -> bool {
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    let Some((five, [sixth])) = words.get(..6).map(|six| six.split_at(5)) else {
        return false;
    };
    let numbers = five.iter().filter(|word| is_number(word)).count();
    numbers >= 4 && !is_number(sixth) && numbers::rate(sixth).is_none()
}

impl Header {
    pub fn of(row: &Row<'_>) -> Result<Self, FileError> {
        const SWITCHES: &str = "a number of switches";
        let words = row.words();
        if is_simai(&words) {
            return Self::of_simai(row);
        }
        let (kind, nodes, switches, more, links) = match words[..] {
            [nodes, switches, links] => (Kind::Hpcc, nodes, switches, None, links),
            [nodes, switches, more, links] => (Kind::Four, nodes, switches, Some(more), links),
            [nodes, switches, tors, links, leaf, spine] => {
                row.number::<usize>(tors, "a number of switches of hosts")?;
                for rate in [leaf, spine] {
                    row.number::<f64>(rate, "a rate in bit/s")?;
                }
                (Kind::Reverie, nodes, switches, None, links)
            }
            _ => return Err(row.place.error(row.quoted(), EXPECTED)),
        };
        let more = more.map(|more| row.number(more, SWITCHES));
        let mut header = Self::counting(row, kind, (nodes, links))?;
        header.switches = row.number(switches, SWITCHES)?;
        header.most_switches = header.switches.saturating_add(more.unwrap_or(Ok(0))?);
        Ok(header)
    }

    fn of_simai(row: &Row<'_>) -> Result<Self, FileError> {
        let [nodes, gpus, nvswitches, switches, links, _] = row.columns(EXPECTED)?;
        let mut header = Self::counting(row, Kind::SimAi, (nodes, links))?;
        header.gpus_per_server = Some(row.number(gpus, "a number of GPUs of each server, from 1")?);
        header.nvswitches = row.number(nvswitches, "a number of NVSwitches")?;
        let others: usize = row.number(switches, "a number of switches that are no NVSwitches")?;
        header.switches = header.nvswitches.saturating_add(others);
        header.most_switches = header.switches;
        Ok(header)
    }

    fn counting(
        row: &Row<'_>,
        kind: Kind,
        (nodes, links): (&str, &str),
    ) -> Result<Self, FileError> {
        row.at_most(nodes, limits::NODES, "nodes")?;
        row.at_most(links, limits::LINKS, "links")?;
        Ok(Self {
            kind,
            nodes: row.number(nodes, "a number of nodes")?,
            switches: 0,
            most_switches: 0,
            nvswitches: 0,
            gpus_per_server: None,
            links: row.number(links, "a number of links")?,
        })
    }
}
