//! Requirements where packets of a flow take different paths.

use std::collections::BTreeSet;

use unpause_protocols::loss_recovery::Config as Recovery;
use unpause_protocols::spraying::{self, MOST_PATHS, bitmap};

use crate::config::invalid::Invalid;
use crate::config::{Balancing, Config, SwitchModel};
use crate::fabric::{Ecmp, Fabric, Link, NodeId, NodeKind};

const SPRAYING: &str = "host.spraying";
const BALANCING: &str = "switch.balancing";

/// Refuses hosts that cannot spray, and switches that cannot balance.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    if config.host.sprays() {
        check_hosts(config)?;
    }
    check_switches(config)
}

fn check_hosts(config: &Config) -> Result<(), Invalid> {
    if config.scheme.loss_recovery == Recovery::GoBackN {
        let message = "go-back-N treats packets that arrive out of order as lost";
        return Err(Invalid::new(SPRAYING, message)
            .label("packets of a flow take different paths")
            .and("scheme.loss_recovery", "go-back-N")
            .help("set loss_recovery = \"selective-repeat\" in the scheme, or remove `spraying`"));
    }
    if config.fabric.ecmp == Ecmp::Hpcc {
        let message = "the hash of HPCC's simulator knows flows, not packets";
        return Err(Invalid::new(SPRAYING, message)
            .label("it would give all packets of a flow one path")
            .help("remove `ecmp` of the topology, or `spraying`"));
    }
    let spraying = &config.host.spraying;
    let paths = spraying.paths();
    let most = match spraying {
        spraying::Config::Bitmap(_) => bitmap::MOST_PATHS,
        _ => MOST_PATHS,
    };
    let invalid = |label: String| {
        let message = format!("a flow cannot have {paths} entropy values");
        Err(Invalid::new("host.paths", message).label(label))
    };
    if !(2..=most).contains(&paths) {
        return invalid(format!("between 2 and {most}"));
    }
    if !paths.is_power_of_two() && !matches!(spraying, spraying::Config::Reps(_)) {
        return invalid(format!(
            "a power of two, such as {}",
            paths.next_power_of_two().min(most)
        ));
    }
    Ok(())
}

/// Refuses groups that are none, and Valiant's routing without them.
fn check_groups(config: &Config) -> Result<(), Invalid> {
    let groups = &config.fabric.groups;
    if let Some(message) = wrong_groups(&config.fabric) {
        return Err(Invalid::new("fabric.groups", message));
    }
    if config.switch.balancing != Balancing::Valiant {
        return Ok(());
    }
    let used: BTreeSet<u32> = groups.iter().copied().collect();
    let (message, label) = match used.len() {
        0 => (
            "Valiant's routing goes by groups of switches, and this topology has none",
            "there is no third group".to_owned(),
        ),
        few @ 1..=2 => (
            "Valiant's routing between two groups goes by a third one, and there is none",
            format!("the topology has {few} groups"),
        ),
        _ => return Ok(()),
    };
    Err(Invalid::new(BALANCING, message)
        .label(label)
        .help("use builder = \"dragonfly\" with three groups or more, or another `balancing`"))
}

/// The fault in the groups of a fabric, if there is one.
fn wrong_groups(fabric: &Fabric) -> Option<&'static str> {
    let (groups, nodes) = (&fabric.groups, fabric.nodes.len());
    if groups.is_empty() {
        return None;
    }
    if groups.len() != nodes {
        return Some("the group of each node is needed");
    }
    if groups.iter().any(|group| *group as usize >= nodes) {
        return Some("groups are numbered from 0, below the number of nodes");
    }
    let is_host = |node: NodeId| fabric.nodes[node as usize] == NodeKind::Host;
    let parts_host = |link: &Link| {
        fabric.group(link.a) != fabric.group(link.b) && (is_host(link.a) || is_host(link.b))
    };
    let parted = fabric.links.iter().any(parts_host);
    parted.then_some("a host must be in the group of its switches")
}

fn check_switches(config: &Config) -> Result<(), Invalid> {
    let balancing = &config.switch.balancing;
    check_groups(config)?;
    if *balancing != Balancing::Ecmp && config.fabric.ecmp == Ecmp::Hpcc {
        let message = "switches cannot choose by a hash and by another rule";
        return Err(Invalid::new(BALANCING, message)
            .label("no hash is used")
            .help("remove `ecmp` of the topology, or `balancing`"));
    }
    let Balancing::Adaptive(thresholds) = balancing else {
        return Ok(());
    };
    if let SwitchModel::InputQueued(model) = &config.switch.model
        && model.speedup_percent <= 100
    {
        let message = "frames do not wait at the outputs of this switch";
        return Err(Invalid::new(BALANCING, message)
            .label("so that all outputs look equally loaded")
            .help("set switch.input_queued.speedup = 2, or balancing = \"round-robin\""));
    }
    let min = ("switch.balancing_min", thresholds.min_bytes);
    let max = ("switch.balancing_max", thresholds.max_bytes);
    if min.1 <= max.1 {
        Ok(())
    } else {
        Err(Invalid::above(min, max))
    }
}
