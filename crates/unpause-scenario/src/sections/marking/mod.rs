//! `marking` of `[[scheme]]`: the congestion point of every queue of the switches, whatever the senders
//! do. A file for each value.

mod choice;
mod codel;
mod dctcp_red;
mod ecn_sharp;
mod ecn_sharp_tofino;
mod marker;
mod none;
mod np_ecn;
mod red;
mod tcn;
mod wred;

pub(crate) use choice::{marking, take_marking};
pub use marker::Marking;
pub(super) use np_ecn::threshold as np_ecn_threshold;

/// Every value of `marking`, in the order of a list of them.
pub const MARKINGS: [Marking; 9] = [
    Marking::of::<none::NoMarks>(),
    Marking::of::<red::Red>(),
    Marking::of::<wred::Wred>(),
    Marking::of::<dctcp_red::DctcpRed>(),
    Marking::of::<codel::Codel>(),
    Marking::of::<tcn::Tcn>(),
    Marking::of::<ecn_sharp::EcnSharp>(),
    Marking::of::<ecn_sharp_tofino::EcnSharpTofino>(),
    Marking::of::<np_ecn::NpEcn>(),
];
