//! DCQCN (SIGCOMM 2015).

use std::ops::Range;

use unpause_protocols::congestion_control::{dcqcn, dcqcn_nic};
use unpause_protocols::units::Time;
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::{Config, SchemeConfig};
use unpause_sim::traffic::TrafficSpec;

use super::congestion_control::Scheme;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::error::{Checked, Problem};
use crate::text::keys::{Written, keys, names};
use crate::text::quantity::{DataRate, Duration, Ratio};
use crate::text::setting::{AlphaOrder, PowerOfHalf, Setting, SizeOrNone};

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
            "a CNP cuts at once, and alpha follows CNPs; or `\"separate\"`, as NICs do: alpha and cuts at the ends of \
             intervals of their own in which a CNP came, and increases by the timer alone, counted from the cut on"
            from "DCQCN paper; HPCC's simulator separate" => clocks;
        cut_interval: Duration "with separate clocks: shortest time between two cuts"
            from "HPCC's simulator" => cut_interval;
        g: PowerOfHalf "gain of alpha"
            from "DCQCN paper: g = 1/256" => rp.g_log2;
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
        if self.clocks == Clocks::Separate {
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
                "every CNP cuts; set clocks = \"separate\"",
            )?;
        }
        if self.rp.cnp_on_ack {
            const NONE: &str = "there are no CNPs: ACKs tell of marks";
            refuse("cnp_interval", place(&keys.cnp_interval), NONE)?;
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
                g_log2: rp.g_log2,
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

    /// The step of hyper increase, which somebody has chosen, needs more cycles of the byte counter than any
    /// flow has bytes for.
    fn warning(config: &Config) -> Option<(String, &'static str)> {
        let congestion_control::Config::Dcqcn(rp) = &config.scheme.roce else {
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
