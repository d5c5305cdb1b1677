//! QCN (IEEE 802.1Qau).

use unpause_protocols::congestion_point::qcn::Count;
use unpause_protocols::{congestion_control, congestion_point};
use unpause_sim::config::{Config, PfcThreshold, SchemeConfig};
use unpause_text::count::size;
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use super::congestion_control::Scheme;
use crate::text::keys::{self, Param};
use crate::text::setting::{PowerOfHalf, QcnCount, QcnInterval, QcnMode, Quantisation};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Qcn {
    cp: congestion_point::qcn::Params,
    rp: congestion_control::qcn::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Qcn)]
pub(super) struct Keys {
    /// equilibrium queue length
    #[key(sets = cp.q_eq, from = "IEEE8021-CN-MIB")]
    q_eq: Param<Size>,
    /// weight w of the queue's growth
    #[key(sets = cp.weight, from = "IEEE8021-CN-MIB (log2 = 1)")]
    weight: Param<u8>,
    /// bytes between samples of an uncongested queue
    #[key(sets = cp.sample_base, from = "IEEE8021-CN-MIB")]
    sample_base: Param<Size>,
    /// quantisation of the feedback; or `"top-bits"`
    #[key(sets = cp.quantisation, from = "the standard; TopBits is found in implementations")]
    quantisation: Param<Quantisation>,
    /// the buffer sampled and the flow notified: the output queue and the flow of the sampled packet (802.1Qau), or `"input-arrival"`, `"input-occupancy-det"` (the flow that holds most of the input buffer), `"input-occupancy-rand"` (drawn in proportion to what each flow holds). In a shared-buffer switch the input buffer is what PFC counts for a lossless (ingress port, priority)
    #[key(sets = cp.mode, from = "the standard; the others are the QCN-at-inputs paper's")]
    mode: Param<QcnMode>,
    /// bytes between samples: shorter under congestion; or `"fixed"`: always `sample_base`
    #[key(sets = cp.interval, from = "the standard; Fixed is the QCN-at-inputs paper's hardware")]
    interval: Param<QcnInterval>,
    /// packets whose bytes count from one sample to the next: those that join the queue (802.1Qau), or `"departures"`: those that leave it. Samples of a busy link are then a fixed time apart, however fast packets arrive. Only with `mode = "output-arrival"`
    #[key(sets = cp.count, from = "the standard; Departures is what \"20 us (time of transmitting 100 packets)\" in the PCN paper, section 3.2, may mean")]
    count: Param<QcnCount>,
    /// gain of a decrease
    #[key(sets = rp.gd_log2, from = "IEEE8021-CN-MIB: Gd = 1/128")]
    gd: Param<PowerOfHalf>,
    /// one cut leaves at least this much
    #[key(sets = rp.min_decrease_factor, from = "IEEE8021-CN-MIB")]
    min_decrease_factor: Param<Ratio>,
    /// cycles of fast recovery
    #[key(sets = rp.fr_threshold, from = "IEEE8021-CN-MIB")]
    fr_threshold: Param<u32>,
    /// fast recovery ends beyond `fr_threshold` (true) or at it
    #[key(sets = rp.fr_strict, from = "pseudo-code: beyond the threshold; false is ns3-rdma's \"at\"")]
    fr_strict: Param<bool>,
    /// bytes of one cycle of the byte clock
    #[key(sets = rp.byte_reset, from = "IEEE8021-CN-MIB")]
    byte_reset: Param<Size>,
    /// duration of one cycle of the timer
    #[key(sets = rp.time_reset, from = "IEEE8021-CN-MIB")]
    time_reset: Param<Duration>,
    /// step of active increase
    #[key(sets = rp.rate_ai, from = "IEEE8021-CN-MIB")]
    rate_ai: Param<DataRate>,
    /// step of hyper-active increase
    #[key(sets = rp.rate_hai, from = "IEEE8021-CN-MIB")]
    rate_hai: Param<DataRate>,
    /// the rate never falls below this
    #[key(sets = rp.min_rate, from = "IEEE8021-CN-MIB")]
    min_rate: Param<DataRate>,
}

impl Scheme for Qcn {
    const NAME: &'static str = "qcn";
    const SUMMARY: &'static str = "QCN (IEEE 802.1Qau): switches sample queues and notify sources";
    const NOTIFIES_BY: Option<&'static str> = Some("CNM");
    const REPLACEABLE: Option<&'static [&'static str]> = None;
    type Keys = Keys;

    fn check(&self, keys: &Keys) -> Checked<()> {
        let departures = self.cp.count == Count::Departures;
        if departures && self.cp.mode.at_input() {
            let place = keys.count.peek().map(|count| count.span());
            return Problem::new("`count` and `mode` contradict each other")
                .at(
                    place.unwrap_or_default(),
                    "departures are counted at the output queue",
                )
                .help("at inputs, arrivals count: remove `count`, or set mode = \"output-arrival\"")
                .err();
        }
        Ok(())
    }

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
