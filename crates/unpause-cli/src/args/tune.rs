//! Arguments of `unpause tune`.

use std::path::PathBuf;

use super::Points;

#[derive(clap::Args)]
#[command(after_help = "\
Goals: p99 slowdown of web, mean FCT, goodput of F0, iteration of train, pauses, longest queue, …
(docs/tune.md lists them all). Finished runs are kept; rerun the same command to resume.

Examples:
  unpause tune fabric.toml --vary scheme.DCQCN.dcqcn.kmin=20KB..800KB --goal 'p99 slowdown of web'
  unpause tune fabric.toml --vary pfc.xoff=32KB..512KB --goal 'goodput of F0' --subject-to 'drops = 0'
  unpause tune fabric.toml --vary scheme.DCQCN.dcqcn.pmax=0.01..1 --goal 'p99 FCT' --robust load=0.3,0.6,0.9")]
pub struct Tune {
    /// Scenario file.
    pub file: PathBuf,
    /// Key of the scenario and its range, 20KB..800KB, or its choices, 1,2,4; may be given several times.
    #[arg(long, value_name = "KEY=RANGE", required = true)]
    pub vary: Vec<String>,
    /// The statistic to improve, such as 'p99 slowdown of web'.
    #[arg(long, value_name = "STATISTIC")]
    pub goal: String,
    /// A limit that every run has to meet, such as 'longest queue <= 2MB'; may be given several times.
    #[arg(long, value_name = "LIMIT")]
    pub subject_to: Vec<String>,
    /// Search with these values of another key, too, such as load=0.3,0.6,0.9; may be given several times.
    #[arg(long, value_name = "KEY=VALUES")]
    pub robust: Vec<String>,
    /// The scheme to tune [default: the only one, or that of a key].
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Runs that the search may use [default: 60 for each seed and value of --robust].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Seeds that the search runs each setting with [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub seeds: Option<u16>,
    /// Seeds, new to the search, that compare the best setting with the file's [default: 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(5..))]
    pub confirm: Option<u16>,
    /// Seed of the search itself [default: 1].
    #[arg(long, value_name = "N")]
    pub search_seed: Option<u32>,
    #[command(flatten)]
    pub points: Points,
}
