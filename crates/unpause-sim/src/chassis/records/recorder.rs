//! The record by which a switch explains why it sent PAUSE.

use std::collections::VecDeque;

use unpause_protocols::units::{LinkSpeed, Time};

use super::mirror::Mirror;
use crate::chassis::egress::Queue;
use crate::chassis::egress::discipline::Discipline;
use crate::engine::log::Log;
use crate::fabric::packet::Packet;
use crate::fabric::{NodeId, PortId};
use crate::outcome::causes::{CauseRecord, Expiry};
use crate::outcome::delays::QueueWait;
use crate::outcome::held_back::{Egress, HeldBack, Pause};
use crate::plan::Plan;

/// Other priorities that have less of a link than this are not why a queue grows there.
const LEAST_SHARE: f64 = 0.05;

/// The record of one switch.
#[derive(Debug)]
pub struct Recorder {
    /// By (ingress port, class): the XOFF that is in force.
    open: Vec<Option<Open>>,
    /// By (egress port, class).
    queues: Vec<Watched>,
    causes: Vec<CauseRecord>,
    expiries: Vec<Expiry>,
    /// Packets in egress queues whose delays are recorded, each with its queue and the stops of that before.
    traced: Vec<(QueueWait, usize, Stops)>,
}

/// For how long an egress queue has been stopped.
#[derive(Clone, Copy, Debug)]
pub struct Stops {
    /// By PAUSE.
    pub paused: Time,
    /// While its link sent frames again.
    pub resent: Time,
}

/// The wait of a packet in a queue that has been stopped for `before` and `after`, until `now`.
fn wait_until(now: Time, wait: QueueWait, (before, after): (Stops, Stops)) -> QueueWait {
    let takes = now - wait.joined;
    let paused = (after.paused - before.paused).min(takes);
    QueueWait {
        left: now,
        paused,
        resent: after
            .resent
            .saturating_sub(before.resent)
            .min(takes - paused),
        ..wait
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    cause: usize,
    /// Frames that had found no headroom before.
    dropped: u64,
}

#[derive(Clone, Debug, Default)]
struct Watched {
    mirror: Mirror,
    stops: VecDeque<Stop>,
    /// Queues that it has held back.
    held: HeldBack,
    /// Bytes that it and its port had sent at the last look, and whether others had part of them since the look before.
    sent: (u64, u64),
    is_shared: bool,
    /// The last PAUSE that ran out, among all, as long as no other has stopped it.
    expired: Option<usize>,
}

/// A time for which an egress was paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    start: Time,
    /// [`Time::NEVER`] while it is paused.
    end: Time,
    /// When the PAUSE that was in force last had left the peer.
    sent: Time,
    /// Bytes that the egress had sent until its end.
    tx_bytes: u64,
}

/// For how long, and by which PAUSE, an egress was paused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paused {
    /// Whether it is now.
    pub now: bool,
    /// How long in total.
    pub time: Time,
    /// When the last PAUSE left the peer.
    pub sent: Option<Time>,
}

/// The link of an egress.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its speed.
    pub speed: LinkSpeed,
    /// Bytes that may be counted too late.
    pub slack_bytes: u64,
}

impl Recorder {
    /// Of a switch with this many (port, class).
    pub fn new(places: usize) -> Self {
        Self {
            open: vec![None; places],
            queues: vec![Watched::default(); places],
            causes: Vec::new(),
            expiries: Vec::new(),
            traced: Vec::new(),
        }
    }

    /// Whether the XOFF of ingress `index` is known.
    pub fn is_open(&self, index: usize) -> bool {
        self.open[index].is_some()
    }

    /// Ingress `index` has gone to XOFF; before, `dropped` frames had found no headroom.
    pub fn on_xoff(&mut self, index: usize, cause: CauseRecord, dropped: u64) {
        let at = self.causes.len();
        self.causes.push(cause);
        self.open[index] = Some(Open { cause: at, dropped });
    }

    /// Ingress `index` has gone to XON, or the run has ended.
    pub fn on_xon(&mut self, index: usize, now: Time, dropped: u64) -> Option<&mut CauseRecord> {
        let open = self.open[index].take()?;
        let cause = &mut self.causes[open.cause];
        cause.until = now;
        cause.dropped_packets = dropped - open.dropped;
        Some(cause)
    }

    /// A PAUSE that left the peer at `sent` holds egress `index` from `start`, or is about to.
    pub fn on_stop(&mut self, index: usize, start: Time, sent: Time) {
        let queue = &mut self.queues[index];
        if let Some(expired) = queue.expired.take() {
            self.expiries[expired].next_sent = Some(sent);
        }
        let stops = &mut queue.stops;
        match stops.back_mut() {
            Some(stop) if stop.end.is_never() => stop.sent = sent,
            _ => stops.push_back(Stop {
                start,
                end: Time::NEVER,
                sent,
                tx_bytes: 0,
            }),
        }
    }

