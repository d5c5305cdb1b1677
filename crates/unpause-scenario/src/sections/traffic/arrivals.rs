//! When flows start, and until when.

use unpause_protocols::units::Time;
use unpause_sim::traffic::{Arrivals, Interval};
use unpause_text::error::{Checked, Problem};
use unpause_text::quantity::Duration;

use crate::text::checks::{both, positive};
use crate::text::keys::Written;

/// Why a key of several events has no effect.
pub(super) const ONE_EVENT: (&str, &str) = (
    "there is one event, at `start`",
    "set interval = \"100us\" or mean_interval, or remove it",
);

/// A time, if it is set.
pub(super) fn time(value: &Written<Duration>, default: Time) -> Time {
    value.value().map_or(default, |value| value.0)
}

/// A stop lies behind its start.
pub(super) fn stops_after_start(
    start: &Written<Duration>,
    stop: &Written<Duration>,
) -> Checked<()> {
    match stop.peek() {
        Some(stop) if stop.get_ref().0 <= time(start, Time::ZERO) => {
            let problem = Problem::new("it stops before it starts").at(stop.span(), "stops here");
            match start.peek() {
                Some(start) => problem.at(start.span(), "starts here"),
                None => problem,
            }
            .err()
        }
        _ => Ok(()),
    }
}

/// One event, or one in each interval.
pub(super) fn events(
    start: &Written<Duration>,
    stop: &Written<Duration>,
    interval: &Written<Duration>,
    mean_interval: &Written<Duration>,
    events: &Written<u64>,
) -> Checked<Arrivals> {
    let start = time(start, Time::ZERO);
    let mut arrivals = match (interval.get(), mean_interval.get()) {
        (Some(interval), Some(mean)) => return both("interval", interval, "mean_interval", mean),
        (Some(interval), None) => Arrivals::every(positive("interval", interval)?, start),
        (None, Some(mean)) => {
            let mean = positive("mean_interval", mean)?.as_secs_f64();
            let interval = Interval::Exponential {
                events_per_second: 1.0 / mean,
            };
            Arrivals {
                interval,
                ..Arrivals::every(Time::NEVER, start)
            }
        }
        (None, None) => return Ok(Arrivals::once(start)),
    };
    arrivals.stop = time(stop, Time::NEVER);
    arrivals.max_events = events.value().copied();
    Ok(arrivals)
}
