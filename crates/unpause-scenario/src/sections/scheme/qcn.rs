//! QCN (IEEE 802.1Qau).

use unpause_protocols::{congestion_control, congestion_point};
use unpause_sim::config::{Config, PfcThreshold, SchemeConfig};

use super::congestion_control::Scheme;
use crate::text::keys::keys;
use crate::text::setting::{PowerOfHalf, QcnInterval, QcnMode, Quantisation};
use unpause_text::count::size;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Qcn {
    cp: congestion_point::qcn::Params,
    rp: congestion_control::qcn::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Qcn {
        q_eq: Size "equilibrium queue length"
            from "IEEE8021-CN-MIB" => cp.q_eq;
        weight: u8 "weight w of the queue's growth"
            from "IEEE8021-CN-MIB (log2 = 1)" => cp.weight;
        sample_base: Size "bytes between samples of an uncongested queue"
            from "IEEE8021-CN-MIB" => cp.sample_base;
        quantisation: Quantisation "quantisation of the feedback; or `\"top-bits\"`"
            from "the standard; TopBits is found in implementations" => cp.quantisation;
        mode: QcnMode "the buffer sampled and the flow notified: the output queue and the flow of the sampled packet (802.1Qau), or `\"input-arrival\"`, `\"input-occupancy-det\"` (the flow that holds most of the input buffer), `\"input-occupancy-rand\"` (drawn in proportion to what each flow holds). In a shared-buffer switch the \
             input buffer is what PFC counts for a lossless (ingress port, priority)"
            from "the standard; the others are the QCN-at-inputs paper's" => cp.mode;
        interval: QcnInterval "bytes between samples: shorter under congestion; or `\"fixed\"`: always `sample_base`"
            from "the standard; Fixed is the QCN-at-inputs paper's hardware" => cp.interval;
        gd: PowerOfHalf "gain of a decrease"
            from "IEEE8021-CN-MIB: Gd = 1/128" => rp.gd_log2;
        min_decrease_factor: Ratio "one cut leaves at least this much"
            from "IEEE8021-CN-MIB" => rp.min_decrease_factor;
        fr_threshold: u32 "cycles of fast recovery"
            from "IEEE8021-CN-MIB" => rp.fr_threshold;
        fr_strict: bool "fast recovery ends beyond `fr_threshold` (true) or at it"
            from "pseudo-code: beyond the threshold; false is ns3-rdma's \"at\"" => rp.fr_strict;
        byte_reset: Size "bytes of one cycle of the byte clock"
            from "IEEE8021-CN-MIB" => rp.byte_reset;
        time_reset: Duration "duration of one cycle of the timer"
            from "IEEE8021-CN-MIB" => rp.time_reset;
        rate_ai: DataRate "step of active increase"
            from "IEEE8021-CN-MIB" => rp.rate_ai;
        rate_hai: DataRate "step of hyper-active increase"
            from "IEEE8021-CN-MIB" => rp.rate_hai;
        min_rate: DataRate "the rate never falls below this"
            from "IEEE8021-CN-MIB" => rp.min_rate;
    }
}

impl Scheme for Qcn {
    const NAME: &'static str = "qcn";
    const SUMMARY: &'static str = "QCN (IEEE 802.1Qau): switches sample queues and notify sources";
    const NOTIFIES_BY: Option<&'static str> = Some("CNM");
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    type Keys = Keys;

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::Qcn(self.cp),
            roce: congestion_control::Config::Qcn(self.rp),
            ..SchemeConfig::default()
        }
    }

    /// Senders are paused before QCN has told them anything.
    fn warning(config: &Config) -> Option<(String, &'static str)> {
        let congestion_point::Config::Qcn(params) = &config.scheme.congestion_point else {
            return None;
        };
        let PfcThreshold::Static { xoff_bytes, .. } = config.switch.pfc.threshold else {
            return None;
        };
        let q_eq = u64::from(params.q_eq);
        let acts = config.switch.lossless != 0 && params.mode.at_input();
        (acts && q_eq >= xoff_bytes).then(|| {
            let message = format!(
                "PAUSE acts before QCN: its equilibrium q_eq is {}, XOFF of the same buffer {}",
                size(q_eq),
                size(xoff_bytes)
            );
            (
                message,
                "set q_eq well below pfc.xoff: 60KB with 110KB, for example",
            )
        })
    }
}
