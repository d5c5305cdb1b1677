//! Requirements of receivers that grant credits.

use std::collections::BTreeMap;

use unpause_protocols::congestion_control;
use unpause_protocols::congestion_control::receiver_credits::oversubscribed;
use unpause_protocols::loss_recovery::Config as Recovery;
use unpause_protocols::units::{Fraction, Time};

use crate::config::Config;
use crate::config::invalid::{Invalid, Subject, bytes};
use crate::fabric::packet::SENT_BITS;
use crate::fabric::{Fabric, NodeKind};

/// The fields that grant credits, and that of their base RTT.
fn fields(config: &Config) -> (&'static str, &'static str) {
    match config.scheme.roce {
        congestion_control::Config::Nscc(_) => ("scheme.nscc.credits", "scheme.nscc.base_rtt"),
        _ => ("scheme.congestion_control", "scheme.rccc.base_rtt"),
    }
}

/// The most credit that a flow may have, bytes: pull targets have few bits in packets.
pub const MOST_CREDIT: u64 = 1 << 27;

/// The least share of its link's rate that a receiver grants, if it grants less while packets are marked or trimmed before
/// the last hop.
pub(super) fn least_share(config: &Config) -> Option<Fraction> {
    let credits = config.scheme.credits.as_ref()?;
    let ratio = oversubscription(&config.fabric);
    let slows = credits.oversubscribed.unwrap_or(ratio.0 > ratio.1);
    slows.then(|| oversubscribed::least_share(ratio))
}

/// How many times the rate of its links further into the fabric a switch has toward hosts, as a fraction: where that is
/// most, and tier by tier multiplied.
fn oversubscription(fabric: &Fabric) -> (u128, u128) {
    let far = hops_to_host(fabric);
    // In Mb/s, so that a product of tiers fits.
    let mut rates = vec![(0_u128, 0_u128); far.len()];
    for link in &fabric.links {
        let rate = u128::from(link.rate.as_bps() / 1_000_000);
        let (a, b) = (link.a as usize, link.b as usize);
        for (node, peer) in [(a, b), (b, a)] {
            let (toward_hosts, inward) = &mut rates[node];
            let sum = if far[peer] < far[node] {
                toward_hosts
            } else {
                inward
            };
            *sum += rate;
        }
    }
    let mut of_tier: BTreeMap<u32, (u128, u128)> = BTreeMap::new();
    for (node, &(toward_hosts, inward)) in rates.iter().enumerate() {
        let most = of_tier.entry(far[node]).or_insert((1, 1));
        if fabric.nodes[node] == NodeKind::Switch
            && inward > 0
            && toward_hosts * most.1 > most.0 * inward
        {
            *most = (toward_hosts, inward);
        }
    }
    of_tier
        .into_values()
        .fold((1, 1), |(more, less), (toward_hosts, inward)| {
            (
                more.saturating_mul(toward_hosts),
                less.saturating_mul(inward),
            )
        })
}

/// For each node: links to the nearest host.
fn hops_to_host(fabric: &Fabric) -> Vec<u32> {
    let mut peers = vec![Vec::new(); fabric.nodes.len()];
    for link in &fabric.links {
        peers[link.a as usize].push(link.b as usize);
        peers[link.b as usize].push(link.a as usize);
    }
    let is_host = |node: &usize| fabric.nodes[*node] == NodeKind::Host;
    let mut far = vec![u32::MAX; peers.len()];
    let mut found: Vec<usize> = (0..peers.len()).filter(is_host).collect();
    found.iter().for_each(|&node| far[node] = 0);
    let mut hops = 0;
    while !found.is_empty() {
        hops += 1;
        let mut next = Vec::new();
        for &peer in found.iter().flat_map(|&node| &peers[node]) {
            if far[peer] == u32::MAX {
                far[peer] = hops;
                next.push(peer);
            }
        }
        found = next;
    }
    far
}

