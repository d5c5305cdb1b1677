//! The hosts and switches of the simulator, over real frames.
//!
//! [`LockStep`] carries what nodes send one another as Ethernet frames: RoCEv2, TCP, PFC, congestion
//! notifications, with all their checksums. Each is sent into a [`Medium`] (a pair of virtual Ethernet
//! devices between two network namespaces, or memory), received at the other end, checked, decoded, and only
//! what has come over the wire is used. What no header says is in a [`Trailer`] behind the frame.

mod codec;
mod directory;
mod fields;
mod lock_step;
mod medium;
mod refusal;
mod split;
mod tally;
mod trailer;
#[cfg(target_os = "linux")]
mod veth;

pub use codec::Codec;
pub use lock_step::LockStep;
pub use medium::{Medium, Memory};
pub use refusal::Refusal;
pub use split::{Split, SplitError};
pub use tally::Tally;
pub use trailer::Trailer;
#[cfg(target_os = "linux")]
pub use veth::{Lateness, Unable, Veth, WallClock};
