//! The PFC watchdog: finds an egress queue that PAUSE stops for too long.
//!
//! # What it does
//!
//! Looks at one (port, priority) at regular intervals. When every look during the detection time has seen a storm, it
//! says so; its owner then drops what waits there, or sends it although the peer says PAUSE. When no PFC frame of the
//! priority has come during the restoration time, it says that the storm is over.
//!
//! # Source
//!
//! SONiC's `pfcwd` (sonic-swss, `pfc_detect_broadcom.lua`, `pfc_detect_mellanox.lua` since swss#3036, `pfc_restore.lua`).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `detection` | time | 200 ms | `pfcwd start_default`, up to 32 ports |
//! | `restoration` | time | 200 ms | the same |
//! | `poll` | time | 200 ms | the same |
//! | `rule` | - | `Frames` | Broadcom's; `Held` is Mellanox's |
//!
//! # Departures
//!
//! - Looks come exactly at multiples of `poll`, so the time that has really passed between two is `poll`, which
//!   Mellanox's rule measures because there it is not.

use crate::units::Time;

/// The rule by which a poll detects a storm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// PFC frames of the priority came since the last look, the queue was paused at both, and did not go on in between.
    #[default]
    Frames,
    /// Packets waited, none was sent, and the queue was paused for more than 99 % of the time since the last look.
    Held,
}

/// Parameters of the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// A storm has to last so long before it is found: at each look in this time, rounded up to whole polls.
    pub detection: Time,
    /// The storm is over after this time without a PFC frame.
    pub restoration: Time,
    /// Between two looks; at least a picosecond.
    pub poll: Time,
    /// The rule that detects a storm.
    pub rule: Rule,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            detection: Time::from_ms(200),
            restoration: Time::from_ms(200),
            poll: Time::from_ms(200),
            rule: Rule::Frames,
        }
    }
}

/// The owner's counters for one (port, priority).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// PFC frames that spoke of the priority since the last look, XOFF and XON.
    pub frames: u32,
    /// How often the queue went on after a pause since the last look.
    pub resumed: u32,
    /// It is paused now: the peer has asked for it, whether it is obeyed or not.
    pub paused: bool,
    /// Packets wait now.
    pub waits: bool,
    /// Packets were sent since the last look.
    pub sent: bool,
    /// For how long it was paused since the last look.
    pub held: Time,
}

/// The result of a poll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing new.
    None,
    /// A storm is found.
    Storm,
    /// It is over.
    Restored,
}

/// State of the watchdog of one (port, priority). Its owner calls [`Watchdog::on_poll`] at each look.
#[derive(Clone, Debug)]
pub struct Watchdog {
    params: Params,
    /// Paused at the last look.
    was_paused: bool,
    /// A storm was found and is not over.
    stormed: bool,
    /// Of the detection time, or of the restoration time during a storm.
    left: Time,
}

impl Watchdog {
    /// No storm yet.
    pub fn new(params: &Params) -> Self {
        let mut params = *params;
        params.poll = params.poll.max(Time::from_ps(1));
        Self {
            params,
            was_paused: false,
            stormed: false,
            left: params.detection,
        }
    }

    /// A look.
    pub fn on_poll(&mut self, seen: &Seen) -> Event {
        let was_paused = core::mem::replace(&mut self.was_paused, seen.paused);
        let goes_on = if self.stormed {
            seen.frames == 0
        } else {
            self.is_storm(seen, was_paused)
        };
        let whole = if self.stormed {
            self.params.restoration
        } else {
            self.params.detection
        };
        if !goes_on {
            self.left = whole;
            return Event::None;
        }
        self.left = self.left.saturating_sub(self.params.poll);
        if self.left > Time::ZERO {
            return Event::None;
        }
        self.stormed = !self.stormed;
        self.was_paused = false;
        if self.stormed {
            self.left = self.params.restoration;
            Event::Storm
        } else {
            self.left = self.params.detection;
            Event::Restored
        }
    }

