//! A window of time as a node sees it: what it may read, where it sends, what it records.

use unpause_protocols::flow_control::credits::UPDATE_BYTES;
use unpause_protocols::units::Time;

use crate::engine::arrivals::Arrivals;
use crate::engine::batch::Outgoing;
use crate::engine::calendar::Calendar;
use crate::engine::inbox::Inboxes;
use crate::engine::log::Log;
use crate::fabric::packet::{Kind, Packet, SENT_BITS};
use crate::fabric::ports::{GlobalPort, Ports, SLOW_PATH, Transmitter};
use crate::fabric::telemetry::Telemetry;
use crate::fabric::{NodeId, PortId};
use crate::outcome::deadlock::Blocked;
use crate::outcome::losses::LossKey;
use crate::outcome::results::{LossPlace, PacketRecord, Queued};
use crate::plan::Plan;
use crate::routing::Routing;
use crate::wires::Wires;
use crate::wires::retry::Sent;

/// A node as its shard sees it. The shard calls [`Self::run`] for every [`Window`] in which the node has something to do, and
/// [`Self::finish`] once, when the run is over.
pub trait NodeModel {
    /// Executes every event before `window.end`; returns when the next one is due, what is in flight to
    /// it included.
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time;
    /// The run is over at `now`: close and report what is open.
    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log);
    /// Data packets held.
    fn held_data_packets(&self) -> u64;
    /// Adds the egress queues that have sent nothing since `since`, for a pause that is in force.
    fn blocked(&self, _since: Time, _plan: &Plan<'_>, _found: &mut Vec<Blocked>) {}
}

/// The world as a node sees it while it runs its window.
///
/// A shard makes one (`Shard::open`) for the nodes of a half that have something to do before `end`, and has them
/// [run](NodeModel::run) one after another. A cluster runs several shorter windows in it, for which it sets `start` and `end`. When
/// links change, there is one without length: nodes may send in it, and have no events to execute. In a driven run, hosts at which
/// flows may end first have windows up to there.
///
/// While a node runs:
///
/// - none of its events is due before `start`, but for samples of an idle host;
/// - all that arrives at it before `end` is in its inbox already. What a node sends arrives later, or at a node of the other half,
///   which is not running: that takes it in a window of its own. So the order in which nodes run does not matter;
/// - links and routes do not change.
///
/// | a node calls | to |
/// |---|---|
/// | [`Inboxes::take_until`], [`Inboxes::at`] | take, as a switch, all that arrives in the window, once; look at one of these |
/// | [`Inboxes::head`], [`Inboxes::pop`], [`Inboxes::close`] | take, as a host, one packet after another, and end its window |
/// | [`Self::transmit`], [`Self::pass_on`] | start to send at a port that is free; [`End`](crate::link::end::End) keeps until when it is busy |
/// | [`Self::lose`] | count a packet that is lost, and forget what switches have written into it |
/// | [`Self::may_send`], [`Self::take_credits`], [`Self::free_credits`], [`Self::on_update`], [`Self::send_update`] | reach the credits of its links |
/// | [`Self::take_wakes`], [`Self::send_again`] | have its links send again |
/// | [`Log`], [`Telemetry`] | record; read and write what packets carry of switches |
///
/// A node reads and changes nothing of another node: a packet that it sends wakes the far end in the calendar. Before it returns, it
/// has executed all events before `end`; the time that it answers is no earlier. Packets to other shards stay in [`Outgoing`] until
/// shards exchange batches, which they do between windows.
pub struct Window<'w, 'p> {
    /// When it begins.
    pub(crate) start: Time,
    /// When it ends: events before this are to be executed.
    pub end: Time,
    /// The plan of the run, which every node reads.
    pub plan: &'w Plan<'p>,
    /// Ports of all nodes.
    pub ports: &'w Ports,
    /// The routes in force.
    pub routing: &'w Routing,
    /// How many changes of links and routes there have been.
    pub(crate) changes: u32,
    /// Packets in flight; a node reads only its own.
    pub inboxes: &'w mut Inboxes,
    /// Nodes prefetch what they will touch.
    pub(crate) prefetches: bool,
    /// Packets that reach a switch.
    pub(crate) arrivals: &'w mut Arrivals,
    /// When nodes are to be woken.
    pub(crate) calendar: &'w mut Calendar,
    /// Packets to other shards.
    pub(crate) outgoing: Outgoing<'w>,
    /// Records of the run.
    pub log: &'w mut Log,
    /// Telemetry that switches have written into packets.
    pub telemetry: &'w mut Telemetry,
    /// State of wires that lose frames, have credits or send again.
    pub(crate) wires: &'w mut Wires,
}

