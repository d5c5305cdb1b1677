//! Frames that switches dropped or trimmed at a queue, and lossy ones that a receive buffer dropped: where, for which reason,
//! and the setting that decides it.
//!
//! Losses of lossless frames in headroom and receive buffers, and those on links and in storms have sentences of their own.

use std::collections::BTreeMap;

use unpause_protocols::congestion_point::Config as Marking;
use unpause_protocols::units::Rate;
use unpause_sim::config::{Config, NodeId, NodeKind, PfcThreshold, SwitchModel};
use unpause_sim::results::PortRecord;

use crate::run::measured::Measured;
use crate::warnings::ecn::{self, curves};
use crate::warnings::in_force::{self, Place};
use crate::warnings::limits::{Limit, Limits, Setting};
use crate::warnings::room::Links;
use crate::warnings::said::Foreseen;
use crate::warnings::wred;
use unpause_text::count::{count, counted, size, were};

/// For programs, as in [`crate::warnings::Warning`]: what congestion costs where nothing is lossless.
pub const LOSSY: &str = "queue-drops";
/// The same of a lossless priority.
pub const LOSSLESS: &str = "lossless-drops";
/// Packets that switches trimmed.
pub const TRIMMED: &str = "trimmed";

/// No control frame is larger, bytes.
const MOST_CONTROL: u64 = 256;

/// Frames that were dropped for one reason.
struct Drops {
    frame: Frame,
    frames: u64,
    /// The first queue, and how many there are.
    first: String,
    queues: usize,
    longest: u64,
    reason: Reason,
}

/// The frames that a queue did not take.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Frame {
    /// Trimmed, not dropped.
    Trimmed,
    Lossy,
    /// Of the control priority.
    Control,
    Lossless,
}

/// Why a queue dropped frames.
#[derive(Clone, PartialEq, Eq)]
enum Reason {
    /// WRED, from a first to a second queue length on, drops frames that are not ECN-capable.
    Wred(u64, u64),
    /// The scheme's faults.
    Faults,
    /// A limit of the queue.
    Limit(Limit),
    /// WRED or the limit: the queue reached both.
    Either(u64, u64, Limit),
    /// There was no free memory in the switch, of this many shared bytes.
    Buffer(u64),
    /// The queue of ACKs and other control frames, of this many bytes; with trimming the size of a header.
    Control(u64, Option<u16>),
    /// The receive buffer of a slow host, of this many bytes for what is not lossless, and the rate at which it drains.
    Receiver(u64, Rate),
    /// An input buffer of another model.
    Input(&'static str, u64),
}

/// A sentence for each reason.
pub fn of(measured: &Measured) -> Vec<Foreseen> {
    let drops = all(measured);
    let control = control_frames(measured);
    let mut found: Vec<Foreseen> = drops.iter().map(|it| sentence(measured, it)).collect();
    let own: u64 = drops
        .iter()
        .filter(|it| it.frame == Frame::Control)
        .map(|it| it.frames)
        .sum();
    if let (Some(last), true) = (found.last_mut(), control > own) {
        last.message += &format!(
            "; of all frames dropped at queues {} {} ACKs or other control frames",
            count(control),
            were(control)
        );
    }
    found
}

/// The frames dropped at queues of switches that carried no data.
fn control_frames(measured: &Measured) -> u64 {
    let Measured { run, results, .. } = measured;
    let is_switch = |node: NodeId| run.config.fabric.nodes[node as usize] == NodeKind::Switch;
    let (at_switches, at_hosts): (Vec<&PortRecord>, Vec<&PortRecord>) =
        results.ports.iter().partition(|port| is_switch(port.node));
    let at_queues = |port: &&PortRecord| {
        let in_headroom = port.headroom_dropped_control_packets;
        (port.dropped_packets, in_headroom)
    };
    let (frames, in_headroom) = at_switches
        .iter()
        .map(at_queues)
        .fold((0, 0), |sum: (u64, u64), it| (sum.0 + it.0, sum.1 + it.1));
    let of_host = |port: &&PortRecord| port.dropped_packets + port.headroom_dropped_packets;
    let elsewhere: u64 = at_hosts.iter().map(of_host).sum::<u64>()
        + results.losses.iter().map(|it| it.data_packets).sum::<u64>()
        + results
            .storms
            .iter()
            .map(|it| it.dropped_data_packets)
            .sum::<u64>();
    let data = results.totals.dropped_packets.saturating_sub(elsewhere);
    frames.saturating_sub(data).saturating_sub(in_headroom)
}

/// Drops by reason, most frames first.
fn all(measured: &Measured) -> Vec<Drops> {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let Some(limits) = Limits::of(run) else {
        return Vec::new();
    };
    let lost = in_headroom(measured);
    let links = Links::of(config);
    let mut found = All {
        measured,
        drops: Vec::new(),
    };
    for port in &results.ports {
        if port.dropped_packets + port.trimmed_packets == 0 {
            continue;
        }
        if config.fabric.nodes[port.node as usize] == NodeKind::Host {
            let reason = receiver(config, port, &links);
            found.add(port, Frame::Lossy, port.dropped_packets, reason);
            continue;
        }
        if port.trimmed_packets > 0 {
            let reason = no_room(port, &limits, config);
            found.add(port, Frame::Trimmed, port.trimmed_packets, reason);
        }
        let group = in_force::group(config, port.node, port.priority);
        let is_lossless = in_force::lossless(config, port.node) >> group & 1 == 1;
        // What found no headroom is counted at its queue, too: all of it, if it cannot have been for another queue.
        let in_headroom = lost
            .get(&(port.node, port.priority))
            .filter(|_| is_lossless);
        let frames = port
            .dropped_packets
            .saturating_sub(in_headroom.copied().unwrap_or(0));
        let frame = match (port.priority == config.host.control_priority, is_lossless) {
            (true, _) => Frame::Control,
            (false, true) => Frame::Lossless,
            (false, false) => Frame::Lossy,
        };
        if frames > 0 {
            let reason = reason(measured, port, is_lossless, &limits);
            found.add(port, frame, frames, reason);
        }
    }
    found
        .drops
        .sort_by_key(|it| std::cmp::Reverse((it.frame == Frame::Lossless, it.frames)));
    found.drops
}

/// Drops by frame and reason.
struct All<'a> {
    measured: &'a Measured,
    drops: Vec<Drops>,
}

