//! WRED of switches: marks or drops.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::wred::Params as Wred;
use unpause_text::error::Checked;
use unpause_text::quantity::{Ratio, Size};

use super::marker::Marker;
use crate::text::keys::{self, Param, ordered};

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Wred)]
pub(super) struct Keys {
    /// packets that find a queue of at most this length pass
    #[key(from = "SONiC's profile AZURE_LOSSLESS")]
    kmin: Param<Size>,
    /// every packet that finds more is marked, or dropped if it is not ECN-capable
    #[key(from = "SONiC's profile AZURE_LOSSLESS")]
    kmax: Param<Size>,
    /// probability at `kmax`
    #[key(from = "SONiC's profile AZURE_LOSSLESS")]
    pmax: Param<Ratio>,
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