impl Window<'_, '_> {
    /// Starts to send `packet`, with `flags` set besides its own, at `now`; returns when the port of the
    /// transmitter is free again. What it left behind is for ports that are traced.
    #[inline(always)]
    pub fn transmit(
        &mut self,
        transmitter: &Transmitter,
        now: Time,
        packet: &Packet,
        flags: u8,
        queued: Queued,
    ) -> Time {
        self.log.counts.packet_hops += 1;
        if transmitter.shard != self.outgoing.own {
            let packet = Packet {
                bits: packet.bits | flags,
                ..*packet
            };
            let Queued {
                sojourn,
                queue_bytes,
            } = queued;
            return self.send_out(transmitter, now, &packet, sojourn, queue_bytes);
        }
        let bytes = self.ports.wire_bytes(packet);
        let free = now + transmitter.speed.whole_time_for(bytes);
        let arrival = free + transmitter.delay;
        self.inboxes
            .push(transmitter.far_end(), packet, arrival, flags);
        self.calendar.wake(transmitter.peer, arrival);
        free
    }

    /// Starts to send the packet at `place` of those taken, of `wire_bytes`, which has not waited, at `now`;
    /// returns when the port of the transmitter is free again.
    #[inline(always)]
    pub fn pass_on(
        &mut self,
        transmitter: &Transmitter,
        now: Time,
        place: u32,
        wire_bytes: u64,
    ) -> Time {
        self.log.counts.packet_hops += 1;
        if transmitter.shard != self.outgoing.own {
            let packet = *self.inboxes.at(place);
            return self.send_out(transmitter, now, &packet, Some(Time::ZERO), 0);
        }
        let free = now + transmitter.speed.whole_time_for(wire_bytes);
        let arrival = free + transmitter.delay;
        self.inboxes.pass_on(transmitter.far_end(), place, arrival);
        self.calendar.wake(transmitter.peer, arrival);
        free
    }

    /// Counts a packet that is lost at a port of a node.
    #[cold]
    #[inline(never)]
    pub fn lose(&mut self, (node, port): (NodeId, PortId), place: LossPlace, packet: &Packet) {
        let key = LossKey {
            changes: self.changes,
            node,
            port,
            priority: packet.priority(),
            place,
        };
        self.telemetry.take(packet);
        self.log.counts.dropped_packets += self.log.losses.add(key, packet);
    }

    /// Puts a packet onto a wire to another shard, or one at which there is more to do; returns when the port is free again.
    #[inline(never)]
    fn send_out(
        &mut self,
        transmitter: &Transmitter,
        now: Time,
        packet: &Packet,
        sojourn: Option<Time>,
        queue_bytes: u64,
    ) -> Time {
        let bytes = self.ports.wire_bytes(packet);
        let free = now + transmitter.speed.time_for(bytes);
        let packet = Packet {
            time: free + transmitter.delay,
            ..*packet
        };
        match transmitter.shard {
            SLOW_PATH => {
                self.send_by_slow_path(transmitter, (now, free), &packet, sojourn, queue_bytes)
            }
            other => {
                self.outgoing
                    .send(other, transmitter.peer_port, &packet, self.telemetry);
                free
            }
        }
    }

