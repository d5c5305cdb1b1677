//! The command line.

mod cache;
mod compare;
mod explain;
mod import;
mod lint;
mod report;
mod suggest;
mod tune;
mod vectors;
mod view;

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use unpause_protocols::units::Time;

pub use cache::Cache;
pub use compare::Compare;
pub use explain::Explain;
pub use import::{Import, ImportHpcc, ImportPcap, ImportSonic};
pub use lint::Lint;
pub use report::Report;
pub use suggest::{
    EcnFabric, EcnScenario, HeadroomProfile, LinkOptions, SonicOptions, Suggest, SuggestDcqcn,
    SuggestEcn, SuggestHeadroom, SuggestPcn, SuggestPfc, Write,
};
pub use tune::Tune;
pub use vectors::{Check, Machines, Vectors};
pub use view::View;

use crate::values::{dask_address, duration};

/// Compares congestion management schemes in Ethernet fabrics, packet by packet.
#[derive(Parser)]
#[command(
    name = "unpause",
    version,
    after_help = "\
Examples:
  unpause init mine.toml                 a commented scenario to start from
  unpause run mine.toml                  run every scheme and write a report
  unpause open results/mine              open that report in a browser
  unpause sweep mine.toml --vary pfc.xoff=64KB,512KB --vary seed=1..10

Exit codes: 0 success, 1 an error, 2 a wrong command line, 130 Ctrl-C, 143 SIGTERM"
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

/// How much to print, and in which format.
#[derive(clap::Args, Clone, Copy, Default)]
pub struct Say {
    /// Print errors only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Print more: every column, a sentence for each scheme, every warning, the speed of the simulation.
    #[arg(long, short, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Output format.
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
    /// Search for the values of parameters that serve a goal best, within limits.
    Tune(Tune),
    /// Run a scenario with real Ethernet frames between nodes (docs/testbed.md).
    Testbed(Testbed),
    /// Check scenarios without running them.
    Validate(Validate),
    /// List congestion controls with their parameters, topologies, traffic, workloads and scenarios.
    List(List),
    /// Show the summaries of several results side by side.
    Compare(Compare),
    /// Show how much the cache of finished runs holds, or clear it.
    Cache(Cache),
    /// Draw the figures and write the pages of a result.
    Report(Report),
    /// Explain who was paused, by whom, and why.
    Explain(Explain),
    /// Browse a result of any size in the browser.
    View(View),
    /// Write the tables of a result in another format.
    Export(Export),
    /// Import a capture as traffic, or the configuration of HPCC's simulator or of SONiC's switches as a scenario.
    #[command(subcommand)]
    Import(Import),
    /// Check PFC, buffers, marking and classes in SONiC's config_db.json (docs/lint.md).
    Lint(Lint),
    /// Suggest settings for a fabric.
    #[command(subcommand)]
    Suggest(Suggest),
    /// Compile marking into programs for a switch pipeline (docs/dataplane.md).
    #[command(subcommand)]
    Dataplane(Dataplane),
    /// Write test vectors of a mechanism, for other implementations (docs/vectors.md).
    Vectors(Vectors),
    /// Compare a program that implements a mechanism with its test vectors.
    Check(Check),
    /// Run a paper's experiments, draw its figures and check its claims.
    Reproduce(Reproduce),
    /// Write a commented scenario to start from.
    Init(Init),
    /// Print the JSON Schema of scenario files, for completion and checks in editors.
    Schema,
    /// Open the report of a result in a browser.
    Open(Open),
    /// Print a shell completion script.
    Completions(Completions),
    /// Print the manual page.
    Man,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause run scenarios/incast.toml
  unpause run mine.toml --scheme PFC --duration 1ms --out results/short
  unpause run mine.toml --seeds 5         means with intervals instead of single values
  sed s/100Gbps/25Gbps/ mine.toml | unpause run - --out results/slow
  mpirun -n 2 unpause run mine.toml       one run on several machines (docs/mpi.md)")]
pub struct Run {
    /// Scenario files, or directories of them; - reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Result directory [default: results/<folder>-<file name>, plus the seed if --seed is given].
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Override the scenario's seed, or its sweep over seeds.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run N consecutive seeds, starting with the scenario's first.
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Override the duration, such as 20ms.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Time>,
    /// Threads, shared among the runs [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Simulate every packet instead of fast-forwarding repeating patterns; results are identical.
    #[arg(long)]
    pub exact_packets: bool,
    /// Do not draw figures and the HTML report.
    #[arg(long)]
    pub no_report: bool,
    /// Simulate all runs, even those in the cache (see unpause cache).
    #[arg(long)]
    pub fresh: bool,
    /// Also write flow completion times in the text format of the HPCC simulator.
    #[arg(long)]
    pub fct_hpcc: bool,
    /// Run even if the estimate exceeds the free memory or disk space.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(clap::Args)]
pub struct Testbed {
    /// Scenario file.
    pub file: PathBuf,
    /// Result directory [default: results/<folder>-<file name>-testbed, plus the seed if --seed is given].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Override the scenario's seed, or its sweep over seeds.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run N consecutive seeds, starting with the scenario's first.
    #[arg(long, value_name = "N", conflicts_with = "seed", value_parser = clap::value_parser!(u32).range(1..))]
    pub seeds: Option<u32>,
    /// Run only this scheme; may be given several times.
    #[arg(long = "scheme", value_name = "NAME")]
    pub schemes: Vec<String>,
    /// Override the duration, such as 20ms.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Time>,
    /// The links that carry the frames.
    #[arg(long, value_enum, default_value = "veth")]
    pub links: Links,
    /// Run in real time with a thread per node, instead of in lock step in simulated time.
    #[arg(long, conflicts_with = "links")]
    pub wall_clock: bool,
    /// Use a real link only here, such as S0-S1; may be given several times [default: every link].
    #[arg(long = "wire", value_name = "NODE-NODE")]
    pub wires: Vec<String>,
    /// Do not draw figures and the HTML report.
    #[arg(long)]
    pub no_report: bool,
    /// Simulate all runs, even those in the cache (see unpause cache).
    #[arg(long)]
    pub fresh: bool,
    /// Run even if the estimate exceeds the free memory or disk space.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Links {
    /// Pairs of virtual Ethernet devices between network namespaces: Linux, as root.
    Veth,
    /// Memory of this process; needs no privileges.
    Memory,
}

#[derive(clap::Args)]
#[command(after_help = "\
Finished points are kept; rerun the same command to resume.

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
    /// Print every column and the table of means, too.
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub points: Points,
}

/// Where the runs of a sweep or a search happen.
#[derive(clap::Args)]
pub struct Points {
    /// Directory of the answer and of finished runs [default: results/<folder>-<file name>-<command>].
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs in parallel on this machine [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), conflicts_with = "dask")]
    pub jobs: Option<u16>,
    /// Run on the Dask cluster of this scheduler, such as tcp://host:8786.
    #[arg(long, value_name = "ADDRESS", value_parser = dask_address)]
    pub dask: Option<String>,
    /// Run even what the estimate says exceeds the free memory.
    #[arg(long)]
    pub force: bool,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause validate mine.toml
  unpause validate --cost scenarios/      estimate time, memory and disk of every scenario there
  unpause validate --output json mine.toml
  unpause validate trace.0.et             a Chakra trace: what a job would do with it")]
