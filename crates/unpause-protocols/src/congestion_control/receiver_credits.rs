//! RCCC: Ultra Ethernet's congestion control by the receiver.
//!
//! # What it does
//!
//! A receiver hands out credits, *pulls*, just slower than its link carries, so that the last hop is never overloaded
//! however many senders there are. Every data packet tells how much its sender wants, its *pull target*; the receiver's
//! pacer goes round its flows that want more than they were granted. When none does, it grants some to idle ones, so that
//! they need not ask before they start again (*slow pulls*). A flow starts with credit to speculate on: what it sends
//! before it has heard anything.
//!
//! Credits solve the last hop only. Where the network itself carries less than its hosts, receivers slow their pacers by
//! the share of marked and trimmed packets.
//!
//! Pull targets and pulls count units of 256 bytes since the start of the flow, so a lost one is made up for by the next.
//!
//! - [`sender`]: the credit of a flow, and its pull target;
//! - [`pacer`]: who is granted when, at one receiving host;
//! - [`oversubscribed`]: how much of its link's rate a pacer grants.
//!
//! # Source
//!
//! The reference simulator of the UEC transport (uet-htsim), `uec.cpp` and `oversubscribed_cc.cpp`.
//!
//! # Parameters
//!
//! | name | unit | default | origin |
//! |---|---|---|---|
//! | `most` | bytes | 1.5 BDPs: credit at the start and at most, and that of slow pulls | uet-htsim |
//! | `pull_units` | 256 B | 64 a pull; the specification has 4 packets | uet-htsim |
//! | `share` | fraction | 0.99 of the link's rate | uet-htsim |
//!
//! # Departures
//!
//! - An idle flow waits for slow pulls in one place only. In the reference it gets another each time that it has been
//!   satisfied, and so more slow pulls than others.
//! - A flow that has ended gets no pulls.
//! - The time between pulls is rounded once a pull, and not for each unit.

pub mod oversubscribed;
pub mod pacer;
pub mod sender;
