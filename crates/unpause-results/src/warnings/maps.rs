//! Maps by which a PAUSE stops another queue than the one that fills.

use unpause_import::classes::{Mismatch, mismatches};
use unpause_sim::config::{Config, NodeId, NodeKind, SwitchOverride};

use crate::run::Run;
use crate::warnings::in_force;
use crate::warnings::said::Foreseen;

/// For programs, as in [`crate::warnings::Warning`]; `unpause lint` has a rule of this name for switches' files.
pub const KIND: &str = "map-mismatch";

/// A part of each of its sentences about PAUSE that stops the wrong queue.
pub const SAYS: &str = " stops queue ";

/// A fault of the maps at the two ends of a link.
pub struct Fault {
    /// The switch whose map is likely wrong.
    pub switch: NodeId,
    /// The priority whose packets are not stopped.
    pub priority: u8,
    pub message: String,
    pub help: String,
}

/// What is wrong when `receiver` sends PAUSE to `sender`.
pub fn between(run: &Run, receiver: NodeId, sender: NodeId) -> Vec<Fault> {
    let config = &run.config;
    let is_host = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Host;
    let guarded = in_force::lossless(config, receiver);
    let used = config.data_priorities();
    let group = |class: u8| {
        let own = in_force::group(config, receiver, class);
        if is_host(receiver) { class } else { own }
    };
    let queue = |class: u8| {
        let own = in_force::queue(config, sender, class);
        if is_host(sender) { class } else { own }
    };
    let stopped = |priority: u8| {
        let own = in_force::stopped_queue(config, sender, priority);
        if is_host(sender) { priority } else { own }
    };
    let ends = (run.names.name(receiver), run.names.name(sender));
    let classes = || (0..8).filter(|class| used >> class & 1 == 1);
    let mut found = Vec::new();
    for priority in (0..8).filter(|it| guarded >> it & 1 == 1) {
        let maps = (|class| Some(group(class)), |class| Some(queue(class)));
        for fault in mismatches(classes(), maps, (priority, stopped(priority))) {
            match fault {
                Mismatch::Another { class } => {
                    let queues = (queue(class), stopped(priority));
                    found.push(another(
                        config,
                        (receiver, sender),
                        ends,
                        (class, priority),
                        queues,
                    ));
                }
                Mismatch::Unfed { class: Some(class) } if guarded >> group(class) & 1 == 0 => {
                    found.push(unfed(receiver, ends.0, class, group(class)));
                }
                Mismatch::Unfed { .. } | Mismatch::Stopped { .. } => {}
            }
        }
    }
    found
}

/// A group fills by packets that wait in another queue than the one that its PAUSE stops.
fn another(
    config: &Config,
    (receiver, sender): (NodeId, NodeId),
    (at, to): (&str, &str),
    (class, priority): (u8, u8),
    (waits, stopped): (u8, u8),
) -> Fault {
    let own_group = class != priority;
    let fills = match own_group {
        true => format!(", which count in group {priority} of {at},"),
        false => String::new(),
    };
    let message = format!(
        "PAUSE of priority {priority} from {at} stops queue {stopped} of {to}, but packets of priority {class}{fills} wait \
         there in queue {waits}: what fills {at} is not stopped"
    );
    let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
    let (switch, help) = if own_group && is_switch(receiver) {
        let help = format!("map {class} to {class} in tc_to_pg of the [[override]] of {at}");
        (receiver, help)
    } else if stopped != priority {
        (
            sender,
            format!("map {priority} to {waits} in pfc_to_queue of the [[override]] of {to}"),
        )
    } else {
        (
            sender,
            format!("map {class} to {stopped} in tc_to_queue of the [[override]] of {to}"),
        )
    };
    Fault {
        switch,
        priority: class,
        message,
        help,
    }
}

/// Packets of a priority with PFC count in a group without PFC.
fn unfed(switch: NodeId, at: &str, class: u8, group: u8) -> Fault {
    Fault {
        switch,
        priority: class,
        message: format!(
            "packets of priority {class} count in group {group} of {at}, which is lossy: {at} never sends PAUSE of \
             priority {class}, and drops what its queue cannot hold"
        ),
        help: format!(
            "map {class} to {class} in tc_to_pg of the [[override]] of {at}, or make group {group} lossless"
        ),
    }
}

/// Faults at the links of a run by which PAUSE can come, each once.
pub fn of(run: &Run) -> Vec<Foreseen> {
    let config = &run.config;
    let mut own = config.switch.overrides.iter();
    let has_maps = |it: &SwitchOverride| {
        it.to_queue.is_some() || it.to_group.is_some() || it.pfc_to_queue.is_some()
    };
    if config.switch.cbfc.is_some() || !own.any(has_maps) {
        return Vec::new();
    }
    let slow = config.host.slow_receiver.as_ref();
    let pauses = |node: NodeId| match config.fabric.nodes[node as usize] {
        NodeKind::Switch => !config.fabric.is_nvswitch(node),
        NodeKind::Host => slow.is_some_and(|it| it.hosts.contains(&node)),
    };
    let mut found: Vec<Foreseen> = Vec::new();
    let mut places = 0_usize;
    for link in &config.fabric.links {
        for (receiver, sender) in [(link.a, link.b), (link.b, link.a)] {
            let faults = match pauses(receiver) {
                true => between(run, receiver, sender),
                false => Vec::new(),
            };
            places += usize::from(!faults.is_empty());
            let new = faults.into_iter().map(|it| Foreseen {
                kind: KIND,
                message: it.message,
                help: it.help,
                key: in_force::path_of_override(config, it.switch, has_maps),
            });
            if found.is_empty() {
                found.extend(new);
            }
        }
    }
    if let Some(first) = found.first_mut()
        && places > 1
    {
        first.message += &format!("; so at {places} links");
    }
    found
}
