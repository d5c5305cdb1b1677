//! Scenario syntax of `marking`: the congestion point of every queue of the switches, whatever the
//! senders do. One table of keys for each value, as in [`crate::mechanisms`].

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::congestion_point::ecn_sharp::Instantaneous;
use unpause_protocols::congestion_point::{
    Config, codel, dctcp_red, ecn_sharp, np_ecn, red, tcn, tofino,
};
use unpause_protocols::units::{Rate, Time};

use crate::mechanisms::{Key, section, store};
use crate::text::checks::both;
use crate::text::document::{Table, read};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{Duration, Ratio, Size};
use crate::text::setting::{
    EcnSharpVariant, MarkBasis, Packets, Setting, SojournSignal, TofinoLoad,
};

type RedParams = red::Params;
section!(RedFile for RedParams {
    kmin: Size "no marks up to this queue length" => kmin;
    kmax: Size "every packet is marked above this queue length" => kmax;
    pmax: Ratio "marking probability at kmax" => pmax;
});

type DctcpRedParams = dctcp_red::Params;
section!(DctcpRedFile for DctcpRedParams {
    threshold: Size "a packet that finds so much in the queue is marked" => threshold;
    threshold_packets: Packets "instead of threshold: the same in packets" => threshold;
});

type CodelParams = codel::Params;
section!(CodelFile for CodelParams {
    target: Duration "the waiting time that a queue may keep for good" => target;
    interval: Duration "how long it may exceed the target" => interval;
    spared: Size "a packet that leaves less behind counts as below the target" => spared_bytes;
    clock_shift: u8 "times are in ticks of 2 to the power of this ns" => clock_shift;
});

type TcnParams = tcn::Params;
section!(TcnFile for TcnParams {
    threshold: Duration "a packet that waited longer is marked" => threshold;
});

struct EcnSharpParams {
    ins_target: Time,
    ins_min: Option<Time>,
    ins_max: Option<Time>,
    rest: ecn_sharp::Params,
}

impl Default for EcnSharpParams {
    fn default() -> Self {
        let rest = ecn_sharp::Params::default();
        let (Instantaneous::Above(ins_target) | Instantaneous::Linear { to: ins_target, .. }) =
            rest.instantaneous;
        Self {
            ins_target,
            ins_min: None,
            ins_max: None,
            rest,
        }
    }
}

section!(EcnSharpFile for EcnSharpParams {
    ins_target: Duration "a packet that waited longer is marked" => ins_target;
    ins_min: Duration "instead of ins_target: no such marks up to this waiting time" => ins_min;
    ins_max: Duration "with ins_min: certain marks above it; between them a growing share" => ins_max;
    pst_target: Duration "from this waiting time on a queue may be persistent" => rest.pst_target;
    pst_interval: Duration "how long it must last; distance of the first two marks"
        => rest.pst_interval;
    variant: EcnSharpVariant "law of the persistent marks: authors-code, paper" => rest.variant;
    signal: SojournSignal "what stands for the waiting time: sojourn-time, queue-length"
        => rest.signal;
});

type TofinoParams = tofino::Params;
section!(TofinoFile for TofinoParams {
    ins_target: Duration "a packet that waited longer is marked" => ins_target;
    pst_target: Duration "from this waiting time on a queue may be persistent" => pst_target;
    pst_interval: Duration "how long it must last; distance of the first two marks" => pst_interval;
    load: TofinoLoad "how times become ticks of 1.024 us: scaled, unscaled" => load;
});

type NpEcnParams = np_ecn::Params;
section!(NpEcnFile for NpEcnParams {
    mark_basis: MarkBasis "queue length that decides a mark: dequeue-after, enqueue-before"
        => mark_basis;
});

/// A value of `marking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marking {
    /// No marks.
    None,
    /// RED on the instantaneous queue.
    Red,
    /// DCTCP: one queue length.
    DctcpRed,
    /// CoDel with marks in place of drops.
    Codel,
    /// One waiting time.
    Tcn,
    /// ECN#.
    EcnSharp,
    /// ECN# as a Tofino computes it.
    EcnSharpTofino,
    /// PCN's marks that forgive PAUSE.
    NpEcn,
}

