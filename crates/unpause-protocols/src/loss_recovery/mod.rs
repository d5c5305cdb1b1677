//! How what is lost is sent again.
//!
//! A sender and a receiver for each way of repair, with no law inside: how much may be in flight and how
//! fast, [`crate::congestion_control`] says.
//!
//! RoCE's are a kind of mechanism: [`Config`] says which one, [`LossRecovery`] is it at a sender. The packet numbers of a
//! flow ([`numbers`]) are its owner's, so that asking whether there is something to send takes no dispatch.
//!
//! - [`go_back_n`]: by NAKs and timeouts, from the first packet lost on;
//! - [`selective_repeat`]: what is missing alone;
//! - [`llr`]: of a link, frame by frame;
//! - [`newreno`]: TCP's, by duplicate ACKs and timeouts;
//! - [`rto`]: TCP's retransmission timeout;
//! - [`echo`]: what a TCP receiver says of marks.

use crate::units::Time;

pub mod echo;
pub mod go_back_n;
pub mod llr;
mod mechanism;
pub mod newreno;
pub mod numbers;
pub mod rto;
pub mod selective_repeat;

pub use mechanism::{Feedback, Gap, Reassembly, Reception, Repair};

use numbers::{Sender, Sent};

/// Which mechanism RoCE flows use, with its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Config {
    /// Go-back-N; its owner says the timeout.
    #[default]
    GoBackN,
    /// Selective repeat.
    SelectiveRepeat(selective_repeat::Params),
}

/// The mechanism of a flow at its sender.
#[derive(Debug)]
pub enum LossRecovery<'a, B> {
    /// Go-back-N, which keeps nothing beside the flow's numbers.
    GoBackN(go_back_n::GoBack),
    /// Selective repeat, and what it keeps.
    SelectiveRepeat(&'a mut selective_repeat::SelectiveRepeat<B>),
}

macro_rules! dispatch {
    ($recovery:expr, $it:ident => $call:expr) => {
        match $recovery {
            LossRecovery::GoBackN($it) => $call,
            LossRecovery::SelectiveRepeat($it) => $call,
        }
    };
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> LossRecovery<'_, B> {
    /// How long the timer of its flow runs, or ran when it was last set.
    pub fn timeout(&self) -> Time {
        match self {
            Self::GoBackN(it) => it.timeout,
            Self::SelectiveRepeat(it) => it.timeout(),
        }
    }
}

impl<B: AsRef<[u64]> + AsMut<[u64]>> Repair for LossRecovery<'_, B> {
    #[inline(always)]
    fn send(&mut self, flow: &mut Sender, now: Time) -> Sent {
        dispatch!(self, it => it.send(flow, now))
    }
    #[inline(always)]
    fn on_ack(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> u32 {
        dispatch!(self, it => it.on_ack(flow, now, feedback))
    }
    fn on_nak(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> Option<Gap> {
        dispatch!(self, it => it.on_nak(flow, now, feedback))
    }
    fn on_trim(&mut self, flow: &mut Sender, now: Time, before: u32, number: u32) -> Option<Gap> {
        dispatch!(self, it => it.on_trim(flow, now, before, number))
    }
    fn on_timer(&mut self, flow: &mut Sender, now: Time) -> bool {
        dispatch!(self, it => it.on_timer(flow, now))
    }
    #[inline]
    fn open_window(&mut self, flow: &mut Sender, packets: u32) {
        dispatch!(self, it => it.open_window(flow, packets))
    }
    #[inline]
    fn in_flight(&self, flow: &Sender) -> u32 {
        dispatch!(self, it => it.in_flight(flow))
    }
}
