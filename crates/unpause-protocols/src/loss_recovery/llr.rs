//! Link-level retry of Ultra Ethernet (LLR): the two ends of one direction of a link.
//!
//! # What it does
//!
//! The transmitter numbers its frames and keeps them until the far end has acknowledged them. The receiver delivers frames in
//! order, and acknowledges the last good one from time to time. If a frame is corrupted or missing, it says so once (a NACK
//! with the number of the last good frame) and drops all that comes until the expected frame does. The transmitter then sends
//! everything after that number again, before new frames. If nothing is acknowledged for a while, it sends again all that it
//! keeps; after a number of such replays, or if a frame is too old, it gives up and flushes what it keeps.
//!
//! # Source
//!
//! Ultra Ethernet specification 1.0, section 5.1, as described in SAI's `SAI-Link_Layer_Retry.md` and SONiC's LLR design.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `max_bytes` | bytes | 67,760 | SONiC's sample profile for 400 Gb/s and 40 m |
//! | `replay_timer` | time | 5 us | the design's default |
//! | `max_replays` | - | 3 | the same |
//! | `max_age` | time | 20 us | the same |
//! | `signal_timeout` | time | 50 us | the same |
//! | `message_spacing_bytes` | bytes of the link | 2,048 | SAI's default |
//!
//! How many frames may be outstanding is what the owner has [`Slot`]s for; the same profile has 133.
//!
//! # Departures
//!
//! - After a flush the transmitter is at [`State::Flushed`] until its owner calls [`Sender::restart`], which is what both of
//!   the source's settings (at once, or by the operator) come to. What happens to frames meanwhile is the owner's choice, too.
//! - A restart tells the receiver the number to expect in one message that the owner must see arrive; the source has a
//!   handshake of `INIT` and `INIT_ECHO`.
//! - A NACK does not wait for the distance that acknowledgements keep.
//! - The replay timer runs from the last progress: the first frame that waits for an acknowledgement, an acknowledgement of a
//!   new frame, or the start of a replay.

use crate::units::{Rate, Time};

/// Parameters of LLR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most bytes of frames that wait for an acknowledgement.
    pub max_bytes: u32,
    /// After this time without progress all frames are sent again.
    pub replay_timer: Time,
    /// Replays by that timer without progress, at most.
    pub max_replays: u8,
    /// How long a frame may wait for an acknowledgement.
    pub max_age: Time,
    /// How long the link may be without a signal.
    pub signal_timeout: Time,
    /// Bytes of the link from one acknowledgement to the next, at least.
    pub message_spacing_bytes: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            max_bytes: 67_760,
            replay_timer: Time::from_us(5),
            max_replays: 3,
            max_age: Time::from_us(20),
            signal_timeout: Time::from_us(50),
            message_spacing_bytes: 2048,
        }
    }
}

impl Params {
    /// How far apart acknowledgements start, at least, on a link of this rate.
    pub fn message_spacing(&self, rate: Rate) -> Time {
        rate.time_for(u64::from(self.message_spacing_bytes))
    }

    /// Bytes that a transmitter must keep to fill the link: what is sent until the acknowledgement of a frame is back, which
    /// may wait for the one before it and for the end of a frame. Frames have up to `largest_bytes` on the wire.
    pub fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64 {
        let both = propagation.saturating_add(propagation);
        rate.bytes_begun_in(both)
            .saturating_add(largest_bytes.saturating_mul(2))
            .saturating_add(u64::from(self.message_spacing_bytes))
    }
}

/// Bytes of a message on the wire. It is inserted into the frame in transmission, so it waits for nothing.
pub const MESSAGE_BYTES: u64 = 8;

/// Frame numbers have 20 bits.
pub const NUMBER_MASK: u32 = (1 << 20) - 1;

/// How far the number `to` is ahead of `from`; negative if it is behind.
#[inline]
fn distance(to: u32, from: u32) -> i32 {
    let ahead = to.wrapping_sub(from) & NUMBER_MASK;
    if ahead > NUMBER_MASK / 2 {
        ahead as i32 - (NUMBER_MASK as i32 + 1)
    } else {
        ahead as i32
    }
}

/// The transmitter's record of a frame in its replay buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    bytes: u32,
    /// When it was first sent.
    sent: Time,
}

/// The first frame, which is 0 on the wire: so there is always a number before the oldest.
const FIRST: u64 = NUMBER_MASK as u64 + 1;

/// The state of a transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Sends new frames.
    Advance,
    /// Sends frames again.
    Replay,
    /// Has given up: keeps nothing and sends nothing.
    Flushed,
}

/// Why a transmitter gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has replayed as often as it may.
    Replays,
    /// A frame has waited too long.
    Age,
    /// The link was too long without a signal.
    Signal,
}

/// The result of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Nothing.
    None,
    /// All frames are sent again.
    Replay,
    /// It gives up: the owner forgets the frames that it keeps, of which some may have arrived.
    Flush(Cause),
}

