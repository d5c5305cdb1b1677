//! RCCC, Ultra Ethernet's credits of receivers.

use unpause_protocols::congestion_point::red;
use unpause_protocols::units::Fraction;
use unpause_sim::config::{Credits, SchemeConfig};
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

use super::congestion_control::Scheme;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::{self, Param};

/// Parameters of its points.
pub(super) struct Rccc {
    cp: RedByRate,
    credits: Credits,
}

impl Default for Rccc {
    /// A fifth and four fifths of what 100 Gb/s carry in 14 us.
    fn default() -> Self {
        Self {
            cp: RedByRate::from(red::Params {
                kmin: 35_000,
                kmax: 140_000,
                pmax: Fraction::ONE,
            }),
            credits: Credits::default(),
        }
    }
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Rccc)]
pub(super) struct Keys {
    /// round trip through the empty network: a flow has credit for at most what its link carries in 1.5 of it, and begins with that much
    #[key(unset = "that of each flow's path, including the transmission time of packets at every hop", sets = credits.base_rtt)]
    base_rtt: Param<Duration>,
    /// receivers grant less while packets are marked or trimmed before the last hop
    #[key(unset = "true if some switch has less capacity toward the core of the fabric than toward hosts", sets = credits.oversubscribed, from = "uet-htsim")]
    oversubscribed: Param<bool>,
    /// no marks up to this queue length, for sprayed flows; by link rate as with dcqcn; no marks at the last hop
    #[key(sets = cp.kmin, from = "uet-htsim: 0.2 BDP, 100 Gb/s and 14 us")]
    kmin: Param<SizeByRate>,
    /// every packet is marked above this queue length
    #[key(sets = cp.kmax, from = "uet-htsim: 0.8 BDP")]
    kmax: Param<SizeByRate>,
    /// marking probability at `kmax`
    #[key(sets = cp.pmax, from = "uet-htsim")]
    pmax: Param<RatioByRate>,
}

impl Scheme for Rccc {
    const NAME: &'static str = "rccc";
    const SUMMARY: &'static str =
        "RCCC, Ultra Ethernet's receiver credits, paced at the rate of the receiver's link";
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
            credits: Some(self.credits),
            ..SchemeConfig::default()
        })
    }
}
