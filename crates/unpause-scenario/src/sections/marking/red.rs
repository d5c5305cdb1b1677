//! RED on the instantaneous queue.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::red::Params as Red;

use super::marker::Marker;
use crate::text::keys::{keys, ordered};
use unpause_text::error::Checked;
use unpause_text::quantity::{Ratio, Size};

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Red {
        kmin: Size "no marks up to this queue length"
            from "DCQCN paper, 40 Gb/s" => kmin;
        kmax: Size "every packet is marked above this queue length"
            from "DCQCN paper, 40 Gb/s" => kmax;
        pmax: Ratio "marking probability at `kmax`"
            from "DCQCN paper" => pmax;
    }
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