    /// The PAUSE that stops egress `index`, which is this place, has run out.
    pub fn on_expiry(
        &mut self,
        now: Time,
        index: usize,
        (node, port, priority): (NodeId, PortId, u8),
    ) {
        let queue = &mut self.queues[index];
        if let Some(stop) = queue.stops.back() {
            queue.expired = Some(self.expiries.len());
            self.expiries.push(Expiry {
                time: now,
                node,
                port,
                priority,
                sent: stop.sent,
                next_sent: None,
            });
        }
    }

    /// Egress `index` may send again, this being its queue before a link of this speed: what would have left meanwhile has
    /// waited.
    #[cold]
    #[inline(never)]
    pub fn on_resume(
        &mut self,
        now: Time,
        index: usize,
        queue: &Queue,
        speed: LinkSpeed,
        plan: &Plan<'_>,
    ) {
        let oldest = queue.packets.since().unwrap_or(now);
        let stop = self.on_go(index, now, oldest, queue.tx_bytes);
        let Some(stop) = stop.filter(|stop| stop.start < now) else {
            return;
        };
        let held = &mut self.queues[index].held;
        held.on_go(Pause {
            start: stop.start,
            end: now,
            sent: stop.sent,
            each: 0,
        });
        let could_send = speed.bytes_in(now - stop.start);
        let mut sent = 0;
        let mut flows: Vec<u32> = Vec::new();
        for packet in queue.packets.iter() {
            if sent >= could_send {
                break;
            }
            sent += plan.ports.wire_bytes(packet);
            if packet.kind.is_data() && !flows.contains(&packet.flow) && packet.time < now {
                flows.push(packet.flow);
                held.part(packet.flow, packet.time.max(stop.start), 0);
            }
        }
    }

    /// Egress `index` may go on, which has sent `tx_bytes`; what came before `oldest` has left it.
    fn on_go(&mut self, index: usize, now: Time, oldest: Time, tx_bytes: u64) -> Option<Stop> {
        let stops = &mut self.queues[index].stops;
        while stops.front().is_some_and(|stop| stop.end < oldest) {
            stops.pop_front();
        }
        let stop = stops.back_mut().filter(|stop| stop.end.is_never())?;
        stop.start = stop.start.min(now);
        stop.end = now;
        stop.tx_bytes = tx_bytes;
        Some(*stop)
    }

    /// How egress `index` has been paused since the packet came that has waited longest.
    pub fn paused(&self, index: usize, oldest: Time, now: Time) -> Paused {
        let mut found = Paused::default();
        for stop in self.queues[index].stops.iter().rev() {
            if stop.end <= oldest {
                break;
            }
            found.now |= stop.end.is_never();
            found.time += stop.end.min(now) - stop.start.max(oldest).min(now);
            found.sent = found.sent.or(Some(stop.sent));
        }
        found
    }

    /// When the last PAUSE that stopped egress `index` left the peer, if the egress, which has sent `tx_bytes`, has
    /// had something to send ever since: what is in the queue is left from then.
    pub fn left_from(&self, index: usize, now: Time, tx_bytes: u64, link: Link) -> Option<Time> {
        let stop = self.queues[index].stops.back()?;
        let idle = link.speed.bytes_in(now.saturating_sub(stop.end));
        (tx_bytes - stop.tx_bytes + link.slack_bytes >= idle).then_some(stop.sent)
    }

    /// Whether other classes had part of the link of egress queue `index`, which holds `bytes`: of what has been sent
    /// since it was last asked, if that is more than is in the queue. It has sent `sent.0` in total, its port `sent.1`.
    pub fn is_shared(&mut self, index: usize, sent: (u64, u64), bytes: u64) -> bool {
        let queue = &mut self.queues[index];
        let all = sent.1 - queue.sent.1;
        if all > bytes {
            let others = all - (sent.0 - queue.sent.0);
            queue.is_shared = others as f64 >= LEAST_SHARE * all as f64;
            queue.sent = sent;
        }
        queue.is_shared
    }

    /// The content of egress queue `index`, which holds `packets`, up to date.
    pub fn look(&mut self, index: usize, packets: &Discipline) -> &mut Mirror {
        let mirror = &mut self.queues[index].mirror;
        match packets {
            Discipline::Fifo(ring) => mirror.follow(ring),
            other => mirror.count(other.iter()),
        }
        mirror
    }

