//! Priority-based flow control.
//!
//! # What it does
//!
//! An ingress counts the bytes it holds of one priority and asks its peer to pause that priority above
//! XOFF and to go on at XON. An egress obeys until XON or until the pause asked for has run out.
//!
//! # Source
//!
//! IEEE 802.1Qbb (now 802.1Q clause 36) and IEEE 802.3 Annex 31D; [`PauseMode::Ns3Rdma`] from
//! bobzhuyb/ns3-rdma.
//!
//! # Parameters
//!
//! | name | unit | default | `ns3_rdma` | origin |
//! |---|---|---|---|---|
//! | `pause_time` | quanta or time | 65 535 quanta | 5 us | the field's largest value; ns3-rdma |
//! | `mode` | - | `Standard` | `Ns3Rdma` | - |
//!
//! XOFF and XON are arguments, so that they may move with a shared buffer.
//!
//! # Departures
//!
//! - The standard leaves to the sender of PAUSE when to repeat it: here at half the pause time (in whole
//!   microseconds for `Ns3Rdma`, 2 of 5), counted from the last one sent.
//! - XOFF is sent above the threshold and XON at or below it; the standard fixes neither.
//! - Reaction times of speeds that the standard's table lacks are those of the next faster one, beyond
//!   400 Gb/s its 463 360 bit times.

use crate::units::{Rate, Time};

/// How long a PAUSE asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseTime {
    /// In quanta of 512 bit times, as the frame has it.
    Quanta(u16),
    /// The same at every link speed.
    Absolute(Time),
}

/// When PAUSE frames are sent besides the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PauseMode {
    /// To refresh the pause.
    #[default]
    Standard,
    /// To refresh it, and for every arrival above XOFF.
    Ns3Rdma,
}

/// Parameters of PFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// How long a PAUSE asks for.
    pub pause_time: PauseTime,
    /// When it is repeated.
    pub mode: PauseMode,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            pause_time: PauseTime::Quanta(u16::MAX),
            mode: PauseMode::Standard,
        }
    }
}

impl Params {
    /// What ns3-rdma does: 5 us, refreshed every 2 us, and a PAUSE per arrival above XOFF.
    pub const fn ns3_rdma() -> Self {
        Self {
            pause_time: PauseTime::Absolute(Time::from_us(5)),
            mode: PauseMode::Ns3Rdma,
        }
    }

    /// How long a PAUSE asks for on a link of this speed.
    pub fn pause_duration(&self, link_rate: Rate) -> Time {
        match self.pause_time {
            PauseTime::Quanta(quanta) => link_rate.time_for(QUANTUM_BYTES * u64::from(quanta)),
            PauseTime::Absolute(time) => time,
        }
    }

    /// How long after a PAUSE of `pause` the next one follows if nothing changes.
    pub fn refresh_interval(&self, pause: Time) -> Time {
        const MICROSECOND: u64 = Time::from_us(1).as_ps();
        let half = pause.as_ps() / 2;
        let interval = match self.mode {
            PauseMode::Ns3Rdma if half >= MICROSECOND => half / MICROSECOND * MICROSECOND,
            _ => half,
        };
        Time::from_ps(interval).max(SHORTEST_REFRESH)
    }
}

/// So that a refresh always lies ahead.
const SHORTEST_REFRESH: Time = Time::from_ns(1);

/// The frame to send upstream now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// None.
    None,
    /// A PAUSE.
    Xoff,
    /// A PAUSE of time zero.
    Xon,
}

/// Accounting of one (ingress port, priority): the sender of PAUSE.
#[derive(Clone, Debug)]
pub struct Ingress {
    bytes: u64,
    /// When to repeat the PAUSE; `Some` while the peer has been told to stop.
    refresh: Option<Time>,
}

impl Default for Ingress {
    fn default() -> Self {
        Self::new()
    }
}

