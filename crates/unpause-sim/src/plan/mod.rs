//! The plan of a run: every node reads it, and none writes to it.

pub mod dependency;
pub mod sampling;
pub mod schedule;

use unpause_protocols::flow_control::credits::UPDATE_BYTES;
use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::{Fraction, LinkSpeed, Rate, Time};

use crate::config::invalid::{Invalid, Subject, bytes};
use crate::config::{Balancing, Config, NicModel, PfcThreshold, SwitchModel};
use crate::fabric::packet::{Kind, MIN_FRAME_BYTES};
use crate::fabric::ports::{GlobalPort, Ports, Transmitter};
use crate::fabric::{NodeId, NodeKind, PRIORITIES, PortId};
use crate::followers::Followers;
use crate::jobs::Jobs;
use crate::plan::schedule::Schedule;
use crate::routing::{Direction, Routing};

mod alone;
mod cbfc;
mod check;
pub mod credits;
mod cut_through;
mod epochs;
mod frames;
mod jobs;
mod link_credits;
mod link_retries;
mod model;
mod overrides;
mod paths;
pub mod recovery;
mod retry;
mod slow_hosts;
mod switch_settings;
mod tcp;
mod trimming;

pub use epochs::Epochs;
pub use frames::smallest_on_wire;
pub use switch_settings::Overrides;
pub use tcp::TcpPlan;

/// A configuration that has been checked, with what follows from it.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The run.
    pub config: &'a Config,
    /// Ports of all nodes.
    pub ports: Ports,
    /// Routes of the fabric with all its links.
    pub routing: Routing,
    /// Links that fail and return, and the routes that follow.
    pub epochs: Epochs,
    /// The priorities in use.
    pub classes: Classes,
    /// Bytes of the largest frame on a wire.
    pub mtu_wire_bytes: u64,
    /// Who runs while others wait.
    pub schedule: Schedule,
    /// The settings that all TCP connections share.
    pub tcp: TcpPlan,
    /// Flows that start when others have ended.
    pub followers: Followers,
    /// The connections of jobs.
    pub jobs: Jobs,
    /// The least share of its link's rate that a receiver grants, if it grants less while the fabric carries less.
    pub least_grant: Option<Fraction>,
}

/// The priorities in use, densely numbered: a higher class is more urgent.
#[derive(Clone, Debug)]
pub struct Classes {
    of_priority: [u8; PRIORITIES],
    priorities: Vec<u8>,
    /// Bit c set: class c is lossless.
    pub lossless: u8,
    /// Class of control packets.
    pub control: u8,
}

impl Classes {
    fn new(used: u8, lossless: u8, control_priority: u8) -> Self {
        let used = used | 1 << control_priority;
        let priorities: Vec<u8> = (0..PRIORITIES as u8)
            .filter(|p| used >> p & 1 == 1)
            .collect();
        let mut of_priority = [0; PRIORITIES];
        let mut lossless_classes = 0;
        for (class, &priority) in priorities.iter().enumerate() {
            of_priority[priority as usize] = class as u8;
            lossless_classes |= (lossless >> priority & 1) << class;
        }
        let control = of_priority[control_priority as usize];
        Self {
            of_priority,
            priorities,
            lossless: lossless_classes,
            control,
        }
    }
    /// How many there are.
    pub fn count(&self) -> usize {
        self.priorities.len()
    }
    /// The class of a priority in use.
    #[inline]
    pub fn of(&self, priority: u8) -> u8 {
        self.of_priority[priority as usize]
    }
    /// The priority of a class.
    pub fn priority(&self, class: u8) -> u8 {
        self.priorities[class as usize]
    }
    /// True if `class` is lossless.
    #[inline]
    pub fn is_lossless(&self, class: u8) -> bool {
        self.lossless >> class & 1 == 1
    }
}

/// The setting for links of `rate`, by clocks within `tolerance`.
pub fn at_rate<T: Clone>(settings: &[(Rate, T)], rate: Rate, tolerance: Fraction) -> Option<T> {
    let is_of = |of: Rate| {
        let off = of.as_bps().abs_diff(rate.as_bps());
        off == 0 || tolerance != Fraction::ZERO && off <= tolerance.of_value(of.as_bps()) + 1
    };
    let of_rate = settings.iter().find(|(of, _)| is_of(*of));
    of_rate.map(|(_, setting)| setting.clone())
}

