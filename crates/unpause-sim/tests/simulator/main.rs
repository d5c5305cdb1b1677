//! The simulator from outside: configurations in, results out.

mod causes;
mod cioq;
mod common;
mod cut_through;
mod deadlock;
mod egress_queues;
mod exactness;
mod fig1;
mod headroom;
mod input_queued;
mod mechanisms;
mod nic;
mod pfc;
mod pipeline;
mod post;
mod properties;
mod queueing;
mod random;
mod ranks;
mod skipping;
mod slow_receiver;
mod tcp;
mod threads;
mod transcript;
mod transcripts;
mod windows;
