//! `[host]`, `[switch]`, `[pfc]` and `[probes]`.

use std::ops::Range;

use serde_spanned::Spanned;
use unpause_protocols::flow_control::pfc;
use unpause_sim::config::{
    DeadlockProbe, HostConfig, NodeId, PfcConfig, PfcThreshold, PortId, Probes, Queueing,
    SwitchConfig,
};

use crate::file;
use crate::names::Names;
use crate::text::checks::{both, bytes_u32, data_priority, positive};
use crate::text::error::{Checked, Problem, nearest};
use crate::text::quantity::Ratio;
use crate::text::setting::show_bytes;

pub(super) fn host(file: &file::Host) -> Checked<HostConfig> {
    let mut host = HostConfig::default();
    if let Some(payload) = &file.payload {
        host.payload_bytes = bytes_u32("payload", payload, 1)?;
    }
    if let Some(header) = &file.header {
        host.header_bytes = bytes_u32("header", header, 1)?;
    }
    if let Some(every) = &file.ack_every {
        if *every.get_ref() == 0 {
            return Problem::new("`ack_every` is zero")
                .at(every.span(), "at least 1: an ACK for each data packet")
                .err();
        }
        host.ack_every = *every.get_ref();
    }
    if let Some(timeout) = &file.retransmit_timeout {
        host.retransmit_timeout = positive("retransmit_timeout", timeout)?;
    }
    if let Some(priority) = &file.control_priority {
        host.control_priority = data_priority(priority)?;
    }
    if let Some(reaction) = &file.notification_reaction {
        host.notification_reaction = reaction.get_ref().0;
    }
    Ok(host)
}

/// How many times as much random traffic there is as its entries say.
pub(super) fn load_scale(value: &Option<Spanned<Ratio>>) -> Checked<Option<f64>> {
    let Some(value) = value else {
        return Ok(None);
    };
    if value.get_ref().num == 0 {
        return Problem::new("`load_scale` is zero")
            .at(value.span(), "nothing would be sent")
            .err();
    }
    Ok(Some(value.get_ref().as_f64()))
}

/// Bytes that a frame occupies on a wire beyond its own.
pub(super) fn framing(file: &file::Host) -> Checked<u32> {
    file.framing
        .as_ref()
        .map_or(Ok(0), |framing| bytes_u32("framing", framing, 0))
}

pub(super) fn switch(
    file: &file::Switch,
    pfc: PfcConfig,
    host: &HostConfig,
) -> Checked<SwitchConfig> {
    let mut switch = SwitchConfig {
        pfc,
        ..SwitchConfig::default()
    };
    if let Some(priorities) = &file.lossless {
        switch.lossless = 0;
        for priority in priorities {
            let number = data_priority(priority)?;
            if number == host.control_priority {
                return Problem::new(format!("priority {number} carries control frames"))
                    .at(
                        priority.span(),
                        "must not be lossless: PAUSE would stop ACKs and CNPs",
                    )
                    .help("choose another priority, or set host.control_priority")
                    .err();
            }
            switch.lossless |= 1 << number;
        }
    }
    if let Some(packets) = &file.lossy_queue_packets {
        if *packets.get_ref() == 0 {
            return Problem::new("`lossy_queue_packets` is zero")
                .at(packets.span(), "nothing could wait")
                .err();
        }
        switch.lossy_queue_packets = Some(*packets.get_ref());
        // Packets alone limit the queue unless bytes are said, too.
        switch.lossy_queue_bytes = u64::MAX;
    }
    switch.buffer_bytes = file.buffer.as_ref().map(|size| size.get_ref().0);
    if let Some(size) = &file.lossy_queue {
        switch.lossy_queue_bytes = size.get_ref().0;
    }
    switch.queueing = match file.queueing.as_ref().map(Spanned::get_ref) {
        None | Some(file::Queueing::Fifo) => Queueing::Fifo,
        Some(file::Queueing::Voq) => Queueing::Voq,
    };
    Ok(switch)
}

