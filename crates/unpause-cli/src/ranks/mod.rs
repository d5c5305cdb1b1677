//! Started by `mpirun`: several of this program at once. With MPI they share out a run; without, each would run
//! everything.

#[cfg(feature = "mpi")]
mod speed;
#[cfg_attr(not(feature = "mpi"), path = "no_team.rs")]
mod team;
#[cfg(feature = "mpi")]
mod world;

use std::env;

use unpause_scenario::Error;

use crate::args::Command;

pub use team::Team;
#[cfg(feature = "mpi")]
pub use {
    speed::ExchangeCost,
    team::{Order, agree},
    world::{Hello, World},
};

/// How Open MPI, and MPICH and those made of it, tell a process how many there are, and its number from 0.
const LAUNCHERS: [(&str, &str); 2] = [
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
];

/// One of the processes that were started together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rank {
    /// Its number from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Rank {
    /// This process's, if it is one of several.
    pub fn of_this_process() -> Option<Self> {
        Self::from(|name| env::var(name).ok())
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name| variable(name)?.trim().parse().ok();
        let of_launcher = |(size, rank): (_, _)| {
            let of = number(size).filter(|&of| of > 1)?;
            Some(Self {
                number: number(rank).unwrap_or(0),
                of,
            })
        };
        LAUNCHERS.into_iter().find_map(of_launcher)
    }

    /// Why `command` is not carried out, if it would simulate or write what the others do as well.
    pub fn refusal(self, command: &Command) -> Option<Error> {
        let name = match command {
            Command::Run(_) if cfg!(feature = "mpi") => return None,
            Command::Run(_) => "run",
            Command::Sweep(_) => "sweep",
            Command::Tune(_) => "tune",
            Command::Testbed(_) => "testbed",
            Command::Reproduce(_) => "reproduce",
            _ => return None,
        };
        let of = self.of;
        Some(Error::Other {
            message: format!(
                "started {of} times by mpirun: each would do the whole `unpause {name}`, \
                 and write into the same directory"
            ),
            help: Some(match name {
                "run" => "unpause was built without MPI: do not use mpirun, and `unpause run` uses all cores of one machine; `make install-mpi` builds a version in which one run uses many machines (docs/mpi.md). `unpause sweep --dask` uses the machines of a cluster, each for separate runs"
                    .into(),
                _ => format!(
                    "do not use mpirun: `unpause {name}` uses all cores of one machine, and `unpause sweep --dask` the machines of a cluster, each for separate runs"
                ),
            }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Option<(u32, u32)> {
        let value = |name: &str| variables.iter().find(|(other, _)| *other == name);
        let rank = Rank::from(|name| value(name).map(|(_, value)| (*value).to_owned()));
        rank.map(|rank| (rank.number, rank.of))
    }

    #[test]
    fn only_several_processes_are_ranks() {
        assert_eq!(rank(&[]), None);
        let open_mpi = |size| {
            [
                ("OMPI_COMM_WORLD_SIZE", size),
                ("OMPI_COMM_WORLD_RANK", "1"),
            ]
        };
        assert_eq!(rank(&open_mpi("1")), None);
        assert_eq!(rank(&open_mpi("none")), None);
        assert_eq!(rank(&open_mpi("2")), Some((1, 2)));
        assert_eq!(rank(&[("PMI_RANK", "3"), ("PMI_SIZE", "4")]), Some((3, 4)));
        assert_eq!(rank(&[("PMI_SIZE", "4")]), Some((0, 4)));
    }
}
