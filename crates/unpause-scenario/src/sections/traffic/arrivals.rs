//! When flows start, and until when.

use serde_spanned::Spanned;
use unpause_protocols::units::Time;
use unpause_sim::traffic::{Arrivals, Interval};

use crate::text::checks::{both, positive};
use crate::text::error::{Checked, Problem};
use crate::text::quantity::Duration;

/// A time, if it is set.
pub(super) fn time(value: &Option<Spanned<Duration>>, default: Time) -> Time {
    value.as_ref().map_or(default, |value| value.get_ref().0)
}

/// A stop lies behind its start.
pub(super) fn stops_after_start(
    start: &Option<Spanned<Duration>>,
    stop: &Option<Spanned<Duration>>,
) -> Checked<()> {
    match stop {
        Some(stop) if stop.get_ref().0 <= time(start, Time::ZERO) => {
            let problem = Problem::new("it stops before it starts").at(stop.span(), "stops here");
            match start {
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
    start: &Option<Spanned<Duration>>,
    stop: &Option<Spanned<Duration>>,
    interval: &Option<Spanned<Duration>>,
    mean_interval: &Option<Spanned<Duration>>,
    events: &Option<Spanned<u64>>,
) -> Checked<Arrivals> {
    let start = time(start, Time::ZERO);
    let mut arrivals = match (interval, mean_interval) {
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
        (None, None) => {
            let stop = stop.as_ref().map(|stop| ("stop", stop.span()));
            let events = events.as_ref().map(|events| ("events", events.span()));
            return match stop.or(events) {
                None => Ok(Arrivals::once(start)),
                Some((key, span)) => Problem::new(format!("`{key}` has no effect"))
                    .at(span, "there is one event, at `start`")
                    .help("set interval = \"100us\" or mean_interval, or remove it")
                    .err(),
            };
        }
    };
    arrivals.stop = time(stop, Time::NEVER);
    arrivals.max_events = events.as_ref().map(|events| *events.get_ref());
    Ok(arrivals)
}