/// The transmitting end. Its owner has the frames, and as many [`Slot`]s as may be outstanding, at most 2^19.
#[derive(Clone, Debug)]
pub struct Sender {
    params: Params,
    state: State,
    /// The number of the next new frame, not cut to 20 bits.
    next: u64,
    /// All before it have been acknowledged.
    oldest: u64,
    /// The next one to send again.
    again: u64,
    /// Bytes of frames from `oldest` to `next`.
    bytes: u32,
    replays: u8,
    /// When the replay timer runs out; it runs while frames are outstanding.
    timer: Time,
    /// When the oldest frame will be too old.
    age: Time,
    /// When the link will have been too long without a signal.
    signal: Time,
}

impl Sender {
    /// Nothing sent yet.
    pub fn new(params: &Params) -> Self {
        Self {
            params: *params,
            state: State::Advance,
            next: FIRST,
            oldest: FIRST,
            again: FIRST,
            bytes: 0,
            replays: 0,
            timer: Time::NEVER,
            age: Time::NEVER,
            signal: Time::NEVER,
        }
    }

    /// The slot of a frame among this many.
    #[inline]
    fn slot(number: u64, slots: usize) -> usize {
        (number % slots.max(1) as u64) as usize
    }

    /// True if a new frame of this many bytes may start: there is room to keep it, and nothing to send again.
    #[inline]
    pub fn may_send(&self, bytes: u32, slots: &[Slot]) -> bool {
        self.state == State::Advance
            && self.outstanding() < slots.len() as u64
            && self.bytes.saturating_add(bytes) <= self.params.max_bytes
    }

    /// A new frame starts that [may](Self::may_send): answers its number.
    pub fn on_sent(&mut self, now: Time, bytes: u32, slots: &mut [Slot]) -> u32 {
        debug_assert!(self.may_send(bytes, slots));
        if self.outstanding() == 0 {
            self.timer = now.saturating_add(self.params.replay_timer);
            self.age = now.saturating_add(self.params.max_age);
        }
        let number = self.next;
        let at = Self::slot(number, slots.len());
        if let Some(slot) = slots.get_mut(at) {
            *slot = Slot { bytes, sent: now };
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.next += 1;
        on_wire(number)
    }

    /// The place of the next frame to send again among those that are kept, oldest first; none if there is nothing to send
    /// again.
    #[inline]
    pub fn next_again(&self) -> Option<u64> {
        (self.state == State::Replay).then(|| self.again - self.oldest)
    }

    /// That frame starts: answers its number.
    pub fn on_sent_again(&mut self) -> u32 {
        debug_assert!(self.state == State::Replay);
        let number = self.again;
        self.again += 1;
        self.advance_if_done();
        on_wire(number)
    }

    /// An acknowledgement of all frames up to this one: answers how many of the oldest frames the owner may forget.
    pub fn on_ack(&mut self, now: Time, number: u32, slots: &[Slot]) -> u64 {
        let Some(last) = self.known(number) else {
            return 0;
        };
        let freed = (last + 1).saturating_sub(self.oldest);
        if freed == 0 {
            return 0;
        }
        for number in self.oldest..=last {
            let slot = slots.get(Self::slot(number, slots.len()));
            self.bytes = self.bytes.saturating_sub(slot.map_or(0, |slot| slot.bytes));
        }
        self.oldest = last + 1;
        self.again = self.again.max(self.oldest);
        self.replays = 0;
        self.restart_timers(now, slots);
        self.advance_if_done();
        freed
    }

    /// The receiver misses what follows this frame: answers how many of the oldest frames the owner may forget.
    pub fn on_nack(&mut self, now: Time, number: u32, slots: &[Slot]) -> u64 {
        if self.known(number).is_none() {
            return 0;
        }
        let freed = self.on_ack(now, number, slots);
        self.replay(now);
        freed
    }

    /// A timer may have run out.
    pub fn on_timer(&mut self, now: Time) -> Expiry {
        if self.state == State::Flushed {
            return Expiry::None;
        }
        if self.signal <= now {
            return self.flush(Cause::Signal);
        }
        if self.age <= now {
            return self.flush(Cause::Age);
        }
        if self.timer > now {
            return Expiry::None;
        }
        if self.replays >= self.params.max_replays {
            return self.flush(Cause::Replays);
        }
        self.replays += 1;
        self.replay(now);
        Expiry::Replay
    }

    /// When to call [`Self::on_timer`].
    pub fn next_timer(&self) -> Time {
        self.timer.min(self.age).min(self.signal)
    }

    /// The signal of the link comes or goes.
    pub fn on_signal(&mut self, now: Time, present: bool) {
        self.signal = match (present, self.state) {
            (false, State::Advance | State::Replay) if self.signal.is_never() => {
                now.saturating_add(self.params.signal_timeout)
            }
            (true, _) => Time::NEVER,
            _ => self.signal,
        };
    }

    /// Restarts after a flush: returns the number of the next frame, which the receiver has to be
    /// [told](Receiver::restart).
    pub fn restart(&mut self) -> u32 {
        self.state = State::Advance;
        on_wire(self.next)
    }

    /// The current state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Frames that wait for an acknowledgement.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.next - self.oldest
    }

