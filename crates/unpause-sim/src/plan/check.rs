//! What a configuration must keep to be run.

use unpause_protocols::units::Time;

use crate::Error;
use crate::config::{CioqConfig, Config, PfcThreshold, SwitchModel};
use crate::fabric::{NodeId, NodeKind, PRIORITIES};
use crate::traffic::{ExtraDelay, TrafficSpec, Transport};

fn check_tcp(config: &Config) -> Result<(), String> {
    let tcp = &config.host.tcp;
    let law = config.scheme.window.tcp();
    if law.mss == 0 || law.mss.saturating_add(tcp.header_bytes) > u32::from(u16::MAX) {
        return Err("a TCP segment must have a payload and at most 65535 bytes".into());
    }
    if law.initial_window == 0 {
        return Err("TCP's initial window must be 1 segment or more".into());
    }
    if law.rto.min == Time::ZERO || law.rto.max < law.rto.min {
        return Err("TCP's least timeout must be above zero, and at most the longest".into());
    }
    if tcp.syn_timeout == Time::ZERO || tcp.syn_tries == 0 {
        return Err("TCP needs a SYN to send, and a time to wait for its answer".into());
    }
    if tcp
        .delayed_ack
        .is_some_and(|ack| ack.every == 0 || ack.timeout == Time::ZERO)
    {
        return Err("a delayed ACK needs a number of segments and a time above zero".into());
    }
    if tcp.buffer_bytes < u64::from(law.mss) || tcp.buffer_bytes > 1 << 30 {
        return Err("TCP's buffer must hold a segment, and at most 1 GiB".into());
    }
    if let Some(tags) = &tcp.tags {
        let out_of_range = |priority: &&u8| usize::from(**priority) >= PRIORITIES;
        if let Some(priority) = tags.priorities.iter().find(out_of_range) {
            return Err(format!("priority {priority} is not within 0 to 7"));
        }
        if tags.priorities.is_empty() {
            return Err("tags need a priority for each level".into());
        }
    }
    Ok(())
}