/// The ports of a run.
pub fn ports(config: &Config) -> Ports {
    let mut ports = Ports::new(&config.fabric);
    if config.host.clock_tolerance != Fraction::ZERO {
        ports.draw_clocks(config.host.clock_tolerance, config.seed);
    }
    if config.switch.cut_through_bytes.is_some() {
        ports.cut_through(&config.fabric);
    }
    ports
}

/// Which nodes of such a fabric run while others wait.
pub fn schedule(config: &Config, ports: &Ports) -> Schedule {
    Schedule::new(ports, least_time(config))
}

/// A frame takes as long over a link, at least, as the smallest there is, if its receiver waits for its last bit.
pub fn least_time(config: &Config) -> impl Fn(&Transmitter) -> Time {
    let frame = smallest_on_wire(config);
    // Updates of credits and answers of retry are no frames, and wait for none.
    let switch = &config.switch;
    let bytes = if switch.cbfc.is_some() || switch.retry.is_some() {
        frame.min(UPDATE_BYTES)
    } else {
        frame
    };
    move |link| {
        if link.cuts_through {
            link.delay
        } else {
            link.delay + link.speed.time_for(bytes)
        }
    }
}

impl<'a> Plan<'a> {
    /// Checks what the engine relies on.
    ///
    /// # Errors
    ///
    /// The field at fault, and why.
    pub fn new(config: &'a Config) -> Result<Self, Invalid> {
        let mut plan = Self::without_routes(config)?;
        plan.routing = Routing::new(&config.fabric, &plan.ports, config.seed);
        plan.routing.choose_as(config);
        if config.switch.balancing == Balancing::Valiant {
            let (fabric, ports) = (&config.fabric, &plan.ports);
            plan.routing.go_by_groups(fabric, ports, config.seed, &[]);
        }
        if !config.events.is_empty() {
            plan.epochs = Epochs::of(config, &plan.ports, &plan.routing);
            for (_, port, speed) in plan.epochs.speeds() {
                plan.ports.may_slow_to(port, speed);
            }
        }
        Ok(plan)
    }

    /// Hosts with several links, which choose by routes, too.
    pub fn hosts_with_several_links(&self) -> impl Iterator<Item = NodeId> {
        let nodes = self.config.fabric.nodes.iter().zip(0..);
        let hosts = nodes.filter(|(kind, _)| **kind == NodeKind::Host);
        let several = |node: &NodeId| self.ports.of(*node).len() > 1;
        hosts.map(|(_, node)| node).filter(several)
    }

    /// The routes at a place of those that there are in the run: 0 are those of the fabric with all its links.
    pub fn routes(&self, place: usize) -> &Routing {
        self.epochs.routes(place).unwrap_or(&self.routing)
    }

    /// Finds the wires that are far: packets are on them for so many windows of the switch behind that looking at each packet in
    /// every window would cost much. At 43 windows it still costs less than a ring for each wire, at 200 much more.
    pub fn find_far_wires(&mut self) {
        const FAR_WINDOWS: u64 = 64;
        for node in 0..self.ports.nodes() as NodeId {
            let is_switch = !self.is_host(node);
            let long = self.schedule.lookahead(node, &self.ports) * FAR_WINDOWS;
            for port in self.ports.of(node) {
                let far_end = self.ports.transmitters[port as usize].peer_port;
                let into = &mut self.ports.transmitters[far_end as usize];
                into.is_far = is_switch && into.delay >= long;
            }
        }
    }

    /// The time from the failure of a rank until the others of its job stop. No window is as long as half of it, however the fabric is
    /// divided, so that all shards learn of the failure before.
    pub fn failure_notice(&self) -> Time {
        let takes = least_time(self.config);
        let longest = self.ports.transmitters.iter().map(takes).max();
        (longest.unwrap_or_default() * 8).max(Time::from_us(100))
    }

    /// Has shards run independently where that is better ([`Schedule::set_independent`]).
    pub fn set_independent(&mut self, shard_of: &[u16]) {
        let takes = least_time(self.config);
        self.schedule.set_independent(&self.ports, shard_of, takes);
    }

    /// All that the checks need.
    pub fn without_routes(config: &'a Config) -> Result<Self, Invalid> {
        check::check(config)?;
        let ports = ports(config);
        let used = config.data_priorities() | overrides::mapped(config);
        let classes = Classes::new(used, config.switch.lossless, config.host.control_priority);
        let schedule = schedule(config, &ports);
        let mtu_wire_bytes = u64::from(config.largest_frame_bytes()) + ports.framing_bytes;
        let plan = Self {
            config,
            ports,
            routing: Routing::default(),
            epochs: Epochs::default(),
            classes,
            mtu_wire_bytes,
            schedule,
            tcp: TcpPlan::new(config),
            followers: Followers::of(config)
                .map_err(|why| Invalid::new("traffic", why.to_string()))?,
            jobs: Jobs::of(&config.jobs),
            least_grant: credits::least_share(config),
        };
        if config.switch.model == SwitchModel::SharedBuffer {
            plan.check_buffers()?;
        }
        Ok(plan)
    }

