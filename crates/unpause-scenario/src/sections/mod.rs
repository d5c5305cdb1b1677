//! The sections of a scenario file, one file or folder each: their keys, and what is made of them.

pub(crate) mod ets;
pub(crate) mod event;
mod event_links;
pub(crate) mod extra_delay;
pub(crate) mod file;
pub(crate) mod host;
pub(crate) mod hpcc;
pub(crate) mod job;
pub(crate) mod link;
pub(crate) mod link_errors;
pub(crate) mod loss_recovery;
pub(crate) mod marking;
pub(crate) mod overrides;
mod pause_storm;
pub(crate) mod pfc;
pub(crate) mod pias;
pub(crate) mod probes;
pub(crate) mod scheme;
pub(crate) mod slow_receiver;
mod spraying;
pub(crate) mod sweep;
pub(crate) mod switch;
mod tables;
pub(crate) mod tcp;
pub(crate) mod topology;
pub(crate) mod traffic;

pub use tables::sections;
