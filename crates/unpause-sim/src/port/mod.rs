//! The chassis that every switch model stands in: egress ports with their queues, order of service,
//! schedulers and congestion points; PAUSE sent and obeyed; timers; what is recorded; CNMs; the loop over
//! events. A model says how a packet gets from its ingress to [`Chassis::enqueue`].

mod balance;
mod causes;
mod cbfc;
mod chassis;
pub mod culprit;
mod discards;
mod discipline;
mod egress;
mod events;
mod histogram;
mod ingress;
mod input_buffer;
mod link_state;
mod mirror;
mod next_hop;
mod notify;
mod pause;
mod prefetch;
mod ready;
mod record;
mod recorder;
mod retry;
mod scheduler;
mod setup;
mod shaper;
mod shaping;
mod storm;
mod taken;
mod transmit;
mod watchdog;

pub use causes::Counted;
pub use chassis::{Chassis, Coming, Model, Way};
pub use discipline::Discipline;
pub use ingress::{Ingress, PauseSource};
pub use input_buffer::InputBuffer;
