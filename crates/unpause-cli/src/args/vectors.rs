//! `unpause vectors` and `unpause check`

use unpause_protocols::units::Time;

use super::Form;
use crate::values::{assignment, duration, tolerance};

/// The mechanism and the format of its events.
#[derive(clap::Args, Clone)]
pub struct Machines {
    /// The kind, if several have the same name: congestion-point, notification-point, congestion-control,
    /// flow-control, spraying or sprayed-window [default: all].
    #[arg(long, value_name = "KIND")]
    pub kind: Option<String>,
    /// Set a parameter, in the unit that --parameters shows; may be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub settings: Vec<(String, String)>,
    /// Write events, and read answers, as words name=value instead of JSON.
    #[arg(long)]
    pub words: bool,
}

/// Examples of `unpause vectors`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause vectors                               list what vectors exist for
  unpause vectors pcn > pcn.jsonl               receiver and sender of PCN
  unpause vectors dcqcn --kind congestion-control --set rate_ai=5000000
  unpause vectors pcn --parameters

Each line is an event, with the mechanism's answer as \"expect\" (docs/vectors.md).")]
pub struct Vectors {
    /// The mechanism [default: list all].
    pub mechanism: Option<String>,
    #[command(flatten)]
    pub machines: Machines,
    /// Show its parameters with units and values instead.
    #[arg(long, requires = "mechanism")]
    pub parameters: bool,
}

/// Examples of `unpause check`.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause check pcn --kind congestion-control --against ./my_pcn
  unpause check np-ecn --words --against 'ssh nic ./queue'

The program reads an event from each line of its standard input, and answers each with a line (docs/vectors.md).
Exit codes: 0 every answer is as expected, 1 one differs, or the program fails.")]
pub struct Check {
    /// The mechanism.
    pub mechanism: String,
    /// The program that implements it, run by the shell.
    #[arg(long, value_name = "COMMAND")]
    pub against: String,
    #[command(flatten)]
    pub machines: Machines,
    /// Relative tolerance of numbers, such as 1e-6 for a program with floating point.
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = tolerance)]
    pub tolerance: f64,
    /// How long an answer may take.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub timeout: Time,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub output: Form,
}
