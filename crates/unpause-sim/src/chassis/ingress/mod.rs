//! One (ingress port, class): what it holds, and the PAUSE that follows from it.

use std::fmt::Debug;

use unpause_protocols::flow_control::capfc;
use unpause_protocols::flow_control::pfc::{self, Action};
use unpause_protocols::state_visitor::Show;
use unpause_protocols::units::Time;

use crate::fabric::packet::Packet;

pub mod culprit;

/// Counts what an (ingress port, class) holds and decides when to send PAUSE.
///
/// How packets are counted is between it and the switch model: that calls methods of the type itself, and hands what they answer
/// to [`Chassis::request_pfc`](super::Chassis::request_pfc). For that the chassis then asks [`Self::next_timer`], and calls
/// [`Self::on_timer`] when it is due, so an XOFF is repeated without the model. It asks [`Self::is_xoff`] when PFC restarts at a
/// link that has changed, or after a storm, to send the XOFF again.
pub trait PauseSource: Debug + Show {
    /// Bytes held.
    fn bytes(&self) -> u64;
    /// True while the peer is paused.
    fn is_xoff(&self) -> bool;
    /// When to call [`PauseSource::on_timer`].
    fn next_timer(&self) -> Time;
    /// Repeats the PAUSE, which asks for `pause`, when it is time.
    fn on_timer(&mut self, now: Time, pause: Time, params: &pfc::Params) -> Action;
}

macro_rules! pause_source {
    ($($law:ty),*) => {$(
        impl PauseSource for $law {
            #[inline]
            fn bytes(&self) -> u64 {
                self.bytes()
            }
            #[inline]
            fn is_xoff(&self) -> bool {
                self.is_xoff()
            }
            #[inline]
            fn next_timer(&self) -> Time {
                self.next_timer()
            }
            fn on_timer(&mut self, now: Time, pause: Time, params: &pfc::Params) -> Action {
                self.on_timer(now, pause, params)
            }
        }
    )*};
}

pause_source!(pfc::Ingress, capfc::Ingress);

/// One (ingress port, class): what every packet touches, in one cache line if `S` is short.
#[derive(Clone, Debug, Default, Show)]
#[repr(align(64))]
pub struct Ingress<S> {
    /// Its count of bytes, which decides on PAUSE.
    #[show(nested)]
    pub source: S,
    /// The pause time of a PAUSE on this link.
    #[show(skip)]
    pub pause: Time,
    /// Largest number of bytes held.
    #[show(skip = "does not grow where things repeat themselves")]
    pub max_bytes: u64,
}

/// Totals of one (ingress port, class).
#[derive(Clone, Debug, Default, Show)]
pub struct IngressTotals {
    /// Of the refresh entries among the timers, the one due then counts.
    #[show(time)]
    pub timer_at: Option<Time>,
    /// Transitions to XOFF.
    #[show(total)]
    pub pause_events: u64,
    /// XOFF frames sent, refreshes included.
    #[show(total)]
    pub pause_frames: u64,
    /// CNMs that a congestion point here sent.
    #[show(total)]
    pub cnm_packets: u64,
    /// Frames of a lossless priority dropped here.
    #[show(total)]
    pub dropped_packets: u64,
    /// Their bytes, without framing.
    #[show(total)]
    pub dropped_bytes: u64,
    /// Those of them that carried no data: ACKs and other control frames.
    #[show(total)]
    pub dropped_control_packets: u64,
    /// Their bytes, without framing.
    #[show(total)]
    pub dropped_control_bytes: u64,
}

impl IngressTotals {
    /// Counts a dropped frame of a lossless priority.
    #[cold]
    pub fn count_drop(&mut self, packet: &Packet) {
        let bytes = u64::from(packet.bytes);
        self.dropped_packets += 1;
        self.dropped_bytes += bytes;
        if !packet.kind.is_data() {
            self.dropped_control_packets += 1;
            self.dropped_control_bytes += bytes;
        }
    }
}

impl<S: PauseSource> Ingress<S> {
    /// Holds nothing, on a link on which a PAUSE asks for `pause`.
    pub fn new(source: S, pause: Time) -> Self {
        Self {
            source,
            pause,
            max_bytes: 0,
        }
    }

    /// `source` has counted a packet.
    #[inline]
    pub fn note_admission(&mut self) {
        self.max_bytes = self.max_bytes.max(self.source.bytes());
    }
}