/// Refuses what credits cannot do, or not yet.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    let Some(credits) = &config.scheme.credits else {
        return Ok(());
    };
    let (by, base_rtt) = fields(config);
    if config.scheme.loss_recovery == Recovery::GoBackN {
        let message =
            "a credit is for a single packet, and go-back-N resends packets that have arrived";
        return Err(Invalid::new(by, message)
            .label("receivers grant credits")
            .and("scheme.loss_recovery", "go-back-N")
            .help("set loss_recovery = \"selective-repeat\" in the scheme"));
    }
    let law = &config.scheme.roce;
    if !matches!(
        law,
        congestion_control::Config::None | congestion_control::Config::Nscc(_)
    ) {
        let message = "credits go with NSCC, or alone";
        return Err(Invalid::new("scheme.roce", message).label("another law"));
    }
    if !config.jobs.is_empty() {
        let message = "receiver credits are for flows, not for connections of jobs";
        return Err(Invalid::new(by, message)
            .label("receivers grant credits")
            .help("use congestion_control = \"nscc\" without credits, or [[traffic]]"));
    }
    let last = Time::from_ps(1 << SENT_BITS);
    if config.stop >= last {
        let message = "with credits a run cannot be that long";
        return Err(Invalid::new("stop", message)
            .label(format!("must be shorter than {last}"))
            .and(
                by,
                "a packet has few bits for when it was sent, beside its pull target",
            ));
    }
    if let Some(host) = links_of
        .iter()
        .zip(&config.fabric.nodes)
        .position(|(links, kind)| *kind == NodeKind::Host && *links > 1)
    {
        let message = "has several links, and credits of a host are for one";
        return Err(Invalid::new(by, message).of(Subject::Host(host as u32)));
    }
    check_rtt(config, base_rtt, credits.base_rtt)
}

fn check_rtt(config: &Config, field: &'static str, rtt: Option<Time>) -> Result<(), Invalid> {
    let Some(base_rtt) = rtt else {
        return Ok(());
    };
    if base_rtt == Time::ZERO {
        return Err(Invalid::zero(field).label("no flow would have credit"));
    }
    let fastest = config.fabric.links.iter().map(|link| link.rate).max();
    let most = fastest.map_or(0, |rate| rate.bytes_in(base_rtt));
    if most / 2 * 3 <= MOST_CREDIT {
        return Ok(());
    }
    Err(
        Invalid::new(field, "a flow would have too much credit").label(format!(
            "{base_rtt} x line rate x 1.5 is more than {}",
            bytes(MOST_CREDIT)
        )),
    )
}

#[cfg(test)]
mod tests {
    use unpause_protocols::units::Rate;

    use super::*;
    use crate::fabric::Link;

    /// Two leaf switches with this many hosts each, and this many spines, all at one rate.
    fn leaf_spine(hosts: u32, spines: u32) -> Fabric {
        let mut nodes = vec![NodeKind::Host; 2 * hosts as usize];
        nodes.resize(nodes.len() + 2 + spines as usize, NodeKind::Switch);
        let leaf = |index: u32| 2 * hosts + index;
        let link = |a, b| Link {
            a,
            b,
            rate: Rate::from_gbps(100),
            delay: Time::from_us(1),
        };
        let down = (0..2 * hosts).map(|host| link(host, leaf(host / hosts)));
        let up = (0..2 * spines).map(|it| link(leaf(it % 2), leaf(2 + it / 2)));
        Fabric {
            links: down.chain(up).collect(),
            nodes,
            ..Fabric::default()
        }
    }

    #[test]
    fn a_fabric_is_oversubscribed_with_more_hosts_than_uplinks() {
        let over = |fabric: &Fabric| {
            let (more, less) = oversubscription(fabric);
            more as f64 / less as f64
        };
        assert_eq!(over(&leaf_spine(4, 1)), 4.0);
        assert_eq!(over(&leaf_spine(4, 4)), 1.0);
        assert_eq!(over(&leaf_spine(4, 8)), 1.0);
        assert_eq!(over(&leaf_spine(4, 0)), 1.0, "no uplinks");
    }
}
