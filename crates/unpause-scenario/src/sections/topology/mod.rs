//! `[topology]`: a file for each builder.
//!
//! A builder is a struct of its keys (`#[derive(Keys)]`) with a `build` method. Hosts come first, then switches, each kind in
//! order of its number; a node's ports are in order of the links built. Every result has been
//! [validated](unpause_import::fabric::topology::Topology::validate).

mod builder;
mod clos;
mod dragonfly;
mod dumbbell;
mod explicit;
mod fat_tree;
mod leaf_spine;
mod links;
mod parking_lot;
mod rails;
mod single_switch;
mod table;
#[cfg(test)]
mod tests;
mod two_switch;

pub use builder::TopologyBuilder;
pub use clos::ClosPods;
pub use dragonfly::Dragonfly;
pub use dumbbell::Dumbbell;
pub(crate) use explicit::LinkKeys;
pub use explicit::{Explicit, ExplicitLink};
pub use fat_tree::FatTree;
pub use leaf_spine::LeafSpine;
pub use parking_lot::ParkingLot;
pub use rails::{Leaves, Rails};
pub use single_switch::SingleSwitch;
pub(crate) use table::{FileKeys as TopologyFile, topology};
pub use two_switch::TwoSwitch;

/// Every value of `builder`, in the order of a list of them.
pub const BUILDERS: [TopologyBuilder; 10] = [
    TopologyBuilder::of::<SingleSwitch>(),
    TopologyBuilder::of::<TwoSwitch>(),
    TopologyBuilder::of::<Dumbbell>(),
    TopologyBuilder::of::<ParkingLot>(),
    TopologyBuilder::of::<LeafSpine>(),
    TopologyBuilder::of::<ClosPods>(),
    TopologyBuilder::of::<FatTree>(),
    TopologyBuilder::of::<Rails>(),
    TopologyBuilder::of::<Dragonfly>(),
    TopologyBuilder::of::<Explicit>(),
];
