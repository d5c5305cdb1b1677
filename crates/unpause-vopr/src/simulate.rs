//! A run, within bounds.

use std::ops::ControlFlow;

use unpause_sim::config::Config;
use unpause_sim::exchange::Sequential;
use unpause_sim::results::Results;
use unpause_sim::{Error, run_over, run_sequential, run_threads};

/// A run with more packet-hops is not gone through with.
const MOST_HOPS: u64 = 150_000;
/// A run of more windows hangs: none of its windows is without an event, of which packets that are so
/// few do not need as many.
const MOST_WATCHED: u64 = 20_000;

/// Why a run has no results.
#[derive(Clone, Debug)]
pub enum Simulated {
    /// The engine refuses it.
    Refused(String),
    /// It has more packet-hops than are gone through with.
    TooLarge,
    /// It went on for this many windows.
    Hang(u64),
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub enum How {
    /// On this many threads.
    OnThreads(usize),
    /// Shards as for this many threads, which run one after the other on one.
    Sequential(usize),
    /// Each node in a shard of its own.
    EachNode,
}

/// Runs `config` within the bounds of packet-hops and windows.
///
/// # Errors
///
/// If it is refused or goes beyond them.
pub fn simulate(config: &Config, how: How) -> Result<Results, Simulated> {
    let mut calls = 0;
    let mut large = false;
    let watch = &mut |progress: unpause_sim::Progress| {
        calls += 1;
        large = progress.packet_hops > MOST_HOPS;
        if large || calls > MOST_WATCHED {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let results = match how {
        How::OnThreads(threads) => run_threads(config, threads, watch),
        How::Sequential(shards) => run_sequential(config, shards, watch),
        How::EachNode => {
            let shards: Vec<u16> = (0..config.fabric.nodes.len() as u16).collect();
            run_over(config, &shards, &mut Sequential::new(shards.len()), watch)
        }
    };
    results.map_err(|error| match error {
        Error::Invalid(why) => Simulated::Refused(why.to_string()),
        Error::Exchange(why) => Simulated::Refused(why),
        Error::Interrupted if large => Simulated::TooLarge,
        Error::Interrupted => Simulated::Hang(256 * calls),
    })
}
