//! QCN (IEEE 802.1Qau).

use unpause_protocols::{congestion_control, congestion_point};
use unpause_sim::config::{Config, PfcThreshold, SchemeConfig};

use super::congestion_control::Scheme;
use crate::text::quantity::{DataRate, Duration, Ratio, Size};
use crate::text::section::section;
use crate::text::setting::size;
use crate::text::setting::{PowerOfHalf, QcnInterval, QcnMode, Quantisation};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Qcn {
    cp: congestion_point::qcn::Params,
    rp: congestion_control::qcn::Params,
}

section!(Keys for Qcn {
    q_eq: Size "equilibrium queue length" => cp.q_eq;
    weight: u8 "weight w of the queue's growth" => cp.weight;
    sample_base: Size "bytes between samples of an uncongested queue" => cp.sample_base;
    quantisation: Quantisation "of the feedback; or `\"top-bits\"`" => cp.quantisation;
    mode: QcnMode "the buffer sampled and the flow notified: the output queue and the flow of the sampled packet \
         (802.1Qau), or `\"input-arrival\"`, `\"input-occupancy-det\"` (who holds most of the input \
         buffer), `\"input-occupancy-rand\"` (drawn by what each holds). In a shared-buffer switch the \
         input buffer is what PFC counts for a lossless (ingress port, priority)"
        => cp.mode;
    interval: QcnInterval "bytes between samples: shorter under congestion; or `\"fixed\"`: always `sample_base`" => cp.interval;
    gd: PowerOfHalf "gain of a decrease" => rp.gd_log2;
    min_decrease_factor: Ratio "one cut leaves at least this much" => rp.min_decrease_factor;
    fr_threshold: u32 "cycles of fast recovery" => rp.fr_threshold;
    fr_strict: bool "fast recovery ends beyond `fr_threshold` (true) or at it" => rp.fr_strict;
    byte_reset: Size "bytes of one cycle of the byte clock" => rp.byte_reset;
    time_reset: Duration "duration of one cycle of the timer" => rp.time_reset;
    rate_ai: DataRate "step of active increase" => rp.rate_ai;
    rate_hai: DataRate "step of hyper-active increase" => rp.rate_hai;
    min_rate: DataRate "the rate never falls below this" => rp.min_rate;
});

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
