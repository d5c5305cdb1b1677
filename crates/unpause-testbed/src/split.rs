//! Which nodes are apart, and so which links are wires.

use unpause_protocols::congestion_control::Settings as _;
use unpause_sim::config::{
    Config, Fabric, NodeId, NodeKind, SchemeConfig, SwitchConfig, SwitchModel,
};
use unpause_sim::traffic::Transport;

/// Shards at most: each is a network namespace.
const MOST_SHARDS: usize = 1024;

/// Why nodes cannot be taken apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// A CIOQ fabric is one node.
    #[error("a CIOQ fabric is one node: what crosses it never leaves the simulator")]
    Cioq,
    /// Telemetry that switches write into packets travels beside them.
    #[error("what switches write into packets for the congestion control is in no frame")]
    Telemetry,
    /// Pulls and requests to send are no packets of RoCEv2.
    #[error("credits of receivers are in no frame")]
    Credits,
    /// Links fail and return between windows of the simulator, which carries no frames then.
    #[error(
        "links that fail and return are simulated; here frames go over every link all the time"
    )]
    Events,
    /// Ranks of jobs are at hosts of the simulator.
    #[error("jobs are simulated: over frames, only flows of [[traffic]] are sent")]
    Jobs,
    /// Flows of RoCE and TCP are what frames carry.
    #[error("UDP is simulated: over frames, flows are RoCE or TCP")]
    Udp,
    /// Updates of credits are inserted into frames.
    #[error("credits of links are simulated: no frame carries their updates")]
    Cbfc,
    /// Frame numbers and answers of link-level retry are in no frame.
    #[error("link-level retry is simulated: no frame carries its answers")]
    Retry,
    /// Frames name hosts by one address.
    #[error("host {host} has several links: with real frames, a host must have one")]
    Links {
        /// Index of the host.
        host: NodeId,
    },
    /// Link `link` has the same nodes at both ends by another way.
    #[error(
        "link {link} alone takes nothing apart: its ends are joined by links that are not named"
    )]
    Joined {
        /// Index of the link.
        link: usize,
    },
    /// More network namespaces than make sense.
    #[error("{found} shards of nodes, more than {MOST_SHARDS}")]
    TooMany {
        /// Shares.
        found: usize,
    },
}

/// Which shard each node is in; links between shards are wires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// By node.
    pub shard_of: Vec<u16>,
    /// How many shards there are.
    pub shards: usize,
    /// Indices of the links that are wires.
    pub wires: Vec<usize>,
}

impl Split {
    /// Every link is a wire, or those that `named` names by their index.
    ///
    /// # Errors
    ///
    /// [`SplitError`].
    pub fn new(config: &Config, named: Option<&[usize]>) -> Result<Self, SplitError> {
        check(config)?;
        let is_host = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Host;
        let links = config.fabric.links.iter();
        let ends = links.flat_map(|link| [link.a, link.b]);
        let mut ends: Vec<NodeId> = ends.filter(|node| is_host(*node)).collect();
        ends.sort_unstable();
        if let Some(pair) = ends.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SplitError::Links { host: pair[0] });
        }
        Self::of(&config.fabric, named)
    }

    fn of(fabric: &Fabric, named: Option<&[usize]>) -> Result<Self, SplitError> {
        let mut root: Vec<NodeId> = (0..fabric.nodes.len() as NodeId).collect();
        if let Some(named) = named {
            for (index, link) in fabric.links.iter().enumerate() {
                if !named.contains(&index) {
                    let (a, b) = (find(&mut root, link.a), find(&mut root, link.b));
                    root[a as usize] = b;
                }
            }
        }
        let mut numbers = vec![None; root.len()];
        let mut shards = 0;
        let mut shard_of = Vec::with_capacity(root.len());
        for node in 0..root.len() as NodeId {
            let at = find(&mut root, node) as usize;
            let shard = *numbers[at].get_or_insert_with(|| {
                shards += 1;
                shards - 1
            });
            shard_of.push(shard as u16);
        }
        if shards > MOST_SHARDS {
            return Err(SplitError::TooMany { found: shards });
        }
        let apart = |index: &usize| {
            let link = &fabric.links[*index];
            shard_of[link.a as usize] != shard_of[link.b as usize]
        };
        let wires: Vec<usize> = (0..fabric.links.len()).filter(apart).collect();
        if let Some(&link) = named.and_then(|named| named.iter().find(|it| !wires.contains(it))) {
            return Err(SplitError::Joined { link });
        }
        Ok(Self {
            shard_of,
            shards,
            wires,
        })
    }
}

