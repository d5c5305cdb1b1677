//! Topology files of htsim (.topo): two or three tiers of switches, as uet-htsim 40ccb05 reads them
//! (`fat_tree_topology.cpp`).
//!
//! A header (`Nodes`, `Tiers`, `Podsize`), then a `Tier` with keys for each: tier 0 are the ToRs, the last tier has no
//! uplinks. Host h is behind ToR h / `Radix_Down` of tier 0. A switch has latency there; here links have half of that of
//! the switches at their ends, so that each path takes as long. Hosts, ToRs and the tiers above are named H0, tor0, agg0,
//! core0; the upper of two tiers spine0.

mod keys;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use unpause_protocols::units::{Rate, Time};
use unpause_sim::config::NodeId;

use self::keys::{File, Value};
use super::{FileError, Place};
use crate::fabric::topology::Topology;
use unpause_text::limits;

/// Most bytes of a file: it is as long whatever the size of the fabric.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the file `path`; `None` if it is of another kind.
///
/// # Errors
///
/// As [`parse`]; and it cannot be read.
pub fn read(path: &Path) -> Result<Option<Topology>, FileError> {
    let failed = |reason| Place::of_line(path, 0).io(reason);
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut reader = BufReader::new(file);
    if !is_one(reader.fill_buf().map_err(failed)?) {
        return Ok(None);
    }
    let mut text = String::new();
    let mut reader = reader.take(MOST_BYTES);
    reader.read_to_string(&mut text).map_err(failed)?;
    parse(&text, path).map(Some)
}

/// True if a file that begins so is one.
fn is_one(beginning: &[u8]) -> bool {
    let text = String::from_utf8_lossy(beginning);
    let lines = text.trim_start_matches('\u{feff}').lines();
    let lines = lines.filter(|line| !line.starts_with('#'));
    let words = lines.filter_map(|line| line.split_whitespace().next());
    let mut first = words.take(3).map(str::to_ascii_lowercase);
    let is_key = |word: &str| ["nodes", "tiers", "podsize"].contains(&word);
    first.clone().all(|word| is_key(&word)) && first.any(|word| word != "nodes")
}

/// Reads a topology; `path` is for messages.
///
/// # Errors
///
/// The line that is not what it should be, or numbers that do not make a fabric.
pub fn parse(text: &str, path: &Path) -> Result<Topology, FileError> {
    let file = File::read(text, path)?;
    let counts = Counts::of(&file, path)?;
    let mut topology = Topology::default();
    let hosts = topology.add_hosts(counts.hosts);
    let tors = topology.add_switches("tor", counts.tors);
    let above = if file.tiers.len() == 2 {
        "spine"
    } else {
        "agg"
    };
    let aggs = topology.add_switches(above, counts.aggs);
    let cores = topology.add_switches("core", counts.cores);
    let link = |lower: usize| file.link(lower, path);
    let (rate, delay) = link(0)?;
    for (host, node) in (0..).zip(&hosts) {
        let tor = tors[(host / counts.hosts_per_tor) as usize];
        topology.connect(*node, tor, rate, delay);
    }
    let (rate, delay) = link(1)?;
    for (tor, node) in (0..).zip(&tors) {
        let pod = tor / counts.tors_per_pod;
        let of_pod = first(pod * counts.aggs_per_pod, counts.aggs_per_pod);
        let bundle = file.tiers[1].bundle();
        join(&mut topology, *node, &aggs[of_pod], (bundle, rate, delay));
    }
    if file.tiers.len() == 3 {
        let (rate, delay) = link(2)?;
        for (agg, node) in (0..).zip(&aggs) {
            let stripe = agg % counts.aggs_per_pod;
            let of_stripe = first(stripe * counts.cores_per_agg, counts.cores_per_agg);
            let bundle = file.tiers[2].bundle();
            join(
                &mut topology,
                *node,
                &cores[of_stripe],
                (bundle, rate, delay),
            );
        }
    }
    topology.notes.extend(file.unused());
    let place = Place::of_line(path, file.nodes.line);
    topology.validate().map_err(|why| {
        place.error(
            why.to_string(),
            "a fabric in which every node reaches every other",
        )
    })
}

fn first(start: u32, count: u32) -> std::ops::Range<usize> {
    start as usize..(start + count) as usize
}

/// Links a switch to each of `above`, by as many links as a bundle has.
fn join(
    topology: &mut Topology,
    node: NodeId,
    above: &[NodeId],
    (bundle, rate, delay): (u32, Rate, Time),
) {
    for upper in above {
        for _ in 0..bundle {
            topology.connect(node, *upper, rate, delay);
        }
    }
}

/// How many there are of everything.
struct Counts {
    hosts: u32,
    hosts_per_tor: u32,
    tors: u32,
    tors_per_pod: u32,
    aggs: u32,
    aggs_per_pod: u32,
    cores: u32,
    cores_per_agg: u32,
}

