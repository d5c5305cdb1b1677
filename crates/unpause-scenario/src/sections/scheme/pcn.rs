//! PCN (NSDI 2020).

use unpause_protocols::congestion_point::{self, np_ecn};
use unpause_protocols::{congestion_control, notification_point};
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use crate::sections::marking::np_ecn_threshold;
use crate::text::keys::{keys, ordered};
use crate::text::setting::{MarkBasis, Percent};
use unpause_text::error::Checked;
use unpause_text::quantity::{DataRate, Duration, Ratio, Size};

/// Parameters of its points.
#[derive(Default)]
pub(super) struct Pcn {
    cp: np_ecn::Params,
    np: notification_point::pcn::Params,
    rp: congestion_control::pcn::Params,
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Pcn {
        period: Duration "CNP period T"
            from "the paper's T; its guideline is the largest RTT of the network" => np.period;
        congested_above: Percent "a period with more than this share of marked packets is congested"
            from "Fig. 8, strictly more" => np.congested_above_percent;
        rec_rate_unit: DataRate "unit of the receive rate in a CNP"
            from "the paper's RecRate field" => np.rec_rate_unit, rp.rec_rate_unit;
        w_min: Ratio "discount in a decrease, and weight of the first increase after it"
            from "the paper's Fig. 10 example; its guideline is 0.1 / flows sharing the bottleneck" => rp.w_min;
        w_max: Ratio "largest weight of an increase"
            from "the paper" => rp.w_max;
        min_rate: DataRate "the rate never falls below this"
            from "ours: the least rate a CNP can name" => rp.min_rate;
        mark_basis: MarkBasis "queue length that decides a mark; or `\"enqueue-before\"`"
            from "the paper is silent; ns3-rdma evaluates ECN after removal" => cp.mark_basis;
        mark_above: Size "a packet that leaves no more than this behind is not marked"
            from "the paper's ECN threshold, zero; ns3-rdma does not count the first 1,030 B of a queue, one of its frames"
            => cp.mark_above;
    }
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
