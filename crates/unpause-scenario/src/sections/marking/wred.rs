//! WRED of switches: marks or drops.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::wred::Params as Wred;

use super::marker::Marker;
use crate::text::keys::{keys, ordered};
use unpause_text::error::Checked;
use unpause_text::quantity::{Ratio, Size};

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Wred {
        kmin: Size "packets that find a queue of at most this length pass"
            from "SONiC's profile AZURE_LOSSLESS" => kmin;
        kmax: Size "every packet that finds more is marked, or dropped if it is not ECN-capable"
            from "SONiC's profile AZURE_LOSSLESS" => kmax;
        pmax: Ratio "probability at `kmax`"
            from "SONiC's profile AZURE_LOSSLESS" => pmax;
    }
}

impl Marker for Wred {
    const NAME: &'static str = "wred";
    const SUMMARY: &'static str =
        "WRED as switches apply it, at enqueue: ECN-capable packets are marked, others dropped";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        let (kmin, kmax) = (("kmin", &keys.kmin), ("kmax", &keys.kmax));
        ordered(kmin, &self.kmin, kmax, &self.kmax)
    }

    fn config(self) -> Config {
        Config::Wred(self)
    }
}
