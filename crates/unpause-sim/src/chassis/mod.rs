//! The chassis that every switch model stands in: egress ports with their queues, order of service,
//! schedulers and congestion points; PAUSE sent and obeyed; timers; what is recorded; CNMs; the loop over
//! events. A model says how a packet gets from its ingress to [`Chassis::enqueue`].
//!
//! [`Chassis`] (`state.rs`) holds types that do not know it: [`outputs`], [`inputs`], [`pfc`] and what lies in `egress/`, `ingress/` and
//! `records/`. Its methods are in five more files: `events.rs`, the loop; `transmit.rs`, through an egress queue and out of its port;
//! `pause.rs`; `link.rs`, what the link of a port does to it; `report.rs`.

mod causes;
mod egress;
mod events;
mod ingress;
mod input_buffer;
mod inputs;
mod link;
mod outputs;
mod pause;
mod pfc;
mod prefetch;
mod records;
mod report;
mod state;
mod timer;
mod transmit;

pub use causes::Counted;
pub use egress::discipline::Discipline;
pub use ingress::{Ingress, PauseSource, culprit};
pub use input_buffer::InputBuffer;
pub use state::{Chassis, Coming, Model, Way};