impl Marking {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Red,
        Self::DctcpRed,
        Self::Codel,
        Self::Tcn,
        Self::EcnSharp,
        Self::EcnSharpTofino,
        Self::NpEcn,
    ];

    /// As written in the file; also the name of its table.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Red => "red",
            Self::DctcpRed => "dctcp-red",
            Self::Codel => "codel",
            Self::Tcn => "tcn",
            Self::EcnSharp => "ecn-sharp",
            Self::EcnSharpTofino => "ecn-sharp-tofino",
            Self::NpEcn => "np-ecn",
        }
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::None => "no marks",
            Self::Red => "RED on the instantaneous queue, at dequeue, as DCQCN's switches mark",
            Self::DctcpRed => "DCTCP-RED: one queue length, at enqueue",
            Self::Codel => "CoDel (RFC 8289) with marks in place of drops, at dequeue",
            Self::Tcn => "TCN (CoNEXT 2016): one waiting time, at dequeue",
            Self::EcnSharp => "ECN# (CoNEXT 2019): instantaneous and persistent queues, at dequeue",
            Self::EcnSharpTofino => "ECN# with the clock and the division of a Tofino",
            Self::NpEcn => "PCN's marks that forgive packets held by a PAUSE",
        }
    }

    /// The keys of its table.
    pub fn keys(self) -> Vec<Key> {
        match self {
            Self::None => Vec::new(),
            Self::Red => RedFile::keys(&RedParams::default()),
            Self::DctcpRed => DctcpRedFile::keys(&DctcpRedParams::default()),
            Self::Codel => CodelFile::keys(&CodelParams::default()),
            Self::Tcn => TcnFile::keys(&TcnParams::default()),
            Self::EcnSharp => EcnSharpFile::keys(&EcnSharpParams::default()),
            Self::EcnSharpTofino => TofinoFile::keys(&TofinoParams::default()),
            Self::NpEcn => NpEcnFile::keys(&NpEcnParams::default()),
        }
    }

    /// The congestion point with what its table says, if it has one.
    pub(crate) fn configure(self, table: Option<Table<'_>>) -> Checked<Config> {
        let Some(table) = table else {
            return Ok(self.default_config());
        };
        Ok(match self {
            Self::None => Config::None,
            Self::Red => {
                let mut params = RedParams::default();
                let file: RedFile = read(table, &[])?;
                file.apply(&mut params)?;
                ordered(
                    ("kmin", &file.kmin),
                    &params.kmin,
                    ("kmax", &file.kmax),
                    &params.kmax,
                )?;
                Config::Red(params)
            }
            Self::DctcpRed => {
                let mut params = DctcpRedParams::default();
                let file: DctcpRedFile = read(table, &[])?;
                if let (Some(bytes), Some(packets)) = (&file.threshold, &file.threshold_packets) {
                    return both("threshold", bytes, "threshold_packets", packets);
                }
                file.apply(&mut params)?;
                Config::DctcpRed(params)
            }
            Self::Codel => {
                let mut params = CodelParams::default();
                let file: CodelFile = read(table, &[])?;
                file.apply(&mut params)?;
                let (target, interval) = (("target", &file.target), ("interval", &file.interval));
                ordered(target, &params.target, interval, &params.interval)?;
                Config::Codel(params)
            }
            Self::Tcn => {
                let mut params = TcnParams::default();
                read::<TcnFile>(table, &[])?.apply(&mut params)?;
                Config::Tcn(params)
            }
            Self::EcnSharp => ecn_sharp(&read(table, &[])?)?,
            Self::EcnSharpTofino => {
                let mut params = TofinoParams::default();
                let file: TofinoFile = read(table, &[])?;
                file.apply(&mut params)?;
                let (pst, ins) = (
                    ("pst_target", &file.pst_target),
                    ("ins_target", &file.ins_target),
                );
                ordered(pst, &params.pst_target, ins, &params.ins_target)?;
                Config::Tofino(params)
            }
            Self::NpEcn => {
                let mut params = NpEcnParams::default();
                read::<NpEcnFile>(table, &[])?.apply(&mut params)?;
                Config::NpEcn(params)
            }
        })
    }

    fn default_config(self) -> Config {
        match self {
            Self::None => Config::None,
            Self::Red => Config::Red(RedParams::default()),
            Self::DctcpRed => Config::DctcpRed(DctcpRedParams::default()),
            Self::Codel => Config::Codel(CodelParams::default()),
            Self::Tcn => Config::Tcn(TcnParams::default()),
            Self::EcnSharp => Config::EcnSharp(ecn_sharp::Params::default()),
            Self::EcnSharpTofino => Config::Tofino(TofinoParams::default()),
            Self::NpEcn => Config::NpEcn(NpEcnParams::default()),
        }
    }
}

