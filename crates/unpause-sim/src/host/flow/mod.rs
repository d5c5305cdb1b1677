//! A RoCE or UDP flow at its sender and its receiver, and what hosts keep beside them. They know of no host.

pub mod ack_info;
mod datagrams;
pub mod delays;
mod feedback;
pub mod gates;
pub mod grants;
pub mod layout;
mod messages;
mod outcome;
pub mod posted;
pub mod receiver;
pub mod retries;
pub mod selective;
pub mod sender;
pub mod sprayed;
pub mod window;

pub use datagrams::no_repair;
