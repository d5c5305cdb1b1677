//! What every node of a run reads and none writes.

use unpause_protocols::flow_control::pfc;
use unpause_protocols::units::Time;

use crate::Error;
use crate::config::{Config, NodeId, NodeKind, PRIORITIES, PfcThreshold};
use crate::engine::wire::Ports;
use crate::packet::Kind;
use crate::routing::Routing;

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
        let used = config
            .traffic
            .iter()
            .fold(0, |used, spec| used | spec.priorities());
        let classes = Classes::new(used, config.switch.lossless, config.host.control_priority);
        let lookahead = config.fabric.links.iter().map(|link| link.delay).min();
        let lookahead = lookahead.unwrap_or(Time::from_us(1));
        let plan = Self {
            config,
            ports,
            routing,
            classes,
            lookahead,
        };
        plan.check_buffers()?;
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

    /// Bytes of the largest frame on a wire.
    pub fn mtu_wire_bytes(&self) -> u64 {
        u64::from(self.frame_bytes(self.config.host.payload_bytes)) + self.ports.framing_bytes
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

fn check(config: &Config) -> Result<(), Error> {
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
    Ok(())
}
