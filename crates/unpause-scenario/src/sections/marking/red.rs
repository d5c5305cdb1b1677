//! RED on the instantaneous queue.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::red::Params as Red;
use unpause_text::error::Checked;
use unpause_text::quantity::{Ratio, Size};

use super::marker::Marker;
use crate::text::keys::{self, Param, ordered};

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Red)]
pub(super) struct Keys {
    /// no marks up to this queue length
    #[key(from = "DCQCN paper, 40 Gb/s")]
    kmin: Param<Size>,
    /// every packet is marked above this queue length
    #[key(from = "DCQCN paper, 40 Gb/s")]
    kmax: Param<Size>,
    /// marking probability at `kmax`
    #[key(from = "DCQCN paper")]
    pmax: Param<Ratio>,
}

impl Marker for Red {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str =
        "RED on the instantaneous queue, at dequeue, as DCQCN's switches mark";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        let (kmin, kmax) = (("kmin", &keys.kmin), ("kmax", &keys.kmax));
        ordered(kmin, &self.kmin, kmax, &self.kmax)
    }

    fn config(self) -> Config {
        Config::Red(self)
    }
}
