//! Frames that switches dropped at a queue: where, for which reason, and the setting that decides it.
//!
//! Losses in headroom, in receive buffers, on links and in storms have sentences of their own.

use std::collections::BTreeMap;

use unpause_protocols::congestion_point::Config as Marking;
use unpause_sim::config::{NodeId, NodeKind, PfcThreshold, SwitchModel};
use unpause_sim::results::PortRecord;

use crate::run::measured::Measured;
use crate::warnings::ecn::{self, curves};
use crate::warnings::in_force::{self, Place};
use crate::warnings::limits::{Limit, Limits, Setting};
use crate::warnings::said::Foreseen;
use crate::warnings::wred;
use unpause_text::count::{count, counted, size, were};

/// For programs, as in [`crate::warnings::Warning`]: what congestion costs where nothing is lossless.
pub const LOSSY: &str = "queue-drops";
/// The same of a lossless priority.
pub const LOSSLESS: &str = "lossless-drops";

/// No control frame is larger, bytes.
const MOST_CONTROL: u64 = 256;

/// Frames that were dropped for one reason.
struct Drops {
    is_lossless: bool,
    /// They are of the control priority.
    is_control: bool,
    frames: u64,
    /// The first queue, and how many there are.
    first: String,
    queues: usize,
    longest: u64,
    reason: Reason,
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
    /// The queue of ACKs and other control frames, of this many bytes.
    Control(u64),
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
        .filter(|it| it.is_control)
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
    let frames: u64 = at_switches.iter().map(|port| port.dropped_packets).sum();
    let of_host = |port: &&PortRecord| port.dropped_packets + port.headroom_dropped_packets;
    let elsewhere: u64 = at_hosts.iter().map(of_host).sum::<u64>()
        + results.losses.iter().map(|it| it.data_packets).sum::<u64>()
        + results
            .storms
            .iter()
            .map(|it| it.dropped_data_packets)
            .sum::<u64>();
    let data = results.totals.dropped_packets.saturating_sub(elsewhere);
    frames.saturating_sub(data)
}

/// Drops by reason, most frames first.
fn all(measured: &Measured) -> Vec<Drops> {
    let Measured { run, results, .. } = measured;
    let config = &run.config;
    let Some(limits) = Limits::of(run) else {
        return Vec::new();
    };
    let lost = in_headroom(measured);
    let mut found: Vec<Drops> = Vec::new();
    for port in results.ports.iter().filter(|port| port.dropped_packets > 0) {
        if config.fabric.nodes[port.node as usize] == NodeKind::Host {
            continue;
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
        if frames == 0 {
            continue;
        }
        let Some(reason) = reason(measured, port, is_lossless, &limits) else {
            continue;
        };
        let is_control = port.priority == config.host.control_priority;
        let same = |it: &&mut Drops| {
            (it.is_lossless, it.is_control) == (is_lossless, is_control) && it.reason == reason
        };
        if let Some(drops) = found.iter_mut().find(same) {
            drops.frames += frames;
            drops.queues += 1;
            drops.longest = drops.longest.max(port.max_queue_bytes);
            continue;
        }
        let names = &run.names;
        let peer = names.peers[port.node as usize][usize::from(port.port)];
        found.push(Drops {
            is_lossless,
            is_control,
            frames,
            first: format!(
                "{}->{}, priority {}",
                names.name(port.node),
                names.name(peer),
                port.priority
            ),
            queues: 1,
            longest: port.max_queue_bytes,
            reason,
        });
    }
    found.sort_by_key(|it| std::cmp::Reverse((it.is_lossless, it.frames)));
    found
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
            _ => Reason::Control(most),
        });
    }
    if matches!(config.scheme.congestion_point, Marking::Faults(_)) {
        return Some(Reason::Faults);
    }
    let curve = curves(run).min_by_key(|curve| curve.kmin);
    let by_wred = curve.filter(|curve| {
        ecn::unmarked(run) >> port.priority & 1 == 1 && port.max_queue_bytes > curve.kmin
    });
    let frame = u64::from(config.largest_frame_bytes());
    let limit = limits.at(at);
    let is_full = |limit: &Limit| match limit.setting {
        Setting::LossyAlpha(..) | Setting::QueueAlpha(..) | Setting::Buffer => true,
        _ => port.max_queue_bytes + frame > limit.bytes,
    };
    match (by_wred, limit.filter(is_full)) {
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
    let more = match it.queues - 1 {
        0 => String::new(),
        more => format!(", and at {}", counted(more, "other queue")),
    };
    let what = match it.is_control {
        true => "ACK or other control frame",
        false => "packet",
    };
    let of = if it.is_lossless {
        " of a lossless priority"
    } else {
        ""
    };
    let begin = format!(
        "{}{of} {} dropped at {}{more}",
        counted(it.frames, what),
        were(it.frames),
        it.first
    );
    let of_wred = wred::of(run)
        .filter(|_| it.is_lossless && matches!(it.reason, Reason::Wred(..) | Reason::Either(..)));
    if let Some(wred) = of_wred {
        return Foreseen {
            kind: LOSSLESS,
            message: format!("{begin}: {}", wred.why),
            help: wred.help,
            key: wred::key(run),
        };
    }
    let (why, help) = reason_and_help(it);
    let kind = if it.is_lossless { LOSSLESS } else { LOSSY };
    let then = match (&it.reason, run.config.switch.pfc.threshold) {
        (Reason::Limit(_), PfcThreshold::Static { xoff_bytes, .. }) if it.is_lossless => {
            format!("; PAUSE comes at XOFF {} of an ingress", size(xoff_bytes))
        }
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
        Reason::Control(bytes) => (
            format!("its queue of {} for control frames was full", size(*bytes)),
            String::new(),
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
    if it.is_lossless {
        return format!("remove the limit of lossless queues, or raise {raise}");
    }
    format!(
        "a congestion control with marks below the limit holds senders before; a longer queue takes {raise}"
    )
}