impl All<'_> {
    fn add(&mut self, port: &PortRecord, frame: Frame, frames: u64, reason: Option<Reason>) {
        let Some(reason) = reason else {
            return;
        };
        let same = |it: &&mut Drops| it.frame == frame && it.reason == reason;
        let longest = match reason {
            Reason::Receiver(..) => port.max_ingress_bytes,
            _ => port.max_queue_bytes,
        };
        if let Some(drops) = self.drops.iter_mut().find(same) {
            drops.frames += frames;
            drops.queues += 1;
            drops.longest = drops.longest.max(longest);
            return;
        }
        let names = &self.measured.run.names;
        let peer = names.peers[port.node as usize][usize::from(port.port)];
        let (node, peer) = (names.name(port.node), names.name(peer));
        let first = match reason {
            Reason::Receiver(..) => format!("the receive buffer of {node} (from {peer})"),
            _ => format!("{node}->{peer}"),
        };
        self.drops.push(Drops {
            frame,
            frames,
            first: format!("{first}, priority {}", port.priority),
            queues: 1,
            longest,
            reason,
        });
    }
}

/// Frames of each switch and priority that found no headroom at any ingress.
fn in_headroom(measured: &Measured) -> BTreeMap<(NodeId, u8), u64> {
    let mut lost = BTreeMap::new();
    for port in &measured.results.ports {
        if port.headroom_dropped_packets > 0 {
            *lost.entry((port.node, port.priority)).or_default() += port.headroom_dropped_packets;
        }
    }
    lost
}

