//! What a configuration must keep to be run.

use unpause_protocols::units::Time;

use crate::config::{
    CioqConfig, Config, InputQueuedConfig, InputQueues, MOST_CROSSBAR_PORTS, PfcThreshold,
    SwitchModel,
};
use crate::fabric::{NodeId, NodeKind, PRIORITIES};
use crate::invalid::{Invalid, Subject};
use crate::packet::MIN_FRAME_BYTES;
use crate::traffic::{ExtraDelay, TrafficSpec, Transport};

/// The field at fault where there is no payload, or payload and header together are too many bytes.
fn larger(payload: (&'static str, u32), header: (&'static str, u32)) -> &'static str {
    if payload.1 > 0 && header.1 > payload.1 {
        return header.0;
    }
    payload.0
}

fn check_tcp(config: &Config) -> Result<(), Invalid> {
    let tcp = &config.host.tcp;
    let law = &tcp.recovery;
    if law.mss == 0 || law.mss.saturating_add(tcp.header_bytes) > u32::from(u16::MAX) {
        let field = larger(
            ("host.tcp.recovery.mss", law.mss),
            ("host.tcp.header_bytes", tcp.header_bytes),
        );
        let message = "a TCP segment must have a payload and at most 65535 bytes";
        return Err(Invalid::new(field, message));
    }
    if law.initial_window == 0 {
        return Err(Invalid::new(
            "host.tcp.recovery.initial_window",
            "TCP's initial window must be 1 segment or more",
        ));
    }
    if law.rto.min == Time::ZERO || law.rto.max < law.rto.min {
        return Err(Invalid::new(
            "host.tcp.recovery.min_rto",
            "TCP's least timeout must be above zero, and at most the longest",
        ));
    }
    if tcp.syn_timeout == Time::ZERO || tcp.syn_tries == 0 {
        return Err(Invalid::new(
            "host.tcp.syn_timeout",
            "TCP needs a SYN to send, and a time to wait for its answer",
        ));
    }
    if tcp
        .delayed_ack
        .is_some_and(|ack| ack.every == 0 || ack.timeout == Time::ZERO)
    {
        return Err(Invalid::new(
            "host.tcp.delayed_ack",
            "a delayed ACK needs a number of segments and a time above zero",
        ));
    }
    if tcp.buffer_bytes < u64::from(law.mss) || tcp.buffer_bytes > 1 << 30 {
        return Err(Invalid::new(
            "host.tcp.buffer_bytes",
            "TCP's buffer must hold a segment, and at most 1 GiB",
        ));
    }
    if let Some(tags) = &tcp.tags {
        let out_of_range = |priority: &&u8| usize::from(**priority) >= PRIORITIES;
        if let Some(priority) = tags.priorities.iter().find(out_of_range) {
            let message = format!("priority {priority} is not within 0 to 7");
            return Err(Invalid::new("host.tcp.tags.priorities", message));
        }
        if tags.priorities.is_empty() {
            return Err(Invalid::new(
                "host.tcp.tags.priorities",
                "tags need a priority for each level",
            ));
        }
    }
    Ok(())
}

/// Every delay that is to be drawn has something to be drawn from.
fn check_delays(config: &Config) -> Result<(), Invalid> {
    let known = config.host.extra_delays.len();
    let check = |delay: ExtraDelay| match delay {
        ExtraDelay::Drawn(from) if usize::from(from) >= known => {
            let message = format!("there is no distribution {from} of extra delays");
            Err(Invalid::new("host.extra_delays", message))
        }
        _ => Ok(()),
    };
    for spec in &config.traffic {
        match spec {
            TrafficSpec::Flows(flows) => flows.iter().try_for_each(|f| check(f.extra_delay))?,
            generated => generated
                .settings()
                .map_or(Ok(()), |f| check(f.extra_delay))?,
        }
    }
    Ok(())
}

/// Checks the links, and counts those of each node.
fn check_links(config: &Config) -> Result<Vec<u32>, Invalid> {
    let invalid = |subject, message: &str| Err(Invalid::new("fabric.links", message).of(subject));
    let kinds = &config.fabric.nodes;
    let mut links_of = vec![0u32; kinds.len()];
    for (index, link) in config.fabric.links.iter().enumerate() {
        let subject = Subject::Link(index);
        let ends = [link.a, link.b].map(|node| node as usize);
        if ends.iter().any(|node| *node >= kinds.len()) || link.a == link.b {
            return invalid(subject, "does not join two nodes");
        }
        if link.rate.ps_per_byte().is_none() {
            let rate = link.rate;
            let message = format!("has {rate}, at which a byte lasts no whole number of ps");
            return invalid(subject, &message);
        }
        if link.delay == Time::ZERO {
            return invalid(subject, "has no delay");
        }
        if ends.iter().all(|node| kinds[*node] == NodeKind::Host) {
            return invalid(subject, "joins two hosts; put a switch between them");
        }
        for node in ends {
            links_of[node] += 1;
        }
    }
    for ((kind, links), node) in kinds.iter().zip(&links_of).zip(0..) {
        if *kind == NodeKind::Host && *links != 1 {
            let message = format!("has {links} links, expected 1");
            return invalid(Subject::Host(node), &message);
        }
        if *links > u32::from(u16::MAX) {
            return invalid(Subject::Switch(node), "has more than 65535 links");
        }
    }
    Ok(links_of)
}

