//! Buffer accounting of a lossless (ingress port, class): shared memory up to XOFF, headroom beyond.

use std::hint::select_unpredictable;

use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::chassis::{Ingress, PauseSource};
use crate::config::{MOST_ALPHA_SHIFT, PfcThreshold};

/// The shared part of a switch's packet memory.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// Bytes there are.
    pub size: u64,
    /// Bytes in use.
    pub used: u64,
    /// Bytes of headroom that may be in use at once; headroom is no part of `size`.
    pub headroom_size: u64,
    /// Bytes of headroom in use.
    pub headroom_used: u64,
}

impl Pool {
    /// Takes `bytes` if there are that many.
    #[inline]
    pub fn take(&mut self, bytes: u64) -> bool {
        let fits = self.used + bytes <= self.size;
        if fits {
            self.used += bytes;
        }
        fits
    }
    /// Takes `bytes` of headroom if they are free.
    fn take_headroom(&mut self, bytes: u64) -> bool {
        let fits = self.headroom_used + bytes <= self.headroom_size;
        if fits {
            self.headroom_used += bytes;
        }
        fits
    }
    /// Gives `bytes` back.
    #[inline]
    pub fn give(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.used, "the pool gives what it took");
        self.used -= bytes;
    }
    /// XOFF and XON at this moment, where a dynamic threshold has this shift.
    #[inline]
    pub fn thresholds(&self, threshold: PfcThreshold, shift: Shift) -> (u64, u64) {
        match threshold {
            PfcThreshold::Static {
                xoff_bytes,
                xon_bytes,
            } => (xoff_bytes, xon_bytes),
            PfcThreshold::Dynamic { xon_gap_bytes, .. }
            | PfcThreshold::Reserved { xon_gap_bytes, .. } => {
                let xoff = shift.of(self.size.saturating_sub(self.used));
                (xoff, xoff.saturating_sub(xon_gap_bytes))
            }
        }
    }
}

/// The share of free memory at which a dynamic threshold is: `2^-shift`, by one shift for either sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift(u32);

impl Shift {
    /// From [`MOST_ALPHA_SHIFT`](crate::config::MOST_ALPHA_SHIFT) below zero.
    pub fn new(shift: i32) -> Self {
        Self(shift.saturating_add(MOST_ALPHA_SHIFT).unsigned_abs())
    }
    #[inline]
    fn of(self, free: u64) -> u64 {
        // Of a buffer that no switch has, the upper bits are left out.
        (free.min(u64::MAX >> MOST_ALPHA_SHIFT) << MOST_ALPHA_SHIFT) >> self.0
    }
}

impl Default for Shift {
    fn default() -> Self {
        Self::new(0)
    }
}

/// How long the queue of a lossy class may be.
#[derive(Clone, Copy, Debug)]
pub struct LossyLimit {
    /// Fixed limit, bytes.
    pub bytes: u64,
    /// Limit as a share of the free memory.
    pub shift: Option<Shift>,
}

impl LossyLimit {
    /// The smaller one of both limits, bytes, with the memory in its present state.
    pub fn of(&self, pool: &Pool) -> u64 {
        let free = pool.size.saturating_sub(pool.used);
        let share = self.shift.map_or(u64::MAX, |shift| shift.of(free));
        self.bytes.min(share)
    }
}

/// Bytes of a lossless (ingress port, class), in shared memory and in headroom.
#[derive(Clone, Debug, Default, Show)]
pub struct Account {
    /// PFC's own count.
    #[show(nested)]
    pfc: pfc::Ingress,
    /// Bytes of headroom there are.
    #[show(skip)]
    headroom_size: u64,
    #[show(same)]
    headroom_used: u64,
    /// Of a dynamic threshold.
    #[show(skip)]
    shift: Shift,
}

impl PauseSource for Account {
    #[inline]
    fn bytes(&self) -> u64 {
        self.pfc.bytes()
    }
    #[inline]
    fn is_xoff(&self) -> bool {
        self.pfc.is_xoff()
    }
    #[inline]
    fn next_timer(&self) -> Time {
        self.pfc.next_timer()
    }
    fn on_timer(&mut self, now: Time, pause: Time, params: &pfc::Params) -> Action {
        self.pfc.on_timer(now, pause, params)
    }
}

