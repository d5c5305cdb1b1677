//! Lossless packets that found no room beyond XOFF: why, and what their link needs.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Rate;
use unpause_sim::config::{
    Config, Link, NodeId, NodeKind, PfcThreshold, PortId, SwitchModel, WatchdogAction,
};
use unpause_sim::results::PortRecord;

use crate::run::measured::Measured;
use crate::warnings::buffers::Switches;
use crate::warnings::in_force::{self, Place, crossing, needed};
use crate::warnings::maps;
use crate::warnings::memo::Memo;
use crate::warnings::room::{self, Links};
use unpause_text::count::{size, size_at_least};

/// Stands for the neighbours of the ports in a [`Cause`].
pub const PEER: char = '\u{1}';
/// Stands for its number.
pub const COUNT: char = '\u{2}';

/// Why an ingress dropped packets.
pub struct Cause {
    /// Ports with the same key share a sentence.
    pub key: String,
    /// May contain [`PEER`] and [`COUNT`].
    pub text: String,
    /// Advice; may contain [`PEER`].
    pub help: String,
    /// Added up over ports.
    pub count: u64,
}

impl Cause {
    /// A cause that its words tell from others.
    pub fn new(text: impl Into<String>, help: impl Into<String>) -> Self {
        let (text, help) = (text.into(), help.into());
        Self {
            key: format!("{text} {help}"),
            text,
            help,
            count: 0,
        }
    }
}

/// Why ingress ports dropped lossless packets, and what helps. It works out once what many ports have in common.
pub struct Why<'a> {
    measured: &'a Measured,
    config: &'a Config,
    links: Links<'a>,
    switches: OnceCell<Option<Switches<'a>>>,
    /// The headroom that is enough for all links, and for all ports of any one switch.
    enough: OnceCell<String>,
    largest: OnceCell<u64>,
    /// By node.
    all_headroom: Memo<NodeId, u64>,
    /// By node, or by buffer where that decides.
    larger_buffer: Memo<(u64, Option<NodeId>), u64>,
    /// By rate, the headroom that is enough for its links.
    by_rate: Memo<Rate, String>,
    /// By node, priority and headroom of an override.
    own: Memo<(NodeId, u8, u64), String>,
    /// Where PAUSE ran out while packets were dropped: node, port and priority.
    expired: BTreeSet<(NodeId, PortId, u8)>,
    /// Control frames lost on links, by the node and port that sent them.
    control_lost: BTreeMap<(NodeId, PortId), u64>,
    /// Watchdogs that sent on in spite of PAUSE: the node, its neighbour and the priority.
    forwarders: BTreeSet<(NodeId, NodeId, u8)>,
}

impl<'a> Why<'a> {
    /// Of the results of a run.
    pub fn of(measured: &'a Measured) -> Self {
        let Measured { run, results, .. } = measured;
        let expired = results.causes.iter();
        let expired = expired.filter(|it| it.expired && it.dropped_packets > 0);
        let mut control_lost = BTreeMap::new();
        let all = results.losses.iter();
        for it in all.filter(|it| it.priority == run.config.host.control_priority) {
            *control_lost.entry((it.node, it.port)).or_default() += it.packets - it.data_packets;
        }
        let storms = results.storms.iter();
        let storms = storms.filter(|it| it.action == WatchdogAction::Forward);
        let neighbour =
            |node: NodeId, port: PortId| run.names.peers[node as usize][usize::from(port)];
        Self {
            measured,
            config: &run.config,
            links: Links::of(&run.config),
            switches: OnceCell::new(),
            enough: OnceCell::new(),
            largest: OnceCell::new(),
            all_headroom: Memo::default(),
            larger_buffer: Memo::default(),
            by_rate: Memo::default(),
            own: Memo::default(),
            expired: expired.map(|it| (it.node, it.port, it.priority)).collect(),
            control_lost,
            forwarders: storms
                .map(|it| (it.node, neighbour(it.node, it.port), it.priority))
                .collect(),
        }
    }

    /// Why the ingress of `port` dropped packets, and what helps.
    pub fn dropped(&self, port: &PortRecord) -> Cause {
        let config = self.config;
        let Some(link) = self.links.at(port.node, port.port) else {
            return Cause::new("it has no link", "");
        };
        if config.fabric.is_nvswitch(port.node) && config.switch.nvlink_drops {
            return Cause::new(
                "with switch.nvlink_drops an NVSwitch sends no PAUSE, and drops what does not fit into XOFF and headroom of the ingress",
                "without that key it drops nothing, as NVLink; a window at the senders keeps it from filling",
            );
        }
        if let Some(cause) = self.by_maps(port).or_else(|| self.disobeyed(port)) {
            return cause;
        }
        if config.fabric.nodes[port.node as usize] == NodeKind::Host {
            return receive_buffer(config, link);
        }
        let help = match config.switch.model {
            SwitchModel::SharedBuffer => return self.of_shared_buffer(port, link),
            SwitchModel::Pipeline(_) => "raise switch.pipeline.ingress_max, or lower ingress_xoff",
            SwitchModel::Cioq(_) => "raise switch.cioq.input_buffer, or lower pfc.xoff",
            SwitchModel::InputQueued(_) => {
                "raise switch.input_queued.input_buffer, or lower pfc.xoff"
            }
        };
        Cause::new(
            format!("its ingress queue is full; {}", needs(config, link)),
            help,
        )
    }

