//! What a switch does in a PFC storm: its watchdogs look, and drop or send in spite of PAUSE.

use unpause_protocols::flow_control::pfc::Action;
use unpause_protocols::flow_control::watchdog::{Event, Seen};
use unpause_protocols::units::Time;

use super::chassis::{Chassis, Model, Way};
use super::ingress::PauseSource;
use crate::config::WatchdogAction;
use crate::engine::window::Window;
use crate::fabric::PortId;
use crate::fabric::packet::Packet;
use crate::link::pause::PendingPause;
use crate::outcome::results::StormRecord;

impl<M: Model> Chassis<M> {
    /// Looks at every (port, lossless class).
    #[cold]
    pub(super) fn poll_watchdogs(&mut self, now: Time, window: &mut Window<'_, '_>) {
        let Some(watchdogs) = &self.watchdogs else {
            return;
        };
        self.timers.push(watchdogs.next(now));
        for index in 0..self.queues.len() {
            match self.look(now, index) {
                Event::None => {}
                Event::Storm => self.on_storm(now, index, window),
                Event::Restored => self.on_restored(now, index, window),
            }
        }
    }

    /// Has the watchdog of (port, class) `index` look at it.
    fn look(&mut self, now: Time, index: usize) -> Event {
        let (queue, pause) = (&self.queues[index], &self.egress[index].pause);
        let watchdogs = self.watchdogs.as_mut();
        let Some(watched) = watchdogs.and_then(|it| it.watched(index)) else {
            return Event::None;
        };
        let held = pause.total(now);
        let seen = Seen {
            frames: std::mem::take(&mut watched.frames),
            resumed: std::mem::take(&mut watched.resumed),
            paused: pause.is_paused(),
            waits: !queue.packets.is_empty(),
            sent: queue.tx_packets > watched.tx_packets,
            held: held.saturating_sub(watched.held),
        };
        watched.tx_packets = queue.tx_packets;
        watched.held = held;
        watched.watchdog.on_poll(&seen)
    }

    /// The port and the class of `index`.
    fn place_of(&self, index: usize) -> (PortId, u8) {
        (
            (index / self.classes) as PortId,
            (index % self.classes) as u8,
        )
    }

    fn on_storm(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let (port, class) = self.place_of(index);
        let began = self.egress[index].pause.obeyed_since();
        let Some(watchdogs) = &mut self.watchdogs else {
            return;
        };
        let action = watchdogs.action();
        let storm = StormRecord {
            node: self.id,
            port,
            priority: window.plan.classes.priority(class),
            action,
            began: began.unwrap_or(now),
            detected: now,
            restored: None,
            dropped_packets: 0,
            dropped_bytes: 0,
            dropped_data_packets: 0,
            input_dropped_packets: 0,
        };
        if let Some(watched) = watchdogs.watched(index) {
            watched.storm = Some(storm);
        }
        if action == WatchdogAction::Drop {
            self.ports[usize::from(port)].shut |= 1 << class;
            self.let_join(port, class);
            while let Some(packet) = self.take_from_queue(port, class) {
                self.discard_in_storm(index, &packet, false, window);
                let way = Way {
                    from: packet.ingress,
                    to: port,
                    class,
                };
                M::left(self, now, &packet, way, window);
            }
        }
        if action != WatchdogAction::Alert {
            self.ports[usize::from(port)].end.xoff &= !(1 << class);
            self.set_going(now, port, class, window);
        }
    }

    fn on_restored(&mut self, now: Time, index: usize, window: &mut Window<'_, '_>) {
        let (port, class) = self.place_of(index);
        let Some(watchdogs) = &mut self.watchdogs else {
            return;
        };
        let action = watchdogs.action();
        let storm = watchdogs.watched(index).and_then(|it| it.storm.take());
        window.log.storms.extend(storm.map(|storm| StormRecord {
            restored: Some(now),
            ..storm
        }));
        if action == WatchdogAction::Drop {
            self.ports[usize::from(port)].shut &= !(1 << class);
            self.let_join(port, class);
        }
        let stops = self.ingress[index].source.is_xoff();
        if action != WatchdogAction::Alert && stops {
            self.request_pfc(now, port, class, Action::Xoff, window);
        }
    }

    /// The egress (`port`, `class`) continues whatever its peer says.
    fn set_going(&mut self, now: Time, port: PortId, class: u8, window: &mut Window<'_, '_>) {
        let xon = PendingPause {
            time: now,
            port,
            priorities: 1 << window.plan.classes.priority(class),
            pause: Time::ZERO,
        };
        self.take_effect(now, xon, class, window);
    }

    /// Drops a packet in a storm at (port, class) `index`; it has come in by that port, or was to leave by it.
    #[cold]
    pub(super) fn discard_in_storm(
        &mut self,
        index: usize,
        packet: &Packet,
        at_input: bool,
        window: &mut Window<'_, '_>,
    ) {
        window.telemetry.take(packet);
        let data = u64::from(packet.kind.is_data());
        window.log.counts.dropped_packets += data;
        let watched = self.watchdogs.as_mut().and_then(|it| it.watched(index));
        let Some(storm) = watched.and_then(|it| it.storm.as_mut()) else {
            return;
        };
        storm.dropped_packets += 1;
        storm.dropped_bytes += u64::from(packet.bytes);
        storm.dropped_data_packets += data;
        storm.input_dropped_packets += u64::from(at_input);
    }
}
