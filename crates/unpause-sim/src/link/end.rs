//! The end of a link at a node: a switch's port or a host's NIC. It transmits one packet at a time, obeys the peer's PAUSE class
//! by class, and sends PAUSE to the peer.

use unpause_protocols::flow_control::pfc::{Action, Change};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use super::pause::{PauseState, Place};
use crate::engine::log::Log;
use crate::engine::window::Window;
use crate::fabric::packet::{Kind, Packet};
use crate::fabric::ports::Transmitter;
use crate::outcome::results::Queued;

/// The end of a link that every departing packet touches. It is shown with its owner's `flag`.
#[derive(Clone, Debug, Show)]
#[show(pub fn show(flag: bool))]
pub struct End {
    /// It transmits until then.
    #[show(time)]
    pub busy_until: Time,
    /// Its transmitting side: a copy, so that a packet that leaves touches this cache line alone.
    #[show(skip)]
    pub transmitter: Transmitter,
    /// Bit c set: class c has something to send.
    #[show(same = u64::from_le_bytes([flag.into(), *backlog, *paused, *xoff, *xon, 0, 0, 0]))]
    pub backlog: u8,
    /// Bit c set: class c may not send: the peer has paused it, it has no credits, or a shaper holds it.
    #[show(skip = "shown with `backlog`")]
    pub paused: u8,
    /// Classes for which an XOFF is to be sent to the peer.
    #[show(skip = "shown with `backlog`")]
    pub xoff: u8,
    /// Classes for which an XON is to be sent to the peer.
    #[show(skip = "shown with `backlog`")]
    pub xon: u8,
}

/// The effect of a PFC frame or of the end of a pause time.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// Whether the class has been paused or resumed.
    pub change: Change,
    /// When a timer has to expire, if one has to be set.
    pub due: Option<Time>,
}

impl End {
    /// One that is idle.
    pub fn new(transmitter: &Transmitter) -> Self {
        Self {
            busy_until: Time::ZERO,
            transmitter: *transmitter,
            backlog: 0,
            paused: 0,
            xoff: 0,
            xon: 0,
        }
    }

    /// Classes that have something to send and may.
    #[inline(always)]
    pub fn eligible(&self) -> u8 {
        self.backlog & !self.paused
    }

    /// True if `class` may not send.
    #[inline(always)]
    pub fn is_paused(&self, class: u8) -> bool {
        self.paused >> class & 1 == 1
    }

    /// True if nothing is being transmitted.
    #[inline(always)]
    pub fn is_free(&self, now: Time) -> bool {
        self.busy_until <= now
    }

    /// [`Window::transmit`]; it is busy until the packet has left.
    #[inline(always)]
    pub fn transmit(
        &mut self,
        now: Time,
        packet: &Packet,
        flags: u8,
        queued: Queued,
        window: &mut Window<'_, '_>,
    ) {
        self.busy_until = window.transmit(&self.transmitter, now, packet, flags, queued);
    }

    /// [`Window::pass_on`]; the same.
    #[inline(always)]
    pub fn pass_on(&mut self, now: Time, place: u32, wire_bytes: u64, window: &mut Window<'_, '_>) {
        self.busy_until = window.pass_on(&self.transmitter, now, place, wire_bytes);
    }

    /// `class` needs an XOFF or an XON, which replaces one that has not been sent yet.
    pub fn request_pfc(&mut self, class: u8, action: Action) {
        let bit = 1 << class;
        match action {
            Action::None => {}
            Action::Xoff => (self.xoff, self.xon) = (self.xoff | bit, self.xon & !bit),
            Action::Xon => (self.xoff, self.xon) = (self.xoff & !bit, self.xon | bit),
        }
    }

    /// True if a PFC frame is to be sent.
    #[inline(always)]
    pub fn has_pfc(&self) -> bool {
        self.xoff | self.xon != 0
    }

    /// Sends a PFC frame for the classes that need one: all that need an XOFF, otherwise all that need an XON. `count` is called
    /// for each class that is paused, and returns for how long.
    pub fn send_pfc(
        &mut self,
        now: Time,
        mut count: impl FnMut(u8) -> Time,
        window: &mut Window<'_, '_>,
    ) {
        let pauses = self.xoff != 0;
        let asked = if pauses {
            &mut self.xoff
        } else {
            &mut self.xon
        };
        let classes = std::mem::take(asked);
        let (mut priorities, mut pause) = (0, Time::ZERO);
        for class in (0..u8::BITS as u8).filter(|class| classes >> class & 1 == 1) {
            priorities |= 1 << window.plan.classes.priority(class);
            if pauses {
                pause = count(class);
            }
        }
        let frame = Packet {
            aux: priorities,
            stamp: pause.as_ps(),
            ..Packet::new(Kind::Pfc, 7, 0, Kind::Pfc.control_bytes())
        };
        self.transmit(now, &frame, 0, Queued::default(), window);
    }

    /// A PFC frame takes effect on `class`, with this pause time, which is zero for XON. `state` is what the class knows of PAUSE.
    pub fn obey(
        &mut self,
        now: Time,
        (class, pause): (u8, Time),
        state: &mut PauseState,
        place: Place,
        log: &mut Log,
    ) -> Effect {
        let change = state.on_frame(now, pause, self.busy_until, place, log);
        self.take_over(class, change, state)
    }

    /// A timer for the end of a pause of `class` has expired; `None` if it no longer counts.
    pub fn on_expiry(
        &mut self,
        now: Time,
        class: u8,
        state: &mut PauseState,
        place: Place,
        log: &mut Log,
    ) -> Option<Effect> {
        if !state.takes_timer(now) {
            return None;
        }
        let change = state.on_timer(now, place, log);
        Some(self.take_over(class, change, state))
    }

    /// `class` has no credits for what it would send from `from` on, and counts as paused.
    pub fn wait_for_credits(
        &mut self,
        now: Time,
        (class, from): (u8, Time),
        state: &mut PauseState,
        place: Place,
        log: &mut Log,
    ) {
        let change = state.on_frame(now, Time::NEVER, from, place, log);
        debug_assert!(change == Change::Paused, "it may have sent until now");
        self.take_over(class, change, state);
    }

    /// Marks `class` as `state` has changed.
    fn take_over(&mut self, class: u8, change: Change, state: &mut PauseState) -> Effect {
        match change {
            Change::None => {}
            Change::Paused => self.paused |= 1 << class,
            Change::Resumed => self.paused &= !(1 << class),
        }
        let due = state.arm();
        Effect { change, due }
    }
}
