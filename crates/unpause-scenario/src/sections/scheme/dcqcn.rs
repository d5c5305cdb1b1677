//! DCQCN (SIGCOMM 2015).

use std::ops::Range;

use unpause_protocols::congestion_control::{dcqcn, dcqcn_nic};
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::traffic::TrafficSpec;

use super::congestion_control::Scheme;
use super::dcqcn_names::{self, Limit, NicNames};
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::{Written, keys, names};
use crate::text::setting::{AlphaOrder, Setting, SizeOrNone};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio};

/// Parameters of its points.
pub(super) struct Dcqcn {
    cp: RedByRate,
    np: notification_point::dcqcn::Params,
    rp: dcqcn::Params,
    clocks: Clocks,
    cut_interval: Time,
    nic: NicNames,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            cp: RedByRate::default(),
            np: Default::default(),
            rp: Default::default(),
            clocks: Clocks::Cnp,
            cut_interval: dcqcn_nic::Params::default().cut_interval,
            nic: NicNames::default(),
        }
    }
}

names! {
    /// What the steps of the reaction point follow.
    pub(crate) Clocks { Cnp = "cnp", Separate = "separate" }
}

impl Setting<Clocks> for Clocks {
    fn store(&self, slot: &mut Clocks) -> Result<(), String> {
        *slot = *self;
        Ok(())
    }
    fn show(slot: &Clocks) -> String {
        match slot {
            Self::Cnp => "cnp".into(),
            Self::Separate => "separate".into(),
        }
    }
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Dcqcn {
        kmin: SizeByRate "no marks up to this queue length; by link rate: `{ \"10Gbps\" = \"40KB\", \"40Gbps\" = \"160KB\" }`"
            from "DCQCN paper, 40 Gb/s" => cp.kmin;
        kmax: SizeByRate "every packet is marked above this queue length"
            from "DCQCN paper, 40 Gb/s" => cp.kmax;
        pmax: RatioByRate "marking probability at `kmax`"
            from "DCQCN paper" => cp.pmax;
        cnp_interval: Duration "shortest time between two CNPs of a flow"
            from "DCQCN paper" => np.cnp_interval;
        np_poll: bool "check for marks at a flow's first packet and at the end of every interval, instead of answering the first mark"
            from "paper: at once; true is ns3-rdma's polling" => np.np_poll;
        cnp_on_ack: bool "ACKs carry the mark of their packet, and there are no CNPs, as in HPCC's simulator"
            from "DCQCN paper: CNPs are packets" => rp.cnp_on_ack;
        clocks: Clocks
            "a CNP cuts at once, and alpha follows CNPs; or `\"separate\"`, as in NICs: alpha and cuts each have their own intervals and act at the end of one in which a CNP arrived; increases follow the timer alone, counted from the cut"
            from "DCQCN paper; HPCC's simulator separate" => clocks;
        cut_interval: Duration "with separate clocks: shortest time between two cuts"
            from "HPCC's simulator" => cut_interval;
        g: Ratio "gain of alpha"
            from "DCQCN paper: g = 1/256" => rp.g;
        alpha_init: Ratio "alpha of a flow that has seen no CNP"
            from "DCQCN paper; ns3-rdma 1/2" => rp.alpha_init;
        alpha_order: AlphaOrder "on a CNP; or `\"update-first\"`"
            from "DCQCN paper; UpdateFirst is ns3-rdma's" => rp.alpha_order;
        alpha_timer: Duration "alpha decays after each such time without a CNP"
            from "DCQCN paper" => rp.alpha_timer;
        increase_timer: Duration "duration of one cycle of the increase timer"
            from "DCQCN paper; ns3-rdma 60 us" => rp.increase_timer;
        byte_counter: SizeOrNone "bytes of one cycle of the byte counter; `\"none\"`: the timer alone counts cycles"
            from "DCQCN paper" => rp.byte_counter;
        fr_threshold: u32 "cycles F of fast recovery"
            from "DCQCN paper: F" => rp.fr_threshold;
        clamp_target: bool "every CNP lowers the target rate"
            from "DCQCN paper: every CNP lowers the target" => rp.clamp_target;
        rate_ai: DataRate "step of additive increase"
            from "DCQCN paper" => rp.rate_ai;
        rate_hai: DataRate "step of hyper increase"
            from "ns3-rdma's sample configuration" => rp.rate_hai;
        min_rate: DataRate "the rate never falls below this"
            from "ours: below the fair share of a thousand flows at 40 Gb/s" => rp.min_rate;
        dce_tcp_g: u32 = ["`1019`"] "by NVIDIA's names, [explained below](#schemedcqcn): the part of alpha that is kept, in 1/1024; 1019 is g = 5/1024"
            from "mlxconfig" => nic.dce_tcp_g;
        dce_tcp_rtt: u32 = ["`1`"] "alpha's interval, us" from "mlxconfig" => nic.dce_tcp_rtt;
        rate_reduce_monitor_period: u32 = ["`4`"] "shortest time between two cuts, us"
            from "mlxconfig" => nic.rate_reduce_monitor_period;
        rpg_time_reset: u32 = ["`300`"] "duration of one cycle of the increase timer, us" from "mlxconfig" => nic.rpg_time_reset;
        rpg_threshold: u32 = ["`1`"] "cycles of fast recovery" from "mlxconfig" => nic.rpg_threshold;
        rpg_ai_rate: u32 = ["`5`"] "step of additive increase, Mb/s" from "mlxconfig" => nic.rpg_ai_rate;
        rpg_hai_rate: u32 = ["`50`"] "step of hyper increase, Mb/s" from "mlxconfig" => nic.rpg_hai_rate;
        rpg_min_rate: u32 = ["`1`"] "the rate never falls below this, Mb/s" from "mlxconfig" => nic.rpg_min_rate;
        clamp_tgt_rate: u32 = ["`0`"] "1: every cut lowers the target rate; 0: only a cut that follows an increase"
            from "mlxconfig" => nic.clamp_tgt_rate;
        min_time_between_cnps: u32 = ["`2`"] "shortest time between two CNPs of a flow, us"
            from "mlxconfig" => nic.min_time_between_cnps;
        initial_alpha_value: u32 = ["`1023`"] "initial alpha, in 1/1024; only 1023, which is taken as 1" from "mlxconfig" => nic.initial_alpha_value;
        rate_to_set_on_first_cnp: u32 = ["`0`"] "only 0: the first CNP sets no rate" from "mlxconfig" => nic.rate_to_set_on_first_cnp;
        rpg_min_dec_fac: u32 = ["`50`"] "only 50: a cut leaves at least half of the rate, %" from "mlxconfig" => nic.rpg_min_dec_fac;
        rpg_gd: u32 = ["`11`"] "only 11: a cut is half of alpha" from "mlxconfig" => nic.rpg_gd;
        rpg_byte_reset: u32 = ["`0`"] "only 0: increases follow the timer alone, as in HPCC's simulator" from "ours"
            => nic.rpg_byte_reset;
    }
}

