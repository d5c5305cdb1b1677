//! `unpause run` in one of several processes.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use unpause_scenario::{Error, Run, key, selected};
use unpause_sim::exchange::Ranks;
use unpause_sim::{Samples, run_ranks};

use crate::args;
use crate::output::Errors;
use crate::ranks::{ExchangeCost, Hello, Order, Rank, Team, World, agree};
use crate::report::Package;
use crate::{files, interrupt, run};

/// `unpause run`, in one of several processes. Answers the exit code.
pub fn run(args: &args::Run, package: &dyn Package, rank: Rank) -> Result<u8, Errors> {
    let other = |message: String, help: &str| {
        let help = Some(help.to_owned());
        Err(vec![Error::Other { message, help }])
    };
    if args.files.iter().any(|file| file == Path::new("-")) {
        return other(
            "mpirun passes standard input to one rank only".into(),
            "name a file that all of them can read",
        );
    }
    let Some(world) = World::new() else {
        return other(
            "MPI has already been started".into(),
            "it can be started only once per process",
        );
    };
    // Whatever ends all of them ends at rank 0.
    if world.rank() != 0 {
        interrupt::end_in_order();
    }
    let (found, of) = (world.count(), rank.of as usize);
    if found != of {
        return other(
            format!("mpirun has started {of} processes, and MPI knows of {found}"),
            "this mpirun belongs to another MPI than the one with which unpause was built: `make install-mpi` builds it with the MPI whose mpicc is found first",
        );
    }
    let hellos = world.tell(&hello());
    let exchange = ExchangeCost::measured(&world);
    if let Some((number, it)) = hellos
        .iter()
        .enumerate()
        .find(|(_, it)| it.version != hellos[0].version)
    {
        let (ours, theirs, host) = (&hellos[0].version, &it.version, &it.host);
        return match world.rank() {
            0 => other(
                format!("rank {number}, on {host}, runs unpause {theirs}, and this is {ours}"),
                "all ranks must run the same program",
            ),
            _ => Ok(0),
        };
    }
    let threads = args.threads.map_or_else(|| threads(&hellos), usize::from);
    if world.rank() != 0 {
        help(args, &world, threads);
        return Ok(0);
    }
    let team = Team {
        world,
        threads,
        exchange,
    };
    run::run(args, package, Some(&team))
}

fn hello() -> Hello {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cpus = status
        .lines()
        .find(|line| line.starts_with("Cpus_allowed_list"));
    Hello {
        version: env!("CARGO_PKG_VERSION").into(),
        host: mpi::environment::processor_name().unwrap_or_default(),
        cpus: cpus.unwrap_or_default().into(),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    }
}

/// Threads for each rank: as many as the one with the fewest cores has to itself.
fn threads(hellos: &[Hello]) -> usize {
    let share = |it: &Hello| it.cores / hellos.iter().filter(|other| *other == it).count();
    hellos.iter().map(share).min().unwrap_or(1).max(1)
}

/// Does what rank 0 says until there is nothing more to do. What goes wrong with a run, rank 0 tells.
fn help(args: &args::Run, world: &World, threads: usize) {
    let mut runs = Vec::new();
    while let Some(order) = world.await_order::<Option<Order>>() {
        let found = ordered(args, &order, &mut runs);
        let problem = found.as_ref().err().cloned();
        if let (Ok(()), Ok(run)) = (agree(world, problem), found) {
            let watch = &mut |_| {
                if interrupt::interrupted() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let samples = order.streams.then_some(&(|_| ()) as &Samples<'_>);
            let _ = run_ranks(&run.config, world, threads, watch, samples);
        }
    }
}

/// The run that is meant, or why it is not the same here; `runs` are those of the file before.
fn ordered<'r>(
    args: &args::Run,
    order: &Order,
    runs: &'r mut Vec<(PathBuf, Run)>,
) -> Result<&'r Run, String> {
    let host = mpi::environment::processor_name().unwrap_or_default();
    let at = |why: String| format!("on {host}: {why}");
    if runs.first().is_none_or(|(file, _)| *file != order.file) {
        let scenario = files::load(&order.file);
        let first = |errors: Errors| at(errors[0].to_string());
        let scenario = scenario.map_err(first)?;
        let all =
            selected(&scenario, &run::options(args)).map_err(|error| at(error.to_string()))?;
        *runs = all
            .into_iter()
            .map(|run| (order.file.clone(), run))
            .collect();
    }
    let run = runs
        .iter()
        .map(|(_, run)| run)
        .find(|run| run.index == order.run);
    run.filter(|run| key(run, &[]) == order.key).ok_or_else(|| {
        at(format!(
            "{} or unpause is not the same as at rank 0",
            order.file.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_the_cores_that_they_have() {
        let on = |host: &str, cpus: &str, cores| Hello {
            host: host.into(),
            cpus: cpus.into(),
            cores,
            ..Hello::default()
        };
        // A rank for each machine, the smaller of which counts.
        assert_eq!(threads(&[on("a", "0-15", 16), on("b", "0-7", 8)]), 8);
        // Bound to a core each, to none, and more than there are.
        assert_eq!(threads(&[on("a", "0", 1), on("a", "1", 1)]), 1);
        assert_eq!(threads(&[on("a", "0-7", 8), on("a", "0-7", 8)]), 4);
        assert_eq!(
            threads(&[on("a", "0", 1), on("a", "0", 1), on("a", "0", 1)]),
            1
        );
    }
}
