//! Fabrics for Rust programs: the builders of a scenario's `[topology]`, and what they return.

pub use unpause_import::fabric::topology::{Invalid, Topology};

pub use crate::sections::topology::{
    ClosPods, Dragonfly, Dumbbell, Explicit, ExplicitLink, FatTree, LeafSpine, Leaves, ParkingLot,
    Rails, SingleSwitch, TwoSwitch,
};