impl Scheme for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str =
        "DCQCN (SIGCOMM 2015): RED marks, CNPs, rate cuts by a running estimate";
    const MARKS: bool = true;
    const NOTIFIES_BY: Option<&'static str> = Some("CNP");
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["kmin", "kmax", "pmax"]);
    type Keys = Keys;

    fn check(&self, keys: &Keys) -> Checked<()> {
        if !self.nic.are_unused() {
            check_names(keys)?;
            check_alone(keys)?;
        } else if self.clocks == Clocks::Separate {
            const OWN: &str =
                "with separate clocks, alpha begins with 1 and is set at the end of its interval";
            refuse("alpha_init", place(&keys.alpha_init), OWN)?;
            refuse("alpha_order", place(&keys.alpha_order), OWN)?;
            let counter = place(&keys.byte_counter).filter(|_| self.rp.byte_counter.is_some());
            refuse(
                "byte_counter",
                counter,
                "with separate clocks the timer alone counts",
            )?;
        } else {
            refuse(
                "cut_interval",
                place(&keys.cut_interval),
                "without separate clocks every CNP cuts; set clocks = \"separate\"",
            )?;
        }
        if self.rp.cnp_on_ack {
            const NONE: &str = "there are no CNPs: ACKs carry the marks";
            refuse("cnp_interval", place(&keys.cnp_interval), NONE)?;
            refuse(
                "min_time_between_cnps",
                place(&keys.min_time_between_cnps),
                NONE,
            )?;
            refuse("np_poll", place(&keys.np_poll), NONE)?;
        }
        self.cp.check(&RedKeys {
            kmin: &keys.kmin,
            kmax: &keys.kmax,
            pmax: &keys.pmax,
        })
    }

    fn config(mut self) -> SchemeConfig {
        if !self.nic.are_unused() {
            self.clocks = Clocks::Separate;
            self.cut_interval = self.nic.apply(&mut self.rp, &mut self.np.cnp_interval);
        }
        let rp = self.rp;
        let roce = match self.clocks {
            Clocks::Cnp => congestion_control::Config::Dcqcn(rp),
            Clocks::Separate => congestion_control::Config::DcqcnNic(dcqcn_nic::Params {
                g: rp.g,
                alpha_timer: rp.alpha_timer,
                cut_interval: self.cut_interval,
                increase_timer: rp.increase_timer,
                fr_threshold: rp.fr_threshold,
                clamp_target: rp.clamp_target,
                rate_ai: rp.rate_ai,
                rate_hai: rp.rate_hai,
                min_rate: rp.min_rate,
                cnp_on_ack: rp.cnp_on_ack,
            }),
        };
        let notification_point = match rp.cnp_on_ack {
            true => notification_point::Config::None,
            false => notification_point::Config::Dcqcn(self.np),
        };
        self.cp.configure(SchemeConfig {
            notification_point,
            roce,
            ..SchemeConfig::default()
        })
    }

    /// Warns where NICs count differently, and of a chosen step of hyper increase that needs more cycles of the byte
    /// counter than any flow has bytes for.
    fn warning(config: &Config) -> Option<(String, &'static str)> {
        let roce = &config.scheme.roce;
        let steps = match roce {
            congestion_control::Config::Dcqcn(rp) => (rp.g, rp.rate_ai),
            congestion_control::Config::DcqcnNic(rp) => (rp.g, rp.rate_ai),
            _ => return None,
        };
        if let Some(warning) = of_other_units(steps, config) {
            return Some(warning);
        }
        let congestion_control::Config::Dcqcn(rp) = roce else {
            return None;
        };
        if rp.rate_hai == dcqcn::Params::default().rate_hai {
            return None;
        }
        let cycles = u64::from(rp.fr_threshold) + 1;
        let needed = rp.byte_counter?.saturating_mul(cycles);
        (largest_flow(config)? < needed).then(|| {
            let message = format!(
                "`rate_hai` never acts: it needs {cycles} cycles of `byte_counter`, and no flow is that long"
            );
            (message, "byte_counter = \"none\" lets the timer alone count cycles")
        })
    }
}

