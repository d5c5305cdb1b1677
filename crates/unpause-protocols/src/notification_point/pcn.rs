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
//! | `rec_rate_unit` | bit/s | 1 Mb/s | the paper's RecRate field |
//!
//! # Departures
//!
//! - A lone packet is rated over max(T, its distance to the packet before): Fig. 8 divides by the
//!   distance, the text only when that exceeds T. A flow's very first packet is rated over T.
//! - The reported rate is rounded down, never to zero.
//! - The timer stops in a period without packets and returns to the same grid with the next packet,
//!   which is the same, event for event, as letting it run.

use super::{Mechanism, SHORTEST_PERIOD, next_on_grid};
use crate::notification::Notification;
use crate::units::{Rate, Time};

/// Parameters of the notification point of PCN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// CNP period T.
    pub period: Time,
    /// A period is congested when more than so many per cent of its packets were marked.
    pub congested_above_percent: u32,
    /// Unit of the reported rate.
    pub rec_rate_unit: Rate,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            period: Time::from_us(50),
            congested_above_percent: 95,
            rec_rate_unit: Rate::from_mbps(1),
        }
    }
}

/// State of the notification point of PCN.
#[derive(Clone, Debug)]
pub struct Pcn {
    params: Params,
    /// Arrival of the flow's first packet, from which periods are counted.
    epoch: Time,
    /// End of the running period; never while the flow is silent.
    period_end: Time,
    /// Arrival of the latest packet; never before the first.
    last_arrival: Time,
    /// Between the last two packets, be they in one period or not; never before the second.
    inter_arrival: Time,
    packets: u32,
    marked: u32,
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
