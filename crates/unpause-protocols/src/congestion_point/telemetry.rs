//! In-band telemetry: every packet that asks for it learns of the port that it leaves by.
//!
//! # What it does
//!
//! Answers every departure by [`Verdict::Record`]; what is recorded is the owner's: time, bytes sent, queue,
//! rate. Marks nothing.
//!
//! # Source
//!
//! Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, 3.1.
//!
//! # Parameters
//!
//! None.
//!
//! # Departures
//!
//! None known.

use rand_core::Rng;

use super::{Mechanism, Packet, Queue, Verdict};
use crate::state_visitor::Show;
use crate::units::Time;

/// Parameters of telemetry: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params {}

/// State of telemetry: none.
#[derive(Clone, Debug, Show)]
#[show(refuse)]
pub struct Telemetry;

impl Telemetry {
    /// Records everything.
    pub fn new<R: Rng>(_params: &Params, _rng: &mut R) -> Self {
        Self
    }
}

impl Mechanism for Telemetry {
    #[inline]
    fn on_dequeue<R: Rng>(&mut self, _: Time, _: &Packet, _: Queue, _: &mut R) -> Verdict {
        Verdict::Record
    }
}
