//! Settings in force at a switch or at a place in it: those of the last override that has them, else those of the file.

use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{Config, Link, NodeId, PfcThreshold, PortId, SwitchOverride};

/// A priority at a port of a node.
#[derive(Clone, Copy)]
pub struct Place {
    pub node: NodeId,
    pub port: PortId,
    pub priority: u8,
}

/// The setting of the last override that applies to the place.
pub fn own<T>(
    config: &Config,
    at: Place,
    setting: impl Fn(&SwitchOverride) -> Option<T>,
) -> Option<T> {
    let own = config.switch.overrides.iter().rev();
    let mut own = own.filter(|it| it.applies(at.node, at.port, at.priority));
    own.find_map(setting)
}

/// The same of a whole switch.
fn of_switch<T>(
    config: &Config,
    node: NodeId,
    setting: impl Fn(&SwitchOverride) -> Option<T>,
) -> Option<T> {
    let own = config.switch.overrides.iter().rev();
    let mut own = own.filter(|it| !it.is_of_some() && it.switches.contains(&node));
    own.find_map(setting)
}

/// Bit p set: priority p has PFC at this switch.
pub fn lossless(config: &Config, node: NodeId) -> u8 {
    let all = config.switch.lossless;
    of_switch(config, node, |it| it.lossless).map_or(all, |own| own & all)
}

/// Path of the last override that has the setting and applies to a switch.
pub fn path_of_override(
    config: &Config,
    node: NodeId,
    has: impl Fn(&SwitchOverride) -> bool,
) -> Vec<String> {
    let sets = |it: &SwitchOverride| it.switches.contains(&node) && has(it);
    let found = config.switch.overrides.iter().rposition(sets);
    let path = found.map(|number| vec!["override".to_owned(), number.to_string()]);
    path.unwrap_or_default()
}

/// Packet memory of a switch, if it is limited.
pub fn buffer(config: &Config, node: NodeId) -> Option<u64> {
    of_switch(config, node, |it| it.buffer_bytes).or(config.switch.buffer_bytes)
}

/// Largest queue of a lossy priority at a switch with a shared buffer.
pub fn lossy_queue(config: &Config, node: NodeId) -> u64 {
    let all = config.switch.lossy_queue_bytes;
    of_switch(config, node, |it| it.lossy_queue_bytes).unwrap_or(all)
}

/// The priority in whose egress queue packets of a priority wait.
pub fn queue(config: &Config, node: NodeId, priority: u8) -> u8 {
    let map = of_switch(config, node, |it| it.to_queue);
    map.map_or(priority, |map| map[usize::from(priority)])
}

/// The priority in whose group packets of a priority count at their ingress.
pub fn group(config: &Config, node: NodeId, priority: u8) -> u8 {
    let map = of_switch(config, node, |it| it.to_group);
    map.map_or(priority, |map| map[usize::from(priority)])
}

/// The priority whose egress queue a PAUSE of a priority stops.
pub fn stopped_queue(config: &Config, node: NodeId, priority: u8) -> u8 {
    let map = of_switch(config, node, |it| it.pfc_to_queue);
    map.map_or(priority, |map| map[usize::from(priority)])
}

/// XOFF and XON, if they are fixed.
pub fn fixed(config: &Config, at: Place) -> Option<(u64, u64)> {
    let PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    } = config.switch.pfc.threshold
    else {
        return None;
    };
    Some(own(config, at, |it| it.fixed).unwrap_or((xoff_bytes, xon_bytes)))
}

/// The shift of XOFF at an end of `link`, if it is a share of the free buffer.
pub fn shift(config: &Config, at: Place, link: &Link) -> Option<i32> {
    let same = match config.switch.pfc.threshold {
        PfcThreshold::Static { .. } => return None,
        PfcThreshold::Dynamic { shift, .. } | PfcThreshold::Reserved { shift, .. } => shift,
    };
    let mut by_rate = config.switch.pfc.shifts.iter();
    let by_rate = by_rate.find(|(rate, _)| *rate == link.rate);
    let by_rate = by_rate.map_or(same, |(_, shift)| *shift);
    Some(own(config, at, |it| it.shift).unwrap_or(by_rate))
}

/// Headroom at an end of `link`, with what switches add for a frame that crosses a dynamic threshold.
pub fn headroom(config: &Config, at: Place, link: &Link) -> u64 {
    let pfc = &config.switch.pfc;
    let by_rate = pfc.headrooms.iter().find(|(rate, _)| *rate == link.rate);
    let written = own(config, at, |it| it.headroom_bytes)
        .or_else(|| Some(link.rate.bytes_in(link.delay) * u64::from(pfc.headroom_delays?)))
        .or(by_rate.map(|(_, bytes)| *bytes))
        .or(pfc.headroom_bytes);
    match (written, pfc.threshold) {
        // Whoever sets headroom beside a reserve, means it to the byte.
        (Some(bytes), PfcThreshold::Static { .. } | PfcThreshold::Reserved { .. }) => bytes,
        (Some(bytes), PfcThreshold::Dynamic { .. }) => bytes + crossing(config),
        (None, _) => needed(config, link) + crossing(config),
    }
}

/// The additional bytes of a dynamic threshold: room for the frame that crosses it.
pub fn crossing(config: &Config) -> u64 {
    match config.switch.pfc.threshold {
        PfcThreshold::Static { .. } => 0,
        PfcThreshold::Dynamic { .. } | PfcThreshold::Reserved { .. } => {
            u64::from(config.largest_frame_bytes()) + u64::from(config.fabric.framing_bytes)
        }
    }
}

/// The bytes that the formula of IEEE 802.1Q gives for a link.
pub fn needed(config: &Config, link: &Link) -> u64 {
    let framing = u64::from(config.fabric.framing_bytes);
    let mtu = u64::from(config.largest_frame_bytes());
    let reaction = config.switch.pfc.reaction;
    pfc::headroom(link.rate, link.delay, mtu + framing, 64 + framing, reaction)
}
