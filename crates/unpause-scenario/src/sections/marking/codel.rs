//! CoDel with marks in place of drops.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::codel::Params as Codel;

use super::marker::Marker;
use crate::text::keys::{keys, ordered};
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Size};

keys! {
    #[derive(Default)]
    pub(super) Keys at "scheme" for Codel {
        target: Duration "waiting time that a queue may keep permanently"
            from "ECN♯ paper: testbed, simulation" => target;
        interval: Duration "how long the waiting time may exceed the target"
            from "ECN♯ paper: testbed, simulation" => interval;
        spared: Size "a packet that leaves less behind counts as below the target"
            from "the authors' code: one MTU" => spared_bytes;
        clock_shift: u8 "times are in ticks of 2 to the power of this ns"
            from "Linux and ns-3: a tick is 1024 ns" => clock_shift;
    }
}

impl Marker for Codel {
    const NAME: &'static str = "codel";
    const SUMMARY: &'static str = "CoDel (RFC 8289) with marks in place of drops, at dequeue";
    type Keys = Keys;

    fn check(&mut self, keys: &Keys) -> Checked<()> {
        let (target, interval) = (("target", &keys.target), ("interval", &keys.interval));
        ordered(target, &self.target, interval, &self.interval)
    }

    fn config(self) -> Config {
        Config::Codel(self)
    }
}
