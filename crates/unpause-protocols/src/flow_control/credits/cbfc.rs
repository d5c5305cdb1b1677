//! Credit-based flow control of Ultra Ethernet (CBFC).
//!
//! # What it does
//!
//! A receiver has a buffer for each virtual channel (VC), counted in credits. The sender of the link knows how large it is and
//! counts what it has sent and what the receiver has freed, so it starts a packet only if there is room: nothing is lost,
//! however long the cable. The receiver says what it has freed in updates (`CF_Update`), no closer together than a minimum.
//! All counters run round, so an update that is lost is made up for by the next one. A packet that is lost on the link would
//! keep its credits forever; for that the sender says from time to time what it has sent (`CC_Update`), and the receiver frees
//! what has not come.
//!
//! # Source
//!
//! Ultra Ethernet specification 1.0, section 5.2, as described in SAI's `SAI-Credit_Based_Flow_Control.md`.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `credit_bytes` | bytes | 128 | the source's default credit size |
//! | `overhead_bytes` | bytes, -16 to 127 | 0 | what the receiver's buffer needs for a packet beside its bytes |
//! | `update_spacing_bytes` | bytes of the link | 6,400 | the source's default; at least 800 there |
//! | `consumed_interval` | time | 256 us | the source's default |
//!
//! # Departures
//!
//! - A limit for each VC only: no pools that several VCs share.
//! - An update that counts as freed what was never sent is refused; the source does not say.
//! - An update follows what is freed as soon as the spacing allows. The source also repeats it after a maximum of 262,144 B
//!   without one, in case it was lost; the owner may call [`Updates::on_freed`] for that.
//! - One message has the counters of all VCs that have freed something; how many fit into 8 B the source does not say.

use super::{CHANNELS, Mechanism, Settings};
use crate::state_visitor::Show;
use crate::units::{Rate, Time};

/// Parameters of CBFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Bytes of the receiver's buffer that a credit stands for.
    pub credit_bytes: u16,
    /// Added to the bytes of each packet.
    pub overhead_bytes: i16,
    /// Bytes of the link from the start of one update to that of the next, at least.
    pub update_spacing_bytes: u32,
    /// From one message of what was sent to the next.
    pub consumed_interval: Time,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            credit_bytes: 128,
            overhead_bytes: 0,
            update_spacing_bytes: 6400,
            consumed_interval: Time::from_us(256),
        }
    }
}

impl Params {
    /// Credits of a packet of this many bytes: its buffer, rounded up.
    #[inline]
    pub fn credits(&self, bytes: u32) -> u32 {
        let bytes = i64::from(bytes) + i64::from(self.overhead_bytes);
        let bytes = u32::try_from(bytes.max(0)).unwrap_or(u32::MAX);
        bytes.div_ceil(u32::from(self.credit_bytes.max(1)))
    }

    /// Credits of a buffer of this many bytes.
    fn limit(&self, bytes: u64) -> u32 {
        let limit = bytes / u64::from(self.credit_bytes.max(1));
        u32::try_from(limit).unwrap_or(u32::MAX).min(MAX_LIMIT)
    }

    /// How far apart updates start, at least, on a link of this rate.
    pub fn update_spacing(&self, rate: Rate) -> Time {
        rate.time_for(u64::from(self.update_spacing_bytes))
    }
}

impl Settings for Params {
    fn taken(&self, bytes: u32) -> u64 {
        u64::from(self.credits(bytes)) * u64::from(self.credit_bytes)
    }

    fn counted(&self, bytes: u64) -> u64 {
        u64::from(self.limit(bytes)) * u64::from(self.credit_bytes)
    }

    /// Bytes sent until the credit of a packet is back. If packets are not a whole number of credits, this needs the
    /// rest of each packet's last credit beside it.
    fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64 {
        let both = propagation.saturating_add(propagation);
        rate.bytes_begun_in(both)
            .saturating_add(largest_bytes)
            .saturating_add(u64::from(self.update_spacing_bytes))
    }
}

/// Bytes of the packet that says what was sent.
pub const CONSUMED_BYTES: u64 = 64;

/// The largest limit, in credits: one less than counters have values.
pub const MAX_LIMIT: u32 = COUNTER_MASK;

/// Counters have 20 bits.
const COUNTER_MASK: u32 = (1 << 20) - 1;

