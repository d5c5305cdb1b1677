//! Benchmarks of the engine: packet-hops per user CPU second, memory, events per hop.
//!
//! Each case runs in a process of its own, so that its peak memory is its own. The work unit is the
//! packet-hop: one packet, data or control, over one link.

mod cases;

use std::ops::ControlFlow;
use std::process::Command;

use cases::{CASES, Case};
use clap::Parser;
use serde::{Deserialize, Serialize};
use unpause_sim::results::Totals;

/// Benchmarks of unpause's engine.
#[derive(Parser)]
struct Arguments {
    /// Cases to run, all by default.
    cases: Vec<String>,
    /// Runs of each case; the fastest counts.
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Write the measurements to this file as JSON.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
    /// Run one case in this process, on so many threads, and print its measurement as JSON.
    #[arg(long, hide = true)]
    inside: Option<usize>,
}

/// One run of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measurement {
    case: String,
    what: String,
    threads: usize,
    packet_hops: u64,
    events: u64,
    windows: u64,
    flows_completed: u64,
    flows_started: u64,
    dropped_packets: u64,
    user_s: f64,
    system_s: f64,
    wall_s: f64,
    peak_memory_mb: f64,
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

fn main() {
    let arguments = Arguments::parse();
    let chosen: Vec<&Case> = if arguments.cases.is_empty() {
        CASES.iter().collect()
    } else {
        arguments.cases.iter().map(|name| find(name)).collect()
    };
    if let Some(threads) = arguments.inside {
        for case in chosen {
            let measurement = measure(case, threads);
            println!(
                "{}",
                serde_json::to_string(&measurement).expect("it is plain data")
            );
        }
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{:<13} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "case", "threads", "M hops", "user s", "M hops/s", "events", "MB", "speed-up"
    );
    println!(
        "{:<13} {:>7} {:>9} {:>8} {:>9} {:>9} {:>8} {:>8}",
        "", "", "", "", "user CPU", "per hop", "peak", "wall"
    );
    let mut measurements = Vec::new();
    for case in chosen {
        let single = best(case, 1, arguments.repeat);
        print_row(&single, None);
        if case.threads && cores > 1 {
            let parallel = best(case, cores, arguments.repeat);
            assert_eq!(
                single.packet_hops, parallel.packet_hops,
                "results differ by threads"
            );
            print_row(&parallel, Some(single.wall_s / parallel.wall_s));
            measurements.push(single);
            measurements.push(parallel);
        } else {
            measurements.push(single);
        }
    }
    if let Some(path) = arguments.json {
        let report = Report {
            machine: machine(),
            measurements: &measurements,
        };
        let json = serde_json::to_string_pretty(&report).expect("it is plain data");
        if let Err(error) = std::fs::write(&path, json + "\n") {
            eprintln!("error: cannot write {}: {error}", path.display());
            std::process::exit(1);
        }
    }
}

fn find(name: &str) -> &'static Case {
    CASES
        .iter()
        .find(|case| case.name == name)
        .unwrap_or_else(|| {
            let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
            eprintln!(
                "error: no case is called {name:?}; there are {}",
                names.join(", ")
            );
            std::process::exit(2);
        })
}

/// The fastest of several runs, by user CPU time on one thread, by wall time on several.
fn best(case: &Case, threads: usize, repeat: u32) -> Measurement {
    let program = std::env::current_exe().expect("this program has a path");
    let run = |_| {
        let output = Command::new(&program)
            .args([case.name, "--inside", &threads.to_string()])
            .output()
            .expect("this program can be run");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice::<Measurement>(&output.stdout).expect("it prints a measurement")
    };
    let key = |m: &Measurement| if threads == 1 { m.user_s } else { m.wall_s };
    (0..repeat.max(1))
        .map(run)
        .min_by(|a, b| key(a).total_cmp(&key(b)))
        .expect("one run at least")
}

fn measure(case: &Case, threads: usize) -> Measurement {
    let config = (case.config)();
    let before = usage();
    let clock = std::time::Instant::now();
    let results = unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()))
        .expect("it runs");
    let wall_s = clock.elapsed().as_secs_f64();
    let after = usage();
    let Totals {
        packet_hops,
        events,
        windows,
        ..
    } = results.totals;
    Measurement {
        case: case.name.into(),
        what: case.what.into(),
        threads,
        packet_hops,
        events,
        windows,
        flows_completed: results.totals.flows_completed,
        flows_started: results.totals.flows_started,
        dropped_packets: results.totals.dropped_packets,
        user_s: after.user_s - before.user_s,
        system_s: after.system_s - before.system_s,
        wall_s,
        peak_memory_mb: after.peak_memory_mb,
    }
}

fn print_row(m: &Measurement, speed_up: Option<f64>) {
    println!(
        "{:<13} {:>7} {:>9.2} {:>8.3} {:>9.2} {:>9.2} {:>8.1} {:>8}",
        m.case,
        m.threads,
        m.packet_hops as f64 / 1e6,
        m.user_s,
        m.packet_hops as f64 / 1e6 / m.user_s,
        m.events as f64 / m.packet_hops as f64,
        m.peak_memory_mb,
        speed_up.map_or(String::new(), |ratio| format!("{ratio:.2}"))
    );
}

struct Usage {
    user_s: f64,
    system_s: f64,
    peak_memory_mb: f64,
}

/// CPU time and peak memory of this process so far.
fn usage() -> Usage {
    // SAFETY: getrusage fills the zeroed structure that it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Usage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        peak_memory_mb: usage.ru_maxrss as f64 * 1024.0 / 1e6,
    }
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