/// The memory that a slow receiver has for packets that are not lossless.
fn receiver(config: &Config, port: &PortRecord, links: &Links<'_>) -> Option<Reason> {
    let slow = config.host.slow_receiver.as_ref()?;
    let link = links.at(port.node, port.port)?;
    let frame = u64::from(config.largest_frame_bytes());
    let own = slow.xoff_bytes + frame + in_force::needed(config, link);
    Some(Reason::Receiver(
        slow.buffer_bytes.unwrap_or(own),
        slow.drain_rate,
    ))
}

/// The memory that ended a queue without PFC.
fn no_room(port: &PortRecord, limits: &Limits<'_>, config: &Config) -> Option<Reason> {
    let limit = limits.at(Place {
        node: port.node,
        port: port.port,
        priority: port.priority,
    });
    match limit.filter(|limit| is_full(limit, port, config)) {
        Some(limit) => Some(Reason::Limit(limit)),
        None => Some(Reason::Buffer(limits.shared(port.node)?)),
    }
}

/// True if a queue reached its limit, as far as the longest queue says.
fn is_full(limit: &Limit, port: &PortRecord, config: &Config) -> bool {
    let frame = u64::from(config.largest_frame_bytes());
    match limit.setting {
        Setting::LossyAlpha(..) | Setting::QueueAlpha(..) | Setting::Buffer => true,
        _ => port.max_queue_bytes + frame > limit.bytes,
    }
}

fn reason(
    measured: &Measured,
    port: &PortRecord,
    is_lossless: bool,
    limits: &Limits<'_>,
) -> Option<Reason> {
    let run = &measured.run;
    let config = &run.config;
    let at = Place {
        node: port.node,
        port: port.port,
        priority: port.priority,
    };
    if port.priority == config.host.control_priority {
        let own = config.switch.trimming.map(|it| it.control_queue_bytes);
        let most = own.unwrap_or_else(|| in_force::lossy_queue(config, port.node));
        return Some(match limits.shared(port.node) {
            Some(shared) if port.max_queue_bytes + MOST_CONTROL < most => Reason::Buffer(shared),
            _ => Reason::Control(most, config.switch.trimming.map(|it| it.bytes)),
        });
    }
    if matches!(config.scheme.congestion_point, Marking::Faults(_)) {
        return Some(Reason::Faults);
    }
    let curve = curves(run).min_by_key(|curve| curve.kmin);
    let by_wred = curve.filter(|curve| {
        ecn::unmarked(run) >> port.priority & 1 == 1 && port.max_queue_bytes > curve.kmin
    });
    let limit = limits.at(at);
    match (by_wred, limit.filter(|it| is_full(it, port, config))) {
        (Some(curve), None) => Some(Reason::Wred(curve.kmin, curve.kmax)),
        (Some(curve), Some(limit)) => Some(Reason::Either(curve.kmin, curve.kmax, limit)),
        (None, Some(limit)) => Some(Reason::Limit(limit)),
        (None, None) => match &config.switch.model {
            SwitchModel::SharedBuffer if is_lossless => None,
            SwitchModel::SharedBuffer => Some(Reason::Buffer(limits.shared(port.node)?)),
            SwitchModel::Cioq(model) => Some(Reason::Input(
                "switch.cioq.input_buffer",
                model.input_buffer_bytes,
            )),
            SwitchModel::InputQueued(model) => Some(Reason::Input(
                "switch.input_queued.input_buffer",
                model.input_buffer_bytes,
            )),
            SwitchModel::Pipeline(_) => None,
        },
    }
}

