//! The receive buffer of a slow NIC: it fills, and the NIC sends PAUSE. A NIC with a PAUSE storm has one that stays empty.

use std::collections::VecDeque;

use unpause_protocols::flow_control::pfc::Ingress;
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use crate::config::SlowReceiver;
use crate::engine::log::Log;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::{CauseRecord, Held, Holder};
use crate::outcome::results::PortRecord;
use crate::plan::Plan;

/// What a slow NIC has received and not yet taken.
#[derive(Debug)]
pub struct ReceiveBuffer {
    pub config: SlowReceiver,
    pub room: u64,
    /// Room for what is not lossless, which nothing stops.
    pub lossy_room: u64,
    pub bytes: u64,
    pub packets: VecDeque<Packet>,
    pub classes: Vec<Class>,
    /// How long a PAUSE asks for.
    pub pause: Time,
    /// A timer runs for when the port is free.
    pub waits: bool,
    /// Why PAUSE was sent; nothing if nobody asks.
    pub causes: Option<Vec<CauseRecord>>,
}

/// What is held of a class.
#[derive(Clone, Debug, Default)]
pub struct Class {
    pub ingress: Ingress,
    pub pause_frames: u64,
    pub pause_events: u64,
    pub max_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    /// Of the XOFF in force: its place among the causes, and what had been dropped before.
    pub open: Option<(usize, u64)>,
}

impl ReceiveBuffer {
    /// An empty one of the NIC with this port, if its host is slow or it has a PAUSE storm. The link to an NVSwitch has no NIC.
    pub fn new(port: GlobalPort, plan: &Plan<'_>) -> Option<Box<Self>> {
        let (host, nic) = plan.ports.place(port);
        let link = &plan.ports.transmitters[port as usize];
        if plan.config.fabric.is_nvswitch(link.peer) {
            return None;
        }
        let slow = plan.config.host.slow_receiver.as_ref();
        let slow = slow.filter(|slow| slow.hosts.contains(&host));
        let storms = &plan.config.events.storms;
        let never_slow = || SlowReceiver {
            hosts: Vec::new(),
            drain_rate: Rate::ZERO,
            start: Time::NEVER,
            stop: Time::NEVER,
            xoff_bytes: 0,
            xon_bytes: 0,
            buffer_bytes: None,
        };
        let config = match slow {
            Some(slow) => slow.clone(),
            None if storms.iter().any(|it| it.is_at(host, nic)) => never_slow(),
            None => return None,
        };
        let frame = u64::from(plan.config.largest_frame_bytes());
        let headroom = plan.headroom(link.speed, link.delay);
        let each = config.xoff_bytes + frame + headroom;
        let rate = link.speed.rate();
        let pools = u64::from(plan.config.switch.lossless.count_ones()) + 1;
        Some(Box::new(Self {
            room: config.buffer_bytes.unwrap_or(pools * each),
            lossy_room: config.buffer_bytes.unwrap_or(each),
            config,
            bytes: 0,
            packets: VecDeque::new(),
            classes: vec![Class::default(); plan.classes.count()],
            pause: plan.config.switch.pfc.params.pause_duration(rate),
            waits: false,
            causes: plan.config.probes.causes.then(Vec::new),
        }))
    }

    /// Packets in it.
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// True if what comes now waits in it.
    pub fn holds_next(&self, now: Time) -> bool {
        !self.packets.is_empty() || self.is_slow(now)
    }

    /// True if it has room for this many bytes of `class`.
    pub fn takes(&self, class: u8, bytes: u64, plan: &Plan<'_>) -> bool {
        let is_lossy = |class: u8| !plan.classes.is_lossless(class);
        let lossy = || {
            let classes = (0..).zip(&self.classes).filter(|(it, _)| is_lossy(*it));
            classes.map(|(_, held)| held.ingress.bytes()).sum::<u64>()
        };
        self.bytes + bytes <= self.room && (!is_lossy(class) || lossy() + bytes <= self.lossy_room)
    }

    /// Bytes held of a class, and PAUSEs sent for it.
    pub fn sample(&self, class: u8) -> (u64, u64) {
        let held = &self.classes[usize::from(class)];
        (held.ingress.bytes(), held.pause_frames)
    }

    /// Adds what is known of a class at the end.
    pub fn record(&self, class: u8, plan: &Plan<'_>, record: &mut PortRecord) {
        let held = &self.classes[usize::from(class)];
        record.pause_frames = held.pause_frames;
        record.pause_events = held.pause_events;
        record.max_ingress_bytes = held.max_bytes;
        if plan.classes.is_lossless(class) {
            record.headroom_dropped_packets = held.dropped_packets;
        } else {
            record.dropped_packets = held.dropped_packets;
            record.dropped_bytes = held.dropped_bytes;
        }
    }

    /// What holds the bytes of `class`, which has gone to XOFF.
    pub fn note_xoff(
        &mut self,
        now: Time,
        (node, port): (NodeId, PortId),
        class: u8,
        plan: &Plan<'_>,
    ) {
        let Some(causes) = &mut self.causes else {
            return;
        };
        let mut flows = Held::default();
        for packet in &self.packets {
            if plan.classes.of(packet.priority()) == class {
                flows.add(packet.flow, packet.bytes.into(), packet.bytes.into());
            }
        }
        let held = &mut self.classes[usize::from(class)];
        held.open = Some((causes.len(), held.dropped_packets));
        causes.push(CauseRecord {
            node,
            port,
            priority: plan.classes.priority(class),
            time: now,
            until: now,
            paused: Time::ZERO,
            expired: false,
            held_bytes: flows.bytes(),
            dropped_packets: 0,
            holders: vec![Holder {
                bytes: flows.bytes(),
                queue_bytes: self.bytes,
                flows: flows.into_shares(),
                ..Holder::empty(now)
            }],
            taken: None,
            root: None,
        });
    }

    /// `class` has gone to XON, or the run has ended.
    pub fn note_xon(&mut self, now: Time, class: u8) {
        let held = &mut self.classes[usize::from(class)];
        if let (Some(causes), Some((at, dropped))) = (&mut self.causes, held.open.take()) {
            causes[at].until = now;
            causes[at].dropped_packets = held.dropped_packets - dropped;
        }
    }

    /// Hands over why PAUSE was sent.
    pub fn record_causes(&mut self, now: Time, log: &mut Log) {
        for class in 0..self.classes.len() {
            self.note_xon(now, class as u8);
        }
        log.causes.extend(self.causes.take().into_iter().flatten());
    }

    pub fn is_slow(&self, now: Time) -> bool {
        (self.config.start..self.config.stop).contains(&now)
    }

    /// When a packet that begins to leave now has left.
    pub fn taken(&self, now: Time, bytes: u64, speed: LinkSpeed) -> Time {
        if !self.is_slow(now) {
            return now + speed.time_for(bytes);
        }
        let taken = match self.config.drain_rate {
            Rate::ZERO => Time::NEVER,
            rate => now.saturating_add(rate.time_for(bytes)),
        };
        taken.min(self.config.stop)
    }
}
