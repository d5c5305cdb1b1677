//! Benchmarks of the engine: packet-hops per user CPU second, memory, events per hop.
//!
//! Each case runs in a process of its own, so that its peak memory is its own. The work unit is the
//! packet-hop: one packet, data or control, over one link.

mod cases;
mod driven;
mod measure;
mod mechanisms;
mod schedule;
mod threads;

use std::io;
use std::path::{Path, PathBuf};

use cases::{CASES, Case, Role};
use clap::{Parser, Subcommand};
use measure::Measurement;
use mimalloc::MiMalloc;
use serde::Serialize;
use unpause_import::hpcc;
use unpause_scenario::topology::Topology;
use unpause_sim::traffic::Traffic;

/// As in `unpause`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Benchmarks of unpause's engine.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure cases, and print a table.
    Run {
        /// Cases to run; all but those for special uses by default.
        cases: Vec<String>,
        /// Runs of each case; the fastest counts.
        #[arg(long, default_value_t = 3)]
        repeat: u32,
        /// Flows, in cases where that is a choice.
        #[arg(long)]
        flows: Option<u64>,
        /// One thread only.
        #[arg(long)]
        single: bool,
        /// Write the measurements to this file as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Run one case in this process, and print its measurement as JSON.
    Once {
        case: String,
        #[arg(long, default_value_t = 1)]
        threads: usize,
        #[arg(long)]
        flows: Option<u64>,
        /// With a hash of all results.
        #[arg(long)]
        digest: bool,
        /// Simulate every packet.
        #[arg(long)]
        exact_packets: bool,
    },
    /// Measure what more threads give: wall time on 1, 2, 4, … threads, in turn.
    Threads {
        /// Cases to run; those that `run` measures with threads by default.
        cases: Vec<String>,
        /// How often each number of threads runs; medians count.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Numbers of threads; powers of two up to the cores of the machine by default.
        #[arg(long, value_delimiter = ',')]
        threads: Vec<usize>,
        /// Flows, in cases where that is a choice.
        #[arg(long)]
        flows: Option<u64>,
        /// Write the measurements to this file as JSON.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Measure what it costs that another program drives a run: CPU time driven and as a scenario, in turn.
    Driven {
        case: String,
        /// Medians of this many runs of each count.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Flows, in cases where that is a choice.
        #[arg(long)]
        flows: Option<u64>,
    },
    /// Measure the mechanisms one by one: nanoseconds per decision.
    Mechanisms,
    /// Say what more cores would give, from the work of each part of a case's fabric in each window.
    Schedule {
        case: String,
        #[arg(long)]
        flows: Option<u64>,
        /// The cost of a barrier, whatever the number of cores.
        #[arg(long, default_value_t = 1000.0)]
        barrier_ns: f64,
    },
    /// Say what cases there are.
    List,
    /// Write the topology of a case in the HPCC simulator's format.
    Topology { case: String },
    /// Write the flows of a case in the HPCC simulator's format.
    Flows {
        case: String,
        #[arg(long)]
        flows: Option<u64>,
    },
}

#[derive(Serialize)]
struct Report<'a> {
    machine: Machine,
    measurements: &'a [Measurement],
}

#[derive(Serialize)]
struct Machine {
    processor: String,
    cores: usize,
    kernel: String,
    version: &'static str,
}

