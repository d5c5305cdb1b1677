//! A scenario's runs by several ranks, one run after the other: rank 0 says which, and has the results.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unpause_scenario::{Run, key};
use unpause_sim::exchange::Ranks;
use unpause_sim::results::Results;
use unpause_sim::{Samples, Watch, run_ranks};

use super::speed::{ExchangeCost, Speed};
use super::world::World;

/// A run that all ranks are to do together.
#[derive(Serialize, Deserialize)]
pub struct Order {
    /// The scenario.
    pub file: PathBuf,
    /// Which run of it.
    pub run: u32,
    /// [`key`]
    pub key: Option<String>,
    /// Samples of ports leave it during the run.
    pub streams: bool,
}

/// All ranks, as rank 0 has them.
pub struct Team {
    pub world: World,
    /// Threads of each rank.
    pub threads: usize,
    /// The cost of an exchange among them.
    pub exchange: ExchangeCost,
}

impl Team {
    /// Threads of all ranks.
    pub fn all_threads(&self) -> usize {
        self.world.count() * self.threads
    }

    /// The expected speed of a run; empty if it cannot be estimated.
    pub fn speed(&self, run: &Run) -> String {
        let ranks = (self.world.count(), self.threads);
        let speed = Speed::of(run, ranks, self.exchange);
        speed.map_or(String::new(), |speed| speed.text())
    }

    /// Simulates a run of the scenario `file`.
    pub fn simulate(
        &self,
        file: &Path,
        run: &Run,
        watch: &mut Watch<'_>,
        samples: Option<&Samples<'_>>,
    ) -> Result<Results, unpause_sim::Error> {
        self.world.order(&Some(Order {
            file: file.to_owned(),
            run: run.index,
            key: key(run, &[]),
            streams: samples.is_some(),
        }));
        agree(&self.world, None).map_err(unpause_sim::Error::Exchange)?;
        let results = run_ranks(&run.config, &self.world, self.threads, watch, samples)?;
        Ok(results.expect("rank 0 has the results"))
    }
}

impl Drop for Team {
    /// There is nothing more to do.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.world.order(&None::<Order>);
        }
    }
}

/// Whether all ranks can do what was ordered; an error is the first that one of them said.
pub fn agree(world: &World, problem: Option<String>) -> Result<(), String> {
    let said = world.tell(&problem);
    let first = said
        .into_iter()
        .zip(0..)
        .find_map(|(it, rank)| Some((it?, rank)));
    first.map_or(Ok(()), |(why, rank): (_, usize)| {
        Err(format!("rank {rank}, {why}"))
    })
}
