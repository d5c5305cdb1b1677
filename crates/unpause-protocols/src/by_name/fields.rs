//! Fields of parameters that are neither plain numbers nor switches.

use core::ffi::CStr;

use crate::congestion_control::{dcqcn, swift, timely};
use crate::congestion_point::{dctcp_red, ecn_sharp, faults, np_ecn, qcn as qcn_point, tofino};
use crate::flow_control::pfc;
use crate::parameters::{Field, Visitor, choices, numbers, parameters, ways};
use crate::units::{Rate, Time};

numbers! {
    swift::Packets: c"2^-32 packets", swift::Packets::as_q32,
        |q32| (q32 <= 1 << 63).then(|| swift::Packets::of(q32, 1 << 32));
}

choices! {
    np_ecn::MarkBasis { DequeueAfter = c"dequeue-after", EnqueueBefore = c"enqueue-before" }
    ecn_sharp::Variant { Paper = c"paper", AuthorsCode = c"authors-code" }
    tofino::Load { Scaled = c"scaled", Unscaled = c"unscaled" }
    qcn_point::Quantisation { Linear = c"linear", TopBits = c"top-bits" }
    qcn_point::Mode {
        OutputArrival = c"output-arrival", InputArrival = c"input-arrival",
        InputOccupancyDet = c"input-occupancy-det", InputOccupancyRand = c"input-occupancy-rand"
    }
    qcn_point::Interval { StandardTable = c"standard-table", Fixed = c"fixed" }
    qcn_point::Count { Arrivals = c"arrivals", Departures = c"departures" }
    dcqcn::AlphaOrder { CutFirst = c"cut-first", UpdateFirst = c"update-first" }
    timely::Variant { PerPacket = c"per-packet", Segment = c"segment", Patched = c"patched", Hpcc = c"hpcc" }
    pfc::PauseMode {
        Standard = c"standard", Ns3Rdma = c"ns3-rdma", UntilXon = c"until-xon", Once = c"once"
    }
}

use dctcp_red::Threshold;
use ecn_sharp::{Instantaneous, Signal};
use pfc::PauseTime;

ways! {
    Threshold {
        c"threshold" c"bytes" = |it| match it { Threshold::Bytes(k) => Some(k), _ => None },
            |_, k| Some(Threshold::Bytes(k));
        c"threshold_packets" c"packets" = |it| match it { Threshold::Packets(k) => Some(k.into()), _ => None },
            |_, k| k.try_into().ok().map(Threshold::Packets);
    }
    Instantaneous {
        c"ins_target" c"ps" = |it| match it { Instantaneous::Above(at) => Some(at.as_ps()), _ => None },
            |_, ps| Some(Instantaneous::Above(Time::from_ps(ps)));
        c"ins_min" c"ps" = |it| linear(it).map(|(from, _)| from.as_ps()),
            |it, ps| {
                let (from, to) = (Time::from_ps(ps), linear(it).map_or(Time::ZERO, |(_, to)| to));
                Some(Instantaneous::Linear { from, to: to.max(from) })
            };
        c"ins_max" c"ps" = |it| linear(it).map(|(_, to)| to.as_ps()),
            |it, ps| {
                let (from, to) = (linear(it).map_or(Time::ZERO, |(from, _)| from), Time::from_ps(ps));
                Some(Instantaneous::Linear { from: from.min(to), to })
            };
    }
    // A rate of 0: the time that packets wait.
    Signal {
        c"signal_rate" c"bit/s" = |it| match it {
                Signal::SojournTime => Some(0),
                Signal::QueueLength(rate) => Some(rate.as_bps()),
            },
            |_, bps| Some(match bps {
                0 => Signal::SojournTime,
                _ => Signal::QueueLength(Rate::from_bps(bps)),
            });
    }
    PauseTime {
        c"pause_quanta" c"quanta" = |it| match it { PauseTime::Quanta(n) => Some(n.into()), _ => None },
            |_, n| n.try_into().ok().map(PauseTime::Quanta);
        c"pause_time" c"ps" = |it| match it { PauseTime::Absolute(time) => Some(time.as_ps()), _ => None },
            |_, ps| Some(PauseTime::Absolute(Time::from_ps(ps)));
    }
}

fn linear(it: Instantaneous) -> Option<(Time, Time)> {
    match it {
        Instantaneous::Linear { from, to } => Some((from, to)),
        Instantaneous::Above(_) => None,
    }
}

/// Numbers of packets that faults hit.
impl Field for [u32; faults::CHOSEN] {
    fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
        const DROP: [&CStr; faults::CHOSEN] = [
            c"drop_0", c"drop_1", c"drop_2", c"drop_3", c"drop_4", c"drop_5",
        ];
        const MARK: [&CStr; faults::CHOSEN] = [
            c"mark_0", c"mark_1", c"mark_2", c"mark_3", c"mark_4", c"mark_5",
        ];
        let names = if name == c"drop" { DROP } else { MARK };
        for (number, name) in self.iter_mut().zip(names) {
            number.visit(name, visitor);
        }
    }
}

parameters! {
    flow_control::pfc { pause_time, mode }
    congestion_control::nscc {
        network_rtt, host_rate, packet_bytes, payload_bytes, target_delay, quick_adapt_gate, initial_window
    }
}
