//! CoDel with marks in place of drops.

use unpause_protocols::congestion_point::Config;
pub(super) use unpause_protocols::congestion_point::codel::Params as Codel;
use unpause_text::error::Checked;
use unpause_text::quantity::{Duration, Size};

use super::marker::Marker;
use crate::text::keys::{self, Param, ordered};

/// Its keys.
#[derive(keys::Keys)]
#[keys("scheme", sets = Codel)]
pub(super) struct Keys {
    /// waiting time that a queue may keep permanently
    #[key(from = "ECN♯ paper: testbed, simulation")]
    target: Param<Duration>,
    /// how long the waiting time may exceed the target
    #[key(from = "ECN♯ paper: testbed, simulation")]
    interval: Param<Duration>,
    /// a packet that leaves less behind counts as below the target
    #[key(sets = spared_bytes, from = "the authors' code: one MTU")]
    spared: Param<Size>,
    /// times are in ticks of 2 to the power of this ns
    #[key(from = "Linux and ns-3: a tick is 1024 ns")]
    clock_shift: Param<u8>,
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
