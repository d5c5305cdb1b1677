//! What can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use unpause_protocols::units::Time;
use unpause_scenario::quantity::parse_duration;

/// Compares congestion management schemes in Ethernet fabrics, packet by packet.
#[derive(Parser)]
#[command(name = "unpause", version)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a scenario: every scheme at every sweep point.
    Run(Run),
    /// Run a scenario at every combination of values, on all cores or on a Dask cluster.
    #[command(disable_help_flag = true)]
    Sweep(Sweep),
    /// Check a scenario without running it.
    Validate(Validate),
    /// Show congestion controls with their parameters, topologies, traffic, workloads, scenarios.
    List,
    /// Show the summaries of several results side by side.
    Compare(Compare),
    /// Write the tables of a result in another format.
    Export(Export),
    /// Run a paper's experiments, draw its figures and judge its claims on one page.
    Reproduce(Reproduce),
}

#[derive(clap::Args)]
pub struct Run {
    /// Scenario file.
    pub file: PathBuf,
    /// Result directory [default: results/<name of the file>].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Seed, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Duration such as 20ms, instead of the file's.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Time>,
    /// Threads, shared among the runs [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Do not draw figures and the HTML report.
    #[arg(long)]
    pub no_report: bool,
    /// Also write flow completion times in the text format of the HPCC simulator.
    #[arg(long)]
    pub fct_hpcc: bool,
}

#[derive(clap::Args)]
pub struct Sweep {
    /// Scenario file and options; `unpause sweep --help` lists them.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FILE, OPTIONS"
    )]
    pub arguments: Vec<OsString>,
}

#[derive(clap::Args)]
pub struct Validate {
    /// Scenario files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub struct Compare {
    /// Result directories.
    #[arg(required = true)]
    pub directories: Vec<PathBuf>,
}

#[derive(clap::Args)]
pub struct Export {
    /// Result directory.
    pub directory: PathBuf,
    /// Write each table as CSV.
    #[arg(long, required = true)]
    pub csv: bool,
    /// Where to [default: csv/ in the result directory].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Reproduce {
    /// Paper, or one of its figures: pcn, pcn/F11.
    pub what: String,
    /// The reduced version, in minutes; the page says what is reduced [default].
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// The scenarios as they are written.
    #[arg(long)]
    pub full: bool,
    /// Directory [default: results/reproduce-<paper>].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Write the page as Markdown, too, and its figures into a folder beside it.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Threads, shared among the runs [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

fn duration(text: &str) -> Result<Time, String> {
    let duration = parse_duration(text).map_err(|error| format!("{error}; {}", error.help))?;
    if duration == Time::ZERO {
        return Err("must be longer than nothing".into());
    }
    Ok(duration)
}