    /// Headroom must leave something of the buffer, or every other packet would be dropped.
    fn check_buffers(&self) -> Result<(), Invalid> {
        for node in 0..self.config.fabric.nodes.len() as NodeId {
            let Some(buffer) = self.switch_settings(node).buffer_bytes else {
                continue;
            };
            let headroom = self.reserved_headroom(node);
            if !self.is_host(node) && headroom >= buffer {
                let message = format!("needs {} of headroom", bytes(headroom));
                let invalid = Invalid::new("switch.buffer_bytes", message);
                let label = format!("its buffer has {}", bytes(buffer));
                return Err(invalid.label(label).of(Subject::Switch(node)));
            }
        }
        Ok(())
    }

    /// The bytes that switch `node` reserves in its buffer for headroom and for ports.
    pub fn reserved_headroom(&self, node: NodeId) -> u64 {
        let lossless = self.switch_settings(node).lossless;
        let ports = self.ports.transmitters_of(node).iter();
        if self.config.switch.cbfc.is_some() {
            let buffers = ports.map(|port| self.credit_buffer(port.speed, port.delay));
            let each = u64::from(lossless.count_ones());
            return buffers.map(|buffer| each * buffer).sum();
        }
        let (count, pfc) = (ports.len() as u64, &self.config.switch.pfc);
        let classes = (0..self.classes.count() as u8).filter(|class| lossless >> class & 1 == 1);
        let of_port = |port: PortId| {
            let place = move |class| (port, self.classes.priority(class));
            classes
                .clone()
                .map(move |class| self.headroom_at(node, place(class)))
        };
        let numbers = 0..count as PortId;
        let pool = pfc.headroom_pool_bytes.unwrap_or(u64::MAX);
        match pfc.threshold {
            // As in HPCC's simulator, which sets it apart once for each port.
            PfcThreshold::Reserved { reserve_bytes, .. } if lossless != 0 => {
                let largest = numbers.map(|port| of_port(port).max().unwrap_or(0));
                largest.sum::<u64>().min(pool) + count * reserve_bytes
            }
            _ => numbers.flat_map(of_port).sum::<u64>().min(pool),
        }
    }

    /// Headroom of a lossless priority at an ingress port of switch `node`; that of an override where there is one.
    pub fn headroom_at(&self, node: NodeId, place: (PortId, u8)) -> u64 {
        let overrides = self.overrides(node);
        match overrides.at(place, |it| it.headroom_bytes) {
            Some(own) => self.crossing(true) + own,
            None if overrides.at(place, |it| it.pfc) == Some(false) => 0,
            None => {
                let link = &self.ports.transmitters_of(node)[usize::from(place.0)];
                if self.config.has_lossless_nvlink(node) {
                    self.round_trip(link.speed, link.delay)
                } else {
                    self.headroom(link.speed, link.delay)
                }
            }
        }
    }

