//! Switch models. Each is a file, a variant of [`crate::engine::shard::Node`] and its tests.

pub mod ingress;
pub mod shared_buffer;
