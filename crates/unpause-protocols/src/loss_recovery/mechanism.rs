//! What every way to repair losses of RoCE is: what it is told, and what it answers.

use super::numbers::{Receiver, Sender, Sent};
use crate::units::Time;

/// What an acknowledgement, or the report of a gap, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// All packets before this one have arrived.
    pub number: u32,
    /// The packet that it answers, if that came out of order and is kept.
    pub kept: Option<u32>,
}

impl Feedback {
    /// All packets before `number` have arrived.
    pub const fn cumulative(number: u32) -> Self {
        Self { number, kept: None }
    }
}

/// What a sender learns of the report of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Packets that are now known to have arrived.
    pub news: u32,
    /// A packet counts as lost, which did not before.
    pub lost: bool,
}

/// The sender's side. The flow's numbers are its owner's, who hands them to every call: the same flow each time. Call
/// [`Repair::send`] only while [`Sender::has_packet`], and [`Repair::on_timer`] before anything else that happens at the
/// instant [`Sender::next_timer`] or later.
pub trait Repair {
    /// Sends the packet [`Sender::next`].
    fn send(&mut self, flow: &mut Sender, now: Time) -> Sent;
    /// An acknowledgement has come; answers how many packets are now known to have arrived.
    fn on_ack(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> u32;
    /// The report of a gap has come; `None` if it says nothing new, or nothing that can be.
    fn on_nak(&mut self, flow: &mut Sender, now: Time, feedback: Feedback) -> Option<Gap>;
    /// The receiver has all packets before number `before`, and has got the header of packet `number`, which a switch had
    /// trimmed; `None` if that says nothing new.
    fn on_trim(&mut self, flow: &mut Sender, now: Time, before: u32, number: u32) -> Option<Gap>;
    /// Handles a timeout that is due at or before `now`; true if packets count as lost.
    fn on_timer(&mut self, flow: &mut Sender, now: Time) -> bool;
    /// So many packets may be in flight now.
    fn open_window(&mut self, flow: &mut Sender, packets: u32);
    /// Packets sent, and neither known to have arrived nor given up as lost.
    fn in_flight(&self, flow: &Sender) -> u32;
}

/// The receiver's side; the flow's numbers are its owner's.
pub trait Reassembly {
    /// A packet has arrived.
    fn on_data(&mut self, flow: &mut Receiver, now: Time, number: u32) -> Reception;
}

/// What the receiver makes of a data packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The one expected.
    InOrder,
    /// The one expected, and after it others that had come before.
    Filled,
    /// With it the flow is complete.
    Complete,
    /// Had it already.
    Duplicate,
    /// A gap, to be reported; the packet is not taken.
    Gap,
    /// A gap that has been reported; the packet is not taken.
    KnownGap,
    /// Packets before it are missing, which is to be reported; it is kept.
    Kept,
}
