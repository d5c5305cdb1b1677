//! One (ingress port, class) of a pipelined switch.

use unpause_protocols::flow_control::capfc;
use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::units::Time;

use crate::switch::pause::Requester;

/// One (ingress port, class).
#[derive(Clone, Debug, Default)]
pub struct Ingress {
    /// Decides on PAUSE.
    pub control: capfc::Ingress,
    /// Of the refresh entries among the timers, the one due then counts.
    pub timer_at: Option<Time>,
    /// What a PAUSE asks for on this link.
    pub pause: Time,
    /// Transitions to XOFF.
    pub pause_events: u64,
    /// XOFF frames sent, refreshes included.
    pub pause_frames: u64,
    /// Frames of a lossless priority dropped here.
    pub dropped_packets: u64,
    /// Largest number of bytes held.
    pub max_bytes: u64,
}

impl Requester for Ingress {
    fn next_timer(&self) -> Time {
        self.control.next_timer()
    }
    fn on_timer(&mut self, now: Time, params: &pfc::Params) -> Action {
        self.control.on_timer(now, self.pause, params)
    }
    fn timer_at(&mut self) -> &mut Option<Time> {
        &mut self.timer_at
    }
    fn on_xoff_sent(&mut self) -> Time {
        self.pause_frames += 1;
        self.pause
    }
}
