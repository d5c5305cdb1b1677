//! A window of time as a node sees it: what it may read, where it sends, what it records.

use unpause_protocols::units::Time;

use crate::engine::arrivals::Arrivals;
use crate::engine::batch::Batch;
use crate::engine::calendar::Calendar;
use crate::engine::inbox::Inboxes;
use crate::engine::log::Log;
use crate::fabric::packet::{Packet, SENT_BITS};
use crate::fabric::ports::{GlobalPort, Ports, SLOW_PATH, Transmitter};
use crate::fabric::telemetry::Telemetry;
use crate::fabric::{NodeId, PortId};
use crate::outcome::deadlock::Blocked;
use crate::outcome::losses::LossKey;
use crate::outcome::results::{LossPlace, PacketRecord, Queued};
use crate::plan::Plan;
use crate::routing::Routing;
use crate::wires::credits::LinkCredits;
use crate::wires::errors::ErringWires;
use crate::wires::retry::LinkRetries;

/// What a node must be able to do. Its shard calls [`Self::run`] for every [`Window`] in which the node has something to do, and
/// [`Self::finish`] once, when the run is over.
pub trait NodeModel {
    /// Executes every event before `window.end`; answers when the next one is due, what is in flight to
    /// it included.
    fn run(&mut self, window: &mut Window<'_, '_>) -> Time;
    /// The run is over at `now`: close and report what is open.
    fn finish(&mut self, now: Time, plan: &Plan<'_>, log: &mut Log);
    /// Data packets held.
    fn held_data_packets(&self) -> u64;
    /// Adds the egress queues that have sent nothing since `since`, for a pause that is in force.
    fn blocked(&self, _since: Time, _plan: &Plan<'_>, _found: &mut Vec<Blocked>) {}
}

/// What a node sees of the world while it runs its window.
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
/// has executed all events before `end`; the time that it answers is no earlier. Packets to other shards stay in `outboxes` until
/// shards exchange batches, which they do between windows.
pub struct Window<'w, 'p> {
    /// When it begins.
    pub(crate) start: Time,
    /// When it ends: events before this are to be executed.
    pub end: Time,
    /// What every node reads.
    pub plan: &'w Plan<'p>,
    /// Ports of all nodes.
    pub ports: &'w Ports,
    /// The routes in force.
    pub routing: &'w Routing,
    /// How many changes of links and routes there have been.
    pub(crate) changes: u32,
    /// What is in flight; a node reads only its own.
    pub inboxes: &'w mut Inboxes,
    /// Nodes prefetch what they will touch.
    pub(crate) prefetches: bool,
    /// What reaches a switch.
    pub(crate) arrivals: &'w mut Arrivals,
    /// When nodes are to be woken.
    pub(crate) calendar: &'w mut Calendar,
    /// This shard.
    pub(crate) shard: u16,
    /// The shard of each node.
    pub(crate) shard_of: &'w [u16],
    /// What goes to other shards.
    pub(crate) outboxes: &'w mut [Batch],
    /// When the first of that arrives there.
    pub(crate) first_sent: &'w mut Time,
    /// What is recorded.
    pub log: &'w mut Log,
    /// What switches have written into packets.
    pub telemetry: &'w mut Telemetry,
    /// Wires on which frames are lost to errors.
    pub(crate) erring: &'w mut ErringWires,
    /// Credits of links, if they have any.
    pub(crate) link_credits: &'w mut LinkCredits,
    /// What links send again, if they do.
    pub(crate) link_retries: &'w mut LinkRetries,
}

impl Window<'_, '_> {
    /// Starts to send `packet`, with `flags` set besides its own, at `now`; answers when the port of the
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
        if transmitter.shard != self.shard {
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
    /// answers when the port of the transmitter is free again.
    #[inline(always)]
    pub fn pass_on(
        &mut self,
        transmitter: &Transmitter,
        now: Time,
        place: u32,
        wire_bytes: u64,
    ) -> Time {
        self.log.counts.packet_hops += 1;
        if transmitter.shard != self.shard {
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

    /// Puts a packet onto a wire to another shard, or one at which there is more to do; answers when the port is free again.
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
                self.send_to_shard(other, transmitter.peer_port, &packet);
                free
            }
        }
    }

    /// Puts a packet onto a wire that is traced or far, on which there are errors or of which bytes last no whole picoseconds,
    /// or to a switch that cuts through; answers when the port is free again, which is at `free` if nothing is sent again.
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
        if !self.link_credits.are_unused() {
            let class = self.plan.classes.of(packet.priority());
            self.link_credits.on_sent(own, class, packet.bytes.into());
        }
        let bytes = u64::from(packet.bytes);
        let on_wire = self.ports.wire_bytes(&packet);
        if self.log.job_links.is_counting() {
            self.log.job_links.count(own, &packet, on_wire);
        }
        let retries = !self.link_retries.are_unused();
        let (start, free) = match retries {
            true => self.send_kept(own, now, &packet),
            false => (now, free),
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
        if self.erring.hit(transmitter.peer_port, bytes, on_wire) {
            let back = &self.ports.transmitters[transmitter.peer_port as usize];
            self.lose(back.far_end(), LossPlace::Error, &packet);
        } else {
            self.put_on_the_way(transmitter, &packet);
        }
        free
    }

    /// Puts a packet on the way to the far end; it says when it arrives.
    pub(crate) fn put_on_the_way(&mut self, transmitter: &Transmitter, packet: &Packet) {
        let to = self.shard_of[transmitter.peer as usize];
        if to != self.shard {
            return self.send_to_shard(to, transmitter.peer_port, packet);
        }
        match self.link_credits.may_overtake(packet) {
            true => self.inboxes.put_early(transmitter.far_end(), packet),
            false => self.inboxes.put(transmitter.far_end(), packet),
        }
        self.calendar.wake(transmitter.peer, packet.time);
    }

    /// Adds a packet to a port of another shard to the batch for that shard.
    #[inline(always)]
    fn send_to_shard(&mut self, to: u16, port: GlobalPort, packet: &Packet) {
        *self.first_sent = (*self.first_sent).min(packet.time);
        let batch = &mut self.outboxes[to as usize];
        batch.packets.push((port, *packet));
        if packet.has_telemetry() {
            self.take_along(to, packet);
        }
    }

    /// Has what switches have written into a packet go with it.
    #[inline(never)]
    fn take_along(&mut self, to: u16, packet: &Packet) {
        let record = self.telemetry.take(packet);
        self.outboxes[to as usize].records.extend(record);
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
}
