//! `[[traffic]]`: a file for each kind.

mod arrivals;
mod burst;
mod common;
mod context;
mod driver;
mod entry;
mod file;
mod flow;
mod following;
mod incast;
mod kind;
mod on_off;
mod permutation;
mod poisson;

pub(crate) use common::{Common, data_priority};
pub(crate) use context::Context;
pub(crate) use driver::Driver;
pub(crate) use entry::{Written, entry, read_entry, set_has_effect, takes_part};
pub(crate) use following::{check, following};
pub use kind::TrafficKind;

/// Every value of `kind`, in the order of a list of them.
pub const TRAFFIC_KINDS: [TrafficKind; 7] = [
    TrafficKind::of::<flow::Flow>(),
    TrafficKind::of::<burst::Burst>(),
    TrafficKind::of::<on_off::OnOff>(),
    TrafficKind::of::<poisson::Poisson>(),
    TrafficKind::of::<incast::Incast>(),
    TrafficKind::of::<permutation::Permutation>(),
    TrafficKind::of::<file::File>(),
];