fn main() -> io::Result<()> {
    match Arguments::parse().command {
        Command::Run {
            cases,
            repeat,
            flows,
            single,
            json,
        } => {
            let chosen = chosen(&cases, |case| case.role != Role::Named);
            let measurements = run(&chosen, flows, single, repeat);
            if let Some(path) = json {
                write_json(&path, &measurements)?;
            }
        }
        Command::Once {
            case,
            threads,
            flows,
            digest,
            exact_packets,
        } => {
            let case = find(&case);
            let measurement = measure::once(case, flows, threads, (digest, exact_packets));
            serde_json::to_writer(io::stdout(), &measurement)?;
            println!();
        }
        Command::Threads {
            cases,
            rounds,
            threads,
            flows,
            json,
        } => {
            let chosen = chosen(&cases, |case| case.role == Role::Threaded);
            let counts = if threads.is_empty() {
                threads::counts(machine().cores)
            } else {
                threads
            };
            let measurements = threads::run(&chosen, flows, &counts, rounds);
            if let Some(path) = json {
                write_json(&path, &measurements)?;
            }
        }
        Command::Driven {
            case,
            rounds,
            flows,
        } => driven::run(find(&case), flows, rounds),
        Command::Mechanisms => mechanisms::run(),
        Command::Schedule {
            case,
            flows,
            barrier_ns,
        } => schedule::predict(find(&case), flows, barrier_ns),
        Command::List => {
            for case in CASES {
                println!("{:<14} {}", case.name, case.what);
            }
        }
        Command::Topology { case } => write_topology(find(&case))?,
        Command::Flows { case, flows } => write_flows(find(&case), flows)?,
    }
    Ok(())
}

fn write_topology(case: &Case) -> io::Result<()> {
    let config = (case.config)(1);
    let names = (0..config.fabric.nodes.len()).map(|node| node.to_string());
    let topology = Topology {
        names: names.collect(),
        fabric: config.fabric,
        ..Topology::default()
    };
    hpcc::write_topology(&mut io::stdout().lock(), &topology)
}

fn write_flows(case: &Case, flows: Option<u64>) -> io::Result<()> {
    let config = (case.config)(flows.unwrap_or(case.flows));
    let traffic = Traffic::new(&config.traffic, &config.fabric, config.seed);
    let flows: Vec<_> = traffic.expect("the traffic is sound").collect();
    hpcc::write_flows(&mut io::stdout().lock(), &flows)
}

fn run(cases: &[&Case], flows: Option<u64>, single: bool, repeat: u32) -> Vec<Measurement> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{:<14} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "case", "threads", "M hops", "user s", "M hops/s", "events", "MB", "speed-up"
    );
    println!(
        "{:<14} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "", "", "", "", "user CPU", "per hop", "peak", "wall"
    );
    let mut measurements = Vec::new();
    for case in cases {
        let one = measure::best(case, flows, 1, repeat);
        print_row(&one, None);
        if case.role == Role::Threaded && !single && cores > 1 {
            let parallel = measure::best(case, flows, cores, repeat);
            assert_eq!(one.digest, parallel.digest, "results differ by threads");
            print_row(&parallel, Some(one.wall_s / parallel.wall_s));
            measurements.push(one);
            measurements.push(parallel);
        } else {
            measurements.push(one);
        }
    }
    measurements
}

fn print_row(m: &Measurement, speed_up: Option<f64>) {
    println!(
        "{:<14} {:>7} {:>9.2} {:>8.3} {:>9.2} {:>9.2} {:>8.1} {:>8}",
        m.case,
        m.threads,
        m.packet_hops as f64 / 1e6,
        m.user_s,
        m.speed(),
        m.events as f64 / m.packet_hops as f64,
        m.peak_memory_mb,
        speed_up.map_or(String::new(), |ratio| format!("{ratio:.2}"))
    );
}

fn write_json(path: &Path, measurements: &[Measurement]) -> io::Result<()> {
    let report = Report {
        machine: machine(),
        measurements,
    };
    let json = serde_json::to_string_pretty(&report)?;
    std::fs::write(path, json + "\n").map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        io::Error::new(error.kind(), message)
    })
}

/// The cases of these names, or those that go by default.
fn chosen(names: &[String], by_default: impl Fn(&Case) -> bool) -> Vec<&'static Case> {
    if names.is_empty() {
        CASES.iter().filter(|case| by_default(case)).collect()
    } else {
        names.iter().map(|name| find(name)).collect()
    }
}

fn find(name: &str) -> &'static Case {
    let found = CASES.iter().find(|case| case.name == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        let names = names.join(", ");
        eprintln!("error: no case is called {name:?}; there are {names}");
        std::process::exit(2);
    })
}

fn machine() -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let field = |name: &str| {
        let line = info.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1))
            .unwrap_or("unknown")
            .trim()
            .to_owned()
    };
    Machine {
        processor: format!("{}, model {}", field("model name"), field("model\t")),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
    }
}
