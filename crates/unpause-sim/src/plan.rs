//! What every node of a run reads and none writes.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::tagging::{self, Tagging};
use unpause_protocols::units::Time;

use crate::Error;
use crate::config::{Config, NodeId, NodeKind, PRIORITIES, PfcThreshold, SwitchModel};
use crate::engine::wire::Ports;
use crate::ideal::Frames;
use crate::packet::Kind;
use crate::routing::Routing;
use crate::switch::cioq;
use crate::traffic::{ExtraDelay, TrafficSpec, Transport};

/// Smallest Ethernet frame, bytes.
pub const MIN_FRAME_BYTES: u32 = 64;

/// A configuration that has been checked, with what follows from it.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The run.
    pub config: &'a Config,
    /// Ports of all nodes.
    pub ports: Ports,
    /// Routes.
    pub routing: Routing,
    /// The priorities in use.
    pub classes: Classes,
    /// No node reaches another sooner than this.
    pub lookahead: Time,
    /// What all TCP connections have in common.
    pub tcp: TcpPlan,
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

impl<'a> Plan<'a> {
    /// Checks what the engine relies on.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] with the reason.
    pub fn new(config: &'a Config) -> Result<Self, Error> {
        check(config)?;
        let ports = Ports::new(&config.fabric);
        let routing = Routing::new(&config.fabric, &ports, config.seed);
        let used = config.data_priorities();
        let classes = Classes::new(used, config.switch.lossless, config.host.control_priority);
        let lookahead = config.fabric.links.iter().map(|link| link.delay).min();
        let lookahead = lookahead.unwrap_or(Time::from_us(1));
        let plan = Self {
            config,
            ports,
            routing,
            classes,
            lookahead,
            tcp: TcpPlan::new(config),
        };
        match &config.switch.model {
            SwitchModel::SharedBuffer => plan.check_buffers()?,
            SwitchModel::Cioq(_) => {}
            SwitchModel::Pipeline(pipeline) => {
                if let Some(reason) = pipeline.problem(plan.mtu_wire_bytes()) {
                    return Err(Error::Invalid(reason));
                }
            }
        }
        Ok(plan)
    }

    /// Headroom must leave something of the buffer, or every other packet would be dropped.
    fn check_buffers(&self) -> Result<(), Error> {
        let Some(buffer) = self.config.switch.buffer_bytes else {
            return Ok(());
        };
        let lossless = u64::from(self.classes.lossless.count_ones());
        for node in 0..self.config.fabric.nodes.len() as NodeId {
            let headroom: u64 = self
                .ports
                .transmitters_of(node)
                .iter()
                .map(|port| lossless * self.headroom(port.ps_per_byte, port.delay))
                .sum();
            if !self.is_host(node) && headroom >= buffer {
                return Err(Error::Invalid(format!(
                    "switch {node}: headroom takes {headroom} B, the buffer has {buffer} B"
                )));
            }
        }
        Ok(())
    }

    /// True if `node` is a host.
    pub fn is_host(&self, node: NodeId) -> bool {
        self.config.fabric.nodes[node as usize] == NodeKind::Host
    }

    /// Frame size of a data packet with `payload` bytes.
    #[inline]
    pub fn frame_bytes(&self, payload: u32) -> u32 {
        (payload + self.config.host.header_bytes).max(MIN_FRAME_BYTES)
    }

    /// What a switch adds to the time of a packet that is alone in it.
    pub fn switch_latency(&self) -> Time {
        match &self.config.switch.model {
            SwitchModel::SharedBuffer => Time::ZERO,
            SwitchModel::Pipeline(pipeline) => pipeline.service() + pipeline.latency,
            // Request, grant and crossing.
            SwitchModel::Cioq(cioq) => cioq.latency * 2,
        }
    }

    /// True if packets of a flow may take different ways.
    pub fn sprays(&self) -> bool {
        match &self.config.switch.model {
            SwitchModel::SharedBuffer | SwitchModel::Cioq(_) => false,
            SwitchModel::Pipeline(pipeline) => pipeline.balancing.is_some(),
        }
    }

