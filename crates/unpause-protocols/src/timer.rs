//! Timers of mechanisms.

use crate::units::Time;

/// The shortest period a timer may have, so that it always moves on.
pub(crate) const SHORTEST_PERIOD: Time = Time::from_ns(1);

/// A timer called later than this many periods makes up for only this many, and restarts.
pub(crate) const MOST_PERIODS_LATE: u32 = 1 << 20;

/// The first instant after `now` on the grid `epoch + k * period`.
pub(crate) fn next_on_grid(epoch: Time, period: Time, now: Time) -> Time {
    let periods = now.saturating_sub(epoch).as_ps() / period.as_ps() + 1;
    let offset = periods.saturating_mul(period.as_ps());
    epoch.saturating_add(Time::from_ps(offset))
}