impl Ingress<Account> {
    /// Admits a packet, or answers `None` when it must be dropped. What arrives before XOFF has
    /// been sent goes to shared memory, what arrives after it to headroom.
    #[inline(always)]
    pub fn take(
        &mut self,
        now: Time,
        bytes: u32,
        pool: &mut Pool,
        threshold: PfcThreshold,
        params: &pfc::Params,
    ) -> Option<Action> {
        if let PfcThreshold::Reserved { reserve_bytes, .. } = threshold {
            return self.take_reserved(now, bytes, pool, reserve_bytes, params);
        }
        let size = u64::from(bytes);
        let account = &mut self.source;
        let was_off = account.pfc.is_xoff();
        let (mut xoff, mut found_none) = (0, false);
        if was_off || !pool.take(size) {
            let own = account.headroom_used + size <= account.headroom_size;
            if !own || !pool.take_headroom(size) {
                return None;
            }
            account.headroom_used += size;
            // With a share above all that is free the threshold may be far: headroom is for what comes after XOFF.
            found_none = !was_off && matches!(threshold, PfcThreshold::Dynamic { .. });
        }
        if !found_none {
            xoff = pool.thresholds(threshold, account.shift).0;
        }
        let pause = self.pause;
        let action = account.pfc.on_admit(now, bytes, xoff, pause, params);
        self.note_admission();
        Some(action)
    }

    /// True if a packet may be taken and released at once without more than to note what was held for a moment. Of a lossy
    /// class, of which this many bytes may wait, nothing is held.
    #[inline(always)]
    pub fn passes(
        &mut self,
        size: u64,
        lossy_bytes: Option<u64>,
        pool: &Pool,
        threshold: &PfcThreshold,
    ) -> bool {
        let account = &self.source;
        let held = account.pfc.bytes() + size;
        let xoff = match threshold {
            PfcThreshold::Static { xoff_bytes, .. } => *xoff_bytes,
            PfcThreshold::Dynamic { .. } => account.shift.of(pool.size - pool.used - size),
            PfcThreshold::Reserved { .. } => 0,
        };
        // Without a branch: which it is cannot be foreseen.
        let lossy = lossy_bytes.is_some();
        let most = select_unpredictable(lossy, lossy_bytes.unwrap_or_default(), xoff);
        let passes = held <= most && !account.pfc.is_xoff() && account.headroom_used == 0;
        if passes {
            let noted = select_unpredictable(lossy, 0, held);
            self.max_bytes = self.max_bytes.max(noted);
        }
        passes
    }

    /// The same as HPCC's simulator counts ([`PfcThreshold::Reserved`]).
    #[inline(never)]
    fn take_reserved(
        &mut self,
        now: Time,
        bytes: u32,
        pool: &mut Pool,
        reserve: u64,
        params: &pfc::Params,
    ) -> Option<Action> {
        let size = u64::from(bytes);
        let account = &mut self.source;
        if account.shift == OF_CREDITS {
            // The sender of the link has seen to it that there is room.
            account
                .pfc
                .on_admit(now, bytes, u64::MAX, self.pause, params);
            self.note_admission();
            return Some(Action::Xon);
        }
        let xoff = account.xoff(pool);
        let outside = account.outside_headroom();
        let beyond_reserve = (outside + size).saturating_sub(reserve);
        // Only a share above all that is free lets a packet under the threshold find no room.
        let no_room = pool.used + size.min(beyond_reserve) > pool.size;
        let needs_headroom = size + outside.saturating_sub(reserve) > xoff || no_room;
        let has_headroom = account.headroom_used + size <= account.headroom_size
            && pool.headroom_used + size <= pool.headroom_size;
        if needs_headroom && !has_headroom {
            return None;
        }
        let mut shared = outside.saturating_sub(reserve);
        if beyond_reserve > xoff || no_room {
            account.headroom_used += size;
            pool.headroom_used += size;
        } else {
            pool.used += size.min(beyond_reserve);
            shared = beyond_reserve;
        }
        let over = account.headroom_used > 0 || shared >= account.xoff(pool);
        let pause = self.pause;
        let action = account.pfc.on_admit_over(now, bytes, over, pause, params);
        self.note_admission();
        Some(action)
    }
}

/// Stands for thresholds that are elsewhere: where credits are counted instead, or where each place has its own. It takes the
/// path that is seldom taken.
pub const ELSEWHERE: PfcThreshold = PfcThreshold::Reserved {
    shift: 0,
    reserve_bytes: 0,
    xon_gap_bytes: 0,
};

/// The shift of an account whose peer has credits.
const OF_CREDITS: Shift = Shift(u32::MAX);

