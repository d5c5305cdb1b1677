//! Parameters of mechanisms by name, as numbers.
//!
//! The names are those of the fields of each mechanism's `Params`; a field left out of the list below does
//! not compile.

use core::ffi::CStr;

use crate::congestion_control::{
    cubic, dcqcn, dcqcn_nic, dctcp, dctcp_rate, ecn_tcp, hpcc, newreno, nscc, pcn, power_tcp, qcn,
    swift, theta_power_tcp, timely,
};
use crate::congestion_point::{
    codel, dctcp_red, ecn_sharp, faults, np_ecn, qcn as qcn_point, red, tcn, telemetry, tofino,
    wred,
};
use crate::flow_control::pfc;
use crate::notification_point::{dcqcn as dcqcn_receiver, pcn as pcn_receiver};
use crate::spraying::{bitmap, oblivious, reps};
use crate::units::{Fraction, Rate, Time};

/// One parameter of a mechanism.
pub struct Parameter<'a> {
    /// As scenario files and `unpause_config_set` take it.
    pub name: &'static CStr,
    /// What its number counts.
    pub unit: &'static CStr,
    /// Names of the values 0, 1, …, if it chooses between some.
    pub choices: &'static [&'static CStr],
    /// Its value; none if another parameter is set that stands for the same.
    pub value: Option<u64>,
    /// Sets it; false if the value is out of range.
    pub set: &'a mut dyn FnMut(u64) -> bool,
}

/// Looks at one parameter after the other.
pub type Visitor<'a> = &'a mut dyn FnMut(Parameter<'_>);

/// The parameters of a mechanism.
pub trait Parameters {
    fn visit(&mut self, visitor: Visitor<'_>);
}

/// A field of parameters.
trait Field {
    fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>);
}

/// Fields that are one number.
macro_rules! numbers {
    ($($Type:ty: $unit:literal, $get:expr, $set:expr;)+) => { $(
        impl Field for $Type {
            fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
                let get: fn($Type) -> u64 = $get;
                let make: fn(u64) -> Option<$Type> = $set;
                visitor(Parameter {
                    name,
                    unit: $unit,
                    choices: &[],
                    value: Some(get(*self)),
                    set: &mut |value| make(value).map(|it| *self = it).is_some(),
                });
            }
        }
    )+ };
}

numbers! {
    Time: c"ps", Time::as_ps, |ps| Some(Time::from_ps(ps));
    Rate: c"bit/s", Rate::as_bps, |bps| Some(Rate::from_bps(bps));
    Fraction: c"2^-32", Fraction::as_q32,
        |q32| (q32 <= Fraction::ONE.as_q32()).then(|| Fraction::from_q32(q32));
    swift::Packets: c"2^-32 packets", swift::Packets::as_q32,
        |q32| (q32 <= 1 << 63).then(|| swift::Packets::of(q32, 1 << 32));
    u64: c"1", |it| it, Some;
    u32: c"1", u64::from, |it| it.try_into().ok();
    u8: c"1", u64::from, |it| it.try_into().ok();
}

/// Fields that choose, by the names of scenario files.
macro_rules! choices {
    ($($Type:ty { $($Variant:ident = $name:literal),+ })+) => { $(
        impl Field for $Type {
            fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
                type Choice = $Type;
                const ALL: &[Choice] = &[$(Choice::$Variant),+];
                // Without `_`: a variant left out does not compile.
                match self { $(Choice::$Variant)|+ => {} }
                visitor(Parameter {
                    name,
                    unit: c"choice",
                    choices: &[$($name),+],
                    value: ALL.iter().position(|it| it == self).map(|at| at as u64),
                    set: &mut |value| {
                        let chosen = usize::try_from(value).ok().and_then(|at| ALL.get(at));
                        chosen.map(|it| *self = *it).is_some()
                    },
                });
            }
        }
    )+ };
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
    dcqcn::AlphaOrder { CutFirst = c"cut-first", UpdateFirst = c"update-first" }
    timely::Variant { PerPacket = c"per-packet", Segment = c"segment", Patched = c"patched", Hpcc = c"hpcc" }
    pfc::PauseMode {
        Standard = c"standard", Ns3Rdma = c"ns3-rdma", UntilXon = c"until-xon", Once = c"once"
    }
}

/// Numbers that may be left out: then they are 0.
macro_rules! optional {
    ($($Type:ty: $unit:literal, $get:expr, $set:expr;)+) => { $(
        impl Field for Option<$Type> {
            fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
                let get: fn($Type) -> u64 = $get;
                let make: fn(u64) -> $Type = $set;
                visitor(Parameter {
                    name,
                    unit: $unit,
                    choices: &[],
                    value: Some(self.map_or(0, get)),
                    set: &mut |value| {
                        *self = (value > 0).then(|| make(value));
                        true
                    },
                });
            }
        }
    )+ };
}