impl Ingress {
    /// Holds nothing.
    pub const fn new() -> Self {
        Self {
            bytes: 0,
            refresh: None,
        }
    }

    /// A packet has been admitted. `pause` is the duration that a PAUSE asks for.
    #[inline]
    pub fn on_admit(
        &mut self,
        now: Time,
        bytes: u32,
        xoff: u64,
        pause: Time,
        params: &Params,
    ) -> Action {
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        let repeats = params.mode == PauseMode::Ns3Rdma;
        if self.bytes > xoff && (repeats || !self.is_xoff()) {
            self.send_xoff(now, pause, params)
        } else {
            Action::None
        }
    }

    /// A packet admitted earlier starts to leave the switch, or is discarded.
    #[inline]
    pub fn on_release(&mut self, _now: Time, bytes: u32, xon: u64) -> Action {
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
        if self.is_xoff() && self.bytes <= xon {
            self.refresh = None;
            Action::Xon
        } else {
            Action::None
        }
    }

    /// Repeats the PAUSE when it is time.
    pub fn on_timer(&mut self, now: Time, pause: Time, params: &Params) -> Action {
        match self.refresh {
            Some(due) if due <= now => self.send_xoff(now, pause, params),
            _ => Action::None,
        }
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] while the peer may send.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.refresh.unwrap_or(Time::NEVER)
    }

    /// Bytes held.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// True while the peer has been told to stop.
    #[inline]
    pub fn is_xoff(&self) -> bool {
        self.refresh.is_some()
    }

    fn send_xoff(&mut self, now: Time, pause: Time, params: &Params) -> Action {
        self.refresh = Some(now.saturating_add(params.refresh_interval(pause)));
        Action::Xoff
    }
}

/// What an event has done to an egress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing that the queue need know.
    None,
    /// It must stop after the frame being sent.
    Paused,
    /// It may transmit again.
    Resumed,
}

/// One (egress port, priority): the transmitter that is throttled.
#[derive(Clone, Debug)]
pub struct Egress {
    /// End of the pause; `None` when there is none.
    until: Option<Time>,
}

impl Default for Egress {
    fn default() -> Self {
        Self::new()
    }
}

impl Egress {
    /// May transmit.
    pub const fn new() -> Self {
        Self { until: None }
    }

    /// A PAUSE of this duration takes effect; [`Time::ZERO`] is XON. It replaces what is left of the one
    /// before.
    pub fn on_frame(&mut self, now: Time, pause: Time) -> Change {
        let was_paused = self.is_paused();
        self.until = (pause > Time::ZERO).then(|| now.saturating_add(pause));
        match (was_paused, self.is_paused()) {
            (false, true) => Change::Paused,
            (true, false) => Change::Resumed,
            _ => Change::None,
        }
    }

    /// Ends a pause that has run out.
    pub fn on_timer(&mut self, now: Time) -> Change {
        match self.until {
            Some(until) if until <= now => {
                self.until = None;
                Change::Resumed
            }
            _ => Change::None,
        }
    }

    /// When to call [`Self::on_timer`]; [`Time::NEVER`] when no pause runs.
    #[inline]
    pub fn next_timer(&self) -> Time {
        self.until.unwrap_or(Time::NEVER)
    }

    /// True during a pause.
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.until.is_some()
    }
}

/// 512 bits.
const QUANTUM_BYTES: u64 = 64;

/// 512 bit times: the unit of pause times on the wire.
pub fn quantum(rate: Rate) -> Time {
    rate.time_for(QUANTUM_BYTES)
}

/// Speeds up to which so many quanta may pass between a PAUSE and its effect: 802.3's maxima.
const REACTION_QUANTA: [(Rate, u64); 6] = [
    (Rate::from_gbps(1), 2),
    (Rate::from_gbps(10), 60),
    (Rate::from_gbps(25), 80),
    (Rate::from_gbps(40), 118),
    (Rate::from_gbps(100), 394),
    (Rate::from_gbps(400), 905),
];

