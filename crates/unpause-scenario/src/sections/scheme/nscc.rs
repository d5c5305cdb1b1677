//! NSCC, Ultra Ethernet's window at senders.

use unpause_protocols::congestion_control::{self, nscc_sender};
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
pub(super) struct Nscc {
    cp: RedByRate,
    rp: nscc_sender::Params,
    credits: bool,
}

impl Default for Nscc {
    /// A fifth and four fifths of what 100 Gb/s carry in 14 us.
    fn default() -> Self {
        Self {
            cp: RedByRate::from(red::Params {
                kmin: 35_000,
                kmax: 140_000,
                pmax: Fraction::ONE,
            }),
            rp: Default::default(),
            credits: false,
        }
    }
}

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Nscc)]
pub(super) struct Keys {
    /// round trip through the empty network, from which the constants are derived
    #[key(unset = "that of each flow's path, including the transmission time of packets at every hop", sets = rp.base_rtt)]
    base_rtt: Param<Duration>,
    /// target queueing delay
    #[key(unset = "3/4 of `base_rtt` if switches trim, otherwise `base_rtt`", sets = rp.target_delay, from = "uet-htsim")]
    target_delay: Param<Duration>,
    /// quick adapt acts if less than the largest window / 2^gate has arrived in a round trip with a loss
    #[key(sets = rp.gate, from = "uet-htsim")]
    gate: Param<u32>,
    /// receivers also grant credits, as with `rccc`; the window does not shrink for packets that were trimmed at the last hop
    #[key(from = "ours: one or both")]
    credits: Param<bool>,
    /// no marks up to this queue length; by link rate as with dcqcn
    #[key(sets = cp.kmin, from = "uet-htsim: 0.2 BDP, 100 Gb/s and 14 us")]
    kmin: Param<SizeByRate>,
    /// every packet is marked above this queue length
    #[key(sets = cp.kmax, from = "uet-htsim: 0.8 BDP")]
    kmax: Param<SizeByRate>,
    /// marking probability at `kmax`
    #[key(sets = cp.pmax, from = "uet-htsim")]
    pmax: Param<RatioByRate>,
}

impl Scheme for Nscc {
    const NAME: &'static str = "nscc";
    const SUMMARY: &'static str = "NSCC, Ultra Ethernet's window by delay and marks, for sprayed packets and switches that trim";
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
        let base_rtt = self.rp.base_rtt;
        // Windows answer to marks and trims: pacers keep their rate.
        let credits = self.credits.then_some(Credits {
            base_rtt,
            oversubscribed: Some(false),
        });
        let law = nscc_sender::Params {
            credited: self.credits,
            ..self.rp
        };
        self.cp.configure(SchemeConfig {
            roce: congestion_control::Config::Nscc(law),
            credits,
            ..SchemeConfig::default()
        })
    }
}