/// `whole / part`, if nothing is left; otherwise an error at a line.
fn share(
    (whole, part): (u64, u64),
    (path, at): (&Path, &Value),
    what: &str,
) -> Result<u32, FileError> {
    let shares = whole.checked_div(part).filter(|it| it * part == whole);
    shares
        .filter(|it| (1..=limits::NODES).contains(it))
        .map(|it| it as u32)
        .ok_or_else(|| {
            let place = Place::of_line(path, at.line);
            let found = format!("{} {}: {whole} / {part}", at.name, at.number);
            place.error(
                found,
                format!("{what}, a whole number from 1 to {}", limits::NODES),
            )
        })
}

impl Counts {
    fn of(file: &File, path: &Path) -> Result<Self, FileError> {
        let tiers = &file.tiers;
        let down = |tier: usize| tiers[tier].radix_down(path);
        let up = |tier: usize| tiers[tier].radix_up(path);
        let (nodes, pod) = (file.nodes.number, file.podsize.number);
        if tiers.len() == 2 && nodes != pod {
            let place = Place::of_line(path, file.podsize.line);
            let found = format!("Podsize {pod} of {nodes} nodes");
            return Err(place.error(found, "with two tiers as many as there are nodes"));
        }
        let pods = share((nodes, pod), (path, &file.podsize), "a number of pods")?;
        let tors_per_pod = share((pod, down(0)?.number), (path, down(0)?), "ToRs in a pod")?;
        let uplinks = u64::from(tors_per_pod) * up(0)?.number;
        let bundle = u64::from(tiers[1].bundle());
        let aggs_per_pod = share(
            (up(0)?.number, bundle),
            (path, up(0)?),
            "switches above a ToR",
        )?;
        fits(
            uplinks,
            u64::from(aggs_per_pod) * down(1)?.number,
            (path, down(1)?),
        )?;
        let tors = pods * tors_per_pod;
        let aggs = u64::from(pods) * u64::from(aggs_per_pod);
        let mut counts = Self {
            hosts: share((nodes, 1), (path, &file.nodes), "hosts")?,
            hosts_per_tor: share((down(0)?.number, 1), (path, down(0)?), "hosts of a ToR")?,
            tors,
            tors_per_pod,
            aggs: share((aggs, 1), (path, up(0)?), "switches above the ToRs")?,
            aggs_per_pod,
            cores: 0,
            cores_per_agg: 0,
        };
        let mut links = nodes + u64::from(tors) * up(0)?.number;
        if tiers.len() == 3 {
            let bundle = u64::from(tiers[2].bundle());
            counts.cores_per_agg = share(
                (up(1)?.number, bundle),
                (path, up(1)?),
                "cores of an aggregation switch",
            )?;
            let cores = u64::from(aggs_per_pod) * u64::from(counts.cores_per_agg);
            counts.cores = share((cores, 1), (path, up(1)?), "cores")?;
            let downlinks = u128::from(cores) * u128::from(down(2)?.number);
            let of_aggs = aggs.saturating_mul(up(1)?.number);
            fits(
                of_aggs,
                downlinks.try_into().unwrap_or(u64::MAX),
                (path, down(2)?),
            )?;
            links = links.saturating_add(of_aggs);
        }
        if links > limits::LINKS {
            let place = Place::of_line(path, file.nodes.line);
            let expected = format!("at most {}", limits::LINKS);
            return Err(place.error(format!("{links} links"), expected));
        }
        Ok(counts)
    }
}

/// As many links go up from a tier as come down from the next.
fn fits(up: u64, down: u64, (path, at): (&Path, &Value)) -> Result<(), FileError> {
    if up == down {
        Ok(())
    } else {
        let found = format!("{} {}: {down} links down", at.name, at.number);
        let expected = format!("as many as the tier below has uplinks: {up}");
        Err(Place::of_line(path, at.line).error(found, expected))
    }
}

impl File {
    /// Rate and delay of the links between tier `upper` and what is below it.
    fn link(&self, upper: usize, path: &Path) -> Result<(Rate, Time), FileError> {
        let tier = &self.tiers[upper];
        let gbps = tier.speed(path)?;
        let latency = tier.latency(path)?;
        let below = match upper {
            0 => 0,
            upper => self.tiers[upper - 1].switch_latency_ns(),
        };
        let at = |value: &Value| Place::of_line(path, value.line);
        let bps = gbps.number.saturating_mul(1_000_000_000);
        let rate = Rate::from_bps(bps);
        crate::fabric::topology::possible_rate("", rate)
            .map_err(|why| at(gbps).error(format!("{} {}", gbps.name, gbps.number), why.message))?;
        let half = (u128::from(below) + u128::from(tier.switch_latency_ns())) * 500;
        let ps = u128::from(latency.number) * 1_000 + half;
        let delay = Time::from_ps(u64::try_from(ps).unwrap_or(u64::MAX));
        crate::fabric::topology::positive_delay("", delay).map_err(|why| {
            at(latency).error(format!("{} {}", latency.name, latency.number), why.message)
        })?;
        Ok((rate, delay))
    }
}

#[cfg(test)]
mod tests;
