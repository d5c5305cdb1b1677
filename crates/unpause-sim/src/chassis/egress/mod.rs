//! Egress ports and their queues.

use rand_core::Rng;
use unpause_protocols::congestion_point::{self, CongestionPoint, Indifference, Verdict};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::{Rate, Time};

use crate::fabric::packet::{CE, ECT, Packet};
use crate::fabric::ports::Transmitter;
use crate::fabric::{NodeId, PortId};
use crate::link::end::End;
use crate::link::pause::PauseState;
use crate::plan::{Overrides, Plan, at_rate};

pub mod balance;
pub mod discipline;
pub mod ready;
pub mod scheduler;
pub mod shaper;
pub mod watchdog;

use discipline::Discipline;
use ready::Ready;

/// A port of a switch: the end of its link, and how its queues use that.
#[derive(Clone, Debug, Show)]
#[repr(align(64))]
pub struct Port {
    /// The end of its link.
    #[show(by = end.show(*ready, visitor))]
    pub end: End,
    /// An event is pending for when it is free.
    #[show(skip = "shown with `end`")]
    pub ready: bool,
    /// Its wire has failed.
    #[show(skip = "between two changes of it nothing is compared")]
    pub down: bool,
    /// Bit c set: the PFC watchdog drops packets of class c.
    #[show(skip = "where there are watchdogs, nothing is compared")]
    pub shut: u8,
    /// Bit c set: class c takes no packets, since its wire has failed or it is shut.
    #[show(skip = "follows from `down` and `shut`")]
    pub closed: u8,
}

impl Port {
    /// A port that is idle.
    pub fn new(transmitter: &Transmitter) -> Self {
        Self {
            end: End::new(transmitter),
            ready: false,
            down: false,
            shut: 0,
            closed: 0,
        }
    }
    /// Its `class` has a packet that waits. It is number `local` at its node.
    #[inline(always)]
    pub fn wait(&mut self, now: Time, class: u8, local: PortId, ready: &mut Ready) {
        self.end.backlog |= 1 << class;
        if !self.end.is_free(now) {
            self.schedule(local, ready);
        }
    }
    /// Has it, `local` at its node, send as soon as it is free.
    #[inline(always)]
    pub fn schedule(&mut self, local: PortId, ready: &mut Ready) {
        if !self.ready {
            self.ready = true;
            ready.add(self.end.busy_until, local);
        }
    }
    /// True if a packet of `class` that comes now is sent at once: the port is free, so nothing
    /// that may be sent is waiting.
    #[inline]
    pub fn sends_at_once(&self, now: Time, class: u8) -> bool {
        let paused = self.end.paused != 0 && self.end.is_paused(class);
        !self.ready && self.end.is_free(now) && !paused
    }
}

/// The queue of one (port, class): what every packet touches, in one cache line.
#[derive(Debug, Show)]
#[repr(align(64))]
pub struct Queue {
    /// Packets waiting.
    #[show(nested)]
    pub packets: Discipline,
    /// Their bytes.
    #[show(same)]
    pub bytes: u64,
    /// Largest number of bytes waiting.
    #[show(skip = "does not grow where things repeat themselves")]
    pub max_bytes: u64,
    /// Frames sent.
    #[show(total)]
    pub tx_packets: u64,
    /// Bytes sent, with framing.
    #[show(total)]
    pub tx_bytes: u64,
    /// [`Indifference`] of its congestion point, in fewer bytes.
    #[show(skip)]
    indifferent_below: u32,
    #[show(skip)]
    indifferent_to_alone: bool,
    #[show(skip)]
    indifferent_to_enqueue: bool,
    #[show(skip)]
    indifferent_behind: bool,
}

const _: () = assert!(size_of::<Queue>() == 64 && size_of::<Port>() == 64);

/// State of an egress (port, class) beside its queue.
#[derive(Debug, Show)]
pub struct Egress {
    /// Its congestion point.
    #[show(nested)]
    pub congestion_point: CongestionPoint,
    /// PAUSE that it obeys.
    #[show(nested)]
    pub pause: PauseState,
    /// Frames set to CE.
    #[show(total)]
    pub marked_packets: u64,
    /// CNMs sent.
    #[show(total)]
    pub cnm_packets: u64,
    /// Frames dropped.
    #[show(total)]
    pub dropped_packets: u64,
    /// Bytes dropped.
    #[show(total)]
    pub dropped_bytes: u64,
    /// Frames trimmed.
    #[show(total)]
    pub trimmed_packets: u64,
}

