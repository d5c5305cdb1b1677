//! Lossless packets that found no room beyond XOFF: why, and what their link needs.

use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{
    Config, Link, NodeId, NodeKind, PfcThreshold, SwitchModel, WatchdogAction,
};
use unpause_sim::results::PortRecord;

use crate::run::Run;
use crate::run::measured::Measured;
use crate::warnings::buffers::Switches;
use crate::warnings::in_force::{self, Place, crossing, needed};
use crate::warnings::maps;
use crate::warnings::room;
use unpause_text::count::{size, size_at_least};

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
        return receive_buffer(config, link);
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

/// The receive buffer of a host is full: its size, XOFF in it, and the size that is enough for all priorities.
fn receive_buffer(config: &Config, link: &Link) -> (String, String) {
    let needs = needs(config, link);
    let slow = config.host.slow_receiver.as_ref();
    let Some((slow, bytes)) = slow.and_then(|it| Some((it, it.buffer_bytes?))) else {
        return (
            format!("its receive buffer is full; {needs}"),
            String::new(),
        );
    };
    let frame = u64::from(config.largest_frame_bytes());
    let each = slow.xoff_bytes + frame + needed(config, link);
    // As much is for all that is not lossless.
    let enough = each.saturating_mul(u64::from(config.switch.lossless.count_ones()) + 1);
    let cause = format!(
        "slow_receiver.buffer {} was full, with XOFF at {} of a priority; {needs}",
        size(bytes),
        size(slow.xoff_bytes)
    );
    let help = format!(
        "raise slow_receiver.buffer to {} or more, or remove it: enough for all priorities is the default",
        size_at_least(enough)
    );
    (cause, help)
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
        true => too_small(&measured.run, place, link),
        false => in_spite_of(measured, port, room, link),
    }
}

/// Headroom is less than the link needs.
fn too_small(run: &Run, place: Place, link: &Link) -> (String, String) {
    let config = &run.config;
    let (name, raise, remove) = enough(config, place, link);
    let more = larger_buffer(run, place.node);
    let needs = needs(config, link);
    if config.switch.pfc.headroom_pool_bytes.is_some() {
        let cause =
            format!("the shared headroom pool is exhausted, or {name} is too small; {needs}");
        let pool = size_at_least(room::largest(config));
        let help = format!("{raise}, and pfc.headroom_pool to {pool} or more{more}");
        return (cause, help);
    }
    let default = match more.is_empty() {
        true => format!(", or remove {remove}: this formula is the default"),
        // Without the key, headroom of this size does not fit, either.
        false => String::new(),
    };
    let cause = format!("{name} is too small; {needs}");
    (cause, format!("{raise}{more}{default}"))
}

/// The setting of headroom in force, with its value; advice to raise it so that it is enough for each link that it is of; and
/// what to remove instead.
fn enough(config: &Config, place: Place, link: &Link) -> (String, String, &'static str) {
    let pfc = &config.switch.pfc;
    let all = config.fabric.links.iter();
    if let Some(own) = in_force::own(config, place, |it| it.headroom_bytes) {
        let of = |port| in_force::own(config, Place { port, ..place }, |it| it.headroom_bytes);
        let ports = room::ports(config, place.node);
        let same = ports.filter(|(port, _)| of(*port) == Some(own));
        let bytes = for_all(config, same.map(|(_, link)| link));
        return (
            format!("headroom {} of its override", size(own)),
            format!("set headroom of that [[override]] to {bytes} or more"),
            "it",
        );
    }
    if let Some(delays) = pfc.headroom_delays {
        let delays_of = |link: &Link| {
            let each = link.rate.bytes_in(link.delay).max(1);
            room::headroom_to_write(config, link).div_ceil(each)
        };
        let most = all.map(delays_of).max().unwrap_or(0);
        return (
            format!("headroom of pfc.headroom_delays = {delays}"),
            format!("raise pfc.headroom_delays to {most} or more"),
            "it",
        );
    }
    if pfc.headrooms.iter().any(|(rate, _)| *rate == link.rate) {
        let rate = link.rate.to_string().replace(' ', "");
        let bytes = for_all(config, all.filter(|it| it.rate == link.rate));
        return (
            format!("headroom for {rate}"),
            format!("raise pfc.headroom.\"{rate}\" to {bytes} or more"),
            "pfc.headroom",
        );
    }
    let name = match pfc.headroom_bytes {
        Some(written) => format!("headroom {}", size(written)),
        None => "its headroom".to_owned(),
    };
    let raise = format!("set pfc.headroom to {} or more", for_all(config, all));
    (name, raise, "it")
}

