//! Prints what a small run on a star does, a line for each thing that happens, for tests to show it on
//! a page. The switch is `sw`, hosts have numbers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use unpause_protocols::notification::Notification;
use unpause_protocols::units::Time;
use unpause_sim::config::{Config, NodeId, NodeKind};
use unpause_sim::results::{FlowRecord, PacketKind, PacketRecord, Results};
use unpause_sim::traffic::TrafficSpec;

use crate::common::*;

/// The content of a page besides PFC frames and CNMs.
#[derive(Clone, Copy)]
pub struct Show {
    /// Of these flows CNPs, NAKs and what else is asked for.
    pub flows: &'static [u32],
    /// Packets of data.
    pub data: bool,
    /// Acknowledgements.
    pub acks: bool,
    /// Acknowledgements with the RTT that each measures.
    pub rtts: bool,
    /// Rates as they change, read every 100 ns.
    pub rates: bool,
}

/// PFC frames and CNMs only.
pub const NOTHING: Show = Show {
    flows: &[],
    data: false,
    acks: false,
    rtts: false,
    rates: false,
};

/// Packets of flow 0, and their acknowledgements.
pub const PACKETS: Show = Show {
    flows: &[0],
    data: true,
    acks: true,
    ..NOTHING
};

/// The lines that `show` selects, and the outcome of its flows.
pub fn page(config: &Config, show: Show) -> (String, Results) {
    let (mut text, results) = transcript(config, show);
    for flow in show.flows {
        let flow = &results.flows[*flow as usize];
        writeln!(text, "flow {}: {}", flow.id, verdict(flow)).unwrap();
    }
    (text, results)
}

/// The end of a page, from the first line on that another page has not.
pub fn difference<'a>(page: &'a str, other: &str) -> &'a str {
    let lines = page.split_inclusive('\n').zip(other.split_inclusive('\n'));
    let same = lines.take_while(|(line, other)| line == other);
    &page[same.map(|(line, _)| line.len()).sum()..]
}

fn verdict(flow: &FlowRecord) -> String {
    let done = match (flow.fct, flow.size_bytes) {
        (Some(fct), _) => format!("complete after {fct}"),
        (None, Some(_)) => "not complete".into(),
        (None, None) => format!("{} B delivered", flow.delivered_bytes),
    };
    match (flow.retransmitted_packets, flow.timeouts) {
        (0, 0) => done,
        (again, timeouts) => format!("{done}; sent again {again}, timeouts {timeouts}"),
    }
}

/// The lines that `show` selects; RoCE packets in a row share one.
pub fn transcript(config: &Config, show: Show) -> (String, Results) {
    let mut config = config.clone();
    let ports = |node: NodeId| match config.fabric.nodes[node as usize] {
        NodeKind::Host => 1,
        NodeKind::Switch => config.fabric.links.len() as u16,
    };
    let nodes = 0..config.fabric.nodes.len() as NodeId;
    config.probes.packets = nodes
        .flat_map(|node| (0..ports(node)).map(move |port| (node, port)))
        .collect();
    let TrafficSpec::Flows(flows) = &mut config.traffic[0] else {
        unreachable!("tests name their flows")
    };
    for flow in show.flows.iter().filter(|_| show.rates) {
        flows[*flow as usize].recorded = true;
        config.probes.interval = Time::from_ns(100);
    }
    let results = run(&config);
    let mut lines = pauses(&results);
    lines.extend(packets(&config, &results, show));
    lines.extend(rates(&results));
    lines.sort_by_key(|line| line.time);
    (grouped(lines), results)
}

struct Line {
    time: Time,
    text: String,
    /// Of a packet that can share a line with the next.
    packet: Option<Numbered>,
}

#[derive(Clone, Copy)]
struct Numbered {
    flow: u32,
    is_data: bool,
    seq: u32,
    marked: bool,
}

impl Line {
    fn new(time: Time, text: String) -> Self {
        Self {
            time,
            text,
            packet: None,
        }
    }
}

fn name(node: NodeId) -> String {
    match node {
        0 => "sw".into(),
        host => host.to_string(),
    }
}

/// Frames on their first link, with marks and drops of the switch.
fn packets(config: &Config, results: &Results, show: Show) -> Vec<Line> {
    let key = |it: &PacketRecord| (it.kind as u8, it.src, it.flow, it.seq);
    let mut forwarded: BTreeMap<_, Vec<&PacketRecord>> = BTreeMap::new();
    for packet in results.packets.iter().filter(|it| it.node == 0) {
        forwarded.entry(key(packet)).or_default().push(packet);
    }
    let mut lines = Vec::new();
    // The last copy of a packet that left the switch is the last that was sent.
    for packet in results.packets.iter().rev() {
        if let Some(text) = of_the_switch(packet) {
            lines.push(Line::new(packet.time, text));
        } else if packet.node != 0 && show.flows.contains(&packet.flow) {
            let copies = forwarded.get_mut(&key(packet));
            let passed = copies.and_then(|all| all.pop_if(|it| it.time >= packet.arrival));
            lines.extend(of_a_host(config, results, packet, passed, show));
        }
    }
    lines.reverse();
    lines
}