/// Refuses what no frame carries. Each field of a configuration is named here: a new one does not compile until somebody has
/// decided whether frames carry it.
fn check(config: &Config) -> Result<(), SplitError> {
    let Config {
        fabric: _,
        host: _,
        switch,
        scheme,
        traffic: _,
        following: _,
        jitters: _,
        jobs,
        probes: _,
        seed: _,
        events,
        stop: _,
        skipping: _,
    } = config;
    let SwitchConfig {
        model,
        cut_through_bytes: _,
        lossless: _,
        pfc: _,
        buffer_bytes: _,
        queueing: _,
        balancing: _,
        lossy_queue_bytes: _,
        lossy_shift: _,
        lossy_queue_packets: _,
        scheduler: _,
        trimming: _,
        cbfc,
        retry,
        overrides: _,
        watchdog: _,
        nvlink_drops: _,
    } = switch;
    let SchemeConfig {
        congestion_point: _,
        congestion_points: _,
        notification_point: _,
        roce,
        tcp: _,
        tcp_of_entry: _,
        loss_recovery: _,
        credits,
    } = scheme;
    let refused = [
        (matches!(model, SwitchModel::Cioq(_)), SplitError::Cioq),
        (roce.reads_telemetry(), SplitError::Telemetry),
        (credits.is_some(), SplitError::Credits),
        (!events.is_empty(), SplitError::Events),
        (!jobs.is_empty(), SplitError::Jobs),
        (cbfc.is_some(), SplitError::Cbfc),
        (retry.is_some(), SplitError::Retry),
        (config.uses(Transport::Udp), SplitError::Udp),
    ];
    match refused.into_iter().find(|(is_there, _)| *is_there) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

fn find(root: &mut [NodeId], mut node: NodeId) -> NodeId {
    while root[node as usize] != node {
        root[node as usize] = root[root[node as usize] as usize];
        node = root[node as usize];
    }
    node
}

#[cfg(test)]
mod tests {
    use super::*;
    use unpause_protocols::units::{Rate, Time};
    use unpause_sim::config::{Ecmp, Link, NodeKind};

    /// H0 and H1 at S2, H3 at S4, and two links between the switches.
    fn fabric() -> Fabric {
        let link = |a, b| Link {
            a,
            b,
            rate: Rate::from_gbps(10),
            delay: Time::from_us(1),
        };
        use NodeKind::{Host, Switch};
        Fabric {
            nodes: vec![Host, Host, Switch, Host, Switch],
            links: vec![link(0, 2), link(1, 2), link(3, 4), link(2, 4), link(2, 4)],
            framing_bytes: 20,
            ecmp: Ecmp::default(),
            nvswitches: Vec::new(),
            groups: Vec::new(),
        }
    }

    fn split(named: Option<&[usize]>) -> Result<Split, SplitError> {
        Split::of(&fabric(), named)
    }

    #[test]
    fn all_links_or_those_named_are_wires() {
        let all = split(None).expect("it can be split");
        assert_eq!((all.shards, all.wires.len()), (5, 5));
        let one = split(Some(&[0])).expect("it can be split");
        assert_eq!((one.shard_of, one.wires), (vec![0, 1, 1, 1, 1], vec![0]));
        let both = split(Some(&[3, 4])).expect("it can be split");
        assert_eq!(both.shard_of, [0, 0, 0, 1, 1]);
        assert_eq!(split(Some(&[3])), Err(SplitError::Joined { link: 3 }));
    }
}
