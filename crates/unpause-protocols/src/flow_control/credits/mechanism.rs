//! The interface of link credits, at both ends of a link.

use crate::units::{Rate, Time};

/// Virtual channels (VCs) of a link, at most; they are numbered from 0.
pub const CHANNELS: usize = 8;

/// Bytes of an update on the wire. It is inserted into the frame in transmission, so it waits for nothing.
pub const UPDATE_BYTES: u64 = 8;

/// One end of a link: of each VC, what it may send, and what it holds of what the other end has sent.
///
/// Each end has one state, for what it sends and for what it receives. For a packet from end A to end B, their owner calls:
///
/// 1. At A [`may_send`](Self::may_send). As long as it is false, the packet waits, and those behind it in its VC.
/// 2. At A [`on_sent`](Self::on_sent), when the packet starts.
/// 3. At B [`on_packet`](Self::on_packet), when it has arrived and is stored. If the link gives it up instead, at A
///    [`on_lost`](Self::on_lost).
/// 4. At B [`on_freed`](Self::on_freed), when it leaves the buffer. Then [`next_timer`](Self::next_timer) says when B has an
///    update to send, which may be now.
/// 5. At B [`on_timer`](Self::on_timer) at that time, and [`update`](Self::update) for each VC that it names. The owner carries
///    these numbers to A.
/// 6. At A [`on_update`](Self::on_update) for each of them: `may_send` may be true now. If the update is lost instead, at B
///    [`on_update_lost`](Self::on_update_lost), and the next timer repeats it.
///
/// The owner sets one timer for each end, and asks `next_timer` again only after that has run out: while an update waits for its
/// time, `on_freed` must not bring that forward. `bytes` of a packet are the same in all calls.
pub trait Mechanism {
    /// True if a packet of this many bytes may start; with `before`, once another one of that many bytes has.
    fn may_send(&self, vc: u8, before: Option<u32>, bytes: u32) -> bool;
    /// A packet starts that [may](Self::may_send).
    fn on_sent(&mut self, vc: u8, bytes: u32);
    /// A packet that has started will never arrive, which the link knows.
    fn on_lost(&mut self, vc: u8, bytes: u32);
    /// A packet has come.
    fn on_packet(&mut self, vc: u8, bytes: u32);
    /// A packet that had come has left the buffer.
    fn on_freed(&mut self, now: Time, vc: u8, bytes: u32);
    /// When an update is to start; [`Time::NEVER`] if there is nothing to say.
    fn next_timer(&self) -> Time;
    /// The VCs of which an update speaks that starts now, a bit for each; none before it is time.
    fn on_timer(&mut self, now: Time) -> u32;
    /// The value of that update for a VC.
    fn update(&mut self, vc: u8) -> u32;
    /// The update that said so is lost, which the link knows.
    fn on_update_lost(&mut self, now: Time, vc: u8, said: u32);
    /// An update has come that says so.
    fn on_update(&mut self, vc: u8, says: u32);
}

/// Properties that follow from the parameters alone, before there is a link.
pub trait Settings {
    /// Bytes of the receiver's buffer that a packet takes.
    fn taken(&self, bytes: u32) -> u64;
    /// Bytes that count of a buffer of this many.
    fn counted(&self, bytes: u64) -> u64;
    /// Bytes that a VC's buffer needs so that one VC alone fills the link, if the receiver forwards at once. Packets have up to
    /// `largest_bytes` on a cable of this `propagation` delay.
    fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64;
}
