//! How what is lost is sent again.
//!
//! A sender and a receiver for each way of repair, with no law inside: how much may be in flight and how
//! fast, [`crate::congestion_control`] says.
//!
//! - [`go_back_n`]: RoCE's, by NAKs and timeouts;
//! - [`newreno`]: TCP's, by duplicate ACKs and timeouts;
//! - [`rto`]: TCP's retransmission timeout;
//! - [`echo`]: what a TCP receiver says of marks.

pub mod echo;
pub mod go_back_n;
pub mod newreno;
pub mod rto;
