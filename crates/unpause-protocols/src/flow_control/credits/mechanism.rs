//! The interface of link credits, at both ends of a link.

use crate::units::{Rate, Time};

/// Virtual channels (VCs) of a link, at most; they are numbered from 0.
pub const CHANNELS: usize = 8;

/// Bytes of an update on the wire. It is inserted into the frame in transmission, so it waits for nothing.
pub const UPDATE_BYTES: u64 = 8;

/// One end of a link: for each VC, what it may send, and what it holds of the data that the other end sent.
///
/// Each end has one state, for what it sends and for what it receives. For a packet from end A to end B, their owner calls:
///
/// 1. At A [`may_send`](Self::may_send). As long as it is false, the packet waits, and those behind it in its VC.
/// 2. At A [`on_sent`](Self::on_sent), when the packet starts.
/// 3. At B [`on_packet`](Self::on_packet), when it has arrived and is stored. If the link gives it up instead, at A
///    [`on_lost`](Self::on_lost).
/// 4. At B [`on_freed`](Self::on_freed), when it leaves the buffer. Then [`next_timer`](Self::next_timer) is the time at which B
///    has an update to send, which may be now.
/// 5. At B [`on_timer`](Self::on_timer) at that time, and [`update`](Self::update) for each VC that it returns. The owner carries
///    these numbers to A.
/// 6. At A [`on_update`](Self::on_update) for each of them: `may_send` may be true now. If the update is lost instead, at B
///    [`on_update_lost`](Self::on_update_lost), and the next timer repeats it.
///
/// No credit may be lost, and none created, in any order of these calls (`tests/properties/credits.rs` checks it). The owner sets
/// one timer for each end, and asks `next_timer` again only after it has expired: while an update waits for its time,
/// `on_freed` must not make it earlier. `bytes` of a packet are the same in all calls.
pub trait Mechanism {
    /// Whether a packet of this many bytes may start; with `before`, after another one of that many bytes.
    fn may_send(&self, vc: u8, before: Option<u32>, bytes: u32) -> bool;
    /// A packet starts, which [`may_send`](Self::may_send) allowed.
    fn on_sent(&mut self, vc: u8, bytes: u32);
    /// The link has given up a packet that had started.
    fn on_lost(&mut self, vc: u8, bytes: u32);
    /// A packet has arrived.
    fn on_packet(&mut self, vc: u8, bytes: u32);
    /// A packet has left the buffer.
    fn on_freed(&mut self, now: Time, vc: u8, bytes: u32);
    /// When the next update is to start; [`Time::NEVER`] if there is none.
    fn next_timer(&self) -> Time;
    /// The VCs in the update that starts now, a bit for each; none before it is due.
    fn on_timer(&mut self, now: Time) -> u32;
    /// The value in that update for a VC.
    fn update(&mut self, vc: u8) -> u32;
    /// The link has lost the update with this value.
    fn on_update_lost(&mut self, now: Time, vc: u8, value: u32);
    /// An update with this value has arrived.
    fn on_update(&mut self, vc: u8, value: u32);
}

/// Properties that follow from the parameters alone, before there is a link.
pub trait Settings {
    /// Bytes of the receiver's buffer that a packet takes.
    fn taken(&self, bytes: u32) -> u64;
    /// Usable bytes of a buffer of this size.
    fn counted(&self, bytes: u64) -> u64;
    /// Bytes that a VC's buffer needs so that one VC alone fills the link, if the receiver forwards at once. Packets have up to
    /// `largest_bytes` on a cable of this `propagation` delay.
    fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64;
}
