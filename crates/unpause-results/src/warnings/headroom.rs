//! Lossless packets that found no room beyond XOFF: why, and what their link needs.

use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{
    Config, Link, NodeId, NodeKind, PfcThreshold, SwitchModel, WatchdogAction,
};
use unpause_sim::results::PortRecord;

use crate::run::measured::Measured;
use crate::warnings::in_force::{self, Place, crossing, needed};
use crate::warnings::maps;
use unpause_text::count::size;

/// Why the ingress of `port` dropped packets, and what helps.
pub fn why_dropped(measured: &Measured, port: &PortRecord) -> (String, String) {
    let config = &measured.run.config;
    let Some(link) = link_of(config, port) else {
        return ("it has no link".to_owned(), String::new());
    };
    let needs = needs(config, link);
    if config.fabric.is_nvswitch(port.node) && config.switch.nvlink_drops {
        return (
            "with switch.nvlink_drops an NVSwitch sends no PAUSE, and drops what does not fit into XOFF and headroom of the ingress".to_owned(),
            "without that key it drops nothing, as NVLink; a window at the senders keeps it from filling"
                .to_owned(),
        );
    }
    if let Some(said) = by_maps(measured, port).or_else(|| disobeyed(measured, port)) {
        return said;
    }
    if config.fabric.nodes[port.node as usize] == NodeKind::Host {
        return (
            format!("its receive buffer is full; {needs}"),
            "raise slow_receiver.buffer, or remove it: enough for all priorities is the default"
                .to_owned(),
        );
    }
    let queue_full = format!("its ingress queue is full; {needs}");
    let help = match config.switch.model {
        SwitchModel::SharedBuffer => return of_shared_buffer(measured, port, link),
        SwitchModel::Pipeline(_) => "raise switch.pipeline.ingress_max, or lower ingress_xoff",
        SwitchModel::Cioq(_) => "raise switch.cioq.input_buffer, or lower pfc.xoff",
        SwitchModel::InputQueued(_) => "raise switch.input_queued.input_buffer, or lower pfc.xoff",
    };
    (queue_full, help.to_owned())
}

/// Maps by which the PAUSE of the ingress stops another queue than the one that fills it.
fn by_maps(measured: &Measured, port: &PortRecord) -> Option<(String, String)> {
    let run = &measured.run;
    let peer = run.names.peers[port.node as usize][usize::from(port.port)];
    let mut faults = maps::between(run, port.node, peer).into_iter();
    let own = |priority: u8| in_force::group(&run.config, port.node, priority) == port.priority;
    let fault = faults.find(|it| it.priority == port.priority || own(it.priority))?;
    Some((fault.message, fault.help))
}

/// Senders that PAUSE does not stop overflow any headroom.
fn disobeyed(measured: &Measured, port: &PortRecord) -> Option<(String, String)> {
    let run = &measured.run;
    let (config, priority) = (&run.config, port.priority);
    let peer = run.names.peers[port.node as usize][usize::from(port.port)];
    let name = run.names.name(peer);
    if config.fabric.nodes[peer as usize] == NodeKind::Host {
        return config.host.ignores_pause.contains(&peer).then(|| {
            let cause =
                format!("{name} ignores PAUSE (host.ignore_pause): it may fill any headroom");
            (cause, format!("remove {name} from host.ignore_pause"))
        });
    }
    if in_force::lossless(config, peer) >> priority & 1 == 0 {
        let cause = format!(
            "{name} does not obey PAUSE of priority {priority} (lossless of its override): it may fill any headroom"
        );
        let help = format!("add {priority} to lossless of that [[override]]");
        return Some((cause, help));
    }
    let sends_on = measured.results.storms.iter().any(|it| {
        let is_theirs = it.node == peer && it.priority == priority;
        let to = run.names.peers[it.node as usize][usize::from(it.port)];
        is_theirs && to == port.node && it.action == WatchdogAction::Forward
    });
    sends_on.then(|| {
        let cause = format!(
            "the PFC watchdog of {name} sent on although it was paused (action = \"forward\"): it may fill any headroom"
        );
        let help = "set action = \"drop\" in [switch.watchdog], or see table storms for the cause of the pause";
        (cause, help.to_owned())
    })
}

/// Why the ingress of a switch with a shared buffer dropped packets.
fn of_shared_buffer(measured: &Measured, port: &PortRecord, link: &Link) -> (String, String) {
    let config = &measured.run.config;
    let place = Place {
        node: port.node,
        port: port.port,
        priority: port.priority,
    };
    let room = in_force::headroom(config, place, link);
    match room < needed(config, link) + crossing(config) {
        true => too_small(config, place, link),
        false => in_spite_of(measured, port, room, link),
    }
}

/// Headroom is less than the link needs.
fn too_small(config: &Config, place: Place, link: &Link) -> (String, String) {
    let needs = needs(config, link);
    let pfc = &config.switch.pfc;
    if pfc.headroom_pool_bytes.is_some() {
        let cause = format!(
            "the shared headroom pool is exhausted, or the port's headroom is too small; {needs}"
        );
        let help = "raise the port's headroom and pfc.headroom_pool, or remove both: enough for every port is the default";
        return (cause, help.to_owned());
    }
    if let Some(own) = in_force::own(config, place, |it| it.headroom_bytes) {
        let cause = format!(
            "headroom {} of its override is too small; {needs}",
            size(own)
        );
        let help = "set headroom of that [[override]] to that, or remove it";
        return (cause, help.to_owned());
    }
    let cause = format!("its headroom is too small; {needs}");
    if pfc.headroom_delays.is_some() {
        let help = "raise pfc.headroom_delays, or remove it: this formula is the default";
        return (cause, help.to_owned());
    }
    if !pfc.headrooms.is_empty() {
        let help = format!(
            "raise pfc.headroom.\"{}\", or remove pfc.headroom: this formula is the default",
            link.rate.to_string().replace(' ', "")
        );
        return (cause, help);
    }
    let cause = match pfc.headroom_bytes.map(size) {
        Some(set) => format!("headroom {set} is too small; {needs}"),
        None => cause,
    };
    let help = "set pfc.headroom to that, or remove it: this formula is the default";
    (cause, help.to_owned())
}