    fn neighbour(&self, port: &PortRecord) -> NodeId {
        self.measured.run.names.peers[port.node as usize][usize::from(port.port)]
    }

    /// Maps by which the PAUSE of the ingress stops another queue than the one that fills it.
    fn by_maps(&self, port: &PortRecord) -> Option<Cause> {
        let run = &self.measured.run;
        let mut faults = maps::between(run, port.node, self.neighbour(port)).into_iter();
        let own = |priority: u8| in_force::group(&run.config, port.node, priority) == port.priority;
        let fault = faults.find(|it| it.priority == port.priority || own(it.priority))?;
        Some(Cause {
            key: format!("{} {}", fault.switch, fault.help),
            ..Cause::new(fault.message, fault.help)
        })
    }

    /// Senders that PAUSE does not stop overflow any headroom.
    fn disobeyed(&self, port: &PortRecord) -> Option<Cause> {
        let (config, priority) = (self.config, port.priority);
        let peer = self.neighbour(port);
        if config.fabric.nodes[peer as usize] == NodeKind::Host {
            return config.host.ignores_pause.contains(&peer).then(|| {
                Cause::new(
                    format!("host.ignore_pause names {PEER}, which may fill any headroom"),
                    format!("remove {PEER} from host.ignore_pause"),
                )
            });
        }
        if in_force::lossless(config, peer) >> priority & 1 == 0 {
            return Some(Cause::new(
                format!(
                    "PAUSE of priority {priority} does not stop {PEER} (lossless of its override), which may fill any headroom"
                ),
                format!("add {priority} to lossless of that [[override]]"),
            ));
        }
        let sends_on = self.forwarders.contains(&(peer, port.node, priority));
        sends_on.then(|| {
            Cause::new(
                format!(
                    "the PFC watchdog of {PEER} sent on in spite of PAUSE (action = \"forward\"), and may fill any headroom"
                ),
                "set action = \"drop\" in [switch.watchdog], or see table storms for the cause of the pause",
            )
        })
    }

    /// Why the ingress of a switch with a shared buffer dropped packets.
    fn of_shared_buffer(&self, port: &PortRecord, link: &Link) -> Cause {
        let place = Place {
            node: port.node,
            port: port.port,
            priority: port.priority,
        };
        let room = in_force::headroom(self.config, place, link);
        if room < needed(self.config, link) + crossing(self.config) {
            self.too_small(place, link)
        } else {
            self.in_spite_of(port, room, link)
        }
    }

    /// Headroom is less than the link needs.
    fn too_small(&self, place: Place, link: &Link) -> Cause {
        let config = self.config;
        let (name, raise, remove) = self.enough(place, link);
        let more = self.larger_buffer(place.node);
        let needs = needs(config, link);
        if config.switch.pfc.headroom_pool_bytes.is_some() {
            let pool = size_at_least(self.largest());
            return Cause::new(
                format!("the shared headroom pool is exhausted, or {name} is too small; {needs}"),
                format!("{raise}, and pfc.headroom_pool to {pool} or more{more}"),
            );
        }
        let default = match more.is_empty() {
            true => format!(", or remove {remove}: this formula is the default"),
            // Without the key, headroom of this size does not fit, either.
            false => String::new(),
        };
        Cause::new(
            format!("{name} is too small; {needs}"),
            format!("{raise}{more}{default}"),
        )
    }

    /// Headroom of all ports of the switch that needs most.
    fn largest(&self) -> u64 {
        *self
            .largest
            .get_or_init(|| room::largest(self.config, &self.links))
    }

