//! The notification point of PCN.
//!
//! # What it does
//!
//! Cuts the life of a flow into periods of T. At the end of each in which a packet arrived it sends a
//! CNP: "decrease to this receive rate" when more than 95 % of the packets were marked, else
//! "increase".
//!
//! # Source
//!
//! W. Cheng et al., "Re-architecting Congestion Management in Lossless Ethernet", NSDI 2020, the
//! notification point (Fig. 8).
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `period` | time | 50 us | the paper's T; its guideline is the largest RTT of the network |
//! | `congested_above_percent` | % of packets | 95 | Fig. 8, strictly more |
//! | `rec_rate_unit` | bit/s | 1 kb/s | ours: fine enough that rounding costs nothing; 1 Mb/s is the unit that the paper normalises RecRate by |
//!
//! # Departures
//!
//! - A lone packet is rated over max(T, its distance to the packet before): Fig. 8 divides by the
//!   distance, the text only when that exceeds T. A flow's very first packet is rated over T.
//! - The reported rate is rounded down, never to zero. The paper has a field of 32 bits, "normalized by
//!   1 Mb/s", and does not say whether of whole Mb/s: those would take up to a tenth of its rate from each
//!   of 1024 flows through 10 Gb/s.
//! - The timer stops in a period without packets and returns to the same grid with the next packet,
//!   which is the same, event for event, as letting it run.

use super::Mechanism;
use crate::notification::Notification;
use crate::state_visitor::Show;
use crate::timer::{SHORTEST_PERIOD, next_on_grid};
use crate::units::{Rate, Time};

/// Parameters of the notification point of PCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// CNP period T.
    pub period: Time,
    /// A period is congested when more than this many per cent of its packets were marked.
    pub congested_above_percent: u32,
    /// Unit of the reported rate.
    pub rec_rate_unit: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            period: Time::from_us(50),
            congested_above_percent: 95,
            rec_rate_unit: Rate::from_bps(1000),
        }
    }
}

/// State of the notification point of PCN.
#[derive(Clone, Debug, Show)]
pub struct Pcn {
    #[show(skip)]
    params: Params,
    /// Arrival of the flow's first packet, from which periods are counted.
    #[show(time)]
    epoch: Time,
    /// End of the running period; never while the flow is silent.
    #[show(deadline)]
    period_end: Time,
    /// Arrival of the latest packet; never before the first.
    #[show(time)]
    last_arrival: Time,
    /// Between the last two packets, be they in one period or not; never before the second.
    #[show(same)]
    inter_arrival: Time,
    #[show(total)]
    packets: u32,
    #[show(total)]
    marked: u32,
    #[show(total)]
    bytes: u64,
}

impl Pcn {
    /// A flow of which nothing has arrived yet.
    pub fn new(params: &Params) -> Self {
        let mut params = *params;
        params.period = params.period.max(SHORTEST_PERIOD);
        Self {
            params,
            epoch: Time::NEVER,
            period_end: Time::NEVER,
            last_arrival: Time::NEVER,
            inter_arrival: Time::NEVER,
            packets: 0,
            marked: 0,
            bytes: 0,
        }
    }

    /// Arms the timer of a flow that was silent.
    fn wake(&mut self, now: Time) {
        if self.epoch.is_never() {
            self.epoch = now;
        }
        self.period_end = next_on_grid(self.epoch, self.params.period, now);
    }

    fn is_congested(&self) -> bool {
        let percent = u64::from(self.params.congested_above_percent);
        100 * u64::from(self.marked) > percent * u64::from(self.packets)
    }

    /// Receive rate of the running period in units of `rec_rate_unit`.
    fn rec_rate(&self) -> u32 {
        let period = self.params.period;
        let span = if self.packets > 1 || self.inter_arrival.is_never() {
            period
        } else {
            period.max(self.inter_arrival)
        };
        let units = Rate::of(self.bytes, span).as_bps() / self.params.rec_rate_unit.as_bps().max(1);
        u32::try_from(units).unwrap_or(u32::MAX).max(1)
    }

    fn notification(&self) -> Notification {
        let congested = self.is_congested();
        Notification::Pcn {
            congested,
            rec_rate: if congested { self.rec_rate() } else { 0 },
        }
    }
}

impl Mechanism for Pcn {
    #[inline]
    fn on_data(&mut self, now: Time, bytes: u32, ce: bool) -> Option<Notification> {
        if self.period_end.is_never() {
            self.wake(now);
        }
        if !self.last_arrival.is_never() {
            self.inter_arrival = now.saturating_sub(self.last_arrival);
        }
        self.last_arrival = now;
        self.packets = self.packets.saturating_add(1);
        self.marked = self.marked.saturating_add(u32::from(ce));
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        None
    }

    fn on_timer(&mut self, now: Time) -> Option<Notification> {
        if self.period_end.is_never() || now < self.period_end {
            return None;
        }
        if self.packets == 0 {
            self.period_end = Time::NEVER;
            return None;
        }
        let notification = self.notification();
        self.packets = 0;
        self.marked = 0;
        self.bytes = 0;
        self.period_end = self.period_end.saturating_add(self.params.period);
        Some(notification)
    }