/// What is said of PAUSE where no priority has any. `pfc` is where `[pfc]` stands.
pub(super) fn without_lossless(file: &file::File, pfc: Option<Range<usize>>) -> Checked<()> {
    if !file.switch.lossless.as_ref().is_some_and(Vec::is_empty) {
        return Ok(());
    }
    let deadlock = file.probes.deadlock.as_ref().map(Spanned::span);
    for (what, span, place) in [
        ("[pfc]", pfc, "these settings"),
        ("`deadlock`", deadlock, "no queue is ever paused"),
    ] {
        if let Some(span) = span {
            return Problem::new(format!("{what} has no effect"))
                .at(span, place)
                .help(format!(
                    "switch.lossless is empty: remove {what}, or list a priority such as 3 there"
                ))
                .err();
        }
    }
    Ok(())
}

/// XOFF and XON where they are not set.
pub(super) struct PfcDefaults {
    pub xoff_bytes: u64,
    /// Two frames below XOFF if none.
    pub xon_bytes: Option<u64>,
    /// Why thresholds cannot be dynamic, and what to do.
    pub only_static: Option<(&'static str, &'static str)>,
}

pub(super) fn pfc(
    file: &file::Pfc,
    defaults: &PfcDefaults,
    host: &HostConfig,
) -> Checked<PfcConfig> {
    let params = match file.mode.as_ref().map(Spanned::get_ref) {
        None | Some(file::PfcMode::Standard) => pfc::Params::default(),
        Some(file::PfcMode::Ns3Rdma) => pfc::Params::ns3_rdma(),
    };
    let mut config = PfcConfig {
        params,
        ..PfcConfig::default()
    };
    match (&file.pause_time, &file.pause_quanta) {
        (Some(time), Some(quanta)) => return both("pause_time", time, "pause_quanta", quanta),
        (Some(time), None) => {
            config.params.pause_time = pfc::PauseTime::Absolute(positive("pause_time", time)?);
        }
        (None, Some(quanta)) if *quanta.get_ref() == 0 => {
            return Problem::new("`pause_quanta` is zero")
                .at(quanta.span(), "0 means resume")
                .err();
        }
        (None, Some(quanta)) => {
            config.params.pause_time = pfc::PauseTime::Quanta(*quanta.get_ref());
        }
        (None, None) => {}
    }
    config.threshold = threshold(file, defaults, host)?;
    config.headroom_bytes = file.headroom.as_ref().map(|size| size.get_ref().0);
    if let Some(reaction) = &file.reaction {
        config.reaction = reaction.get_ref().0;
    }
    Ok(config)
}

fn threshold(file: &file::Pfc, defaults: &PfcDefaults, host: &HostConfig) -> Checked<PfcThreshold> {
    let two_frames = 2 * (u64::from(host.payload_bytes) + u64::from(host.header_bytes));
    if let Some(shift) = &file.dynamic_shift {
        if let Some((why, help)) = defaults.only_static {
            return Problem::new("`dynamic_shift` has no effect")
                .at(shift.span(), why)
                .help(help)
                .err();
        }
        if let Some(xoff) = &file.xoff {
            return both("dynamic_shift", shift, "xoff", xoff);
        }
        if let Some(xon) = &file.xon {
            return both("dynamic_shift", shift, "xon", xon);
        }
        if *shift.get_ref() > 32 {
            return Problem::new("`dynamic_shift` is more than 32")
                .at(shift.span(), "here")
                .err();
        }
        return Ok(PfcThreshold::Dynamic {
            shift: *shift.get_ref(),
            xon_gap_bytes: file
                .xon_gap
                .as_ref()
                .map_or(two_frames, |gap| gap.get_ref().0),
        });
    }
    let xoff_bytes = file
        .xoff
        .as_ref()
        .map_or(defaults.xoff_bytes, |xoff| xoff.get_ref().0);
    let mut xon_bytes = match defaults.xon_bytes {
        Some(xon_bytes) => xon_bytes.min(xoff_bytes),
        None => xoff_bytes.saturating_sub(two_frames),
    };
    match (&file.xon, &file.xon_gap) {
        (Some(xon), Some(gap)) => return both("xon", xon, "xon_gap", gap),
        (Some(xon), None) => xon_bytes = xon.get_ref().0,
        (None, Some(gap)) => xon_bytes = xoff_bytes.saturating_sub(gap.get_ref().0),
        (None, None) => {}
    }
    if let Some(xon) = file.xon.as_ref().filter(|_| xon_bytes > xoff_bytes) {
        let problem = Problem::new("XON is above XOFF");
        let problem = match &file.xoff {
            Some(xoff) => problem
                .at(xon.span(), format!("resume at {}", show_bytes(xon_bytes)))
                .at(
                    xoff.span(),
                    format!("pause above {}", show_bytes(xoff_bytes)),
                ),
            None => problem.at(
                xon.span(),
                format!("XOFF is {} by default", show_bytes(xoff_bytes)),
            ),
        };
        return problem
            .help("set `xon` at or below `xoff`; two frames below it is the default")
            .err();
    }
    Ok(PfcThreshold::Static {
        xoff_bytes,
        xon_bytes,
    })
}

