//! DCTCP by rate, over RoCE.

use unpause_protocols::congestion_control::{self, dctcp_rate};
use unpause_protocols::congestion_point::red;
use unpause_protocols::units::Fraction;
use unpause_sim::config::SchemeConfig;
use unpause_text::error::Checked;
use unpause_text::quantity::DataRate;

use super::congestion_control::Scheme;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::{self, Param};
use crate::text::setting::PowerOfHalf;

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

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = DctcpRate)]
pub(super) struct Keys {
    /// no marks up to this queue length; by link rate as with dcqcn
    #[key(sets = cp.kmin, from = "HPCC's run.py, 10 Gb/s")]
    kmin: Param<SizeByRate>,
    /// every packet is marked above this queue length
    #[key(sets = cp.kmax, from = "HPCC's run.py, 10 Gb/s")]
    kmax: Param<SizeByRate>,
    /// marking probability at `kmax`
    #[key(sets = cp.pmax, from = "HPCC's run.py")]
    pmax: Param<RatioByRate>,
    /// gain of the estimate of the share of marks
    #[key(sets = rp.g_log2, from = "DCTCP paper")]
    g: Param<PowerOfHalf>,
    /// step of additive increase, once a round trip
    #[key(sets = rp.rate_ai, from = "HPCC's simulator")]
    rate_ai: Param<DataRate>,
    /// the rate never falls below this
    #[key(sets = rp.min_rate, from = "HPCC's simulator")]
    min_rate: Param<DataRate>,
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
