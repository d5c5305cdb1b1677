//! Records of a switch beside its totals: lengths of queues, and the holders of the bytes of an ingress that pauses its peer.

pub mod histogram;
pub mod mirror;
pub mod recorder;
pub mod sampler;