/// What the engine relies on.
///
/// # Errors
///
/// The field at fault, and why.
pub(super) fn check(config: &Config) -> Result<(), Invalid> {
    check_delays(config)?;
    if config.uses(Transport::Tcp) {
        check_tcp(config)?;
    }
    let links_of = check_links(config)?;
    let (payload, header) = (config.host.payload_bytes, config.host.header_bytes);
    if payload == 0 || payload.saturating_add(header) > u32::from(u16::MAX) {
        let field = larger(
            ("host.payload_bytes", payload),
            ("host.header_bytes", header),
        );
        let message = "a frame must have a payload and at most 65535 bytes";
        return Err(Invalid::new(field, message));
    }
    if usize::from(config.host.control_priority) >= PRIORITIES {
        return Err(Invalid::new(
            "host.control_priority",
            "the control priority must be 0 to 7",
        ));
    }
    if config.switch.lossless >> config.host.control_priority & 1 == 1 {
        return Err(Invalid::new(
            "switch.lossless",
            "the control priority must not be lossless: it is never paused",
        ));
    }
    if let PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    } = config.switch.pfc.threshold
        && xon_bytes > xoff_bytes
    {
        let message = format!("XON ({xon_bytes} B) is above XOFF ({xoff_bytes} B)");
        return Err(Invalid::new("switch.pfc.xon", message));
    }
    if config.stop == Time::ZERO || config.stop.is_never() {
        return Err(Invalid::new("stop", "the run needs an end above zero"));
    }
    for &(node, port) in config.probes.ports.iter().chain(&config.probes.packets) {
        if links_of
            .get(node as usize)
            .is_none_or(|&links| u32::from(port) >= links)
        {
            let message = format!("there is no port {port} of node {node} to probe");
            return Err(Invalid::new("probes.ports", message));
        }
    }
    if config.probes.interval == Time::ZERO {
        return Err(Invalid::new(
            "probes.interval",
            "the sampling interval must be above zero",
        ));
    }
    if let Some(flows) = config.probes.flow_interval
        && (flows == Time::ZERO || !flows.as_ps().is_multiple_of(config.probes.interval.as_ps()))
    {
        return Err(Invalid::new(
            "probes.flow_interval",
            "flows must be sampled at a multiple of the sampling interval",
        ));
    }
    if let Some(probe) = config.probes.deadlock
        && probe.interval == Time::ZERO
    {
        return Err(Invalid::new(
            "probes.deadlock",
            "the interval between looks for a deadlock must be above zero",
        ));
    }
    if config.host.ack_every == 0 {
        return Err(Invalid::new(
            "host.ack_every",
            "a receiver must acknowledge every 1 or more packets",
        ));
    }
    check_model(config, &links_of)
}

/// Checks what the switch model needs of a configuration.
fn check_model(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    match &config.switch.model {
        SwitchModel::SharedBuffer | SwitchModel::Pipeline(_) => Ok(()),
        SwitchModel::Cioq(cioq) => check_cioq(config, cioq),
        SwitchModel::InputQueued(model) => check_input_queued(config, model, links_of),
    }
}

/// The largest number of hosts: the fabric keeps a queue for each pair of them.
const MOST_HOSTS: usize = 2048;

/// Checks that no crossbar has more ports than its arbiters can hold.
fn check_crossbar_ports(config: &Config, links_of: &[u32]) -> Result<(), Invalid> {
    let mut ports = (0..).zip(config.fabric.nodes.iter().zip(links_of));
    let is_too_large = |&(_, (kind, links)): &(NodeId, (&NodeKind, &u32))| {
        *kind == NodeKind::Switch && *links as usize > MOST_CROSSBAR_PORTS
    };
    if let Some((node, (_, links))) = ports.find(is_too_large) {
        let message =
            format!("has {links} ports, an input-queued switch at most {MOST_CROSSBAR_PORTS}");
        return Err(Invalid::new("switch.model", message).of(Subject::Switch(node)));
    }
    Ok(())
}