pub(super) fn probes(file: &file::Probes, names: &Names) -> Checked<Probes> {
    let mut probes = Probes::default();
    if let Some(interval) = &file.interval {
        probes.interval = positive("interval", interval)?;
    }
    if let Some(interval) = &file.flow_interval {
        let flows = positive("flow_interval", interval)?;
        if !flows.as_ps().is_multiple_of(probes.interval.as_ps()) {
            return Problem::new(format!(
                "`flow_interval` is no multiple of `interval`, {}",
                probes.interval
            ))
            .at(interval.span(), "here")
            .help("flows are sampled together with ports, but less often")
            .err();
        }
        probes.flow_interval = Some(flows);
    }
    if let Some(start) = &file.start {
        probes.start = start.get_ref().0;
    }
    if let Some(pauses) = file.pauses {
        probes.pauses = pauses;
    }
    if let Some(interval) = &file.deadlock {
        let mut probe = DeadlockProbe {
            interval: positive("deadlock", interval)?,
            ..DeadlockProbe::default()
        };
        if let Some(hold) = &file.deadlock_hold {
            probe.hold = positive("deadlock_hold", hold)?;
        }
        probes.deadlock = Some(probe);
    } else if let Some(hold) = &file.deadlock_hold {
        return Problem::new("`deadlock_hold` has no effect")
            .at(hold.span(), "nobody looks for a deadlock")
            .help("add deadlock = \"1ms\": look for one every 1 ms")
            .err();
    }
    for text in &file.ports {
        for port in ports(text, names)? {
            if !probes.ports.contains(&port) {
                probes.ports.push(port);
            }
        }
    }
    for text in &file.packets {
        for port in ports(text, names)? {
            if !probes.packets.contains(&port) {
                probes.packets.push(port);
            }
        }
    }
    if let Some(flows) = &file.packet_flows {
        if file.packets.is_empty() {
            return Problem::new("`packet_flows` has no effect")
                .at(flows.span(), "no packets are recorded")
                .help("add packets = [\"H0->S0\"]: record those that leave by this port")
                .err();
        }
        probes.packet_flows.clone_from(flows.get_ref());
    }
    Ok(probes)
}

/// The egress ports of `"S0->S1"`; `*` stands for every node.
fn ports(text: &Spanned<String>, names: &Names) -> Checked<Vec<(NodeId, PortId)>> {
    let Some((from, to)) = text.get_ref().split_once("->") else {
        return Problem::new(format!("`{}` is not an egress port", text.get_ref()))
            .at(text.span(), "here")
            .help("write a node and its neighbour: \"S0->S1\" is the port of S0 toward S1")
            .err();
    };
    let (from, to) = (from.trim(), to.trim());
    let nodes = |name: &str| match name {
        "*" => Ok((0..names.nodes.len() as NodeId).collect()),
        name => names.node(name, &text.span()).map(|node| vec![node]),
    };
    let (from_nodes, to_nodes): (Vec<NodeId>, Vec<NodeId>) = (nodes(from)?, nodes(to)?);
    let mut found = Vec::new();
    for node in from_nodes {
        for (port, peer) in names.peers[node as usize].iter().enumerate() {
            if to == "*" || to_nodes.contains(peer) {
                found.push((node, port as PortId));
            }
        }
    }
    if found.is_empty() {
        let neighbours: Vec<&str> = match names.index(from) {
            Some(node) => names.peers[node as usize]
                .iter()
                .map(|peer| names.name(*peer))
                .collect(),
            None => Vec::new(),
        };
        return Problem::new(format!("no link from {from} to {to}"))
            .at(text.span(), "this port does not exist")
            .help_if(nearest(to, &neighbours))
            .err();
    }
    Ok(found)
}