    /// Bytes of these.
    pub fn outstanding_bytes(&self) -> u32 {
        self.bytes
    }

    /// The frame of this number, if it has been sent and is not older than the last one that was acknowledged.
    fn known(&self, number: u32) -> Option<u64> {
        let ahead = i64::from(distance(number, on_wire(self.oldest)));
        // One before the oldest: all that it keeps is still missing.
        let last = self.oldest.checked_add_signed(ahead)?;
        (ahead >= -1 && last < self.next).then_some(last)
    }

    /// Sends everything again that is kept.
    fn replay(&mut self, now: Time) {
        if self.outstanding() > 0 {
            self.state = State::Replay;
            self.again = self.oldest;
            self.timer = now.saturating_add(self.params.replay_timer);
        }
    }

    fn advance_if_done(&mut self) {
        if self.state == State::Replay && self.again >= self.next {
            self.state = State::Advance;
        }
    }

    fn restart_timers(&mut self, now: Time, slots: &[Slot]) {
        if self.outstanding() == 0 {
            (self.timer, self.age) = (Time::NEVER, Time::NEVER);
            return;
        }
        self.timer = now.saturating_add(self.params.replay_timer);
        let oldest = slots.get(Self::slot(self.oldest, slots.len()));
        let sent = oldest.map_or(now, |slot| slot.sent);
        self.age = sent.saturating_add(self.params.max_age);
    }

    fn flush(&mut self, cause: Cause) -> Expiry {
        self.state = State::Flushed;
        self.oldest = self.next;
        self.again = self.next;
        self.bytes = 0;
        self.replays = 0;
        (self.timer, self.age, self.signal) = (Time::NEVER, Time::NEVER, Time::NEVER);
        Expiry::Flush(cause)
    }
}

/// The 20 bits that a frame carries.
#[inline]
fn on_wire(number: u64) -> u32 {
    (number & u64::from(NUMBER_MASK)) as u32
}

/// The receiver's decision about a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the expected one.
    Deliver,
    /// It is corrupted.
    Corrupted,
    /// One before it is missing.
    Early,
    /// It has been delivered before.
    Duplicate,
}

/// A message from the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// All frames up to this one have come.
    Ack(u32),
    /// The frames after this one are missing.
    Nack(u32),
}

/// The state of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listening {
    /// Acknowledges.
    Acks,
    /// Is about to say that something is missing, from then on.
    Nack(Time),
    /// Has said so, and says no more until the expected frame comes.
    NackSent,
}

/// The receiving end.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The number that it expects.
    expected: u32,
    listening: Listening,
    spacing: Time,
    /// From when the next acknowledgement may start.
    next: Time,
    /// Frames have come since the last one.
    pending: bool,
}

impl Receiver {
    /// Expects the first frame; [`Params::message_spacing`] at the rate of the link.
    pub const fn new(spacing: Time) -> Self {
        Self {
            expected: 0,
            listening: Listening::Acks,
            spacing,
            next: Time::ZERO,
            pending: false,
        }
    }

    /// A frame has come, whole (`good`) or corrupted. One that a switch which cuts through has marked as broken counts as
    /// whole. A message may be due now.
    pub fn on_frame(&mut self, now: Time, number: u32, good: bool) -> Verdict {
        let ahead = distance(number, self.expected);
        let verdict = match (good, ahead) {
            (false, _) => Verdict::Corrupted,
            (true, 0) => Verdict::Deliver,
            (true, 1..) => Verdict::Early,
            (true, _) => Verdict::Duplicate,
        };
        match (verdict, self.listening) {
            (Verdict::Deliver, _) => {
                self.expected = self.expected.wrapping_add(1) & NUMBER_MASK;
                self.listening = Listening::Acks;
                self.pending = true;
            }
            // Its acknowledgement may have been lost.
            (Verdict::Duplicate, Listening::Acks) => self.pending = true,
            (Verdict::Corrupted | Verdict::Early, Listening::Acks) => {
                self.listening = Listening::Nack(now);
            }
            _ => {}
        }
        self.next = self.next.max(now);
        verdict
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] if there is nothing to say.
    pub fn next_timer(&self) -> Time {
        match self.listening {
            Listening::Nack(since) => since,
            Listening::Acks if self.pending => self.next,
            Listening::Acks | Listening::NackSent => Time::NEVER,
        }
    }

    /// A message that starts now, if one is due.
    pub fn on_timer(&mut self, now: Time) -> Option<Message> {
        if self.next_timer() > now {
            return None;
        }
        let last = self.expected.wrapping_sub(1) & NUMBER_MASK;
        self.next = now.saturating_add(self.spacing);
        self.pending = false;
        Some(match self.listening {
            Listening::Nack(_) => {
                self.listening = Listening::NackSent;
                Message::Nack(last)
            }
            Listening::Acks | Listening::NackSent => Message::Ack(last),
        })
    }

    /// The transmitter has begun anew with this number.
    pub fn restart(&mut self, number: u32) {
        self.expected = number & NUMBER_MASK;
        self.listening = Listening::Acks;
        self.pending = false;
    }
}

#[cfg(test)]
mod tests;
