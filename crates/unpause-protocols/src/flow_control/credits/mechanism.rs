//! What every scheme of credits is: what one end of a link is told, and what it answers.

use crate::units::{Rate, Time};

/// Virtual channels (VCs) of a link, at most; they are numbered from 0.
pub const CHANNELS: usize = 8;

/// Bytes of an update on the wire. It is inserted into the frame in transmission, so it waits for nothing.
pub const UPDATE_BYTES: u64 = 8;

/// One end of a link: of each VC, what it may send, and what it holds of what the other end has sent.
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
    /// What that update says of a VC.
    fn update(&mut self, vc: u8) -> u32;
    /// The update that said so is lost, which the link knows.
    fn on_update_lost(&mut self, now: Time, vc: u8, said: u32);
    /// An update has come that says so.
    fn on_update(&mut self, vc: u8, says: u32);
}

/// What parameters say before there is a link.
pub trait Settings {
    /// Bytes of the receiver's buffer that a packet takes.
    fn taken(&self, bytes: u32) -> u64;
    /// Bytes that count of a buffer of this many.
    fn counted(&self, bytes: u64) -> u64;
    /// Bytes that a VC's buffer needs so that one VC alone fills the link, if the receiver forwards at once. Packets have up to
    /// `largest_bytes` on a cable of this `propagation` delay.
    fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64;
}