/// Why the gain of alpha, or the step of additive increase, looks like a number of a NIC in other units.
fn of_other_units(
    (g, rate_ai): (Fraction, Rate),
    config: &Config,
) -> Option<(String, &'static str)> {
    const FEWEST_STEPS: u64 = 16;
    if g > Fraction::of(1, 4) {
        let share = g.as_q32() as f64 / Fraction::ONE.as_q32() as f64;
        let message = format!(
            "`g` is {share:.3}: one interval of alpha outweighs all previous ones, so a flow halves its rate at each cut"
        );
        return Some((
            message,
            "a NIC's dce_tcp_g is the part of alpha that is kept, in 1/1024: write dce_tcp_g = 1019, which is g = \"5/1024\"",
        ));
    }
    let fastest = config.fabric.links.iter().map(|it| it.rate).max()?;
    (rate_ai.as_bps().saturating_mul(FEWEST_STEPS) > fastest.as_bps()).then(|| {
        let message = format!(
            "`rate_ai` is {rate_ai}: a flow goes from zero to {fastest} in fewer than {FEWEST_STEPS} steps"
        );
        (message, "NICs count rpg_ai_rate in Mb/s: 5 is 5Mbps")
    })
}

/// Bytes of the largest flow; none if some have no end, or draw their size.
fn largest_flow(config: &Config) -> Option<u64> {
    use unpause_sim::traffic::Size;
    let fixed = |size: &Size| match size {
        Size::Fixed(bytes) => Some(*bytes),
        Size::Cdf(_) => None,
    };
    let sizes = config.traffic.iter().map(|spec| match spec {
        TrafficSpec::Flows(flows) => flows
            .iter()
            .map(|flow| flow.size_bytes)
            .try_fold(0, |most, size| Some(size?.max(most))),
        TrafficSpec::Burst(burst) => fixed(&burst.size),
        TrafficSpec::Poisson(poisson) => fixed(&poisson.size),
        TrafficSpec::Incast(incast) => fixed(&incast.size),
        TrafficSpec::Permutation(permutation) => permutation.size.as_ref().and_then(fixed),
        TrafficSpec::OnOff(_) => None,
    });
    sizes.reduce(|a, b| Some(a?.max(b?))).flatten()
}