/// PFC frames and CNMs.
fn of_the_switch(packet: &PacketRecord) -> Option<String> {
    let what = match (packet.pfc, packet.notification) {
        (Some(pfc), _) => {
            let of = (0..8).filter(|p| pfc.priorities >> p & 1 == 1);
            let of: String = of.map(|p| format!(" p{p}")).collect();
            match pfc.pause {
                Time::ZERO => format!("XON{of}"),
                pause => format!("XOFF{of} for {pause}"),
            }
        }
        (_, Some(Notification::Qcn(feedback))) => format!(
            "CNM to flow {}: Qfb {}, offset {} B, delta {} B",
            packet.flow, feedback.qfb, feedback.q_offset, feedback.q_delta
        ),
        _ => return None,
    };
    let peer = match packet.node {
        0 => NodeId::from(packet.port) + 1,
        _ => 0,
    };
    Some(format!("{} > {}  {what}", name(packet.node), name(peer)))
}

/// A frame of a host; `passed` is what left the switch of it.
fn of_a_host(
    config: &Config,
    results: &Results,
    packet: &PacketRecord,
    passed: Option<&PacketRecord>,
    show: Show,
) -> Option<Line> {
    let (flow, seq) = (packet.flow, packet.seq);
    let marked = passed.is_some_and(|passed| passed.ce && !packet.ce);
    let numbered = Numbered {
        flow,
        seq,
        marked,
        is_data: packet.kind.is_data(),
    };
    // A packet in flight at the end of a run has not passed, either.
    let dropped = passed.is_none() && results.ports.iter().any(|port| port.dropped_packets > 0);
    let groups = match packet.kind {
        PacketKind::Data => !dropped,
        PacketKind::Ack => !dropped && !show.rtts,
        _ => false,
    };

    let what = match (packet.kind, packet.notification) {
        (PacketKind::Data, _) if !show.data => return None,
        (PacketKind::Ack, _) if show.rtts => {
            format!("ack {seq}, RTT {}", rtt(config, results, packet, passed?)?)
        }
        (PacketKind::Ack, _) if !show.acks => return None,
        (_, Some(Notification::Cnp)) => "CNP".into(),
        (
            _,
            Some(Notification::Pcn {
                congested,
                rec_rate,
            }),
        ) => {
            if congested {
                format!("CNP: decrease, receive rate {} Mb/s", rec_rate / 1000)
            } else {
                "CNP: increase".into()
            }
        }
        (kind, _) => match (kind, groups) {
            (PacketKind::Data, true) => "data".into(),
            (PacketKind::Ack, true) => "ack".into(),
            (PacketKind::Data, false) => format!("data {seq}"),
            (PacketKind::Ack, false) => format!("ack {seq}"),
            (PacketKind::Nak, _) => format!("NAK {seq}"),
            (PacketKind::Trimmed, _) => format!("header {seq}"),
            (PacketKind::Pull, _) => format!("pull {seq}"),
            (PacketKind::Request, _) => format!("request to send after {seq}"),
            (PacketKind::TrimNak, _) => format!("NAK of a header, {seq}"),
            _ => of_tcp(config, packet),
        },
    };
    let fate = match groups {
        _ if dropped => "  dropped",
        false if marked => "  marked",
        _ => "",
    };
    Some(Line {
        time: packet.time,
        text: format!("{} > {}  {what}{fate}", packet.src, packet.dst),
        packet: groups.then_some(numbered),
    })
}

/// A segment, with its flags and a priority that is neither the lossless nor the control one.
fn of_tcp(config: &Config, packet: &PacketRecord) -> String {
    let seq = u64::from(packet.seq);
    let TrafficSpec::Flows(flows) = &config.traffic[0] else {
        unreachable!("tests name their flows")
    };
    let size = flows[packet.flow as usize].size_bytes.unwrap_or(u64::MAX);
    let what = match packet.kind {
        PacketKind::Syn => "SYN".into(),
        PacketKind::SynAck => "SYN-ACK".into(),
        PacketKind::Fin => "FIN".into(),
        PacketKind::TcpAck if packet.all => "ack all".into(),
        PacketKind::TcpAck => format!("ack {seq}"),
        _ => {
            let mss = u64::from(config.host.tcp.recovery.mss);
            format!("data {seq}..{}", size.min(seq + mss))
        }
    };
    let flags = [
        (packet.ect, " ECT"),
        (packet.cwr, " CWR"),
        (packet.ece, " ECE"),
    ];
    let flags: String = flags.iter().filter(|it| it.0).map(|it| it.1).collect();
    match packet.priority {
        p if p == LOSSLESS || p == config.host.control_priority => what + &flags,
        other => format!("{what}{flags} p{other}"),
    }
}