    /// A packet whose delays are recorded joins egress queue `index`, which holds `packets`, at this node and port. The queue has been
    /// stopped for this long.
    pub fn on_join(
        &mut self,
        now: Time,
        packet: &Packet,
        (index, packets): (usize, &Discipline),
        ((node, port), stops): ((NodeId, PortId), Stops),
    ) {
        let (mut ahead_bytes, mut own_bytes) = (0, 0);
        let mut largest: Option<(u32, u64)> = None;
        let mut of_flow = (0, 0);
        for part in self.look(index, packets).parts() {
            ahead_bytes += part.bytes;
            if part.flow == packet.flow {
                own_bytes += part.bytes;
                continue;
            }
            // Parts come by flow.
            of_flow = if of_flow.0 == part.flow {
                (part.flow, of_flow.1 + part.bytes)
            } else {
                (part.flow, part.bytes)
            };
            if largest.is_none_or(|(_, most)| of_flow.1 > most) {
                largest = Some(of_flow);
            }
        }
        let wait = QueueWait {
            flow: packet.flow,
            number: packet.trace_number().unwrap_or_default(),
            node,
            port,
            joined: now,
            left: now,
            paused: Time::ZERO,
            ahead_bytes,
            own_bytes,
            largest,
            resent: Time::ZERO,
        };
        self.traced.push((wait, index, stops));
    }

    /// Packet `number` of those of `flow` whose delays are recorded leaves its egress queue, which has been stopped for this long.
    #[cold]
    #[inline(never)]
    pub fn on_leave(&mut self, now: Time, (flow, number): (u32, u8), stops: Stops, log: &mut Log) {
        let mut traced = self.traced.iter();
        let place = traced.position(|(wait, ..)| (wait.flow, wait.number) == (flow, number));
        if let Some(place) = place {
            let (wait, _, before) = self.traced.swap_remove(place);
            let wait = wait_until(now, wait, (before, stops));
            log.delays.waits.push(wait);
        }
    }

    /// Records the waits of packets that are in egress queues at the end of the run: the packets and the stops of a queue.
    pub fn finish_waits<'q>(
        &mut self,
        now: Time,
        of: impl Fn(usize) -> (&'q Discipline, Stops),
        log: &mut Log,
    ) {
        for (wait, index, before) in std::mem::take(&mut self.traced) {
            let (packets, stops) = of(index);
            // One that was dropped from its queue is not there.
            let is_there = packets
                .iter()
                .any(|it| (it.flow, it.trace_number()) == (wait.flow, Some(wait.number)));
            if is_there {
                log.delays
                    .waits
                    .push(wait_until(now, wait, (before, stops)));
            }
        }
    }

    /// Hands over what it has recorded; `place` names the egress of an index.
    pub fn into_log(self, place: impl Fn(usize) -> (NodeId, PortId, u8), log: &mut Log) {
        log.causes.extend(self.causes);
        let held = self.queues.into_iter().map(|queue| queue.held).enumerate();
        let of = |(index, held): (usize, HeldBack)| -> Option<Egress> {
            let (node, port, priority) = place(index);
            held.of(node, port, priority)
        };
        log.waits.extend(held.filter_map(of));
        log.expiries.extend(self.expiries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_counts_from_when_the_oldest_packet_came() {
        let us = Time::from_us;
        let mut recorder = Recorder::new(1);
        recorder.on_stop(0, us(10), us(9));
        recorder.on_stop(0, us(15), us(14));
        assert_eq!(
            recorder.on_go(0, us(20), us(0), 0).map(|it| it.sent),
            Some(us(14))
        );
        recorder.on_stop(0, us(30), us(29));
        let paused = |oldest| {
            let it = recorder.paused(0, us(oldest), us(34));
            (it.now, it.time, it.sent)
        };
        assert_eq!(paused(12), (true, us(12), Some(us(29))));
        assert_eq!(paused(20), (true, us(4), Some(us(29))));
        assert_eq!(paused(33), (true, us(1), Some(us(29))));
    }

    #[test]
    fn a_pause_that_ends_before_the_frame_under_way_held_nothing() {
        let us = Time::from_us;
        let mut recorder = Recorder::new(1);
        // In force from 10 us; the frame leaves until 13 us.
        recorder.on_stop(0, us(13), us(9));
        let paused = recorder.paused(0, us(5), us(11));
        assert_eq!((paused.now, paused.time), (true, us(0)));
        let stop = recorder.on_go(0, us(12), us(5), 0).expect("it was paused");
        assert_eq!(stop.start, us(12));
        let paused = recorder.paused(0, us(5), us(14));
        assert_eq!((paused.now, paused.time), (false, us(0)));
    }
}
