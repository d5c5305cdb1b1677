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
//! | name | unit | default | `ns3_rdma` | `until_xon` | origin |
//! |---|---|---|---|---|---|
//! | `pause_time` | quanta or time | 65 535 quanta | 5 us | not read | the field's largest value; ns3-rdma |
//! | `mode` | - | `Standard` | `Ns3Rdma` | `UntilXon` | HPCC's simulator; `Once`: FCRTV = 0 of Intel's I210 |
//!
//! XOFF and XON are arguments, so that they may move with a shared buffer.
//!
//! # Departures
//!
//! - The standard leaves to the sender of PAUSE whether and when to repeat it: here at half the pause time (in
//!   whole microseconds for `Ns3Rdma`, 2 of 5), counted from the last one sent.
//! - XOFF is sent above the threshold and XON at or below it; the standard fixes neither.
//! - Reaction times of speeds that the standard's table lacks are those of the next faster one, beyond
//!   400 Gb/s its 463 360 bit times.

use crate::state_visitor::Show;
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
    /// Never: what is paused waits for XON.
    UntilXon,
    /// Never: what is paused continues at XON, or when the pause has run out. The next PAUSE follows the next
    /// XON, so whoever continues earlier may find a full buffer.
    Once,
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
    /// The settings of ns3-rdma: 5 us, refreshed every 2 us, and a PAUSE per arrival above XOFF.
    pub const fn ns3_rdma() -> Self {
        Self {
            pause_time: PauseTime::Absolute(Time::from_us(5)),
            mode: PauseMode::Ns3Rdma,
        }
    }

    /// The settings of HPCC's simulator: one PAUSE, which lasts until XON, whatever time the frame states.
    pub const fn until_xon() -> Self {
        Self {
            pause_time: PauseTime::Quanta(u16::MAX),
            mode: PauseMode::UntilXon,
        }
    }

    /// How long a PAUSE asks for on a link of this speed.
    pub fn pause_duration(&self, link_rate: Rate) -> Time {
        match self.pause_time {
            _ if self.mode == PauseMode::UntilXon => Time::NEVER,
            PauseTime::Quanta(quanta) => link_rate.time_for(QUANTUM_BYTES * u64::from(quanta)),
            PauseTime::Absolute(time) => time,
        }
    }

    /// How long after a PAUSE of `pause` the next one follows if nothing changes.
    pub fn refresh_interval(&self, pause: Time) -> Time {
        if matches!(self.mode, PauseMode::UntilXon | PauseMode::Once) {
            return Time::NEVER;
        }
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
#[derive(Clone, Debug, Show)]
pub struct Ingress {
    #[show(same)]
    bytes: u64,
    /// When to repeat the PAUSE; `Some` while the peer is paused.
    #[show(time)]
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

    /// A packet has been admitted, and whoever counts the buffer says whether it is over the threshold.
    #[inline]
    pub fn on_admit_over(
        &mut self,
        now: Time,
        bytes: u32,
        over: bool,
        pause: Time,
        params: &Params,
    ) -> Action {
        // A threshold that any byte or none exceeds.
        let xoff = if over { 0 } else { u64::MAX };
        self.on_admit(now, bytes, xoff, pause, params)
    }

    /// A packet admitted earlier starts to leave the switch, or is discarded; whoever counts the buffer says
    /// whether it is under the threshold again.
    #[inline]
    pub fn on_release_under(&mut self, now: Time, bytes: u32, under: bool) -> Action {
        let held = self.bytes.saturating_sub(u64::from(bytes));
        let xon = if under { held } else { 0 };
        // An empty ingress lets its peer go in any case.
        self.on_release(now, bytes, xon)
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

    /// True while the peer is paused.
    #[inline]
    pub fn is_xoff(&self) -> bool {
        self.refresh.is_some()
    }

    fn send_xoff(&mut self, now: Time, pause: Time, params: &Params) -> Action {
        self.refresh = Some(now.saturating_add(params.refresh_interval(pause)));
        Action::Xoff
    }
}

/// The change that an event makes at an egress.
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
#[derive(Clone, Debug, Show)]
pub struct Egress {
    /// End of the pause; `None` when there is none.
    #[show(time)]
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

/// Bytes of a quantum, the unit of pause times: 512 bits.
pub const QUANTUM_BYTES: u64 = 64;

/// 512 bit times: the unit of pause times on the wire.
pub fn quantum(rate: Rate) -> Time {
    rate.time_for(QUANTUM_BYTES)
}

/// Speeds up to which this many quanta may pass between a PAUSE and its effect: 802.3's maxima (31B.3.7).
const REACTION_QUANTA: [(Rate, u64); 8] = [
    (Rate::from_gbps(1), 2),
    (Rate::from_gbps(10), 60),
    (Rate::from_gbps(25), 80),
    (Rate::from_gbps(40), 118),
    (Rate::from_gbps(50), 147),
    (Rate::from_gbps(100), 394),
    (Rate::from_gbps(200), 453),
    (Rate::from_gbps(400), 905),
];

/// The most quanta that 802.3 lets a peer take to react to a PAUSE, and the speed whose limit that is: of speeds that
/// 802.3 lacks the next faster one, and beyond all of them the fastest.
pub fn reaction_quanta(rate: Rate) -> (u64, Rate) {
    let (speed, quanta) = REACTION_QUANTA
        .iter()
        .find(|(speed, _)| rate <= *speed)
        .unwrap_or(&REACTION_QUANTA[REACTION_QUANTA.len() - 1]);
    (*quanta, *speed)
}

/// The longest that 802.3 lets a peer take to react to a PAUSE.
pub fn reaction_time(rate: Rate) -> Time {
    rate.time_for(reaction_quanta(rate).0 * QUANTUM_BYTES)
}

/// Bytes that can still arrive once XOFF has been decided, over a cable of this much `propagation` delay.
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
    let in_flight = rate.bytes_begun_in(delay);
    mtu_wire
        .saturating_mul(2)
        .saturating_add(pfc_frame_wire)
        .saturating_add(in_flight)
}

#[cfg(test)]
mod tests;
