//! What can be typed.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use unpause_protocols::units::{Rate, Time};
use unpause_scenario::quantity::{parse_duration, parse_rate};

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
    /// Make flows of a capture.
    #[command(subcommand)]
    Import(Import),
    /// Suggest settings from what is known of a fabric.
    #[command(subcommand)]
    Suggest(Suggest),
    /// Congestion points as programs of a switch pipeline (docs/dataplane.md).
    #[command(subcommand)]
    Dataplane(Dataplane),
    /// Run a paper's experiments, draw its figures and judge its claims on one page.
    Reproduce(Reproduce),
}

#[derive(clap::Args)]
pub struct Run {
    /// Scenario file.
    pub file: PathBuf,
    /// Result directory [default: results/<folder>-<name of the file>, with the --seed].
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
    /// Write each table as CSV [default].
    #[arg(long)]
    pub csv: bool,
    /// Write the packets at the ports of `probes.packets` for Wireshark, a file for each run.
    #[arg(long, conflicts_with = "csv")]
    pub pcapng: bool,
    /// Bytes kept of each frame [default: all; Wireshark calls RoCEv2 data malformed that is cut].
    #[arg(long, value_name = "BYTES", requires = "pcapng")]
    pub snap: Option<NonZero<u32>>,
    /// Where to [default: csv/ or pcapng/ in the result directory].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long)]
    pub force: bool,
}

#[derive(Subcommand)]
pub enum Import {
    /// Flows of a pcap or pcapng file, as `kind = "hpcc"` reads them.
    Pcap(ImportPcap),
}

#[derive(clap::Args)]
pub struct ImportPcap {
    /// Capture of Ethernet frames: RoCEv2, other UDP, TCP.
    pub file: PathBuf,
    /// Flow file to write.
    #[arg(long, short)]
    pub out: PathBuf,
    /// Pause after which what follows on the same connection is another flow.
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = duration)]
    pub idle: Time,
    /// Replace the file if it is there.
    #[arg(long)]
    pub force: bool,
}

#[derive(Subcommand)]
pub enum Suggest {
    /// ECN thresholds from base RTTs and link rate, with their formulas: RED-AVG, RED-Tail, CoDel,
    /// TCN, ECN#.
    Ecn(SuggestEcn),
}

#[derive(clap::Args)]
pub struct SuggestEcn {
    /// Rate of the links, such as 10Gbps.
    #[arg(long, value_parser = rate)]
    pub rate: Rate,
    /// Base RTTs by percentile, such as 0:80us,50:120us,90:220us,100:240us.
    #[arg(long, value_name = "PERCENTILES", required_unless_present = "rtt_file")]
    pub rtt: Option<String>,
    /// File of measured base RTTs: one a line (82us), or with cumulative probabilities (82us,0.15).
    #[arg(long, value_name = "FILE", conflicts_with = "rtt")]
    pub rtt_file: Option<PathBuf>,
    /// Average base RTT, if not that of the percentiles.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub average: Option<Time>,
    /// Share of C x RTT that a queue must hold for full throughput.
    #[arg(long, default_value_t = 1.0, value_parser = share_above_zero)]
    pub lambda: f64,
    /// Write a scenario that compares them with DCTCP senders.
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "write")]
    pub force: bool,
    #[command(flatten)]
    pub scenario: EcnScenario,
}

#[derive(clap::Args)]
pub struct EcnScenario {
    /// Its flow sizes: a name that `unpause list` shows, or a file of bytes and probabilities.
    #[arg(
        long,
        value_name = "NAME|FILE",
        default_value = "websearch",
        requires = "write"
    )]
    pub cdf: String,
    /// Its fabric: 32 hosts on 4 leaves and 4 spines, or 16 senders and a receiver on a switch.
    #[arg(long, value_enum, default_value = "leaf-spine", requires = "write")]
    pub fabric: EcnFabric,
    /// Its load, of the links from leaves to spines or of the receiver's.
    #[arg(long, default_value_t = 0.6, value_parser = share_above_zero, requires = "write")]
    pub load: f64,
    /// Delay of each of its links; hosts add the rest of the RTTs.
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = duration, requires = "write")]
    pub delay: Time,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub enum EcnFabric {
    #[value(name = "n-to-1")]
    NToOne,
    LeafSpine,
}

#[derive(Subcommand)]
pub enum Dataplane {
    /// Write a scheme's marking as a program: its text, what the control plane writes into it, a manifest.
    Build(DataplaneBuild),
    /// Simulate a scheme and write what happened at one egress port, with the marks.
    Record(DataplaneRecord),
    /// Write a random sequence for a scheme's marking, with the marks.
    Random(DataplaneRandom),
    /// Compare ECN# with a switch's arithmetic and exactly on sequences, over a span of parameters.
    Accuracy(DataplaneAccuracy),
}

#[derive(clap::Args)]
pub struct DataplaneBuild {
    /// Scenario file.
    pub file: PathBuf,
    /// Scheme, if several have a program.
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Directory to write into.
    #[arg(long, short)]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct DataplaneRecord {
    /// Scenario file.
    pub file: PathBuf,
    /// Scheme, if several have a program.
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Egress port, such as S0->H0.
    #[arg(long, value_name = "SWITCH->PEER")]
    pub port: String,
    /// What the clock shows when the simulation begins, such as 4398s, instead of 0.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub start_at: Option<Time>,
    /// File to write.
    #[arg(long, short)]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct DataplaneRandom {
    /// Scenario file: of it, only the marking and its parameters.
    pub file: PathBuf,
    /// Scheme, if several have a program.
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Packets.
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub packets: u64,
    /// Seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File to write.
    #[arg(long, short)]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct DataplaneAccuracy {
    /// Sequences that `record` or `random` has written.
    #[arg(required = true)]
    pub sequences: Vec<PathBuf>,
    /// CSV file to write.
    #[arg(long, short)]
    pub out: PathBuf,
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

fn rate(text: &str) -> Result<Rate, String> {
    let rate = parse_rate(text).map_err(|error| format!("{error}; {}", error.help))?;
    if rate.ps_per_byte().is_none() {
        return Err("a byte must last a whole number of picoseconds, as at 10Gbps".into());
    }
    Ok(rate)
}

fn share_above_zero(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    let share = share.filter(|share: &f64| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a number above 0, up to 1".into())
}

fn duration(text: &str) -> Result<Time, String> {
    let duration = parse_duration(text).map_err(|error| format!("{error}; {}", error.help))?;
    if duration == Time::ZERO {
        return Err("must be longer than nothing".into());
    }
    Ok(duration)
}
