//! The interface of loss recovery for RoCE.

use super::numbers::{Receiver, Sender, Sent};
use crate::units::Time;

/// The content of an acknowledgement or of the report of a gap.
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

/// The result of a gap report at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Packets that are now known to have arrived.
    pub news: u32,
    /// A packet counts as lost, which did not before.
    pub lost: bool,
}

/// The sender's side of one flow. The flow's numbers, [`Sender`], are its owner's, who hands them to every call: the same flow each
/// time. [`Sender::has_packet`] then says whether there is something to send, and [`Sender::is_done`] whether all is acknowledged.
///
/// | call | when | what its owner must ensure | what its owner then does |
/// |---|---|---|---|
/// | [`send`](Self::send) | the flow may send | `has_packet` is true | sends the packet [`Sent::number`] |
/// | [`on_ack`](Self::on_ack) | an ACK has come | [`Feedback::number`] is at most [`Sender::highest`] | reports it to the law |
/// | [`on_nak`](Self::on_nak), [`on_trim`](Self::on_trim) | the report of a gap, or of a trimmed packet, has come | the same | unless it is `None`, reports what has arrived, then the loss, if there is one |
/// | [`on_timer`](Self::on_timer) | [`Sender::next_timer`] is due | nothing else of that instant or later has been reported | if true, reports a timeout to the law |
/// | [`open_window`](Self::open_window) | see below | - | - |
///
/// `open_window` is called once before the first `send`, with `u32::MAX` if nothing else limits the flow: selective repeat has a
/// window of its own. Where a law or the host sets a window, it follows every call that reports something, even if the window is
/// the same: go-back-N counts it from the first packet that is not acknowledged. [`in_flight`](Self::in_flight) is asked before
/// a call that may find a loss, since the law is told how much was in flight then.
///
/// The law is that of [`congestion_control`](crate::congestion_control): packets that have arrived go to
/// [`on_ack`](crate::congestion_control::Mechanism::on_ack), losses to
/// [`on_loss`](crate::congestion_control::Mechanism::on_loss).
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

/// The receiver's side of one flow; the flow's numbers, [`Receiver`], are its owner's, and the same for each call.
///
/// Its owner reports each data packet that arrives with its payload, whether it comes in order, out of order or again, and answers
/// it by the [`Reception`]. [`Receiver::expected`] is then the number that an ACK or NAK carries.
///
/// | answer | what the owner sends |
/// |---|---|
/// | [`InOrder`](Reception::InOrder) | an ACK, if the packet asks for one |
/// | [`Filled`](Reception::Filled), [`Complete`](Reception::Complete) | an ACK |
/// | [`Duplicate`](Reception::Duplicate) | an ACK; HPCC's NIC only for a retry after a timeout |
/// | [`Kept`](Reception::Kept) | a NAK that also names the packet: [`Feedback::kept`] |
/// | [`Gap`](Reception::Gap) | a NAK |
/// | [`KnownGap`](Reception::KnownGap) | nothing |
///
/// After `Complete` the owner may forget the flow, and must then acknowledge by itself what comes again.
pub trait Reassembly {
    /// A packet has arrived.
    fn on_data(&mut self, flow: &mut Receiver, now: Time, number: u32) -> Reception;
}

/// The receiver's answer to a data packet.
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