/// `from` moved on by `by`.
#[inline]
fn moved(from: u32, by: u32) -> u32 {
    from.wrapping_add(by) & COUNTER_MASK
}

/// How far `to` is ahead of `from`.
#[inline]
fn ahead(to: u32, from: u32) -> u32 {
    to.wrapping_sub(from) & COUNTER_MASK
}

/// The sender's side of one VC.
#[derive(Clone, Debug, Show)]
pub struct Sender {
    /// Credits of what was sent, running round.
    #[show(same = ahead(*consumed, *freed))]
    consumed: u32,
    /// Credits that the receiver has freed, running round, as far as it has said.
    #[show(skip = "all that is asked is how far `consumed` is ahead of it")]
    freed: u32,
    #[show(same)]
    limit: u32,
    #[show(skip = "decides nothing")]
    max_in_use: u32,
}

impl Sender {
    /// The receiver has a buffer of `limit` credits, at most [`MAX_LIMIT`], and holds nothing.
    pub fn new(limit: u32) -> Self {
        Self {
            consumed: 0,
            freed: 0,
            limit: limit.min(MAX_LIMIT),
            max_in_use: 0,
        }
    }

    /// True if a packet of this many credits may start.
    #[inline]
    pub fn may_send(&self, credits: u32) -> bool {
        credits <= self.limit - self.in_use().min(self.limit)
    }

    /// A packet starts that [may](Self::may_send).
    #[inline]
    pub fn on_sent(&mut self, credits: u32) {
        debug_assert!(self.may_send(credits));
        self.consumed = moved(self.consumed, credits);
        self.max_in_use = self.max_in_use.max(self.in_use());
    }

    /// A packet of this many credits will never arrive, which the link knows: the credits are free again. Without a link that knows,
    /// the receiver finds it out by [`Receiver::on_consumed`].
    pub fn on_lost(&mut self, credits: u32) {
        let credits = credits.min(self.in_use());
        self.consumed = self.consumed.wrapping_sub(credits) & COUNTER_MASK;
    }

    /// An update has come: credits that the receiver has freed. True if it made room; one that cannot be is refused.
    #[inline]
    pub fn on_update(&mut self, freed: u32) -> bool {
        let more = ahead(freed, self.freed);
        if more > self.in_use() {
            return false;
        }
        self.freed = freed & COUNTER_MASK;
        more > 0
    }

    /// The credits of all packets sent, which the sender reports to the receiver from time to time.
    pub fn consumed(&self) -> u32 {
        self.consumed
    }

    /// Credits in use: sent and not known to be free.
    #[inline]
    pub fn in_use(&self) -> u32 {
        ahead(self.consumed, self.freed)
    }

    /// The most that were in use.
    pub fn max_in_use(&self) -> u32 {
        self.max_in_use
    }

    /// The most that may be.
    pub fn limit(&self) -> u32 {
        self.limit
    }
}

/// The receiver's side of one VC.
#[derive(Clone, Debug, Default, Show)]
pub struct Receiver {
    /// Credits of what has come, running round.
    #[show(same = ahead(*consumed, *freed))]
    consumed: u32,
    /// Credits of what has left the buffer, running round.
    #[show(skip = "all that is asked is how far `consumed` is ahead of it")]
    freed: u32,
}

impl Receiver {
    /// Holds nothing.
    pub const fn new() -> Self {
        Self {
            consumed: 0,
            freed: 0,
        }
    }

    /// A packet of this many credits has come.
    #[inline]
    pub fn on_packet(&mut self, credits: u32) {
        self.consumed = moved(self.consumed, credits);
    }

    /// A packet of this many credits has left the buffer.
    #[inline]
    pub fn on_freed(&mut self, credits: u32) {
        debug_assert!(credits <= self.held());
        self.freed = moved(self.freed, credits);
    }

    /// The sender says what it has sent: answers the credits of packets that never came, which are free now.
    pub fn on_consumed(&mut self, consumed: u32) -> u32 {
        let lost = ahead(consumed, self.consumed);
        self.freed = moved(self.freed, lost);
        self.consumed = consumed & COUNTER_MASK;
        lost
    }

    /// The value that an update carries.
    #[inline]
    pub fn freed(&self) -> u32 {
        self.freed
    }

    /// Credits of what is in the buffer.
    #[inline]
    pub fn held(&self) -> u32 {
        ahead(self.consumed, self.freed)
    }
}

