//! NSCC, Ultra Ethernet's window at senders.

use unpause_protocols::congestion_control::{self, nscc_sender};
use unpause_protocols::congestion_point::red;
use unpause_protocols::units::Fraction;
use unpause_sim::config::{Credits, SchemeConfig};

use super::congestion_control::Scheme;
use super::red_by_rate::{RedByRate, RedKeys};
use crate::text::by_rate::{RatioByRate, SizeByRate};
use crate::text::keys::keys;
use unpause_text::error::Checked;
use unpause_text::quantity::Duration;

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

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Nscc {
        base_rtt: Duration = ["that of each flow's path, including the transmission time of packets at every hop"]
            "round trip through the empty network, from which the constants are derived" => rp.base_rtt;
        target_delay: Duration = ["3/4 of `base_rtt` if switches trim, otherwise `base_rtt`"]
            "target queueing delay" from "uet-htsim" => rp.target_delay;
        gate: u32 "quick adapt acts if less than the largest window / 2^gate has arrived in a round trip with a loss"
            from "uet-htsim" => rp.gate;
        credits: bool "receivers also grant credits, as with `rccc`; the window does not shrink for packets that were trimmed at the last hop"
            from "ours: one or both" => credits;
        kmin: SizeByRate "no marks up to this queue length; by link rate as with dcqcn"
            from "uet-htsim: 0.2 BDP, 100 Gb/s and 14 us" => cp.kmin;
        kmax: SizeByRate "every packet is marked above this queue length"
            from "uet-htsim: 0.8 BDP" => cp.kmax;
        pmax: RatioByRate "marking probability at `kmax`"
            from "uet-htsim" => cp.pmax;
    }
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
