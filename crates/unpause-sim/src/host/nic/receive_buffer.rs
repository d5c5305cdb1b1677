//! The receive buffer of a slow NIC: it fills, and the NIC sends PAUSE. A NIC with a PAUSE storm has one that stays empty.

use std::collections::VecDeque;

use unpause_protocols::flow_control::pfc::{Action, Ingress};
use unpause_protocols::units::{LinkSpeed, Rate, Time};

use super::super::timer::{BufferTimer, Timer};
use crate::config::SlowReceiver;
use crate::engine::heap::Heap;
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::Packet;
use crate::fabric::ports::GlobalPort;
use crate::link::end::End;
use crate::outcome::causes::{CauseRecord, Held, Holder};
use crate::outcome::results::PortRecord;
use crate::plan::Plan;

/// The link's end of a NIC with a receive buffer, by which it sends PFC frames, and the timers of its host.
pub struct Line<'n> {
    pub port: GlobalPort,
    pub end: &'n mut End,
    /// When the NIC looks for something to send.
    pub at: &'n mut Time,
    pub timers: &'n mut Heap,
}

impl Line<'_> {
    fn set_timer(&mut self, at: Time, what: BufferTimer, plan: &Plan<'_>) {
        if !at.is_never() {
            let (_, nic) = plan.ports.place(self.port);
            let entry = Timer::Buffer { nic, what }.entry(at, what.number());
            self.timers.push(entry);
        }
    }
}

/// The packets that a slow NIC has received and not yet taken.
///
/// While it [holds](Self::holds_next) what arrives, its host [puts](Self::put) data packets into it, and calls
/// [`Self::on_timer`] for the timers that it sets. A packet that has left the buffer comes back from there.
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
    /// Why PAUSE was sent; `None` if causes are not recorded.
    pub causes: Option<Vec<CauseRecord>>,
}

