//! Switch models. Each is a file or folder, a variant of [`crate::node::Node`] and its
//! tests; what they share stands beside them.

pub mod backlog;
pub mod cioq;
pub mod culprit;
pub mod egress;
pub mod ingress;
pub mod pause;
pub mod pipeline;
pub mod schedule;
pub mod shared_buffer;