/// Checks what an input-queued switch needs of a configuration.
fn check_input_queued(
    config: &Config,
    model: &InputQueuedConfig,
    links_of: &[u32],
) -> Result<(), Invalid> {
    let frame = u64::from(config.largest_frame_bytes().max(MIN_FRAME_BYTES));
    let PfcThreshold::Static { xoff_bytes, .. } = config.switch.pfc.threshold else {
        return Err(Invalid::new(
            "switch.pfc.dynamic_shift",
            "an input-queued switch needs a static XOFF",
        ));
    };
    check_crossbar_ports(config, links_of)?;
    let invalid = |key, message: String| Err(Invalid::new(key, message));
    if model.queues == (InputQueues::Voq { iterations: 0 }) {
        return invalid(
            "switch.input_queued.iterations",
            "iSLIP needs an iteration or more".into(),
        );
    }
    if model.cell_bytes == 0 {
        return invalid(
            "switch.input_queued.cell_bytes",
            "a cell must have a byte or more".into(),
        );
    }
    let links = config.fabric.links.iter();
    let fastest = links.filter_map(|link| link.rate.ps_per_byte()).min();
    let is_instant = |ps_per_byte| model.slot(ps_per_byte) == Time::ZERO;
    if model.speedup_percent < 100 || fastest.is_some_and(is_instant) {
        return invalid(
            "switch.input_queued.speedup",
            "a crossbar needs a speedup of 1 or more, and slots of a picosecond or more".into(),
        );
    }
    for (key, what, bytes) in [
        (
            "switch.input_queued.output_buffer_bytes",
            "output",
            model.output_buffer_bytes,
        ),
        (
            "switch.input_queued.input_buffer_bytes",
            "input",
            model.input_buffer_bytes,
        ),
    ] {
        if bytes < frame {
            let message =
                format!("an {what} buffer of {bytes} B has no room for a frame of {frame} B");
            return invalid(key, message);
        }
    }
    let bytes = model.input_buffer_bytes;
    if config.switch.lossless != 0 && bytes < xoff_bytes + frame {
        return invalid(
            "switch.input_queued.input_buffer_bytes",
            format!(
                "an input buffer of {bytes} B overflows before its XOFF of {xoff_bytes} B has stopped anybody"
            ),
        );
    }
    Ok(())
}

/// Checks what a CIOQ fabric needs of a configuration.
fn check_cioq(config: &Config, cioq: &CioqConfig) -> Result<(), Invalid> {
    let frame = u64::from(config.largest_frame_bytes());
    let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
    let is_host = |kind: &&NodeKind| **kind == NodeKind::Host;
    let hosts = config.fabric.nodes.iter().filter(is_host);
    let PfcThreshold::Static { xoff_bytes, .. } = config.switch.pfc.threshold else {
        return Err(Invalid::new(
            "switch.pfc.dynamic_shift",
            "a cioq switch needs a static XOFF",
        ));
    };
    let spines = cioq.spines.unwrap_or_default();
    let mut links = config.fabric.links.iter();
    if links.any(|link| is_switch(link.a) && is_switch(link.b)) {
        return Err(Invalid::new(
            "switch.model",
            "a cioq switch is a whole fabric: it has links to hosts only",
        ));
    }
    if hosts.count() > MOST_HOSTS {
        let message = format!("a cioq switch has at most {MOST_HOSTS} hosts");
        return Err(Invalid::new("fabric.nodes", message));
    }
    if cioq.cell_bytes == 0 {
        return Err(Invalid::new(
            "switch.cioq.cell_bytes",
            "a cell must have a byte or more",
        ));
    }
    if cioq.latency == Time::ZERO || cioq.speedup_percent < 100 {
        return Err(Invalid::new(
            "switch.cioq.latency",
            "a cioq switch needs a latency above zero and a speedup of 1 or more",
        ));
    }
    if spines.count == 0
        || spines.hosts_per_leaf == 0
        || spines.buffer_cells == 0
        || spines.rate.ps_per_byte().is_none()
    {
        return Err(Invalid::new(
            "switch.cioq.spines",
            "spines need hosts at their leaves, buffers, and a rate of links",
        ));
    }
    if cioq.output_buffer_bytes < frame {
        let message = format!(
            "an output buffer of {} B has no credit for a frame of {frame} B",
            cioq.output_buffer_bytes
        );
        return Err(Invalid::new("switch.cioq.output_buffer_bytes", message));
    }
    if cioq.input_buffer_bytes < xoff_bytes + units(frame, cioq) {
        let message = format!(
            "an input buffer of {} B overflows before its XOFF of {xoff_bytes} B has stopped anybody",
            cioq.input_buffer_bytes
        );
        return Err(Invalid::new("switch.cioq.input_buffer_bytes", message));
    }
    Ok(())
}

/// Bytes of the units that `bytes` take.
fn units(bytes: u64, config: &CioqConfig) -> u64 {
    let unit = u64::from(config.cell_bytes);
    bytes.div_ceil(unit) * unit
}
