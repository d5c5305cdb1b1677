//! Marking thresholds of 40 Gb/s links at faster ones: DCQCN's defaults, where the file does not set them.

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_point;
use unpause_protocols::units::Rate;
use unpause_sim::config::{NodeId, NodeKind, PortId};

use crate::run::Run;
use crate::warnings::in_force::{self, Place};
use unpause_text::count::size;

/// For programs, as in [`crate::warnings::Warning`].
pub const KIND: &str = "default-thresholds";

/// The rate that the thresholds of the DCQCN paper are for (SIGCOMM 2015, section 5).
const PAPERS: Rate = Rate::from_gbps(40);

/// A warning about `run`, with advice, if its thresholds are the paper's for want of others, and a switch has a faster
/// link.
pub fn why(run: &Run) -> Option<(String, String)> {
    let scheme = &run.config.scheme;
    let is_dcqcn = matches!(
        scheme.roce,
        congestion_control::Config::Dcqcn(_) | congestion_control::Config::DcqcnNic(_)
    );
    let congestion_point::Config::Red(red) = &scheme.congestion_point else {
        return None;
    };
    let is_default = is_dcqcn && run.mechanisms.marking.is_none() && !run.mechanisms.sets_queues;
    let fastest = fastest(run).filter(|fastest| is_default && *fastest > PAPERS)?;
    if run.controls_nothing() {
        return None;
    }
    let message = format!(
        "DCQCN's default thresholds are those of its paper, for 40 Gb/s links: kmin {}, kmax {}; the fastest link here has \
         {fastest}",
        size(red.kmin),
        size(red.kmax)
    );
    // Flows meet the thresholds of a host's link first, and `suggest` sets the steps of the NIC, too.
    let (rate, whose) = match hosts(run).filter(|hosts| *hosts > PAPERS && *hosts < fastest) {
        Some(hosts) => (hosts, "for the links of hosts"),
        None => (fastest, "for this rate"),
    };
    let help = format!(
        "`unpause suggest dcqcn --rate {rate}` prints parameters {whose}; set kmin and kmax in [scheme.dcqcn], also if you want to keep these values"
    );
    Some((message, help))
}

/// The rate of the fastest link of a host, but for those to NVSwitches.
fn hosts(run: &Run) -> Option<Rate> {
    let fabric = &run.config.fabric;
    let is_host = |node: &u32| fabric.nodes[*node as usize] == NodeKind::Host;
    let is_inside = |node: &u32| fabric.nvswitches.contains(node);
    let links = fabric.links.iter();
    let of_hosts = links.filter(|link| {
        let ends = [link.a, link.b];
        ends.iter().any(is_host) && !ends.iter().any(is_inside)
    });
    of_hosts.map(|link| link.rate).max()
}

/// The rate of the fastest link of a switch that marks, by these thresholds; NVSwitches do not.
fn fastest(run: &Run) -> Option<Rate> {
    let config = &run.config;
    let fabric = &config.fabric;
    let marks = |node: NodeId| {
        fabric.nodes[node as usize] == NodeKind::Switch && !fabric.nvswitches.contains(&node)
    };
    let has_no_own = |node: NodeId, port: PortId| {
        let mut used = (0..8).filter(|priority| config.data_priorities() >> priority & 1 == 1);
        used.any(|priority| {
            let at = Place {
                node,
                port,
                priority,
            };
            in_force::own(config, at, |it| it.marking).is_none()
        })
    };
    let mut ports: Vec<PortId> = vec![0; fabric.nodes.len()];
    let mut fastest = None;
    for link in &fabric.links {
        for node in [link.a, link.b] {
            let port = ports[node as usize];
            ports[node as usize] += 1;
            if marks(node) && has_no_own(node, port) {
                fastest = fastest.max(Some(link.rate));
            }
        }
    }
    fastest
}