/// The headroom to write for all of these links.
fn for_all<'a>(config: &Config, links: impl Iterator<Item = &'a Link>) -> String {
    let each = links.map(|link| room::headroom_to_write(config, link));
    size_at_least(each.max().unwrap_or(0))
}

/// Advice to raise the buffer of a switch with its headroom, where both together would not fit.
fn larger_buffer(run: &Run, node: NodeId) -> String {
    let config = &run.config;
    let Some(buffer) = in_force::buffer(config, node) else {
        return String::new();
    };
    let key = match config.switch.buffer_bytes == Some(buffer) {
        true => "switch.buffer",
        false => "buffer of its override",
    };
    let enough = match (config.switch.pfc.threshold, Switches::of(run)) {
        (PfcThreshold::Static { .. }, Some(switches)) => switches.enough(node),
        // What queues share stays as it is.
        _ => {
            let headroom = |is_enough| room::all_headroom(config, node, is_enough);
            let shared = buffer.saturating_sub(headroom(false));
            shared.saturating_add(headroom(true))
        }
    };
    match enough > buffer {
        true => format!(", and {key} to {} or more", size_at_least(enough)),
        false => String::new(),
    }
}

/// Headroom is enough for a sender that a PAUSE stops once and for all: what else was there, and what helps.
fn in_spite_of(measured: &Measured, port: &PortRecord, room: u64, link: &Link) -> (String, String) {
    let Measured { run, results, .. } = measured;
    let (config, pfc) = (&run.config, &run.config.switch.pfc);
    let peer = run.names.peers[port.node as usize][usize::from(port.port)];
    let peer = run.names.name(peer);
    let mut found: Vec<(String, String)> = Vec::new();
    if let Some(pool) = pfc
        .headroom_pool_bytes
        .filter(|pool| *pool < room::all_headroom(config, port.node, false))
    {
        found.push((
            format!(
                "the headroom pool of {}, which all ports of the switch share, is exhausted",
                size(pool)
            ),
            format!(
                "raise pfc.headroom_pool to {} or more, or remove it: then each port has its own",
                size_at_least(room::largest(config))
            ),
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
            "table losses says where; after a lost XOFF its sender keeps sending until PAUSE is repeated"
                .to_owned(),
        ));
    }
    if found.is_empty() && in_force::buffer(config, port.node).is_some() {
        found.push((
            "the buffer is full".to_owned(),
            match larger_buffer(run, port.node).strip_prefix(", and ") {
                Some(more) => format!("raise {more}"),
                None => "raise switch.buffer, or remove it: enough for every port is the default"
                    .to_owned(),
            },
        ));
    }
    let needs = needs(config, link);
    if found.is_empty() {
        let cause = format!("its headroom of {} is full; {needs}", size(room));
        return (cause, "see max_ingress_bytes in table ports".to_owned());
    }
    let (causes, helps): (Vec<String>, Vec<String>) = found.into_iter().unzip();
    let cause = format!(
        "{}; its own headroom of {} is not too small: {needs}",
        causes.join(", and "),
        size(room)
    );
    (cause, helps.join("; "))
}

/// PAUSE that ran out while the ingress was full.
fn expired(measured: &Measured, port: &PortRecord, peer: &str) -> Option<(String, String)> {
    let Measured { run, results, .. } = measured;
    let params = &run.config.switch.pfc.params;
    let own = results.causes.iter().filter(|it| {
        (it.node, it.port, it.priority) == (port.node, port.port, port.priority) && it.expired
    });
    let times = own.filter(|it| it.dropped_packets > 0).count();
    let help =
        "set pfc.mode = \"standard\", which repeats PAUSE, or a longer pfc.pause_time".to_owned();
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
        size_at_least(needed(config, link)),
        link.delay,
        config.switch.pfc.reaction,
    )
}

fn link_of<'a>(config: &'a Config, port: &PortRecord) -> Option<&'a Link> {
    let at_node = config.fabric.links.iter();
    let mut at_node = at_node.filter(|link| link.a == port.node || link.b == port.node);
    at_node.nth(usize::from(port.port))
}
