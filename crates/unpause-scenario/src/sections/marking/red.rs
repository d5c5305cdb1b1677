//! RED on the instantaneous queue.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::red::Params as Red;

use super::marker::Marker;
use crate::text::error::Checked;
use crate::text::quantity::{Ratio, Size};
use crate::text::section::{ordered, section};

section!(Keys for Red {
    kmin: Size "no marks up to this queue length" => kmin;
    kmax: Size "every packet is marked above this queue length" => kmax;
    pmax: Ratio "marking probability at `kmax`" => pmax;
});

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