fn ecn_sharp(file: &EcnSharpFile) -> Checked<Config> {
    let mut params = EcnSharpParams::default();
    file.apply(&mut params)?;
    let pst = ("pst_target", &file.pst_target);
    params.rest.instantaneous = match (&file.ins_min, &file.ins_max) {
        (None, None) => {
            let ins = ("ins_target", &file.ins_target);
            ordered(pst, &params.rest.pst_target, ins, &params.ins_target)?;
            Instantaneous::Above(params.ins_target)
        }
        (Some(min), Some(max)) => {
            if let Some(target) = &file.ins_target {
                return both("ins_target", target, "ins_min", min);
            }
            let (from, to) = (min.get_ref().0, max.get_ref().0);
            let ins_max = ("ins_max", &file.ins_max);
            ordered(("ins_min", &file.ins_min), &from, ins_max, &to)?;
            ordered(pst, &params.rest.pst_target, ins_max, &to)?;
            Instantaneous::Linear { from, to }
        }
        (Some(alone), None) | (None, Some(alone)) => {
            return Problem::new("`ins_min` and `ins_max` go together")
                .at(alone.span(), "only one is set")
                .help("set both, or ins_target alone for a mark above one waiting time")
                .err();
        }
    };
    if params.rest.pst_interval == Time::ZERO {
        let span = file.pst_interval.as_ref().map_or(0..0, Spanned::span);
        return Problem::new("`pst_interval` is zero")
            .at(span, "must be longer than nothing")
            .err();
    }
    Ok(Config::EcnSharp(params.rest))
}

/// `low` must not exceed `high`; either may be a default.
fn ordered<T: PartialOrd, S: Setting<T>>(
    (low_key, low_value): (&str, &Option<Spanned<S>>),
    low: &T,
    (high_key, high_value): (&str, &Option<Spanned<S>>),
    high: &T,
) -> Checked<()> {
    if low <= high {
        return Ok(());
    }
    let mut problem = Problem::new(format!("`{low_key}` is above `{high_key}`"));
    for (key, value, shown) in [
        (low_key, low_value, S::show(low)),
        (high_key, high_value, S::show(high)),
    ] {
        if let Some(value) = value {
            problem = problem.at(value.span(), format!("`{key}` is {shown}"));
        } else {
            problem = problem.help(format!("`{key}` is {shown} by default"));
        }
    }
    problem.err()
}

impl Setting<Option<Time>> for Duration {
    fn store(&self, slot: &mut Option<Time>) -> Result<(), String> {
        *slot = Some(self.0);
        Ok(())
    }
    fn show(slot: &Option<Time>) -> String {
        slot.map_or("off".into(), |time| time.to_string())
    }
}

impl Setting<dctcp_red::Threshold> for Packets {
    fn store(&self, slot: &mut dctcp_red::Threshold) -> Result<(), String> {
        *slot = dctcp_red::Threshold::Packets(self.0);
        Ok(())
    }
    fn show(slot: &dctcp_red::Threshold) -> String {
        match slot {
            dctcp_red::Threshold::Bytes(_) => "off".into(),
            dctcp_red::Threshold::Packets(packets) => packets.to_string(),
        }
    }
}

impl Setting<ecn_sharp::Signal> for SojournSignal {
    fn store(&self, slot: &mut ecn_sharp::Signal) -> Result<(), String> {
        *slot = match self {
            Self::SojournTime => ecn_sharp::Signal::SojournTime,
            // The simulator sets it to that of each queue's link.
            Self::QueueLength => ecn_sharp::Signal::QueueLength(Rate::from_gbps(1)),
        };
        Ok(())
    }
    fn show(slot: &ecn_sharp::Signal) -> String {
        match slot {
            ecn_sharp::Signal::SojournTime => "sojourn-time".into(),
            ecn_sharp::Signal::QueueLength(_) => "queue-length".into(),
        }
    }
}
