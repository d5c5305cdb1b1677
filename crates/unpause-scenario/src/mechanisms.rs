//! Scenario syntax of the mechanisms: one table of keys for each value of `congestion_control`.
//!
//! A key carries the field's name of a parameter. Its default is the mechanism's own, from
//! `unpause-protocols`. To add a mechanism: a struct of its points' parameters, a `section!`, and a
//! line in [`Mechanism`].

use serde::Deserialize;
use serde_spanned::Spanned;
use unpause_protocols::congestion_point::{self, dctcp_red, faults, np_ecn, red};
use unpause_protocols::units::{Fraction, Time};
use unpause_protocols::window::{self, dctcp};
use unpause_protocols::{notification_point, reaction_point};
use unpause_sim::config::SchemeConfig;

use crate::text::document::{Table, read};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::{DataRate, Duration, Ratio, Size};
use crate::text::setting::{
    AlphaOrder, MarkBasis, Percent, PowerOfHalf, QcnInterval, QcnMode, Quantisation, Setting,
    TimelyVariant,
};

/// One key of a mechanism's table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// As written in the file.
    pub name: &'static str,
    /// Its value when it is not written.
    pub default: String,
    /// What it is.
    pub description: &'static str,
}

/// Declares the keys of a mechanism: `key: kind "description" => where it is stored;`.
macro_rules! section {
    ($File:ident for $Params:ident {
        $($key:ident: $Kind:ident $text:literal => $($slot:ident).+ $(, $($more:ident).+)*;)+
    }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $File {
            $($key: Option<Spanned<$Kind>>,)+
        }

        impl $File {
            fn apply(&self, params: &mut $Params) -> Checked<()> {
                $(if let Some(value) = &self.$key {
                    store(stringify!($key), value, &mut params.$($slot).+)?;
                    $(store(stringify!($key), value, &mut params.$($more).+)?;)*
                })+
                Ok(())
            }

            fn keys(params: &$Params) -> Vec<Key> {
                vec![$(Key {
                    name: stringify!($key),
                    default: $Kind::show(&params.$($slot).+),
                    description: $text,
                },)+]
            }
        }
    };
}

pub(crate) use section;

pub(crate) fn store<T, S: Setting<T>>(key: &str, value: &Spanned<S>, slot: &mut T) -> Checked<()> {
    value.get_ref().store(slot).or_else(|why| {
        Problem::new(format!("`{key}` cannot be this: {why}"))
            .at(value.span(), "here")
            .err()
    })
}

#[derive(Default)]
struct PcnParams {
    cp: np_ecn::Params,
    np: notification_point::pcn::Params,
    rp: reaction_point::pcn::Params,
}

section!(PcnFile for PcnParams {
    period: Duration "CNP period T" => np.period;
    congested_above: Percent "a period with more than this share of marked packets is congested"
        => np.congested_above_percent;
    rec_rate_unit: DataRate "unit of the receive rate in a CNP" => np.rec_rate_unit, rp.rec_rate_unit;
    w_min: Ratio "discount in a decrease, and weight of the first increase after it" => rp.w_min;
    w_max: Ratio "largest weight of an increase" => rp.w_max;
    min_rate: DataRate "the rate never falls below this" => rp.min_rate;
    mark_basis: MarkBasis "queue length that decides a mark: dequeue-after, enqueue-before"
        => cp.mark_basis;
});

#[derive(Default)]
struct QcnParams {
    cp: congestion_point::qcn::Params,
    rp: reaction_point::qcn::Params,
}

