//! Lossless packets that found no room beyond XOFF: why, and what their link needs.

use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{Config, Link, NodeKind, PfcThreshold, SwitchModel};
use unpause_sim::results::PortRecord;

use crate::text::setting::size;

/// Why the ingress of `port` dropped packets, and what helps.
pub(crate) fn why_dropped(config: &Config, port: &PortRecord) -> (String, String) {
    let Some(link) = link_of(config, port) else {
        return ("it has no link".to_owned(), String::new());
    };
    let needed = needs(config, link);
    if config.fabric.nodes[port.node as usize] == NodeKind::Host {
        return (
            format!("its receive buffer is full; {needed}"),
            "raise slow_receiver.buffer, or remove it: enough for all priorities is the default"
                .to_owned(),
        );
    }
    if config.fabric.is_nvswitch(port.node) {
        return (
            "an NVSwitch sends no PAUSE: what does not fit into XOFF and headroom of the ingress is dropped".to_owned(),
            "a window or a congestion control at the senders, or a larger pfc.xoff or pfc.headroom, keeps it from filling"
                .to_owned(),
        );
    }
    if let Some(own) = own(config, port) {
        let cause = format!(
            "headroom {} of its override is too small; {needed}",
            size(own)
        );
        let help = "set headroom of that [[override]] to that, or remove it";
        return (cause, help.to_owned());
    }
    shared_or_input(config, link, &needed)
}

/// The headroom that an override sets there.
fn own(config: &Config, port: &PortRecord) -> Option<u64> {
    let own = config.switch.overrides.iter().rev();
    let mut own = own.filter(|it| it.applies(port.node, port.port, port.priority));
    own.find_map(|it| it.headroom_bytes)
}

/// Why the ingress of a switch without an override there dropped packets.
fn shared_or_input(config: &Config, link: &Link, needed: &str) -> (String, String) {
    let switch = &config.switch;
    let queue_full = format!("its ingress queue is full; {needed}");
    let set = switch.pfc.headroom_bytes.map(size);
    let (cause, help) = match (&switch.model, set) {
        (SwitchModel::Pipeline(_), _) => (
            queue_full,
            "raise switch.pipeline.ingress_max, or lower ingress_xoff",
        ),
        (SwitchModel::Cioq(_), _) => (
            queue_full,
            "raise switch.cioq.input_buffer, or lower pfc.xoff",
        ),
        (SwitchModel::InputQueued(_), _) => (
            queue_full,
            "raise switch.input_queued.input_buffer, or lower pfc.xoff",
        ),
        (SwitchModel::SharedBuffer, _) if switch.pfc.headroom_pool_bytes.is_some() => (
            format!(
                "the shared headroom pool is exhausted, or the port's headroom is too small; {needed}"
            ),
            "raise pfc.headroom_pool, or remove it: then each port has its own",
        ),
        (SwitchModel::SharedBuffer, _) if !switch.pfc.headrooms.is_empty() => {
            let help = format!(
                "raise pfc.headroom.\"{}\", or remove pfc.headroom: this formula is the default",
                link.rate.to_string().replace(' ', "")
            );
            return (format!("its headroom is too small; {needed}"), help);
        }
        (SwitchModel::SharedBuffer, _) if switch.pfc.headroom_delays.is_some() => (
            format!("its headroom is too small; {needed}"),
            "raise pfc.headroom_delays, or remove it: this formula is the default",
        ),
        (SwitchModel::SharedBuffer, Some(set)) => (
            format!("headroom {set} is too small; {needed}"),
            "set pfc.headroom to that, or remove it: this formula is the default",
        ),
        (SwitchModel::SharedBuffer, None) if switch.buffer_bytes.is_none() => (
            format!("its headroom is full; {needed}"),
            "see max_ingress_bytes in table ports",
        ),
        (SwitchModel::SharedBuffer, None) => (
            format!("headroom is exhausted, the buffer is full; {needed}"),
            "raise switch.buffer, or remove it: enough for every port is the default",
        ),
    };
    (cause, help.to_owned())
}

/// What a link needs beyond XOFF, and by whose formula.
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

/// What the formula of IEEE 802.1Q gives for a link, in bytes.
pub(crate) fn needed(config: &Config, link: &Link) -> u64 {
    let framing = u64::from(config.fabric.framing_bytes);
    let mtu = u64::from(config.largest_frame_bytes());
    let reaction = config.switch.pfc.reaction;
    pfc::headroom(link.rate, link.delay, mtu + framing, 64 + framing, reaction)
}

fn link_of<'a>(config: &'a Config, port: &PortRecord) -> Option<&'a Link> {
    let at_node = config.fabric.links.iter();
    let mut at_node = at_node.filter(|link| link.a == port.node || link.b == port.node);
    at_node.nth(usize::from(port.port))
}
