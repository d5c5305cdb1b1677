//! What can be typed.

mod compare;
mod explain;
mod import;
mod view;

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use unpause_protocols::units::{Rate, Time};

pub use compare::Compare;
pub use explain::Explain;
pub use import::{Import, ImportHpcc, ImportPcap};
pub use view::View;

use crate::values::{dask_address, duration, rate, share_above_zero};

/// Compares congestion management schemes in Ethernet fabrics, packet by packet.
#[derive(Parser)]
#[command(
    name = "unpause",
    version,
    after_help = "\
Examples:
  unpause init mine.toml                 a commented scenario to start from
  unpause run mine.toml                  every scheme of it, and a report
  unpause open results/mine              that report, in a browser
  unpause sweep mine.toml --vary pfc.xoff=64KB,512KB --vary seed=1..10

Exit codes: 0 success, 1 an error, 2 a wrong command line, 130 Ctrl-C, 143 SIGTERM"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// How much is said, and in which form.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Say {
    /// Say errors only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Say more: every column, how fast it ran, every warning.
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Form of what is said on standard output.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Form,
}

#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum Form {
    #[default]
    Text,
    Json,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a scenario: every scheme at every sweep point.
    Run(Run),
    /// Run a scenario at every combination of values, on all cores or on a Dask cluster.
    Sweep(Sweep),
    /// Run a scenario with real Ethernet frames between its nodes (docs/testbed.md).
    Testbed(Testbed),
    /// Check scenarios without running them.
    Validate(Validate),
    /// Show congestion controls with their parameters, topologies, traffic, workloads, scenarios.
    List(List),
    /// Show the summaries of several results side by side.
    Compare(Compare),
    /// Say who was stopped by PAUSE, by whom, and where that began.
    Explain(Explain),
    /// Serve a page to move about in a result that is too large for one file.
    View(View),
    /// Write the tables of a result in another format.
    Export(Export),
    /// Make flows of a capture, or a scenario of another simulator's configuration.
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
    /// Write a commented scenario to start from.
    Init(Init),
    /// Print the JSON Schema of scenario files, by which editors complete and check keys.
    Schema,
    /// Open the report of a result in a browser.
    Open(Open),
    /// Print what makes a shell complete commands and options.
    Completions(Completions),
    /// Print the manual page.
    Man,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause run scenarios/incast.toml
  unpause run mine.toml --scheme PFC --duration 1ms --out results/short
  unpause run mine.toml --seeds 5         intervals instead of single values
  sed s/100Gbps/25Gbps/ mine.toml | unpause run - --out results/slow
  mpirun -n 2 unpause run mine.toml       on many machines (docs/mpi.md)")]