pub struct Validate {
    /// Scenario files, or directories of them; - reads standard input. A Chakra trace ends in .et.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Also estimate packet-hops, time, memory and disk space.
    #[arg(long)]
    pub cost: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause list
  unpause list dcqcn
  unpause list xoff
  unpause list --output json")]
pub struct List {
    /// Show only entries with this text in their name, keys or descriptions.
    #[arg(value_name = "PATTERN", conflicts_with = "output")]
    pub pattern: Option<String>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Form,
}

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause init > mine.toml
  unpause init mine.toml && unpause run mine.toml
  unpause init --template leaf-spine fabric.toml")]
pub struct Init {
    /// File to write [default: standard output].
    pub file: Option<PathBuf>,
    /// The template to start from.
    #[arg(long, short, value_name = "NAME", default_value = "incast")]
    pub template: Template,
    /// Replace an existing file.
    #[arg(long, requires = "file")]
    pub force: bool,
}

/// A scenario that `init` writes.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Template {
    /// Eight hosts send to one on a switch, with a bystander.
    Incast,
    /// 64 hosts, leaf-spine: random traffic and an incast.
    LeafSpine,
    /// Striped reads and replicated writes over RDMA.
    Storage,
    /// Two trainings that share a fabric, packed and at random hosts.
    Training,
    /// PFC against spraying on a fabric that drops or trims.
    Lossy,
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
    /// Write the packets recorded at the ports of `probes.packets` for Wireshark, one file per run.
    #[arg(long, conflicts_with = "csv")]
    pub pcapng: bool,
    /// Write all runs as one trace for <https://ui.perfetto.dev>: PAUSEs and samples of ports, and flows.
    #[arg(long, conflicts_with_all = ["csv", "pcapng"])]
    pub perfetto: bool,
    /// Write the summary's first table for LaTeX, and the figures of the report as PDF.
    #[arg(long, conflicts_with_all = ["csv", "pcapng", "perfetto"])]
    pub latex: bool,
    /// Keep this many bytes of each frame [default: all; Wireshark calls truncated RoCEv2 data malformed].
    #[arg(long, value_name = "BYTES", requires = "pcapng")]
    // What conflicts with `pcapng` would waive that.
    #[arg(conflicts_with_all = ["csv", "perfetto", "latex"])]
    pub snap: Option<NonZero<u32>>,
    /// Where to write [default: csv/, pcapng/, latex/ or trace.pftrace in the result directory].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub say: Say,
}

#[derive(Subcommand)]
pub enum Dataplane {
    /// Write a scheme's marking as a program: its source, its table entries and a manifest.
    Build(DataplaneBuild),
    /// Simulate a scheme and write the packets and marks of one egress port.
    Record(DataplaneRecord),
    /// Write a random sequence of packets for a scheme's marking, with the marks.
    Random(DataplaneRandom),
    /// Compare ECN# in a switch's arithmetic with exact ECN# on sequences, over a range of parameters.
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
    /// Clock value at the start of the simulation, such as 4398s [default: 0].
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub start_at: Option<Time>,
    /// File to write.
    #[arg(long, short)]
    pub out: PathBuf,
}

#[derive(clap::Args)]
pub struct DataplaneRandom {
    /// Scenario file; only its marking and the parameters of it are used.
    pub file: PathBuf,
    /// Scheme, if several have a program.
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Number of packets.
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
    /// Sequences written by `record` or `random`.
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
    /// A paper or one of its figures: pcn, pcn/F11.
    pub what: String,
    /// Run the reduced version, which takes minutes; the page says what is reduced [default].
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// Run the scenarios at full size.
    #[arg(long)]
    pub full: bool,
    /// Directory [default: results/reproduce-<paper>].
    #[arg(long, short)]
    pub out: Option<PathBuf>,
    /// Write the page as Markdown, too.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Copy the figures into a folder beside that file, and show them in it.
    #[arg(long, requires = "markdown")]
    pub pictures: bool,
    /// Replace that file and figures in its folder.
    #[arg(long, requires = "markdown")]
    pub force: bool,
    /// Threads, shared among the runs [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}
