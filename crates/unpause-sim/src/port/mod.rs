//! The chassis that every switch model stands in: egress ports with their queues, order of service,
//! schedulers and congestion points; PAUSE sent and obeyed; timers; what is recorded; CNMs; the loop over
//! events. A model says how a packet gets from its ingress to [`Chassis::enqueue`].
//!
//! Types that know no chassis are in folders: `egress/`, `ingress/` and `records/`. Each file beside them is one topic of what a
//! switch does, with the methods of [`Chassis`] for that.

mod causes;
mod chassis;
mod discards;
mod egress;
mod events;
mod ingress;
mod input_buffer;
mod link;
mod next_hop;
mod notify;
mod pause;
mod prefetch;
mod records;
mod report;
mod setup;
mod shaping;
mod storm;
mod taken;
mod transmit;

pub use causes::Counted;
pub use chassis::{Chassis, Coming, Model, Way};
pub use egress::discipline::Discipline;
pub use ingress::{Ingress, PauseSource, culprit};
pub use input_buffer::InputBuffer;