pub struct Run {
    /// Scenario files, or directories of them; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Result directory [default: results/<folder>-<name of the file>, with the --seed].
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run everything with so many seeds, from the file's on.
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Duration such as 20ms, instead of the file's.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Time>,
    /// Threads, shared among the runs [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Simulate every packet; else what repeats itself is skipped, with the same results.
    #[arg(long)]
    pub exact_packets: bool,
    /// Do not draw figures and the HTML report.
    #[arg(long)]
    pub no_report: bool,
    /// Also write flow completion times in the text format of the HPCC simulator.
    #[arg(long)]
    pub fct_hpcc: bool,
    /// Run it even if it takes more memory or disk than there is.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(clap::Args)]
pub struct Testbed {
    /// Scenario file.
    pub file: PathBuf,
    /// Result directory [default: results/<folder>-<name of the file>-testbed, with the --seed].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Seed, instead of the file's.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run everything with so many seeds, from the file's on.
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Duration such as 20ms, instead of the file's.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Time>,
    /// What frames travel over.
    #[arg(long, value_enum, default_value = "veth")]
    pub links: Links,
    /// In real time, each node a thread, instead of lock step in simulated time.
    #[arg(long, conflicts_with = "links")]
    pub wall_clock: bool,
    /// Only this link is a wire, such as S0-S1; may be given several times [default: every link].
    #[arg(long = "wire", value_name = "NODE-NODE")]
    pub wires: Vec<String>,
    /// Do not draw figures and the HTML report.
    #[arg(long)]
    pub no_report: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Links {
    /// Pairs of virtual Ethernet devices between network namespaces: Linux, as root.
    Veth,
    /// Memory of this process: anywhere, by anybody.
    Memory,
}

#[derive(clap::Args)]
#[command(after_help = "\
What is finished is kept: the same command goes on where it was stopped.

Examples:
  unpause sweep mine.toml --vary pfc.xoff=64KB,128KB,512KB --vary seed=1..100
  unpause sweep mine.toml --vary scheme.PFC+DCQCN.dcqcn.rate_ai=5Mbps,40Mbps --jobs 4
  unpause sweep mine.toml --vary load_scale=0.5,1,2 --dask tcp://host:8786")]
pub struct Sweep {
    /// Scenario file.
    pub file: PathBuf,
    /// Key of the scenario, such as pfc.xoff or traffic.F0.rate_limit or seed, and its values:
    /// 64KB,128KB or 1..100; may be given several times, and all are combined.
    #[arg(long, value_name = "KEY=VALUES")]
    pub vary: Vec<String>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Directory of the table and of finished points [default: that of run, with -sweep].
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Points at the same time on this machine [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "dask")]
    pub jobs: Option<u16>,
    /// Scheduler of a Dask cluster, such as tcp://host:8786.
    #[arg(long, value_name = "ADDRESS", value_parser = dask_address)]
    pub dask: Option<String>,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause validate mine.toml
  unpause validate --cost scenarios/      how long everything there would take
  unpause validate --output json mine.toml")]
pub struct Validate {
    /// Scenario files, or directories of them; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also say what each would take: packet-hops, time, memory, size on disk.
    #[arg(long)]
    pub cost: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  unpause list\n  unpause list --output json")]
pub struct List {
    /// Form of what is said.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Form,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause init > mine.toml
  unpause init mine.toml && unpause run mine.toml")]
pub struct Init {
    /// File to write [default: standard output].
    pub file: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long, requires = "file")]
    pub force: bool,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  unpause open results/mine")]
pub struct Open {
    /// Result directory [default: the newest in results/].
    pub directory: Option<PathBuf>,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause completions bash > ~/.local/share/bash-completion/completions/unpause
  unpause completions zsh > ~/.zfunc/_unpause
  unpause completions fish > ~/.config/fish/completions/unpause.fish")]
pub struct Completions {
    /// The shell.
    pub shell: clap_complete::Shell,
}

#[derive(clap::Args)]
#[command(after_help = "Example:\n  unpause export results/mine --out tables")]
pub struct Export {
    /// Result directory.
    pub directory: PathBuf,
    /// Write each table as CSV [default].
    #[arg(long)]
    pub csv: bool,
    /// Write the packets at the ports of `probes.packets` for Wireshark, a file for each run.
    #[arg(long, conflicts_with = "csv")]
    pub pcapng: bool,
    /// Write all runs as a trace for <https://ui.perfetto.dev>: ports with their PAUSEs and samples, flows.
    #[arg(long, conflicts_with_all = ["csv", "pcapng"])]
    pub perfetto: bool,
    /// Bytes kept of each frame [default: all; Wireshark calls RoCEv2 data malformed that is cut].
    #[arg(long, value_name = "BYTES", requires = "pcapng")]
    pub snap: Option<NonZero<u32>>,
    /// Where to [default: csv/, pcapng/ or trace.pftrace in the result directory].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Replace files that are there.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(Subcommand)]
pub enum Suggest {
    /// ECN thresholds from base RTTs and link rate, with their formulas: RED-AVG, RED-Tail, CoDel,
    /// TCN, ECN#.
    Ecn(SuggestEcn),
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause suggest ecn --rate 10Gbps --rtt 0:80us,50:120us,90:220us,100:240us
  unpause suggest ecn --rate 25Gbps --rtt-file rtts.csv --write thresholds.toml")]
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
#[command(after_help = "\
Examples:
  unpause reproduce pcn
  unpause reproduce pcn/F11 --full")]
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