    /// The setting of headroom in force, with its value; advice to raise it so that it is enough for each link that it is of;
    /// and what to remove instead.
    fn enough(&self, place: Place, link: &Link) -> (String, String, &'static str) {
        let config = self.config;
        let pfc = &config.switch.pfc;
        let all = config.fabric.links.iter();
        if let Some(own) = in_force::own(config, place, |it| it.headroom_bytes) {
            let bytes = self.own.get((place.node, place.priority, own), || {
                let of =
                    |port| in_force::own(config, Place { port, ..place }, |it| it.headroom_bytes);
                let ports = self.links.ports(place.node);
                let same = ports.filter(|(port, _)| of(*port) == Some(own));
                for_all(config, same.map(|(_, link)| link))
            });
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
            let most = || all.map(delays_of).max().unwrap_or(0).to_string();
            return (
                format!("headroom of pfc.headroom_delays = {delays}"),
                format!(
                    "raise pfc.headroom_delays to {} or more",
                    self.enough.get_or_init(most)
                ),
                "it",
            );
        }
        if pfc.headrooms.iter().any(|(rate, _)| *rate == link.rate) {
            let rate = link.rate.to_string().replace(' ', "");
            let bytes = self.by_rate.get(link.rate, || {
                for_all(config, all.filter(|it| it.rate == link.rate))
            });
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
        let bytes = self.enough.get_or_init(|| for_all(config, all));
        let raise = format!("set pfc.headroom to {bytes} or more");
        (name, raise, "it")
    }

    /// Advice to raise the buffer of a switch with its headroom, where both together would not fit.
    fn larger_buffer(&self, node: NodeId) -> String {
        let config = self.config;
        let Some(buffer) = in_force::buffer(config, node) else {
            return String::new();
        };
        let key = match config.switch.buffer_bytes == Some(buffer) {
            true => "switch.buffer",
            false => "buffer of its override",
        };
        let switches = self
            .switches
            .get_or_init(|| Switches::of(&self.measured.run));
        let enough = match (config.switch.pfc.threshold, switches) {
            (PfcThreshold::Static { .. }, Some(switches)) => self
                .larger_buffer
                .get((buffer, None), || switches.enough(node)),
            // What queues share stays as it is.
            _ => self.larger_buffer.get((buffer, Some(node)), || {
                let headroom = |is_enough| room::all_headroom(config, &self.links, node, is_enough);
                let shared = buffer.saturating_sub(headroom(false));
                shared.saturating_add(headroom(true))
            }),
        };
        match enough > buffer {
            true => format!(", and {key} to {} or more", size_at_least(enough)),
            false => String::new(),
        }
    }

    /// Headroom is enough for a sender that a PAUSE stops once and for all: what else was there, and what helps.
    fn in_spite_of(&self, port: &PortRecord, room: u64, link: &Link) -> Cause {
        let (config, pfc) = (self.config, &self.config.switch.pfc);
        let mut found: Vec<(String, String)> = Vec::new();
        let all_headroom = || room::all_headroom(config, &self.links, port.node, false);
        if let Some(pool) = pfc
            .headroom_pool_bytes
            .filter(|pool| *pool < self.all_headroom.get(port.node, all_headroom))
        {
            found.push((
                format!(
                    "the headroom pool of {}, which all ports of the switch share, is exhausted",
                    size(pool)
                ),
                format!(
                    "raise pfc.headroom_pool to {} or more, or remove it: then each port has its own",
                    size_at_least(self.largest())
                ),
            ));
        }
        found.extend(self.expired(port, link));
        let lost = self.control_lost.get(&(port.node, port.port));
        let lost = lost.copied().unwrap_or(0);
        if lost > 0 {
            found.push((
                format!(
                    "control frames to {PEER} were lost ({COUNT}), and XOFF may have been among them"
                ),
                "table losses says where; after a lost XOFF its sender keeps sending until PAUSE is repeated"
                    .to_owned(),
            ));
        }
        if found.is_empty() && in_force::buffer(config, port.node).is_some() {
            found.push((
                "the buffer is full".to_owned(),
                match self.larger_buffer(port.node).strip_prefix(", and ") {
                    Some(more) => format!("raise {more}"),
                    None => {
                        "raise switch.buffer, or remove it: enough for every port is the default"
                            .to_owned()
                    }
                },
            ));
        }
        let needs = needs(config, link);
        if found.is_empty() {
            return Cause::new(
                format!("its headroom of {} is full; {needs}", size(room)),
                "see max_ingress_bytes in table ports",
            );
        }
        let (causes, helps): (Vec<String>, Vec<String>) = found.into_iter().unzip();
        let text = format!(
            "{}; its own headroom of {} is not too small: {needs}",
            causes.join(", and "),
            size(room)
        );
        Cause {
            count: lost,
            ..Cause::new(text, helps.join("; "))
        }
    }

    /// PAUSE that ran out while the ingress was full.
    fn expired(&self, port: &PortRecord, link: &Link) -> Option<(String, String)> {
        let config = self.config;
        let params = &config.switch.pfc.params;
        let has_expired = self
            .expired
            .contains(&(port.node, port.port, port.priority));
        let help = "set pfc.mode = \"standard\", which repeats PAUSE, or a longer pfc.pause_time";
        let text = if has_expired {
            format!("PAUSE ran out at {PEER}, which sent on")
        } else if config.probes.causes || params.mode != pfc::PauseMode::Once {
            return None;
        } else {
            format!(
                "PAUSE is not repeated (pfc.mode = \"once\"): a sender goes on if XON has not come after {}",
                params.pause_duration(link.rate)
            )
        };
        Some((text, help.to_owned()))
    }
}

/// The receive buffer of a host is full: its size, XOFF in it, and the size that is enough for all priorities.
fn receive_buffer(config: &Config, link: &Link) -> Cause {
    let needs = needs(config, link);
    let slow = config.host.slow_receiver.as_ref();
    let Some((slow, bytes)) = slow.and_then(|it| Some((it, it.buffer_bytes?))) else {
        return Cause::new(format!("its receive buffer is full; {needs}"), "");
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
    Cause::new(cause, help)
}

/// The headroom to write for all of these links.
fn for_all<'a>(config: &Config, links: impl Iterator<Item = &'a Link>) -> String {
    let each = links.map(|link| room::headroom_to_write(config, link));
    size_at_least(each.max().unwrap_or(0))
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