    /// Puts a packet onto a wire that is traced or far, on which there are errors or of which bytes last no whole picoseconds,
    /// or to a switch that cuts through; returns when the port is free again, which is at `free` if nothing is sent again.
    #[inline(never)]
    fn send_by_slow_path(
        &mut self,
        transmitter: &Transmitter,
        (now, free): (Time, Time),
        packet: &Packet,
        sojourn: Option<Time>,
        queue_bytes: u64,
    ) -> Time {
        let mut packet = *packet;
        packet.time = packet.time - self.plan.taken_early(self.routing, transmitter, &packet);
        let own = self.ports.transmitters[transmitter.peer_port as usize].peer_port;
        if !self.wires.credits.are_unused() {
            let class = self.plan.classes.of(packet.priority());
            self.wires.credits.on_sent(own, class, packet.bytes.into());
        }
        let bytes = u64::from(packet.bytes);
        let on_wire = self.ports.wire_bytes(&packet);
        if self.log.job_links.is_counting() {
            self.log.job_links.count(own, &packet, on_wire);
        }
        let retries = !self.wires.retries.are_unused();
        let (start, free) = if retries {
            self.send_kept(own, now, &packet)
        } else {
            (now, free)
        };
        if transmitter.traced {
            let queued = Queued {
                sojourn: sojourn.map(|sojourn| sojourn + (start - now)),
                queue_bytes,
            };
            packet.time += start - now;
            self.trace(transmitter, start, &packet, queued);
        }
        if retries {
            return free;
        }
        if self.wires.errors.hit(transmitter.peer_port, bytes, on_wire) {
            let back = &self.ports.transmitters[transmitter.peer_port as usize];
            self.lose(back.far_end(), LossPlace::Error, &packet);
        } else {
            self.put_on_the_way(transmitter, &packet);
        }
        free
    }

    /// Puts a packet on the way to the far end; it says when it arrives.
    pub(crate) fn put_on_the_way(&mut self, transmitter: &Transmitter, packet: &Packet) {
        let to = self.outgoing.shard_of[transmitter.peer as usize];
        if to != self.outgoing.own {
            return self
                .outgoing
                .send(to, transmitter.peer_port, packet, self.telemetry);
        }
        if self.wires.credits.may_overtake(packet) {
            self.inboxes.put_early(transmitter.far_end(), packet)
        } else {
            self.inboxes.put(transmitter.far_end(), packet)
        }
        self.calendar.wake(transmitter.peer, packet.time);
    }

    fn trace(&mut self, transmitter: &Transmitter, now: Time, packet: &Packet, queued: Queued) {
        let flows = &self.plan.config.probes.packet_flows;
        if !flows.is_empty() && !flows.contains(&packet.flow) {
            return;
        }
        let back = &self.ports.transmitters[transmitter.peer_port as usize];
        let (node, port) = (back.peer, back.peer_port);
        let speed = transmitter.speed;
        let port = self.ports.local(node, port);
        let packet = match self.plan.config.scheme.credits {
            Some(_) => &Packet {
                stamp: packet.stamp & ((1 << SENT_BITS) - 1),
                ..*packet
            },
            None => packet,
        };
        let record = PacketRecord::new(now, node, port, packet, queued, speed);
        self.log.packets.push(record);
    }

    /// The number of a node's port among all.
    fn port_of(&self, node: NodeId, port: PortId) -> GlobalPort {
        self.ports.of(node).start + GlobalPort::from(port)
    }

    /// [`LinkCredits::may_send`].
    pub fn may_send(&mut self, at: (NodeId, PortId), class: u8, before: u32, bytes: u32) -> bool {
        let port = self.port_of(at.0, at.1);
        self.wires.credits.may_send(port, class, before, bytes)
    }

    /// A packet has come in that takes credits.
    pub fn take_credits(&mut self, at: (NodeId, PortId), class: u8, packet: &Packet) {
        let port = self.port_of(at.0, at.1);
        self.wires
            .credits
            .on_packet(port, class, packet.bytes.into());
    }

    /// [`LinkCredits::on_freed`]; an update that is due goes out at once.
    pub fn free_credits(
        &mut self,
        now: Time,
        at: (NodeId, PortId),
        class: u8,
        packet: &Packet,
    ) -> Option<Time> {
        let port = self.port_of(at.0, at.1);
        let due = self
            .wires
            .credits
            .on_freed(now, port, class, packet.bytes.into())?;
        if due <= now {
            self.send_update(now, at)
        } else {
            Some(due)
        }
    }