    /// True if `node` is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.config.fabric.nodes[node as usize] == NodeKind::Host
    }

    /// Frame size of a data packet with `payload` bytes.
    #[inline]
    pub fn frame_bytes(&self, payload: u32) -> u32 {
        let host = &self.config.host;
        (payload + host.header_bytes).max(host.min_frame_bytes)
    }

    /// The time that a switch adds to a packet that is alone in it.
    pub fn switch_latency(&self) -> Time {
        match &self.config.switch.model {
            SwitchModel::SharedBuffer => Time::ZERO,
            SwitchModel::Pipeline(pipeline) => pipeline.service() + pipeline.latency,
            // Request, grant and crossing; over spines, that takes two hops, of whole picoseconds.
            SwitchModel::Cioq(cioq) => {
                let crossing = match cioq.spines {
                    None => cioq.latency.as_ps(),
                    Some(_) => cioq.latency.as_ps() / 2 * 2,
                };
                cioq.request_and_grant() + Time::from_ps(crossing)
            }
            // The cells of the smallest frame, in the fastest switch.
            SwitchModel::InputQueued(config) => {
                let links = self.ports.transmitters.iter();
                let fastest = links.map(|it| it.speed).max();
                let smallest = MIN_FRAME_BYTES.min(self.frame_bytes(1));
                let cells = smallest.div_ceil(config.cell_bytes);
                fastest.map_or(Time::ZERO, |speed| config.slot(speed) * u64::from(cells))
            }
        }
    }

    /// When a PAUSE left the peer of `port` at `node`, where it takes effect `now`.
    pub fn pause_sent(&self, now: Time, node: NodeId, port: PortId) -> Time {
        let link = &self.ports.transmitters_of(node)[usize::from(port)];
        let frame = u64::from(Kind::Pfc.control_bytes()) + self.ports.framing_bytes;
        let sent = |speed: LinkSpeed| {
            let travel = speed.time_for(frame) + link.delay;
            now.saturating_sub(travel + self.config.switch.pfc.reaction)
        };
        let before = self.epochs.speeds().rev();
        let mut before = before.filter(|(_, of, _)| *of == link.peer_port);
        // The last change before which it cannot have left.
        let last = before.find(|(at, _, speed)| sent(*speed) >= *at);
        sent(last.map_or(link.speed, |(_, _, speed)| speed))
    }

    /// The speed of the wire behind a port at a time.
    pub fn speed_at(&self, port: GlobalPort, time: Time) -> LinkSpeed {
        let fabric = self.ports.transmitters[port as usize].speed;
        if self.config.events.rates.is_empty() {
            fabric
        } else {
            self.epochs.speed_at(port, time).unwrap_or(fabric)
        }
    }

    /// True if packets of a flow may take different paths.
    pub fn sprays(&self) -> bool {
        self.config.switch.balancing.sprays() || self.config.host.sprays()
    }

    /// By how many NICs the packets of a flow leave and arrive, at the host where that is fewer.
    pub fn nics_of(&self, way: &Direction) -> u64 {
        if !self.config.host.sprays() || self.config.host.nic == NicModel::Hpcc {
            return 1;
        }
        let nearest = |from, to| self.routing.choices(from, to).len().max(1) as u64;
        nearest(way.src, way.dst).min(nearest(way.dst, way.src))
    }

    /// The shift of the dynamic threshold of ports whose links have this speed; 0 if
    /// thresholds are fixed.
    pub fn pfc_shift(&self, speed: LinkSpeed) -> i32 {
        let pfc = &self.config.switch.pfc;
        let rate = speed.rate();
        let same = match pfc.threshold {
            PfcThreshold::Static { .. } => return 0,
            PfcThreshold::Dynamic { shift, .. } | PfcThreshold::Reserved { shift, .. } => shift,
        };
        at_rate(&pfc.shifts, rate, self.config.host.clock_tolerance).unwrap_or(same)
    }

    /// Headroom of one lossless (ingress port, priority) whose link has this speed and
    /// delay. With a dynamic threshold it has room for one more frame: the one that crosses
    /// the threshold may find shared memory full.
    pub fn headroom(&self, speed: LinkSpeed, delay: Time) -> u64 {
        let pfc = &self.config.switch.pfc;
        let (rate, tolerance) = (speed.rate(), self.config.host.clock_tolerance);
        if let Some(delays) = pfc.headroom_delays {
            return self.crossing(true) + speed.bytes_in(delay) * u64::from(delays);
        }
        if let Some(bytes) = at_rate(&pfc.headrooms, rate, tolerance).or(pfc.headroom_bytes) {
            return self.crossing(true) + bytes;
        }
        self.crossing(false) + self.round_trip(speed, delay)
    }

    /// Bytes that may still arrive after an XOFF frame is due.
    pub fn round_trip(&self, speed: LinkSpeed, delay: Time) -> u64 {
        let frame = u64::from(Kind::Pfc.control_bytes()) + self.ports.framing_bytes;
        let pfc = &self.config.switch.pfc;
        // The peer may be fast where this port is slow.
        let (rate, tolerance) = (speed.rate(), self.config.host.clock_tolerance);
        let fastest = Rate::from_bps(rate.as_bps() + 2 * tolerance.of_value(rate.as_bps()));
        pfc::headroom(fastest, delay, self.mtu_wire_bytes, frame, pfc.reaction)
    }

    /// Headroom for the frame that crosses the threshold.
    fn crossing(&self, is_set: bool) -> u64 {
        match self.config.switch.pfc.threshold {
            PfcThreshold::Static { .. } => 0,
            // Whoever sets headroom so, means it to the byte.
            PfcThreshold::Reserved { .. } if is_set => 0,
            PfcThreshold::Dynamic { .. } | PfcThreshold::Reserved { .. } => self.mtu_wire_bytes,
        }
    }
}