impl Account {
    /// Holds nothing. Its peer has credits for its buffer, which is its own.
    pub fn with_credits() -> Self {
        Self {
            shift: OF_CREDITS,
            ..Self::default()
        }
    }

    /// A packet that came by credits leaves.
    pub fn release_credits(&mut self, bytes: u32) {
        self.pfc.on_release(Time::ZERO, bytes, 0);
    }

    /// Holds nothing. A dynamic threshold has this shift.
    pub fn new(headroom_bytes: u64, shift: Shift) -> Self {
        Self {
            headroom_size: headroom_bytes,
            shift,
            ..Self::default()
        }
    }

    /// A dynamic threshold as it would be with `free` bytes more in the pool.
    pub fn xoff_with(&self, pool: &Pool, threshold: PfcThreshold, free: u64) -> Option<u64> {
        let moves = !matches!(threshold, PfcThreshold::Static { .. });
        let used = pool.used.saturating_sub(free);
        moves.then(|| self.xoff(&Pool { used, ..*pool }))
    }

    fn outside_headroom(&self) -> u64 {
        self.pfc.bytes() - self.headroom_used
    }

    fn xoff(&self, pool: &Pool) -> u64 {
        self.shift.of(pool.size.saturating_sub(pool.used))
    }

    /// [`Self::release`] as HPCC's simulator counts.
    #[inline(never)]
    fn release_reserved(
        &mut self,
        now: Time,
        bytes: u32,
        pool: &mut Pool,
        (reserve, xon_gap): (u64, u64),
    ) -> Action {
        let size = u64::from(bytes);
        let outside = self.outside_headroom();
        let from_headroom = size.min(self.headroom_used);
        let from_shared = (size - from_headroom).min(outside.saturating_sub(reserve));
        self.headroom_used -= from_headroom;
        pool.headroom_used -= from_headroom;
        pool.give(from_shared);
        let shared = (outside - (size - from_headroom)).saturating_sub(reserve);
        let under = self.headroom_used == 0 && (shared == 0 || shared + xon_gap <= self.xoff(pool));
        self.pfc.on_release_under(now, bytes, under)
    }

    /// A packet starts to leave the switch. Headroom is freed first.
    #[inline(always)]
    pub fn release(
        &mut self,
        now: Time,
        bytes: u32,
        pool: &mut Pool,
        threshold: &PfcThreshold,
    ) -> Action {
        let reserved = matches!(threshold, PfcThreshold::Reserved { .. });
        if self.pfc.is_xoff() || self.headroom_used > 0 || reserved {
            return self.release_in_need(now, bytes, pool, *threshold);
        }
        pool.give(u64::from(bytes));
        // No XON is due, whatever its threshold.
        self.pfc.on_release(now, bytes, 0)
    }