    /// An update has come in.
    pub fn on_update(&mut self, at: (NodeId, PortId), class: u8, packet: &Packet) {
        let port = self.port_of(at.0, at.1);
        self.wires.credits.on_update(port, class, packet.seq);
    }

    /// Sends the update that is due at a port. It is inserted into the frame in transmission, so it waits for nothing and may
    /// overtake that frame; a frame that is smaller than it and starts meanwhile arrives before it. If it is lost to errors it is
    /// repeated: returns when the next one is due then.
    pub fn send_update(&mut self, now: Time, at: (NodeId, PortId)) -> Option<Time> {
        let port = self.port_of(at.0, at.1);
        let freed = self.wires.credits.take_update(now, port);
        let transmitter: Transmitter = self.ports.transmitters[port as usize];
        if self
            .wires
            .errors
            .hits_update(transmitter.peer_port, UPDATE_BYTES)
        {
            return self.wires.credits.repeat_update(now, port, &freed);
        }
        let arrival = now + transmitter.speed.time_for(UPDATE_BYTES) + transmitter.delay;
        for (class, freed) in freed {
            let update = Packet {
                time: arrival,
                seq: freed,
                ..Packet::new(Kind::Credit, self.plan.classes.priority(class), 0, 8)
            };
            self.put_on_the_way(&transmitter, &update);
        }
        None
    }

    /// Sends a packet over a link with retry, from `now` on. Returns when it starts, and when the port may send the next one.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_kept(
        &mut self,
        own: GlobalPort,
        now: Time,
        packet: &Packet,
    ) -> (Time, Time) {
        let wire_bytes = self.ports.wire_bytes(packet);
        let transmitter = self.ports.transmitters[own as usize];
        let mut sent = Sent::default();
        let Some(port) = self.wires.retries.port(own) else {
            unreachable!("every port has retry, or none");
        };
        let link = (&transmitter, &mut self.wires.errors);
        let (start, free) = port.send(now, (packet, wire_bytes), link, &mut sent);
        self.after_retry(now, own, &transmitter, sent);
        (start, free)
    }

    /// A port of a node may have to resend. Returns until when it is busy.
    pub(crate) fn send_again(&mut self, now: Time, (node, port): (NodeId, PortId)) -> Time {
        let own = self.port_of(node, port);
        let transmitter = self.ports.transmitters[own as usize];
        let mut sent = Sent::default();
        let Some(port) = self.wires.retries.port(own) else {
            return now;
        };
        let link = (&transmitter, &mut self.wires.errors);
        let free = port.on_wake(now, link, &mut sent);
        self.after_retry(now, own, &transmitter, sent);
        free
    }

    /// For how long a port has sent frames again, until it is free.
    pub(crate) fn resent(&mut self, (node, port): (NodeId, PortId)) -> Time {
        let own = self.port_of(node, port);
        let port = self.wires.retries.port(own);
        port.map_or(Time::ZERO, |port| port.resent())
    }

    /// When which ports of the running node may have to resend.
    #[inline]
    pub(crate) fn take_wakes(&mut self) -> Vec<(Time, PortId)> {
        std::mem::take(&mut self.wires.retries.wakes)
    }

    /// Forwards delivered frames, counts lost ones, and notes the timer that the port needs.
    fn after_retry(&mut self, now: Time, own: GlobalPort, transmitter: &Transmitter, sent: Sent) {
        let (node, port) = self.ports.place(own);
        for packet in &sent.lost {
            self.lose((node, port), LossPlace::Error, packet);
            let class = self.plan.classes.of(packet.priority());
            self.wires.credits.on_lost(own, class, packet.bytes.into());
        }
        if !sent.lost.is_empty() && !self.wires.credits.are_unused() {
            // Its credits may be what a queue waits for.
            self.wires.retries.wakes.push((now, port));
        }
        for packet in &sent.delivered {
            self.put_on_the_way(transmitter, packet);
        }
        let retry = self.wires.retries.port(own);
        if let Some(due) = retry.and_then(|it| it.takes_wake()) {
            self.wires.retries.wakes.push((due, port));
        }
    }
}