    /// Bytes of the largest frame on a wire.
    pub fn mtu_wire_bytes(&self) -> u64 {
        let largest = self.config.largest_frame_bytes().max(MIN_FRAME_BYTES);
        u64::from(largest) + self.ports.framing_bytes
    }

    /// Headroom of one lossless (ingress port, priority) whose link's far end is `ps_per_byte` and
    /// `delay` away. With a dynamic threshold it has room for one more frame: the one that crosses
    /// the threshold may find shared memory full.
    pub fn headroom(&self, ps_per_byte: u64, delay: Time) -> u64 {
        let pfc = &self.config.switch.pfc;
        let crossing = match pfc.threshold {
            PfcThreshold::Static { .. } => 0,
            PfcThreshold::Dynamic { .. } => self.mtu_wire_bytes(),
        };
        let after_xoff = pfc.headroom_bytes.unwrap_or_else(|| {
            let rate = unpause_protocols::units::Rate::from_bps(8_000_000_000_000 / ps_per_byte);
            let frame = u64::from(Kind::Pfc.control_bytes()) + self.ports.framing_bytes;
            pfc::headroom(rate, delay, self.mtu_wire_bytes(), frame, pfc.reaction)
        });
        crossing + after_xoff
    }
}

/// What all TCP connections have in common.
#[derive(Debug)]
pub struct TcpPlan {
    /// Bytes of the flow in a full segment.
    pub mss: u32,
    header_bytes: u32,
    /// Frame size of SYN and ACK.
    pub control_bytes: u16,
    /// Bytes under way at most: whole segments, so that segments stay where they are in the flow.
    pub buffer_bytes: u64,
    tagging: Tagging,
    /// Priorities by level; none where segments have that of their flow.
    priorities: Vec<u8>,
}

impl TcpPlan {
    fn new(config: &Config) -> Self {
        let tcp = &config.host.tcp;
        let mss = config.scheme.window.tcp().mss.max(1);
        let whole = tcp.buffer_bytes / u64::from(mss) * u64::from(mss);
        let (law, priorities) = match &tcp.tags {
            Some(tags) => (&tags.law, tags.priorities.clone()),
            None => (&tagging::Config::None, Vec::new()),
        };
        Self {
            mss,
            header_bytes: tcp.header_bytes,
            control_bytes: tcp.header_bytes.max(MIN_FRAME_BYTES) as u16,
            buffer_bytes: whole.max(u64::from(mss)),
            tagging: Tagging::new(law),
            priorities,
        }
    }

    /// Bytes in the segment that starts at `start`, of a flow of `size` bytes.
    #[inline]
    pub fn segment_bytes(&self, start: u64, size: Option<u64>) -> u32 {
        let rest = size.unwrap_or(u64::MAX).saturating_sub(start);
        rest.min(u64::from(self.mss)) as u32
    }

    /// Frame size of a segment.
    #[inline]
    pub fn frame_bytes(&self, payload: u32) -> u32 {
        (payload + self.header_bytes).max(MIN_FRAME_BYTES)
    }

    /// Priority of a segment of a flow whose own is `priority`.
    #[inline]
    pub fn priority(&self, priority: u8, start: u64, bytes: u32) -> u8 {
        match &self.priorities[..] {
            [] => priority,
            [.., last] => {
                let level = self.tagging.level(start, bytes);
                *self.priorities.get(usize::from(level)).unwrap_or(last)
            }
        }
    }

    /// Priority of the first segment of a flow whose own is `priority`.
    pub fn first_priority(&self, priority: u8) -> u8 {
        self.priorities.first().copied().unwrap_or(priority)
    }

    /// What a flow of `size` bytes, above 0, puts on a wire with `framing` bytes for each frame.
    pub fn frames(&self, size: u64, framing: u64) -> Frames {
        let full = (size - 1) / u64::from(self.mss);
        let last = (size - full * u64::from(self.mss)) as u32;
        Frames {
            full,
            full_bytes: u64::from(self.frame_bytes(self.mss)) + framing,
            last_bytes: u64::from(self.frame_bytes(last)) + framing,
        }
    }
}

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

fn check(config: &Config) -> Result<(), Error> {
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
    cioq::check(config).map_err(Error::Invalid)
}