/// Every delay that is to be drawn has something to be drawn from.
fn check_delays(config: &Config) -> Result<(), String> {
    let known = config.host.extra_delays.len();
    let check = |delay: ExtraDelay| match delay {
        ExtraDelay::Drawn(from) if usize::from(from) >= known => {
            Err(format!("there is no distribution {from} of extra delays"))
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

/// What the engine relies on.
///
/// # Errors
///
/// [`Error::Invalid`] with the reason.
pub(super) fn check(config: &Config) -> Result<(), Error> {
    check_delays(config).map_err(Error::Invalid)?;
    if config.uses(Transport::Tcp) {
        check_tcp(config).map_err(Error::Invalid)?;
    }
    let invalid = |reason: String| Err(Error::Invalid(reason));
    let nodes = config.fabric.nodes.len();
    let mut links_of = vec![0u32; nodes];
    for (index, link) in config.fabric.links.iter().enumerate() {
        if link.a as usize >= nodes || link.b as usize >= nodes || link.a == link.b {
            return invalid(format!("link {index} does not join two nodes"));
        }
        if link.rate.ps_per_byte().is_none() {
            let rate = link.rate;
            return invalid(format!(
                "link {index}: a byte at {rate} is no whole number of ps"
            ));
        }
        if link.delay == Time::ZERO {
            return invalid(format!("link {index} has no delay"));
        }
        links_of[link.a as usize] += 1;
        links_of[link.b as usize] += 1;
        let hosts = [link.a, link.b].map(|n| config.fabric.nodes[n as usize] == NodeKind::Host);
        if hosts == [true, true] {
            return invalid(format!(
                "link {index} joins two hosts; put a switch between them"
            ));
        }
    }
    for (node, kind) in config.fabric.nodes.iter().enumerate() {
        if *kind == NodeKind::Host && links_of[node] != 1 {
            return invalid(format!(
                "host {node} has {} links, expected 1",
                links_of[node]
            ));
        }
        if links_of[node] > u32::from(u16::MAX) {
            return invalid(format!("node {node} has more than 65535 links"));
        }
    }
    if config.host.payload_bytes == 0
        || config.host.payload_bytes + config.host.header_bytes > u32::from(u16::MAX)
    {
        return invalid("a frame must have a payload and at most 65535 bytes".into());
    }
    if usize::from(config.host.control_priority) >= PRIORITIES {
        return invalid("the control priority must be 0 to 7".into());
    }
    if config.switch.lossless >> config.host.control_priority & 1 == 1 {
        return invalid("the control priority must not be lossless: it is never paused".into());
    }
    if let PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    } = config.switch.pfc.threshold
        && xon_bytes > xoff_bytes
    {
        return invalid(format!(
            "XON ({xon_bytes} B) is above XOFF ({xoff_bytes} B)"
        ));
    }
    if config.stop == Time::ZERO || config.stop.is_never() {
        return invalid("the run needs an end above zero".into());
    }
    for &(node, port) in config.probes.ports.iter().chain(&config.probes.packets) {
        if links_of
            .get(node as usize)
            .is_none_or(|&links| u32::from(port) >= links)
        {
            return invalid(format!("there is no port {port} of node {node} to probe"));
        }
    }
    if config.probes.interval == Time::ZERO {
        return invalid("the sampling interval must be above zero".into());
    }
    if let Some(flows) = config.probes.flow_interval
        && (flows == Time::ZERO || !flows.as_ps().is_multiple_of(config.probes.interval.as_ps()))
    {
        return invalid("flows must be sampled at a multiple of the sampling interval".into());
    }
    if let Some(probe) = config.probes.deadlock
        && probe.interval == Time::ZERO
    {
        return invalid("the interval between looks for a deadlock must be above zero".into());
    }
    if config.host.ack_every == 0 {
        return invalid("a receiver must acknowledge every 1 or more packets".into());
    }
    check_cioq(config).map_err(Error::Invalid)
}

/// The largest number of hosts: the fabric keeps a queue for each pair of them.
const MOST_HOSTS: usize = 2048;

/// Checks what the model, if it is used, needs of a configuration.
fn check_cioq(config: &Config) -> Result<(), String> {
    let SwitchModel::Cioq(cioq) = &config.switch.model else {
        return Ok(());
    };
    let frame = u64::from(config.largest_frame_bytes());
    let is_switch = |node: NodeId| config.fabric.nodes[node as usize] == NodeKind::Switch;
    let hosts = config
        .fabric
        .nodes
        .iter()
        .filter(|kind| **kind == NodeKind::Host);
    let PfcThreshold::Static { xoff_bytes, .. } = config.switch.pfc.threshold else {
        return Err("a cioq switch needs a static XOFF".into());
    };
    let spines = cioq.spines.unwrap_or_default();
    if config
        .fabric
        .links
        .iter()
        .any(|link| is_switch(link.a) && is_switch(link.b))
    {
        return Err("a cioq switch is a whole fabric: it has links to hosts only".into());
    }
    if hosts.count() > MOST_HOSTS {
        return Err(format!("a cioq switch has at most {MOST_HOSTS} hosts"));
    }
    if cioq.cell_bytes == 0 {
        return Err("a cell must have a byte or more".into());
    }
    if cioq.latency == Time::ZERO || cioq.speedup_percent < 100 {
        return Err("a cioq switch needs a latency above zero and a speedup of 1 or more".into());
    }
    if spines.count == 0
        || spines.hosts_per_leaf == 0
        || spines.buffer_cells == 0
        || spines.rate.ps_per_byte().is_none()
    {
        return Err("spines need hosts at their leaves, buffers, and a rate of links".into());
    }
    if cioq.output_buffer_bytes < frame {
        return Err(format!(
            "an output buffer of {} B has no credit for a frame of {frame} B",
            cioq.output_buffer_bytes
        ));
    }
    if cioq.input_buffer_bytes < xoff_bytes + units(frame, cioq) {
        return Err(format!(
            "an input buffer of {} B overflows before its XOFF of {xoff_bytes} B has stopped anybody",
            cioq.input_buffer_bytes
        ));
    }
    Ok(())
}

/// Bytes of the units that `bytes` take.
fn units(bytes: u64, config: &CioqConfig) -> u64 {
    let unit = u64::from(config.cell_bytes);
    bytes.div_ceil(unit) * unit
}
