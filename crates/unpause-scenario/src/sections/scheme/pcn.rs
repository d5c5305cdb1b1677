//! PCN (NSDI 2020).

use unpause_protocols::congestion_point::{self, np_ecn};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::SchemeConfig;
use unpause_text::error::Checked;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

use super::congestion_control::Scheme;
use crate::sections::marking::np_ecn_threshold;
use crate::text::keys::{self, Param, ordered};
use crate::text::setting::{MarkBasis, Percent};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Pcn {
    cp: np_ecn::Params,
    np: notification_point::pcn::Params,
    rp: congestion_control::pcn::Params,
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Pcn)]
pub(super) struct Keys {
    /// CNP period T
    #[key(sets = np.period, from = "the paper's T; its guideline is the largest RTT of the network")]
    period: Param<Duration>,
    /// a period with more than this share of marked packets is congested
    #[key(sets = np.congested_above_percent, from = "Fig. 8, strictly more")]
    congested_above: Param<Percent>,
    /// unit of the receive rate in a CNP
    #[key(sets = np.rec_rate_unit, sets = rp.rec_rate_unit, from = "the paper's RecRate field")]
    rec_rate_unit: Param<DataRate>,
    /// discount in a decrease, and weight of the first increase after it
    #[key(sets = rp.w_min, from = "the paper's Fig. 10 example; its guideline is 0.1 / flows sharing the bottleneck")]
    w_min: Param<Ratio>,
    /// largest weight of an increase
    #[key(sets = rp.w_max, from = "the paper")]
    w_max: Param<Ratio>,
    /// the rate never falls below this
    #[key(sets = rp.min_rate, from = "ours: the least rate a CNP can name")]
    min_rate: Param<DataRate>,
    /// queue length that decides a mark; or `"enqueue-before"`
    #[key(sets = cp.mark_basis, from = "the paper is silent; ns3-rdma evaluates ECN after removal")]
    mark_basis: Param<MarkBasis>,
    /// a packet that leaves no more than this behind is not marked
    #[key(sets = cp.mark_above, from = "the paper's ECN threshold, zero; ns3-rdma does not count the first 1,030 B of a queue, one of its frames")]
    mark_above: Param<Size>,
}

impl Scheme for Pcn {
    const NAME: &'static str = "pcn";
    const SUMMARY: &'static str =
        "PCN (NSDI 2020): marks that forgive PAUSE, receiver-driven rates";
    const MARKS: bool = true;
    const NOTIFIES_BY: Option<&'static str> = Some("CNP");
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["mark_basis", "mark_above"]);
    type Keys = Keys;

    fn check(&self, keys: &Keys) -> Checked<()> {
        let (w_min, w_max) = (("w_min", &keys.w_min), ("w_max", &keys.w_max));
        ordered(w_min, &self.rp.w_min, w_max, &self.rp.w_max)?;
        np_ecn_threshold(&self.cp, keys.mark_above.peek())
    }

    fn config(self) -> SchemeConfig {
        SchemeConfig {
            congestion_point: congestion_point::Config::NpEcn(self.cp),
            notification_point: notification_point::Config::Pcn(self.np),
            roce: congestion_control::Config::Pcn(self.rp),
            ..SchemeConfig::default()
        }
    }
}