fn place<T>(written: &Written<T>) -> Option<Range<usize>> {
    written.peek().map(|value| value.span())
}

/// Refuses what parameters by the names of NICs cannot be.
fn check_names(keys: &Keys) -> Checked<()> {
    const RANGE: &str = "the values that the NIC accepts";
    let limit = |name, written, least, most, why| Limit {
        name,
        written,
        least,
        most,
        why,
    };
    dcqcn_names::check(&[
        limit(
            "dce_tcp_g",
            &keys.dce_tcp_g,
            0,
            1023,
            "the part of alpha that is kept, in 1/1024",
        ),
        limit("dce_tcp_rtt", &keys.dce_tcp_rtt, 1, 131_071, RANGE),
        limit(
            "rate_reduce_monitor_period",
            &keys.rate_reduce_monitor_period,
            1,
            u32::MAX,
            RANGE,
        ),
        limit("rpg_time_reset", &keys.rpg_time_reset, 1, 131_071, RANGE),
        limit("rpg_threshold", &keys.rpg_threshold, 1, 31, RANGE),
        limit("rpg_ai_rate", &keys.rpg_ai_rate, 1, u32::MAX, RANGE),
        limit("rpg_hai_rate", &keys.rpg_hai_rate, 1, u32::MAX, RANGE),
        limit("rpg_min_rate", &keys.rpg_min_rate, 1, u32::MAX, RANGE),
        limit("clamp_tgt_rate", &keys.clamp_tgt_rate, 0, 1, RANGE),
        limit(
            "initial_alpha_value",
            &keys.initial_alpha_value,
            1023,
            1023,
            "alpha begins with 1 here",
        ),
        limit(
            "rate_to_set_on_first_cnp",
            &keys.rate_to_set_on_first_cnp,
            0,
            0,
            "the first CNP sets no rate here",
        ),
        limit(
            "rpg_min_dec_fac",
            &keys.rpg_min_dec_fac,
            50,
            50,
            "no cut leaves less than half here",
        ),
        limit(
            "rpg_gd",
            &keys.rpg_gd,
            11,
            11,
            "a cut is half of alpha here",
        ),
        limit(
            "rpg_byte_reset",
            &keys.rpg_byte_reset,
            0,
            0,
            "increases follow the timer alone here",
        ),
    ])
}

/// Refuses names of the paper beside those of NICs.
fn check_alone(keys: &Keys) -> Checked<()> {
    let others = [
        ("clocks", place(&keys.clocks)),
        ("cut_interval", place(&keys.cut_interval)),
        ("g", place(&keys.g)),
        ("alpha_init", place(&keys.alpha_init)),
        ("alpha_order", place(&keys.alpha_order)),
        ("alpha_timer", place(&keys.alpha_timer)),
        ("increase_timer", place(&keys.increase_timer)),
        ("byte_counter", place(&keys.byte_counter)),
        ("fr_threshold", place(&keys.fr_threshold)),
        ("clamp_target", place(&keys.clamp_target)),
        ("rate_ai", place(&keys.rate_ai)),
        ("rate_hai", place(&keys.rate_hai)),
        ("min_rate", place(&keys.min_rate)),
        ("cnp_interval", place(&keys.cnp_interval)),
        ("np_poll", place(&keys.np_poll)),
    ];
    for (key, written) in others {
        if let Some(place) = written {
            return Problem::new(format!("`{key}` beside parameters by NVIDIA's names"))
                .at(place, "of the same point, with the paper's names")
                .help(
                    "use one kind of names for all of them; kmin, kmax and pmax can be combined with both",
                )
                .err();
        }
    }
    Ok(())
}

/// Refuses a key that is written where it has no effect.
fn refuse(key: &str, written: Option<Range<usize>>, why: &str) -> Checked<()> {
    match written {
        None => Ok(()),
        Some(place) => Problem::new(format!("`{key}` has no effect"))
            .at(place, why)
            .help("remove it")
            .err(),
    }
}
