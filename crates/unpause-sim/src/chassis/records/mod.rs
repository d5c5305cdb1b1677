//! What a switch records beside its totals: lengths of queues, and what holds the bytes of an ingress that pauses its peer.

pub mod histogram;
pub mod mirror;
pub mod recorder;
pub mod sampler;
