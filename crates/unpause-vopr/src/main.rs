//! `unpause-vopr`: random scenarios through the whole of unpause.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use unpause_vopr::campaign::{self, Plan};
use unpause_vopr::case::Case;
use unpause_vopr::digest;
use unpause_vopr::generate::generate;
use unpause_vopr::judge::{Scope, Verdict, judge};
use unpause_vopr::shrink::shrink;
use unpause_vopr::{kill, mutations};

/// Random scenarios through the whole of unpause, and what must hold of every one.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge the scenarios of some seeds; shrink those that fail.
    Run {
        /// First seed.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// How many seeds.
        #[arg(long, default_value_t = u64::MAX)]
        count: u64,
        /// Seeds judged at a time; one per core if not said.
        #[arg(long)]
        jobs: Option<usize>,
        /// Begin no seed after this many seconds.
        #[arg(long)]
        seconds: Option<u64>,
        /// Where shrunk scenarios go.
        #[arg(long, default_value = "results/vopr")]
        output: PathBuf,
        /// Also print how many seeds had each key.
        #[arg(long)]
        coverage: bool,
        /// End with the first seed that fails, and do not shrink it.
        #[arg(long)]
        first: bool,
    },
    /// Print the scenario of a seed, and the files that it names as comments.
    Show {
        /// The seed.
        seed: u64,
        /// Write the scenario and its files into this directory instead.
        #[arg(long)]
        output: Option<PathBuf>,
    },
    /// Write the scenarios of some seeds, each with its files into a directory named by its seed.
    Write {
        /// First seed.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// How many seeds.
        #[arg(long, default_value_t = 100)]
        count: u64,
        /// Where these directories go.
        #[arg(long)]
        output: PathBuf,
    },
    /// Judge one seed and, if it fails, write a small scenario that fails in the same way.
    Shrink {
        /// The seed.
        seed: u64,
        /// Where the scenario goes.
        #[arg(long, default_value = "results/vopr")]
        output: PathBuf,
    },
    /// Judge a scenario file, such as one that `shrink` has written.
    Judge {
        /// The file; files that it names are beside it.
        file: PathBuf,
        /// The seed that chooses among checks that not every seed runs.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Run this check only, in full.
        #[arg(long)]
        check: Option<String>,
    },
    /// Kill `unpause run` and `unpause sweep` at random moments, and look at what they leave.
    Kill {
        /// Where moments come from.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Runs to kill.
        #[arg(long, default_value_t = 40)]
        trials: u64,
        /// Sweeps to kill.
        #[arg(long, default_value_t = 5)]
        sweeps: u64,
        /// `unpause`, for runs [default: beside this program].
        #[arg(long)]
        unpause: Option<PathBuf>,
        /// `unpause` of the Python package, for sweeps.
        #[arg(long, default_value = ".venv/bin/unpause")]
        python: PathBuf,
    },
    /// Break the engine on purpose, in a copy, and see which check notices at which seed.
    Mutations {
        /// First seed.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Seeds judged at most for each.
        #[arg(long, default_value_t = 10_000)]
        count: u64,
        /// Only these; all if none is said.
        names: Vec<String>,
        /// Where the copy and what is compiled of it go.
        #[arg(long, default_value = "target/mutations")]
        directory: PathBuf,
    },
    /// Print a hash of the results of each seed, to compare two versions with `diff`.
    Digest {
        /// First seed.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// How many seeds.
        #[arg(long, default_value_t = 100)]
        count: u64,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run {
            seed,
            count,
            jobs,
            seconds,
            output,
            coverage,
            first,
        } => {
            let cores = std::thread::available_parallelism().map_or(1, usize::from);
            let plan = Plan {
                seed,
                count,
                jobs: jobs.unwrap_or(cores).max(1),
                time: seconds.map(Duration::from_secs),
                first,
                output,
            };
            Ok(run(&plan, coverage))
        }
        Command::Show { seed, output } => show(seed, output),
        Command::Write {
            seed,
            count,
            output,
        } => write_seeds(seed, count, &output),
        Command::Shrink { seed, output } => shrink_seed(seed, &output),
        Command::Judge { file, seed, check } => judge_file(&file, seed, check.as_deref()),
        Command::Kill {
            seed,
            trials,
            sweeps,
            unpause,
            python,
        } => {
            let beside = || Ok(std::env::current_exe()?.with_file_name("unpause"));
            unpause.map_or_else(beside, Ok).and_then(|unpause| {
                kill_some(&kill::Plan {
                    seed,
                    trials,
                    sweeps,
                    unpause,
                    python,
                })
            })
        }
        Command::Mutations {
            seed,
            count,
            names,
            directory,
        } => mutations::run(&names, seed, count, &directory).map(|all_caught| {
            if all_caught {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }),
        Command::Digest { seed, count } => digest_seeds(seed, count),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

/// Set by Ctrl-C and SIGTERM.
static STOP: AtomicBool = AtomicBool::new(false);

/// The first Ctrl-C or SIGTERM ends the run in order, with its summary; the second at once.
fn listen() {
    let mut signals = Signals::new([SIGINT, SIGTERM]).expect("both signals can be handled");
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
            eprintln!("stopping after the seeds under way");
        }
    });
}

