//! The frames of a lossless or ECN-marked Ethernet fabric, parsed and built without allocation.
//!
//! A [`Frame`] is an Ethernet header and one of the [`Body`]s that such a fabric knows: RoCEv2 data,
//! acknowledgement or congestion notification packet, TCP segment, PAUSE, PFC frame, or QCN's
//! congestion notification message. [`Frame::parse`] reads bytes of any origin: it never panics,
//! never reads past the slice, and checks every checksum that the frame carries; what it refuses, an
//! [`Error`] names by layer and field. [`Frame::build`] writes what parses back to the same value.
//! The headers can be used alone: each is a plain struct with `parse` and `build` of its own.
//!
//! Frames are without their FCS, as network cards hand them up. Layouts are in network byte order,
//! from: IEEE 802.3 (clause 3, Annexes 31B and 31D), IEEE 802.1Q (clauses 9 and 33), RFC 791, 768,
//! 9293, 7323, 2018, 3168, and the InfiniBand Architecture Specification, volume 1, with its Annex A17
//! (RoCEv2).
#![no_std]
#![forbid(unsafe_code)]

mod bytes;
mod error;
mod ethernet;
mod frame;
mod ipv4;
mod mac_control;
mod qcn;
mod roce;
mod tcp;
mod udp;

pub use error::{Error, Layer, Result};
pub use ethernet::{EtherType, Ethernet, MacAddress, VlanTag, fcs};
pub use frame::{Body, Frame};
pub use ipv4::{Dscp, Ecn, Ipv4, Protocol};
pub use mac_control::{Pause, Pfc};
pub use qcn::{CnTag, Cnm};
pub use roce::{Aeth, Bth, CnpPayload, Opcode, ROCE_PORT, RoceBody, Syndrome, icrc};
pub use tcp::{Flags, Options, SackBlocks, Tcp};
pub use udp::Udp;