section!(QcnFile for QcnParams {
    q_eq: Size "equilibrium queue length" => cp.q_eq;
    weight: u8 "weight w of the queue's growth" => cp.weight;
    sample_base: Size "bytes between samples of an uncongested queue" => cp.sample_base;
    quantisation: Quantisation "of the feedback: linear, top-bits" => cp.quantisation;
    mode: QcnMode "which buffer is sampled and who is notified: output-arrival, input-arrival, input-occupancy-det, input-occupancy-rand"
        => cp.mode;
    interval: QcnInterval "between samples: standard-table, fixed" => cp.interval;
    gd: PowerOfHalf "gain of a decrease" => rp.gd_log2;
    min_decrease_factor: Ratio "one cut leaves at least this much" => rp.min_decrease_factor;
    fr_threshold: u32 "cycles of fast recovery" => rp.fr_threshold;
    fr_strict: bool "fast recovery ends beyond fr_threshold (true) or at it" => rp.fr_strict;
    byte_reset: Size "bytes of one cycle of the byte clock" => rp.byte_reset;
    time_reset: Duration "duration of one cycle of the timer" => rp.time_reset;
    rate_ai: DataRate "step of active increase" => rp.rate_ai;
    rate_hai: DataRate "step of hyper-active increase" => rp.rate_hai;
    min_rate: DataRate "the rate never falls below this" => rp.min_rate;
});

#[derive(Default)]
struct DcqcnParams {
    cp: red::Params,
    np: notification_point::dcqcn::Params,
    rp: reaction_point::dcqcn::Params,
}

section!(DcqcnFile for DcqcnParams {
    kmin: Size "no marks up to this queue length" => cp.kmin;
    kmax: Size "every packet is marked above this queue length" => cp.kmax;
    pmax: Ratio "marking probability at kmax" => cp.pmax;
    cnp_interval: Duration "least time between two CNPs of a flow" => np.cnp_interval;
    np_poll: bool "look for marks at every interval's end instead of answering the first" => np.np_poll;
    g: PowerOfHalf "gain of alpha" => rp.g_log2;
    alpha_init: Ratio "alpha of a flow that has seen no CNP" => rp.alpha_init;
    alpha_order: AlphaOrder "on a CNP: cut-first or update-first" => rp.alpha_order;
    alpha_timer: Duration "alpha decays once in so long without a CNP" => rp.alpha_timer;
    increase_timer: Duration "duration of one cycle of the increase timer" => rp.increase_timer;
    byte_counter: Size "bytes of one cycle of the byte counter" => rp.byte_counter;
    fr_threshold: u32 "cycles F of fast recovery" => rp.fr_threshold;
    clamp_target: bool "every CNP lowers the target rate" => rp.clamp_target;
    rate_ai: DataRate "step of additive increase" => rp.rate_ai;
    rate_hai: DataRate "step of hyper increase" => rp.rate_hai;
    min_rate: DataRate "the rate never falls below this" => rp.min_rate;
});

type TimelyParams = reaction_point::timely::Params;

section!(TimelyFile for TimelyParams {
    variant: TimelyVariant "per-packet, segment, patched; the other defaults are of per-packet"
        => variant;
    ewma: Ratio "weight of the newest RTT difference" => ewma;
    t_low: Duration "below this RTT the rate always grows" => t_low;
    t_high: Duration "above this RTT the rate always falls" => t_high;
    min_rtt: Duration "what the gradient is normalised by" => min_rtt;
    delta: DataRate "additive step" => delta;
    beta: Ratio "gain of a decrease" => beta;
    hai_after: u32 "falls in a row after which steps are larger" => hai_after;
    hai_factor: u32 "how many times larger" => hai_factor;
    segment: Size "size of a segment; of no effect per packet" => segment_bytes;
    min_rate: DataRate "the rate never falls below this" => min_rate;
});

section!(NewRenoFile for FaultParams {
    drop_probability: Ratio "switches drop each data packet with this probability" => drop_probability;
});

type FaultParams = faults::Params;

section!(EcnTcpFile for MarkerParams {
    k: Size "a packet that finds so much in its queue is marked" => threshold;
});

type MarkerParams = dctcp_red::Params;

#[derive(Default)]
struct DctcpParams {
    cp: dctcp_red::Params,
    law: dctcp::Params,
}

section!(DctcpFile for DctcpParams {
    k: Size "a packet that finds so much in its queue is marked" => cp.threshold;
    g: PowerOfHalf "gain of alpha" => law.g_log2;
    alpha_init: Ratio "alpha at the start" => law.alpha_init;
});

