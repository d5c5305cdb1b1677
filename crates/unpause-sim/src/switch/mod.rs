//! Switch models: what each adds to the chassis in [`crate::chassis`]. Each is a folder, a variant of
//! [`crate::run::node::Node`] and its tests.

pub mod cioq;
pub mod input_queued;
pub mod pipeline;
pub mod shared_buffer;
