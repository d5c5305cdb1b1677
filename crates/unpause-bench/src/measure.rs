//! Running a case, and what it took.

use std::fmt::{self, Write};
use std::ops::ControlFlow;
use std::process::Command;

use serde::{Deserialize, Serialize};
use unpause_sim::config::Skipping;
use unpause_sim::results::{Results, Totals};

use crate::cases::Case;

/// One run of one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Name of the case.
    pub case: String,
    /// A description, in a line.
    pub what: String,
    /// Threads that ran it.
    pub threads: usize,
    /// Packets, data and control, times links.
    pub packet_hops: u64,
    /// Events executed.
    pub events: u64,
    /// Windows run.
    pub windows: u64,
    /// Flows that arrived in full.
    pub flows_completed: u64,
    /// Flows that started.
    pub flows_started: u64,
    /// Data packets dropped in switches.
    pub dropped_packets: u64,
    /// CPU time in user mode.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// Wall time.
    pub wall_s: f64,
    /// Peak memory of the process.
    pub peak_memory_mb: f64,
    /// Hash of all that was recorded, if wanted: equal for equal results.
    pub digest: Option<String>,
}

impl Measurement {
    /// Millions of packet-hops per second of user CPU time.
    pub fn speed(&self) -> f64 {
        self.packet_hops as f64 / 1e6 / self.user_s
    }
}

/// The fastest of several runs, by user CPU time on one thread, by wall time on several. Each runs
/// in a process of its own.
pub fn best(case: &Case, flows: Option<u64>, threads: usize, repeat: u32) -> Measurement {
    let program = std::env::current_exe().expect("this program has a path");
    let run = |_| {
        let mut command = Command::new(&program);
        command.args(["once", case.name, "--digest"]);
        command.args(["--threads", &threads.to_string()]);
        if let Some(flows) = flows {
            command.args(["--flows", &flows.to_string()]);
        }
        let output = command.output().expect("this program can be run");
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

/// One run in this process.
pub fn once(
    case: &Case,
    flows: Option<u64>,
    threads: usize,
    (with_digest, exact_packets): (bool, bool),
) -> Measurement {
    let mut config = (case.config)(flows.unwrap_or(case.flows));
    if exact_packets {
        config.skipping = Skipping::Never;
    }
    let before = cpu_time();
    let clock = std::time::Instant::now();
    let results = unpause_sim::run_threads(&config, threads, &mut |_| ControlFlow::Continue(()))
        .expect("it runs");
    let wall_s = clock.elapsed().as_secs_f64();
    let after = cpu_time();
    let peak_memory_mb = peak_memory_mb();
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
        windows: windows.0,
        flows_completed: results.totals.flows_completed,
        flows_started: results.totals.flows_started,
        dropped_packets: results.totals.dropped_packets,
        user_s: after.user_s - before.user_s,
        system_s: after.system_s - before.system_s,
        wall_s,
        peak_memory_mb,
        digest: with_digest.then(|| digest(&results)),
    }
}

/// FNV-1a of everything in the results, as text.
fn digest(results: &Results) -> String {
    struct Fnv(u64);
    impl Write for Fnv {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
            Ok(())
        }
    }
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    write!(hash, "{results:?}").expect("hashing never fails");
    format!("{:016x}", hash.0)
}

/// CPU time of a process.
pub struct CpuTime {
    user_s: f64,
    system_s: f64,
}

impl CpuTime {
    /// In user mode and in the kernel.
    pub fn total(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// CPU time of this process so far.
pub fn cpu_time() -> CpuTime {
    // SAFETY: getrusage fills the zeroed structure that it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    CpuTime {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
    }
}

/// Peak memory of this process; what getrusage says could be that of the process that started it.
fn peak_memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    kilobytes.map_or(f64::NAN, |kb: f64| kb * 1024.0 / 1e6)
}
