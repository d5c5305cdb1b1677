//! Arguments of `unpause explain`.

use std::path::PathBuf;

use unpause_protocols::units::Time;

use crate::values::duration;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  unpause explain results/mine
  unpause explain results/mine --at 3.2ms --port 'S0->H1'
  unpause explain results/mine --flow F0
  unpause explain results/mine --slowest 10

The scenario needs causes = true under [probes] (docs/explain.md).")]
pub struct Explain {
    /// Result directory.
    pub directory: PathBuf,
    /// Only PAUSEs in force at this time, such as 3.2ms.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub at: Option<Time>,
    /// Explain why this egress port was paused, such as 'S0->H1'.
    #[arg(long, value_name = "NODE->PEER", conflicts_with = "flow")]
    pub port: Option<String>,
    /// Explain what these flows waited for and which queues they filled: a flow's number or a traffic entry.
    #[arg(long, value_name = "FLOW")]
    pub flow: Option<String>,
    /// Show the N flows with the largest slowdown, and where their time went.
    #[arg(long, value_name = "N", conflicts_with_all = ["port", "flow", "at"])]
    pub slowest: Option<u32>,
    /// Only this scheme.
    #[arg(long, value_name = "NAME")]
    pub scheme: Option<String>,
    /// Explain the run of this seed; without it, the first one.
    #[arg(long, value_name = "SEED")]
    pub seed: Option<u64>,
    /// Print everything as JSON.
    #[arg(long, conflicts_with_all = ["port", "flow", "slowest"])]
    pub json: bool,
}