    /// [`Self::release`] where the peer is stopped, or headroom in use.
    #[inline(never)]
    fn release_in_need(
        &mut self,
        now: Time,
        bytes: u32,
        pool: &mut Pool,
        threshold: PfcThreshold,
    ) -> Action {
        if let PfcThreshold::Reserved {
            reserve_bytes,
            xon_gap_bytes,
            ..
        } = threshold
        {
            return self.release_reserved(now, bytes, pool, (reserve_bytes, xon_gap_bytes));
        }
        let size = u64::from(bytes);
        let from_headroom = size.min(self.headroom_used);
        self.headroom_used -= from_headroom;
        pool.headroom_used -= from_headroom;
        pool.give(size - from_headroom);
        // Headroom must be free again before the next XOFF; a threshold that has moved up since the
        // last one could have let XON go before.
        let xon = match self.headroom_used {
            0 => pool.thresholds(threshold, self.shift).1,
            _ => 0,
        };
        self.pfc.on_release(now, bytes, xon)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: u32 = 1000;
    const HALF: PfcThreshold = PfcThreshold::Dynamic {
        shift: 1,
        xon_gap_bytes: 0,
    };

    fn pool(size: u64, used: u64) -> Pool {
        Pool {
            size,
            used,
            headroom_size: u64::MAX,
            headroom_used: 0,
        }
    }

    fn admit(ingress: &mut Ingress<Account>, pool: &mut Pool) -> Option<Action> {
        ingress.take(Time::ZERO, FRAME, pool, HALF, &pfc::Params::default())
    }

    fn with_headroom(frames: u64) -> Ingress<Account> {
        let account = Account::new(frames * u64::from(FRAME), Shift::new(1));
        Ingress::new(account, Time::from_us(100))
    }

    /// Else the next XOFF would find headroom partly taken.
    #[test]
    fn xon_waits_for_headroom_to_be_free() {
        let mut ingress = with_headroom(3);
        let mut pool = pool(20_000, 16_000);
        assert_eq!(admit(&mut ingress, &mut pool), Some(Action::None));
        assert_eq!(admit(&mut ingress, &mut pool), Some(Action::Xoff));
        for _ in 0..3 {
            assert_eq!(admit(&mut ingress, &mut pool), Some(Action::None));
        }
        assert_eq!(admit(&mut ingress, &mut pool), None);
        // Others give back what lifts the threshold to 9000.
        pool.give(16_000);
        for action in [Action::None, Action::None, Action::Xon] {
            let released = ingress.source.release(Time::ZERO, FRAME, &mut pool, &HALF);
            assert_eq!(released, action);
        }
        assert_eq!((ingress.source.bytes(), pool.used), (2_000, 2_000));
    }

    #[test]
    fn one_shift_serves_both_signs() {
        for (shift, expected) in [(-8, 256_000), (-1, 2_000), (0, 1_000), (3, 125), (32, 0)] {
            assert_eq!(Shift::new(shift).of(1_000), expected, "{shift}");
        }
        assert_eq!(Shift::new(0).of(u64::MAX), u64::MAX >> MOST_ALPHA_SHIFT);
    }

    /// Alone, a port with alpha 8 takes 8/9 of the memory; what finds none sends XOFF though it is far below the threshold,
    /// which is eight times the 900 bytes that are free.
    #[test]
    fn a_share_above_all_that_is_free_ends_with_the_memory() {
        let alpha = PfcThreshold::Dynamic {
            shift: -3,
            xon_gap_bytes: 0,
        };
        let mut pool = pool(9_000, 0);
        let mut first = Ingress::new(Account::new(0, Shift::new(-3)), Time::from_us(100));
        let mut actions = Vec::new();
        while let Some(action) =
            first.take(Time::ZERO, FRAME, &mut pool, alpha, &pfc::Params::default())
        {
            actions.push(action);
        }
        assert_eq!(actions.iter().position(|it| *it == Action::Xoff), Some(8));
        assert_eq!(pool.used, 9_000);

        pool.give(900);
        let mut second = Ingress::new(Account::new(2_000, Shift::new(-3)), Time::from_us(100));
        let mut admit =
            || second.take(Time::ZERO, FRAME, &mut pool, alpha, &pfc::Params::default());
        assert_eq!(admit(), Some(Action::Xoff));
        assert_eq!(admit(), Some(Action::None));
        assert_eq!(admit(), None);
    }

    /// The packet that finds no shared memory is the one that sends XOFF.
    #[test]
    fn headroom_takes_what_shared_memory_cannot() {
        let mut ingress = with_headroom(1);
        let mut pool = pool(5_000, 4_500);
        assert_eq!(admit(&mut ingress, &mut pool), Some(Action::Xoff));
        assert_eq!((ingress.max_bytes, pool.used), (1_000, 4_500));
        assert_eq!(admit(&mut ingress, &mut pool), None);
        let released = ingress.source.release(Time::ZERO, FRAME, &mut pool, &HALF);
        assert_eq!((released, pool.used), (Action::Xon, 4_500));
    }

    /// Two ports have headroom for three frames each, and the switch for four.
    #[test]
    fn headroom_of_a_switch_may_be_shared() {
        let mut pool = Pool {
            headroom_size: 4_000,
            ..pool(5_000, 5_000)
        };
        let mut ports = [with_headroom(3), with_headroom(3)];
        let [first, second] = &mut ports;
        assert_eq!(admit(first, &mut pool), Some(Action::Xoff));
        assert_eq!(admit(first, &mut pool), Some(Action::None));
        assert_eq!(admit(first, &mut pool), Some(Action::None));
        assert_eq!(admit(first, &mut pool), None);
        assert_eq!(admit(second, &mut pool), Some(Action::Xoff));
        assert_eq!(admit(second, &mut pool), None);
        first.source.release(Time::ZERO, FRAME, &mut pool, &HALF);
        assert_eq!(admit(second, &mut pool), Some(Action::None));
        assert_eq!((pool.used, pool.headroom_used), (5_000, 4_000));
    }
}
