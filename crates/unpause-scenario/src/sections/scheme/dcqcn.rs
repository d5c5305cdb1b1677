//! DCQCN (SIGCOMM 2015).

use std::ops::Range;
use unpause_protocols::names::Names;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use unpause_protocols::congestion_control::{dcqcn, dcqcn_nic};
use unpause_protocols::units::{Fraction, Rate, Time};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::traffic::TrafficSpec;

use super::congestion_control::Scheme;
use super::dcqcn_names::NicNames;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::{self, Keys as _, Param, Written};
use crate::text::kind::OneOf;
use crate::text::setting::{AlphaOrder, OrNone};

/// Parameters of its points.
pub(super) struct Dcqcn {
    cp: RedByRate,
    np: notification_point::dcqcn::Params,
    rp: dcqcn::Params,
    clocks: Clocks,
    cut_interval: Time,
}

impl Default for Dcqcn {
    fn default() -> Self {
        Self {
            cp: RedByRate::default(),
            np: Default::default(),
            rp: Default::default(),
            clocks: Clocks::Cnp,
            cut_interval: dcqcn_nic::Params::default().cut_interval,
        }
    }
}

/// The clock of the steps of the reaction point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Names)]
pub(crate) enum Clocks {
    Cnp,
    Separate,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Dcqcn)]
pub(super) struct Keys {
    /// no marks up to this queue length; by link rate: `{ "10Gbps" = "40KB", "40Gbps" = "160KB" }`
    #[key(sets = cp.kmin, from = "DCQCN paper, 40 Gb/s")]
    kmin: Param<SizeByRate>,
    /// every packet is marked above this queue length
    #[key(sets = cp.kmax, from = "DCQCN paper, 40 Gb/s")]
    kmax: Param<SizeByRate>,
    /// marking probability at `kmax`
    #[key(sets = cp.pmax, from = "DCQCN paper")]
    pmax: Param<RatioByRate>,
    /// shortest time between two CNPs of a flow
    #[key(sets = np.cnp_interval, from = "DCQCN paper")]
    cnp_interval: Param<Duration>,
    /// check for marks at a flow's first packet and at the end of every interval, instead of answering the first mark
    #[key(sets = np.np_poll, from = "paper: at once; true is ns3-rdma's polling")]
    np_poll: Param<bool>,
    /// ACKs carry the mark of their packet, and there are no CNPs, as in HPCC's simulator
    #[key(sets = rp.cnp_on_ack, from = "DCQCN paper: CNPs are packets")]
    cnp_on_ack: Param<bool>,
    /// a CNP cuts at once, and alpha follows CNPs; or `"separate"`, as in NICs: alpha and cuts each have their own intervals and act at the end of one in which a CNP arrived; increases follow the timer alone, counted from the cut
    #[key(from = "DCQCN paper; HPCC's simulator separate")]
    clocks: Param<OneOf<Clocks>>,
    /// with separate clocks: shortest time between two cuts
    #[key(from = "HPCC's simulator")]
    cut_interval: Param<Duration>,
    /// gain of alpha
    #[key(sets = rp.g, from = "DCQCN paper: g = 1/256")]
    g: Param<Ratio>,
    /// alpha of a flow that has seen no CNP
    #[key(sets = rp.alpha_init, from = "DCQCN paper; ns3-rdma 1/2")]
    alpha_init: Param<Ratio>,
    /// on a CNP; or `"update-first"`
    #[key(sets = rp.alpha_order, from = "DCQCN paper; UpdateFirst is ns3-rdma's")]
    alpha_order: Param<AlphaOrder>,
    /// alpha decays after each such time without a CNP
    #[key(sets = rp.alpha_timer, from = "DCQCN paper")]
    alpha_timer: Param<Duration>,
    /// duration of one cycle of the increase timer
    #[key(sets = rp.increase_timer, from = "DCQCN paper; ns3-rdma 60 us")]
    increase_timer: Param<Duration>,
    /// bytes of one cycle of the byte counter; `"none"`: the timer alone counts cycles
    #[key(sets = rp.byte_counter, from = "DCQCN paper")]
    byte_counter: Param<OrNone<Size>>,
    /// cycles F of fast recovery
    #[key(sets = rp.fr_threshold, from = "DCQCN paper: F")]
    fr_threshold: Param<u32>,
    /// every CNP lowers the target rate
    #[key(sets = rp.clamp_target, from = "DCQCN paper: every CNP lowers the target")]
    clamp_target: Param<bool>,
    /// step of additive increase
    #[key(sets = rp.rate_ai, from = "DCQCN paper")]
    rate_ai: Param<DataRate>,
    /// step of hyper increase
    #[key(sets = rp.rate_hai, from = "ns3-rdma's sample configuration")]
    rate_hai: Param<DataRate>,
    /// the rate never falls below this
    #[key(sets = rp.min_rate, from = "ours: below the fair share of a thousand flows at 40 Gb/s")]
    min_rate: Param<DataRate>,
    #[key(flatten)]
    nic: NicNames,
}

impl Scheme for Dcqcn {
    const NAME: &'static str = "dcqcn";
    const SUMMARY: &'static str =
        "DCQCN (SIGCOMM 2015): RED marks, CNPs, rate cuts by a running estimate";
    const MARKS: bool = true;
    const NOTIFIES_BY: Option<&'static str> = Some("CNP");
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["kmin", "kmax", "pmax"]);
    type Keys = Keys;

    fn defaults(keys: &Keys) -> Self {
        let mut scheme = Self::default();
        if !keys.nic.written().is_empty() {
            scheme.clocks = Clocks::Separate;
            scheme.cut_interval = keys.nic.apply(&mut scheme.rp, &mut scheme.np.cnp_interval);
        }
        scheme
    }

    fn check(&self, keys: &Keys) -> Checked<()> {
        if !keys.nic.written().is_empty() {
            keys.nic.check()?;
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
                place(&keys.nic.min_time_between_cnps),
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

    fn config(self) -> SchemeConfig {
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
        let notification_point = if rp.cnp_on_ack {
            notification_point::Config::None
        } else {
            notification_point::Config::Dcqcn(self.np)
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
        TrafficSpec::Pattern(pattern) => pattern.size.as_ref().and_then(fixed),
    });
    sizes.reduce(|a, b| Some(a?.max(b?))).flatten()
}

fn place<T>(written: &Written<T>) -> Option<Range<usize>> {
    written.peek().map(|value| value.span())
}

/// Refuses names of the paper beside those of NICs.
fn check_alone(keys: &Keys) -> Checked<()> {
    let nic = keys.nic.written();
    let of_red = ["kmin", "kmax", "pmax", "cnp_on_ack"];
    for (key, place) in keys.written() {
        if !of_red.contains(&key) && !nic.iter().any(|(name, _)| *name == key) {
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