optional! {
    u64: c"1, 0 for none", |it| it, |it| it;
    Time: c"ps, 0 for none", Time::as_ps, Time::from_ps;
    Rate: c"bit/s, 0 for none", Rate::as_bps, Rate::from_bps;
}

impl Field for bool {
    fn visit(&mut self, name: &'static CStr, visitor: Visitor<'_>) {
        visitor(Parameter {
            name,
            unit: c"choice",
            choices: &[c"false", c"true"],
            value: Some(u64::from(*self)),
            set: &mut |value| {
                if value <= 1 {
                    *self = value == 1;
                }
                value <= 1
            },
        });
    }
}

/// Fields that say the same in several ways, each a parameter of its own; setting one takes the others'
/// place.
macro_rules! ways {
    ($($Type:ty { $($name:literal $unit:literal = $get:expr, $set:expr;)+ })+) => { $(
        impl Field for $Type {
            fn visit(&mut self, _: &'static CStr, visitor: Visitor<'_>) {
                $({
                    let get: fn($Type) -> Option<u64> = $get;
                    let make: fn($Type, u64) -> Option<$Type> = $set;
                    visitor(Parameter {
                        name: $name,
                        unit: $unit,
                        choices: &[],
                        value: get(*self),
                        set: &mut |value| make(*self, value).map(|it| *self = it).is_some(),
                    });
                })+
            }
        }
    )+ };
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

macro_rules! parameters {
    ($($module:ident { $($field:ident),* })+) => { $(
        impl Parameters for $module::Params {
            #[allow(unused_variables, reason = "some have no parameters")]
            fn visit(&mut self, visitor: Visitor<'_>) {
                // Without `..`: a field left out does not compile.
                let Self { $($field),* } = self;
                $($field.visit(field_name(concat!(stringify!($field), "\0")), visitor);)*
            }
        }
    )+ };
}

/// The name without the zero that it ends with.
const fn field_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("a field's name has no zero but the last"),
    }
}

parameters! {
    np_ecn { mark_basis, mark_above }
    red { kmin, kmax, pmax }
    wred { kmin, kmax, pmax }
    qcn_point { q_eq, weight, sample_base, quantisation, mode, interval }
    dctcp_red { threshold }
    tcn { threshold }
    codel { target, interval, spared_bytes, clock_shift }
    ecn_sharp { instantaneous, pst_target, pst_interval, variant, signal }
    tofino { ins_target, pst_target, pst_interval, load }
    faults { drop_probability, drop, mark }
    pcn_receiver { period, congested_above_percent, rec_rate_unit }
    dcqcn_receiver { cnp_interval, np_poll }
    pcn { w_min, w_max, min_rate, rec_rate_unit }
    qcn {
        gd_log2, min_decrease_factor, fr_threshold, fr_strict, byte_reset, time_reset, rate_ai, rate_hai,
        min_rate
    }
    dcqcn {
        g, alpha_init, alpha_order, alpha_timer, increase_timer, byte_counter, fr_threshold,
        clamp_target, rate_ai, rate_hai, min_rate, cnp_on_ack
    }
    dcqcn_nic {
        g, alpha_timer, cut_interval, increase_timer, fr_threshold, clamp_target, rate_ai, rate_hai,
        min_rate, cnp_on_ack
    }
    hpcc {
        base_rtt, window, per_path, fixed_window, u_target, mi_thresh, fast_react, multi_rate,
        sample_feedback, tx_unit, queue_unit, unknown_rate, rate_ai, min_rate
    }
    power_tcp { base_rtt, gamma, rate_ai, min_rate }
    theta_power_tcp { base_rtt, gamma, rate_ai, min_rate }
    dctcp_rate { g_log2, rate_ai, min_rate }
    telemetry {}
    timely {
        variant, ewma, t_low, t_high, min_rtt, delta, beta, hai_after, hai_factor, hai_delta, segment_bytes, min_rate
    }
    swift {
        base_target, fs_range, fs_min_cwnd, fs_max_cwnd, ai, beta, max_mdf, min_cwnd, retx_reset_threshold
    }
    newreno {}
    ecn_tcp {}
    cubic { c, beta, fast_convergence, ecn }
    dctcp { g_log2, alpha_init }
    pfc { pause_time, mode }
    oblivious { paths }
    bitmap { paths }
    reps { paths, freeze }
    nscc {
        network_rtt, host_rate, packet_bytes, payload_bytes, target_delay, quick_adapt_gate, initial_window
    }
}
