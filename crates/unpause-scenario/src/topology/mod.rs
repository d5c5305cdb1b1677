//! Topologies: nodes with names, and links.
//!
//! Each builder is a struct of parameters with a `build` method. Hosts come first, then switches,
//! each kind in order of its number; a node's ports are in order of the links built. Every result
//! has been [validated](Topology::validate).

mod built;
mod clos;
mod explicit;
mod lines;
#[cfg(test)]
mod tests;

pub use built::{Invalid, Topology};
pub(crate) use built::{MAX_NODES, positive_delay, whole_rate};
pub use clos::{ClosPods, FatTree, LeafSpine};
pub use explicit::{Explicit, ExplicitLink};
pub use lines::{Dumbbell, ParkingLot, SingleSwitch, TwoSwitch};