/// The part of a class.
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
            None if storms.iter().any(|storm| storm.is_at(host, nic)) => never_slow(),
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
    fn takes(&self, class: u8, bytes: u64, plan: &Plan<'_>) -> bool {
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
            record.headroom_dropped_bytes = held.dropped_bytes;
        } else {
            record.dropped_packets = held.dropped_packets;
            record.dropped_bytes = held.dropped_bytes;
        }
    }

    /// Records what holds the bytes of `class`, which has gone to XOFF.
    fn note_xoff(&mut self, now: Time, class: u8, port: GlobalPort, plan: &Plan<'_>) {
        let (node, port) = plan.ports.place(port);
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

    /// Records that `class` has gone to XON, or that the run has ended.
    fn note_xon(&mut self, now: Time, class: u8) {
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

    fn is_slow(&self, now: Time) -> bool {
        (self.config.start..self.config.stop).contains(&now)
    }

    /// When a packet that begins to leave now has left.
    fn taken(&self, now: Time, bytes: u64, speed: LinkSpeed) -> Time {
        if !self.is_slow(now) {
            return now + speed.time_for(bytes);
        }
        let taken = match self.config.drain_rate {
            Rate::ZERO => Time::NEVER,
            rate => now.saturating_add(rate.time_for(bytes)),
        };
        taken.min(self.config.stop)
    }

    /// Puts a data packet into the buffer, if there is room.
    pub fn put(
        &mut self,
        now: Time,
        packet: &Packet,
        line: &mut Line<'_>,
        window: &mut Window<'_, '_>,
    ) {
        let class = window.plan.classes.of(packet.priority());
        let bytes = u64::from(packet.bytes);
        let takes = self.takes(class, bytes, window.plan);
        let held = &mut self.classes[usize::from(class)];
        if !takes {
            held.dropped_packets += 1;
            held.dropped_bytes += bytes;
            window.log.counts.dropped_packets += 1;
            window.telemetry.take(packet);
            return;
        }
        self.bytes += bytes;
        self.packets.push_back(*packet);
        let lossless = window.plan.config.switch.lossless >> packet.priority() & 1 == 1;
        let xoff = if lossless {
            self.config.xoff_bytes
        } else {
            u64::MAX
        };
        let params = &window.plan.config.switch.pfc.params;
        let was_xoff = held.ingress.is_xoff();
        let action = held
            .ingress
            .on_admit(now, packet.bytes.into(), xoff, self.pause, params);
        held.max_bytes = held.max_bytes.max(held.ingress.bytes());
        if !was_xoff && held.ingress.is_xoff() {
            held.pause_events += 1;
            self.note_xoff(now, class, line.port, window.plan);
        }
        if self.packets.len() == 1 {
            self.take_next(now, line, window.plan);
        }
        self.request_pfc(now, (class, action), line, window);
    }

    /// The first packet begins to leave the buffer.
    fn take_next(&mut self, now: Time, line: &mut Line<'_>, plan: &Plan<'_>) {
        if let Some(packet) = self.packets.front() {
            let at = self.taken(now, packet.bytes.into(), line.end.transmitter.speed);
            line.set_timer(at, BufferTimer::Taken, plan);
        }
    }

    /// A timer is due. Answers a packet that has left the buffer.
    pub fn on_timer(
        &mut self,
        now: Time,
        what: BufferTimer,
        line: &mut Line<'_>,
        window: &mut Window<'_, '_>,
    ) -> Option<Packet> {
        match what {
            BufferTimer::Taken => return self.take(now, line, window),
            BufferTimer::Pfc => {
                self.waits = false;
                self.send_pfc(now, line, window);
            }
            BufferTimer::Refresh { class } => {
                let params = &window.plan.config.switch.pfc.params;
                let ingress = &mut self.classes[usize::from(class)].ingress;
                // A PAUSE that was repeated since has a timer of its own.
                let action = ingress.on_timer(now, self.pause, params);
                self.request_pfc(now, (class, action), line, window);
            }
            BufferTimer::StormBegins => self.on_storm(now, true, line, window),
            BufferTimer::StormEnds => self.on_storm(now, false, line, window),
        }
        None
    }

    fn take(
        &mut self,
        now: Time,
        line: &mut Line<'_>,
        window: &mut Window<'_, '_>,
    ) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        let class = window.plan.classes.of(packet.priority());
        let ingress = &mut self.classes[usize::from(class)].ingress;
        let action = ingress.on_release(now, packet.bytes.into(), self.config.xon_bytes);
        self.take_next(now, line, window.plan);
        self.request_pfc(now, (class, action), line, window);
        Some(packet)
    }

    /// Sets the timers of a PAUSE storm.
    pub fn expect_storm(&self, start: Time, stop: Time, line: &mut Line<'_>, plan: &Plan<'_>) {
        line.set_timer(start, BufferTimer::StormBegins, plan);
        line.set_timer(stop, BufferTimer::StormEnds, plan);
    }

    /// A PAUSE storm begins or ends. While it lasts, one byte more than there is counts as held, which is above the threshold.
    fn on_storm(
        &mut self,
        now: Time,
        begins: bool,
        line: &mut Line<'_>,
        window: &mut Window<'_, '_>,
    ) {
        const HELD: u32 = 1;
        for class in 0..self.classes.len() as u8 {
            if !window.plan.classes.is_lossless(class) {
                continue;
            }
            let params = &window.plan.config.switch.pfc.params;
            let held = &mut self.classes[usize::from(class)];
            let action = if begins {
                held.ingress.on_admit(now, HELD, 0, self.pause, params)
            } else {
                held.ingress.on_release(now, HELD, 0)
            };
            if begins && action == Action::Xoff {
                held.pause_events += 1;
                self.note_xoff(now, class, line.port, window.plan);
            }
            self.request_pfc(now, (class, action), line, window);
        }
    }

    /// Sends a PFC frame as soon as the port is free.
    fn request_pfc(
        &mut self,
        now: Time,
        (class, action): (u8, Action),
        line: &mut Line<'_>,
        window: &mut Window<'_, '_>,
    ) {
        match action {
            Action::None => return,
            Action::Xoff => {}
            Action::Xon => self.note_xon(now, class),
        }
        line.end.request_pfc(class, action);
        let refresh = self.classes[usize::from(class)].ingress.next_timer();
        line.set_timer(refresh, BufferTimer::Refresh { class }, window.plan);
        self.send_pfc(now, line, window);
    }

    /// A direction of the link has failed or returned: repeats the XOFFs in force as soon as the port is free.
    #[cold]
    pub fn repeat_xoff(&mut self, now: Time, line: &mut Line<'_>, window: &mut Window<'_, '_>) {
        // A timer that was set while the link was down will not come.
        self.waits = false;
        if line.end.busy_until.is_never() {
            (line.end.xoff, line.end.xon) = (0, 0);
        }
        for class in 0..self.classes.len() as u8 {
            let is_xoff = self.classes[usize::from(class)].ingress.is_xoff();
            if window.plan.classes.is_lossless(class) && is_xoff {
                self.request_pfc(now, (class, Action::Xoff), line, window);
            }
        }
    }

    /// Sends the PFC frames that are requested, one now and the next when the port is free again: before everything else, since
    /// timers come first.
    fn send_pfc(&mut self, now: Time, line: &mut Line<'_>, window: &mut Window<'_, '_>) {
        let end = &mut *line.end;
        if end.is_free(now) && end.has_pfc() {
            let count = |class: u8| {
                self.classes[usize::from(class)].pause_frames += 1;
                self.pause
            };
            end.send_pfc(now, count, window);
            *line.at = (*line.at).max(end.busy_until);
        }
        if end.has_pfc() && !std::mem::replace(&mut self.waits, true) {
            let free = end.busy_until;
            line.set_timer(free, BufferTimer::Pfc, window.plan);
        }
    }
}