fn sentence(measured: &Measured, it: &Drops) -> Foreseen {
    let run = &measured.run;
    let more = match (it.queues - 1, &it.reason) {
        (0, _) => String::new(),
        (more, Reason::Receiver(..)) => format!(", and at {}", counted(more, "other")),
        (more, _) => format!(", and at {}", counted(more, "other queue")),
    };
    let (what, of) = match (it.frame, &it.reason) {
        (Frame::Control, Reason::Control(_, Some(_))) => ("header, ACK or other control frame", ""),
        (Frame::Control, _) => ("ACK or other control frame", ""),
        (Frame::Lossless, _) => ("packet", " of a lossless priority"),
        (Frame::Trimmed | Frame::Lossy, _) => ("packet", ""),
    };
    let (did, kind) = match it.frame {
        Frame::Trimmed => ("trimmed", TRIMMED),
        Frame::Lossless => ("dropped", LOSSLESS),
        Frame::Lossy | Frame::Control => ("dropped", LOSSY),
    };
    let is_lossless = it.frame == Frame::Lossless;
    let begin = format!(
        "{}{of} {} {did} at {}{more}",
        counted(it.frames, what),
        were(it.frames),
        it.first
    );
    let of_wred = wred::of(run)
        .filter(|_| is_lossless && matches!(it.reason, Reason::Wred(..) | Reason::Either(..)));
    if let Some(wred) = of_wred {
        return Foreseen {
            kind,
            message: format!("{begin}: {}", wred.why),
            help: wred.help,
            key: wred::key(run),
        };
    }
    let (why, help) = reason_and_help(it);
    let then = match (&it.reason, run.config.switch.pfc.threshold) {
        (Reason::Limit(_), PfcThreshold::Static { xoff_bytes, .. }) if is_lossless => {
            format!("; PAUSE comes at XOFF {} of an ingress", size(xoff_bytes))
        }
        (Reason::Receiver(..), _) => format!(" (most held {})", size(it.longest)),
        _ => format!(" (longest queue {})", size(it.longest)),
    };
    Foreseen {
        kind,
        message: format!("{begin}: {why}{then}"),
        help,
        key: Vec::new(),
    }
}

/// The reason with its numbers, and advice.
fn reason_and_help(it: &Drops) -> (String, String) {
    let curve = |kmin: &u64, kmax: &u64| {
        format!(
            "WRED, which drops what is not ECN-capable from a queue of {} on and all above {}",
            size(*kmin),
            size(*kmax)
        )
    };
    let capable = "let these flows be ECN-capable: transport = \"roce\", or tcp = \"dctcp\"; or raise kmin and kmax of [scheme.wred]";
    let full = |limit: &Limit| match limit.setting {
        Setting::LossyAlpha(shift, free) | Setting::QueueAlpha(shift, free) => format!(
            "{} the free shared buffer, of {} when empty, was used up",
            limit.share_of(shift),
            size(free)
        ),
        _ => format!("{} was full", limit.name()),
    };
    match &it.reason {
        Reason::Wred(kmin, kmax) => (curve(kmin, kmax), capable.to_owned()),
        Reason::Faults => ("the scheme's faults drop packets".to_owned(), String::new()),
        Reason::Limit(limit) => (full(limit), room(it, limit)),
        Reason::Either(kmin, kmax, limit) => (
            format!("{}; and {}", curve(kmin, kmax), full(limit)),
            capable.to_owned(),
        ),
        Reason::Buffer(bytes) => (
            format!("the shared buffer of {} was full", size(*bytes)),
            "raise switch.buffer, or lower what other queues may hold".to_owned(),
        ),
        Reason::Control(bytes, None) => (
            format!("its queue of {} for control frames was full", size(*bytes)),
            String::new(),
        ),
        Reason::Control(bytes, Some(header)) => (
            format!(
                "its control_queue of {} was full, where trimmed packets of {header} B wait with ACKs",
                size(*bytes)
            ),
            "raise switch.trimming.control_queue: the sender of a packet whose header is lost waits for a timeout".to_owned(),
        ),
        Reason::Receiver(bytes, drain) => (
            format!(
                "its {} for what is not lossless were full, and it drains {drain}",
                size(*bytes)
            ),
            "raise slow_receiver.buffer or drain_rate; or let these flows have a lossless priority".to_owned(),
        ),
        Reason::Input(key, bytes) => (
            format!("{key} {} was full", size(*bytes)),
            format!("raise {key}, or use a congestion control that holds senders before"),
        ),
    }
}

/// How a queue at its limit loses less.
fn room(it: &Drops, limit: &Limit) -> String {
    let raise = limit.raise(2 * limit.bytes);
    if it.frame == Frame::Lossless {
        return format!("remove the limit of lossless queues, or raise {raise}");
    }
    format!(
        "a congestion control with marks below the limit holds senders before; a longer queue takes {raise}"
    )
}