impl Egress {
    /// Of `class` at a port of the switch with these overrides, before a link of rate `link` to `peer`. Control packets go
    /// through no congestion point, NVSwitches have none, and where receivers give credits, no queue before a host has one:
    /// credits keep it short.
    pub fn new<R: Rng>(
        class: u8,
        (overrides, port): (&Overrides<'_>, PortId),
        (link, peer): (Rate, NodeId),
        plan: &Plan<'_>,
        rng: &mut R,
    ) -> Self {
        let mut config = congestion_point::Config::None;
        let scheme = &plan.config.scheme.congestion_point;
        let credited = plan.config.scheme.credits.is_some() && plan.is_host(peer);
        let has_one = class != plan.classes.control
            && !plan.config.fabric.is_nvswitch(overrides.node)
            && !credited;
        if has_one && !watches_inputs(scheme) {
            let of_rate = at_rate(
                &plan.config.scheme.congestion_points,
                link,
                plan.config.host.clock_tolerance,
            );
            config = of_rate.unwrap_or_else(|| scheme.clone());
            let priority = plan.classes.priority(class);
            overrides.set_marking((port, priority), &mut config);
            config.set_link_rate(link);
        }
        Self {
            congestion_point: CongestionPoint::new(&config, rng),
            pause: PauseState::default(),
            marked_packets: 0,
            cnm_packets: 0,
            dropped_packets: 0,
            dropped_bytes: 0,
            trimmed_packets: 0,
        }
    }

    /// Asks the congestion point about a packet that has just left the queue, which is in this state: answers what flags
    /// the packet gets, or what else there is to do.
    #[inline(always)]
    pub fn on_leave<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        state: congestion_point::Queue,
        rng: &mut R,
    ) -> Result<u8, Verdict> {
        let point = &mut self.congestion_point;
        match point.on_dequeue(now, &view(packet), state, rng) {
            Verdict::Pass => Ok(0),
            Verdict::MarkCe => Ok(self.mark(packet)),
            verdict => Err(verdict),
        }
    }

    /// The flag that marks `packet`, which it may bear already.
    #[inline]
    pub fn mark(&mut self, packet: &Packet) -> u8 {
        self.marked_packets += u64::from(!packet.is(CE));
        CE
    }

    /// Counts a drop; answers how many data packets that is.
    pub fn count_drop(&mut self, packet: &Packet) -> u64 {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(packet.bytes);
        u64::from(packet.kind.is_data())
    }
}

impl Queue {
    /// An empty queue at a switch of `ports` ports, with this congestion point. With `looks` each packet goes by the path on
    /// which it is asked.
    pub fn new(ports: usize, point: &CongestionPoint, looks: bool, plan: &Plan<'_>) -> Self {
        let watches_inputs = watches_inputs(&plan.config.scheme.congestion_point);
        let mut queue = Self {
            packets: Discipline::new(plan.config.switch.queueing, ports),
            bytes: 0,
            max_bytes: 0,
            tx_packets: 0,
            tx_bytes: 0,
            indifferent_below: 0,
            indifferent_to_alone: false,
            indifferent_to_enqueue: false,
            indifferent_behind: false,
        };
        queue.let_join(true, point, watches_inputs, looks);
        queue
    }

    /// Lets packets join, and asks its congestion point where that may answer, or with `looks` about every packet; or lets none
    /// join without a question.
    pub fn let_join(
        &mut self,
        up: bool,
        point: &CongestionPoint,
        watches_inputs: bool,
        looks: bool,
    ) {
        let Indifference {
            to_alone,
            to_enqueue,
            to_enqueue_behind,
            to_dequeue_below,
        } = point.indifference();
        let below = if looks { 0 } else { to_dequeue_below };
        self.indifferent_below = u32::try_from(below).unwrap_or(u32::MAX);
        // A congestion point at the input is asked about every packet.
        let up = up && !looks;
        self.indifferent_to_alone = up && to_alone && !watches_inputs;
        self.indifferent_to_enqueue = up && to_enqueue;
        self.indifferent_behind = up && (to_enqueue || to_enqueue_behind);
    }

    /// The queue as a congestion point sees it, with `joining` packets about to be pushed.
    #[inline]
    pub fn state(&self, joining: u32) -> congestion_point::Queue {
        congestion_point::Queue {
            bytes: self.bytes,
            packets: self.packets.len() + joining,
        }
    }

    /// Keeps a packet that has come in by port `from`, with `flags` set besides its own.
    #[inline(always)]
    pub fn keep(&mut self, now: Time, packet: &Packet, from: PortId, flags: u8) {
        self.bytes += u64::from(packet.bytes);
        self.max_bytes = self.max_bytes.max(self.bytes);
        let slot = self.packets.push(packet, from);
        slot.time = now;
        slot.ingress = from;
        slot.bits |= flags;
    }

    /// Counts a frame sent, with framing.
    #[inline(always)]
    pub fn count(&mut self, wire_bytes: u64) {
        self.tx_packets += 1;
        self.tx_bytes += wire_bytes;
    }

    /// True if the congestion point is not asked about a packet that goes through the empty queue at once.
    #[inline(always)]
    pub fn lets_alone_pass(&self) -> bool {
        self.indifferent_to_alone
    }
    /// True if it is not asked about a packet that joins.
    #[inline(always)]
    pub fn lets_join(&self) -> bool {
        match self.bytes {
            0 => self.indifferent_to_enqueue,
            _ => self.indifferent_behind,
        }
    }
    /// True if it is not asked about a packet that has left the queue.
    #[inline(always)]
    pub fn lets_leave(&self) -> bool {
        self.bytes < u64::from(self.indifferent_below)
    }
}

/// True if the congestion points of a scheme stand at inputs.
pub fn watches_inputs(scheme: &congestion_point::Config) -> bool {
    matches!(scheme, congestion_point::Config::Qcn(params) if params.mode.at_input())
}

/// A packet as a congestion point sees it.
#[inline]
pub fn view(packet: &Packet) -> congestion_point::Packet {
    congestion_point::Packet {
        bytes: u32::from(packet.bytes),
        ect: packet.is(ECT),
        enqueued_at: packet.time,
    }
}