/// The longest that 802.3 lets a peer take to react to a PAUSE.
pub fn reaction_time(rate: Rate) -> Time {
    let quanta = REACTION_QUANTA
        .iter()
        .find(|(speed, _)| rate <= *speed)
        .unwrap_or(&REACTION_QUANTA[REACTION_QUANTA.len() - 1])
        .1;
    rate.time_for(quanta * QUANTUM_BYTES)
}

/// Bytes that can still arrive once XOFF has been decided, over a cable of so much `propagation` delay.
///
/// A frame just started delays the PAUSE, which takes its own time, the cable both ways and the peer's
/// `reaction`; and the peer finishes the frame it has started.
pub fn headroom(
    rate: Rate,
    propagation: Time,
    mtu_wire: u64,
    pfc_frame_wire: u64,
    reaction: Time,
) -> u64 {
    let delay = propagation
        .saturating_add(propagation)
        .saturating_add(reaction);
    let in_flight = bytes_in(rate, delay);
    mtu_wire
        .saturating_mul(2)
        .saturating_add(pfc_frame_wire)
        .saturating_add(in_flight)
}

/// Bytes that pass in `span`, rounded up.
fn bytes_in(rate: Rate, span: Time) -> u64 {
    const PS_BITS_PER_BYTE: u128 = 8_000_000_000_000;
    let product = u128::from(rate.as_bps()) * u128::from(span.as_ps());
    u64::try_from(product.div_ceil(PS_BITS_PER_BYTE)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Time = Time::from_us(100);
    const XOFF: u64 = 10_000;
    const XON: u64 = 8_000;

    fn at_us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn quanta_are_512_bit_times() {
        let table = [
            (1, 512_000, 33_553_920_000),
            (10, 51_200, 3_355_392_000),
            (40, 12_800, 838_848_000),
            (100, 5_120, 335_539_200),
        ];
        for (gbps, one, longest) in table {
            let rate = Rate::from_gbps(gbps);
            assert_eq!(quantum(rate).as_ps(), one);
            assert_eq!(
                Params::default().pause_duration(rate),
                Time::from_ns(longest / 1000) + Time::from_ps(longest % 1000)
            );
        }
        let ns3 = Params::ns3_rdma();
        assert_eq!(ns3.pause_duration(Rate::from_gbps(40)), at_us(5));
    }

    #[test]
    fn reaction_times_are_the_standards() {
        let table = [
            (1, 1_024),
            (10, 30_720),
            (25, 40_960),
            (40, 60_416),
            (100, 201_728),
            (400, 463_360),
            // Not in the standard's table.
            (50, 201_728),
            (200, 463_360),
            (800, 463_360),
        ];
        for (gbps, bit_times) in table {
            let rate = Rate::from_gbps(gbps);
            assert_eq!(reaction_time(rate), rate.time_for(bit_times / 8));
        }
    }

    #[test]
    fn headroom_has_its_golden_values() {
        let golden = [
            (40, at_us(5), 1068, 59_772),
            (10, at_us(5), 1068, 18_560),
            (10, at_us(125), 1068, 318_560),
            (1, Time::from_ns(500), 1542, 3_421),
        ];
        for (gbps, propagation, mtu, bytes) in golden {
            let rate = Rate::from_gbps(gbps);
            let reaction = reaction_time(rate);
            assert_eq!(headroom(rate, propagation, mtu, 84, reaction), bytes);
        }
        let ideal = headroom(Rate::from_gbps(40), Time::ZERO, 1068, 84, Time::ZERO);
        assert_eq!(ideal, 2 * 1068 + 84);
        let begun = headroom(Rate::from_gbps(40), Time::ZERO, 0, 0, Time::from_ps(1));
        assert_eq!(begun, 1);
    }

    #[test]
    fn an_ingress_sends_one_xoff_above_and_one_xon_at_or_below() {
        let params = Params::default();
        let mut ingress = Ingress::new();
        let admit = |ingress: &mut Ingress, bytes| {
            ingress.on_admit(Time::ZERO, bytes, XOFF, PAUSE, &params)
        };
        assert_eq!(admit(&mut ingress, 10_000), Action::None);
        assert_eq!(admit(&mut ingress, 1), Action::Xoff);
        assert_eq!(admit(&mut ingress, 1_000), Action::None);
        assert_eq!(ingress.on_release(Time::ZERO, 3_000, XON), Action::None);
        assert_eq!((ingress.bytes(), ingress.is_xoff()), (8_001, true));
        assert_eq!(ingress.on_release(Time::ZERO, 1, XON), Action::Xon);
        assert_eq!(ingress.on_release(Time::ZERO, 1, XON), Action::None);
        assert_eq!(ingress.next_timer(), Time::NEVER);
    }

    #[test]
    fn a_standing_xoff_is_refreshed_every_half_pause() {
        let params = Params::default();
        let mut ingress = Ingress::new();
        ingress.on_admit(Time::ZERO, 20_000, XOFF, PAUSE, &params);
        for refresh in 1..5 {
            let due = at_us(50 * refresh);
            assert_eq!(ingress.next_timer(), due);
            let early = Time::from_ps(due.as_ps() - 1);
            assert_eq!(ingress.on_timer(early, PAUSE, &params), Action::None);
            assert_eq!(ingress.on_timer(due, PAUSE, &params), Action::Xoff);
        }
        ingress.on_release(at_us(210), 20_000, XON);
        assert_eq!(ingress.on_timer(at_us(300), PAUSE, &params), Action::None);
    }

    #[test]
    fn ns3_rdma_repeats_xoff_for_every_arrival_and_every_two_microseconds() {
        let params = Params::ns3_rdma();
        let pause = params.pause_duration(Rate::from_gbps(40));
        let mut ingress = Ingress::new();
        for arrival in 0..5 {
            let now = Time::from_ns(200 * arrival);
            let action = ingress.on_admit(now, 10_001, XOFF, pause, &params);
            assert_eq!(action, Action::Xoff);
            assert_eq!(ingress.next_timer(), now + at_us(2));
        }
        // 1 ms of refreshes: 500 kPAUSE/s.
        let mut refreshes = 0;
        let end = Time::from_ns(800) + Time::from_ms(1);
        while ingress.next_timer() <= end {
            let due = ingress.next_timer();
            assert_eq!(ingress.on_timer(due, pause, &params), Action::Xoff);
            refreshes += 1;
        }
        assert_eq!(refreshes, 500);
    }

    #[test]
    fn an_egress_pauses_until_xon() {
        let mut egress = Egress::new();
        assert_eq!(egress.on_frame(at_us(0), Time::ZERO), Change::None);
        assert_eq!(egress.on_frame(at_us(1), PAUSE), Change::Paused);
        assert!(egress.is_paused());
        assert_eq!(egress.on_frame(at_us(2), Time::ZERO), Change::Resumed);
        assert_eq!(egress.next_timer(), Time::NEVER);
        assert_eq!(egress.on_timer(at_us(500)), Change::None);
    }

    #[test]
    fn an_egress_resumes_when_the_latest_pause_runs_out() {
        let mut egress = Egress::new();
        egress.on_frame(at_us(0), PAUSE);
        assert_eq!(egress.on_frame(at_us(50), PAUSE), Change::None);
        assert_eq!(egress.on_timer(at_us(100)), Change::None);
        // A shorter pause replaces a longer one.
        assert_eq!(egress.on_frame(at_us(60), at_us(10)), Change::None);
        assert_eq!(egress.next_timer(), at_us(70));
        assert_eq!(egress.on_timer(at_us(70)), Change::Resumed);
        assert!(!egress.is_paused());
    }
}
