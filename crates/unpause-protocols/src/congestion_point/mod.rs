//! Congestion points: what marks, drops or reports packets at a switch queue.
//!
//! One state machine per (egress port, priority).

use rand_core::Rng;

use crate::dispatch::mechanisms;
use crate::parameters::named;
use crate::state_visitor::{Show, StateVisitor};
use crate::units::{Rate, Time};

pub mod codel;
pub mod culprit;
pub mod dctcp_red;
pub mod ecn_sharp;
pub mod faults;
mod mechanism;
pub mod np_ecn;
pub mod pint;
pub mod qcn;
pub mod red;
pub mod tcn;
pub mod telemetry;
pub mod tofino;
pub mod wred;

pub use mechanism::{Indifference, Mechanism, Packet, PassAll, Queue, Verdict};

mechanisms! {
    ($)
    /// The congestion point of one (egress port, priority).
    CongestionPoint:
    /// No congestion management: every packet passes.
    None(PassAll),
    /// Marking of PCN: ECN that forgives packets held by a PAUSE.
    NpEcn(np_ecn::NpEcn),
    /// Marking of DCQCN: RED on the instantaneous queue.
    Red(red::Red),
    /// WRED of switches: marks the ECN-capable packets, drops the others.
    Wred(wred::Wred),
    /// Sampling of 802.1Qau.
    Qcn(qcn::Qcn),
    /// Marking of DCTCP: one threshold for the queue that a packet finds.
    DctcpRed(dctcp_red::DctcpRed),
    /// TCN: one threshold for the time a packet waited.
    Tcn(tcn::Tcn),
    /// CoDel with marks in place of drops.
    Codel(codel::Codel),
    /// ECN#: marks instantaneous and persistent queues.
    EcnSharp(ecn_sharp::EcnSharp),
    /// ECN# with the clock, registers and division of a programmable switch.
    Tofino(tofino::Tofino),
    /// In-band telemetry of HPCC.
    Telemetry(telemetry::Telemetry),
    /// PINT for HPCC: the use of the busiest port.
    Pint(pint::Pint),
    /// Drops at random with a fixed probability, and drops and marks of chosen packets.
    Faults(faults::Faults),
}

// For C and the test vectors. PINT's state is of ports, and what it writes into packets is their owner's.
named! {
    congestion_point:
    c"np-ecn" NpEcn of np_ecn { mark_basis, mark_above },
    c"red" Red of red { kmin, kmax, pmax },
    c"wred" Wred of wred { kmin, kmax, pmax },
    c"qcn" Qcn of qcn { q_eq, weight, sample_base, quantisation, mode, interval, count },
    c"dctcp-red" DctcpRed of dctcp_red { threshold },
    c"tcn" Tcn of tcn { threshold },
    c"codel" Codel of codel { target, interval, spared_bytes, clock_shift },
    c"ecn-sharp" EcnSharp of ecn_sharp { instantaneous, pst_target, pst_interval, variant, signal },
    c"ecn-sharp-tofino" Tofino of tofino { ins_target, pst_target, pst_interval, load },
    c"telemetry" Telemetry of telemetry {},
    c"faults" Faults of faults { drop_probability, drop, mark },
    without Pint
}

impl Config {
    /// Tells mechanisms that turn queue lengths into times the rate of the queue's link.
    pub fn set_link_rate(&mut self, link: Rate) {
        if let Self::EcnSharp(params) = self
            && let ecn_sharp::Signal::QueueLength(rate) = &mut params.signal
        {
            *rate = link;
        }
    }
}

impl CongestionPoint {
    /// A congestion point with an empty queue. `rng` sets where QCN takes its first sample.
    pub fn new<R: Rng>(config: &Config, rng: &mut R) -> Self {
        build!(config, PassAll, rng)
    }
    /// [`Mechanism::indifference`].
    pub fn indifference(&self) -> Indifference {
        dispatch!(self, it => it.indifference())
    }
    /// [`Mechanism::on_enqueue`].
    // Always: in a switch's busiest place a call costs 3 % of all instructions.
    #[inline(always)]
    pub fn on_enqueue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        dispatch!(self, it => it.on_enqueue(now, packet, queue, rng))
    }
    /// [`Mechanism::on_dequeue`].
    // What is short stands in a switch's busiest place itself; a call costs 4 % of all instructions.
    #[inline(always)]
    pub fn on_dequeue<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        match self {
            Self::None(_) => Verdict::Pass,
            Self::Red(it) => it.on_dequeue(now, packet, queue, rng),
            Self::NpEcn(it) => it.on_dequeue(now, packet, queue, rng),
            _ => self.on_dequeue_of_any(now, packet, queue, rng),
        }
    }
    #[inline(never)]
    fn on_dequeue_of_any<R: Rng>(
        &mut self,
        now: Time,
        packet: &Packet,
        queue: Queue,
        rng: &mut R,
    ) -> Verdict {
        dispatch!(self, it => it.on_dequeue(now, packet, queue, rng))
    }
    /// [`Mechanism::on_pause`].
    pub fn on_pause(&mut self, now: Time) {
        dispatch!(self, it => it.on_pause(now))
    }
    /// [`Mechanism::on_resume`].
    pub fn on_resume(&mut self, now: Time, queue: Queue) {
        dispatch!(self, it => it.on_resume(now, queue))
    }
}

/// The random numbers belong to the owner.
impl Show for CongestionPoint {
    fn show<L: StateVisitor>(&mut self, visitor: &mut L) {
        dispatch!(self, it => it.show(visitor));
    }
}