/// A value of `congestion_control`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// PFC alone.
    None,
    /// 802.1Qau.
    Qcn,
    /// DCQCN (SIGCOMM 2015).
    Dcqcn,
    /// TIMELY (SIGCOMM 2015).
    Timely,
    /// PCN (NSDI 2020).
    Pcn,
    /// TCP NewReno.
    NewReno,
    /// TCP with ECN (RFC 3168).
    EcnTcp,
    /// DCTCP (SIGCOMM 2010).
    Dctcp,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Qcn,
        Self::Dcqcn,
        Self::Timely,
        Self::Pcn,
        Self::NewReno,
        Self::EcnTcp,
        Self::Dctcp,
    ];

    /// True of the window laws: flows go over TCP.
    pub fn is_tcp(self) -> bool {
        matches!(self, Self::NewReno | Self::EcnTcp | Self::Dctcp)
    }

    /// As written in the file; also the name of its table.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Qcn => "qcn",
            Self::Dcqcn => "dcqcn",
            Self::Timely => "timely",
            Self::Pcn => "pcn",
            Self::NewReno => "newreno",
            Self::EcnTcp => "ecn-tcp",
            Self::Dctcp => "dctcp",
        }
    }

    /// One line on what it is.
    pub fn summary(self) -> &'static str {
        match self {
            Self::None => "PFC alone; senders at line rate",
            Self::Qcn => "QCN (IEEE 802.1Qau): switches sample queues and notify sources",
            Self::Dcqcn => "DCQCN (SIGCOMM 2015): RED marks, CNPs, rate cuts by a running estimate",
            Self::Timely => "TIMELY (SIGCOMM 2015): senders follow the gradient of the RTT",
            Self::Pcn => "PCN (NSDI 2020): marks that forgive PAUSE, receiver-driven rates",
            Self::NewReno => "TCP NewReno (RFC 6582): the window is halved at a loss",
            Self::EcnTcp => "TCP with ECN (RFC 3168): the window is halved at a mark, too",
            Self::Dctcp => "DCTCP (SIGCOMM 2010): the window is cut by the share of marks",
        }
    }

    /// The keys of its table.
    pub fn keys(self) -> Vec<Key> {
        match self {
            Self::None => Vec::new(),
            Self::Qcn => QcnFile::keys(&QcnParams::default()),
            Self::Dcqcn => DcqcnFile::keys(&DcqcnParams::default()),
            Self::Timely => {
                let mut keys = TimelyFile::keys(&TimelyParams::default());
                for key in &mut keys {
                    if key.name == "min_rtt" {
                        key.default = "base RTT of the topology".into();
                    }
                }
                keys
            }
            Self::Pcn => PcnFile::keys(&PcnParams::default()),
            Self::NewReno => NewRenoFile::keys(&FaultParams::default()),
            Self::EcnTcp => EcnTcpFile::keys(&MarkerParams::default()),
            Self::Dctcp => DctcpFile::keys(&DctcpParams::default()),
        }
    }

    /// Keys of its table that set its own congestion point, which another `marking` replaces; all of
    /// it, as `None`, if it cannot do without.
    pub(crate) fn marking_keys(self) -> Option<&'static [&'static str]> {
        match self {
            Self::None | Self::Timely => Some(&[]),
            Self::Dcqcn => Some(&["kmin", "kmax", "pmax"]),
            Self::Pcn => Some(&["mark_basis"]),
            Self::Qcn => None,
            Self::NewReno => Some(&["drop_probability"]),
            Self::EcnTcp | Self::Dctcp => Some(&["k"]),
        }
    }

    /// The scheme with what its table says, if it has one.
    pub(crate) fn configure(
        self,
        table: Option<Table<'_>>,
        base_rtt: Time,
    ) -> Checked<SchemeConfig> {
        let span = table.as_ref().map(Spanned::span);
        let in_order = |key_low: &str, low_first: bool, key_high: &str| {
            if low_first {
                return Ok(());
            }
            Problem::new(format!("`{key_low}` is above `{key_high}`"))
                .at(span.clone().unwrap_or(0..0), "in this table")
                .err()
        };
        Ok(match self {
            Self::None => SchemeConfig::default(),
            Self::Qcn => {
                let mut params = QcnParams::default();
                if let Some(table) = table {
                    read::<QcnFile>(table, &[])?.apply(&mut params)?;
                }
                SchemeConfig {
                    congestion_point: congestion_point::Config::Qcn(params.cp),
                    notification_point: notification_point::Config::None,
                    reaction_point: reaction_point::Config::Qcn(params.rp),
                    ..SchemeConfig::default()
                }
            }
            Self::Dcqcn => {
                let mut params = DcqcnParams::default();
                if let Some(table) = table {
                    read::<DcqcnFile>(table, &[])?.apply(&mut params)?;
                }
                in_order("kmin", params.cp.kmin <= params.cp.kmax, "kmax")?;
                SchemeConfig {
                    congestion_point: congestion_point::Config::Red(params.cp),
                    notification_point: notification_point::Config::Dcqcn(params.np),
                    reaction_point: reaction_point::Config::Dcqcn(params.rp),
                    ..SchemeConfig::default()
                }
            }
            Self::Timely => {
                let mut params = TimelyParams::default();
                if let Some(table) = table {
                    let file: TimelyFile = read(table, &[])?;
                    params = TimelyVariant::defaults(file.variant.as_ref().map(Spanned::get_ref));
                    params.min_rtt = base_rtt;
                    if let Some(segment) = file.segment.as_ref()
                        && params.variant == reaction_point::timely::Variant::PerPacket
                    {
                        return Problem::new("`segment` has no effect")
                            .at(segment.span(), "the variant is per-packet")
                            .help("remove it, or set variant = \"segment\" or \"patched\"")
                            .err();
                    }
                    file.apply(&mut params)?;
                } else {
                    params.min_rtt = base_rtt;
                }
                in_order("t_low", params.t_low <= params.t_high, "t_high")?;
                SchemeConfig {
                    congestion_point: congestion_point::Config::None,
                    notification_point: notification_point::Config::None,
                    reaction_point: reaction_point::Config::Timely(params),
                    ..SchemeConfig::default()
                }
            }
            Self::Pcn => {
                let mut params = PcnParams::default();
                if let Some(table) = table {
                    read::<PcnFile>(table, &[])?.apply(&mut params)?;
                }
                in_order("w_min", params.rp.w_min <= params.rp.w_max, "w_max")?;
                SchemeConfig {
                    congestion_point: congestion_point::Config::NpEcn(params.cp),
                    notification_point: notification_point::Config::Pcn(params.np),
                    reaction_point: reaction_point::Config::Pcn(params.rp),
                    ..SchemeConfig::default()
                }
            }
            Self::NewReno => {
                let mut params = FaultParams::default();
                if let Some(table) = table {
                    read::<NewRenoFile>(table, &[])?.apply(&mut params)?;
                }
                let drops = params.drop_probability > Fraction::ZERO;
                SchemeConfig {
                    congestion_point: match drops {
                        true => congestion_point::Config::Faults(params),
                        false => congestion_point::Config::None,
                    },
                    window: window::Config::NewReno(Default::default()),
                    ..SchemeConfig::default()
                }
            }
            Self::EcnTcp => {
                let mut params = MarkerParams::default();
                if let Some(table) = table {
                    read::<EcnTcpFile>(table, &[])?.apply(&mut params)?;
                }
                SchemeConfig {
                    congestion_point: congestion_point::Config::DctcpRed(params),
                    window: window::Config::EcnTcp(Default::default()),
                    ..SchemeConfig::default()
                }
            }
            Self::Dctcp => {
                let mut params = DctcpParams::default();
                if let Some(table) = table {
                    read::<DctcpFile>(table, &[])?.apply(&mut params)?;
                }
                SchemeConfig {
                    congestion_point: congestion_point::Config::DctcpRed(params.cp),
                    window: window::Config::Dctcp(params.law),
                    ..SchemeConfig::default()
                }
            }
        })
    }
}