/// When a receiver sends updates: one for all VCs of a port.
#[derive(Clone, Debug, Show)]
pub struct Updates {
    #[show(skip)]
    spacing: Time,
    /// From when the next one may start.
    #[show(time)]
    next: Time,
    /// Bit v set: VC v has freed something that the sender does not know of.
    #[show(same)]
    pending: u32,
}

impl Updates {
    /// Nothing to say yet; [`Params::update_spacing`] at the rate of the link.
    pub const fn new(spacing: Time) -> Self {
        Self {
            spacing,
            next: Time::ZERO,
            pending: 0,
        }
    }

    /// This VC, 0 to 31, has freed something. [`Self::next_timer`] says when the update starts, `now` at the earliest.
    #[inline]
    pub fn on_freed(&mut self, now: Time, vc: u8) {
        self.pending |= 1 << (vc & 31);
        self.next = self.next.max(now);
    }

    /// When an update is to start; [`Time::NEVER`] if there is nothing to say.
    #[inline]
    pub fn next_timer(&self) -> Time {
        match self.pending {
            0 => Time::NEVER,
            _ => self.next,
        }
    }

    /// The VCs whose [`Receiver::freed`] goes into an update that starts now, a bit for each; none before it is time.
    pub fn on_timer(&mut self, now: Time) -> u32 {
        if self.next_timer() > now {
            return 0;
        }
        self.next = now.saturating_add(self.spacing);
        core::mem::take(&mut self.pending)
    }
}

/// One end of a link with CBFC.
#[derive(Clone, Debug)]
pub struct Cbfc {
    params: Params,
    /// By VC: what goes out, and what has come in.
    channels: [(Sender, Receiver); CHANNELS],
    updates: Updates,
}

impl Cbfc {
    /// Both ends have a buffer of this many bytes for each VC, and hold nothing.
    pub fn new(params: &Params, buffer_bytes: u64, rate: Rate) -> Self {
        let limit = params.limit(buffer_bytes);
        let channel = |_| (Sender::new(limit), Receiver::new());
        Self {
            params: *params,
            channels: core::array::from_fn(channel),
            updates: Updates::new(params.update_spacing(rate)),
        }
    }

    fn sender(&mut self, vc: u8) -> &mut Sender {
        &mut self.channels[usize::from(vc) % CHANNELS].0
    }

    fn receiver(&mut self, vc: u8) -> &mut Receiver {
        &mut self.channels[usize::from(vc) % CHANNELS].1
    }
}

impl Mechanism for Cbfc {
    fn may_send(&self, vc: u8, before: Option<u32>, bytes: u32) -> bool {
        let before = before.map_or(0, |bytes| self.params.credits(bytes));
        let credits = before + self.params.credits(bytes);
        self.channels[usize::from(vc) % CHANNELS]
            .0
            .may_send(credits)
    }

    fn on_sent(&mut self, vc: u8, bytes: u32) {
        let credits = self.params.credits(bytes);
        self.sender(vc).on_sent(credits);
    }

    fn on_lost(&mut self, vc: u8, bytes: u32) {
        let credits = self.params.credits(bytes);
        self.sender(vc).on_lost(credits);
    }

    fn on_packet(&mut self, vc: u8, bytes: u32) {
        let credits = self.params.credits(bytes);
        self.receiver(vc).on_packet(credits);
        // Both directions of a link have the same buffer.
        debug_assert!(
            self.receiver(vc).held() <= self.sender(vc).limit(),
            "there is room for it"
        );
    }

    fn on_freed(&mut self, now: Time, vc: u8, bytes: u32) {
        let credits = self.params.credits(bytes);
        self.receiver(vc).on_freed(credits);
        self.updates.on_freed(now, vc);
    }

    fn next_timer(&self) -> Time {
        self.updates.next_timer()
    }

    fn on_timer(&mut self, now: Time) -> u32 {
        self.updates.on_timer(now)
    }

    fn update(&mut self, vc: u8) -> u32 {
        self.receiver(vc).freed()
    }

    /// The next one says it, too.
    fn on_update_lost(&mut self, now: Time, vc: u8, _said: u32) {
        self.updates.on_freed(now, vc);
    }

    fn on_update(&mut self, vc: u8, says: u32) {
        self.sender(vc).on_update(says);
    }
}

#[cfg(test)]
mod tests;
