//! Credits of a link: a packet starts only if the far end has room for it.
//!
//! One state machine per end of a link. Its owner tells it of every packet that starts, comes and leaves the buffer, and carries
//! its updates to the other end.

use crate::dispatch::mechanisms;
use crate::units::{Rate, Time};

pub mod cbfc;
mod mechanism;

pub use mechanism::{CHANNELS, Mechanism, Settings, UPDATE_BYTES};

mechanisms! {
    ($)
    /// The credits of one end of a link.
    Credits: always,
    /// CBFC of Ultra Ethernet.
    Cbfc(cbfc::Cbfc),
}

impl Default for Config {
    fn default() -> Self {
        Self::Cbfc(cbfc::Params::default())
    }
}

impl Settings for Config {
    fn taken(&self, bytes: u32) -> u64 {
        ask!(self, it => it.taken(bytes))
    }
    fn counted(&self, bytes: u64) -> u64 {
        ask!(self, it => it.counted(bytes))
    }
    fn full_rate_bytes(&self, rate: Rate, propagation: Time, largest_bytes: u64) -> u64 {
        ask!(self, it => it.full_rate_bytes(rate, propagation, largest_bytes))
    }
}

impl Credits {
    /// Of a link of this rate whose ends have a buffer of this many bytes for each VC, and hold nothing.
    pub fn new(config: &Config, buffer_bytes: u64, rate: Rate) -> Self {
        build!(config, buffer_bytes, rate)
    }
}

impl Mechanism for Credits {
    fn may_send(&self, vc: u8, before: Option<u32>, bytes: u32) -> bool {
        dispatch!(self, it => it.may_send(vc, before, bytes))
    }
    fn on_sent(&mut self, vc: u8, bytes: u32) {
        dispatch!(self, it => it.on_sent(vc, bytes))
    }
    fn on_lost(&mut self, vc: u8, bytes: u32) {
        dispatch!(self, it => it.on_lost(vc, bytes))
    }
    fn on_packet(&mut self, vc: u8, bytes: u32) {
        dispatch!(self, it => it.on_packet(vc, bytes))
    }
    fn on_freed(&mut self, now: Time, vc: u8, bytes: u32) {
        dispatch!(self, it => it.on_freed(now, vc, bytes))
    }
    fn next_timer(&self) -> Time {
        dispatch!(self, it => it.next_timer())
    }
    fn on_timer(&mut self, now: Time) -> u32 {
        dispatch!(self, it => it.on_timer(now))
    }
    fn update(&mut self, vc: u8) -> u32 {
        dispatch!(self, it => it.update(vc))
    }
    fn on_update_lost(&mut self, now: Time, vc: u8, said: u32) {
        dispatch!(self, it => it.on_update_lost(now, vc, said))
    }
    fn on_update(&mut self, vc: u8, says: u32) {
        dispatch!(self, it => it.on_update(vc, says))
    }
}
