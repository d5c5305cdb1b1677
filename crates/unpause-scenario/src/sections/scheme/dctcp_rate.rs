//! DCTCP by rate, over RoCE.

use unpause_protocols::congestion_control::{self, dctcp_rate};
use unpause_protocols::congestion_point::red;
use unpause_protocols::units::Fraction;
use unpause_sim::config::SchemeConfig;

use super::congestion_control::Scheme;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::keys;
use crate::text::setting::PowerOfHalf;
use unpause_text::error::Checked;
use unpause_text::quantity::DataRate;

/// Parameters of its points.
pub(super) struct DctcpRate {
    cp: RedByRate,
    rp: dctcp_rate::Params,
}

impl Default for DctcpRate {
    fn default() -> Self {
        Self {
            cp: RedByRate::from(red::Params {
                kmin: 30_000,
                kmax: 30_000,
                pmax: Fraction::ONE,
            }),
            rp: Default::default(),
        }
    }
}

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for DctcpRate {
        kmin: SizeByRate "no marks up to this queue length; by link rate as with dcqcn"
            from "HPCC's run.py, 10 Gb/s" => cp.kmin;
        kmax: SizeByRate "every packet is marked above this queue length"
            from "HPCC's run.py, 10 Gb/s" => cp.kmax;
        pmax: RatioByRate "marking probability at `kmax`"
            from "HPCC's run.py" => cp.pmax;
        g: PowerOfHalf "gain of the estimate of the share of marks"
            from "DCTCP paper" => rp.g_log2;
        rate_ai: DataRate "step of additive increase, once a round trip"
            from "HPCC's simulator" => rp.rate_ai;
        min_rate: DataRate "the rate never falls below this"
            from "HPCC's simulator" => rp.min_rate;
    }
}

impl Scheme for DctcpRate {
    const NAME: &'static str = "dctcp-rate";
    const SUMMARY: &'static str =
        "DCTCP by rate over RoCE, as in HPCC's simulator: a cut by half the share of marks";
    const MARKS: bool = true;
    const REPLACEABLE: Option<&'static [&'static str]> = Some(&["kmin", "kmax", "pmax"]);
    type Keys = Keys;

    fn check(&self, keys: &Keys) -> Checked<()> {
        self.cp.check(&RedKeys {
            kmin: &keys.kmin,
            kmax: &keys.kmax,
            pmax: &keys.pmax,
        })
    }

    fn config(self) -> SchemeConfig {
        self.cp.configure(SchemeConfig {
            roce: congestion_control::Config::DctcpRate(self.rp),
            ..SchemeConfig::default()
        })
    }
}
