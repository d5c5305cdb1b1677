//! DCQCN (SIGCOMM 2015).

use unpause_protocols::congestion_point::{self, red};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::text::error::Checked;
use crate::text::keys::{keys, ordered};
use crate::text::quantity::{DataRate, Duration, Ratio, Size};
use crate::text::setting::{AlphaOrder, PowerOfHalf};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Dcqcn {
    cp: red::Params,
    np: notification_point::dcqcn::Params,
    rp: congestion_control::dcqcn::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Dcqcn {
        kmin: Size "no marks up to this queue length"
            from "DCQCN paper, 40 Gb/s" => cp.kmin;
        kmax: Size "every packet is marked above this queue length"
            from "DCQCN paper, 40 Gb/s" => cp.kmax;
        pmax: Ratio "marking probability at `kmax`"
            from "DCQCN paper" => cp.pmax;
        cnp_interval: Duration "least time between two CNPs of a flow"
            from "DCQCN paper" => np.cnp_interval;
        np_poll: bool "look for marks at every interval's end instead of answering the first"
            from "paper: at once; true is ns3-rdma's polling" => np.np_poll;
        g: PowerOfHalf "gain of alpha"
            from "DCQCN paper: g = 1/256" => rp.g_log2;
        alpha_init: Ratio "alpha of a flow that has seen no CNP"
            from "DCQCN paper; ns3-rdma 1/2" => rp.alpha_init;
        alpha_order: AlphaOrder "on a CNP; or `\"update-first\"`"
            from "DCQCN paper; UpdateFirst is ns3-rdma's" => rp.alpha_order;
        alpha_timer: Duration "alpha decays once in so long without a CNP"
            from "DCQCN paper" => rp.alpha_timer;
        increase_timer: Duration "duration of one cycle of the increase timer"
            from "DCQCN paper; ns3-rdma 60 us" => rp.increase_timer;
        byte_counter: Size "bytes of one cycle of the byte counter"
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
        let (kmin, kmax) = (("kmin", &keys.kmin), ("kmax", &keys.kmax));
        ordered(kmin, &self.cp.kmin, kmax, &self.cp.kmax)
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Red(self.cp),
            notification_point: notification_point::Config::Dcqcn(self.np),
            roce: congestion_control::Config::Dcqcn(self.rp),
            ..SchemeConfig::default()
        }
    }
}