    #[inline]
    fn next_timer(&self) -> Time {
        self.period_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Time = Time::from_us(50);

    fn at_us(us: u64) -> Time {
        Time::from_us(us)
    }

    /// With the paper's unit of rates.
    fn in_mbps() -> Pcn {
        Pcn::new(&Params {
            rec_rate_unit: Rate::from_mbps(1),
            ..Params::default()
        })
    }

    fn increase() -> Option<Notification> {
        Some(Notification::Pcn {
            congested: false,
            rec_rate: 0,
        })
    }

    fn decrease(rec_rate: u32) -> Option<Notification> {
        Some(Notification::Pcn {
            congested: true,
            rec_rate,
        })
    }

    /// The answer to a period of `packets` packets of 1000 B, this many of them marked.
    fn after(packets: u32, marked: u32) -> Option<Notification> {
        let mut np = in_mbps();
        for i in 0..packets {
            let now = Time::from_ns(u64::from(i) * 100);
            assert_eq!(np.on_data(now, 1000, i < marked), None);
        }
        assert_eq!(np.next_timer(), T);
        np.on_timer(T)
    }

    #[test]
    fn congested_is_strictly_more_than_95_percent() {
        assert_eq!(after(100, 95), increase());
        assert_eq!(after(100, 96), decrease(16_000));
        assert_eq!(after(20, 19), increase());
        assert_eq!(after(20, 20), decrease(3_200));
        // Fewer than 20: all of them.
        assert_eq!(after(19, 18), increase());
        assert_eq!(after(19, 19), decrease(3_040));
        assert_eq!(after(1, 0), increase());
    }

    #[test]
    fn rates_are_truncated_but_never_to_zero() {
        let mut np = in_mbps();
        np.on_data(Time::ZERO, 61, true);
        np.on_data(Time::ZERO, 0, true);
        // 9.76 Mb/s
        assert_eq!(np.on_timer(T), decrease(9));
        np.on_data(at_us(60), 1, true);
        np.on_data(at_us(61), 1, true);
        assert_eq!(np.on_timer(at_us(100)), decrease(1));
    }

    #[test]
    fn rates_are_in_kilobits_unless_said_otherwise() {
        for (unit, rate) in [(1000, 9_760), (1, 9_760_000)] {
            let mut np = Pcn::new(&Params {
                rec_rate_unit: Rate::from_bps(unit),
                ..Params::default()
            });
            np.on_data(Time::ZERO, 61, true);
            assert_eq!(np.on_timer(T), decrease(rate));
        }
        assert_eq!(Params::default().rec_rate_unit, Rate::from_bps(1000));
    }

    #[test]
    fn one_flow_at_line_rate_gets_one_increase_per_period() {
        let mut np = in_mbps();
        let mut notifications = 0;
        for i in 0..10_000 {
            let now = Time::from_ns(i * 200);
            if np.next_timer() <= now {
                assert_eq!(np.on_timer(now), increase());
                notifications += 1;
            }
            np.on_data(now, 1000, false);
        }
        // 2 ms less the last 200 ns.
        assert_eq!(notifications, 39);
    }

    #[test]
    fn a_lone_packet_is_rated_over_its_distance_to_the_one_before() {
        let mut np = in_mbps();
        np.on_data(Time::ZERO, 1500, true);
        // The very first over T.
        assert_eq!(np.on_timer(T), decrease(240));
        for k in 1..10 {
            assert_eq!(np.on_timer(np.next_timer()), None);
            let now = at_us(150 * k);
            np.on_data(now, 1500, true);
            assert_eq!(np.next_timer(), now + T);
            assert_eq!(np.on_timer(now + T), decrease(80));
        }
    }

    #[test]
    fn two_packets_that_straddle_a_boundary_are_not_rated_over_their_short_distance() {
        let mut np = in_mbps();
        np.on_data(Time::ZERO, 1000, true);
        np.on_data(at_us(49), 1000, true);
        np.on_timer(T);
        np.on_data(at_us(51), 1000, true);
        assert_eq!(np.on_timer(at_us(100)), decrease(160));
    }

    #[test]
    fn a_silent_flow_costs_hpcc_nic_and_comes_back_on_the_grid() {
        let mut np = in_mbps();
        assert_eq!(np.next_timer(), Time::NEVER);
        np.on_data(at_us(7), 1000, false);
        assert_eq!(np.next_timer(), at_us(57));
        assert_eq!(np.on_timer(at_us(57)), increase());
        assert_eq!(np.next_timer(), at_us(107));
        assert_eq!(np.on_timer(at_us(107)), None);
        assert_eq!(np.next_timer(), Time::NEVER);
        np.on_data(at_us(1_020), 1000, false);
        assert_eq!(np.next_timer(), at_us(1_057));
        np.on_timer(at_us(1_057));
        np.on_timer(at_us(1_107));
        // Exactly on the grid: the period that starts there.
        np.on_data(at_us(2_007), 1000, false);
        assert_eq!(np.next_timer(), at_us(2_057));
    }

    #[test]
    fn an_early_timer_does_nothing() {
        let mut np = in_mbps();
        np.on_data(Time::ZERO, 1000, true);
        assert_eq!(np.on_timer(at_us(49)), None);
        assert_eq!(np.on_timer(at_us(50)), decrease(160));
    }
}