    fn is_storm(&self, seen: &Seen, was_paused: bool) -> bool {
        match self.params.rule {
            Rule::Frames => seen.frames > 0 && seen.resumed == 0 && was_paused && seen.paused,
            Rule::Held => {
                let poll = self.params.poll.as_ps();
                let held = seen.held.as_ps();
                // 99 % of the interval, without a product that may not fit.
                seen.waits && !seen.sent && held > poll - poll / 100
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::vec::Vec;

    /// PAUSE from `from` to before `to`, a frame every millisecond, with one XON at `xon`: what is said, and when, in ms.
    fn events(
        (from, to): (u64, u64),
        (detection, restoration, poll): (u64, u64, u64),
        xon: Option<u64>,
        rule: Rule,
    ) -> Vec<(u64, Event)> {
        let params = Params {
            detection: Time::from_ms(detection),
            restoration: Time::from_ms(restoration),
            poll: Time::from_ms(poll),
            rule,
        };
        let mut watchdog = Watchdog::new(&params);
        let mut found = Vec::new();
        let mut seen = Seen::default();
        for now in 0..=10_000_u64 {
            let stops = (from..to).contains(&now) && xon != Some(now);
            if stops || xon == Some(now) {
                seen.frames += 1;
            }
            if seen.paused && !stops {
                seen.resumed += 1;
            }
            if seen.paused {
                seen.held = seen.held.saturating_add(Time::from_ms(1));
            }
            seen.paused = stops;
            seen.waits = stops;
            if now > 0 && now % poll == 0 {
                match watchdog.on_poll(&seen) {
                    Event::None => {}
                    event => found.push((now, event)),
                }
                seen = Seen {
                    paused: seen.paused,
                    ..Seen::default()
                };
            }
        }
        found
    }

    /// Storms of one PAUSE a millisecond through Broadcom's rule, written down from a reading of the script.
    #[test]
    fn nine_storms_of_broadcoms_rule() {
        let storm = |at, over| [(at, Event::Storm), (over, Event::Restored)].to_vec();
        let short = (200, 200, 200);
        let cases = [
            ((50, 1050), short, None, storm(400, 1400)),
            ((50, 250), short, None, Vec::new()),
            ((50, 450), short, None, storm(400, 800)),
            ((50, 650), short, None, storm(400, 1000)),
            ((50, 1050), (400, 400, 200), None, storm(600, 1600)),
            ((50, 2050), (400, 2000, 200), None, storm(600, 4200)),
            ((50, 1050), short, Some(450), storm(400, 1400)),
            ((199, 601), short, None, storm(400, 800)),
            ((201, 601), short, None, storm(600, 800)),
        ];
        for (number, (storm, times, xon, expected)) in cases.into_iter().enumerate() {
            assert_eq!(
                events(storm, times, xon, Rule::Frames),
                expected,
                "storm {number}"
            );
        }
    }

    #[test]
    fn one_xon_between_two_looks_is_no_storm() {
        let found = events((50, 650), (200, 200, 200), Some(300), Rule::Frames);
        assert_eq!(found, [(600, Event::Storm), (1000, Event::Restored)]);
        let found = events((50, 450), (200, 200, 200), Some(300), Rule::Frames);
        assert_eq!(found, []);
    }

    /// The rule of SONiC's test plan.
    #[test]
    fn long_storms_are_found_and_short_ones_are_not() {
        let (detection, poll) = (400, 100);
        for rule in [Rule::Frames, Rule::Held] {
            for phase in (0..poll).step_by(7) {
                let times = (detection, 400, poll);
                let found =
                    |length| events((1000 + phase, 1000 + phase + length), times, None, rule);
                let long = found(detection + poll + 1);
                let first = long.first().map_or((0, Event::None), |it| *it);
                assert_eq!(first.1, Event::Storm, "{rule:?} at {phase}");
                let after = first.0 - (1000 + phase);
                assert!((detection..=detection + poll).contains(&after), "{after}");
                assert_eq!(found(detection - poll - 1), [], "{rule:?} at {phase}");
            }
        }
    }

    /// Looks are counted, so what is no whole number of polls counts as the next one.
    #[test]
    fn a_detection_time_between_two_looks_counts_as_the_later() {
        for phase in 1..100 {
            let found = |detection| {
                let storm = (1000 + phase, 2000);
                let found = events(storm, (detection, 400, 100), None, Rule::Frames);
                found.first().map(|it| it.0)
            };
            assert_eq!(found(150), found(200), "phase {phase}");
            assert_eq!(found(200), Some(1300), "phase {phase}");
        }
    }

    #[test]
    fn a_queue_that_sends_or_has_nothing_to_send_is_not_held() {
        let params = Params {
            detection: Time::from_ms(1),
            poll: Time::from_ms(1),
            rule: Rule::Held,
            ..Params::default()
        };
        let held = Seen {
            held: Time::from_us(991),
            waits: true,
            ..Seen::default()
        };
        let first = |seen: Seen| Watchdog::new(&params).on_poll(&seen);
        assert_eq!(first(held), Event::Storm);
        assert_eq!(first(Seen { sent: true, ..held }), Event::None);
        assert_eq!(
            first(Seen {
                waits: false,
                ..held
            }),
            Event::None
        );
        let short = Time::from_us(990);
        assert_eq!(
            first(Seen {
                held: short,
                ..held
            }),
            Event::None
        );
    }
}