fn run(plan: &Plan, coverage: bool) -> ExitCode {
    listen();
    let summary = campaign::run(plan, &STOP);
    if coverage {
        print!("{}", summary.coverage_text());
    }
    print!("{}", summary.text());
    for (seed, broken, path) in &summary.failed {
        println!(
            "FAILED seed {seed}: {}: {}\n  {}",
            broken.check,
            broken.what,
            path.display()
        );
    }
    ExitCode::from(u8::from(!summary.failed.is_empty()))
}

fn kill_some(plan: &kill::Plan) -> std::io::Result<ExitCode> {
    listen();
    if !plan.unpause.is_file() {
        let program = plan.unpause.display();
        let why = format!("{program} is not there: cargo build --release --package unpause-cli");
        return Err(std::io::Error::other(why));
    }
    let summary = kill::run(plan, &STOP)?;
    print!("{}", summary.text());
    Ok(ExitCode::from(u8::from(!summary.failed.is_empty())))
}

fn show(seed: u64, output: Option<PathBuf>) -> std::io::Result<ExitCode> {
    let case = generate(seed);
    match output {
        Some(directory) => {
            let path = case.save(&directory, &format!("seed {seed}"))?;
            println!("{}", path.display());
        }
        None => {
            print!("{}", case.text());
            for (name, text) in &case.files {
                println!("\n# {name}:");
                text.lines().for_each(|line| println!("# {line}"));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_seeds(seed: u64, count: u64, output: &Path) -> std::io::Result<ExitCode> {
    for seed in (0..count).map(|number| seed.wrapping_add(number)) {
        generate(seed).save(&output.join(seed.to_string()), &format!("seed {seed}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn shrink_seed(seed: u64, output: &Path) -> std::io::Result<ExitCode> {
    let directory = tempfile::tempdir()?;
    let case = generate(seed);
    let verdict = judge(&case, directory.path(), Scope::Sample);
    let Verdict::Broken(broken) = verdict else {
        println!("seed {seed}: {verdict:?}");
        return Ok(ExitCode::SUCCESS);
    };
    println!("seed {seed} fails: {}: {}", broken.check, broken.what);
    let (small, broken) = shrink(&case, &broken, directory.path(), &STOP);
    let comment = format!("seed {seed}, {}: {}", broken.check, broken.what);
    println!("{}", small.save(output, &comment)?.display());
    Ok(ExitCode::FAILURE)
}

fn judge_file(file: &Path, seed: u64, check: Option<&str>) -> std::io::Result<ExitCode> {
    let text = std::fs::read_to_string(file)?;
    let document = text.parse().map_err(std::io::Error::other)?;
    let case = Case {
        seed,
        document,
        files: BTreeMap::new(),
    };
    let beside = file.parent().unwrap_or(Path::new("."));
    let scope = check.map_or(Scope::Sample, Scope::Only);
    let verdict = judge(&case, beside, scope);
    println!("{}: {verdict:?}", file.display());
    let is_broken = matches!(verdict, Verdict::Broken(_));
    Ok(ExitCode::from(u8::from(is_broken)))
}

fn digest_seeds(seed: u64, count: u64) -> std::io::Result<ExitCode> {
    let directory = tempfile::tempdir()?;
    for seed in (0..count).map(|number| seed.wrapping_add(number)) {
        let case = generate(seed);
        match digest::of_case(&case, directory.path()) {
            Ok(hash) => println!("{seed} {hash:016x}"),
            Err(why) => println!("{seed} {why}"),
        }
    }
    Ok(ExitCode::SUCCESS)
}