/// From when the last packet that `ack` acknowledges has left its host to the ACK's arrival there.
fn rtt(
    config: &Config,
    results: &Results,
    ack: &PacketRecord,
    passed: &PacketRecord,
) -> Option<Time> {
    let data = results.packets.iter().rfind(|it| {
        let own = (it.node, it.flow, it.kind) == (ack.dst, ack.flow, PacketKind::Data);
        own && it.seq + 1 == ack.seq && it.time < ack.time
    })?;
    let delay = config.fabric.links[ack.dst as usize - 1].delay;
    Some(passed.arrival - (data.arrival - delay))
}

/// Transmitters stop, and go on.
fn pauses(results: &Results) -> Vec<Line> {
    let both = |pause: &unpause_sim::results::PauseRecord| {
        let (who, priority) = (name(pause.node), pause.priority);
        [
            Line::new(pause.obeyed, format!("{who} stops p{priority}")),
            Line::new(pause.end, format!("{who} goes on with p{priority}")),
        ]
    };
    results.pauses.iter().flat_map(both).collect()
}

/// Reaction points set other rates.
fn rates(results: &Results) -> Vec<Line> {
    let mut last = BTreeMap::new();
    let mut lines = Vec::new();
    for sample in &results.flow_series {
        let Some(rate) = sample.controller_rate else {
            continue;
        };
        if last.insert(sample.flow, rate) != Some(rate) {
            let gbps = rate.as_bps() as f64 / 1e9;
            let text = format!("flow {} may send {gbps:.3} Gb/s", sample.flow);
            lines.push(Line::new(sample.time, text));
        }
    }
    lines
}

/// Packets of a flow without anything else between them.
struct Group {
    time: Time,
    text: String,
    first: Numbered,
    last: Numbered,
    until: Time,
    count: u32,
    marked: u32,
}

impl Group {
    fn is_of(&self, packet: Numbered) -> bool {
        (self.first.flow, self.first.is_data) == (packet.flow, packet.is_data)
    }

    /// The packet is the next of these.
    fn goes_on(&self, packet: Numbered, now: Time) -> bool {
        let next = if packet.is_data {
            packet.seq == self.last.seq + 1
        } else {
            packet.seq > self.last.seq
        };
        self.is_of(packet) && next && now - self.until < LONG
    }
}

/// After so long another packet of a flow has a line of its own.
const LONG: Time = Time::from_us(20);

fn grouped(lines: Vec<Line>) -> String {
    let mut text = String::new();
    let mut open: Vec<Group> = Vec::new();
    for line in lines {
        let Some(packet) = line.packet else {
            flush(&mut open, &mut text);
            writeln!(text, "{}  {}", at(line.time), line.text).unwrap();
            continue;
        };
        let marked = u32::from(packet.marked);
        if let Some(group) = open
            .iter_mut()
            .find(|group| group.goes_on(packet, line.time))
        {
            (group.last, group.until) = (packet, line.time);
            group.count += 1;
            group.marked += marked;
            continue;
        }
        // A packet that starts over ends what is open.
        if open.iter().any(|group| group.is_of(packet)) {
            flush(&mut open, &mut text);
        }
        open.push(Group {
            time: line.time,
            text: line.text,
            first: packet,
            last: packet,
            until: line.time,
            count: 1,
            marked,
        });
    }
    flush(&mut open, &mut text);
    text
}

fn flush(open: &mut Vec<Group>, text: &mut String) {
    for group in open.drain(..) {
        let (time, from) = (at(group.time), group.first.seq);
        write!(text, "{time}  {} {from}", group.text).unwrap();
        if group.count > 1 {
            let until = at(group.until);
            write!(text, "..{} until {}", group.last.seq, until.trim_start()).unwrap();
            if group.first.seq + group.count - 1 != group.last.seq {
                write!(text, " ({} of them)", group.count).unwrap();
            }
        }
        match (group.marked, group.count) {
            (0, _) => {}
            (marked, count) if marked == count => *text += "  marked",
            (marked, _) => write!(text, "  {marked} marked").unwrap(),
        }
        text.push('\n');
    }
}

fn at(time: Time) -> String {
    format!("{:11.3} us", time.as_ps() as f64 / 1e6)
}
