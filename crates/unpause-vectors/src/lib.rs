//! Test vectors of mechanisms, for those who build them in a NIC, a switch or another program.
//!
//! A mechanism of `unpause-protocols` is told events, and answers. [`cases_of`] makes cases of them, always
//! the same: thresholds and one step beside them, ties of timers and events, saturation, clocks that wrap, and
//! random mixtures. [`write()`] writes them as lines of JSON or of words, [`check()`] tells the same events to
//! another program and finds the first answer that differs. The format is described in `docs/vectors.md`.

mod cases;
mod check;
mod event;
mod lines;
mod machine;
mod named;
mod script;

pub use check::{Difference, Failure, Passed, check};
pub use event::{Answer, Create, Event, Hop, Message};
pub use lines::{Form, write};
pub use named::{Mechanism, Parameter, find, mechanisms};
pub use script::{Case, Line};

/// The cases of a mechanism, always the same for the same parameters.
pub fn cases_of(mechanism: &Mechanism) -> Vec<Case> {
    cases::of(&mechanism.config)
}