/// Headroom is enough for a sender that a PAUSE stops once and for all: what else was there, and what helps.
fn in_spite_of(measured: &Measured, port: &PortRecord, room: u64, link: &Link) -> (String, String) {
    let Measured { run, results, .. } = measured;
    let (config, pfc) = (&run.config, &run.config.switch.pfc);
    let peer = run.names.peers[port.node as usize][usize::from(port.port)];
    let peer = run.names.name(peer);
    let mut found: Vec<(String, &str)> = Vec::new();
    if let Some(pool) = pfc
        .headroom_pool_bytes
        .filter(|pool| *pool < all_headroom(config, port.node))
    {
        found.push((
            format!(
                "the headroom pool of {}, which all ports of the switch share, is exhausted",
                size(pool)
            ),
            "raise pfc.headroom_pool, or remove it: then each port has its own",
        ));
    }
    found.extend(expired(measured, port, peer));
    let losses = results.losses.iter().filter(|it| {
        let is_control = it.priority == config.host.control_priority;
        (it.node, it.port) == (port.node, port.port) && is_control
    });
    let lost: u64 = losses.map(|it| it.packets - it.data_packets).sum();
    if lost > 0 {
        found.push((
            format!("{lost} control frames to {peer} were lost, and XOFF may have been among them"),
            "table losses says where; after a lost XOFF its sender keeps sending until PAUSE is repeated",
        ));
    }
    if found.is_empty() && in_force::buffer(config, port.node).is_some() {
        found.push((
            "the buffer is full".to_owned(),
            "raise switch.buffer, or remove it: enough for every port is the default",
        ));
    }
    let needs = needs(config, link);
    if found.is_empty() {
        let cause = format!("its headroom of {} is full; {needs}", size(room));
        return (cause, "see max_ingress_bytes in table ports".to_owned());
    }
    let (causes, helps): (Vec<String>, Vec<&str>) = found.into_iter().unzip();
    let cause = format!(
        "{}; its own headroom of {} is not too small: {needs}",
        causes.join(", and "),
        size(room)
    );
    (cause, helps.join("; "))
}

/// PAUSE that ran out while the ingress was full.
fn expired(measured: &Measured, port: &PortRecord, peer: &str) -> Option<(String, &'static str)> {
    let Measured { run, results, .. } = measured;
    let params = &run.config.switch.pfc.params;
    let own = results.causes.iter().filter(|it| {
        (it.node, it.port, it.priority) == (port.node, port.port, port.priority) && it.expired
    });
    let times = own.filter(|it| it.dropped_packets > 0).count();
    let help = "set pfc.mode = \"standard\", which repeats PAUSE, or a longer pfc.pause_time";
    let rate = link_of(&run.config, port)?.rate;
    let pause = params.pause_duration(rate);
    match times {
        0 if run.config.probes.causes || params.mode != pfc::PauseMode::Once => None,
        0 => Some((
            format!(
                "PAUSE is not repeated (pfc.mode = \"once\"): {peer} sends on if XON has not come after {pause}"
            ),
            help,
        )),
        1 => Some((format!("PAUSE ran out at {peer}, which sent on"), help)),
        _ => Some((
            format!("PAUSE ran out at {peer} {times} times, and {peer} sent on"),
            help,
        )),
    }
}

/// The bytes that a link needs beyond XOFF, and by whose formula.
fn needs(config: &Config, link: &Link) -> String {
    let frame = config.largest_frame_bytes() + config.fabric.framing_bytes;
    let crosses = match config.switch.pfc.threshold {
        PfcThreshold::Reserved { .. } => {
            format!(", and with pfc.reserve {frame}B more for the frame that crosses it")
        }
        _ => String::new(),
    };
    format!(
        "by IEEE 802.1Q this link needs {} beyond XOFF (cable {}, frames {frame}B, reaction {}){crosses}",
        size(needed(config, link)),
        link.delay,
        config.switch.pfc.reaction,
    )
}

/// The headroom of all ports of a switch together.
fn all_headroom(config: &Config, node: NodeId) -> u64 {
    let used = in_force::lossless(config, node) & config.data_priorities();
    let links = config.fabric.links.iter();
    let own = links.filter(|link| link.a == node || link.b == node);
    let each = (0..).zip(own).flat_map(|(port, link)| {
        let used = (0..8).filter(|priority| used >> priority & 1 == 1);
        used.map(move |priority| {
            let at = Place {
                node,
                port,
                priority,
            };
            in_force::headroom(config, at, link)
        })
    });
    each.sum()
}

fn link_of<'a>(config: &'a Config, port: &PortRecord) -> Option<&'a Link> {
    let at_node = config.fabric.links.iter();
    let mut at_node = at_node.filter(|link| link.a == port.node || link.b == port.node);
    at_node.nth(usize::from(port.port))
}
